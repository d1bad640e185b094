"""The API's OpenAPI document, made once in a process: it takes two seconds."""

from functools import cache
from typing import Any

from api.app import create_app
from api.openapi import describe


@cache
def api_description() -> dict[str, Any]:
    """Return the OpenAPI document; callers must not change it."""
    return describe(create_app())
