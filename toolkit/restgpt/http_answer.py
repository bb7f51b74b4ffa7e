"""Reads an HTTP answer into text and data: bounded, decompressed by hand, decoded, parsed, classified.

A server may send 50 MB, a gzip bomb, HTML where JSON was promised, or bytes that are no text. Each becomes an error
kind with a sentence. Knows nothing of requests or secrets.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from toolkit.restgpt.exchange import ErrorKind
from toolkit.restgpt.safe_json import parse_json
from toolkit.restgpt.spec_types import is_json_media

_CHARSETS = {"utf-8": "utf-8-sig", "utf8": "utf-8-sig", "us-ascii": "ascii", "iso-8859-1": "latin-1",
             "latin-1": "latin-1", "windows-1252": "cp1252", "utf-16": "utf-16"}  # fmt: skip
_KINDS: dict[int, ErrorKind] = {401: "unauthorized", 403: "forbidden", 404: "not_found", 429: "rate_limited"}


class TooLarge(Exception):
    """The answer passed the size limit."""


class BadCoding(Exception):
    """The answer's Content-Encoding is broken or unknown."""


@dataclass(frozen=True)
class Answer:
    """What arrived. `text` is None when it is not text, `json` when it is not JSON."""

    status: int
    content_type: str | None
    text: str | None = None
    json: Any = None
    error: ErrorKind | None = None
    message: str = ""


def read_content(chunks: Iterable[bytes], coding: str, limit: int) -> bytes:
    """All of a body, undoing gzip or deflate. Raises TooLarge past `limit` bytes (decompressed), BadCoding."""
    coding = coding.strip().lower()
    if coding not in ("", "identity", "gzip", "x-gzip", "deflate"):
        raise BadCoding(f"the answer is encoded as {coding!r}, which was not asked for")
    unpack = zlib.decompressobj(47) if coding not in ("", "identity") else None
    content = bytearray()
    started = False
    try:
        for chunk in chunks:
            started = started or bool(chunk)
            content += unpack.decompress(chunk, limit + 1 - len(content)) if unpack else chunk
            if len(content) > limit:
                raise TooLarge
    except zlib.error as error:
        raise BadCoding(f"the answer says {coding} but is not: {error}") from None
    if unpack and started and not unpack.eof:
        raise BadCoding(f"the answer ends in the middle of its {coding} encoding")
    return bytes(content)


def read_answer(status: int, content_type: str | None, content: bytes, documented: str | None) -> Answer:
    """Decode and classify. `documented` is the media type the description promises for a success, None if none."""
    kind = (content_type or "").split(";")[0].strip().lower()
    text = _text(content, content_type or "", strict=200 <= status < 300)
    data, fault = None, ""
    if text and text.strip():
        try:
            data = parse_json(text) if _maybe_json(kind, documented) else None
        except ValueError as error:
            fault = str(error)
    if not 200 <= status < 300:
        return Answer(status, content_type, text, data, *_status_error(status))
    if text is None:
        if kind.startswith(("image/", "audio/", "video/")) or kind == "application/octet-stream":
            return Answer(status, content_type, message=f"{len(content)} bytes of {kind}, not shown")
        return Answer(status, content_type, error="bad_encoding", message="the answer is not valid text")
    promised = is_json_media(kind) or (documented is not None and is_json_media(documented))
    if kind == "text/html" and documented != "text/html":
        return Answer(status, content_type, text, None, "not_json", "the answer is an HTML page, not data")
    if fault and (promised or not kind):
        return Answer(status, content_type, text, None, "not_json", f"the answer is not JSON: {fault}")
    return Answer(status, content_type, text, data)


def _maybe_json(kind: str, documented: str | None) -> bool:
    return is_json_media(kind) or (
        kind in ("", "text/plain", "text/json") and (not documented or is_json_media(documented))
    )


def _text(content: bytes, content_type: str, strict: bool) -> str | None:
    """The body as text in its charset; None when it is not text and `strict`, replacement characters otherwise."""
    _, _, charset = content_type.lower().partition("charset=")
    codec = _CHARSETS.get(charset.split(";")[0].strip(" \"'"), "utf-8-sig")
    try:
        text = content.decode(codec)
    except UnicodeDecodeError:
        return None if strict else content.decode("utf-8", "replace")
    return None if strict and "\0" in text else text


def _status_error(status: int) -> tuple[ErrorKind, str]:
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "unknown status"
    sentence = f"the server answered {status} {phrase}"
    if status in _KINDS:
        return _KINDS[status], sentence
    if 400 <= status < 500:
        return "client_error", sentence
    return ("server_error" if 500 <= status < 600 else "unexpected_status"), sentence
