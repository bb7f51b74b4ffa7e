"""Local JSON references (`#/components/...`), resolved lazily and safely against cycles. Knows nothing of OpenAPI."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

_LONGEST_CHAIN = 64


def pointer_parts(reference: str) -> list[str]:
    """`#/a~1b/c%20d` -> ["a/b", "c d"] (RFC 6901 in a URI fragment)."""
    return [unquote(part).replace("~1", "/").replace("~0", "~") for part in reference[1:].lstrip("/").split("/")]


class References:
    """Looks references up in one document. Only references into the document itself are ever followed."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document

    def lookup(self, reference: str) -> Any:
        """What `reference` points at, not followed any further. KeyError when it is remote or points nowhere."""
        if reference == "#":
            return self._document
        if not reference.startswith("#/"):
            raise KeyError(reference)
        node: Any = self._document
        for part in pointer_parts(reference):
            if isinstance(node, Mapping) and part in node:
                node = node[part]
            elif isinstance(node, list) and part.isascii() and part.isdigit() and int(part) < len(node):
                node = node[int(part)]
            else:
                raise KeyError(reference)
        return node

    def resolve(self, node: Any) -> Any:
        """Follow `$ref` to its end; siblings win. Remote, dangling and circular chains give {} (plus the siblings)."""
        siblings: dict[str, Any] = {}
        for _ in range(_LONGEST_CHAIN):
            if not isinstance(node, Mapping) or not isinstance(node.get("$ref"), str):
                return {**node, **siblings} if siblings and isinstance(node, Mapping) else node
            siblings = {**{key: value for key, value in node.items() if key != "$ref"}, **siblings}
            try:
                node = self.lookup(node["$ref"])
            except KeyError:
                return siblings
        return siblings
