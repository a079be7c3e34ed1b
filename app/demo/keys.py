"""The keys that OpenAI's chat completion API knows, by the object that holds them.

https://platform.openai.com/docs/api-reference/chat/create
"""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


REQUEST = _words("""
    audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens
    max_tokens messages metadata modalities model moderation n parallel_tool_calls prediction
    presence_penalty prompt_cache_key prompt_cache_options prompt_cache_retention reasoning_effort
    response_format safety_identifier seed service_tier stop store stream stream_options temperature
    tool_choice tools top_logprobs top_p user verbosity web_search_options
""")
STREAM_OPTIONS = _words("include_usage include_obfuscation")
TOOL = _words("type function")
FUNCTION = _words("name description parameters strict")
MESSAGE = {
    "system": _words("role content name"),
    "developer": _words("role content name"),
    "user": _words("role content name"),
    "assistant": _words("role content name tool_calls refusal audio function_call annotations"),
    "tool": _words("role content name tool_call_id"),
    "function": _words("role content name"),
}
CALL = _words("id type function")
CALLED = _words("name arguments")
