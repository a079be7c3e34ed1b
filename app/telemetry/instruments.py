"""The metrics by name: what each says, its labels, its buckets. Names of the GenAI conventions
where they have one: https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-metrics/."""

_SECONDS = tuple(0.01 * 2**power for power in range(14))
"""The conventions' buckets: 0.01 to 81.92."""
_TOKENS = tuple(4**power for power in range(14))
"""The conventions' buckets: 1 to 67,108,864."""
_OVERHEAD = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25)
_TOOLS = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000)
_BYTES = tuple(1_024 * 4**power for power in range(7))
_ROUNDS = (0, 1, 2, 3, 4, 5, 10, 20)

_GEN_AI = ("gen_ai_operation_name", "gen_ai_provider_name", "gen_ai_request_model")
_TENANT = ("tenant",)

COUNTERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "toolfold_requests": (
        "Requests of the data port.",
        ("tenant", "decision", "reason", "code_class"),
    ),
    "toolfold_tool_tokens_offered": ("Tokens of the tools that clients sent.", _TENANT),
    "toolfold_tool_tokens_sent": ("Tokens of the tools that first rounds declared.", _TENANT),
    "toolfold_search_round_tokens": ("Tokens that the rounds behind the first cost.", _TENANT),
    "toolfold_savings_unknown": ("Requests with tools that are in no count of tokens.", _TENANT),
    "toolfold_cached_tokens": (
        "Prompt tokens that upstreams read from their cache.",
        ("gen_ai_provider_name", "gen_ai_request_model"),
    ),
    "toolfold_searches": (
        "Searches, by whether anything was found; rejected ones were not understood.",
        ("tenant", "result"),
    ),
    "toolfold_unmatched_queries": ("Queries that found no tool.", _TENANT),
    "toolfold_ranker_fallbacks": ("Searches that another ranker had to answer.", ("reason",)),
    "toolfold_deferred_tool_calls": (
        "Calls of tools that were not declared at first, by how they were discovered.",
        ("tenant", "discovered_via"),
    ),
    "toolfold_found_rank": (
        "Found tools that were then called, by the rank that a ranker had given them.",
        ("ranker", "rank"),
    ),
    "toolfold_client_disconnects": ("Clients that hung up, by when.", ("phase",)),
    "toolfold_shed": ("Requests that were not taken on.", ("reason",)),
    "toolfold_policy_header_rejected": ("Policy headers that were not obeyed.", ("reason",)),
    "toolfold_tool_text_findings": ("Tools in whose text something is odd.", _TENANT),
    "toolfold_unfolded_tools": (
        "Requests of endpoints that are not folded, with a large array of tools.",
        ("endpoint",),
    ),
    "toolfold_config_reloads": ("Times that the policy file was read again.", ("result",)),
}
"""Each is exported with `_total` behind its name."""

HISTOGRAMS: dict[str, tuple[str, tuple[str, ...], tuple[float, ...]]] = {
    "gen_ai_client_token_usage": (
        "Tokens of an upstream reply of a folded request.",
        (*_GEN_AI, "gen_ai_token_type"),
        _TOKENS,
    ),
    "gen_ai_client_operation_duration_seconds": (
        "How long upstream requests took.",
        (*_GEN_AI, "error_type"),
        _SECONDS,
    ),
    "gen_ai_client_operation_time_to_first_chunk_seconds": (
        "How long the first part of an upstream's reply took to come.",
        _GEN_AI,
        _SECONDS,
    ),
    "gen_ai_execute_tool_duration_seconds": (
        "How long the ranking for a search took.",
        ("gen_ai_tool_name", "ranker"),
        (0.0001, 0.001, *_SECONDS),
    ),
    "toolfold_request_overhead_seconds": (
        "What was added to a request: reading, planning, ranking, and between rounds.",
        ("decision",),
        _OVERHEAD,
    ),
    "toolfold_tools_offered": ("Tools that a client sent.", _TENANT, _TOOLS),
    "toolfold_tools_sent": ("Tools that the first round declared.", _TENANT, _TOOLS),
    "toolfold_schema_bytes": ("Size of the declarations in the first round.", (), _BYTES),
    "toolfold_search_rounds": ("Searches of a request that had any.", (), _ROUNDS),
}

GAUGES: dict[str, tuple[str, tuple[str, ...]]] = {
    "toolfold_inflight_requests": ("Requests being served.", ()),
    "toolfold_state_degraded": ("1 while the shared store is not answering.", ()),
    "toolfold_draining": ("1 once the process is about to leave.", ()),
    "toolfold_alarm": ("1 while something looks wrong.", ("alarm",)),
}
