"""Buffered audit entries: which calls are recorded, what counts as recorded, and what is lost."""

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any, cast
from uuid import UUID

import pytest
from sqlalchemy.orm import Session

from api.actors import Action, Actor, ActorKind
from api.audit import audit_buffer
from api.audit.actions import AuditAction
from api.audit.audit_buffer import AGAIN_SECONDS, AuditBuffer, audited_parameters
from api.audit.plates import PlateHashes
from api.db.database import Database
from api.errors import Dependency, DependencyUnavailableError

OWNER = UUID(int=1)


class Written:
    """Fake PostgreSQL, which stores entries unless it has an error to raise."""

    def __init__(self) -> None:
        self.acts: list[AuditAction] = []
        self.error: Exception | None = None

    async def run(self, work: Callable[[Any], Any]) -> Any:
        if self.error is not None:
            raise self.error
        return work(self)


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Written:
    def write(session: Session, acts: Collection[AuditAction]) -> None:
        cast(Written, session).acts += acts

    monkeypatch.setattr(audit_buffer, "write_actions", write)
    return Written()


def _notes(
    written: Written, capacity: int = 10, clock: Callable[[], float] = lambda: 0.0
) -> AuditBuffer:
    return AuditBuffer(cast(Database, written), PlateHashes("key"), capacity=capacity, clock=clock)


def _act(camera: str = "first", address: str = "192.0.2.1") -> AuditAction:
    actor = Actor(ActorKind.KEY, UUID(int=2), "Gate", "pk_1", address)
    return AuditAction(OWNER, Action.RECOGNITIONS_SEARCHED, actor, parameters={"cameraId": camera})


def test_filters_are_recorded_and_the_page_is_not() -> None:
    query = [("plate", "ab\x00 12"), ("limit", "5"), ("lastKey", "x"), ("width", "64"), ("to", "")]
    assert audited_parameters(query) == {"plate": "ab 12"}
    assert len(audited_parameters([("actor", "a" * 999)])["actor"]) == 300


async def test_plates_are_masked_and_hashed_before_they_wait(written: Written) -> None:
    notes = _notes(written)
    for plate in ("AB 12-CD", "ab12cd"):
        notes.add(replace(_act(), parameters={"plate": plate}))
    await notes.sweep()
    (act,) = written.acts
    assert act.parameters == PlateHashes("key").protected(OWNER, {"plate": "AB12CD"})
    assert "AB12CD" not in str(act)


async def test_repeated_calls_are_recorded_once_in_ten_minutes(written: Written) -> None:
    now = 0.0
    notes = _notes(written, clock=lambda: now)
    for act in (_act(), _act(), _act("CD34"), _act(address="192.0.2.2")):
        notes.add(act)
    await notes.sweep()
    assert len(written.acts) == 3

    now = AGAIN_SECONDS
    notes.add(_act())
    await notes.sweep()
    assert len(written.acts) == 4
    guess = AuditAction(OWNER, Action.PASSWORD_REFUSED, Actor(ActorKind.NOBODY))
    for _ in range(3):
        notes.add(guess)
    await notes.sweep()
    assert len(written.acts) == 7


async def test_a_network_of_ipv6_is_one_caller(written: Written) -> None:
    notes = _notes(written)
    for address in ("2001:db8::1", "2001:db8::2", "2001:db8:0:1::1"):
        notes.add(_act(address=address))
    await notes.sweep()
    assert [act.actor.address for act in written.acts] == ["2001:db8::1", "2001:db8:0:1::1"]


async def test_what_is_remembered_of_callers_is_bounded(written: Written) -> None:
    notes = _notes(written, capacity=10)
    for number in range(1000):
        notes.add(_act(f"AB{number}"))
        await notes.sweep()
    assert len(written.acts) == 1000
    assert len(notes._noted) <= 10


async def test_entries_wait_while_postgresql_is_unavailable(written: Written) -> None:
    notes = _notes(written, capacity=2)
    written.error = DependencyUnavailableError(Dependency.CONFIGURATION)
    for number in range(5):
        notes.add(_act(str(number)))
    with pytest.raises(DependencyUnavailableError):
        await notes.sweep()
    await notes.close()
    assert written.acts == []

    written.error = None
    await notes.sweep()
    *kept, told = written.acts
    assert [act.parameters["cameraId"] for act in kept] == ["0", "1"]
    assert (told.action, told.parameters) == (Action.AUDIT_INCOMPLETE, {"count": 3})
    # An entry was lost because the buffer was full, so a repeated call is recorded.
    notes.add(_act("4"))
    await notes.sweep()
    assert written.acts[-1].parameters == {"cameraId": "4"}


async def test_what_postgresql_refuses_is_lost_and_counted_and_nothing_waits_for_it(
    written: Written,
) -> None:
    notes = _notes(written)
    notes.add(_act())
    written.error = RuntimeError("refused")
    assert await notes.sweep() == 1
    written.error = None
    notes.add(_act("second"))
    await notes.sweep()
    (metric,) = notes.collect()

    assert [act.parameters for act in written.acts] == [{"cameraId": "second"}]
    assert metric.samples[0].value == 1
