"""Corrects how kafka-python 3.0.12 judges old claims on partitions when a group shares them out.

A file of its own, as each workaround goes when its fault is mended in the library.
"""

from typing import Any, Final

from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor

_VERSION_WITH_GENERATION: Final = 2


class LatestClaimAssignor(CooperativeStickyAssignor):  # type: ignore[misc] # kafka-python is untyped
    """Lets each worker keep what it has, and believes the latest who claims a partition.

    A worker that was frozen comes back with claims from before, on what others have taken. In
    kafka-python 3.0.12 a claim does not say how old it is, and two on one partition are judged in
    two ways, so that nobody gets it in this round, not even the worker that has it: every camera
    of the group stood still for a heartbeat's interval.

    **Source:** KIP-792 (a claim carries its generation).
    """

    version = _VERSION_WITH_GENERATION

    def forget(self) -> None:
        """Claim nothing any more: the membership was lost, and the partitions with it.

        kafka-python 3.0.12 goes on claiming them. Where nobody had taken them meanwhile, the group
        waited for this member to give some up, which it no longer had to give: nobody got those,
        until somebody else came or went.
        """
        self.member_assignment = None

    def metadata(self, topics: set[str]) -> Any:
        """Return what this member tells the group: its topics, what it has, since when."""
        subscription = super().metadata(topics)
        subscription.generation_id = self.generation
        return subscription

    def assign(self, cluster: Any, members: list[Any]) -> Any:
        """Return each member's partitions; called at the member that the group elected."""
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
