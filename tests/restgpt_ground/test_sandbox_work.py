from __future__ import annotations

import json

import pytest

from toolkit.restgpt.sandbox import SandboxLimits, protections, run_isolated, run_python

PATIENT = SandboxLimits(seconds=20)
CREDITS = {"cast": [{"name": "Ä", "order": 1}, {"name": "B", "order": 0}], "total": 2, "none": None}


def run(code: str) -> str:
    result = run_python(code, CREDITS, PATIENT)
    assert (result.status, result.error) == ("ok", ""), result
    return result.stdout


WORK = {
    "functions and comprehensions share one namespace": (
        "key = 'name'\ndef names(rows):\n    return [clean(row[key]) for row in rows]\n"
        "def clean(text):\n    return text.lower()\nprint(names(data['cast']))",
        "['ä', 'b']\n",
    ),
    "imports in functions": ("def f():\n    import json\n    return json.dumps(data['none'])\nprint(f())", "null\n"),
    "from imports": ("from collections import Counter\nfrom math import sqrt as root\n"
                     "print(Counter('aab').most_common(1), root(4))", "[('a', 2)] 2.0\n"),
    "dates": ("from datetime import datetime as t\nd = t.strptime('2020-01-02', '%Y-%m-%d')\nprint(d.strftime('%d'))",
              "02\n"),
    "statistics": ("import statistics\nprint(statistics.median([1, 5, 2]))", "2\n"),
    "itertools": ("from itertools import chain\nprint(list(chain([1], [2])))", "[1, 2]\n"),
    "regular expressions": ("import re\nprint(re.findall(r'\\d+', 'a1b22'))", "['1', '22']\n"),
    "formats": ("print('{:.2f}|{name:>3}'.format(3.14159, name='x'), '%s' % 1, f'{2:03d}')", "3.14|  x 1 002\n"),
    "sorting": ("print(sorted(data['cast'], key=lambda row: row['order'])[0]['name'])", "B\n"),
    "exceptions": ("try:\n    data['nope']\nexcept KeyError as e:\n    print('no', e)\nfinally:\n    print('end')",
                   "no 'nope'\nend\n"),
    "main guard": ("def main():\n    print(len(data))\nif __name__ == '__main__':\n    main()", "3\n"),
    "generators": ("def g():\n    yield from range(3)\nprint(sum(g()), type(1) == int)", "3 True\n"),
    "own names": ("input = 3\nid = 4\nobject = [input, id]\nprint(object)", "[3, 4]\n"),
    "nothing printed": ("x = 1", ""),
    "odd characters": ("print('\\ud800', '\\u00e9')", "\\ud800 é\n"),
}  # fmt: skip


@pytest.mark.parametrize("name", WORK)
def test_ordinary_parser_code_works(name: str) -> None:
    code, expected = WORK[name]
    assert run(code) == expected


@pytest.mark.parametrize(
    "path", ["statistics.random", "json.decoder", "re.enum", "collections.abc", "datetime.timezone.min.x"]
)
def test_modules_come_without_the_modules_they_hold(path: str) -> None:
    result = run_python(f"import {path.split('.')[0]}\nprint({path})", None, PATIENT)
    assert result.status == "error" and "AttributeError" in result.error


def test_a_traceback_names_the_lines_of_the_code() -> None:
    result = run_python(
        "def first(rows):\n    return rows[0]['x']\n\nprint('so far')\nfirst(data['cast'])", CREDITS, PATIENT
    )
    assert result.status == "error" and result.stdout == "so far\n"
    assert result.error == "line 5: first(data['cast'])\nline 2: return rows[0]['x']\nKeyError: 'x'"


def test_syntax_errors_name_the_line() -> None:
    result = run_python("x = 1\nprint((x)", None, PATIENT)
    assert result.status == "error" and result.error.startswith("SyntaxError") and "line 2" in result.error


def test_refusals_name_line_and_reason() -> None:
    result = run_python("x = 1\nimport os", None, PATIENT)
    assert (result.status, result.stdout) == ("refused", "") and result.error.startswith("line 2: the module 'os'")


def test_large_data_arrives_whole() -> None:
    data = [{"text": "é" * 100, "n": n} for n in range(20_000)]
    result = run_python("print(len(data), data[-1]['n'], len(data[7]['text']))", data, PATIENT)
    assert result.stdout == "20000 19999 100\n"


def test_protections_are_reported_by_the_run_itself() -> None:
    result = run_python("print(1)", None, PATIENT)
    assert "resource limits" in result.protections and result.protections == protections()
    assert json.dumps(result.protections)


def test_runs_do_not_see_each_other() -> None:
    assert run_python("global_thing = 5\nprint(1)", None, PATIENT).ok
    assert "NameError" in run_python("print(global_thing)", None, PATIENT).error


def test_the_environment_is_empty_and_the_folder_too() -> None:
    code = "import os\nprint(sorted(k for k in os.environ if k != 'LC_CTYPE'), os.getuid() != 0)"
    assert run_isolated(code, None, PATIENT, check=False).stdout.startswith("[]")
