"""Keep transformers' progress bars and advice off the terminal while a model is read from disk.

Its errors still come as exceptions, and what matters in its warnings (weights that the file lacks) is checked by the
loader itself.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from typing import Any

from transformers.utils import logging as _logging

logging: Any = _logging  # partly unannotated


@contextmanager
def quiet() -> Iterator[None]:
    """Silence transformers within the block and put its settings back after it."""
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with redirect_stderr(io.StringIO()):  # the GGUF reader draws its bars whatever the settings say
            yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
