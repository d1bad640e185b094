"""The time from a recognition on its topic to its alert on its own.

Command: ``python -m tools.benchmarks.alert_latency [--rate 200] [--seconds 10]``. Starts Kafka and
one worker of the alerts stage in a temporary folder; every recognition fires one alert without a
cooldown and one with, whose table is written first. Prints the latencies one at a time and at a
rate.
"""

import argparse
import statistics
import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

from common.kafka.clients import create_topics
from common.records.alerts import AlertConfig, CooldownScope
from common.records.recognitions import Recognition
from deploy.local.servers.kafka import KafkaServer
from tests.integration.streams.alerts.world import World, seen_at
from tests.integration.streams.stages import environment_of, running, stage
from tests.records import alert
from tests.services.kafka import fresh_kafka_settings, kafka_process

_ALONE = 100
_RULES: tuple[AlertConfig, ...] = (
    alert(1, cooldown_minutes=0),
    # Every plate is another one: none is held back, each is remembered.
    alert(2, cooldown_scope=CooldownScope.PLATE),
)


class Watch(threading.Thread):
    """Notes when each alert comes."""

    def __init__(self, world: World) -> None:
        super().__init__(daemon=True)
        self._world = world
        self.came: dict[tuple[UUID, UUID], float] = {}
        self.sent: dict[UUID, float] = {}

    def run(self) -> None:
        """Read for ever."""
        known = 0
        while True:
            triggers = self._world.triggers_from(known)
            now = time.monotonic()
            known += len(triggers)
            for each in triggers:
                self.came.setdefault((each.alert.alert_id, each.recognition.id), now)

    def wait_for(self, seen: list[Recognition]) -> None:
        """Return once both alerts of each recognition came."""
        wanted = {(rule.alert_id, each.id) for rule in _RULES for each in seen}
        while not wanted <= self.came.keys():
            time.sleep(0.002)

    def latencies_ms(self, rule: AlertConfig) -> list[float]:
        """Return the latencies of one rule, sorted."""
        return sorted(
            (came - self.sent[recognition_id]) * 1000
            for (alert_id, recognition_id), came in list(self.came.items())
            if alert_id == rule.alert_id and recognition_id in self.sent
        )


def _see(world: World, watch: Watch, number: int) -> Recognition:
    seen = seen_at(time.time_ns() // 1_000_000, f"AB{number}", number)
    watch.sent[seen.id] = time.monotonic()
    world.see(seen)
    return seen


def _report(name: str, watch: Watch) -> None:
    for rule, kind in zip(_RULES, ("no cooldown", "cooldown"), strict=True):
        times = watch.latencies_ms(rule)
        cuts = statistics.quantiles(times, n=100)
        print(
            f"{name}, {kind}: {len(times)} alerts, p50 {cuts[49]:.0f} ms, p95 {cuts[94]:.0f} ms,"
            f" p99 {cuts[98]:.0f} ms, max {times[-1]:.0f} ms"
        )
    watch.sent.clear()


def _measure(world: World, rate: int, seconds: int) -> None:
    world.put(*_RULES)
    watch = Watch(world)
    watch.start()
    time.sleep(1)
    watch.wait_for([_see(world, watch, 0)])
    watch.sent.clear()
    for number in range(1, _ALONE + 1):
        watch.wait_for([_see(world, watch, number)])
    _report("one at a time", watch)
    began, sent = time.monotonic(), list[Recognition]()
    for number in range(rate * seconds):
        time.sleep(max(0.0, began + number / rate - time.monotonic()))
        sent.append(_see(world, watch, 1000 + number))
    took = time.monotonic() - began
    watch.wait_for(sent)
    _report(f"{rate * seconds / took:.0f} a second", watch)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.benchmarks.alert_latency")
    parser.add_argument("--rate", type=int, default=200)
    parser.add_argument("--seconds", type=int, default=10)
    arguments = parser.parse_args()
    with TemporaryDirectory() as name, kafka_process(Path(name)) as kafka:
        assert isinstance(kafka.server, KafkaServer)
        settings = fresh_kafka_settings(kafka.server.bootstrap_servers)
        create_topics(settings)
        environment = environment_of(settings, Path(name) / "alerts")
        worker = stage("streams.alerts", "alerts", Path(name) / "alerts.log", environment)
        with running(worker):
            world = World(settings)
            _measure(world, arguments.rate, arguments.seconds)


if __name__ == "__main__":
    main()
