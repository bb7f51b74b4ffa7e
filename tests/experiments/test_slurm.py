"""scripts/slurm.sbatch with stand-ins for Slurm and accelerate: what is launched, and what the warning signal does."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "slurm.sbatch"
STAND_INS = {
    "srun": 'shift; SLURM_NODEID=1 exec "$@"',
    "scontrol": '[[ $1 == show ]] && printf "node7\\nnode8\\n" || echo "scontrol $*"',
    ".venv/bin/accelerate": 'trap "echo written; exit 130" TERM; printf "<%s>" "$@"; echo; sleep "$NAP" & wait $!',
}


@pytest.fixture
def cluster(tmp_path: Path) -> dict[str, str]:
    for name, body in STAND_INS.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/usr/bin/env bash\n{body}\n")
        path.chmod(0o755)
    slurm = {"JOB_NUM_NODES": "2", "GPUS_ON_NODE": "4", "JOB_ID": "12345", "JOB_NODELIST": "node[7-8]"}
    path = f"{tmp_path}:{os.environ['PATH']}"
    return {"PATH": path, "NAP": "0"} | {f"SLURM_{name}": value for name, value in slurm.items()}


def test_one_process_per_gpu_of_all_nodes(cluster: dict[str, str], tmp_path: Path) -> None:
    command = ["bash", str(SCRIPT), "my config.yaml", "--out", "a run"]
    said = subprocess.run(command, cwd=tmp_path, env=cluster, capture_output=True, text=True, check=True).stdout
    for part in ("<--num_machines><2>", "<--num_processes><8>", "<--main_process_ip><node7>", "<--multi_gpu>"):
        assert part in said
    assert said.strip().endswith("<--machine_rank><1><-m><experiments.cli><run><my config.yaml><--out><a run>")


def test_the_warning_signal_stops_the_run_and_queues_again(cluster: dict[str, str], tmp_path: Path) -> None:
    job = subprocess.Popen(
        ["bash", str(SCRIPT), "c.yaml"], cwd=tmp_path, env=cluster | {"NAP": "60"}, stdout=subprocess.PIPE, text=True
    )
    assert job.stdout is not None and "<run><c.yaml>" in job.stdout.readline()
    job.send_signal(signal.SIGTERM)
    said, _ = job.communicate()
    assert job.returncode == 0 and said.splitlines() == ["written", "scontrol requeue 12345"]


def test_without_a_configuration_it_says_how(cluster: dict[str, str], tmp_path: Path) -> None:
    done = subprocess.run(["bash", str(SCRIPT)], cwd=tmp_path, env=cluster, capture_output=True, text=True)
    assert done.returncode == 2 and "name a configuration" in done.stderr
