"""Writing manifests: strict JSON from a loose text, and a first manifest to start from.

Knows the loose parser and the layout of a manifest; knows nothing of prompts or models.
"""

from __future__ import annotations

import json
from typing import Any

from toolkit.plugins.faults import as_user_error, errors
from toolkit.plugins.loose import parse
from toolkit.plugins.manifest import Manifest


def strict_json(value: Any, indent: int = 0) -> str:
    """JSON text of a value; a list of plain values, such as an example, stands on one line."""
    pad, inner = "  " * indent, "  " * (indent + 1)
    if isinstance(value, dict) and value:
        entries = (
            f"{inner}{json.dumps(key, ensure_ascii=False)}: {_inner(item, indent)}" for key, item in value.items()
        )
        return "{\n" + ",\n".join(entries) + f"\n{pad}}}"
    if isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        return "[\n" + ",\n".join(f"{inner}{_inner(item, indent)}" for item in value) + f"\n{pad}]"
    return json.dumps(value, ensure_ascii=False)


def _inner(value: Any, indent: int) -> str:
    return strict_json(value, indent + 1)


def fixed(text: str, source: str) -> tuple[str, int]:
    """A loose manifest text as strict JSON, and how many things were put right.

    Changes the writing only, never the meaning. UserError when the text cannot be read or a key occurs twice.
    """
    document = parse(text)
    if errors(document.faults):
        raise as_user_error(document.faults, source)
    return strict_json(document.value) + "\n", len(document.faults)


def manifest_json(manifest: Manifest) -> str:
    """A manifest as strict JSON text; fields that are not set are left out."""
    return strict_json(manifest.model_dump(mode="json", exclude_none=True)) + "\n"


def scaffold(name: str) -> str:
    """A first manifest, valid as it is: one API with arguments and a pattern, one without."""
    base = "http://127.0.0.1:8000/api"
    value = {
        "plugin_api_version": 0,
        "name": name,
        "description": "What this plugin is good for, in one or two sentences.",
        "apis": {
            "UPPER": {
                "url": f"{base}/UPPER",
                "arguments": True,
                "history": 0,
                "pattern": ".{1,200}",
                "examples": [["Shout hello.", "Hello in capitals is [UPPER(hello) -> HELLO] HELLO."]],
            },
            "TIME": {
                "url": f"{base}/TIME",
                "arguments": False,
                "history": 0,
                "examples": [["What time is it?", "It is [TIME() -> 12:34] 12:34 now."]],
            },
        },
    }
    return strict_json(value) + "\n"
