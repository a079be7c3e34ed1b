"""Whose API it is, in the words of the GenAI conventions."""

from urllib.parse import urlsplit

_HOSTS = {
    "openai.azure.com": "azure.ai.openai",
    "services.ai.azure.com": "azure.ai.inference",
    "anthropic.com": "anthropic",
    "generativelanguage.googleapis.com": "gcp.gemini",
    "aiplatform.googleapis.com": "gcp.vertex_ai",
    "amazonaws.com": "aws.bedrock",
    "cohere.com": "cohere",
    "deepseek.com": "deepseek",
    "groq.com": "groq",
    "mistral.ai": "mistral_ai",
    "perplexity.ai": "perplexity",
    "x.ai": "x_ai",
}


def provider_of(base_url: str) -> str:
    """The provider at a base URL. `openai` for any other, since that is what it speaks."""
    host = urlsplit(base_url).hostname or ""
    return next(
        (name for end, name in _HOSTS.items() if host == end or host.endswith("." + end)), "openai"
    )
