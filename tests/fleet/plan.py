"""The plan of a fleet: what runs on which machine, and how a machine reaches the servers."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from common.child_environment import settings_within
from deploy.local.plan import API, StackPlan
from deploy.local.ports import free_ports
from deploy.local.servers.base import CLONE, Program
from tests.fleet.brokers import servers_at, with_guarded_brokers
from tests.fleet.machines import Machine, Network
from tests.fleet.proxy import Proxy
from tests.services.redis import RedisServer
from tests.services.stack import second_name

PREFIX: Final = "plates."
"""Prefix of all topics and groups that the service can access."""
API_PORT: Final = 8000
_HERE: Final = "127.0.0.1"
_SETTING: Final = "PLATESTREAM_"
# Settings with addresses on 127.0.0.1, which machines reach over the network on the same port.
_ADDRESSES: Final = ("S3_ENDPOINT", "DATABASE_URL", "CLICKHOUSE_URL", "RATE_LIMIT_STORE_URL")


def fleet_plan(plan: StackPlan, network: Network, passed_on: tuple[int, ...]) -> StackPlan:
    """Return the plan of a fleet: three brokers, a proxy, a rate limit store for both APIs, and
    every process on each machine.

    ``passed_on`` are additional ports of this machine that the machines can reach.
    """
    plan = with_guarded_brokers(plan, network.address, PREFIX)
    (store_port,) = free_ports(1)
    store = RedisServer(directory=plan.layout.data("redis"), port=store_port)
    ports = [use.port for server in plan.servers for use in server.ports() if _is_passed_on(server)]
    apis = {
        name: f"{machine.address}:{API_PORT}"
        for name, machine in zip((API, second_name(API)), network.machines, strict=True)
    }
    proxy = Proxy(
        directory=plan.layout.data("proxy"),
        port=plan.api_port,
        address=network.address,
        apis=apis,
        passed_on=(*ports, store_port, *passed_on),
    )
    environment = {
        **plan.environment,
        f"{_SETTING}RATE_LIMIT_STORE_URL": store.url,
        f"{_SETTING}TRUSTED_PROXIES": network.address,
    }
    plan = replace(plan, servers=(*plan.servers, store, proxy), environment=environment)
    application = [
        _on(machine, program, plan, network, is_second=number > 0)
        for number, machine in enumerate(network.machines)
        for program in plan.application
    ]
    return replace(plan, application=tuple(application))


def _is_passed_on(server: object) -> bool:
    return getattr(server, "name", "") in ("s3", "postgres", "clickhouse")


def _on(
    machine: Machine,
    program: Program,
    plan: StackPlan,
    network: Network,
    *,
    is_second: bool,
) -> Program:
    name = second_name(program.name) if is_second else program.name
    given = settings_within(_settings(machine, plan, network), *program.settings)
    words = tuple(f"{variable}={value}" for variable, value in given.items())
    command = ("/usr/bin/env", "-C", str(CLONE), *words, *program.command)
    return replace(program, name=name, command=machine.command(*command))


def _settings(machine: Machine, plan: StackPlan, network: Network) -> Mapping[str, str]:
    """Return the settings that a process needs only on a machine of the fleet."""
    own = {
        "KAFKA_BOOTSTRAP_SERVERS": servers_at(plan, network.address),
        "SMTP_HOST": network.address,
        "STREAM_DATA_DIRECTORY": str(machine.folder / "streams"),
        "API_HOST": machine.address,
        "API_PORT": str(API_PORT),
        "METRICS_HOST": machine.address,
    }
    reached = {
        _SETTING + name: plan.environment[_SETTING + name].replace(_HERE, network.address)
        for name in _ADDRESSES
    }
    return {**{_SETTING + name: value for name, value in own.items()}, **reached}
