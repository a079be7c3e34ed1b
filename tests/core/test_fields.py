from app.core.ranking.fields import read
from app.core.tools import parse
from tests.builders import dumps, tool


def test_every_part_of_a_declaration_is_a_field() -> None:
    entry = tool("sendBird", "Send a bird.")
    inner = {"wing": {"type": "string", "description": "Left or right"}}
    entry["function"]["parameters"]["properties"] = {
        "target": {"description": "Where to", "type": "object", "properties": inner},
        "kind": {"enum": ["pigeon", 1]},
        "speeds": {"type": "array", "items": {"enum": ["fast"]}},
        "mood": {"anyOf": [{"enum": ["angry"]}, {"type": "null"}]},
    }
    assert read(parse(dumps(entry), 0)) == {
        "name": ["send", "bird", "sendbird"],
        "description": ["send", "bird"],
        "properties": ["target", "kind", "speed", "mood"],
        "property_descriptions": ["where"],
        "enums": ["pigeon", "fast", "angri"],
        "nested_properties": ["wing"],
        "nested_descriptions": ["left", "right"],
    }


def test_schemas_nested_without_end_are_read_to_some_depth() -> None:
    schema: dict[str, object] = {}
    for _ in range(50):
        schema = {"properties": {"deep": schema}}
    entry = tool("x")
    entry["function"]["parameters"] = schema
    assert len(read(parse(dumps(entry), 0))["nested_properties"]) == 3
