"""The computed cost of matching a list of plates."""

import random
import string
import time

import pytest

from common.plates.index import PlateIndex
from common.plates.list_cost import list_cost
from common.plates.matching import PlateMatcher, listed_plate

COUNT = 1_000


def plates(count: int = COUNT, beginning: str = "", ending: str = "") -> list[str]:
    chance = random.Random(7)
    free = 7 - len(beginning) - len(ending)
    symbols = string.ascii_uppercase + string.digits
    return [f"{beginning}{''.join(chance.choices(symbols, k=free))}{ending}" for _ in range(count)]


def listed(entries: list[str], tolerance: int = 0) -> list[PlateMatcher]:
    return [listed_plate(entry, tolerance) for entry in entries]


@pytest.mark.parametrize(
    ("matchers", "most"),
    [
        (listed(plates()), 0),
        (listed(plates(), 1), 300),
        (listed(plates(), 2), 500),
        (listed([f"{plate[:4]}*" for plate in plates()]), 100),
        (listed([f"{plate[:2]}?{plate[3:]}" for plate in plates()]), 300),
    ],
    ids=["exact", "one edit", "two edits", "beginnings", "an unknown character"],
)
def test_ordinary_lists_cost_little(matchers: list[PlateMatcher], most: int) -> None:
    assert list_cost(matchers) <= most


@pytest.mark.parametrize(
    ("matchers", "least"),
    [
        (listed([f"*?*?*?*?*?*?{plate[0]}*{plate[1]}*" for plate in plates()], 2), 100_000),
        (listed([f"*A*{plate}" for plate in plates()], 2), 30_000),
        (listed(plates(beginning="AB", ending="CDE"), 2), 5_000),
        (listed([f"*A*{plate[0]}*{plate[1]}*{plate[2]}*" for plate in plates()]), 200),
    ],
    ids=["fit anything", "a character that each plate has", "alike", "crowded wildcards"],
)
def test_crafted_lists_cost_what_they_take(matchers: list[PlateMatcher], least: int) -> None:
    cost = list_cost(matchers)
    assert cost >= least
    index: PlateIndex[int] = PlateIndex()
    index.add(1, matchers)
    taken = []
    for plate in ("AB12CDE", "ABCDE", "A" * 16):
        began = time.process_time()
        index.find(plate)
        taken.append(time.process_time() - began)
    # A busy machine is slower by an unknown factor, but never much faster.
    assert cost / 1e6 > max(taken) / 20


def test_the_same_entry_costs_once() -> None:
    once = listed(["*A*B"], 1)
    assert list_cost(once * 5) == list_cost(once)
