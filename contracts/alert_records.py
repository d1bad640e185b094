"""What stages tell each other of alerts: sightings, candidates, firings."""

from enum import StrEnum
from uuid import UUID

from contracts.alerts import AlertConfig
from contracts.early import EarlyFiring, TriggerPhase
from contracts.recognitions import Recognition
from contracts.records import Record


class SightingKind(StrEnum):
    """What is told of a pass beside its recognition."""

    AGREED = "agreed"
    """Enough of its readings agree on a plate; the vehicle is still there."""
    SETTLED = "settled"
    """A pass that was told of as agreed is over and is no recognition of its own."""


class AlertSighting(Record, frozen=True, kw_only=True):
    """On sightings (key = camera id): a pass before it is over, for alerts that fire early.

    ``recognition`` is what it would be were it over now: without images, under the id that it will
    have; its ``sighted`` are the plates told before. For one that is settled there is no
    recognition of that id: ``came_out`` is the one that its vehicle is under another id, as it was
    published before, or None: no plate was accepted.
    """

    kind: SightingKind
    recognition: Recognition
    came_out: Recognition | None = None


class CandidateKind(StrEnum):
    """Why a rule is looked at."""

    FINAL = "final"
    """A recognition sets it off."""
    EARLY = "early"
    """A pass that is not over sets it off."""
    SETTLING = "settling"
    """A pass that had set it off early is over, and is no recognition that sets it off now."""


class AlertCandidate(Record, frozen=True, kw_only=True):
    """On alert-candidates (key = alert id): a rule that a recognition sets off.

    Whether its cooldown holds it back is decided next. ``alert`` is the rule as it was when it was
    evaluated; ``published_ms`` is when the recognition was put on its topic (Unix ms, UTC).
    ``may_be_early``: the rule is one that fires early. Of a pass that is settled ``came_out`` is
    the recognition that its vehicle is under another id, if any, and ``is_set_off`` says whether
    the rule is set off by what passed: it was changed since, or that recognition is another's.
    """

    alert: AlertConfig
    recognition: Recognition
    published_ms: int
    kind: CandidateKind = CandidateKind.FINAL
    may_be_early: bool = False
    came_out: Recognition | None = None
    is_set_off: bool = False

    @property
    def passed(self) -> Recognition:
        """What passed, as far as it is known: a settled pass may be another recognition."""
        return self.recognition if self.came_out is None else self.came_out


class AlertTrigger(Record, frozen=True, kw_only=True):
    """On the alerts topic: a rule fired for a recognition (key = alert id).

    ``id`` is derived from both, so a replay says the same again. ``alert`` is the rule as it was
    when it was evaluated. ``is_late`` where the recognition came so long after its capture that the
    vehicle is surely gone. ``decided_ms`` is Unix ms, UTC.

    Where a rule fires early there are two records with the same ``id``: first one of phase early,
    whose ``recognition`` is provisional (it has no images yet), then one that says
    what became of it; that one's ``early`` is what had been told.
    """

    id: UUID
    owner_id: UUID
    alert: AlertConfig
    recognition: Recognition
    decided_ms: int
    is_late: bool = False
    phase: TriggerPhase = TriggerPhase.FINAL
    early: EarlyFiring | None = None

    @property
    def fired_ms(self) -> int:
        """When the plate was captured that it fired for first (Unix ms, UTC); ``id`` begins so."""
        return self.recognition.captured_ms if self.early is None else self.early.captured_ms
