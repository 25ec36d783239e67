"""Base64 images: a text that tells type and size takes their place."""

from __future__ import annotations

from typing import NamedTuple

from pipeline.records import Json

_DATA_URL_CHARS = 100


class Image(NamedTuple):
    """A base64 image: its data or data URL, what tells its media type, and the type of a text block in its place."""

    data: str
    media: Json
    text_type: str


def image_of(value: Json, media: str) -> Image | None:
    """The image that a site holds; None if there is none in it.

    Args:
        value: base64 or a data URL; or a block, `{"type": "image", "source": {"data", "media_type"}}`,
            `{"type": "image", "data", "mimeType"}` or `{"type": "input_image", "image_url"}`.
        media: media type of a plain string.

    Source: sessions as their writers leave them.
    """
    if isinstance(value, str):
        return Image(value, media, "")
    if not isinstance(value, dict):
        return None
    source = value.get("source")
    for owner, key, media_key, text_type in (
        (source, "data", "media_type", "text"),
        (value, "data", "mimeType", "text"),
        (value, "image_url", "", "input_text"),
    ):
        data = owner.get(key) if isinstance(owner, dict) else None
        if isinstance(owner, dict) and isinstance(data, str):
            return Image(data, owner.get(media_key), text_type)
    return None


def image_text(image: Image) -> str:
    """What stands for an image: `[image image/png, 51200 bytes]`."""
    media, data = image.media, image.data
    head, _, body = data[:_DATA_URL_CHARS].partition(";base64,")
    if body and head.startswith("data:"):
        media, data = head.removeprefix("data:"), data[len(head) + len(";base64,") :]
    # Four characters are three bytes, those of the padding aside.
    size = len(data) * 3 // 4 - data[-2:].count("=")
    return f"[image {media if isinstance(media, str) and media else 'base64'}, {size} bytes]"
