#!/usr/bin/env bash
# Make .venv and install the toolkit into it with the tested versions (constraints.txt).
# Usage: scripts/setup.sh [EXTRA,...]     (default: plots; the tests need dev, which holds every extra)
# A second call with nothing changed does nothing. PYTHON names the interpreter to use.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

extras=${1:-plots}
python=${PYTHON:-python3}
wanted=$(cat pyproject.toml constraints.txt | cksum | tr ' ' '-')
stamp=.venv/set-up-$wanted

if [[ -e $stamp-$extras || -e $stamp-dev ]]; then
    exit 0
fi
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    echo "setup: $python is missing or older than Python 3.11; name another one: PYTHON=python3.12 $0" >&2
    exit 2
fi
if [[ ! -x .venv/bin/python ]]; then
    echo "setup: making .venv with $("$python" --version)"
    "$python" -m venv .venv
fi
echo "setup: installing heldout-toolkit[$extras] and its pinned dependencies into .venv (torch is the largest;"
echo "setup: a few minutes on a normal connection, nothing is compiled)"
quiet=()
[[ -t 1 ]] || quiet=(-qq)  # errors only
export PIP_DISABLE_PIP_VERSION_CHECK=1
.venv/bin/python -m pip install "${quiet[@]}" --only-binary :all: -c constraints.txt -e ".[$extras]"
rm -f .venv/set-up-*
touch "$stamp-$extras"
echo "setup: done in $SECONDS s"
