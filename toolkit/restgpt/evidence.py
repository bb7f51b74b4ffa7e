"""What the service and the user have said so far, so that an id that nobody mentioned can be told from a real one.

Inventing path parameters is among the paper's most frequent failures (appendix E). Knows nothing of endpoints.
"""

from __future__ import annotations

import json
import re

from toolkit.restgpt.exchange import Exchange

_DATE = re.compile(r"(19|20)\d\d(-\d\d(-\d\d)?)?")


class Evidence:
    """Texts in which a value may have been seen: the request and every answer of the service."""

    def __init__(self, request: str) -> None:
        self._texts = [request.casefold()]

    def add(self, exchange: Exchange) -> None:
        """Remember an answer of the service."""
        body = exchange.text if exchange.json is None else json.dumps(exchange.json, ensure_ascii=False)
        self._texts.append((body or "").casefold())

    def invented(self, value: str) -> bool:
        """Whether the value looks like an id (three digits or more) that appears nowhere in what was said.

        Years and dates do not look like ids: a model may rightly work them out.
        """
        if _DATE.fullmatch(value):
            return False
        digits = sum(character.isdigit() for character in value)
        return digits >= 3 and not any(value.casefold() in text for text in self._texts)
