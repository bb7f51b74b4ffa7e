#!/usr/bin/env bash
# The whole reproduction of the published operator tables on a GPU machine: check, fetch, run, compare, report, verify.
# Resumable: the same command goes on. --dry-run shows the plan with time and memory estimates and runs nothing.
# Usage: scripts/reproduce_tables.sh [--dry-run] [--cpu] [--out DIR] [CONFIG...]   (default: the three GPT-Neo sizes)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

configs=()
options=()
while (($#)); do
    case $1 in
        --out) options+=("$1" "${2:?--out needs a folder}"); shift ;;
        -*) options+=("$1") ;;
        *) configs+=("$1") ;;
    esac
    shift
done
if ((${#configs[@]} == 0)); then
    configs=(configs/operators/reproduce_{125m,1.3b,2.7b}.yaml)
fi
scripts/setup.sh
exec .venv/bin/python -m experiments.reproduce "${options[@]}" "${configs[@]}"
