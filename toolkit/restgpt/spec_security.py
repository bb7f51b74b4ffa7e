"""Reads which secrets a description asks for and where they are sent. Holds no secret itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolkit.restgpt.spec_refs import References
from toolkit.restgpt.spec_types import SecurityScheme

Requirements = tuple[tuple[str, ...], ...]


def read_schemes(document: Mapping[str, Any], references: References, repairs: list[str]) -> dict[str, SecurityScheme]:
    """All usable security schemes by name; OAuth 2 and OpenID Connect are bearer tokens that the user brings."""
    components = document.get("components")
    node = components.get("securitySchemes") if isinstance(components, Mapping) else None
    node = node or document.get("securityDefinitions")
    found: dict[str, SecurityScheme] = {}
    for name, entry in node.items() if isinstance(node, Mapping) else ():
        scheme = _scheme(name, references.resolve(entry))
        if scheme is None:
            repairs.append(f"security scheme {name!r}: not one we can send, ignored")
        else:
            found[name] = scheme
    return found


def _scheme(name: str, entry: Any) -> SecurityScheme | None:
    if not isinstance(entry, Mapping):
        return None
    kind = str(entry.get("type", "")).lower()
    http = str(entry.get("scheme", "")).lower()
    if kind == "apikey" and entry.get("in") in ("header", "query", "cookie") and isinstance(entry.get("name"), str):
        return SecurityScheme(name, "apikey", entry["in"], entry["name"])
    if kind == "basic" or (kind == "http" and http == "basic"):
        return SecurityScheme(name, "basic")
    if kind in ("oauth2", "openidconnect") or (kind == "http" and http in ("bearer", "")):
        return SecurityScheme(name, "bearer")
    return None


def read_requirements(
    node: Any, schemes: Mapping[str, SecurityScheme], at: str, repairs: list[str]
) -> Requirements | None:
    """The alternatives that `security` lists; None when it is absent (then the outer level's hold)."""
    if not isinstance(node, list):
        return None
    alternatives: list[tuple[str, ...]] = []
    for entry in node:
        if not isinstance(entry, Mapping):
            continue
        unknown = [name for name in entry if name not in schemes]
        if unknown:
            repairs.append(f"{at}: security names the unknown scheme {unknown[0]!r}, alternative ignored")
        else:
            alternatives.append(tuple(entry))
    return tuple(alternatives)
