"""Records of alerts that only stages see, beside :class:`contracts.records.AlertTrigger`."""

from enum import StrEnum

from contracts.records import AlertConfig, Recognition, Record


class SightingKind(StrEnum):
    """What is told of a pass beside its recognition."""

    AGREED = "agreed"
    """Enough of its readings agree on a plate; the vehicle is still there."""
    SETTLED = "settled"
    """A pass that was told of as agreed is over and is no recognition of its own."""


class AlertSighting(Record, frozen=True, kw_only=True):
    """On sightings (key = camera id): a pass before it is over, for alerts that fire early.

    ``recognition`` is what it would be were it over now: without images, under the id that it will
    have; its ``sighted`` are the plates told before. One that is settled ``came_out_as`` the plate
    of another recognition of the same vehicle, or as None: no plate was accepted.
    """

    kind: SightingKind
    recognition: Recognition
    came_out_as: str | None = None


class CandidateKind(StrEnum):
    """Why a rule is looked at."""

    FINAL = "final"
    """A recognition sets it off."""
    EARLY = "early"
    """A pass that is not over sets it off."""
    SETTLING = "settling"
    """A pass that had set it off is over, and does not set it off as it came out."""


class AlertCandidate(Record, frozen=True, kw_only=True):
    """On alert-candidates (key = alert id): a rule that a recognition sets off.

    Whether its cooldown holds it back is decided next. ``alert`` is the rule as it was when it was
    evaluated; ``published_ms`` is when the recognition was put on its topic (Unix ms, UTC).
    ``may_be_early``: the rule is one that fires early. ``came_out_as`` is the plate that a pass has
    which is settled, None where none was accepted.
    """

    alert: AlertConfig
    recognition: Recognition
    published_ms: int
    kind: CandidateKind = CandidateKind.FINAL
    may_be_early: bool = False
    came_out_as: str | None = None
