"""Rows with known results of the saved queries, and the results."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

from clickhouse_connect.driver.client import Client

from common.records.ids import recognition_id

OWNER, NEIGHBOUR = UUID(int=1), UUID(int=2)
ENTRY, EXIT, ROAD = UUID(int=11), UUID(int=12), UUID(int=13)
# The start of a Monday. Rome is one hour ahead of UTC.
DAY: Final = datetime(2026, 11, 2, tzinfo=UTC)
NAMES: Final = {ENTRY: "Entry", EXIT: "Exit", ROAD: "Road"}

PARAMETERS: Final[Mapping[str, str]] = {
    "owner": str(OWNER),
    "entry": str(ENTRY),
    "exit": str(EXIT),
    "since": "2026-11-01 00:00:00",
    "before": "2026-11-08 00:00:00",
    "zone": "Europe/Rome",
    "seconds": "60",
    "days": "3",
}
# Camera, plate, and hours since the start of DAY.
_PASSES: Final[Sequence[tuple[UUID, str, float]]] = (
    (ENTRY, "STAY1", 8.0),
    (EXIT, "STAY1", 9.5),
    # The camera missed the first exit.
    (ENTRY, "MISS1", 8.25),
    (ENTRY, "MISS1", 10.0),
    (EXIT, "MISS1", 10.25),
    (EXIT, "ONLY1", 8.75),
    (ROAD, "TWIN1", 12.0),
    (ENTRY, "TWIN1", 12.0 + 20 / 3600),
    # In Rome these passes are on the third, fourth and fifth.
    (ROAD, "DAILY", 23.5),
    (ROAD, "DAILY", 47.5),
    (ROAD, "DAILY", 71.5),
)


def _at(hours: float) -> datetime:
    return DAY + timedelta(seconds=round(hours * 3600))


ANSWERS: Final[Mapping[str, Sequence[Sequence[Any]]]] = {
    "hourly_load": [
        ("Entry", 9, 1, 2.0, 2),
        ("Entry", 11, 1, 1.0, 1),
        ("Entry", 13, 1, 1.0, 1),
        ("Exit", 9, 1, 1.0, 1),
        ("Exit", 10, 1, 1.0, 1),
        ("Exit", 11, 1, 1.0, 1),
        ("Road", 0, 3, 1.0, 1),
        ("Road", 13, 1, 1.0, 1),
    ],
    "plates_at_two_places": [
        ("TWIN1", _at(12), "Road", _at(12 + 20 / 3600), "Entry", 20.0),
    ],
    "repeat_visitors": [("DAILY", 3, 3, _at(23.5), _at(71.5), ["Road"])],
    "stays": [
        ("MISS1", _at(10), _at(10.25), 15),
        ("STAY1", _at(8), _at(9.5), 90),
    ],
    "unread_passes": [
        (ROAD, "The road", 6, 2, 33.3),
        (ENTRY, "The entry", 4, 0, 0.0),
        (EXIT, None, 3, 0, 0.0),
    ],
}


def write_saved_rows(client: Client) -> None:
    """Write the rows, one of them twice, and rows of another account with the same plates."""
    passes = [*_PASSES, _PASSES[0]]
    rows = [_row(OWNER, *each) for each in passes]
    rows += [_row(NEIGHBOUR, camera, f"{plate}X", hours) for camera, plate, hours in passes]
    columns = ["user_id", "id", "ts", "camera_id", "camera_name", "plate", "source", "confidence"]
    client.insert("recognitions", rows, column_names=columns)
    unread = [
        [
            OWNER,
            recognition_id(_ms(_at(hours)), ROAD, str(hours)),
            _at(hours),
            ROAD,
            "camera",
            False,
        ]
        for hours in (5.0, 6.0)
    ]
    columns = ["user_id", "id", "ts", "camera_id", "source", "accepted"]
    client.insert("pass_outcomes", unread, column_names=columns)
    cameras = [
        [ENTRY, OWNER, "The entry", 1, 0],
        [ROAD, OWNER, "The road", 2, 0],
        [ROAD, OWNER, "Its former name", 1, 0],
        [EXIT, OWNER, "The exit", 1, 0],
        [EXIT, OWNER, "", (1 << 64) - 1, 1],
    ]
    columns = ["id", "user_id", "name", "revision", "removed"]
    client.insert("cameras", cameras, column_names=columns)


def _row(owner: UUID, camera: UUID, plate: str, hours: float) -> list[Any]:
    at = _at(hours)
    identifier = recognition_id(_ms(at), camera, f"{owner}{plate}")
    return [owner, identifier, at, camera, NAMES[camera], plate, "camera", 0.9]


def _ms(at: datetime) -> int:
    return int(at.timestamp() * 1000)
