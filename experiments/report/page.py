"""`report.html`: one file without any outside request, from a summary, the run header, figures and chosen samples.

Every string is data: jinja2 escapes what it prints, samples travel as JSON whose `<` are written as escapes, and a
content policy allows the page's own script only. Computes no number beyond formatting.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from experiments.report import browser
from experiments.report.browser import Entry
from experiments.report.extra import Table
from experiments.report.layout import Layout
from experiments.report.tables import cells_by_place, mark, percent

Json = Mapping[str, Any]
TEMPLATES = Path(__file__).parent / "templates"
# The heat maps are files only: on the page the matrices themselves are the heat maps.
CAPTIONS = {
    "shots": "Accuracy against shots with 95 % Wilson bands; hollow points are published values of the same model.",
    "confusion": "What was asked against what was called.",
    "outcomes": "What became of the samples, per cell.",
    "gaps": "Seen minus held-out accuracy.",
    "throughput": "Speed of the run.",
}


def sources() -> list[Path]:
    """The files that decide the page, beside the run itself."""
    return [*sorted(TEMPLATES.iterdir()), Path(__file__), Path(browser.__file__)]


def embedded_json(value: object) -> Markup:
    """JSON that is safe inside a `<script>` element: no `<`, `>` or `&` is left in it."""
    text = json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def inline_svg(text: str) -> Markup:
    """An SVG file of ours as an element: without the XML prologue and the fixed size, so that it scales."""
    body = text[text.index("<svg") :]
    return Markup(re.sub(r'(<svg[^>]*?) width="[^"]*"|(<svg[^>]*?) height="[^"]*"', r"\1\2", body, count=1))


def browse_link(matrix: Json, cell: Json) -> str:
    """The address, within the page, of the samples of a cell."""
    chosen = {"model": matrix["model"], "variant": matrix["variant"], "skill": cell["skill"], "shots": cell["shots"]}
    return "#browse?" + urlencode(chosen)


def accident(summary: Json) -> list[Json]:
    """The cells of `&` without demonstrations that two scorers judged: where unparseable answers count as 0."""
    return [
        {"model": matrix["model"], "variant": matrix["variant"], **cell["scores"]}
        for matrix in summary["matrices"]
        for cell in matrix["cells"]
        if cell["skill"] == "&" and cell["shots"] == 0 and {"paper", "strict"} <= cell["scores"].keys()
    ]


def notable_steps(matrix: Json, level: float = 0.05) -> list[Json]:
    """Differences between neighbouring numbers of shots that survive the correction, most certain first."""
    found = [step for step in matrix["steps"] if step["p_adjusted"] is not None and step["p_adjusted"] <= level]
    return sorted(found, key=lambda step: (step["p_adjusted"], step["skill"], step["shots"]))


def render(
    summary: Json,
    header: Json,
    layout: Layout,
    entries: Sequence[Entry],
    figures: Mapping[str, str],
    extra: Sequence[Table] = (),
) -> str:
    """The page as text. `figures` maps figure names to SVG source, in the order of the report."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(percent=percent, mark=mark)
    environment.globals.update(
        browse_link=browse_link, cells_by_place=cells_by_place, notable_steps=notable_steps, zip=zip
    )
    script = (TEMPLATES / "report.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return environment.get_template("report.html.j2").render(
        summary=summary,
        layout=layout,
        accident=accident(summary),
        extra=extra,
        sessions=header.get("sessions", []),
        models=header.get("models", {}),
        config=header.get("config", {}),
        entries=embedded_json(list(entries)),
        shown=len(entries),
        figures=[
            (name, CAPTIONS[kind], inline_svg(svg))
            for name, svg in figures.items()
            if (kind := name.split("-")[0]) in CAPTIONS
        ],
        style=Markup((TEMPLATES / "report.css").read_text(encoding="utf-8")),
        script=Markup(script),
        script_digest=digest,
    )
