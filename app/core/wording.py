"""Every word that the model reads.

Measured with small and large models: without the list of names a model does not suspect
that it has more tools; with it most calls are made straight from the list, and signatures
make their arguments right. So the list is always there, and its names may be called.
"""

BRIDGE = (
    "Finds and loads tools. You have more tools than those declared: {count} more are listed "
    "{where}.{families} Search here before you say that something cannot be done or that you have "
    "no tool for it; {then}. Ask for all that you need in one call, and search again with other "
    "words when nothing fits. A tool that is listed with its full name can also be called straight "
    "away."
)
BELONG = " They belong to {families}."
THEN_DECLARED = "what is found is declared to you at once"
THEN_WRAPPED = "what is found is shown with its parameters, and called through `{wrapper}`"
BELOW = "below"
IN_QUERIES = "in the description of `queries`"
IN_SYSTEM = "in the system message"

QUERIES = (
    "What you need, one phrase for each capability: 2 to 6 keywords (action, object, service), "
    'in the language of the tools. Example: ["create calendar event", "send email"]. '
    "`select:NAME` loads a tool by its name."
)
LIMIT = "Most tools to load for each phrase (default {default}, at most {most})."

SIGNATURES = "More tools, as name(required, optional?): purpose"
POSITIONS = "More tools, as name[first|second?]: purpose"
SENTENCES = "More tools, as name: purpose"
FAMILIES = (
    "More tools by family; a full name is the prefix before `:` and one of the words after it"
)
EXAMPLES = "More tools by family, with their number and examples"
BARE = "{count} more tools. Search for what you need."

FOUND = "These tools are declared to you now: call the one you need by its name."
FOUND_WRAPPED = (
    "These are the tools with their parameters: call the one you need with `{wrapper}`, giving "
    "its name and its arguments."
)
NOTHING = "No tool matches. Search again with other words: the action, the object, the service."
SOME_UNMATCHED = "Nothing matched the queries in `unmatched`: search again with other words."
TRUNCATED = "More tools matched than fit here: search with narrower words for the others."
LAST_SEARCH = "This was the last search of this turn: go on with what you have."
UNAVAILABLE = "{names} cannot be called here: go on without."
NO_MORE_SEARCHES = (
    "No search was made: this turn has used all of its searches. Call a declared tool, or "
    "answer with what you have."
)
HOW_TO_SEARCH = (
    'The arguments could not be read. Write them like {{"queries": ["create calendar event"]}}.'
    "{families}"
)

UNKNOWN = "There is no tool called `{name}`, so nothing was run."
CLOSE = "Did you mean {names}?"
USE_SEARCH = "Call `{bridge}` with what you want to do to find the right tool."

WRAPPER = (
    "Calls one tool that is not declared to you: give its name and its arguments, as the list of "
    "tools or `{bridge}` shows them. One call for each tool; several calls may be made at once."
)
WRAPPED_NAME = "The tool's full name."
WRAPPED_ARGUMENTS = "The tool's own arguments."
CALL_DIRECTLY = "`{name}` is declared to you: call it directly. Nothing was run."
HOW_TO_CALL = (
    'The call could not be read, so nothing was run. Write it like {{"name": "...", "arguments": '
    "{{...}}}}; `{bridge}` shows a tool's parameters."
)

# The tag is shown with a space: many vocabularies hold `<tool_call>` as one special token, and
# a model that was not trained on it cannot copy it. Measured with a 1.5B coder model: shown
# without the space it wrote bare JSON, shown with it nearly every call stood in its tags.
_PROTOCOL = (
    "# Tools\n\nYou can call the tools listed below. To call one, write its name and its arguments "
    "between these tags:\n{example}\n"
    "- Call a tool when the request needs what it does: do not say what you would do, and do not "
    "make up its result. Otherwise answer in plain words, without tags.\n{rules}\n"
    "- Several calls may follow one another, each in tags of its own. Stop after the last one: "
    "you are then told the results."
)
PROTOCOL_JSON_TAG = _PROTOCOL.format(
    example='<tool_call >{"name": "TOOL_NAME", "arguments": {"ARGUMENT": "VALUE"}}</tool_call>',
    rules="- `arguments` is a JSON object that fits the tool's `parameters`.",
)
PROTOCOL_PFORMAT = _PROTOCOL.format(
    example="<tool_call >TOOL_NAME[VALUE|VALUE]</tool_call>",
    rules=(
        "- The list shows a tool as name[argument: type|optional?: type]. Write the values alone, "
        "without the names of the arguments and without quotes, in the order of the list (it is "
        "alphabetical), with `|` between them. Leave out an optional one: name[first||third]. "
        "Without arguments: name[].\n"
        r"- Inside a value write \| for |, \] for ] and \\ for \."
        "\n- A tool that the list shows as name{argument: type} is called with JSON: "
        '<tool_call >{"name": "name", "arguments": {"argument": "value"}}</tool_call>'
    ),
)
REMINDER = "When a tool fits the request, your reply is its <tool_call > and nothing else."
ONE_CALL = "Make one call at most in each reply."
ANSWER_JSON = "When you answer without calling a tool, answer with one JSON value and nothing else."
ANSWER_SCHEMA = (
    "When you answer without calling a tool, answer with one JSON value and nothing else, which "
    "fits this schema: {schema}"
)
CALL_REQUIRED = "You must call a tool in this reply."
CALL_NAMED = "You must call the tool {name} in this reply."
CALL_ALLOWED = "In this reply only these tools may be called: {names}."
CALL_MISSING = (
    "That reply holds no tool call that can be read. {demand} Write the call in its tags."
)
