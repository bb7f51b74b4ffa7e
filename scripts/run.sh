#!/usr/bin/env bash
# The main job on the bundled model: the held-out operator matrix of SmolLM2-135M. Sets up first.
# Usage: scripts/run.sh [options of `toolkit run`, for instance --limit 20]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/setup.sh
exec .venv/bin/toolkit run configs/operators/smollm2.yaml "$@"
