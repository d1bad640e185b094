"""What is kept of a stream that another one watches: all of the last four seconds."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

import pytest

from ingest.capture.held_packets import KEPT_SECONDS, HeldPackets
from ingest.clocks import Instant

FPS = 25


@dataclass
class Packet:
    size: int
    pts: int = 0
    time_base: Fraction = Fraction(1, 1)


@pytest.mark.parametrize("group_seconds", [1, 2, 4])
@pytest.mark.parametrize("mbit", [4, 8, 16, 20])
def test_nothing_of_the_last_seconds_is_dropped(mbit: int, group_seconds: int) -> None:
    held = HeldPackets()
    packet = cast("Any", Packet(mbit * 1_000_000 // 8 // FPS))
    kept = []
    for number in range(30 * FPS):
        arrival = Instant(number * 1000 // FPS, number / FPS)
        if number % (group_seconds * FPS) == 0:
            held.begin_group(packet, arrival, is_watched=True)
        else:
            held.add(packet, arrival)
        assert not held.is_full
        kept.append(arrival.seconds - held.packets[0][1].seconds)

    assert min(kept[10 * FPS :]) >= KEPT_SECONDS
    assert max(kept) <= KEPT_SECONDS + 2 * group_seconds


def test_one_for_which_there_is_no_room_is_full() -> None:
    held = HeldPackets()
    packet = cast("Any", Packet(8 * 1024 * 1024))
    for number in range(3):
        held.begin_group(packet, Instant(number * 1000, number), is_watched=True)
        assert not held.is_full
    held.begin_group(packet, Instant(3000, 3), is_watched=True)

    assert held.is_full
