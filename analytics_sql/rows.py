"""Declares the columns of ClickHouse tables next to the fields of row classes."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Annotated, Any, Final, Generic, TypeVar, get_type_hints
from uuid import UUID

import msgspec

from common.errors import InvalidInputError
from common.plates.normalise import normalise_plate
from common.records.frames import Box
from common.records.ids import may_be_captured
from common.records.object_keys import crop_key, photo_key
from common.records.recognitions import (
    CharacterAlternative,
    Direction,
    Recognition,
    RecognitionSource,
)

LAST_STORABLE_MS = 4_102_444_800_000
"""2100-01-01 UTC (Unix ms). Tables can only store earlier times."""

UUIDS: Final = "UUID"
TEXT: Final = "String"
LABEL: Final = "LowCardinality(String)"
NUMBER: Final = "Float64"
TIME: Final = "DateTime64(3, 'UTC')"

# Stored instead of an S3 key that can be derived from account and ID.
_DERIVED = "="
_NO_BOX = Box(x=0.0, y=0.0, width=0.0, height=0.0)

R = TypeVar("R")


@dataclass(frozen=True)
class Column:
    """A column of a table, as the annotation of a row's field: ``Annotated[UUID, Column(UUIDS)]``.

    ``name`` defaults to the field's name. ``value``, if given, computes the column's value from the
    whole row.
    """

    type: str
    name: str = ""
    value: Callable[[Any], object] | None = None


@dataclass(frozen=True)
class Columns:
    """Annotates a field that is stored in several columns."""

    columns: tuple[Column, ...]


class Table(Generic[R]):
    """The name and the columns of a table that stores rows of one class."""

    def __init__(self, name: str, columns: Sequence[Column]) -> None:
        self.name = name
        self.columns = tuple(columns)
        self._values = [column.value or attrgetter(column.name) for column in columns]

    def column_values(self, rows: Sequence[R]) -> list[list[object]]:
        """Return one list for each of ``columns``, with the values of all rows."""
        return [list(map(value, rows)) for value in self._values]


def columns_of(row_type: type[object]) -> tuple[Column, ...]:
    """Return the columns in the annotations of a row class's fields, in order."""
    return tuple(_columns_of(row_type))


def _columns_of(row_type: type[object]) -> Iterator[Column]:
    for field, hint in get_type_hints(row_type, include_extras=True).items():
        for note in getattr(hint, "__metadata__", ()):
            if isinstance(note, Columns):
                yield from note.columns
            elif isinstance(note, Column):
                yield Column(note.type, note.name or field, note.value or attrgetter(field))


def shared_fields(
    row_type: type[object], *, but: tuple[str, ...]
) -> Callable[[object], dict[str, Any]]:
    """Return a function that reads a row class's fields, except ``but``, from a record."""
    names = tuple(name for name in get_type_hints(row_type) if name not in but)
    values_of = attrgetter(*names)
    return lambda record: dict(zip(names, values_of(record), strict=False))


def stored_key(key: str | None, derived: str) -> str:
    """Return an S3 key as stored in tables: '=' for the derived key, and '' for None."""
    return _DERIVED if key == derived else key or ""


def read_key(stored: str, derived: str) -> str | None:
    """Return the S3 key that :func:`stored_key` encoded."""
    return derived if stored == _DERIVED else stored or None


def _box_columns() -> Columns:
    return Columns(
        (
            Column(NUMBER, "box_x", lambda row: (row.box or _NO_BOX).x),
            Column(NUMBER, "box_y", lambda row: (row.box or _NO_BOX).y),
            Column(NUMBER, "box_width", lambda row: (row.box or _NO_BOX).width),
            Column(NUMBER, "box_height", lambda row: (row.box or _NO_BOX).height),
        )
    )


PhotoKey = Annotated[
    str | None,
    Column(
        TEXT, "photo_key", lambda row: stored_key(row.photo_key, photo_key(row.user_id, row.id))
    ),
]
CropKey = Annotated[
    str | None,
    Column(TEXT, "crop_key", lambda row: stored_key(row.crop_key, crop_key(row.user_id, row.id))),
]


class RecognitionRow(msgspec.Struct, frozen=True, kw_only=True):
    """A recognition as stored. Times are Unix ms, UTC. Confidences are 0 to 1.

    ``plate`` is normalised. ``box`` is in pixels of the frame. ``alternatives`` are not read for
    list pages. An image key is None if there is no image.
    """

    id: Annotated[UUID, Column(UUIDS)]
    user_id: Annotated[UUID, Column(UUIDS)]
    camera_id: Annotated[UUID, Column(UUIDS)]
    camera_name: Annotated[str, Column(LABEL)]
    plate: Annotated[str, Column(TEXT)]
    confidence: Annotated[float, Column(NUMBER)]
    captured_ms: Annotated[int, Column(TIME, "ts")]
    box: Annotated[Box | None, _box_columns()] = None
    photo_key: PhotoKey = None
    crop_key: CropKey = None
    character_confidences: Annotated[tuple[float, ...], Column("Array(Float64)")]
    alternatives: Annotated[
        tuple[CharacterAlternative, ...],
        Column(
            "Array(Tuple(UInt8, String, Float64))",
            value=lambda row: [msgspec.structs.astuple(each) for each in row.alternatives],
        ),
    ] = ()
    first_seen_ms: Annotated[int, Column(TIME, "first_seen")]
    last_seen_ms: Annotated[int, Column(TIME, "last_seen")]
    readings_count: Annotated[int, Column("UInt32")]
    region: Annotated[str | None, Column(LABEL, value=lambda row: row.region or "")] = None
    region_confidence: Annotated[
        float | None, Column(NUMBER, value=lambda row: row.region_confidence or 0.0)
    ] = None
    plate_type: Annotated[str, Column(LABEL)] = "car"
    source: Annotated[RecognitionSource, Column(LABEL, value=lambda row: row.source.value)] = (
        RecognitionSource.CAMERA
    )
    direction: Annotated[Direction | None, Column(LABEL, value=lambda row: row.direction or "")] = (
        None
    )


# Looking up an enum member in a dictionary is ten times faster than through its class.
_SOURCES: Final = {source.value: source for source in RecognitionSource}
_DIRECTIONS: Final = {direction.value: direction for direction in Direction}

_as_recorded = shared_fields(RecognitionRow, but=("user_id", "plate"))
RECOGNITIONS: Final = Table[RecognitionRow]("recognitions", columns_of(RecognitionRow))


def recognition_row(record: Recognition) -> RecognitionRow:
    """Return the row for a record of the recognitions topic.

    Raises:
        InvalidInputError: the time is out of range, or the ID does not match the time.
    """
    if not 0 <= record.captured_ms < LAST_STORABLE_MS:
        raise InvalidInputError(f"invalid time: {record.captured_ms}", code="time_out_of_range")
    if not may_be_captured(record.id, record.captured_ms):
        raise InvalidInputError("the ID does not match captured_ms", code="id_of_other_time")
    plate = normalise_plate(record.plate)
    return RecognitionRow(user_id=record.owner_id, plate=plate, **_as_recorded(record))


def read_recognition(found: dict[str, Any]) -> RecognitionRow:
    """Return the row in a result of ``recognitions_page.sql`` or ``recognition_by_id.sql``."""
    user_id, identifier = found["user_id"], found["id"]
    x, y = found.pop("box_x"), found.pop("box_y")
    width, height = found.pop("box_width"), found.pop("box_height")
    found["box"] = Box(x=x, y=y, width=width, height=height) if width else None
    found["photo_key"] = read_key(found["photo_key"], photo_key(user_id, identifier))
    found["crop_key"] = read_key(found["crop_key"], crop_key(user_id, identifier))
    found["character_confidences"] = tuple(found["character_confidences"])
    found["alternatives"] = tuple(
        CharacterAlternative(*each) for each in found.get("alternatives", ())
    )
    found["region"] = found["region"] or None
    found["region_confidence"] = found["region_confidence"] or None
    found["source"] = _SOURCES[found["source"]]
    found["direction"] = _DIRECTIONS.get(found["direction"])
    return RecognitionRow(**found)
