"""Finds the names of plates in a list. No I/O."""

from collections.abc import Iterable, Mapping

from common.errors import InvalidInputError
from common.plates.matching import listed_plate
from common.plates.normalise import normalise_plate


def plate_name(
    plate: str, entries: Iterable[str], names: Mapping[str, str], tolerance: int
) -> str | None:
    """Return the name of the entry equal to a plate, or otherwise of the first matching entry.

    Return None if no named entry matches. ``names`` is keyed by entry as written; ``tolerance`` is
    the same as in :func:`common.plates.matching.listed_plate`.
    """
    if not names:
        return None
    wanted = normalise_plate(plate)
    named = [(entry, names[entry]) for entry in entries if entry in names]
    own = (name for entry, name in named if normalise_plate(entry) == wanted)
    others = (name for entry, name in named if _stands_for(entry, wanted, tolerance))
    return next(own, None) or next(others, None)


def names_of_entries(plates: Iterable[str], names: Mapping[str, str]) -> dict[str, str]:
    """Return the names of those ``plates`` that have one, comparing plates in normalised form."""
    known = {normalise_plate(plate): name for plate, name in names.items()}
    found = ((entry, known.get(normalise_plate(entry))) for entry in plates)
    return {entry: name for entry, name in found if name is not None}


def unlisted(plates: Iterable[str], names: Mapping[str, str]) -> list[str]:
    """Return the plates in ``names`` that are not in ``plates``."""
    listed = {normalise_plate(plate) for plate in plates}
    return [plate for plate in names if normalise_plate(plate) not in listed]


def _stands_for(entry: str, plate: str, tolerance: int) -> bool:
    try:
        return listed_plate(entry, tolerance).matches(plate)
    except InvalidInputError:
        # The API rejects such entries. An entry in an older record matches no plate.
        return False
