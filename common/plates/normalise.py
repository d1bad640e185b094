"""The form in which plate texts are compared."""

import re
import unicodedata

MAX_PLATE_LENGTH = 16
"""Longest plate text, in characters after normalising, that the service stores or matches."""

_SEPARATORS = re.compile(r"[\s.\-\u2010-\u2015\u00b7\u2022]+")


def normalise_plate(text: str) -> str:
    """Return the form in which plates are stored, queried and matched.

    Upper case, compatibility-folded (NFKC), with white space, dots and dashes dropped. Other
    characters stay, so a query for something that no plate holds finds nothing instead of all.
    Idempotent. Does not limit the length.
    """
    while (folded := _fold(text)) != text:
        text = folded
    return text


def _fold(text: str) -> str:
    # Dropping a separator can bring a letter and a combining mark together, and an upper-case form
    # can have a compatibility form of its own, so one pass is not always the last.
    return _SEPARATORS.sub("", unicodedata.normalize("NFKC", text).upper())


def mask_plate(text: str) -> str:
    """Return ``text`` fit for a log above debug level: first and last character, rest starred.

    Number plates are personal data.
    """
    if len(text) <= 2:
        return "*" * len(text)
    return f"{text[0]}{'*' * (len(text) - 2)}{text[-1]}"
