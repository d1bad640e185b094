"""Reads common queries for analysts from ``saved/*.sql``."""

import re
from functools import cache
from importlib.resources import files

_PARAMETER = re.compile(r"\{(\w+):[^{}]+\}")


@cache
def saved_queries() -> dict[str, str]:
    """Return the statements by name. The first lines of each statement describe the result."""
    folder = files(__package__).joinpath("saved")
    found = (entry for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return {
        entry.name.removesuffix(".sql"): entry.read_text(encoding="utf-8")
        for entry in sorted(found, key=lambda entry: entry.name)
    }


def saved_parameters(statement: str) -> tuple[str, ...]:
    """Return the names of a statement's parameters, in order of first occurrence."""
    return tuple(dict.fromkeys(_PARAMETER.findall(statement)))
