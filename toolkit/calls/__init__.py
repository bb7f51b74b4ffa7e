"""How a call is written and found in a byte stream."""

from toolkit.calls.find import find_call
from toolkit.calls.scanner import Call, Scanner
from toolkit.calls.syntax import ARROW, EQUALS, SYNTAXES, Syntax

__all__ = ["ARROW", "EQUALS", "SYNTAXES", "Call", "Scanner", "Syntax", "find_call"]
