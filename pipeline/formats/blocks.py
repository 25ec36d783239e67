"""Sites inside lists of content blocks (text, image), as messages and tool results keep them."""

from __future__ import annotations

from pipeline.records import Json, Path, Site, Treat
from pipeline.rules.base import ToolContext

# Looking up a member of an enumeration is slow, and this one is asked for at each result.
_TEXT = Treat.TEXT
SHORTEST_COPY_CHARS = 72
"""A hidden copy up to this long is no site: it is shorter than the mark that would take its place."""


def result_sites(
    content: Json, path: Path, treat: Treat, tool: str, context: ToolContext, call_id: str = ""
) -> list[Site]:
    """Sites of a result that is a string or a list of `text` and `image` blocks; others are left alone."""
    shortest = 0 if treat is _TEXT else SHORTEST_COPY_CHARS
    if isinstance(content, str):
        return [Site(path, content, treat, tool, context, call_id)] if len(content) > shortest else []
    sites: list[Site] = []
    if isinstance(content, list):
        for index, block in enumerate(content):
            if isinstance(block, dict):
                text = block.get("text")
                if block.get("type") == "text" and isinstance(text, str):
                    if len(text) > shortest:
                        sites.append(Site((*path, index, "text"), text, treat, tool, context, call_id))
                elif is_image(block):
                    sites.append(Site((*path, index), block, Treat.IMAGE, tool, context, call_id))
    return sites


def is_image(block: dict[str, Json]) -> bool:
    """True for a block that carries a base64 image: `{"type": "image", "source": {"data": ...}}`."""
    source = block.get("source")
    return block.get("type") == "image" and isinstance(source, dict) and isinstance(source.get("data"), str)


def text_of(content: Json) -> str:
    """The text of a result, the texts of its blocks joined by line breaks; exit codes and harness errors start it."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(
        text for block in content if isinstance(block, dict) and isinstance(text := block.get("text"), str)
    )


def holds_tool_text(text: str) -> bool:
    """A cheap test: may this prose hold calls or results as text blocks?"""
    return "[tool" in text
