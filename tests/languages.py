"""Languages of the examples in the documentation, and the interpreters on this machine."""

import shutil
from typing import Final

PROGRAMS: Final = {"javascript": "node", "go": "go", "php": "php", "java": "javac"}
"""Languages other than Python and bash, which are always available."""


def is_present(language: str) -> bool:
    """Return whether this machine can run examples in a language."""
    return language not in PROGRAMS or shutil.which(PROGRAMS[language]) is not None


def absent() -> list[str]:
    """Return a note on each language whose examples this machine cannot run."""
    return [f"{name} (no {PROGRAMS[name]})" for name in PROGRAMS if not is_present(name)]
