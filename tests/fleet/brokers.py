"""Three brokers that machines reach over the network, with access rules as documented."""

from dataclasses import dataclass, fields, replace

from kafka.admin import (
    ACL,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourcePattern,
    ResourceType,
)

from common.kafka.clients import open_admin
from deploy.local.plan import StackPlan
from deploy.local.servers.kafka_login import ADMINISTRATOR
from tests.services.kafka_cluster import ClusterBroker, broker_names, with_brokers

BROKERS = broker_names(3)
# The permissions that docs/deployment.md lists.
_TOPIC_RIGHTS = (
    ACLOperation.CREATE,
    ACLOperation.DESCRIBE,
    ACLOperation.READ,
    ACLOperation.WRITE,
    ACLOperation.DESCRIBE_CONFIGS,
    ACLOperation.ALTER_CONFIGS,
)
_GROUP_RIGHTS = (ACLOperation.READ,)


@dataclass(frozen=True, kw_only=True)
class GuardedBroker(ClusterBroker):
    """A broker with access rules. The service can use topics and groups with its prefix."""

    prefix: str

    def initialise(self) -> None:
        """Create the user and, on the first broker, the user's permissions."""
        super().initialise()
        if self.number != 1 or self.login is None:
            return
        admin = open_admin(self.login.administrators_settings(self.bootstrap_servers), "rights")
        try:
            answer = admin.create_acls(self._rights(self.login.user))
        finally:
            admin.close()
        assert not answer["failed"], answer

    def _rights(self, user: str) -> list[ACL]:
        topics = [(ResourceType.TOPIC, right) for right in _TOPIC_RIGHTS]
        groups = [(ResourceType.GROUP, right) for right in _GROUP_RIGHTS]
        return [
            ACL(
                principal=f"User:{user}",
                host="*",
                operation=right,
                permission_type=ACLPermissionType.ALLOW,
                resource_pattern=ResourcePattern(
                    kind, self.prefix, ACLResourcePatternType.PREFIXED
                ),
            )
            for kind, right in (*topics, *groups)
        ]

    def _of_the_cluster(self) -> list[str]:
        return [
            *super()._of_the_cluster(),
            "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            f"super.users=User:{ADMINISTRATOR}",
            "allow.everyone.if.no.acl.found=false",
            "auto.create.topics.enable=false",
        ]

    def _link(self) -> list[str]:
        # The network's address belongs to this machine, so brokers listen on the address directly.
        return [
            line.replace(f"LINK://127.0.0.1:{self.link_port},", f"{self._far},")
            for line in super()._link()
        ]

    @property
    def _far(self) -> str:
        return f"LINK://{self.link_host}:{self.link_port}"


def with_guarded_brokers(plan: StackPlan, address: str, prefix: str) -> StackPlan:
    """Return the plan with three brokers instead of one. The brokers also listen at ``address``."""
    plan = with_brokers(plan, len(BROKERS), None)
    servers = tuple(
        GuardedBroker(
            **{field.name: getattr(each, field.name) for field in fields(each)}
            | {"link_host": address, "prefix": prefix}
        )
        if isinstance(each, ClusterBroker)
        else each
        for each in plan.servers
    )
    return replace(plan, servers=servers)


def servers_at(plan: StackPlan, address: str) -> str:
    """Return the addresses at which machines reach the brokers."""
    brokers = [each for each in plan.servers if isinstance(each, GuardedBroker)]
    return ",".join(f"{address}:{broker.link_port}" for broker in brokers)
