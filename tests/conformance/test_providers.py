"""Our providers, against the suite that third parties run too."""

from __future__ import annotations

import json
from typing import Any

from clew.testing.provider import ProviderConformance, ProviderWire, Reply, Request, Said, Sent


def as_json(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Reply:
    return Reply(json.dumps(value, ensure_ascii=False).encode(), status, headers=headers or {})


def as_events(events: list[Any], *, named: bool = False, done: bool = False) -> Reply:
    lines = [
        (f"event: {e['type']}\n" if named else "") + f"data: {json.dumps(e, ensure_ascii=False)}\n\n" for e in events
    ]
    return Reply("".join([*lines, "data: [DONE]\n\n" if done else ""]).encode(), kind="text/event-stream")


def cut_up(text: str) -> list[str]:
    return [text[i : i + 4] for i in range(0, len(text), 4)]


def plain(content: Any) -> str:
    return content or "" if not isinstance(content, list) else "".join(p.get("text", "") for p in content)


def _bearer(request: Request) -> str:
    return request.headers.get("x-api-key") or request.headers["authorization"].removeprefix("Bearer ")


class OpenAIChat(ProviderWire):
    provider = "openai"
    base = {"id": "chatcmpl-1", "created": 1700000000, "model": "gpt-4o-mini-2024-07-18", "system_fingerprint": "fp"}

    def make(self, url: str, **options: Any) -> Any:
        from clew.providers.openai import ChatOpenAI

        return ChatOpenAI(**{"base_url": url + "/v1", "api_key": "k", **options})

    def asks_stream(self, request: Request) -> bool:
        return bool(request.body.get("stream"))

    def usage(self, said: Said) -> Any:
        return {"prompt_tokens": said.usage[0], "completion_tokens": said.usage[1], "total_tokens": sum(said.usage)}

    def whole(self, said: Said) -> Reply:
        message: Any = {"role": "assistant", "content": "".join(said.texts) or None}
        if said.reasoning:
            message["reasoning_content"] = "".join(said.reasoning)
        if said.calls:
            message["tool_calls"] = [
                {"id": i, "type": "function", "function": {"name": n, "arguments": json.dumps(a)}}
                for i, n, a in said.calls
            ]
        reason = "tool_calls" if said.calls else "stop"
        choice = {"index": 0, "message": message, "finish_reason": reason}
        return as_json({**self.base, "object": "chat.completion", "choices": [choice], "usage": self.usage(said)})

    def stream(self, said: Said, *, end: bool = True) -> Reply:
        deltas: list[Any] = [{"role": "assistant", "content": ""}]
        deltas += [{"reasoning_content": t} for t in said.reasoning]
        deltas += [{"content": t} for t in said.texts]
        for index, (call_id, name, _) in enumerate(said.calls):
            head = {"index": index, "id": call_id, "type": "function", "function": {"name": name, "arguments": ""}}
            deltas.append({"tool_calls": [head]})
        for index, (_, _, args) in enumerate(said.calls):
            deltas += [
                {"tool_calls": [{"index": index, "function": {"arguments": p}}]} for p in cut_up(json.dumps(args))
            ]
        events = [self.event(delta) for delta in deltas]
        if end:
            events += [
                self.event({}, "tool_calls" if said.calls else "stop"),
                {**self.event({}), "choices": [], "usage": self.usage(said)},
            ]
        return as_events(events, done=end)

    def event(self, delta: Any, reason: str | None = None) -> Any:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return {**self.base, "object": "chat.completion.chunk", "choices": [choice]}

    def error(self, status: int, text: str, headers: dict[str, str]) -> Reply:
        return as_json({"error": {"message": text, "type": "some_error", "param": None, "code": None}}, status, headers)

    def sent(self, request: Request) -> Sent:
        body = request.body
        return Sent(
            [(m["role"], plain(m.get("content"))) for m in body["messages"]],
            {t["function"]["name"]: t["function"]["parameters"] for t in body.get("tools", ())},
            body.get("stop"), body.get("temperature"), request.headers["authorization"].removeprefix("Bearer "),
        )  # fmt: skip


class OpenAIResponses(OpenAIChat):
    can = ProviderWire.can - {"stop"}

    def make(self, url: str, **options: Any) -> Any:
        return super().make(url, use_responses_api=True, **options)

    def items(self, said: Said) -> list[Any]:
        items: list[Any] = []
        if said.reasoning:
            summary = [{"type": "summary_text", "text": "".join(said.reasoning)}]
            items.append({"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": "E+/="})
        if said.texts:
            part = {"type": "output_text", "text": "".join(said.texts), "annotations": []}
            items.append(
                {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}
            )
        for i, (call_id, name, args) in enumerate(said.calls):
            call = {"type": "function_call", "id": f"fc_{i}", "call_id": call_id, "name": name}
            items.append({**call, "arguments": json.dumps(args), "status": "completed"})
        return items

    def body(self, said: Said) -> Any:
        usage = {"input_tokens": said.usage[0], "output_tokens": said.usage[1], "total_tokens": sum(said.usage)}
        body = {"id": "resp_1", "object": "response", "model": "gpt-5", "status": "completed", "created_at": 1700000000}
        return {**body, "output": self.items(said), "usage": usage, "error": None, "incomplete_details": None}

    def whole(self, said: Said) -> Reply:
        return as_json(self.body(said))

    def stream(self, said: Said, *, end: bool = True) -> Reply:
        events: list[Any] = [
            {"type": "response.created", "response": {**self.body(Said()), "output": [], "status": "in_progress"}}
        ]
        for index, item in enumerate(self.items(said)):
            place = {"output_index": index, "item_id": item["id"]}
            empty = {k: v for k, v in item.items() if k not in ("arguments", "encrypted_content")}
            empty |= (
                {"summary": []}
                if item["type"] == "reasoning"
                else {"content": []}
                if item["type"] == "message"
                else {"arguments": ""}
            )
            events.append({"type": "response.output_item.added", "item": empty, **place})
            if item["type"] == "reasoning":
                events += [
                    {"type": "response.reasoning_summary_text.delta", "summary_index": 0, "delta": t, **place}
                    for t in said.reasoning
                ]
            elif item["type"] == "message":
                events += [
                    {"type": "response.output_text.delta", "content_index": 0, "delta": t, **place} for t in said.texts
                ]
            else:
                events += [
                    {"type": "response.function_call_arguments.delta", "delta": p, **place}
                    for p in cut_up(item["arguments"])
                ]
            if end or item["type"] != "message":
                events.append({"type": "response.output_item.done", "item": item, **place})
        if end:
            events.append({"type": "response.completed", "response": self.body(said)})
        return as_events(events, named=True)

    def sent(self, request: Request) -> Sent:
        body = request.body
        turns = [(i["role"], plain(i["content"])) for i in body["input"] if "role" in i]
        tools = {t["name"]: t["parameters"] for t in body.get("tools", ())}
        key = request.headers["authorization"].removeprefix("Bearer ")
        return Sent(turns, tools, None, body.get("temperature"), key)


class Anthropic(ProviderWire):
    provider = "anthropic"

    def make(self, url: str, **options: Any) -> Any:
        from clew.providers.anthropic import ChatAnthropic

        return ChatAnthropic(**{"model": "claude-x", "base_url": url, "api_key": "k", **options})

    def asks_stream(self, request: Request) -> bool:
        return bool(request.body.get("stream"))

    def blocks(self, said: Said) -> list[Any]:
        out: list[Any] = []
        if said.reasoning:
            out.append({"type": "thinking", "thinking": "".join(said.reasoning), "signature": "SIG/+=="})
        if "".join(said.texts):
            out.append({"type": "text", "text": "".join(said.texts)})
        return out + [{"type": "tool_use", "id": i, "name": n, "input": a} for i, n, a in said.calls]

    def body(self, said: Said) -> Any:
        usage = {"input_tokens": said.usage[0], "output_tokens": said.usage[1]}
        body = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x-1", "stop_sequence": None}
        return {
            **body,
            "content": self.blocks(said),
            "stop_reason": "tool_use" if said.calls else "end_turn",
            "usage": usage,
        }

    def whole(self, said: Said) -> Reply:
        return as_json(self.body(said))

    def stream(self, said: Said, *, end: bool = True) -> Reply:
        body = self.body(said)
        start = {**body, "content": [], "stop_reason": None, "usage": {**body["usage"], "output_tokens": 1}}
        events: list[Any] = [{"type": "message_start", "message": start}, {"type": "ping"}]
        for index, block in enumerate(body["content"]):
            empty = {
                k: "" if isinstance(v, str) and k in ("text", "thinking", "signature") else v for k, v in block.items()
            }
            empty |= {"input": {}} if block["type"] == "tool_use" else {}
            events.append({"type": "content_block_start", "index": index, "content_block": empty})
            events += [{"type": "content_block_delta", "index": index, "delta": d} for d in self.deltas(block, said)]
            events.append({"type": "content_block_stop", "index": index})
        if end:
            delta = {"stop_reason": body["stop_reason"], "stop_sequence": None}
            events.append({"type": "message_delta", "delta": delta, "usage": {"output_tokens": said.usage[1]}})
            events.append({"type": "message_stop"})
        return as_events(events, named=True)

    def deltas(self, block: Any, said: Said) -> list[Any]:
        if block["type"] == "thinking":
            signature = {"type": "signature_delta", "signature": block["signature"]}
            return [*({"type": "thinking_delta", "thinking": t} for t in said.reasoning), signature]
        if block["type"] == "text":
            return [{"type": "text_delta", "text": t} for t in said.texts]
        return [{"type": "input_json_delta", "partial_json": p} for p in ["", *cut_up(json.dumps(block["input"]))]]

    def error(self, status: int, text: str, headers: dict[str, str]) -> Reply:
        return as_json({"type": "error", "error": {"type": "some_error", "message": text}}, status, headers)

    def sent(self, request: Request) -> Sent:
        body = request.body
        turns = [("system", plain(body["system"]))] if "system" in body else []
        turns += [(m["role"], plain(m["content"])) for m in body["messages"]]
        tools = {t["name"]: t["input_schema"] for t in body.get("tools", ())}
        return Sent(turns, tools, body.get("stop_sequences"), body.get("temperature"), _bearer(request))


class Google(ProviderWire):
    provider = "google"
    can = ProviderWire.can - {"call_ids"}

    def make(self, url: str, **options: Any) -> Any:
        from clew.providers.google import ChatGoogleGenerativeAI

        return ChatGoogleGenerativeAI(**{"model": "gemini-x", "base_url": url, "api_key": "k", **options})

    def asks_stream(self, request: Request) -> bool:
        return ":streamGenerateContent" in request.path

    def frame(self, parts: list[Any], said: Said, made: int, reason: str | None) -> Any:
        usage = {
            "promptTokenCount": said.usage[0],
            "candidatesTokenCount": made,
            "totalTokenCount": said.usage[0] + made,
        }
        candidate: Any = {"content": {"role": "model", "parts": parts}, "index": 0, "finishReason": reason}
        return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini-x-001", "responseId": "r1"}

    def parts(self, said: Said) -> list[Any]:
        out = [{"text": t, "thought": True} for t in said.reasoning] + [{"text": t} for t in said.texts]
        return out + [{"functionCall": {"name": n, "args": a}} for _, n, a in said.calls]

    def whole(self, said: Said) -> Reply:
        joined = Said(
            ("".join(said.texts),), ("".join(said.reasoning),) if said.reasoning else (), said.calls, said.usage
        )
        parts = [p for p in self.parts(joined) if p.get("text") != ""]
        return as_json(self.frame(parts, said, said.usage[1], "STOP"))

    def stream(self, said: Said, *, end: bool = True) -> Reply:
        frames = [self.frame([p], said, min(i + 1, said.usage[1]), None) for i, p in enumerate(self.parts(said))]
        if end:
            frames.append(self.frame([], said, said.usage[1], "STOP"))
        return as_events(frames)

    def error(self, status: int, text: str, headers: dict[str, str]) -> Reply:
        return as_json({"error": {"code": status, "message": text, "status": "SOME"}}, status, headers)

    def sent(self, request: Request) -> Sent:
        body = request.body
        turns = [("system", plain(body["systemInstruction"]["parts"]))] if "systemInstruction" in body else []
        turns += [(c["role"].replace("model", "assistant"), plain(c["parts"])) for c in body["contents"]]
        declared = [f for t in body.get("tools", ()) for f in t["functionDeclarations"]]
        config = body.get("generationConfig", {})
        tools = {f["name"]: f["parametersJsonSchema"] for f in declared}
        key = request.headers["x-goog-api-key"]
        return Sent(turns, tools, config.get("stopSequences"), config.get("temperature"), key)


class Ollama(ProviderWire):
    provider = "ollama"
    can = ProviderWire.can - {"call_ids", "tool_choice", "key"}

    def make(self, url: str, **options: Any) -> Any:
        from clew.providers.ollama import ChatOllama

        return ChatOllama(**{"model": "llama-x", "base_url": url, **options})

    def asks_stream(self, request: Request) -> bool:
        return request.body.get("stream", True)

    def line(self, message: Any, said: Said, *, done: bool = False) -> Any:
        out = {
            "model": "llama-x",
            "created_at": "2026-01-01T00:00:00Z",
            "message": {"role": "assistant", "content": "", **message},
        }
        counts = {"done_reason": "stop", "prompt_eval_count": said.usage[0], "eval_count": said.usage[1]}
        return {**out, "done": done, **(counts if done else {})}

    def calls(self, said: Said) -> list[Any]:
        return [{"function": {"name": n, "arguments": a}} for _, n, a in said.calls]

    def whole(self, said: Said) -> Reply:
        message: Any = {"content": "".join(said.texts)}
        if said.reasoning:
            message["thinking"] = "".join(said.reasoning)
        if said.calls:
            message["tool_calls"] = self.calls(said)
        return as_json(self.line(message, said, done=True))

    def stream(self, said: Said, *, end: bool = True) -> Reply:
        messages = [{"thinking": t} for t in said.reasoning] + [{"content": t} for t in said.texts]
        rows = [self.line(m, said) for m in [*messages, *({"tool_calls": [c]} for c in self.calls(said))]]
        rows += [self.line({}, said, done=True)] if end else []
        return Reply(
            "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows).encode(), kind="application/x-ndjson"
        )

    def error(self, status: int, text: str, headers: dict[str, str]) -> Reply:
        return as_json({"error": text}, status, headers)

    def sent(self, request: Request) -> Sent:
        body, options = request.body, request.body.get("options", {})
        tools = {t["function"]["name"]: t["function"]["parameters"] for t in body.get("tools", ())}
        turns = [(m["role"], m.get("content") or "") for m in body["messages"]]
        return Sent(turns, tools, options.get("stop"), options.get("temperature"))


class TestOpenAIChat(ProviderConformance):
    wire = OpenAIChat()


class TestOpenAIResponses(ProviderConformance):
    wire = OpenAIResponses()


class TestAnthropic(ProviderConformance):
    wire = Anthropic()


class TestGoogle(ProviderConformance):
    wire = Google()


class TestOllama(ProviderConformance):
    wire = Ollama()
