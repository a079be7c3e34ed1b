"""One service of the catalog: its table in `services/`, read into OpenAI function tools.

The table lists the fields that the service's calls share, once, and then its actions. An action
`takes` fields by name: the required ones, and after a bar the optional ones.
"""

import tomllib
from importlib.resources import files

from app.core.codec import Json
from app.demo.fields import closed


def tools(service: str) -> list[Json]:
    """The function tools of a service, in the order of its table."""
    table = tomllib.loads((files(__package__) / "services" / f"{service}.toml").read_text("utf-8"))
    return [
        {
            "type": "function",
            "function": {
                "name": _name(service, action, join=table["join"]),
                "description": " ".join(entry["about"].split()),
                "parameters": _parameters(entry["takes"], table["fields"]),
            },
        }
        for action, entry in table["actions"].items()
    ]


def _parameters(takes: str, fields: Json) -> Json:
    required, _, optional = (part.strip() for part in takes.partition("|"))
    taken = {name: fields[name] for name in f"{required} {optional}".split()}
    return closed(taken, required.split())


def _name(service: str, action: str, *, join: str) -> str:
    """`__`, `_` and `-` join as they are; no joint means camelCase. Real catalogs mix all four."""
    words = action.split("_")
    match join:
        case "":
            return service + "".join(word.capitalize() for word in words)
        case "-":
            return "-".join((service, *words))
        case _:
            return service + join + action
