"""Where the toolkit keeps what it can make again: one folder per user, safe to delete at any time.

Knows nothing of what is kept there; each writer puts finished things in place by one rename.
"""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """`$HELDOUT_CACHE`, else `$XDG_CACHE_HOME/heldout-toolkit`, else `~/.cache/heldout-toolkit`; made by its users."""
    if own := os.environ.get("HELDOUT_CACHE"):
        return Path(own).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "heldout-toolkit"
