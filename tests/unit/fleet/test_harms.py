"""Faults in the rounds of a fleet, and the order of a rolling restart."""

import random
from itertools import islice

from tests.fault.faults import APPLICATION
from tests.fleet.harms import ROLLING, Harm, harms


def test_each_kind_comes_once_in_five_and_the_upgrade_first() -> None:
    chosen = list(islice(harms(random.Random(3)), 20))
    assert chosen[0] is Harm.ROLL
    for begin in range(0, 20, 5):
        assert set(chosen[begin : begin + 5]) == set(Harm)


def test_every_process_is_replaced() -> None:
    assert sorted(ROLLING) == sorted(APPLICATION)
