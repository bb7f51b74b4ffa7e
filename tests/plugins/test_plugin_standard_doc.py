"""docs/plugin_standard.md: its files are written, its commands run in order, and their output is as shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from doc_runner import run_page

from toolkit.plugins.manifest import MAX_HISTORY, Api, Manifest, schema_text

PAGE = Path(__file__).resolve().parents[2] / "docs" / "plugin_standard.md"


def test_commands_print_what_the_page_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run_page(PAGE, tmp_path, capsys, monkeypatch) >= 14


def test_the_page_names_every_field_and_the_schema_is_valid_json() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for field in [*Manifest.model_fields, *Api.model_fields]:
        assert f"| `{field}` |" in page
    assert f"0 to {MAX_HISTORY}" in page
    assert set(json.loads(schema_text())["properties"]) == set(Manifest.model_fields)
