"""Indexes all rules, so that a search hardly takes longer with more rules."""

from collections import defaultdict
from collections.abc import Iterator
from uuid import UUID

from common.alerting.rule import Rule, Sighting
from common.plates.index import PlateIndex
from common.records.alerts import PlateMatchMode

_Rules = dict[UUID, Rule]


class _OwnersRules:
    """The enabled rules of one account, indexed by the condition that is checked first."""

    def __init__(self) -> None:
        self.count = 0
        self._lists: PlateIndex[UUID] = PlateIndex()
        self._specific: _Rules = {}
        # Rules by camera that match all plates, or all plates that are not in the rule's list.
        self._everywhere: _Rules = {}
        self._at_camera: defaultdict[UUID, _Rules] = defaultdict(dict)

    def add(self, rule: Rule) -> None:
        """Add a rule to the index."""
        self.count += 1
        identifier = rule.alert.alert_id
        self._lists.add(identifier, rule.matchers)
        for rules in self._rule_maps(rule):
            rules[identifier] = rule

    def remove(self, rule: Rule) -> None:
        """Remove a rule from the index."""
        self.count -= 1
        identifier = rule.alert.alert_id
        self._lists.remove(identifier, rule.matchers)
        for rules in self._rule_maps(rule):
            rules.pop(identifier, None)
        for camera_id in rule.cameras or ():
            if camera_id in self._at_camera and not self._at_camera[camera_id]:
                del self._at_camera[camera_id]

    def matching(self, sighting: Sighting) -> Iterator[Rule]:
        """Return the rules that match a recognition."""
        listed = self._lists.find(sighting.plate)
        for identifier in listed:
            rule = self._specific.get(identifier)
            if rule is not None and (rule.cameras is None or sighting.camera_id in rule.cameras):
                yield from _open((rule,), sighting)
        for rules in (self._everywhere, self._at_camera.get(sighting.camera_id, {})):
            yield from _open((rule for key, rule in rules.items() if key not in listed), sighting)

    def _rule_maps(self, rule: Rule) -> list[_Rules]:
        if rule.alert.plate_match_mode is PlateMatchMode.SPECIFIC:
            return [self._specific]
        if rule.cameras is None:
            return [self._everywhere]
        return [self._at_camera[camera_id] for camera_id in rule.cameras]


class RuleIndex:
    """The rules of all accounts. Not thread-safe."""

    def __init__(self) -> None:
        self._rules: _Rules = {}
        self._owners: dict[UUID, _OwnersRules] = {}

    def __len__(self) -> int:
        """Return the number of enabled and disabled rules."""
        return len(self._rules)

    def get(self, alert_id: UUID) -> Rule | None:
        """Return an alert's rule, or None if the alert is unknown."""
        return self._rules.get(alert_id)

    def put(self, rule: Rule) -> None:
        """Add a rule, or replace the rule of the same alert."""
        self.remove(rule.alert.alert_id)
        self._rules[rule.alert.alert_id] = rule
        if rule.alert.enabled:
            self._owners.setdefault(rule.alert.owner_id, _OwnersRules()).add(rule)

    def remove(self, alert_id: UUID) -> None:
        """Remove an alert's rule, if it exists."""
        rule = self._rules.pop(alert_id, None)
        if rule is None or not rule.alert.enabled:
            return
        owners = self._owners[rule.alert.owner_id]
        owners.remove(rule)
        if not owners.count:
            del self._owners[rule.alert.owner_id]

    def matching(self, sighting: Sighting) -> list[Rule]:
        """Return the rules that match a recognition, sorted by alert ID."""
        owners = self._owners.get(sighting.owner_id)
        if owners is None:
            return []
        return sorted(owners.matching(sighting), key=lambda rule: rule.alert.alert_id.int)


def _open(rules: Iterator[Rule] | tuple[Rule, ...], sighting: Sighting) -> Iterator[Rule]:
    return (rule for rule in rules if rule.is_open_to(sighting))
