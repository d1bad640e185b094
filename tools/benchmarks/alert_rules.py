"""Measures how many recognitions per second one core matches against 10 and 10,000 alerts.

Command: ``python -m tools.benchmarks.alert_rules [--events 5000]``. The command needs no server.
All alerts belong to one account, which is the worst case, because only an account's own alerts are
matched. Each event is a record from the topic, which is decoded, normalised and matched.
"""

import argparse
import math
import random
import string
import time
import tracemalloc
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

import msgspec

from common.alerting.rule import rule_of, sighting_of
from common.alerting.rule_index import RuleIndex
from common.records.alerts import (
    AlertConfig,
    AlertSchedule,
    CameraScope,
    CooldownScope,
    PlateMatchMode,
)
from common.records.codec import decode, encode
from common.records.recognitions import Recognition
from tools.benchmarks.records import recognition

_SIZES = (10, 10_000)
_PLATES_PER_RULE = 5
_ROUNDS = 9
_OWNER = UUID(int=1 << 96)
_START_MS = 1_795_000_000_000


@dataclass(frozen=True)
class Measured:
    """The cost of matching events against a set of alerts on one core."""

    events_per_second: float
    candidates_per_event: float
    megabytes: float


def _plate(chance: random.Random) -> str:
    letters = "".join(chance.choices(string.ascii_uppercase, k=4))
    return f"{letters[:2]}{chance.randrange(100):02}{letters[2:]}{chance.randrange(10)}"


class Kind(StrEnum):
    """The kind of plates that an alert matches."""

    EXACT = "exact plates"
    BEGINNING = "prefixes (AB12*)"
    UNKNOWN = "plates with one unknown character (AB?2CD3)"
    ONE_EDIT = "plates, fuzzy with one edit"
    TWO_EDITS = "plates, fuzzy with two edits"
    ANY = "any plate, at one camera"


_MIXED = (*(Kind.EXACT,) * 5, Kind.BEGINNING, Kind.UNKNOWN, *(Kind.ONE_EDIT,) * 2, Kind.ANY)
_MIXES: dict[str, tuple[Kind, ...]] = {
    "mixed: 5 exact, 2 wildcards, 2 fuzzy, 1 any": _MIXED,
    **{kind.value: (kind,) for kind in Kind},
}


def _rule(chance: random.Random, number: int, kind: Kind) -> AlertConfig:
    plates = tuple(_plate(chance) for _ in range(_PLATES_PER_RULE))
    if kind is Kind.BEGINNING:
        plates = tuple(f"{plate[:4]}*" for plate in plates)
    if kind is Kind.UNKNOWN:
        plates = tuple(f"{plate[:2]}?{plate[3:]}" for plate in plates)
    is_any = kind is Kind.ANY
    return AlertConfig(
        alert_id=UUID(int=(0xA1E7 << 96) + number),
        owner_id=_OWNER,
        name=f"alert {number}",
        description="",
        enabled=True,
        plate_match_mode=PlateMatchMode.ANY if is_any else PlateMatchMode.SPECIFIC,
        plates=plates,
        match_tolerance={Kind.ONE_EDIT: 1, Kind.TWO_EDITS: 2}.get(kind, 0),
        camera_scope=CameraScope.SPECIFIC if is_any else CameraScope.ALL,
        # These alerts are for other cameras, so that triggering is not measured.
        camera_ids=(UUID(int=number),) if is_any else (),
        schedule_enabled=number % 2 == 0,
        schedule=AlertSchedule(start_time="22:00", end_time="06:00"),
        timezone="Europe/Lisbon",
        min_confidence=0.5,
        cooldown_minutes=5,
        cooldown_scope=CooldownScope.ALERT,
        notifications_encrypted="",
        notification_secret_encrypted="",
        revision=1,
        created_ms=0,
    )


def _events(chance: random.Random, count: int) -> list[bytes]:
    return [
        encode(
            msgspec.structs.replace(recognition(_OWNER, number, _START_MS), plate=_plate(chance))
        )
        for number in range(count)
    ]


@dataclass(frozen=True)
class _RuleSet:
    book: RuleIndex
    megabytes: float


def _rule_set(kinds: tuple[Kind, ...], size: int) -> _RuleSet:
    chance = random.Random(size)
    rules = [rule_of(_rule(chance, number, kinds[number % len(kinds)])) for number in range(size)]
    tracemalloc.start()
    book = RuleIndex()
    for rule in rules:
        book.put(rule)
    megabytes = tracemalloc.get_traced_memory()[0] / 1e6
    tracemalloc.stop()
    return _RuleSet(book, megabytes)


def _measure(kinds: tuple[Kind, ...], events: list[bytes]) -> list[Measured]:
    """Return the cost for each size, as the best of several rounds, because cores are shared."""
    books = [_rule_set(kinds, size) for size in _SIZES]
    best, candidates = [math.inf] * len(books), [0] * len(books)
    for _ in range(_ROUNDS):
        for number, each in enumerate(books):
            began = time.process_time()
            candidates[number] = _match_all(each.book, events)
            best[number] = min(best[number], time.process_time() - began)
    return [
        Measured(len(events) / seconds, count / len(events), each.megabytes)
        for seconds, count, each in zip(best, candidates, books, strict=True)
    ]


def _match_all(book: RuleIndex, events: list[bytes]) -> int:
    return sum(len(book.matching(sighting_of(decode(Recognition, value)))) for value in events)


def main() -> None:
    """Measure each kind of alert, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m tools.benchmarks.alert_rules")
    parser.add_argument("--events", type=int, default=5_000)
    events = _events(random.Random(7), parser.parse_args().events)
    print("| alerts | events/s, 10 | 10,000 | ÷ | alerts per event, of 10,000 | MB |")
    print("|---|---|---|---|---|---|")
    for name, kinds in _MIXES.items():
        few, many = _measure(kinds, events)
        print(
            f"| {name} | {few.events_per_second:.0f} | {many.events_per_second:.0f} |"
            f" {many.events_per_second / few.events_per_second:.2f} |"
            f" {many.candidates_per_event:.3f} | {many.megabytes:.0f} |"
        )


if __name__ == "__main__":
    main()
