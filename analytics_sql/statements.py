"""The .sql files of this package as text."""

import re
from functools import cache
from importlib.resources import files

_OPTIONAL = re.compile(r"^(?P<sql>.*?) +-- if (?P<parameter>\w+)$")


@cache
def query_text(name: str) -> str:
    """Return the statement in ``queries/<name>.sql``."""
    return files(__package__).joinpath("queries", f"{name}.sql").read_text(encoding="utf-8")


@cache
def query_asking_for(name: str, parameters: frozenset[str]) -> str:
    """Return the statement in ``queries/<name>.sql`` with the lines that ``parameters`` ask for.

    A line that ends in ``-- if NAME`` is left out where NAME is not among them; comments are.
    """
    lines = query_text(name).splitlines()
    return "\n".join(line for line in lines if _stands(line, parameters))


def _stands(line: str, parameters: frozenset[str]) -> bool:
    found = _OPTIONAL.match(line)
    return not line.startswith("--") and (found is None or found.group("parameter") in parameters)
