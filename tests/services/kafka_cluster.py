"""Kafka with several brokers for a stack, and access over a cable that can be cut."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from deploy.local.plan import StackPlan
from deploy.local.ports import free_ports
from deploy.local.servers.base import NotReadyError, PortUse
from deploy.local.servers.kafka import KafkaServer, new_cluster_id
from deploy.local.servers.kafka_login import LISTENER, MECHANISM
from tests.services.cable import Cable

_LINK: Final = "LINK"
_SCRAM: Final = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
_PEERS_SECONDS = 300
_POLL_SECONDS = 0.2
_SERVERS: Final = "PLATESTREAM_KAFKA_BOOTSTRAP_SERVERS"


@dataclass(frozen=True, kw_only=True)
class ClusterBroker(KafkaServer):
    """One of several brokers. Each broker is also a controller.

    ``link_port`` has a second listener with the same login, advertised as ``link_host`` (empty: no
    second listener). ``peer_ports`` are the ports of all brokers.
    """

    number: int
    cluster_id: str
    voters: str
    link_port: int
    link_host: str = ""
    peer_ports: tuple[int, ...] = ()

    def ports(self) -> tuple[PortUse, ...]:
        """Return the ports of all listeners."""
        return (*super().ports(), PortUse(self.link_port, "none"))

    def initialise(self) -> None:
        """Create the user. The first broker waits for the others, as topics are created next."""
        for port in self.peer_ports if self.number == 1 else ():
            _wait_for(replace(self, port=port))
        super().initialise()

    def _format_options(self) -> tuple[str, ...]:
        return ("-t", self.cluster_id)

    def _write_properties(self, name: str, data: Path) -> Path:
        path = super()._write_properties(name, data)
        # Java uses the last value of a property that is set twice.
        path.write_text("\n".join((path.read_text(), *self._of_the_cluster(), "")))
        return path

    def _of_the_cluster(self) -> list[str]:
        replicas = min(3, len(self.peer_ports))
        in_sync = max(1, replicas - 1)
        lines = [
            f"node.id={self.number}",
            f"controller.quorum.voters={self.voters}",
            "controller.quorum.bootstrap.servers=",
            f"default.replication.factor={replicas}",
            f"min.insync.replicas={in_sync}",
            f"offsets.topic.replication.factor={replicas}",
            f"transaction.state.log.replication.factor={replicas}",
            f"transaction.state.log.min.isr={in_sync}",
            f"share.coordinator.state.topic.replication.factor={replicas}",
            f"share.coordinator.state.topic.min.isr={in_sync}",
        ]
        return lines + (self._link() if self.link_host else [])

    def _link(self) -> list[str]:
        begin = f"listener.name.{_LINK.lower()}"
        own = f"{LISTENER}://127.0.0.1:{self.port}"
        return [
            f"listeners={own},{_LINK}://127.0.0.1:{self.link_port},"
            f"CONTROLLER://127.0.0.1:{self.controller_port}",
            f"advertised.listeners={own},{_LINK}://{self.link_host}:{self.link_port}",
            f"listener.security.protocol.map={LISTENER}:{LISTENER},{_LINK}:{LISTENER},"
            f"CONTROLLER:{LISTENER}",
            f"{begin}.sasl.enabled.mechanisms={MECHANISM}",
            f"{begin}.{MECHANISM.lower()}.sasl.jaas.config={_SCRAM}",
        ]


def _wait_for(broker: KafkaServer) -> None:
    deadline = time.monotonic() + _PEERS_SECONDS
    while True:
        try:
            broker.check()
            return
        except NotReadyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(_POLL_SECONDS)


def broker_names(count: int) -> tuple[str, ...]:
    return ("kafka", *(f"kafka-{number}" for number in range(2, count + 1)))


def with_brokers(plan: StackPlan, count: int, cable: Cable | None) -> StackPlan:
    """Return the plan with ``count`` brokers instead of one. Up to three brokers store each record.

    The brokers can also be reached over ``cable``, with :func:`over_the_cable`.
    """
    (old,) = (server for server in plan.servers if isinstance(server, KafkaServer))
    controllers = [old.controller_port, *free_ports(count - 1)]
    voters = ",".join(f"{n}@127.0.0.1:{port}" for n, port in enumerate(controllers, start=1))
    ports = (old.port, *free_ports(count - 1))
    cluster_id, links = new_cluster_id(), free_ports(count)
    brokers = tuple(
        ClusterBroker(
            directory=plan.layout.data(name),
            port=ports[n],
            controller_port=controllers[n],
            max_message_bytes=old.max_message_bytes,
            login=old.login,
            name=name,
            number=n + 1,
            cluster_id=cluster_id,
            voters=voters,
            link_port=links[n],
            link_host=cable.address if cable else "",
            peer_ports=ports,
        )
        for n, name in enumerate(broker_names(count))
    )
    environment = {
        **plan.environment,
        _SERVERS: ",".join(broker.bootstrap_servers for broker in brokers),
    }
    others = tuple(server for server in plan.servers if server is not old)
    return replace(plan, servers=(*brokers, *others), environment=environment)


def link_ports(plan: StackPlan) -> tuple[int, ...]:
    """Return the ports of the brokers' second listeners."""
    return tuple(each.link_port for each in plan.servers if isinstance(each, ClusterBroker))


def over_the_cable(command: Sequence[str], plan: StackPlan, cable: Cable) -> tuple[str, ...]:
    """Return a process's command, changed so that the process reaches Kafka over the cable."""
    servers = ",".join(f"{cable.address}:{port}" for port in link_ports(plan))
    return ("/usr/bin/env", f"{_SERVERS}={servers}", *command)
