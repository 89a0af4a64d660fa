"""Services that speak OpenAI's chat completions: where they are, where their key is, how they depart from OpenAI.

Data only. A new service is a line here; `init_chat_model("groq:llama-3.3-70b")` and `ChatOpenAI(service="groq")` read
it. Source: the services' documentation and recorded exchanges.
"""

from __future__ import annotations

from typing import NamedTuple

from clew.providers._openai_chat import Quirks


class Service(NamedTuple):
    """One line of the table.

    base_url: None for OpenAI's own default, "" when the caller has to give it. key_variables: environment variables
    that may hold the key, first found wins. needs_key: whether a call without a key makes sense. responses: whether the
    responses API is there. flat_schema: whether that reads `response_format` in place of `text.format`. url_variable:
    environment variable that overrides base_url.
    """

    base_url: str | None
    key_variables: tuple[str, ...]
    quirks: Quirks = Quirks()
    needs_key: bool = True
    responses: bool = False
    flat_schema: bool = False
    url_variable: str = ""


_NEW_LIMIT = Quirks(max_tokens="max_completion_tokens")
_THINKS = Quirks(reasoning="reasoning_content")
_REASONS = Quirks(reasoning="reasoning")
_NEW_AND_THINKS = Quirks("max_completion_tokens", "reasoning")
_SEES_VIDEO = Quirks(reasoning="reasoning", video=True)

SERVICES: dict[str, Service] = {
    "openai": Service(None, ("OPENAI_API_KEY",), _NEW_LIMIT, responses=True, url_variable="OPENAI_BASE_URL"),
    "azure_openai": Service(
        "", ("AZURE_OPENAI_API_KEY",), _NEW_LIMIT, responses=True, url_variable="AZURE_OPENAI_ENDPOINT"
    ),
    "azure_ai": Service("", ("AZURE_AI_API_KEY", "AZURE_INFERENCE_CREDENTIAL"), url_variable="AZURE_AI_ENDPOINT"),
    "cerebras": Service("https://api.cerebras.ai/v1", ("CEREBRAS_API_KEY",), _NEW_AND_THINKS),
    "cohere": Service("https://api.cohere.ai/compatibility/v1", ("COHERE_API_KEY", "CO_API_KEY")),
    "crusoe": Service("https://hypervisor.api.crusoecloud.com/v1", ("CRUSOE_API_KEY",), _REASONS),
    "databricks": Service("", ("DATABRICKS_TOKEN",)),
    "deepinfra": Service("https://api.deepinfra.com/v1/openai", ("DEEPINFRA_API_KEY",), _THINKS),
    "deepseek": Service("https://api.deepseek.com", ("DEEPSEEK_API_KEY",), _THINKS),
    "fireworks": Service("https://api.fireworks.ai/inference/v1", ("FIREWORKS_API_KEY",), _THINKS),
    "gemini_compatible": Service(
        "https://generativelanguage.googleapis.com/v1beta/openai", ("GEMINI_API_KEY", "GOOGLE_API_KEY")
    ),
    "github": Service("https://models.github.ai/inference", ("GITHUB_TOKEN",)),
    "groq": Service("https://api.groq.com/openai/v1", ("GROQ_API_KEY",), _NEW_AND_THINKS),
    "huggingface": Service("https://router.huggingface.co/v1", ("HF_TOKEN", "HUGGINGFACEHUB_API_TOKEN")),
    "llama-server": Service(
        "http://127.0.0.1:8080/v1", ("LLAMA_API_KEY",), _THINKS, needs_key=False, responses=True, flat_schema=True
    ),
    "lmstudio": Service("http://127.0.0.1:1234/v1", (), _THINKS, needs_key=False),
    "mistral": Service(
        "https://api.mistral.ai/v1", ("MISTRAL_API_KEY",),
        Quirks(tool_names=True, stream_usage=False, seed="random_seed", reasoning="thinking", any_tool="any"),
    ),
    "moonshot": Service("https://api.moonshot.ai/v1", ("MOONSHOT_API_KEY",), _THINKS),
    "nvidia": Service("https://integrate.api.nvidia.com/v1", ("NVIDIA_API_KEY",), _THINKS),
    "ollama_compatible": Service("http://127.0.0.1:11434/v1", (), _REASONS, needs_key=False),
    "openrouter": Service("https://openrouter.ai/api/v1", ("OPENROUTER_API_KEY",), _SEES_VIDEO),
    "perplexity": Service(
        "https://api.perplexity.ai", ("PERPLEXITY_API_KEY", "PPLX_API_KEY"), Quirks(stream_usage=False)
    ),
    "sambanova": Service("https://api.sambanova.ai/v1", ("SAMBANOVA_API_KEY",)),
    "snowflake": Service("", ("SNOWFLAKE_PAT",)),
    "together": Service("https://api.together.xyz/v1", ("TOGETHER_API_KEY",)),
    "vercel_gateway": Service("https://ai-gateway.vercel.sh/v1", ("AI_GATEWAY_API_KEY",), _REASONS),
    "vllm": Service("http://127.0.0.1:8000/v1", ("VLLM_API_KEY",), _SEES_VIDEO, needs_key=False),
    "writer": Service("https://api.writer.com/v1", ("WRITER_API_KEY",)),
    "xai": Service("https://api.x.ai/v1", ("XAI_API_KEY",), _THINKS, responses=True),
    "zai": Service("https://api.z.ai/api/paas/v4", ("ZAI_API_KEY", "ZHIPUAI_API_KEY"), _THINKS),
}  # fmt: skip

CLASSES: dict[str, str] = {
    "openai": "clew.providers.openai:ChatOpenAI",
    "azure_openai": "clew.providers.openai:AzureChatOpenAI",
    "anthropic": "clew.providers.anthropic:ChatAnthropic",
    "google_genai": "clew.providers.google:ChatGoogleGenerativeAI",
    "google_vertexai": "clew.providers.google:ChatVertexAI",
    "ollama": "clew.providers.ollama:ChatOllama",
    "local": "clew.providers.local:ChatLocal",
}
"""Provider name -> class. Every other name of SERVICES is a ChatOpenAI with that service."""

ALIASES = {
    "google": "google_genai", "gemini": "google_genai", "vertex": "google_vertexai", "vertexai": "google_vertexai",
    "azure": "azure_openai", "mistralai": "mistral", "llama_server": "llama-server", "llama.cpp": "llama-server",
    "togetherai": "together", "hf": "huggingface", "vercel": "vercel_gateway", "claude": "anthropic",
}  # fmt: skip

PREFIXES: tuple[tuple[tuple[str, ...], str], ...] = (
    (("gpt-", "o1", "o3", "o4", "chatgpt", "text-davinci"), "openai"),
    (("claude",), "anthropic"),
    (("gemini",), "google_genai"),
    (("mistral", "magistral", "codestral", "ministral"), "mistral"),
    (("deepseek",), "deepseek"),
    (("grok",), "xai"),
    (("sonar",), "perplexity"),
    (("command",), "cohere"),
    (("smollm2",), "local"),
)
"""How a model's name begins -> the provider meant when none is given."""


def find(provider: str) -> tuple[str, dict[str, str]]:
    """Return ("module:Class", constructor arguments) for a provider's name.

    Raises: ValueError that lists the names there are.
    """
    name = provider.strip().lower()
    name = name if name in CLASSES or name in SERVICES else name.replace("-", "_")
    name = ALIASES.get(name, name)
    if name in CLASSES:
        return CLASSES[name], {}
    if name in SERVICES:
        return CLASSES["openai"], {"service": name}
    known = ", ".join(sorted({*CLASSES, *SERVICES, *ALIASES}))
    raise ValueError(f"unknown model provider {provider!r}; known: {known}")


def guess(model: str) -> str | None:
    """Return the provider that a bare model name belongs to, or None."""
    name = model.lower()
    return next((provider for prefixes, provider in PREFIXES if name.startswith(prefixes)), None)
