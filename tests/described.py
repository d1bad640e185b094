"""The API's OpenAPI document, created once per process because that takes two seconds."""

from functools import cache
from typing import Any

from api.app import create_app
from api.openapi import describe


@cache
def api_description() -> dict[str, Any]:
    """Return the OpenAPI document. Callers must not change the document."""
    return describe(create_app())
