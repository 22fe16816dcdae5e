"""A model endpoint on loopback with the Messages API and chat completions, and faults on demand.

In a test, the fixture `models` (tests/model_fixtures.py) starts one in a thread and resets it before each test:

    models.answers(Reply("18 degrees"), Reply(uses=[Use("get_weather", {"city": "Oslo"})]))   # in this order
    models.when("weather", Reply("18 degrees"))        # whenever the last text of the user or a tool holds this; goes first
    models.answer_with(lambda question: Reply(question.last.upper()))
    models.environ                                     # for a process: base URLs and keys of both APIs
    models.questions                                   # what was asked: api, model, system, last, tools, body, headers

From a shell: `python -m tests.servers.model_endpoint [SCRIPT.json]` prints what to export, and serves until its stdin ends.
A script is a list of {"when"?, "text"?, "uses"?: [{"name", "args" | "raw"}], "stop"?, "status"?, "headers"?, "fault"?,
"usage"?}; one with `when` is given whenever it fits, the others in their order, the last of them for ever.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import sys
import threading
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

ANTHROPIC_KEY = "sk-ant-test-0123456789abcdefghijklmnop"
OPENAI_KEY = "sk-test-0123456789abcdefghijklmnopqrstuv"
FAULTS = frozenset(
    {
        "reset",  # the connection is reset before any answer
        "hang",  # nothing comes, ever
        "hang_mid",  # nothing more comes, after the first half
        "error_mid",  # an error event, after the first half
        "truncate",  # the body ends properly after the first half, without its last events
        "reset_mid",  # the connection is reset after the first half
        "garbage",  # events that are no JSON
        "no_choices",  # a stream without anything in it
        "hold",  # the answer comes once `release` is called
    }
)


class Use(NamedTuple):
    """A tool call that the model asks for; `raw` is what it writes in place of JSON arguments."""

    name: str
    args: Any = None
    raw: str | None = None
    id: str | None = None

    @property
    def text(self) -> str:
        return self.raw if self.raw is not None else json.dumps(self.args or {})


class Reply(NamedTuple):
    """One answer. `stop` is the provider's own word, by default the usual one. `usage` is (in, out), None for none at all.

    `body` is sent as it is, with `status` and `content_type`. `streams` False: one piece of JSON, whatever was asked for.
    `piece` is how many characters of a text or of arguments come at once.
    """

    text: str = ""
    uses: Iterable[Use] = ()
    stop: str | None = None
    usage: tuple[int, int] | None = (100, 20)
    status: int = 200
    headers: Mapping[str, str] = {}
    body: str | None = None
    content_type: str = "application/json"
    fault: str | None = None
    streams: bool = True
    piece: int = 12
    refusal: str | None = None
    thinking: str | None = None
    error: tuple[str, str] = ("overloaded_error", "Overloaded")


class Question(NamedTuple):
    """What was asked."""

    api: str
    model: str
    system: str
    last: str
    tools: tuple[str, ...]
    body: dict[str, Any]
    headers: dict[str, str]
    path: str


class ModelEndpoint:
    """The endpoint. `with` starts it; its requests can be read from any thread."""

    def __init__(self) -> None:
        self.port = 0
        self._ready = threading.Event()
        self._changed = threading.Condition()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._open: set[asyncio.Task[None]] = set()
        self.reset()

    def reset(self) -> None:
        """Clear all requests and scripted answers."""
        self.questions: list[Question] = []
        self.left_early = 0
        self.most_at_once = 0
        self.refuse: dict[str, str] = {}
        self._now = 0
        self._answers: deque[Reply] = deque()
        self._rules: list[tuple[str, Reply]] = []
        self._answer: Callable[[Question], Reply] = lambda question: Reply(f"you said: {question.last}")
        self.release()

    # --- what it answers

    def answers(self, *replies: Reply | str) -> None:
        """Give these, in this order."""
        self._answers.extend(Reply(reply) if isinstance(reply, str) else reply for reply in replies)

    def when(self, text: str, reply: Reply | str) -> None:
        """Give this whenever the last text holds `text`."""
        self._rules.append((text, Reply(reply) if isinstance(reply, str) else reply))

    def answer_with(self, answer: Callable[[Question], Reply | str]) -> None:
        """Give what `answer` makes of a question for which there is nothing else."""

        def made(question: Question) -> Reply:
            reply = answer(question)
            return Reply(reply) if isinstance(reply, str) else reply

        self._answer = made

    def release(self) -> None:
        """Release the waiting requests; later ones wait again."""
        held = getattr(self, "_held", None)
        self._held = asyncio.Event()
        if held is not None and self._loop is not None:
            self._loop.call_soon_threadsafe(held.set)

    def refusing(self, parameter: str, words: str) -> None:
        """Refuse every request with `parameter` in its body, with HTTP 400 and this text."""
        self.refuse[parameter] = words

    # --- what is to be told of it

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def environ(self) -> dict[str, str]:
        return {**self.anthropic, **self.openai}

    @property
    def anthropic(self) -> dict[str, str]:
        return {"ANTHROPIC_BASE_URL": self.url, "ANTHROPIC_API_KEY": ANTHROPIC_KEY}

    @property
    def openai(self) -> dict[str, str]:
        return {"OPENAI_BASE_URL": f"{self.url}/v1", "OPENAI_API_KEY": OPENAI_KEY}

    def wait_for(self, true: Callable[[], bool], seconds: float = 60) -> None:
        """Wait until something holds of this endpoint."""
        with self._changed:
            assert self._changed.wait_for(true, seconds), "it had no effect"

    async def until(self, true: Callable[[], bool]) -> None:
        """The same in an event loop."""
        await asyncio.to_thread(self.wait_for, true)

    # --- its life

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        assert self._ready.wait(60)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join(60)

    async def _serve(self) -> None:
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._ended.wait()
        server.close()
        for task in tuple(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            await self._exchange(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        except asyncio.CancelledError:
            pass
        finally:
            self._open.discard(task)
            writer.close()
            with contextlib.suppress(Exception):
                await writer.wait_closed()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        data = await reader.readexactly(int(headers.get("content-length", 0)))
        question = _question(head[0].split()[1], headers, json.loads(data or b"{}"))
        with self._changed:
            self.questions.append(question)
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
            self._changed.notify_all()
        try:
            await self._give(self._reply_to(question), question, reader, writer)
        except ConnectionError:
            with self._changed:
                self.left_early += 1
        finally:
            with self._changed:
                self._now -= 1
                self._changed.notify_all()

    def _reply_to(self, question: Question) -> Reply:
        for parameter, words in self.refuse.items():
            if parameter in question.body:
                error = {"type": "invalid_request_error", "message": words, "param": parameter}
                return Reply(status=400, body=json.dumps({"type": "error", "error": error}))
        for text, reply in self._rules:
            if text in question.last:
                return reply
        return self._answers.popleft() if self._answers else self._answer(question)

    async def _give(
        self, reply: Reply, question: Question, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        assert reply.fault is None or reply.fault in FAULTS, reply.fault
        if reply.fault == "hold":
            await self._held.wait()
        if reply.fault == "hang":
            await self._until_left(reader)
            return
        if reply.fault == "reset":
            writer.transport.abort()
            return
        if reply.status != 200 or reply.body is not None:
            _whole(writer, reply, reply.body if reply.body is not None else json.dumps(_error(reply)))
            await writer.drain()
            return
        form = _ANTHROPIC if question.api == "anthropic" else _OPENAI
        if not reply.streams or not question.body.get("stream"):
            _whole(writer, reply, json.dumps(form.whole(reply, question)))
            await writer.drain()
            return
        await self._stream(reply, [*form.events(reply, question)], form, reader, writer)

    async def _stream(
        self, reply: Reply, events: list[str], form: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        told = "".join(f"{name}: {value}\r\n" for name, value in reply.headers.items())
        writer.write(
            f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n{told}"
            "transfer-encoding: chunked\r\nconnection: close\r\n\r\n".encode()
        )
        if reply.fault == "garbage":
            events = [*events[:1], "event: content_block_delta\ndata: {not json\n\n", *events[1:]]
        if reply.fault == "no_choices":
            events = ["data: [DONE]\n\n"] if form is _OPENAI else []
        half = reply.fault in {"hang_mid", "error_mid", "truncate", "reset_mid"}
        for event in events[: max(2, len(events) // 2)] if half else events:
            _chunk(writer, event)
            await writer.drain()
        if reply.fault == "hang_mid":
            await self._until_left(reader)
            return
        if reply.fault == "reset_mid":
            await asyncio.sleep(0)
            writer.transport.abort()
            return
        if reply.fault == "error_mid":
            _chunk(writer, form.error(reply))
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    async def _until_left(self, reader: asyncio.StreamReader) -> None:
        """Wait until the client has disconnected, and count that."""
        with contextlib.suppress(ConnectionError):
            while await reader.read(4096):
                pass
        with self._changed:
            self.left_early += 1
            self._changed.notify_all()


def _whole(writer: asyncio.StreamWriter, reply: Reply, text: str) -> None:
    data = text.encode()
    told = "".join(f"{name}: {value}\r\n" for name, value in reply.headers.items())
    writer.write(
        f"HTTP/1.1 {reply.status} Told\r\ncontent-type: {reply.content_type}\r\n{told}"
        f"content-length: {len(data)}\r\nconnection: close\r\n\r\n".encode()
        + data
    )


def _chunk(writer: asyncio.StreamWriter, event: str) -> None:
    data = event.encode("utf-8", "surrogatepass")
    writer.write(b"%x\r\n%s\r\n" % (len(data), data))


def _error(reply: Reply) -> dict[str, Any]:
    kinds = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}
    kind = kinds.get(reply.status, "overloaded_error" if reply.status == 529 else "api_error")
    error = {"type": kind, "message": reply.text or f"told with {reply.status}"}
    return {"type": "error", "error": error}


def _question(path: str, headers: dict[str, str], body: dict[str, Any]) -> Question:
    api = "anthropic" if path.endswith("/messages") else "openai"
    messages = body.get("messages") or [{}]
    system = body.get("system") or next((m["content"] for m in messages if m.get("role") == "system"), "")
    content = messages[-1].get("content")
    if isinstance(content, list):
        parts = [part.get("text") or part.get("content") or "" for part in content]
        content = "\n".join(part if isinstance(part, str) else json.dumps(part) for part in parts)
    tools = tuple(tool.get("name") or tool["function"]["name"] for tool in body.get("tools", ()))
    return Question(api, str(body.get("model")), str(system), content or "", tools, body, headers, path)


def _pieces(text: str, size: int) -> Iterable[str]:
    return [text[at : at + size] for at in range(0, len(text), size)] or [""]


class _Anthropic:
    """The Messages API."""

    def _blocks(self, reply: Reply) -> list[dict[str, Any]]:
        blocks: list[dict[str, Any]] = []
        if reply.thinking is not None:
            blocks.append({"type": "thinking", "thinking": reply.thinking, "signature": "c2lnbmVk"})
        if reply.text or (not reply.uses and reply.refusal is None):
            blocks.append({"type": "text", "text": reply.text})
        for number, use in enumerate(reply.uses):
            told = {"type": "tool_use", "id": use.id or f"toolu_{id(reply):x}_{number}", "name": use.name}
            blocks.append({**told, "input": use.text})
        return blocks

    def _head(self, reply: Reply, question: Question) -> dict[str, Any]:
        told = {"id": "msg_test", "type": "message", "role": "assistant", "model": question.model}
        usage = {} if reply.usage is None else {"usage": {"input_tokens": reply.usage[0], "output_tokens": 1}}
        return {**told, "content": [], "stop_reason": None, "stop_sequence": None, **usage}

    def _stop(self, reply: Reply) -> str:
        return reply.stop or ("tool_use" if reply.uses else "refusal" if reply.refusal is not None else "end_turn")

    def whole(self, reply: Reply, question: Question) -> dict[str, Any]:
        blocks = self._blocks(reply)
        for block in blocks:
            if block["type"] == "tool_use":
                block["input"] = json.loads(block["input"])
        usage = {} if reply.usage is None else {"input_tokens": reply.usage[0], "output_tokens": reply.usage[1]}
        return {**self._head(reply, question), "content": blocks, "stop_reason": self._stop(reply), "usage": usage}

    def events(self, reply: Reply, question: Question) -> Iterable[str]:
        yield self._event("message_start", message=self._head(reply, question))
        yield self._event("ping")
        for index, block in enumerate(self._blocks(reply)):
            match block["type"]:
                case "text":
                    start, kind, name, whole = {"type": "text", "text": ""}, "text_delta", "text", block["text"]
                case "thinking":
                    start = {"type": "thinking", "thinking": "", "signature": ""}
                    kind, name, whole = "thinking_delta", "thinking", block["thinking"]
                case _:
                    start, kind, name = {**block, "input": {}}, "input_json_delta", "partial_json"
                    whole = block["input"]
            yield self._event("content_block_start", index=index, content_block=start)
            for piece in _pieces(whole, reply.piece):
                yield self._event("content_block_delta", index=index, delta={"type": kind, name: piece})
            if block["type"] == "thinking":
                signed = {"type": "signature_delta", "signature": block["signature"]}
                yield self._event("content_block_delta", index=index, delta=signed)
            yield self._event("content_block_stop", index=index)
        usage = {} if reply.usage is None else {"usage": {"output_tokens": reply.usage[1]}}
        stop = {"stop_reason": self._stop(reply), "stop_sequence": None}
        yield self._event("message_delta", delta=stop, **usage)
        yield self._event("message_stop")

    def error(self, reply: Reply) -> str:
        return self._event("error", error={"type": reply.error[0], "message": reply.error[1]})

    def _event(self, kind: str, **members: Any) -> str:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **members})}\n\n"


class _OpenAI:
    """Chat completions."""

    def _stop(self, reply: Reply) -> str:
        return reply.stop or ("tool_calls" if reply.uses else "stop")

    def _calls(self, reply: Reply) -> list[dict[str, Any]]:
        return [
            {
                "id": use.id or f"call_{id(reply):x}_{number}",
                "type": "function",
                "function": {"name": use.name, "arguments": use.text},
            }
            for number, use in enumerate(reply.uses)
        ]

    def _usage(self, reply: Reply) -> dict[str, int]:
        assert reply.usage is not None
        said, heard = reply.usage
        return {"prompt_tokens": said, "completion_tokens": heard, "total_tokens": said + heard}

    def whole(self, reply: Reply, question: Question) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": reply.text or None, "refusal": reply.refusal}
        if reply.uses:
            message["tool_calls"] = self._calls(reply)
        choice = {"index": 0, "message": message, "finish_reason": self._stop(reply)}
        told = {"id": "chatcmpl-test", "object": "chat.completion", "created": 1, "model": question.model}
        return {**told, "choices": [choice], **({} if reply.usage is None else {"usage": self._usage(reply)})}

    def events(self, reply: Reply, question: Question) -> Iterable[str]:
        def chunk(delta: dict[str, Any], stop: str | None = None) -> str:
            return self._chunk(question, choices=[{"index": 0, "delta": delta, "finish_reason": stop}])

        yield chunk({"role": "assistant", "content": ""})
        for name, text in (("content", reply.text), ("refusal", reply.refusal)):
            for piece in _pieces(text, reply.piece) if text else ():
                yield chunk({name: piece})
        for index, call in enumerate(self._calls(reply)):
            arguments = call["function"]["arguments"]
            yield chunk({"tool_calls": [{"index": index, **call, "function": {**call["function"], "arguments": ""}}]})
            for piece in _pieces(arguments, reply.piece):
                yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
        yield chunk({}, self._stop(reply))
        if reply.usage is not None and question.body.get("stream_options", {}).get("include_usage"):
            yield self._chunk(question, choices=[], usage=self._usage(reply))
        yield "data: [DONE]\n\n"

    def error(self, reply: Reply) -> str:
        error = {"type": reply.error[0], "message": reply.error[1], "code": None, "param": None}
        return f"data: {json.dumps({'error': error})}\n\n"

    def _chunk(self, question: Question, **members: Any) -> str:
        told = {"id": "chatcmpl-test", "object": "chat.completion.chunk", "created": 1, "model": question.model}
        return f"data: {json.dumps({**told, **members})}\n\n"


_ANTHROPIC, _OPENAI = _Anthropic(), _OpenAI()


def _scripted(endpoint: ModelEndpoint, script: list[dict[str, Any]]) -> None:
    replies = []
    for told in script:
        members = {name: value for name, value in told.items() if name not in {"when", "uses", "usage"}}
        uses = [Use(use["name"], use.get("args"), use.get("raw")) for use in told.get("uses", ())]
        usage = told.get("usage", (100, 20))
        reply = Reply(**members, uses=uses, usage=None if usage is None else tuple(usage))
        if "when" in told:
            endpoint.when(told["when"], reply)
        else:
            replies.append(reply)
    endpoint.answers(*replies)
    if replies:
        endpoint.answer_with(lambda _: replies[-1])


_ABOUT = "A model endpoint on loopback. It prints what to export, and ends when its stdin does."


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.servers.model_endpoint", description=_ABOUT)
    parser.add_argument("script", nargs="?", type=Path, help="a JSON list of replies, each with the members of `Reply`")
    script = parser.parse_args().script
    endpoint = ModelEndpoint()
    if script is not None:
        try:
            _scripted(endpoint, json.loads(script.read_text(encoding="utf-8")))
        except (OSError, ValueError) as wrong:
            parser.error(f"`{script}` cannot be read: {wrong}")
    with endpoint:
        for name, value in endpoint.environ.items():
            print(f"export {name}={value}", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
