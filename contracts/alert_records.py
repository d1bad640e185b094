"""What only the alerts stage puts on topics, beside :class:`contracts.records.AlertTrigger`."""

from contracts.records import AlertConfig, Recognition, Record


class AlertCandidate(Record, frozen=True, kw_only=True):
    """On alert-candidates (key = alert id): a rule that a recognition sets off.

    Whether its cooldown holds it back is decided next. ``alert`` is the rule as it was when it was
    evaluated; ``published_ms`` is when the recognition was put on its topic (Unix ms, UTC).
    """

    alert: AlertConfig
    recognition: Recognition
    published_ms: int
