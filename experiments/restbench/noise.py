"""Descriptions with a chosen number of endpoints, for the noise curve (RestGPT, section 4.5): a core that suffices for
the questions, then the rest of the description in a seeded order, then synthetic endpoints cloned from another one.

Clones exist in the description only; the service answers 404 to them. None resembles an endpoint of the description
itself, so that a clone is noise and not a trap. Sizes are nested: a larger description holds every smaller one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from toolkit.errors import UserError
from toolkit.restgpt.spec import Body, Endpoint, Parameter, Spec

# What the clones of an endpoint are about, by the head of their path and the word that takes the service's place.
REALMS = ("podcasts", "radio", "concerts", "lyrics", "sheetmusic", "karaoke")


def with_endpoints(spec: Spec, other: Spec, core: Sequence[str], size: int, seed: int) -> Spec:
    """`spec` with exactly `size` endpoints: `core` (`METHOD /path` keys), further ones of its own, clones of `other`.

    The order within the description is that of `spec`, clones last. Raises UserError for an unknown core endpoint,
    for a size below the core's, and for one that cannot be reached.
    """
    known = {endpoint.key: endpoint for endpoint in spec.endpoints}
    if missing := [key for key in core if key not in known]:
        raise UserError(f"the description has no endpoint {missing[0]!r}", "core", "write METHOD /path as it does")
    most = len(known) + len(REALMS) * len(other.endpoints)
    if not len(core) <= size <= most:
        raise UserError(f"{size} endpoints cannot be made", "endpoints", f"choose {len(core)} to {most}")
    rest = [key for key in known if key not in core]
    Random(f"{seed}/rest").shuffle(rest)
    chosen = {*core, *rest[: size - len(core)]}
    own = tuple(endpoint for endpoint in spec.endpoints if endpoint.key in chosen)
    clones = [_clone(endpoint, realm, other) for realm in REALMS for endpoint in other.endpoints]
    Random(f"{seed}/clones").shuffle(clones)
    return replace(spec, endpoints=own + tuple(clones[: size - len(own)]))


def _clone(endpoint: Endpoint, realm: str, home: Spec) -> Endpoint:
    """An endpoint as the description of `realm` would have it, free of references into its old document."""
    return Endpoint(
        method=endpoint.method,
        path=f"/{realm}{endpoint.path}",
        summary=f"{endpoint.summary} ({realm})",
        description=f"{endpoint.description.rstrip(' .')} ({realm}).",
        parameters=tuple(_free(parameter, home) for parameter in endpoint.parameters),
        body=Body(endpoint.body.media_type, {"type": "object"}, endpoint.body.required) if endpoint.body else None,
    )


def _free(parameter: Parameter, home: Spec) -> Parameter:
    return replace(parameter, schema=home.resolve(parameter.schema))
