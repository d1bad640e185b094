"""Checks that library code which our code replaces still exists and is called."""

import inspect
from contextlib import suppress
from functools import cache


def defines(owner: type, name: str) -> bool:
    """Return whether a class or a base class defines ``name`` or assigns it to ``self``."""
    return hasattr(owner, name) or any(
        f"self.{name} =" in source or f"self.{name}:" in source or f"    {name}:" in source
        for source in _sources(owner)
    )


def calls(owner: type, name: str) -> bool:
    """Return whether a class or a base class uses ``self.name``."""
    return any(f"self.{name}" in source for source in _sources(owner))


@cache
def _sources(owner: type) -> list[str]:
    sources = []
    for base in inspect.getmro(owner):
        with suppress(OSError, TypeError):  # no source: written in C, or created at run time
            sources.append(inspect.getsource(base))
    return sources
