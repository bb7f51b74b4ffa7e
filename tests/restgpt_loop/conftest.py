"""The rental service, its description and agents over it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from loop_parts import SECRET, Service, document

from toolkit.models.scripted import ScriptedModel
from toolkit.restgpt.http import HttpLimits, RestClient
from toolkit.restgpt.run import Agent
from toolkit.restgpt.spec import spec_from_document


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def spec():
    return spec_from_document(document())


@pytest.fixture
def rest(service, spec):
    """rest(script, **fields of Agent) makes an agent; `rest.model` is the scripted model of the last one."""

    def make(entries, http: HttpLimits | None = None, **fields) -> Agent:
        make.model = ScriptedModel(entries)
        limits = http or HttpLimits(retries=0)
        client = RestClient(spec, credentials={"token": SECRET}, transport=service, limits=limits)
        return Agent(spec, make.model, client, **fields)

    return make
