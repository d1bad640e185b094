"""The rate of webhook deliveries, by one worker to receivers on this machine.

Command: ``python -m tools.benchmarks.deliveries [--deliveries 5000] [--rate 200] [--seconds 15]
[--pending 100000] [--only throughput,hanging,restart,latency,neighbour]``. Starts Kafka and one
worker of the stage in a temporary folder, receivers in processes of their own, and prints a table
for docs/benchmarks.md:

- deliveries a second when all wait on the topic (to 1 and to 100 endpoints), and the CPU that the
  worker takes for each: what it would make of a core of its own;
- how much longer 99 endpoints take for theirs while the hundredth never answers, round by round;
- how long a worker takes to start with ``--pending`` deliveries that wait, and its memory;
- from an event on the topic to its receipt, quiet and at ``--rate`` events a second;
- the same beside an owner with the most alerts and addresses that are permitted, in turns.
"""

import argparse
import os
import signal
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

import msgspec
from kafka import KafkaAdminClient, KafkaProducer

from common.kafka.clients import client_options, create_topics, group_name, producer_options
from common.records.alerts import AlertConfig, AlertTrigger, WebhookNotification, by_reference
from common.records.codec import encode
from common.records.deliveries import recognition_delivery
from common.records.ids import trigger_id
from common.records.recognitions import Recognition
from common.records.topics import ALERTS, CONFIG_ALERTS
from common.records.webhooks import EventName
from common.settings import KafkaSettings
from deploy.local.processes import memory_mib
from deploy.local.servers.kafka import KafkaServer
from streams.webhooks.app import STAGE
from streams.webhooks.delivery.pending import PendingDelivery, pending_key
from tests.integration.streams.webhooks.pipeline import Pipeline
from tests.records import alert, recognition
from tests.services.kafka import fresh_kafka_settings, kafka_process
from tests.services.process import ChildProcess
from tests.waiting import wait_until
from tools.benchmarks.counting_receiver import CountingReceiver

_CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
_ROUNDS = 5
_GREEDY = UUID(int=0x6EED)
# Longer than a worker is stopped while its topic is filled.
_SESSION_SECONDS = "240"
# The rates are those of the worker, not of what an owner may have.
_UNLIMITED = {"deliveries_per_minute_per_owner": "10000000"}


@contextmanager
def _way(folder: Path, servers: str) -> Iterator[Pipeline]:
    settings = fresh_kafka_settings(servers)
    create_topics(settings)
    way = Pipeline(settings, folder / settings.kafka_topic_prefix)
    (folder / settings.kafka_topic_prefix).mkdir()
    try:
        yield way
    finally:
        way.close()


def _cpu_seconds(process: ChildProcess) -> float:
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _CLOCK_TICKS


def _made(numbers: Sequence[int]) -> list[Recognition]:
    start_ms = time.time_ns() // 1_000_000
    return [recognition(number, captured_ms=start_ms + number) for number in numbers]


def _warm_up(way: Pipeline, receiver: CountingReceiver, endpoints: int) -> None:
    way.recognized(*_made([1]))
    wait_until("the first delivery", lambda: receiver.count() >= endpoints)
    receiver.seen()


@contextmanager
def _stopped(worker: ChildProcess) -> Iterator[None]:
    """Stop the worker meanwhile: all that is published waits for it."""
    os.kill(worker.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(worker.pid, signal.SIGCONT)


def throughput(folder: Path, servers: str, endpoints: int, deliveries: int) -> str:
    """Return a row: everything waits, then one worker delivers it."""
    receiver = CountingReceiver()
    with _way(folder, servers) as way:
        for number in range(endpoints):
            # All are counted: none of them is the one that can be made to hang.
            way.webhook(receiver.url(f"/to-{number}"))
        worker = way.start(
            log_level="warning", **_UNLIMITED, kafka_session_timeout_seconds=_SESSION_SECONDS
        )
        _warm_up(way, receiver, endpoints)
        with _stopped(worker):
            way.recognized(*_made(range(deliveries // endpoints)))
        before, started = _cpu_seconds(worker), time.monotonic()
        wait_until("all", lambda: receiver.count() >= deliveries // endpoints * endpoints, 900)
        seconds, cpu = time.monotonic() - started, _cpu_seconds(worker) - before
    receiver.close()
    return (
        f"| deliveries/s to {endpoints} endpoints | {deliveries / seconds:,.0f}"
        f" | {1e6 * cpu / deliveries:,.0f} µs of CPU each: {deliveries / cpu:,.0f} for each second"
        f" of CPU, of which it got {100 * cpu / seconds:.0f} % |"
    )


def hanging(folder: Path, servers: str, deliveries: int) -> str:
    """Return a row: 99 endpoints with and without one more that never answers, in turns."""
    receiver = CountingReceiver()
    ratios, wholes = [], {False: 0.0, True: 0.0}
    with _way(folder, servers) as way:
        for number in range(100):
            way.webhook(receiver.url(f"/{number}"))
        worker = way.start(
            log_level="warning", **_UNLIMITED, kafka_session_timeout_seconds=_SESSION_SECONDS
        )
        _warm_up(way, receiver, 99)
        each = deliveries // 100
        for number in range(_ROUNDS):
            seconds = {}
            # The first of a round in turns, so that a machine that slows down favours neither.
            for is_on in (False, True) if number % 2 else (True, False):
                receiver.hang(is_on=is_on)
                seconds[is_on] = _healthy_seconds(way, worker, receiver, each)
                receiver.hang(is_on=False)
                wholes[is_on] += seconds[is_on]
            ratios.append(seconds[True] / seconds[False])
    receiver.close()
    beside = " and ".join(f"{1e3 * wholes[on] / (99 * each * _ROUNDS):.2f}" for on in (False, True))
    return (
        f"| slowdown of 99 endpoints while one hangs"
        f" | {100 * (statistics.median(ratios) - 1):.1f} %"
        f" | median of {_ROUNDS} rounds, {100 * (min(ratios) - 1):.0f} to"
        f" {100 * (max(ratios) - 1):.0f} %; {beside} ms a delivery |"
    )


def _healthy_seconds(
    way: Pipeline, worker: ChildProcess, receiver: CountingReceiver, each: int
) -> float:
    receiver.seen()
    with _stopped(worker):
        way.recognized(*_made(range(each)))
    started = time.monotonic()
    wait_until("all of the healthy", lambda: receiver.count() >= 99 * each, 900)
    return time.monotonic() - started


def latency(folder: Path, servers: str, rate: float, duration_seconds: float) -> str:
    """Return a row: from the event on its topic to its receipt."""
    receiver = CountingReceiver()
    with _way(folder, servers) as way:
        way.webhook(receiver.url("/to-0"))
        way.start(log_level="warning", **_UNLIMITED)
        _warm_up(way, receiver, 1)
        sent: dict[UUID, float] = {}
        started = time.monotonic()
        for number in range(int(rate * duration_seconds)):
            time.sleep(max(0.0, started + number / rate - time.monotonic()))
            (made,) = _made([number])
            sent[made.id] = time.time()
            way.recognized(made)
        behind = time.monotonic() - started - duration_seconds
        wait_until("all", lambda: receiver.count() >= len(sent), 60)
        seen = receiver.seen()
    receiver.close()
    ages = sorted(1e3 * (seen[str(key)] - at) for key, at in sent.items())
    cuts = statistics.quantiles(ages, n=100)
    return (
        f"| event → received at {rate:g}/s, p50 / p95 / p99"
        f" | {cuts[49]:.0f} / {cuts[94]:.0f} / {cuts[98]:.0f} ms"
        f" | {len(ages)} events, feeder {max(0.0, behind):.1f} s behind |"
    )


def restart(folder: Path, servers: str, pending: int) -> str:
    """Return a row: a worker that starts with deliveries that all wait for their next try."""
    with _way(folder, servers) as way:
        webhook = way.webhook("http://127.0.0.1:9/")
        first = way.start(log_level="info")
        changelog = f"{group_name(way.kafka, STAGE)}-pending-deliveries-changelog"
        _wait_for_topic(way.kafka, changelog)
        wait_until("its state", lambda: "deliveries_restored" in first.log.read_text(), 120)
        empty = memory_mib(first.pid)
        first.kill()
        _fill(way.kafka, changelog, webhook, pending)
        started = time.monotonic()
        worker = way.start()
        wait_until("its state", lambda: "deliveries_restored" in worker.log.read_text(), 600)
        seconds = time.monotonic() - started
        memory = memory_mib(worker.pid)
    return (
        f"| start with {pending:,} pending deliveries | {seconds:.1f} s"
        f" | {memory:,.0f} MiB of memory, {empty:,.0f} without |"
    )


def _wait_for_topic(settings: KafkaSettings, name: str) -> None:
    admin = KafkaAdminClient(**client_options(settings, "bench"))
    wait_until("the changelog", lambda: name in admin.list_topics())
    admin.close()


def neighbour(folder: Path, servers: str, rate: float, duration_seconds: float) -> str:
    """Return a row: an owner's deliveries with and without another one's 200 alerts, in turns.

    Each second these trigger by one recognition, for 100 addresses and 50 webhooks each.
    """
    receiver = CountingReceiver()
    found: dict[bool, list[float]] = {False: [], True: []}
    with _way(folder, servers) as way:
        way.webhook(receiver.url("/to-0"))
        alerts = _greedy_alerts(way, receiver)
        for number in range(50):
            way.webhook(
                receiver.url(f"/greedy-{number}"),
                events=(EventName.ALERT_TRIGGERED,),
                owner_id=_GREEDY,
            )
        worker = way.start(log_level="error")
        _warm_up(way, receiver, 1)
        cpu = {False: 0.0, True: 0.0}
        for number in range(2 * _ROUNDS):
            is_on, sent = number % 2 == 1, dict[str, float]()
            before = _cpu_seconds(worker)
            started = time.monotonic()
            for event in range(int(rate * duration_seconds)):
                time.sleep(max(0.0, started + event / rate - time.monotonic()))
                if is_on and event % max(1, int(rate)) == 0:
                    _trigger_all(way, alerts, 1_000 * number + event)
                (made,) = _made([10_000 * number + event])
                sent[str(made.id)] = time.time()
                way.recognized(made)
            seen: dict[str, float] = {}
            _gather(receiver, seen, sent)
            cpu[is_on] += _cpu_seconds(worker) - before
            found[is_on] += [1e3 * (seen[key] - at) for key, at in sent.items()]
    receiver.close()
    cuts = {is_on: statistics.quantiles(ages, n=100) for is_on, ages in found.items()}
    return (
        f"| p95 beside an owner whose 200 alerts trigger each second ÷ without"
        f" | {cuts[True][94] / cuts[False][94]:.2f}"
        f" | {cuts[True][94]:.0f} and {cuts[False][94]:.0f} ms, p50"
        f" {cuts[True][49]:.0f} and {cuts[False][49]:.0f} ms; {_ROUNDS} times {duration_seconds:g}"
        f" s at {rate:g}/s each; of the worker {cpu[True]:.1f} and {cpu[False]:.1f} s of CPU |"
    )


def _gather(receiver: CountingReceiver, seen: dict[str, float], sent: Mapping[str, float]) -> None:
    def are_all_there() -> bool:
        seen.update(receiver.seen())
        return sent.keys() <= seen.keys()

    wait_until("all", are_all_there, 120)


def _greedy_alerts(way: Pipeline, receiver: CountingReceiver) -> list[AlertConfig]:
    """Have an owner with the most that is permitted."""
    alerts = []
    for number in range(200):
        urls = [WebhookNotification(url=receiver.url(f"/greedy/{number}/{n}")) for n in range(100)]
        config = alert(
            number,
            owner_id=_GREEDY,
            plates=tuple(f"GREEDY{number:03}{n:05}" for n in range(1_000)),
            notifications_encrypted=way.box.encrypt(msgspec.json.encode(urls).decode()),
            notification_secret_encrypted=way.box.encrypt("secret"),
            revision=1,
        )
        way.send(CONFIG_ALERTS, str(config.alert_id), config)
        alerts.append(config)
    return alerts


def _trigger_all(way: Pipeline, alerts: Sequence[AlertConfig], number: int) -> None:
    (made,) = _made([number])
    seen = msgspec.structs.replace(made, owner_id=_GREEDY)
    triggers = [
        AlertTrigger(
            id=trigger_id(seen.captured_ms, each.alert_id, seen.id),
            owner_id=_GREEDY,
            alert=by_reference(each),
            recognition=seen,
            decided_ms=seen.captured_ms,
        )
        for each in alerts
    ]
    way.send_all(ALERTS, [(str(each.alert.alert_id), each) for each in triggers])


def _fill(settings: KafkaSettings, topic: str, webhook: UUID, pending: int) -> None:
    producer = KafkaProducer(**producer_options(settings, "bench"))
    due_ms = time.time_ns() // 1_000_000 + 3_600_000
    for number in range(pending):
        made = recognition(number)
        delivery = recognition_delivery(made, webhook, created_ms=made.captured_ms)
        partition = number % settings.kafka_partitions
        record = PendingDelivery(delivery=delivery, attempts=3, due_ms=due_ms, partition=partition)
        producer.send(topic, key=pending_key(delivery), value=encode(record), partition=partition)
    producer.flush(120)
    producer.close(10)


def main() -> None:
    """Measure all, or what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--deliveries", type=int, default=5_000)
    parser.add_argument("--pending", type=int, default=100_000)
    parser.add_argument("--rate", type=float, default=200)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--only", default="throughput,hanging,restart,latency,neighbour")
    options = parser.parse_args()
    with (
        TemporaryDirectory(prefix="platestream-bench-") as name,
        kafka_process(Path(name)) as kafka,
    ):
        assert isinstance(kafka.server, KafkaServer)
        servers, folder = kafka.server.bootstrap_servers, Path(name)
        rows: dict[str, tuple[Callable[[], str], ...]] = {
            "throughput": (
                lambda: throughput(folder, servers, 1, options.deliveries),
                lambda: throughput(folder, servers, 100, options.deliveries),
            ),
            "hanging": (lambda: hanging(folder, servers, options.deliveries),),
            "restart": (lambda: restart(folder, servers, options.pending),),
            "latency": (
                lambda: latency(folder, servers, 2, options.seconds),
                lambda: latency(folder, servers, options.rate, options.seconds),
            ),
            "neighbour": (lambda: neighbour(folder, servers, 20, options.seconds),),
        }
        print("| what | figure | beside |\n|---|---|---|", flush=True)
        for what in options.only.split(","):
            for row in rows[what]:
                print(row(), flush=True)


if __name__ == "__main__":
    main()
