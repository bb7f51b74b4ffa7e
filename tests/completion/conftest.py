"""Lets these tests import the helper modules that lie beside them, and those of the rental service."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "restgpt_loop")]
