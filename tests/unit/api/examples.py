"""An example of a body, composed from the examples of its fields."""

from collections.abc import Mapping
from typing import Any, Final

_REFERENCE: Final = "#/components/schemas/"
_BY_FORMAT: Final = {
    "uuid": "5f0c9c1e-8d1b-4c55-9d0e-3a1f6b7c2d10",
    "date-time": "2026-11-21T16:32:52.301Z",
    "binary": "...",
}
_BY_TYPE: Final[Mapping[str, Any]] = {"boolean": True, "null": None, "object": {}}

_Json = Mapping[str, Any]


class NoExampleError(ValueError):
    """No example can be created for a field."""


def example_of(schema: _Json, schemas: _Json) -> Any:
    """Return an example that is valid for ``schema``.

    Args:
        schema: A schema of the OpenAPI description.
        schemas: The schemas that ``schema`` can refer to, by name.

    Raises:
        NoExampleError: a string or number has no example, default, enum or format.
    """
    if "examples" in schema:
        return schema["examples"][0]
    if "$ref" in schema:
        return example_of(schemas[schema["$ref"].removeprefix(_REFERENCE)], schemas)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    for choice in ("anyOf", "oneOf", "allOf"):
        if choice in schema:
            return example_of(schema[choice][0] | _told(schema), schemas)
    if "properties" in schema:
        return {name: _field(name, part, schemas) for name, part in schema["properties"].items()}
    if isinstance(schema.get("type"), list):
        return example_of({**schema, "type": schema["type"][0]}, schemas)
    if schema.get("type") == "array":
        return [example_of(schema["items"], schemas)] * max(1, schema.get("minItems", 1))
    return _simple(schema)


def _told(schema: _Json) -> dict[str, Any]:
    return {name: schema[name] for name in ("format",) if name in schema}


def _field(name: str, schema: _Json, schemas: _Json) -> Any:
    try:
        return example_of(schema, schemas)
    except NoExampleError as error:
        raise NoExampleError(f"{name}: {error}") from error


def _simple(schema: _Json) -> Any:
    if schema.get("format") in _BY_FORMAT:
        return _BY_FORMAT[schema["format"]]
    if schema.get("type") in _BY_TYPE:
        return _BY_TYPE[schema["type"]]
    if "default" in schema:
        return schema["default"]
    raise NoExampleError("has no example, default or format")
