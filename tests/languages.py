"""Languages of the documentation's examples, and their interpreters if the machine has them."""

import shutil
from typing import Final

PROGRAMS: Final = {"javascript": "node", "go": "go", "php": "php", "java": "javac"}
"""In addition to Python and bash, which are always available."""


def is_present(language: str) -> bool:
    """Return whether examples in a language can be run here."""
    return language not in PROGRAMS or shutil.which(PROGRAMS[language]) is not None


def absent() -> list[str]:
    """Return a note on each language whose examples cannot be run here."""
    return [f"{name} (no {PROGRAMS[name]})" for name in PROGRAMS if not is_present(name)]
