"""Secrets: where they come from, how they join a request at the last moment, and how they are kept out of records.

They come from the environment or the user's configuration, never from a model or a description. Knows nothing of
sockets.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, quote_plus

from toolkit.restgpt.spec_types import Endpoint, SecurityScheme, Spec

HIDDEN = "***"
_SHORTEST = 4


def credentials_from_environment(spec: Spec, environ: Mapping[str, str]) -> dict[str, str]:
    """Scheme name -> secret, read from `REST_KEY_<SCHEME>` (upper case, other characters as `_`).

    A description with a single scheme also takes plain `REST_KEY`. For basic authentication: `user:password`.
    """
    found: dict[str, str] = {}
    for name in spec.schemes:
        value = environ.get(variable_name(name)) or (environ.get("REST_KEY") if len(spec.schemes) == 1 else None)
        if value:
            found[name] = value.strip()
    return found


def variable_name(scheme: str) -> str:
    """The environment variable that holds the secret of a scheme."""
    return "REST_KEY_" + re.sub(r"\W+", "_", scheme).upper()


class Credentials:
    """The secrets of one service. Nothing here prints them."""

    def __init__(self, schemes: Mapping[str, SecurityScheme], secrets: Mapping[str, str]) -> None:
        self._schemes = schemes
        self._secrets = {name: secret for name, secret in secrets.items() if secret}
        self._hide = sorted(set(_spellings(self._secrets.values())), key=len, reverse=True)

    def chosen(self, endpoint: Endpoint) -> tuple[str, ...] | None:
        """The schemes to use: the first alternative we hold all secrets of; None when one is needed and we do not."""
        for alternative in endpoint.security:
            if alternative and all(name in self._secrets for name in alternative):
                return alternative
        return () if not endpoint.security or () in endpoint.security else None

    def placed(self, names: Iterable[str]) -> tuple[dict[str, str], dict[str, str]]:
        """(headers, query) that carry the secrets of these schemes."""
        headers: dict[str, str] = {}
        query: dict[str, str] = {}
        cookies: list[str] = []
        for name in names:
            scheme, secret = self._schemes[name], self._secrets[name]
            if scheme.kind == "bearer":
                headers["Authorization"] = f"Bearer {secret.removeprefix('Bearer ')}"
            elif scheme.kind == "basic":
                headers["Authorization"] = f"Basic {base64.b64encode(secret.encode()).decode()}"
            elif scheme.place == "query":
                query[scheme.field] = secret
            elif scheme.place == "cookie":
                cookies.append(f"{scheme.field}={quote(secret)}")
            else:
                headers[scheme.field] = secret
        if cookies:
            headers["Cookie"] = "; ".join(cookies)
        return headers, query

    def hide(self, text: str) -> str:
        """`text` without any secret, in whatever spelling a server may echo it."""
        for secret in self._hide:
            text = text.replace(secret, HIDDEN)
        return text

    def hide_data(self, value: Any) -> Any:
        """The same for every text in JSON data, keys included."""
        if not self._hide:
            return value
        if isinstance(value, str):
            return self.hide(value)
        if isinstance(value, list):
            return [self.hide_data(item) for item in value]
        if isinstance(value, dict):
            return {self.hide(key): self.hide_data(item) for key, item in value.items()}
        return value


def _spellings(secrets: Iterable[str]) -> Iterable[str]:
    for secret in secrets:
        if len(secret) >= _SHORTEST:
            yield from (secret, quote(secret), quote(secret, safe=""), quote_plus(secret), secret.replace("/", "\\/"))
            yield json.dumps(secret)[1:-1]
            yield base64.b64encode(secret.encode()).decode()
            password = secret.partition(":")[2]
            if len(password) >= _SHORTEST:
                yield password
