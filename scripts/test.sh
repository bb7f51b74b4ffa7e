#!/usr/bin/env bash
# Everything CI checks: style, types, the quick tests, then the slow ones (real model, subprocesses). Sets up first.
# Usage: scripts/test.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

step() {
    local began=$SECONDS
    echo "== $*"
    "$@"
    echo "== done in $((SECONDS - began)) s"
}

step scripts/setup.sh dev
# One thread per worker: two workers with two threads each would fight over two cores.
export PATH="$PWD/.venv/bin:$PATH" OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false HF_HUB_OFFLINE=1
workers=(-n auto --maxprocesses 8 --dist loadfile --durations 10)

step ruff check .
step ruff format --check .
step mypy
step pytest -m "not slow" "${workers[@]}"
step pytest -m slow "${workers[@]}"
echo "== all checks passed in $SECONDS s"
