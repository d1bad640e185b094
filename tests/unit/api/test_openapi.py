"""The OpenAPI description contains only keywords of OpenAPI."""

import json
import re
from collections.abc import Iterator
from typing import Any

from common.records.webhooks import EventName
from tests.described import api_description

DESCRIPTION = api_description()
# **Source:** JSON Schema 2020-12, only the part that the API uses.
KEYWORDS = {
    "$ref",
    "additionalProperties",
    "anyOf",
    "const",
    "default",
    "description",
    "discriminator",
    "enum",
    "examples",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
    "oneOf",
    "pattern",
    "properties",
    "required",
    "title",
    "type",
    "writeOnly",
}


def _schemas(schema: dict[str, Any], path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    yield path, schema
    for name, inner in schema.get("properties", {}).items():
        yield from _schemas(inner, f"{path}.{name}")
    for name in ("items", "additionalProperties"):
        if isinstance(schema.get(name), dict):
            yield from _schemas(schema[name], f"{path}.{name}")
    for inner in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from _schemas(inner, path)


def test_every_keyword_is_one_of_json_schema() -> None:
    for name, schema in DESCRIPTION["components"]["schemas"].items():
        for path, inner in _schemas(schema, name):
            assert set(inner) <= KEYWORDS, path


def test_a_change_has_no_defaults() -> None:
    schemas = DESCRIPTION["components"]["schemas"]
    updates = [schema for name, schema in schemas.items() if name.endswith("Update")]

    assert len(updates) == 6
    for schema in updates:
        assert "required" not in schema
        assert not any("default" in field for field in schema["properties"].values())
    times = schemas["ScheduleBody"]["properties"]
    assert not any("default" in field for field in times.values())


def test_the_events_of_webhooks_are_described() -> None:
    events = DESCRIPTION["webhooks"]

    assert set(events) == set(EventName)
    for name, item in events.items():
        schema = item["post"]["requestBody"]["content"]["application/json"]["schema"]
        assert schema["properties"]["event"]["const"] == name
        data = schema["properties"]["data"]["$ref"].rpartition("/")[2]
        assert data in DESCRIPTION["components"]["schemas"]


def test_every_reference_leads_somewhere() -> None:
    for reference in set(re.findall(r'"\$ref": "#/([^"]+)"', json.dumps(DESCRIPTION))):
        found: Any = DESCRIPTION
        for name in reference.split("/"):
            found = found[name]


def test_nothing_of_the_libraries_is_described() -> None:
    schemas = DESCRIPTION["components"]["schemas"]

    assert not {"Struct", "HTTPValidationError"} & set(schemas)
    assert not any("Struct" in json.dumps(schema) for schema in schemas.values())
