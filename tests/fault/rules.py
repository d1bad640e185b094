"""The alerts that are created under load, and a slow, simple model of when each must trigger."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from common.records.alerts import CooldownScope, PlateMatchMode
from common.records.recognitions import Recognition
from tests.fault.early_passes import EXPECTED
from tests.fault.plates import REGULARS

GUARD = "guard@example.com"
GATE = "/gate"


@dataclass(frozen=True)
class Rule:
    """An alert: ``plates`` as in its list, ``cooldown_ms`` and its scope, and its recipients."""

    name: str
    mode: PlateMatchMode
    plates: tuple[str, ...] = ()
    cooldown_ms: int = 0
    scope: CooldownScope = CooldownScope.ALERT
    notifies_gate: bool = False
    notifies_guard: bool = False

    def body(self, gate_url: str) -> Mapping[str, Any]:
        """Return the alert as the body of a client's request."""
        notifications: list[dict[str, Any]] = []
        if self.notifies_gate:
            notifications.append({"type": "webhook", "url": gate_url})
        if self.notifies_guard:
            notifications.append({"type": "email", "addresses": [GUARD]})
        return {
            "name": self.name,
            "plateMatchMode": self.mode,
            "plates": list(self.plates),
            "minConfidence": 0,
            "cooldownMinutes": self.cooldown_ms / 60_000,
            "cooldownScope": self.scope,
            "early": self.mode is PlateMatchMode.SPECIFIC,
            "notifications": notifications,
        }

    def is_matched_by(self, seen: Recognition) -> bool:
        """Return whether the alert matches the plate."""
        is_listed = any(fnmatchcase(seen.plate, pattern) for pattern in self.plates)
        return {
            PlateMatchMode.ANY: True,
            PlateMatchMode.SPECIFIC: is_listed,
            PlateMatchMode.ALLOWLIST: not is_listed,
        }[self.mode]

    def place_of(self, seen: Recognition) -> tuple[str, ...]:
        """Return the key of the recognitions that a trigger for ``seen`` suppresses."""
        return {
            CooldownScope.ALERT: (),
            CooldownScope.PLATE: (seen.plate,),
            CooldownScope.PLATE_CAMERA: (seen.plate, str(seen.camera_id)),
        }[self.scope]

    def suppresses(self, one: Recognition, other: Recognition) -> bool:
        """Return whether a trigger for either recognition suppresses one for the other."""
        apart_ms = abs(one.captured_ms - other.captured_ms)
        return self.place_of(one) == self.place_of(other) and apart_ms < self.cooldown_ms

    def may_miss(self, seen: Recognition, triggered_for: Iterable[Recognition]) -> bool:
        """Return whether a trigger in ``triggered_for`` explains a missing trigger for ``seen``."""
        return any(self.suppresses(seen, one) for one in triggered_for)


RULES = (
    Rule("any", PlateMatchMode.ANY),
    Rule("regulars", PlateMatchMode.SPECIFIC, REGULARS[:4], notifies_gate=True),
    Rule(
        "regulars, one in a while",
        PlateMatchMode.SPECIFIC,
        ("RG*",),
        cooldown_ms=3_000,
        scope=CooldownScope.PLATE,
        notifies_gate=True,
    ),
    Rule(
        "regulars at a camera",
        PlateMatchMode.SPECIFIC,
        ("RG0000?",),
        cooldown_ms=6_000,
        scope=CooldownScope.PLATE_CAMERA,
    ),
    Rule("strangers", PlateMatchMode.ALLOWLIST, ("FA*",), cooldown_ms=6_000),
    Rule("guard", PlateMatchMode.ANY, cooldown_ms=6_000, notifies_guard=True),
    Rule("expected", PlateMatchMode.SPECIFIC, EXPECTED, notifies_gate=True),
    Rule(
        "expected, one in a while",
        PlateMatchMode.SPECIFIC,
        ("EA*",),
        cooldown_ms=3_000,
        scope=CooldownScope.PLATE,
    ),
    Rule("whatever passes", PlateMatchMode.SPECIFIC, ("*",), cooldown_ms=1_000),
)
"""The modes, wildcards, scopes and cooldowns that the fault tests cover.

Alerts for specific plates trigger early. The last alert also matches the vehicles in the scene.
"""
