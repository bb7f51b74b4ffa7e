"""How questions and answers alternate in a prompt: the plugin standard's plain turns, or a model's chat template.

A template is not interpreted but rendered once with marked texts and taken apart, so that answers can go into the
prompt as tokens. Knows nothing of models and tools beyond what a template may be told of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from toolkit.calls.syntax import ARROW, HERMES, LLAMA3, MISTRAL, MISTRAL_ARGS, Syntax
from toolkit.errors import UserError
from toolkit.plugins.examples import AI, GUEST, example_fragment
from toolkit.plugins.fragment import Fragment, Segment, join
from toolkit.plugins.manifest import Manifest

MARKS = ("\u00abone\u00bb", "\u00abtwo\u00bb", "\u00abthree\u00bb")


@dataclass(frozen=True)
class Turns:
    """The texts around questions and answers: `head`, then (`before` question `between` answer `after`) repeated.

    `lead` is what an answer begins with, `stop` the strings that end one.
    """

    head: str
    before: str
    between: str
    after: str
    lead: str = ""
    stop: tuple[str, ...] = ()

    def ask(self, question: str) -> str:
        """The text of a question up to where its answer begins."""
        return f"{self.before}{question}{self.between}"

    def exchange(self, question: str, answer: str, syntax: Syntax) -> Fragment:
        """An example, its answer authored in the arrow syntax, as segments of this format."""
        _, *segments = example_fragment(question, answer, syntax).segments
        first, last = segments[0], segments[-1]
        segments[0] = Segment(first.kind, self.lead + first.text.removeprefix(" "))
        last = segments[-1]
        segments[-1] = Segment(last.kind, last.text.removesuffix("\n") + self.after)
        kept = [segment for segment in segments if segment.text]
        return Fragment((Segment("user", self.ask(question)), *kept))

    def examples(self, exchanges: Iterable[tuple[str, str]], syntax: Syntax) -> Fragment:
        """`head` and all examples."""
        opening = Fragment((Segment("user", self.head),) if self.head else ())
        return opening + join(self.exchange(question, answer, syntax) for question, answer in exchanges)


PLAIN = Turns("", f"{GUEST} ", f"\n{AI}", "\n", lead=" ", stop=("\n",))
LINES = replace(PLAIN, stop=(GUEST,))


def plain_turns(syntax: Syntax) -> Turns:
    """A line break ends an answer, unless calls are written on lines of their own: then the next turn does."""
    return LINES if syntax.arguments == "line" else PLAIN


def template_syntax(template: str) -> Syntax | None:
    """The call syntax that a chat template renders; None when it renders none that we know."""
    if "<tool_call>" in template:
        return HERMES
    if "[TOOL_CALLS]" in template:
        return MISTRAL_ARGS if "[ARGS]" in template else MISTRAL
    return LLAMA3 if "ipython" in template else None


def turns_for(tokenizer: Any, syntax: Syntax | None, manifests: Sequence[Manifest]) -> tuple[Turns, Syntax]:
    """Format and syntax for a model: a syntax of chat models goes through the template, the others do not need one."""
    shown = template_syntax(tokenizer.chat_template) if isinstance(tokenizer.chat_template, str) else None
    syntax = syntax or shown or ARROW
    if syntax.arguments != "json":
        return plain_turns(syntax), syntax
    if not tokenizer.chat_template:
        fix = "use --syntax arrow"
        raise UserError(f"the syntax {syntax.name} needs a chat template, and this model has none", fix=fix)
    return of_template(tokenizer, syntax, functions(manifests, syntax) if shown else None), syntax


def functions(manifests: Sequence[Manifest], syntax: Syntax) -> list[dict[str, Any]]:
    """All APIs as the function descriptions that chat templates take."""
    described = []
    for manifest in manifests:
        for name, api in manifest.apis.items():
            values = {syntax.text_key: {"type": "string"}} if api.arguments else {}
            parameters = {"type": "object", "properties": values, "required": list(values)}
            function = {"name": name, "description": manifest.description, "parameters": parameters}
            described.append({"type": "function", "function": function})
    return described


def of_template(tokenizer: Any, syntax: Syntax, tools: list[dict[str, Any]] | None = None) -> Turns:
    """The turns that the tokenizer's chat template writes; UserError for a template that cannot be taken apart."""

    def render(*roles: str, prompt: bool) -> str:
        messages = [{"role": role, "content": mark} for role, mark in zip(roles, MARKS, strict=False)]
        options = {"tools": tools} if tools else {}
        return str(
            tokenizer.apply_chat_template(
                messages, tokenize=False, add_generation_prompt=prompt, enable_thinking=False, **options
            )
        )

    whole = render("user", "assistant", "user", prompt=True)
    try:
        start, rest = whole.split(MARKS[0])
        _, rest = rest.split(MARKS[1])
        middle, between = rest.split(MARKS[2])
    except ValueError:
        raise UserError("the model's chat template does not alternate questions and answers") from None
    after = render("user", "assistant", prompt=False).partition(MARKS[1])[2]
    before = middle.removeprefix(after)
    return Turns(start.removesuffix(before), before, between, after)
