"""Entries of the audit log in PostgreSQL: written, and by three narrow ways taken out again.

What changes a row needs nothing of this: triggers write its entry (migration 0014). They also
refuse every other change of the log, also by this process.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID, uuid4

from sqlalchemy import Text, cast, delete, func, literal_column, or_, select, text, tuple_
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from api.db.actors import SERVICE, Actor, current_actor
from api.db.audit_tables import AuditEntry
from api.db.tables import ErasureJob, Owner
from api.security.actions import Action
from common.plates.normalise import normalise_plate

ERASED: Final = "[erased]"
"""Stands in the place of a text that held an erased plate."""

_WAY = "platestream.audit_way"
_SURE_CHARACTERS = 4
_NO_PLATE = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT[0-9:.+-]+Z?")
_DROPPED = r"[\s.\-\u2010-\u2015\u00b7\u2022\u0300-\u036f]+"
_BEYOND_ASCII = r"[^\u0001-\u007f]|\\"
"""Characters that only :func:`normalise_plate` folds, and escapes of JSON."""
_BATCH = 5_000
_SLICE = 2_000

REMEMBERED: Final = timedelta(minutes=10)
"""So long after an erasure somebody's search from before it may still be on its way to the log."""

_CLOCKS = timedelta(seconds=5)
"""The clocks of processes and servers differ by less."""

_MARGIN = timedelta(minutes=1)
_PLATE = "plate"


@dataclass(frozen=True)
class ActSubject:
    """The thing that an act is about, under the name that it had."""

    kind: str
    id: UUID | None = None
    name: str | None = None


@dataclass(frozen=True)
class Act:
    """Something that somebody did or asked."""

    owner_id: UUID
    action: Action
    actor: Actor
    subject: ActSubject | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict, hash=False)
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    id: UUID = field(default_factory=uuid4)
    is_erased: bool = False
    """A plate was taken out of what it tells."""


def act_in_hand(
    owner_id: UUID, action: Action, subject: ActSubject | None = None, **parameters: Any
) -> Act:
    """Return an act of who makes the request in hand; outside of any the service's."""
    return Act(owner_id, action, current_actor() or SERVICE, subject, parameters)


def write_acts(session: Session, acts: Collection[Act]) -> None:
    """Write entries of acts of accounts that are there, each once however often it is tried."""
    owners = {act.owner_id for act in acts}
    there = set(
        session.scalars(
            select(Owner.id).where(Owner.id.in_(owners)).with_for_update(read=True, key_share=True)
        )
    )
    rows = [_row(act) for act in acts if act.owner_id in there]
    if rows:
        session.execute(insert(AuditEntry).on_conflict_do_nothing(), rows)


def write_late(session: Session, acts: Collection[Act]) -> None:
    """Write entries of acts of some seconds ago, without plates that were erased since.

    Where it may be forgotten already what was erased, they are written without any plate.
    """
    oldest = datetime.now(UTC) - REMEMBERED + _MARGIN
    erased = select(ErasureJob).where(
        ErasureJob.owner_id.in_({act.owner_id for act in acts}),
        ErasureJob.plate.is_not(None),
        ErasureJob.state != "waiting",
    )
    jobs = session.scalars(erased).all()
    acts = [without_plates(act) if act.at < oldest else act for act in acts]
    write_acts(session, [_without_erased(act, jobs) for act in acts])


def _without_erased(act: Act, jobs: Collection[ErasureJob]) -> Act:
    for job in jobs:
        # Who searches for it some seconds afterwards is told of.
        is_before = job.finished_at is None or act.at <= job.finished_at + _CLOCKS
        if job.owner_id == act.owner_id and job.plate is not None and is_before:
            act = _without_plate(act, job.plate)
    return act


def _without_plate(act: Act, plate: str) -> Act:
    subject = act.subject
    if subject is not None:
        subject = replace(subject, name=without_plate(subject.name, plate))
    parameters = without_plate(dict(act.parameters), plate)
    is_erased = (subject, parameters) != (act.subject, act.parameters)
    return replace(
        act, subject=subject, parameters=parameters, is_erased=act.is_erased or is_erased
    )


def without_plates(act: Act) -> Act:
    """Return an act without the plate that it names, whatever that is."""
    if _PLATE not in act.parameters:
        return act
    return replace(act, parameters={**act.parameters, _PLATE: ERASED}, is_erased=True)


def drop_entries(session: Session, before: datetime) -> int:
    """Delete some thousands of the entries from before a moment; return how many."""
    old = select(AuditEntry.id).where(AuditEntry.at < before).order_by(AuditEntry.at).limit(_BATCH)
    with _way(session, "retention"):
        gone = delete(AuditEntry).where(AuditEntry.id.in_(old)).returning(AuditEntry.id)
        return len(session.scalars(gone).all())


def forget_account(session: Session, owner_id: UUID) -> None:
    """Delete all entries of an account that is removed."""
    with _way(session, "account"):
        session.execute(delete(AuditEntry).where(AuditEntry.owner_id == owner_id))


def erase_from_entries(
    session: Session, owner_id: UUID, plate: str, *, of: Collection[UUID] | None = None
) -> int:
    """Replace a plate (normalised) in an owner's entries by a marker; return in how many.

    ``of`` are the entries that are looked at; None: all.

    Of names and other texts that hold it, in whatever spelling, nothing is left either, unless it
    is too short to be told from a part of a word.
    """
    told = cast(AuditEntry.changes, Text) + cast(AuditEntry.parameters, Text)
    told += func.coalesce(AuditEntry.subject_name, "")
    # PostgreSQL finds all entries that may hold the plate, and others, which are checked below.
    upper = func.upper(func.normalize(told, literal_column("NFKD")))
    folded = func.regexp_replace(upper, _DROPPED, "", "g")
    suspected = select(AuditEntry).where(
        AuditEntry.owner_id == owner_id,
        or_(func.strpos(folded, plate) > 0, folded.regexp_match(_BEYOND_ASCII)),
    )
    if of is None:
        session.execute(text("SET LOCAL statement_timeout = '10min'"))
    else:
        suspected = suspected.where(AuditEntry.id.in_(of))
    count = 0
    with _way(session, "erasure"):
        for entry in session.scalars(suspected.execution_options(yield_per=_SLICE)):
            kept = entry.changes, entry.parameters, entry.subject_name
            left = tuple(without_plate(told, plate) for told in kept)
            if left != kept:
                entry.changes, entry.parameters, entry.subject_name = left
                entry.erased = True
                count += 1
        session.flush()
    return count


@dataclass(frozen=True)
class EntryPlace:
    """An entry's place in the log of its account."""

    at: datetime
    id: UUID


def erase_from_some(
    session: Session, owner_id: UUID, plate: str, after: EntryPlace | None
) -> tuple[int, EntryPlace | None]:
    """Replace a plate in some of an owner's entries from behind ``after``, the oldest first.

    It returns in how many, and the place of the last that was looked at; None: these were the last.
    """
    place = tuple_(AuditEntry.at, AuditEntry.id)
    wanted = select(AuditEntry.at, AuditEntry.id).where(AuditEntry.owner_id == owner_id)
    if after is not None:
        wanted = wanted.where(place > tuple_(after.at, after.id))
    found = session.execute(wanted.order_by(AuditEntry.at, AuditEntry.id).limit(_SLICE)).all()
    if not found:
        return 0, None
    count = erase_from_entries(session, owner_id, plate, of=[each.id for each in found])
    return count, EntryPlace(*found[-1]) if len(found) == _SLICE else None


def without_plate(told: Any, plate: str) -> Any:
    """Return what an entry tells with :data:`ERASED` for each text that holds a plate."""
    if isinstance(told, dict):
        return {name: without_plate(one, plate) for name, one in told.items()}
    if isinstance(told, list):
        return [without_plate(one, plate) for one in told]
    if not isinstance(told, str) or _NO_PLATE.fullmatch(told):
        return told
    read = normalise_plate(told)
    is_told = plate in read if len(plate) >= _SURE_CHARACTERS else plate == read
    return ERASED if is_told else told


@contextmanager
def _way(session: Session, name: str) -> Iterator[None]:
    """Let the trigger pass what goes this way, within the block."""
    session.execute(select(func.set_config(_WAY, name, True)))
    yield
    session.execute(select(func.set_config(_WAY, "", True)))


def _row(act: Act) -> dict[str, Any]:
    actor, subject = act.actor, act.subject
    return {
        "id": act.id,
        "owner_id": act.owner_id,
        "at": act.at,
        "action": act.action.value,
        "actor_kind": actor.kind.value,
        "actor_id": actor.id,
        "actor_name": actor.name,
        "actor_prefix": actor.prefix,
        "subject_kind": None if subject is None else subject.kind,
        "subject_id": None if subject is None else subject.id,
        "subject_name": None if subject is None else subject.name,
        "parameters": dict(act.parameters),
        "address": actor.address,
        "request_id": actor.request_id,
        "erased": act.is_erased,
    }
