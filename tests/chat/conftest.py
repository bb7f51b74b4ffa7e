"""Lets these tests import the helper module that lies beside them, and the server of the completion tests."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "completion")]
