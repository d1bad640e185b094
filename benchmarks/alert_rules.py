"""How many recognitions a second one core holds against so many rules.

Command: ``python -m benchmarks.alert_rules [--events 20000]``. Needs no server. All rules are of
one owner, the worst case, as a recognition meets its owner's rules only. An event is a record as it
lies on its topic: decoded, normalised, matched. Prints a table for docs/benchmarks.md.
"""

import argparse
import random
import string
import time
import tracemalloc
from dataclasses import dataclass
from uuid import UUID

import msgspec

from alert_rules.rule import rule_of, sighting
from alert_rules.rule_book import RuleBook
from contracts.records import (
    AlertConfig,
    AlertSchedule,
    CameraScope,
    PlateMatchMode,
    Recognition,
    decode,
    encode,
)
from tests.records import alert, recognition

_SIZES = (10, 100, 1_000, 10_000)
_PLATES_PER_RULE = 5


@dataclass(frozen=True)
class Measured:
    """What one size of the book costs."""

    rules: int
    events_per_second: float
    candidates: int
    megabytes: float
    change_ms: float


def _plate(chance: random.Random) -> str:
    letters = "".join(chance.choices(string.ascii_uppercase, k=4))
    return f"{letters[:2]}{chance.randrange(100):02}{letters[2:]}{chance.randrange(10)}"


def _rule(chance: random.Random, number: int) -> AlertConfig:
    """Three of ten are exact, three wild, three forgive one or two edits, one is for any plate."""
    kind = number % 10
    plates = tuple(_plate(chance) for _ in range(_PLATES_PER_RULE))
    if kind in (3, 4):
        plates = tuple(f"{plate[:4]}*" for plate in plates)
    if kind == 5:
        plates = tuple(f"*{plate[2:5]}?{plate[6:]}" for plate in plates)
    is_any = kind == 9
    return alert(
        number,
        plate_match_mode=PlateMatchMode.ANY if is_any else PlateMatchMode.SPECIFIC,
        plates=plates,
        match_tolerance={6: 1, 7: 1, 8: 2}.get(kind, 0),
        camera_scope=CameraScope.SPECIFIC if is_any else CameraScope.ALL,
        # The cameras of these rules are others: those that fire cost what firing costs.
        camera_ids=(UUID(int=number),) if is_any else (),
        schedule_enabled=number % 2 == 0,
        schedule=AlertSchedule(start_time="22:00", end_time="06:00"),
        timezone="Europe/Lisbon",
    )


def _events(chance: random.Random, count: int) -> list[bytes]:
    return [
        encode(msgspec.structs.replace(recognition(number), plate=_plate(chance)))
        for number in range(count)
    ]


def _measure(size: int, events: list[bytes]) -> Measured:
    chance = random.Random(size)
    rules = [rule_of(_rule(chance, number)) for number in range(size)]
    tracemalloc.start()
    book = RuleBook()
    for rule in rules:
        book.put(rule)
    megabytes = tracemalloc.get_traced_memory()[0] / 1e6
    tracemalloc.stop()
    began, candidates = time.process_time(), 0
    for value in events:
        candidates += len(book.matching(sighting(decode(Recognition, value))))
    seconds = time.process_time() - began
    return Measured(size, len(events) / seconds, candidates, megabytes, _change_ms(book))


def _change_ms(book: RuleBook) -> float:
    """Time to replace one rule by one of a thousand plates with a tolerance of two."""
    chance = random.Random(1)
    plates = tuple(_plate(chance) for _ in range(1000))
    large = alert(0, plate_match_mode=PlateMatchMode.SPECIFIC, plates=plates, match_tolerance=2)
    began = time.process_time()
    book.put(rule_of(large))
    return (time.process_time() - began) * 1000


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.alert_rules")
    parser.add_argument("--events", type=int, default=20_000)
    events = _events(random.Random(7), parser.parse_args().events)
    print("| rules | events/s/core | ÷ 10 rules | candidates | index MB | change ms |")
    print("|---|---|---|---|---|---|")
    least: float | None = None
    for size in _SIZES:
        found = _measure(size, events)
        least = least or found.events_per_second
        print(
            f"| {found.rules} | {found.events_per_second:.0f} |"
            f" {found.events_per_second / least:.2f} | {found.candidates} |"
            f" {found.megabytes:.1f} | {found.change_ms:.0f} |"
        )


if __name__ == "__main__":
    main()
