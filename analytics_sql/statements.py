"""The .sql files of this package as text."""

from functools import cache
from importlib.resources import files


@cache
def query_text(name: str) -> str:
    """Return the statement in ``queries/<name>.sql``."""
    return files(__package__).joinpath("queries", f"{name}.sql").read_text(encoding="utf-8")
