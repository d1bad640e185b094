"""Fixes the handling of outdated partition claims in a rebalance of kafka-python 3.0.12."""

from typing import Any, Final

from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor

_VERSION_WITH_GENERATION: Final = 2


class LatestClaimAssignor(CooperativeStickyAssignor):  # type: ignore[misc] # kafka-python is untyped
    """Lets each worker keep its partitions. The latest of several claims on a partition wins.

    A worker that was frozen returns with outdated claims on partitions that other workers own now.
    In kafka-python 3.0.12, a claim has no age, and two claims on a partition are resolved
    inconsistently, so that no worker gets the partition in this round, not even the current owner:
    every camera of the group stopped for one heartbeat interval.

    **Source:** KIP-792 (a claim carries its generation).
    """

    version = _VERSION_WITH_GENERATION

    def forget(self) -> None:
        """Drop all claims, because the member has lost its membership and its partitions.

        kafka-python 3.0.12 continues to claim lost partitions. If no other member had taken
        these partitions, the group waited for this member to revoke them, and left them unassigned
        until another member joined or left.
        """
        self.member_assignment = None

    def metadata(self, topics: set[str]) -> Any:
        """Return this member's metadata: its topics, its partitions and their generation."""
        subscription = super().metadata(topics)
        subscription.generation_id = self.generation
        return subscription

    def assign(self, cluster: Any, members: list[Any]) -> Any:
        """Return each member's partitions. The group's elected leader calls this."""
        latest = _latest_claims(members)
        for member in members:
            for claim in _claims(member):
                claim.partitions = [
                    number
                    for number in claim.partitions
                    if latest[claim.topic, number] == member.member_id
                ]
        return super().assign(cluster, members)


def _latest_claims(members: list[Any]) -> dict[tuple[str, int], str]:
    by_age = sorted(members, key=lambda member: member.metadata.generation_id)
    return {
        (claim.topic, number): member.member_id
        for member in by_age
        for claim in _claims(member)
        for number in claim.partitions
    }


def _claims(member: Any) -> list[Any]:
    return member.metadata.owned_partitions or []
