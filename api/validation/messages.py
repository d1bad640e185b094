"""Messages for faults of fields, for people who know JSON and not Python."""

import re
from collections.abc import Callable, Mapping
from typing import Any

_OWN = "Value error, "
_ENUM_MEMBER = re.compile(r"<\w+\.\w+: ('[^']*')>")
_Context = Mapping[str, Any]


def validation_message(fault: Mapping[str, Any]) -> str:
    """Return what one of pydantic's faults says of its field, to go on after the field's name."""
    say = _SENTENCES.get(fault["type"])
    if say is None:
        return str(fault["msg"]).removeprefix(_OWN)
    return say({"input": fault.get("input"), **fault.get("ctx", {})})


def _just(sentence: str) -> Callable[[_Context], str]:
    return lambda _: sentence


def _one_of(context: _Context) -> str:
    return "must be one of " + _ENUM_MEMBER.sub(r"\1", str(context["expected"]))


def _too_long(context: _Context) -> str:
    things = "characters" if isinstance(context["input"], str) else "entries"
    return f"may have at most {context['max_length']} {things}"


def _too_short(context: _Context) -> str:
    things = "character" if isinstance(context["input"], str) else "entry"
    minimum = context["min_length"]
    if minimum > 1:
        things = {"character": "characters", "entry": "entries"}[things]
    return f"must have at least {minimum} {things}"


_OBJECT = _just("must be an object")
_SENTENCES: Mapping[str, Callable[[_Context], str]] = {
    "missing": _just("is needed"),
    "extra_forbidden": _just("is no field that this takes"),
    "string_type": _just("must be a string"),
    "list_type": _just("must be a list"),
    "dict_type": _OBJECT,
    "model_type": _OBJECT,
    "model_attributes_type": _OBJECT,
    "bool_parsing": _just("must be true or false"),
    "int_from_float": _just("must be a whole number"),
    "less_than_equal": lambda context: f"must be at most {context['le']:g}",
    "greater_than_equal": lambda context: f"must be at least {context['ge']:g}",
    "enum": _one_of,
    "literal_error": _one_of,
    "too_long": _too_long,
    "string_too_long": _too_long,
    "too_short": _too_short,
    "string_too_short": _too_short,
    "string_pattern_mismatch": lambda context: f"must have the form {context['pattern']}",
}
"""By the type of the fault. **Source:** pydantic's manual, "Validation Errors"."""
