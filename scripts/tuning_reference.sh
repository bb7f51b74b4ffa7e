#!/usr/bin/env bash
# The committed tuning result: SmolLM2 tuned on + and * by prompt, prefix and LoRA, tested on all six operators.
# Under an hour on two cores. Resumable: the same command goes on.
# Usage: scripts/tuning_reference.sh [options of `toolkit run`, for instance --limit 20]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

toolkit=.venv/bin/toolkit
run=results/reference/tuning_smollm2
for method in prompt prefix lora; do
    if [[ ! -d runs/tuning/smollm2-$method ]]; then
        "$toolkit" tune "configs/tuning/smollm2_$method.yaml"
    fi
done
"$toolkit" run configs/tuning/eval_smollm2.yaml --out "$run" "$@"
"$toolkit" report "$run"
"$toolkit" verify "$run"
