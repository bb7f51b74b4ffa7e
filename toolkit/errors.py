"""The two ways a command may fail: the request was wrong (exit code 2) or the run failed (exit code 1).

Everything a user can get wrong is raised as `UserError`, whose text is one line that says what, where and how to
fix it; the command line prints that line and no traceback. This file knows nothing of commands or files.
"""

from __future__ import annotations


def _one_line(text: str) -> str:
    """Collapse white space so that a message can never span lines, whatever it quotes."""
    return " ".join(text.split())


class UserError(Exception):
    """The request was wrong. `what` went wrong, `where` (file, path within it), and the `fix`. Exit code 2."""

    exit_code = 2

    def __init__(self, what: str, where: str | None = None, fix: str | None = None) -> None:
        self.what, self.where, self.fix = what, where, fix
        message = f"{where}: {what}" if where else what
        super().__init__(_one_line(f"{message}; {fix}" if fix else message))


class RunError(Exception):
    """The request was fine but the run or the check failed. Exit code 1."""

    exit_code = 1

    def __init__(self, message: str) -> None:
        super().__init__(_one_line(message))
