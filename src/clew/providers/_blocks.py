"""What all wires share: content as a list of blocks, media, tool calls, and the state of a stream.

Decoded content is a plain string when the answer is one text, else a list of standard blocks ("text", "reasoning",
"image", "refusal", "server_tool_call" …) in the order of the wire. What only the provider understands (signatures,
ids) rides in a block's or call's `extras`, and goes back unchanged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from clew._kernel.merge import merge_fragments
from clew._kernel.tool_calls import parse_arguments
from clew.messages import AIMessage, AIMessageChunk
from clew.providers._errors import cannot_carry
from clew.providers._json import EMPTY as EMPTY
from clew.providers._json import JSON as JSON
from clew.providers._json import NOTHING as NOTHING
from clew.providers._json import is_array as is_array
from clew.providers._json import is_object as is_object

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Block = dict[str, Any]

_OWN_KEYS = frozenset({"type", "index", "extras", "id", "annotations"})


def blocks_of(content: Any) -> list[Block]:
    """Return content (str, or a list of str and blocks) as a list of blocks; empty text gives none."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return [{"type": "text", "text": item} if isinstance(item, str) else item for item in content if item != ""]


def pieces_of(message: AIMessage) -> list[Block]:
    """Return what an AIMessage says in wire order: its blocks, with its tool calls where they stood, else at the end.

    Calls are blocks of type "tool_call" or "invalid_tool_call".
    """
    calls: list[Block] = [*message.tool_calls, *message.invalid_tool_calls]  # pyright: ignore[reportAssignmentType] - TypedDicts are dicts
    out: list[Block] = []
    for block in blocks_of(message.content):
        if block.get("type") in ("tool_call", "tool_use", "function_call", "tool_call_chunk", "input_json_delta"):
            found = next((c for c in calls if c.get("id") == block.get("id", block.get("call_id"))), None)
            if found is None:
                continue
            calls.remove(found)
            block = found
        out.append(block)
    return out + [
        {"type": "invalid_tool_call" if "error" in c and c.get("type") != "tool_call" else "tool_call", **c}
        for c in calls
    ]


def arguments_text(call: Mapping[str, Any]) -> str:
    """Return the arguments of a call as JSON text; an invalid call keeps its own text."""
    args = call.get("args")
    return args if isinstance(args, str) else msgspec.json.encode(args or {}).decode()


def call_block(name: Any, arguments: Any, call_id: Any, extras: JSON | None = None) -> Block:
    """Return a tool call from the wire: "tool_call", or "invalid_tool_call" when the arguments are no JSON object.

    arguments: JSON text or an object; nothing means no arguments.
    """
    more: JSON = {"extras": extras} if extras else {}
    args = arguments
    if args is None or (isinstance(args, str) and not args.strip()):
        args = {}
    elif isinstance(args, str):
        args = parse_arguments(args)
    if is_object(args) and name:
        return {"type": "tool_call", "name": name, "args": args, "id": call_id, **more}
    error = "the arguments are not a JSON object" if name else "the call has no name"
    return {"type": "invalid_tool_call", "name": name, "args": arguments, "id": call_id, "error": error, **more}


def message_of(blocks: list[Block], **fields: Any) -> AIMessage:
    """Return the message for decoded blocks, in wire order.

    Calls go to `tool_calls`; they also keep their place in the content when another block follows them.
    """
    calls = [b for b in blocks if b["type"] == "tool_call"]
    invalid = [b for b in blocks if b["type"] == "invalid_tool_call"]
    content: Any = blocks
    if calls or invalid:
        tail = [b["type"] in ("tool_call", "invalid_tool_call") for b in blocks]
        end = len(tail)
        while end and tail[end - 1]:
            end -= 1
        content = [_placed(b) for b in blocks[:end]]
    if not content:
        content = ""
    elif len(content) == 1 and content[0].keys() == {"type", "text"}:
        content = content[0]["text"]
    return AIMessage(content=content, tool_calls=calls, invalid_tool_calls=invalid, **fields)  # pyright: ignore[reportArgumentType] - TypedDicts are dicts


def _placed(block: Block) -> Block:
    if block["type"] == "invalid_tool_call":
        return {"type": "tool_call", "id": block["id"], "name": block["name"], "args": {}}
    if block["type"] == "tool_call":
        return {"type": "tool_call", "id": block["id"], "name": block["name"], "args": block["args"]}
    return block


class StreamState:
    """What a wire has to remember between the events of one stream.

    facts: what becomes response_metadata of the closing chunk. kwargs: fragments of its additional_kwargs. usage: the
    latest report as the provider words it. finished: the provider said that the answer is complete. mixed: a block
    that is no plain text was seen. spoke, thought: text or calls, or reasoning, were seen. memory: free for the wire.
    seen: the chunks so far.
    """

    __slots__ = ("facts", "finished", "kwargs", "memory", "mixed", "seen", "spoke", "thought", "usage")

    def __init__(self) -> None:
        self.facts: JSON = {}
        self.kwargs: list[JSON] = []
        self.usage: JSON = {}
        self.finished = False
        self.mixed = False
        self.spoke = False
        self.thought = False
        self.memory: dict[Any, Any] = {}
        self.seen: list[AIMessageChunk] = []

    def text(self, text: str, index: Any = None) -> AIMessageChunk:
        """Return a piece of the answer's text: a string until another kind of block has been seen."""
        self.spoke = True
        if not self.mixed:
            return AIMessageChunk(content=text)
        return AIMessageChunk(content=[{"type": "text", "text": text, "index": "text" if index is None else index}])

    def block(self, block: Block, index: Any) -> AIMessageChunk:
        """Return a piece of a block that is no plain text."""
        self.mixed = True
        return AIMessageChunk(content=[{**block, "index": index}])

    def reasoning(self, text: str, index: Any, extras: JSON | None = None) -> AIMessageChunk:
        """Return a piece of reasoning; extras go with its first piece only."""
        block: Block = {"type": "reasoning", "reasoning": text}
        if not self.thought and extras:
            block["extras"] = extras
        self.thought = True
        return self.block(block, index)

    def calls(self, fragments: list[JSON]) -> AIMessageChunk:
        """Return pieces of tool calls."""
        self.spoke = True
        return AIMessageChunk(content="", tool_call_chunks=fragments)  # pyright: ignore[reportArgumentType] - TypedDicts are dicts

    def close(self, usage: JSON | None, provider: str) -> AIMessageChunk:
        """Return the last chunk: usage, metadata, and the mark that nothing more comes."""
        facts = metadata(self.facts, provider, spoke=self.spoke or not self.thought)
        kwargs = merge_fragments(*self.kwargs) if self.kwargs else {}
        chunk = AIMessageChunk(
            content="", response_metadata=facts, additional_kwargs=kwargs, chunk_position="last", usage_mode="final"
        )
        if usage:
            chunk.usage_metadata = usage  # pyright: ignore[reportAttributeAccessIssue] - a TypedDict is a dict
        return chunk


def fragment(name: str | None, args: str | None, call_id: str | None, index: Any, extras: JSON | None = None) -> JSON:
    """Return a tool_call_chunk."""
    out: JSON = {"name": name, "args": args, "id": call_id, "index": index, "type": "tool_call_chunk"}
    if extras:
        out["extras"] = extras
    return out


def metadata(facts: JSON, provider: str, *, spoke: bool) -> JSON:
    """Return response_metadata without empty values; flags an answer that is reasoning and nothing else."""
    out = {key: value for key, value in facts.items() if value is not None and value != "" and value != []}
    out["model_provider"] = provider
    if not spoke:
        out["no_final_text"] = True
    return out


def spoke(blocks: list[Block]) -> bool:
    """Tell whether decoded blocks hold more than reasoning (an empty answer counts as spoken)."""
    return not blocks or any(b["type"] != "reasoning" for b in blocks)


# -- media ------------------------------------------------------------------------------------------


def media(block: Block) -> tuple[str, str, str]:
    """Return (how, value, mime type) of a media block; how is "url", "base64", "file_id" or "" when it has none.

    Reads the standard form {"type": "image", "base64" | "url" | "file_id", "mime_type"} and the older
    {"source_type", "data" | "url" | "id"} one.
    """
    mime = str(block.get("mime_type") or "")
    if block.get("url"):
        url = str(block["url"])
        if url.startswith("data:") and ";base64," in url:
            head, data = url.split(";base64,", 1)
            return "base64", data, mime or head.removeprefix("data:")
        return "url", url, mime
    for key, how in (("base64", "base64"), ("data", "base64"), ("file_id", "file_id")):
        if block.get(key):
            return how, str(block[key]), mime
    if block.get("source_type") == "id" and block.get("id"):
        return "file_id", str(block["id"]), mime
    return "", "", mime


def data_url(data: str, mime: str) -> str:
    """Return a data: URL for base64 data."""
    return f"data:{mime};base64,{data}"


def need_mime(block: Block, mime: str, wire: str) -> str:
    """Return the mime type of base64 data. Raises: ModelInvalidRequestError when the block has none."""
    if not mime:
        raise cannot_carry(wire, f"a {block['type']} block of base64 data without mime_type")
    return mime


def beside(block: Block, known: Iterable[str]) -> JSON:
    """Return a block's further members that go on the wire as they are (cache_control, detail …), extras included."""
    skip = _OWN_KEYS.union(known)
    extra = block.get("extras")
    return {**{k: v for k, v in block.items() if k not in skip}, **(extra if is_object(extra) else {})}


# -- tools ------------------------------------------------------------------------------------------


def tool_dicts(tools: Iterable[Any] | None) -> list[JSON]:
    """Return tools in OpenAI's form; dicts pass as they are (they may be a provider's own)."""
    out: list[JSON] = []
    for tool in tools or ():
        if is_object(tool):
            out.append(tool)
        else:
            from clew.utils.function_calling import convert_to_openai_tool

            out.append(convert_to_openai_tool(tool))
    return out


def chosen(tool_choice: Any) -> tuple[str, str]:
    """Return what a tool_choice means: ("auto" | "none" | "any" | "tool" | "raw", name).

    Names, {"name": …}, OpenAI's {"type": "function", "function": {"name"}} and Anthropic's {"type": "tool", "name"}
    are ("tool", name); another dict is ("raw", "").
    """
    if tool_choice is True:
        return "any", ""
    if tool_choice is False:
        return "none", ""
    if is_object(tool_choice):
        function = tool_choice.get("function")
        name = function.get("name") if is_object(function) else tool_choice.get("name")
        if name:
            return "tool", str(name)
        kind = tool_choice.get("type")
        return (
            (str(kind).replace("required", "any"), "") if kind in ("auto", "none", "any", "required") else ("raw", "")
        )
    text = str(tool_choice)
    return ("any", "") if text in ("any", "required") else (text, "") if text in ("auto", "none") else ("tool", text)


def counts(**numbers: Any) -> JSON:
    """Return the given counts that are whole numbers, as usage details."""
    return {key: value for key, value in numbers.items() if isinstance(value, int) and value}
