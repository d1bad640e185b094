"""What no address that a client gives may hold: alike for cameras' streams and for receivers."""

import re
from typing import Final

METADATA_NAMES: Final = frozenset(
    {"metadata", "metadata.google.internal", "metadata.goog", "instance-data"}
)
"""Host names of clouds' metadata services, which hand out credentials.

**Source:** the vendors' manuals.
"""

FORBIDDEN_CHARACTERS: Final = re.compile(r"[\x00-\x20\x7f-\xa0\\\u2028\u2029]")
"""Spaces, control characters and the backslash: parsers disagree on where an address with one of
them ends."""
