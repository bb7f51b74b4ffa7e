"""Constrained calls: every mask that a row can meet equals brute force over the vocabulary; rows write valid calls."""

from __future__ import annotations

import json
from random import Random

import pytest
import regex
from tiny import END_OF_TEXT, MERGES, tiny_model, tiny_tokenizer
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

pytest.importorskip("llguidance", reason="the extra `rest` is not installed")

from toolkit.calls.scanner import Scanner
from toolkit.calls.syntax import ARROW, HERMES, REACT, SYNTAXES, Syntax
from toolkit.decoding import Interceptor, Limits, ReferenceLoop, Request, Sampling
from toolkit.decoding.vocabulary import Vocabulary
from toolkit.errors import UserError
from toolkit.models.constrained_calls import NESTING, CallConstraint, CallGrammar
from toolkit.tools.outcome import Outcome
from toolkit.tools.toolbox import Toolbox

MORE = (
    ("Ġ[", "MATH"),
    ("[", "1"),
    ("Ġ[", "DA"),
    ("D", "A"),
    ("[", "["),
    ("(", ")"),
    (")", "Ġ"),
    ("é", "("),
    ("'", ")"),
)
SMALL = {"DATE": "", "DA": "[15]{1,2}"}
OPEN = {"MATH": r"[0-9]+( [*+] [0-9]+)*", "DATE": "", "SAY": None}


def tokenizer_with(merges: tuple[tuple[str, str], ...]) -> PreTrainedTokenizerFast:
    """The tiny tokenizer with more tokens that straddle a call's marks."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokens = dict.fromkeys([*alphabet, "é", *("".join(pair) for pair in merges)])
    known = [pair for pair in merges if pair[0] in tokens and pair[1] in tokens]
    core = Tokenizer(models.BPE({token: index for index, token in enumerate(tokens)}, known))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    core.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=core, eos_token=END_OF_TEXT, bos_token=END_OF_TEXT)


TOKENIZER = tokenizer_with((*MERGES, *MORE))
SIZE = len(TOKENIZER)
BYTES = Vocabulary(TOKENIZER).bytes_of


def begins_a_call(text: bytes, patterns: dict[str, str | None]) -> bool:
    """Whether `text` can go on to be one whole call in the arrow syntax, or is one; by definition, with no grammar."""
    for name, pattern in patterns.items():
        head = f"[{name}(".encode()
        if head.startswith(text):
            return True
        if not text.startswith(head):
            continue
        arguments = text[len(head) :]
        whole = arguments.decode("utf-8", "ignore")
        if pattern is None:
            return free(arguments)
        return whole.encode() == arguments and bool(regex.fullmatch(rf"(?:{pattern})\)", whole, partial=True))
    return False


def free(arguments: bytes) -> bool:
    """Whether the scanner may still see `arguments` close, or sees it close at their last byte."""
    try:
        text = arguments.decode()
    except UnicodeDecodeError as error:
        if error.reason != "unexpected end of data":
            return False
        text = arguments[: error.start].decode()
    if regex.match(r"\s", text) or "\n" in text:
        return False
    call = Scanner(ARROW).feed(b"[X(" + arguments)
    return call is None or (call.end == len(arguments) + 3 and not regex.match(r"\s", text[-2:-1]))


def brute(text: bytes, patterns: dict[str, str | None]) -> list[bool]:
    """For each token: may it follow `text`, the bytes since the last call?"""
    data = BYTES
    allowed = []
    for token in range(SIZE):
        after = text + data[token]
        start = after.find(b"[")
        allowed.append(start < 0 or (bool(data[token]) and begins_a_call(after[start:], patterns)))
    return allowed


def as_list(constraint: CallConstraint) -> list[bool]:
    mask = constraint.mask()
    return [True] * SIZE if mask is None else mask.tolist()


def closes(text: bytes) -> bool:
    start = text.find(b"[")
    return start >= 0 and Scanner(ARROW).feed(text[start:]) is not None


def test_every_mask_of_a_finite_grammar_equals_brute_force() -> None:
    grammar = CallGrammar(TOKENIZER, SIZE, ARROW, SMALL)
    interesting = [token for token, data in enumerate(grammar.bytes_of) if data in {b"x", b"]", b" "} or b"[" in data]
    seen: set[bytes] = set()
    queue: list[list[int]] = [[], *([token] for token in interesting)]
    while queue:
        path = queue.pop()
        constraint, text = grammar.constraint(), b""
        legal = True
        for token in path:
            legal = legal and as_list(constraint)[token]
            if not legal:
                break
            constraint.advance(token)
            text += grammar.bytes_of[token]
            if closes(text):
                text = b""
        if not legal or (text in seen and path):
            continue
        seen.add(text)
        expected = brute(text, SMALL)
        assert as_list(constraint) == expected, text
        if b"[" in text:
            queue += [[*path, token] for token in range(SIZE) if expected[token]]
    assert {b"", b"[", b"[DA", b"[DA(", b"[DA(1", b"[DA(15", b"[DATE("} <= seen
    assert not any(text.startswith(b"[1") or b"[[" in text for text in seen)


@pytest.mark.parametrize("seed", range(6))
def test_masks_on_random_walks_equal_brute_force(seed: int) -> None:
    grammar = CallGrammar(TOKENIZER, SIZE, ARROW, OPEN)
    rng, constraint, text = Random(seed), grammar.constraint(), b""
    heads = [token for token, data in enumerate(grammar.bytes_of) if b"[" in data]
    for _ in range(60):
        expected = brute(text, OPEN)
        assert as_list(constraint) == expected, text
        choices = [token for token in range(SIZE) if expected[token] and grammar.bytes_of[token]]
        if b"[" not in text and rng.random() < 0.5:
            choices = [token for token in heads if expected[token]]
        token = rng.choice(choices)
        constraint.advance(token)
        text += grammar.bytes_of[token]
        if closes(text) or text.count(b"(") > NESTING:
            constraint, text = grammar.constraint(), b""


@pytest.mark.parametrize("name", list(SYNTAXES))
def test_every_syntax_takes_right_calls_and_no_wrong_ones(name: str) -> None:
    syntax = SYNTAXES[name]
    grammar = CallGrammar(TOKENIZER, SIZE, syntax, OPEN)
    for api, arguments, right in [
        ("MATH", "5 * 3", True),
        ("DATE", "", True),
        ("SAY", "", True),
        ("MATH", "5 ^ 3", False),
        ("MATH", "", False),
        ("DATE", "now", False),
        ("MASH", "5 * 3", False),
        ("MATH", "5 *\n3", False),
    ]:
        assert accepts(grammar, f"so {syntax.call(api, arguments)}") is right, (api, arguments)


def accepts(grammar: CallGrammar, text: str) -> bool:
    """Whether the text can be written byte by byte, and leaves no call open."""
    constraint = grammar.constraint()
    for byte in text.encode():
        token = BYTES.index(bytes([byte]))
        mask = constraint.mask()
        if mask is not None and not mask[token]:
            return False
        constraint.advance(token)
    return constraint._inside is None


def test_free_arguments_nest_and_quote_as_the_scanner_has_it() -> None:
    grammar = CallGrammar(TOKENIZER, SIZE, ARROW, {"SAY": None})
    assert accepts(grammar, "[SAY((1 + (2 * (3 - (4)))))")
    assert accepts(grammar, '[SAY(\'a ) b\', "c\\")")')
    assert accepts(grammar, "[SAY(it's)")  # an apostrophe opens no string
    assert not accepts(grammar, "[SAY( x)")
    assert not accepts(grammar, "[SAY(x )")


def test_objects_without_a_pattern_may_hold_anything() -> None:
    grammar = CallGrammar(TOKENIZER, SIZE, HERMES, {"SAY": None})
    call = {"name": "SAY", "arguments": {"a": [1, 2.5], "b": 'x"y'}}
    assert accepts(grammar, f"<tool_call>\n{json.dumps(call)}")
    assert not accepts(grammar, '<tool_call>\n{"name": "SAY", "arguments": 5}')


def test_patterns_that_cannot_be_enforced_are_the_users_mistake() -> None:
    with pytest.raises(UserError, match=r"pattern of LOOK.*look-around"):
        CallGrammar(TOKENIZER, SIZE, ARROW, {"MATH": "[0-9]+", "LOOK": "a(?=b)"})


@pytest.mark.parametrize("syntax", [ARROW, REACT], ids=lambda syntax: syntax.name)
def test_rows_of_a_random_model_write_only_calls_that_run(syntax: Syntax) -> None:
    class Ok:
        name, inline = "MATH", True

        def run(self, arguments: str, history: object) -> Outcome:
            return Outcome("ok", "7")

    tokenizer, model = tiny_tokenizer(), tiny_model("llama", seed=3)
    box = Toolbox({"MATH": Ok(), "DATE": Ok()}, {"MATH": OPEN["MATH"], "DATE": ""})
    grammar = CallGrammar(tokenizer, len(tokenizer), syntax, {"MATH": OPEN["MATH"], "DATE": ""})

    def begun() -> CallConstraint:
        constraint = grammar.constraint()
        for char in syntax.opener.rstrip():
            constraint.advance(tokenizer.convert_tokens_to_ids(char))
        return constraint

    requests = [
        Request(
            f"r{n}",
            tokenizer.encode(f"{n}?", add_special_tokens=False),
            seed=n,
            stop=(),
            constraint=begun,
            limits=Limits(model_tokens=40, calls=3),
            sampling=Sampling(2.0),
        )
        for n in range(12)
    ]
    replies = {reply.id: reply for reply in Interceptor(model, tokenizer, box, syntax).run(requests)}
    calls = [call for reply in replies.values() for call in reply.calls]
    assert all(call.outcome.ok for call in calls)
    if syntax is ARROW:
        assert calls
    loop = ReferenceLoop(model, tokenizer, box, syntax)
    for request in requests[:4]:
        again = loop.reply(request)
        assert (again.ids, again.text, again.finish) == (
            replies[request.id].ids,
            replies[request.id].text,
            replies[request.id].finish,
        )
