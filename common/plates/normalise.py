"""Normalises plate texts for comparison, to the characters of readers: 0 to 9 and A to Z.

``docs/api/plates.md`` has the table of letters. A test compares the table with this module.
"""

import re
import unicodedata
from functools import lru_cache
from typing import Final

from common.errors import InvalidInputError

MAX_PLATE_LENGTH = 16
"""Maximum length of a normalised plate text that the service stores or matches, in characters."""


class InvalidCharacterError(InvalidInputError):
    """A character that cannot be folded. ``position`` counts from 1 in the text as typed.

    The message continues a sentence that begins with a field's name.
    """

    def __init__(self, character: str, position: int) -> None:
        super().__init__(
            f"must not contain {_shown(character)} at position {position}; a plate has only letters"
            " and digits that can be written as A to Z and 0 to 9",
            code="invalid_character",
        )
        self.position = position


WILDCARDS: Final = "*?"

_LATIN = {
    "LIGATURE OE": "OE",
    "LETTER SHARP S": "SS",
    "LETTER THORN": "TH",
    "LETTER ETH": "D",
    "LETTER ENG": "N",
}
_CYRILLIC = {
    "A": "A", "VE": "B", "IE": "E", "KA": "K", "EM": "M", "EN": "H", "O": "O", "ER": "P", "ES": "C",
    "TE": "T", "U": "Y", "HA": "X", "BYELORUSSIAN-UKRAINIAN I": "I", "JE": "J", "DZE": "S",
    "STRAIGHT U": "Y", "QA": "Q", "WE": "W",
}  # fmt: skip
_GREEK = {
    "ALPHA": "A", "BETA": "B", "EPSILON": "E", "ZETA": "Z", "ETA": "H", "IOTA": "I", "KAPPA": "K",
    "MU": "M", "NU": "N", "OMICRON": "O", "RHO": "P", "TAU": "T", "UPSILON": "Y", "CHI": "X",
    "YOT": "J",
}  # fmt: skip
LETTERS: Final = {
    unicodedata.lookup(f"{script} CAPITAL {name}"): text
    for script, names in (
        ("LATIN", _LATIN),
        ("CYRILLIC", {f"LETTER {name}": text for name, text in _CYRILLIC.items()}),
        ("GREEK", {f"LETTER {name}": text for name, text in _GREEK.items()}),
    )
    for name, text in names.items()
} | {
    unicodedata.lookup("CYRILLIC CAPITAL LIGATURE A IE"): "AE",
    unicodedata.lookup("CYRILLIC LETTER PALOCHKA"): "I",
}
"""Capital letters that fold to other text, in addition to Latin letters with an accent or stroke.

Cyrillic and Greek letters fold to the Latin letter that looks the same.
"""

_LATIN_NAME = re.compile(
    r"LATIN (?:CAPITAL LETTER|SMALL LETTER|LETTER SMALL CAPITAL)"
    r" (?:DOTLESS |AFRICAN )?(AE|[A-Z])(?: WITH .+)?"
)
_DASHES_AND_DOTS: Final = frozenset(
    # Minus sign, modifier minus, hyphen bullet; middle dots and bullets; the ideographic full stop.
    ".\u2212\u02d7\u2043\u00b7\u2022\u2027\u2219\u22c5\u25cf\u30fb\u3002"
)
_DASHES_AND_CONTROLS: Final = frozenset({"Pd", "Cc"})
_ACCENTS = re.compile(
    # Combining accents and strokes, then variation selectors.
    "[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f\ufe00-\ufe0f"
    "\U000e0100-\U000e01ef]"
)
_INVISIBLE = re.compile(
    # Soft hyphen, zero-width and bidirectional characters, byte order mark.
    "[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]"
)
_CHARACTERS_CACHED = 4_096
_MAX_PATTERN = 2 * MAX_PLATE_LENGTH


def normalise_plate(text: str) -> str:
    """Return the form in which plates are stored, queried and matched.

    Letters and digits are folded to the characters of readers. White space, dots, dashes and
    invisible characters are removed. Characters that cannot be folded remain, so that such a text
    matches no plate. Idempotent. The length is not limited.
    """
    if text.isascii() and text.isalnum():
        return text.upper()
    return "".join(
        character if (folded := _folded(character)) is None else folded for character in text
    )


def typed_plate(text: str, *, wildcards: bool = False) -> str:
    """Return a plate entered by a person or a client, normalised.

    ``*`` and ``?`` are rejected unless ``wildcards`` is true.

    Raises:
        InvalidCharacterError: a character cannot be folded.
    """
    for position, character in enumerate(text, 1):
        folded = _folded(character)
        if folded is None or not (wildcards or folded.isalnum() or folded == ""):
            raise InvalidCharacterError(character, position)
    return normalise_plate(text)


def whole_plate(text: str) -> str:
    """Return a plate entered by a person or a client, normalised and without wildcards.

    Raises:
        InvalidInputError: the text is empty, too long, or rejected by :func:`typed_plate`.
    """
    plate = typed_plate(text)
    if not 0 < len(plate) <= MAX_PLATE_LENGTH:
        raise InvalidInputError(
            f"must have 1 to {MAX_PLATE_LENGTH} letters and digits", code="invalid_plate"
        )
    return plate


def list_entry(text: str) -> str:
    """Return an entry of a list of plates, normalised. Wildcards are allowed.

    Raises:
        InvalidInputError: :func:`typed_plate` rejects the entry, or no plate can match it.
    """
    entry = typed_plate(text, wildcards=True)
    if not entry:
        raise InvalidInputError(
            "must be letters, digits, * (any characters) or ? (one character)", code="empty_plate"
        )
    if len(entry.replace("*", "")) > MAX_PLATE_LENGTH or len(entry) > _MAX_PATTERN:
        raise InvalidInputError(
            f"must have at most {MAX_PLATE_LENGTH} letters and digits", code="plate_too_long"
        )
    return entry


def mask_plate(text: str) -> str:
    """Return ``text`` for logs above debug level, with all but the first and last character masked.

    Plates are personal data.
    """
    if len(text) <= 2:
        return "*" * len(text)
    return f"{text[0]}{'*' * (len(text) - 2)}{text[-1]}"


@lru_cache(_CHARACTERS_CACHED)
def _folded(character: str) -> str | None:
    """Return the text to which a character folds, or None if it cannot be folded."""
    if _is_dropped(character):
        return ""
    parts = unicodedata.normalize("NFKD", character)
    if parts[0] == " ":
        # This is an accent without a letter, which decomposes to a space and a combining accent.
        return None
    # The upper-case form of a letter can have its own decomposition.
    capitals = "".join(part if _is_dropped(part) else part.upper() for part in parts)
    folded = [_letter(part) for part in unicodedata.normalize("NFKD", capitals)]
    return None if None in folded else "".join(filter(None, folded))


def _letter(part: str) -> str | None:
    """Return the text to which a decomposed capital letter, digit or sign folds, or None."""
    if _is_dropped(part):
        return ""
    if part in WILDCARDS or (part.isascii() and part.isalnum()):
        return part
    digit = unicodedata.decimal(part, None)
    if digit is not None:
        return str(digit)
    if named := _LATIN_NAME.fullmatch(unicodedata.name(part, "")):
        return named.group(1)
    return LETTERS.get(part)


def _is_dropped(character: str) -> bool:
    return (
        character.isspace()
        or character in _DASHES_AND_DOTS
        or unicodedata.category(character) in _DASHES_AND_CONTROLS
        or _ACCENTS.match(character) is not None
        or _INVISIBLE.match(character) is not None
    )


def _shown(character: str) -> str:
    code = f"U+{ord(character):04X}"
    return f'"{character}" ({code})' if character.isprintable() else code
