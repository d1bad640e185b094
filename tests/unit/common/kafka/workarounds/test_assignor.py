"""Assignment of partitions: each worker keeps its partitions, whatever other workers claim."""

from types import SimpleNamespace
from typing import Any

import pytest
from kafka.protocol.consumer.metadata import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)

from common.kafka.workarounds.assignor import LatestClaimAssignor

TOPIC = "config-cameras"


def _member(name: str, has: list[int], generation: int, version: int = 2) -> Any:
    """Return a member's metadata for the group's leader, encoded and decoded again."""
    claim = ConsumerProtocolSubscription.TopicPartition(topic=TOPIC, partitions=has)
    subscription = ConsumerProtocolSubscription(
        version=version,
        topics=[TOPIC],
        user_data=b"",
        owned_partitions=[claim] if has else [],
        generation_id=generation,
    )
    metadata = ConsumerProtocolSubscription.decode(subscription.encode())
    return SimpleNamespace(member_id=name, metadata=metadata)


def _assigned(members: list[Any], partitions: int) -> dict[str, list[int]]:
    cluster = SimpleNamespace(
        topics=lambda: {TOPIC}, partitions_for_topic=lambda _: set(range(partitions))
    )
    found = LatestClaimAssignor().assign(cluster, members)
    return {name: sorted(p.partition for p in a.partitions()) for name, a in found.items()}


@pytest.mark.parametrize("first_listed", ["stays", "returns"])
@pytest.mark.parametrize(("stays", "returns"), [("a", "b"), ("b", "a")])
def test_a_worker_that_returns_takes_no_camera_from_one_that_goes_on(
    first_listed: str, stays: str, returns: str
) -> None:
    there = _member(stays, [0, 1, 2, 3], generation=4)
    returning = _member(returns, [0, 1], generation=3)
    members = [there, returning] if first_listed == "stays" else [returning, there]

    assigned = _assigned(members, partitions=4)

    # The worker keeps half of the partitions; the other half is assigned in the next round.
    assert len(assigned[stays]) == 2
    assert assigned[returns] == []


def test_of_two_claims_of_one_age_one_is_believed() -> None:
    members = [
        _member("a", [0, 1], generation=-1, version=1),
        _member("b", [0, 1, 2, 3], generation=-1, version=1),
    ]

    assert _assigned(members, partitions=4) == {"a": [], "b": [0, 1]}


def test_unassigned_partitions_are_assigned_immediately() -> None:
    members = [_member("a", [0, 1], generation=7), _member("b", [], generation=7)]

    assert _assigned(members, partitions=4) == {"a": [0, 1], "b": [2, 3]}


def test_a_claim_carries_the_generation_in_which_it_was_given() -> None:
    assignor = LatestClaimAssignor()
    assignor.on_assignment(ConsumerProtocolAssignment(0, [(TOPIC, [2, 3])], b""), 6)

    claimed = ConsumerProtocolSubscription.decode(assignor.metadata({TOPIC}).encode())

    assert claimed.generation_id == 6
    assert [(claim.topic, claim.partitions) for claim in claimed.owned_partitions] == [
        (TOPIC, [2, 3])
    ]


def test_who_lost_its_membership_claims_nothing() -> None:
    assignor = LatestClaimAssignor()
    assignor.on_assignment(ConsumerProtocolAssignment(0, [(TOPIC, [2, 3])], b""), 6)
    assignor.forget()

    claimed = ConsumerProtocolSubscription.decode(assignor.metadata({TOPIC}).encode())

    assert claimed.owned_partitions == []
