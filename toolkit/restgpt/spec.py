"""Reading an OpenAPI description (2.0, 3.0, 3.1; JSON or YAML; file or URL) into a `Spec`.

The one entry point to the `spec_*` files: `spec_load` reads and bounds the text, `spec_repair` mends the document,
`spec_build` turns it into endpoints, `spec_types` says what those are. Knows nothing of prompts or of calling anything.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from toolkit.restgpt.spec_build import build_spec
from toolkit.restgpt.spec_load import check_bounds, read_document
from toolkit.restgpt.spec_repair import repair_document
from toolkit.restgpt.spec_router import Route
from toolkit.restgpt.spec_types import Body, Endpoint, Parameter, Response, SecurityScheme, Server, Spec

__all__ = [
    "Body",
    "Endpoint",
    "Parameter",
    "Response",
    "Route",
    "SecurityScheme",
    "Server",
    "Spec",
    "load_spec",
    "spec_from_document",
]


def load_spec(source: str | Path) -> Spec:
    """Load a description from a file or an http(s) URL.

    Faulty but usable descriptions load, and `Spec.repairs` lists what was mended. Raises UserError, one line, when
    there is nothing to use: not found, not JSON or YAML, not OpenAPI, no paths, too large or too deep.
    """
    where = str(source)
    return _assemble(read_document(where), where)


def spec_from_document(document: dict[str, Any], where: str = "description") -> Spec:
    """The same for a document that is parsed already; it is copied, not changed."""
    check_bounds(document, where)
    return _assemble(json.loads(json.dumps(document, default=str)), where)


def _assemble(document: Any, where: str) -> Spec:
    repairs = repair_document(document, where)
    return build_spec(document, repairs, where)
