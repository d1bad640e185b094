"""What several calls of the OpenAPI description have in common, written once.

Written out at every call, it would be most of the document.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

_FIRST_ERROR = 400

_Json = dict[str, Any]


def share_responses(paths: _Json) -> _Json:
    """Put a reference in the place of each error answer, and return the answers by their names."""
    names: dict[str, str] = {}
    shared: _Json = {}
    for responses in (operation["responses"] for operation in _operations(paths)):
        for status in [status for status in responses if int(status) >= _FIRST_ERROR]:
            name = _name(f"Error{status}", responses[status], names)
            shared[name] = responses[status]
            responses[status] = {"$ref": f"#/components/responses/{name}"}
    return shared


def share_parameters(paths: _Json) -> _Json:
    """Put a reference in the place of each parameter of several calls; return them by names."""
    every = Counter(_text(one) for operation in _operations(paths) for one in _of(operation))
    names: dict[str, str] = {}
    shared: _Json = {}
    for operation in _operations(paths):
        for number, parameter in enumerate(_of(operation)):
            if every[_text(parameter)] > 1:
                name = _name(parameter["name"], parameter, names)
                shared[name] = parameter
                operation["parameters"][number] = {"$ref": f"#/components/parameters/{name}"}
    return shared


def shorten_nulls(part: Any) -> None:
    """Write "of a type, or null" as JSON Schema 2020-12 does, wherever it stands in a part."""
    if isinstance(part, list):
        for each in part:
            shorten_nulls(each)
    if not isinstance(part, dict):
        return
    match part.get("anyOf"):
        case [{"type": str(kind), **rest}, {"type": "null"}] if _is_plain(kind, rest):
            del part["anyOf"]
            part["type"] = [kind, "null"]
            part |= {name: value for name, value in rest.items() if name not in part}
    for each in part.values():
        shorten_nulls(each)


def _is_plain(kind: str, rest: Mapping[Any, Any]) -> bool:
    # Of the others generators of clients make less than was said.
    return kind not in ("object", "array") and not rest.keys() & {"enum", "const"}


def _operations(paths: _Json) -> Iterator[_Json]:
    for operations in paths.values():
        yield from operations.values()


def _of(operation: _Json) -> list[_Json]:
    found: list[_Json] = operation.get("parameters", [])
    return found


def _name(stem: str, part: _Json, names: dict[str, str]) -> str:
    """Return the name of a part: ``stem``, with a number where others have the same."""
    taken = set(names.values())
    number = sum(name == stem or name.startswith(f"{stem}_") for name in taken) + 1
    return names.setdefault(_text(part), f"{stem}_{number}" if number > 1 else stem)


def _text(part: _Json) -> str:
    # Examples come in the order in which a route names its errors, which says nothing.
    return json.dumps(part, sort_keys=True)
