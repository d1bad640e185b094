"""Every field has a description, and every body, response and event a valid example."""

from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest

from tests.described import api_description
from tests.unit.api.examples import NoExampleError, example_of

DESCRIPTION = api_description()
SCHEMAS: dict[str, Any] = DESCRIPTION["components"]["schemas"]
FIELDS = {
    f"{name}.{field}": part
    for name, schema in SCHEMAS.items()
    for field, part in schema.get("properties", {}).items()
}
MAY_BE_NEGATIVE = {"LedgerEntryBody.delta"}
TEXT = ("application/json", "text/")


def _contents(part: dict[str, Any], name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for kind, content in part.get("content", {}).items():
        if kind.startswith(TEXT):
            yield f"{name} {kind}", content


def _told() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the schemas of requests, responses and events."""
    for path, operations in DESCRIPTION["paths"].items():
        for method, operation in operations.items():
            yield from _contents(operation.get("requestBody", {}), f"{method} {path}")
            for status, answer in operation["responses"].items():
                yield from _contents(answer, f"{method} {path} {status}")
    for event, item in DESCRIPTION["webhooks"].items():
        yield from _contents(item["post"]["requestBody"], event)


def test_every_schema_and_every_field_has_a_sentence() -> None:
    assert not [name for name, schema in SCHEMAS.items() if not schema.get("description")]
    assert not [place for place, part in FIELDS.items() if not part.get("description")]


def test_every_number_has_a_range() -> None:
    bounds = {"minimum", "exclusiveMinimum"}
    numbers = {
        place
        for place, part in FIELDS.items()
        for kind in (part, *part.get("anyOf", ()))
        if kind.get("type") in ("integer", "number") and bounds.isdisjoint(kind)
    }
    assert numbers <= MAY_BE_NEGATIVE


def _faults(content: dict[str, Any]) -> list[str]:
    if "example" in content or "examples" in content:
        return []
    example = example_of(content["schema"], SCHEMAS)
    whole = {**content["schema"], "components": {"schemas": SCHEMAS}}
    validator = jsonschema_rs.Draft202012Validator(whole, validate_formats=True)
    return [fault.message for fault in validator.iter_errors(example)]


def test_all_that_is_sent_has_a_valid_example() -> None:
    faults = {name: _faults(content) for name, content in _told()}

    assert len(faults) > 100
    assert not {name: found for name, found in faults.items() if found}


def test_a_field_without_an_example_is_named() -> None:
    schema = {"properties": {"outer": {"properties": {"inner": {"type": "string"}}}}}

    with pytest.raises(NoExampleError, match="outer: inner"):
        example_of(schema, {})
