"""Text rule `html-to-text`: a fetched HTML page as the text that a reader sees."""

from __future__ import annotations

import html
import re

from pipeline.rules.base import CompactionRule, ToolContext
from pipeline.rules.commands import runs
from pipeline.rules.tool_classes import tool_class

MAX_LINK_CHARS = 100
"""A longer link target is left out; its text stays."""
MAX_QUOTED_CHARS = 2000
"""A ">" in a quoted attribute is looked past this far."""

_INLINE_NAMES = (
    "a abbr acronym area audio b base basefont bdi bdo big button canvas center cite code col colgroup data datalist"
    " del dfn embed em font frame frameset i img input ins kbd label link map mark meta meter nobr object optgroup"
    " option output param picture progress q rp rt ruby s samp select slot small source span strike strong sub summary"
    " sup textarea time track tt u var video wbr iframe noscript noembed noframes svg template script style title"
    " dialog"
)
_BLOCK_NAMES = (
    "address article aside blockquote body br caption dd details dir div dl dt fieldset figcaption figure footer form"
    " head header hgroup hr html legend li main menu menuitem nav ol p pre search section table tbody tfoot thead tr"
    " ul h1 h2 h3 h4 h5 h6 td th"
)
_BLOCK = frozenset(_BLOCK_NAMES.split())
_KNOWN = _BLOCK.union(_INLINE_NAMES.split())
# What stands in these is no text of the page.
_HIDDEN = frozenset(
    {"script", "style", "template", "svg", "iframe", "noembed", "noframes", "object", "canvas", "select"}
)
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_LEADS = {"li": "- ", **_HEADINGS}
# Blocks that are no cells of a table.
_PLAIN_BLOCK = _BLOCK - {"td", "th"}
_NAME = re.compile(r"/?([A-Za-z][A-Za-z0-9]*)(?=[\s/>]|$)")
_HREF = re.compile(r"""\shref[ ]?=[ ]?(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)
_NO_TARGET = re.compile(r"[<>\r\n]")
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_ESCAPED_NAME = re.compile(r"/?+([!?]?)([A-Za-z0-9_:-]{0,40}+)")
# Names that markers of agents have; `<module>` or `<T>` are plain text.
_GUARDED_NAME = re.compile(r"[a-z0-9]*[-_:]|system|untrusted|external|tool|user|assistant|human|function|invoke")
# How a page starts, after blanks, a byte order mark, an XML declaration and comments.
_PAGE = re.compile(r"<(?:!doctype\s+html|html|head|body)(?:\s[^<>]*)?>", re.IGNORECASE)
_FRAGMENT_TAG = re.compile(r"</(?:a|p|div|span|li|ul|h[1-6]|td|tr|script|section)>", re.IGNORECASE)
MIN_FRAGMENT_TAGS = 10
CHARS_PER_TAG = 200
_FETCHERS = ("curl", "wget", "http", "https", "xh", "lynx", "w3m", "links")


def html_to_text(text: str) -> str:
    """Turn an HTML page into its readable text.

    Scripts, styles, comments and tags go, blocks become lines, list items `- `, headings `# `, short links
    `text (url)`; entities are decoded, `<pre>` keeps its lines. Only the names of HTML elements count as tags:
    markers such as `<system-reminder>` stay as they are, and an escaped "<" before the name of an element or of a
    marker stays escaped, so that no page can write a marker.

    Returns:
        The text; the input itself if what came out would look like a page again.
    """
    page = _Page()
    pieces = text.split("<")
    page.write(pieces[0])
    at, last = 1, len(pieces)
    comments = True
    blocks = page.blocks
    while at < last:
        piece = pieces[at]
        if comments and piece.startswith("!--"):
            end = _comment_end(pieces, at)
            if end:
                at = end
                page.write(pieces[at].partition("-->")[2])
                at += 1
                continue
            comments = False
        close = piece.find(">")
        if close < 0:
            page.literal(piece)
        elif (block := blocks.get(piece[:close])) is not None:
            page.block(*block)
            if close + 1 < len(piece):
                page.write(piece[close + 1 :])
        else:
            if piece.count('"', 0, close) % 2 or piece.count("'", 0, close) % 2:
                close = _tag_end(piece, close)
            hidden = page.tag(piece[:close], piece[close + 1 :])
            if hidden:
                at = _hidden_end(pieces, at + 1, hidden)
                continue
        at += 1
    short = page.text()
    return text if looks_like_page(short) or looks_like_fragment(short) else short


class _Page:
    """The lines of a page as they are put together."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.inline: list[str] = []
        self.lead = ""
        self.pre = 0
        self.link = ""
        self.after_link = False
        self.cells = False
        self.open_literal = False
        # What is known of tags: the element's name, "" for none, and whether it closes one.
        self.names: dict[str, tuple[str, bool]] = {}
        # The tags of blocks among them that hold no quote.
        self.blocks: dict[str, tuple[str, bool]] = {}

    def write(self, text: str) -> None:
        """Add text of the page, entities not yet decoded."""
        if not text:
            return
        if "&" in text:
            text = _ENTITY.sub(_decoded, text)
        if self.open_literal:
            # A tag fell out behind a "<" that is text: what follows must not complete it to another tag.
            self.open_literal = ">" not in text
            self.inline.append(" ")
        self.inline.append(text)

    def literal(self, piece: str) -> None:
        """Add a "<" that starts no tag, with what follows it."""
        # Written in one, or an entity could join the two.
        self.inline.append("<")
        self.inline.append(_ENTITY.sub(_decoded, piece) if "&" in piece else piece)
        self.open_literal = ">" not in piece

    def tag(self, tag: str, rest: str) -> str:
        """Take in a tag and the text behind it; gives the element's name where its content is to be skipped."""
        if tag[:1] in ("!", "?"):
            if tag[1:8].lower() == "doctype" or tag.startswith("?xml"):
                self.write(rest)
            else:
                self.literal(f"{tag}>{rest}")
            return ""
        known = self.names.get(tag)
        if known is None:
            match = _NAME.match(tag)
            name = match[1].lower() if match else ""
            known = self.names[tag] = (name if name in _KNOWN else "", tag.startswith("/"))
            if name in _PLAIN_BLOCK and '"' not in tag and "'" not in tag:
                self.blocks[tag] = known
        name, closing = known
        if not name:
            self.literal(f"{tag}>{rest}")
            return ""
        if name in _HIDDEN and not closing and not tag.endswith("/"):
            return name
        if name == "a":
            self.end_link()
            if closing:
                self.after_link = not rest
                self.write(rest)
                return ""
            if self.after_link:
                # Two links side by side, as menus have them.
                self.inline.append(" ")
            self.link = _link(tag)
        elif name in ("td", "th"):
            if not closing and self.cells:
                self.inline.append(" | ")
            self.cells = True
        elif name == "title" and closing:
            self.flush()
        elif name in _PLAIN_BLOCK:
            self.block(name, closing)
        self.after_link = False
        self.write(rest)
        return ""

    def block(self, name: str, closing: bool) -> None:
        """End the line; a list item or heading starts the next one with its sign."""
        self.after_link = False
        if self.inline:
            self.flush()
        else:
            self.link = ""
            self.cells = self.open_literal = False
        if name == "pre":
            self.pre = 0 if closing else 1
        elif not closing and name not in ("p", "div"):
            self.lead = _LEADS.get(name, "")
            if name in _HEADINGS and self.lines and self.lines[-1]:
                self.lines.append("")

    def end_link(self) -> None:
        """Put the target behind the text of the link that ends."""
        if self.link and self.inline:
            self.inline.append(f" ({self.link})")
        self.link = ""

    def flush(self) -> None:
        """End the line."""
        if self.link:
            self.end_link()
        self.cells = False
        if self.inline:
            joined = "".join(self.inline)
            self.inline.clear()
            if self.pre:
                self.lines.append(joined.strip("\r\n"))
            elif line := " ".join(joined.split()):
                self.lines.append(self.lead + line)
                self.lead = ""
        self.open_literal = False

    def text(self) -> str:
        """All lines."""
        self.flush()
        return "\n".join(self.lines).strip("\n")


def _comment_end(pieces: list[str], at: int) -> int:
    """The piece in which the comment ends that starts at `at`; 0 if it never ends."""
    for place in range(at, len(pieces)):
        if "-->" in pieces[place]:
            return place
    return 0


def _hidden_end(pieces: list[str], at: int, name: str) -> int:
    """The piece that closes an element whose content is skipped; the end of the page if none does."""
    closing = "/" + name
    for place in range(at, len(pieces)):
        if pieces[place].startswith("/") and pieces[place][: len(closing)].lower() == closing:
            return place
    return len(pieces)


def _tag_end(piece: str, close: int) -> int:
    """The ">" that ends a tag whose first one stands inside of a quoted attribute."""
    first = close
    for quote in ('"', "'"):
        if piece.count(quote, 0, close) % 2:
            end = piece.find(quote, close, close + MAX_QUOTED_CHARS)
            after = piece.find(">", end, end + MAX_QUOTED_CHARS) if end > 0 else -1
            return after if after > 0 else first
    return first


def _decoded(match: re.Match[str]) -> str:
    """The character of an entity; a "<" only where it can start neither an element nor a marker."""
    char = html.unescape(match[0])
    if "<" not in char:
        return char
    name = _ESCAPED_NAME.match(match.string, match.end())
    # At the end of the piece nobody knows what will follow.
    if name is None or name.end() == len(match.string) or name[1] or _GUARDED_NAME.match(name[2].lower()):
        return match[0]
    return match[0] if name[2].lower() in _KNOWN else char


def _link(tag: str) -> str:
    match = _HREF.search(tag)
    if match is None:
        return ""
    target = html.unescape(match[match.lastindex or 0][: MAX_LINK_CHARS + 1])
    good = target[:1] == "/" or target[:7].lower() in ("http://", "https:/", "mailto:")
    return target if good and 1 < len(target) <= MAX_LINK_CHARS and _NO_TARGET.search(target) is None else ""


def looks_like_page(text: str) -> bool:
    """True if a text starts as an HTML page does."""
    start = text[:2000].lstrip("\ufeff \t\r\n")
    for _ in range(4):
        if start.startswith("<?xml "):
            start = start.partition(">")[2].lstrip()
        elif start.startswith("<!--"):
            start = start.partition("-->")[2].lstrip()
        else:
            break
    return _PAGE.match(start) is not None


def looks_like_fragment(text: str) -> bool:
    """True if a text starts with a tag and holds as many closing tags as pages do."""
    start = text[:200].lstrip("\ufeff \t\r\n")
    name = _NAME.match(start[1:]) if start.startswith("<") else None
    if name is None or name[1].lower() not in _KNOWN:
        return False
    count = 0
    for _ in _FRAGMENT_TAG.finditer(text):
        count += 1
    return count >= MIN_FRAGMENT_TAGS and count * CHARS_PER_TAG >= len(text)


def matches(tool_name: str, output: str) -> bool:
    """True for a page that a fetching tool, a shell or an unknown tool gave; a fetched fragment counts, too."""
    group = tool_class(tool_name)
    if group not in ("fetch", "shell", "mcp", ""):
        return False
    return looks_like_page(output) or (group == "fetch" and looks_like_fragment(output))


def matches_context(context: ToolContext) -> bool:
    """False for a shell command that fetches nothing: a file that it prints is source."""
    return not context.command or runs(context.command, *_FETCHERS)


RULE = CompactionRule("html-to-text", matches, html_to_text, matches_context)
