"""The gold paths: what is repaired, what is changed and why, and the path metrics on them."""

from __future__ import annotations

import io
import urllib.request
from pathlib import Path

import pytest

from experiments.restbench.data import COMMIT, SCENARIOS, Scenario, cache_folder, instructions, locate, spec_file
from experiments.restbench.gold import _path, answerable, chain, changes, gold_original, gold_v2
from experiments.restbench.metrics import contains, correct_path, delta_length, tool_share
from toolkit.errors import UserError
from toolkit.restgpt.spec import load_spec


@pytest.fixture(scope="module")
def folder(shared_data: Path) -> Path:
    return shared_data / "restbench"


def test_locate_checks_every_file(folder: Path, tmp_path: Path) -> None:
    assert locate(folder) == folder
    (tmp_path / "tmdb.json").write_text("[]")
    with pytest.raises(UserError, match=r"tmdb\.json differs"):
        locate(tmp_path)


def test_downloads_once_and_checks(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def fake(url: str, timeout: float) -> io.BytesIO:
        asked.append(url)
        return io.BytesIO((folder / url.rsplit("/", 1)[1]).read_bytes())

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("RESTBENCH_DIR", raising=False)
    monkeypatch.setattr(urllib.request, "urlopen", fake)
    assert len(instructions(locate(), "spotify")) == 57
    assert locate() == cache_folder() and len(asked) == 4 and all(COMMIT in url for url in asked)
    (cache_folder() / "tmdb_oas.json").write_bytes(b"{}")
    with pytest.raises(UserError, match=r"tmdb_oas\.json differs"):
        locate()
    monkeypatch.setenv("RESTBENCH_DIR", str(folder))
    assert locate() == folder


@pytest.mark.parametrize(("scenario", "bad"), [("tmdb", {98}), ("spotify", {39})])
def test_original_has_only_white_space_repaired(folder: Path, scenario: Scenario, bad: set[int]) -> None:
    known = {endpoint.key for endpoint in load_spec(spec_file(folder, scenario)).endpoints}
    for item in instructions(folder, scenario):
        steps = gold_original(item).steps
        assert [s.replace(" ", "") for s in steps] == ["".join(s.split()) for s in item.solution]
        assert (not set(steps) <= known) == (item.index in bad)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_second_version_names_real_endpoints_and_reasons(folder: Path, scenario: Scenario) -> None:
    known = {endpoint.key for endpoint in load_spec(spec_file(folder, scenario)).endpoints}
    items = instructions(folder, scenario)
    assert set(changes(scenario)) <= {item.index for item in items}
    for item in items:
        paths = gold_v2(item, scenario)
        assert len(set(paths)) == len(paths) > 0
        assert all(set(path.steps) <= known for path in paths)
    for change in changes(scenario).values():
        assert len(change.reason) > 15
        published = gold_original(items[change.index])
        assert change.paths is None or change.paths != (published,)
    assert [i.index for i in items if not answerable(i.index, scenario)] == ([53] if scenario == "tmdb" else [])


def test_chain_is_the_subsequence_test() -> None:
    path = chain(["GET /a", "GET /b", "GET /a"])
    assert contains(["GET /a", "GET /x", "GET /b", "GET /b", "GET /a"], path)
    assert not contains(["GET /a", "GET /a", "GET /b"], path)


def test_partial_order() -> None:
    path = _path({"first": "/x", "parallel": ["/a > /b", "/a > PUT /c"], "then": "/d"})
    assert path.steps == ("GET /x", "GET /a", "GET /b", "GET /a", "PUT /c", "GET /d")
    assert contains(["GET /x", "GET /a", "PUT /c", "GET /a", "GET /b", "GET /d"], path)
    assert not contains(["GET /x", "GET /a", "PUT /c", "GET /b", "GET /d"], path)  # one /a may not serve twice
    assert not contains(["GET /a", "GET /x", "GET /a", "PUT /c", "GET /b", "GET /d"], path)
    assert not contains(["GET /x", "GET /a", "GET /a", "GET /b", "GET /d", "PUT /c"], path)


def test_share_and_delta() -> None:
    short, long = chain(["GET /a"]), chain(["GET /a", "GET /b", "GET /c"])
    assert tool_share(["GET /a", "GET /c"], [long]) == pytest.approx(2 / 3)
    assert not correct_path(["GET /b"], [short, long])
    assert delta_length(3, ["GET /a", "GET /b", "GET /c"], [short, long]) == 0
    assert delta_length(3, ["GET /a", "GET /b"], [short, long]) == 2
    assert delta_length(2, ["GET /b", "GET /c"], [long]) == -1
