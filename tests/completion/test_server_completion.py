"""The OpenAI-compatible back end against a scripted transport: what is sent, retried, refused and reported."""

from __future__ import annotations

import json

import httpx2
import pytest

from toolkit.errors import UserError
from toolkit.models.completion import Limits, ModelError, Prompt, Schema, open_model
from toolkit.models.openai_compatible import LARGEST_ANSWER, ServerModel

PROMPT = Prompt("You plan.\n", "Request: x\n")
SCHEMA = Schema({"type": "object", "properties": {}})


def chat(text: str = "hello", **extra) -> httpx2.Response:
    choice = {"message": {"content": text}, "finish_reason": "stop", **extra}
    return httpx2.Response(200, json={"choices": [choice], "usage": {"prompt_tokens": 7, "completion_tokens": 2}})


class Server:
    """Answers in turn; the last answer stays."""

    def __init__(self, *answers) -> None:
        self.answers, self.requests, self.waits = list(answers), [], []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer(request) if callable(answer) else answer

    def payload(self, index: int = -1) -> dict:
        return json.loads(self.requests[index].content)

    def model(self, **options) -> ServerModel:
        options = {"model": "m", "context": 4096, **options}
        return ServerModel(
            "http://server/v1/", transport=httpx2.MockTransport(self), sleep=self.waits.append, **options
        )


def test_chat_request_and_answer():
    server = Server(chat("one STOP two"))
    completion = server.model().complete([PROMPT], ["STOP"], Limits(9))[0]
    assert (completion.text, completion.usage.prompt, completion.usage.written) == ("one ", 7, 2)
    payload = server.payload()
    assert [message["role"] for message in payload["messages"]] == ["system", "user"]
    assert (payload["max_tokens"], payload["temperature"], payload["stop"]) == (9, 0, ["STOP"])
    assert str(server.requests[0].url) == "http://server/v1/chat/completions"
    assert "authorization" not in server.requests[0].headers


def test_plain_completions():
    server = Server(httpx2.Response(200, json={"choices": [{"text": "abc", "finish_reason": "length"}]}))
    completion = server.model(chat=False).complete([PROMPT], [], Limits())[0]
    assert (completion.text, completion.finish, completion.usage.prompt) == ("abc", "length", None)
    assert server.payload()["prompt"] == PROMPT.text


def test_what_may_pass_is_retried_and_retry_after_is_obeyed_within_bounds():
    server = Server(
        httpx2.Response(503),
        httpx2.Response(429, headers={"retry-after": "2"}),
        httpx2.ConnectError("refused"),
        chat(),
    )
    assert server.model().complete([PROMPT], [], Limits())[0].text == "hello"
    assert server.waits == [0.5, 2.0, 2.0]
    server = Server(httpx2.Response(429, headers={"retry-after": "9999"}), chat())
    server.model().complete([PROMPT], [], Limits())
    assert server.waits == [30.0]


def test_response_format_is_given_up_step_by_step_and_remembered():
    refuse = httpx2.Response(400, json={"error": {"message": "response_format is not supported"}})
    server = Server(refuse, refuse, chat("{}"))
    model = server.model()
    assert model.complete([PROMPT], [], Limits(), SCHEMA)[0].shaped is False
    kinds = [server.payload(index).get("response_format", {}).get("type") for index in range(3)]
    assert kinds == ["json_schema", "json_object", None]
    model.complete([PROMPT], [], Limits(), SCHEMA)
    assert len(server.requests) == 4
    server = Server(chat("{}"))
    assert server.model().complete([PROMPT], [], Limits(), SCHEMA)[0].shaped is None


def test_the_schema_is_sent_without_length_limits():
    server = Server(chat("{}"))
    shape = Schema({"type": "object", "properties": {"a": {"type": "string", "maxLength": 9}, "b": {"enum": ["x"]}}})
    server.model().complete([PROMPT], [], Limits(), shape)
    sent = server.payload()["response_format"]["json_schema"]["schema"]
    assert sent == {"type": "object", "properties": {"a": {"type": "string"}, "b": {"enum": ["x"]}}}


def test_a_refusal_for_another_reason_does_not_lose_the_format():
    refuse = httpx2.Response(400, json={"error": {"message": "context too long"}})
    server = Server(refuse, refuse, refuse, chat("{}"))
    model = server.model()
    with pytest.raises(ModelError, match="context too long"):
        model.complete([PROMPT], [], Limits(), SCHEMA)
    assert model.complete([PROMPT], [], Limits(), SCHEMA)[0].shaped is None


def test_newer_name_of_the_token_limit():
    refuse = httpx2.Response(400, json={"error": {"message": "use max_completion_tokens"}})
    server = Server(refuse, chat())
    server.model().complete([PROMPT], [], Limits(5))
    assert server.payload()["max_completion_tokens"] == 5 and "max_tokens" not in server.payload()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (httpx2.ConnectError("Connection refused"), "cannot be reached"),
        (httpx2.ReadTimeout("slow"), "gave no answer in"),
        (httpx2.Response(401, json={"error": {"message": "bad key"}}), "401"),
        (httpx2.Response(404, text="<html>nothing here</html>"), "404"),
        (httpx2.Response(500, text="boom"), "500: boom"),
        (httpx2.Response(302, headers={"location": "http://elsewhere/"}), "302"),
        (httpx2.Response(200, text="<html>"), "did not answer with JSON"),
        (httpx2.Response(200, json={"choices": []}), "has no text"),
        (httpx2.Response(200, json=[1]), "has no text"),
        (httpx2.Response(200, content=b"x" * (LARGEST_ANSWER + 1)), "larger than"),
    ],
)
def test_failures_are_one_line(answer, words):
    with pytest.raises(ModelError, match=words) as caught:
        Server(answer).model().complete([PROMPT], [], Limits())
    assert "\n" not in str(caught.value)


def test_the_key_comes_from_the_environment_and_stays_out_of_messages(monkeypatch):
    monkeypatch.setenv("TEST_MODEL_KEY", "sk-secret-value")
    server = Server(lambda request: httpx2.Response(401, text=f"no: {request.headers['authorization']}"))
    with pytest.raises(ModelError) as caught:
        server.model(key_env="TEST_MODEL_KEY").complete([PROMPT], [], Limits())
    assert server.requests[0].headers["authorization"] == "Bearer sk-secret-value"
    assert "sk-secret-value" not in str(caught.value)
    monkeypatch.setenv("TEST_MODEL_KEY", "sk-\u00e9")
    with pytest.raises(UserError, match="characters that no key has"):
        server.model(key_env="TEST_MODEL_KEY")
    monkeypatch.delenv("TEST_MODEL_KEY")
    with pytest.raises(UserError, match="TEST_MODEL_KEY"):
        server.model(key_env="TEST_MODEL_KEY")


def test_model_name_and_context_are_asked_for():
    models = httpx2.Response(200, json={"data": [{"id": "found", "meta": {"n_ctx": 2048}}]})
    server = Server(models, chat())
    model = server.model(model="", context=None)
    assert model.context == 2048
    model.complete([PROMPT], [], Limits())
    assert server.payload()["model"] == "found"
    assert Server(httpx2.Response(404)).model(context=None).context == 8192


def test_model_strings(tmp_path):
    assert open_model("openai:http://localhost:1/v1#m", context=5).name == "openai:http://localhost:1/v1#m"
    with pytest.raises(UserError, match="no server address"):
        open_model("openai:localhost")
    script = tmp_path / "script.json"
    script.write_text('["a", {"when": "two", "reply": {"b": 1}}]', encoding="utf-8")
    scripted = open_model(f"scripted:{script}")
    texts = [scripted.complete([Prompt("", text)], [], Limits())[0].text for text in ("two", "two")]
    assert texts == ["a", '{"b": 1}']
    with pytest.raises(ModelError, match="no reply left"):
        scripted.complete([Prompt("", "x")], [], Limits())
    with pytest.raises(UserError, match="cannot read the script"):
        open_model("scripted:nowhere.json")
