"""On how many brokers each record of a new topic lies. Pure but for the one question to Kafka."""

from dataclasses import dataclass
from typing import Final

from kafka import KafkaAdminClient

from common.errors import MisconfiguredError
from common.settings import KafkaSettings

MIN_IN_SYNC: Final = "min.insync.replicas"
_USUAL_REPLICAS: Final = 3


@dataclass(frozen=True)
class Replication:
    """A record is on ``replicas`` brokers, and is written once ``in_sync`` of them have it."""

    replicas: int
    in_sync: int

    @property
    def topic_options(self) -> dict[str, str]:
        """The topic's configuration entry as Kafka names it."""
        return {MIN_IN_SYNC: str(self.in_sync)}

    def not_made(self, topic: str) -> str:
        """Return what to say where Kafka did not make a topic for want of brokers."""
        return (
            f"Kafka did not make {topic} with {self.replicas} replicas: that many brokers are not "
            "there. Start them, or set PLATESTREAM_KAFKA_REPLICATION_FACTOR"
        )


def replication(settings: KafkaSettings, brokers: int) -> Replication:
    """Return what the settings say, or one replica per broker, up to three.

    One of three replicas may be unavailable.
    """
    replicas = settings.kafka_replication_factor or min(_USUAL_REPLICAS, max(1, brokers))
    return Replication(replicas, 2 if replicas >= _USUAL_REPLICAS else 1)


def replication_at(admin: KafkaAdminClient, settings: KafkaSettings) -> Replication:
    """Return it for the brokers that Kafka names.

    Raises:
        MisconfiguredError: there are fewer brokers than replicas.
    """
    brokers = count_brokers(admin)
    found = replication(settings, brokers)
    if found.replicas > brokers:
        raise MisconfiguredError(
            f"PLATESTREAM_KAFKA_REPLICATION_FACTOR is {found.replicas}, "
            f"but Kafka names {brokers} of its brokers"
        )
    return found


def count_brokers(admin: KafkaAdminClient) -> int:
    """Return how many brokers Kafka names: who never joined is none of them. From release 4 on
    those count that are away for now, and those that are gone and were not unregistered.

    **Source:** KIP-1073, fenced brokers of DescribeCluster, which kafka-python asks for.
    """
    return len(admin.describe_cluster()["brokers"])
