"""Faults of a fleet under load, one per round."""

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from tests.fault.faults import Fault, FaultKind, Saboteur
from tests.fleet.brokers import BROKERS
from tests.fleet.fleet import PROCESSES, Fleet
from tests.services.stack import second_name

_FREEZE_SECONDS = 15.0
_BROKER_AWAY_SECONDS = 20.0
_CUT_SECONDS = 20.0
_STAGES = ("recognition", "alerts", "webhooks", "sink")
# A topic's consumer is restarted before its producer, as in an upgrade.
ROLLING = ("sink", "webhooks", "alerts", "recognition", "ingest", "relay", "api")
"""The order in docs/deployment.md."""


class Harm(StrEnum):
    ROLL = "rolling"
    KILL = "kill -9"
    FREEZE = "freeze"
    BROKER = "a broker lost"
    CUT = "a machine cut off"


@dataclass(frozen=True)
class Done:
    """Description of a fault, and a check of whether the fleet has recovered."""

    what: str
    is_there: Callable[[], bool]


def harms(chance: random.Random) -> Iterator[Harm]:
    """Yield faults without end, each kind once in every five, starting with a rolling restart."""
    kinds = list(Harm)
    while True:
        yield from kinds
        kinds = chance.sample(kinds, len(kinds))


class Saboteurs:
    """Injects faults into a fleet. The seed determines every choice."""

    def __init__(self, fleet: Fleet, chance: random.Random) -> None:
        """``chance`` selects the processes."""
        self._fleet = fleet
        self._chance = chance
        self._hands = Saboteur(fleet.stack)

    def cause(self, harm: Harm) -> Done:
        """Inject the fault for its duration. Return its description and the recovery check."""
        return {
            Harm.ROLL: self._roll,
            Harm.KILL: self._kill,
            Harm.FREEZE: self._freeze,
            Harm.BROKER: self._lose_a_broker,
            Harm.CUT: self._cut,
        }[harm]()

    def _kill(self) -> Done:
        # Kill a worker of a stage, and another process.
        stages = [name for each in _STAGES for name in (each, second_name(each))]
        first = self._chance.choice(stages)
        other = self._chance.choice([name for name in PROCESSES if name != first])
        checks = [self._hands.cause(Fault(FaultKind.KILL, name)) for name in (first, other)]
        return Done(f"kill -9 {first}, {other}", lambda: all(check() for check in checks))

    def _freeze(self) -> Done:
        name = self._chance.choice(PROCESSES)
        fault = Fault(FaultKind.FREEZE, name, _FREEZE_SECONDS)
        return Done(str(fault), self._hands.cause(fault))

    def _lose_a_broker(self) -> Done:
        fault = Fault(FaultKind.LEAVE, self._chance.choice(BROKERS), _BROKER_AWAY_SECONDS)
        return Done(str(fault), self._hands.cause(fault))

    def _cut(self) -> Done:
        machine = self._chance.choice(self._fleet.network.machines)
        with self._fleet.cut_off(machine):
            time.sleep(_CUT_SECONDS)
        number = self._fleet.network.machines.index(machine) + 1
        mine = [name for name in PROCESSES if self._fleet.machine_of(name) is machine]
        return Done(
            f"machine {number} cut off for {_CUT_SECONDS:g} s",
            lambda: all(self._fleet.is_healthy(name) for name in mine),
        )

    def _roll(self) -> Done:
        """Restart every process, one at a time."""
        for stage in ROLLING:
            for name in (stage, second_name(stage)):
                self._fleet.restart(name)
                self._fleet.wait_for_health(name)
        return Done("rolling restart", lambda: True)
