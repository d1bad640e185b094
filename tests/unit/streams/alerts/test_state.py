"""State that the release before wrote is read as it stands, and carried on as it would have."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from common.records.alerts import AlertCandidate, AlertTrigger, by_reference
from common.records.codec import Record, decode, encode
from streams.alerts.state import ArrivedCandidate
from tests.unit.streams.alerts.world import World

# Written by 22db29d: the table in the middle of three passes, the candidates that followed, and
# what that release made of them.
_FORMER = Path(__file__).with_name("state_of_22db29d.json")


async def test_the_state_of_the_former_release_is_carried_on() -> None:
    former = json.loads(_FORMER.read_text(encoding="utf-8"))
    world = World()
    world.now_ms = former["nowMs"]
    world.table = {key.encode(): value.encode() for key, value in former["before"].items()}
    candidates = [decode(AlertCandidate, each.encode()) for each in former["candidates"]]

    await world.cooldowns.handle(
        [ArrivedCandidate(former["partition"], each) for each in candidates]
    )

    assert _as_known_then(candidates, former["candidates"]) == _decoded(former["candidates"])
    triggers = [_by_reference(each) for each in former["triggers"]]
    assert _as_known_then(world.triggers, triggers) == _decoded(triggers)
    after = {key.decode(): value.decode() for key, value in world.table.items()}
    assert after == former["after"]
    counted = {name: world.outcomes(name) for name in former["outcomes"]}
    assert counted == former["outcomes"]


def _by_reference(trigger: str) -> str:
    """Return a trigger of that release, which holds its alert whole, as it is told now."""
    told = json.loads(trigger)
    whole = decode(AlertTrigger, trigger.encode()).alert
    told["alert"] = _common(json.loads(encode(by_reference(whole))), told["alert"])
    return json.dumps(told)


def _as_known_then(records: Iterable[Record], former: Iterable[str]) -> list[Any]:
    """Return the records with those fields only that the former release had."""
    pairs = zip(_decoded(encode(each) for each in records), _decoded(former), strict=True)
    return [_common(now, then) for now, then in pairs]


def _common(now: Any, then: Any) -> Any:
    if isinstance(now, dict) and isinstance(then, dict):
        return {name: _common(value, then[name]) for name, value in now.items() if name in then}
    return now


def _decoded(records: Iterable[str | bytes]) -> list[Any]:
    return [json.loads(each) for each in records]
