"""Sites inside lists of content blocks (text, image), as messages and tool results keep them."""

from __future__ import annotations

from pipeline.records import Json, Path, Site, Treat
from pipeline.rules.base import ToolContext

MARKDOWN_SIGNS = ("[[tool", "[tool")


def result_sites(
    content: Json, path: Path, treat: Treat, tool: str, context: ToolContext, call_id: str = ""
) -> list[Site]:
    """Sites of a result that is a string or a list of `text` and `image` blocks; others are left alone."""
    if isinstance(content, str):
        return [Site(path, content, treat, tool, context, call_id)] if content else []
    sites: list[Site] = []
    if isinstance(content, list):
        for index, block in enumerate(content):
            if isinstance(block, dict):
                text = block.get("text")
                if block.get("type") == "text" and isinstance(text, str):
                    sites.append(Site((*path, index, "text"), text, treat, tool, context, call_id))
                elif is_image(block):
                    sites.append(Site((*path, index), block, Treat.IMAGE, tool, context, call_id))
    return sites


def is_image(block: dict[str, Json]) -> bool:
    """True for a block that carries a base64 image: `{"type": "image", "source": {"data": ...}}`."""
    source = block.get("source")
    return block.get("type") == "image" and isinstance(source, dict) and isinstance(source.get("data"), str)


def text_of(content: Json) -> str:
    """The first text of a result: where exit codes and harness errors are told."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        for block in content:
            if isinstance(block, dict) and isinstance(text := block.get("text"), str):
                return text
    return ""


def holds_tool_text(text: str) -> bool:
    """A cheap test: may this prose hold calls or results as text blocks?"""
    return any(sign in text for sign in MARKDOWN_SIGNS)
