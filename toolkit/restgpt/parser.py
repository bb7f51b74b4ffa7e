"""The Parser of RestGPT (section 3.3): extracts what the sub-task wants from a JSON response, by a program.

The model writes Python over the response, guided by the documented schema; it runs in the sandbox, and errors and
tracebacks go back to the model. When no program works, the model reads the pruned JSON instead. Two ablations share
the interface: reading the JSON directly (the paper's "w/o parser") and a JMESPath query in place of a program.
"""

from __future__ import annotations

from typing import Any, Literal

from toolkit.restgpt.asking import Asker, Module, NoAnswer, Unusable, prose, text_field, without_fence
from toolkit.restgpt.exchange import Exchange
from toolkit.restgpt.render import prune_json, render_schema
from toolkit.restgpt.sandbox import SandboxLimits, SandboxResult, run_jmespath, run_python
from toolkit.restgpt.spec import Endpoint, Spec
from toolkit.restgpt.trace import Trace

Mode = Literal["code", "jmespath", "direct"]
SCHEMA_SHARE = 0.15
SAMPLE_SHARE = 0.08
DIRECT_SHARE = 0.25
OUTPUT_TOKENS = 500
CODE_TOKENS = 700
LONGEST_QUERY = 500
SANDBOX = SandboxLimits()
_READING = {"properties": {"answer": prose(1500)}, "required": ["answer"]}


class Parser:
    """Reads responses in one mode. The schema it shows is pruned to what is wanted."""

    def __init__(
        self,
        asker: Asker,
        spec: Spec,
        trace: Trace,
        mode: Mode = "code",
    ) -> None:
        self._asker, self._spec, self._trace, self._mode = asker, spec, trace, mode

    def read(self, exchange: Exchange, endpoint: Endpoint, wanted: str) -> str:
        """What the response says about `wanted`, in at most 500 tokens. Raises `NoAnswer` when nothing works."""
        try:
            output = self._extract(exchange.json, endpoint, wanted)
        except NoAnswer as failure:
            if self._mode == "direct":
                raise
            self._trace.add("result", text=f"{failure}; reading the response itself", fallback=True)
            output = self._read_directly(exchange.json, wanted)
        return self._asker.shorten(output, OUTPUT_TOKENS)

    def _extract(self, data: Any, endpoint: Endpoint, wanted: str) -> str:
        match self._mode:
            case "direct":
                return self._read_directly(data, wanted)
            case "jmespath":
                return self._by_query(data, endpoint, wanted)
            case "code":
                return self._by_code(data, endpoint, wanted)

    def _by_code(self, data: Any, endpoint: Endpoint, wanted: str) -> str:
        """What the model's program prints."""

        def run(text: str) -> str:
            code = without_fence(text)
            output = self._output(code, run_python(code, data, SANDBOX), "code")
            if not output:
                raise Unusable("the code printed nothing: print the answer, or say in print() that it is not there")
            return output

        return self._asker.ask_text(Module.load("parser"), self._situation(data, endpoint, wanted), run, CODE_TOKENS)

    def _by_query(self, data: Any, endpoint: Endpoint, wanted: str) -> str:
        """What the model's JMESPath query finds."""

        def search(answer: dict[str, Any]) -> str:
            query = text_field(answer, "query")
            if len(query) > LONGEST_QUERY:
                raise Unusable(f"the query is longer than {LONGEST_QUERY} characters")
            output = self._output(query, run_jmespath(query, data, SANDBOX), "query")
            if output == "null":
                raise Unusable("the query finds nothing: check the names of the fields")
            return output

        schema = {"properties": {"query": prose(LONGEST_QUERY)}, "required": ["query"]}
        situation = self._situation(data, endpoint, wanted)
        return self._asker.ask(Module.load("parser_jmespath"), situation, search, schema)

    def _output(self, code: str, outcome: SandboxResult, what: str) -> str:
        """What a run in the sandbox printed, recorded. Raises `Unusable` when it failed."""
        output = outcome.stdout.strip()
        self._trace.add(
            "code", code=code, status=outcome.status, output=output, error=outcome.error, took=outcome.seconds
        )
        if not outcome.ok:
            raise Unusable(f"the {what} failed ({outcome.status}): {outcome.error[-800:]}")
        return output

    def _read_directly(self, data: Any, wanted: str) -> str:
        """What the model reads in the response, pruned to its share of the context."""
        shown = prune_json(data, wanted, self._asker.room(DIRECT_SHARE), self._asker.model.count)
        situation = f"Response:\n{shown}\nWanted: {wanted}"
        return self._asker.ask(
            Module.load("parser_direct"), situation, lambda answer: text_field(answer, "answer"), _READING
        )

    def _situation(self, data: Any, endpoint: Endpoint, wanted: str) -> str:
        """Schema, a pruned sample and what is wanted."""
        count = self._asker.model.count
        schema = render_schema(self._spec, endpoint, self._asker.room(SCHEMA_SHARE), count, wanted)
        sample = prune_json(data, wanted, self._asker.room(SAMPLE_SHARE), count)
        return f"Schema:\n{schema or 'not documented'}\nBeginning of the data:\n{sample}\nWanted: {wanted}"
