"""Measures the rate and latency of webhook deliveries by one worker to receivers on this machine.

Command: ``python -m tools.benchmarks.deliveries [--deliveries 5000] [--rate 200] [--seconds 15]``.
Prints the time from an event on the topic to the receipt, at 2 events per second and at ``--rate``.
Then prints deliveries per second with all events waiting on the topic (for 1 and 50 endpoints), and
the worker's CPU time per delivery.
"""

import argparse
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from uuid import UUID

from common.records.recognitions import Recognition
from common.records.topics import RECOGNITIONS
from tools.benchmarks.receiver import Receiver, running_receiver
from tools.benchmarks.records import recognition
from tools.benchmarks.stack import (
    BenchmarkStack,
    cpu_seconds,
    print_table,
    running_stack,
    spread,
    wait_until,
)

_MANY_ENDPOINTS = 50
_SETTINGS = {"DELIVERIES_PER_MINUTE_PER_OWNER": "10000000"}
"""Raises the account's rate limit, so that only the worker limits the rate."""


class Deliveries:
    """Publishes events of an account, and measures their delivery."""

    def __init__(self, stack: BenchmarkStack, receiver: Receiver) -> None:
        """``stack`` must not have any webhooks."""
        self._stack, self._receiver = stack, receiver
        self._owner: UUID = stack.owner_id()
        self._numbers = count()
        self._endpoints = 0

    def have_endpoints(self, endpoints: int) -> None:
        """Create webhooks until there are ``endpoints``. Wait until all of them get deliveries."""
        for number in range(self._endpoints, endpoints):
            body = {
                "name": f"endpoint {number}",
                "url": self._receiver.url(number),
                "events": ["recognition.created"],
            }
            self._stack.call("POST", "/api/webhooks", json=body)
        self._endpoints = endpoints

        def are_served() -> bool:
            self._receiver.first()
            self._send(1)
            time.sleep(1)
            return self._receiver.count() == endpoints

        wait_until("all webhooks get deliveries", are_served)
        self._receiver.first()

    def latency_ms(self, rate: float, seconds: float) -> list[float]:
        """Return the time from the publication of each event to its receipt, in milliseconds."""
        sent: dict[str, float] = {}
        started = time.monotonic()
        for number in range(int(rate * seconds)):
            time.sleep(max(0.0, started + number / rate - time.monotonic()))
            at_seconds = time.time()
            (made,) = self._send(1)
            sent[made.plate] = at_seconds
        wait_until("all events are delivered", lambda: self._receiver.count() >= len(sent))
        seen = self._receiver.first()
        return [1000 * (seen[plate][0] - at) for plate, at in sent.items()]

    def print_rate(self, deliveries: int) -> None:
        """Print the rate at which the worker delivers events that are already on the topic."""
        pid = self._stack.pid("webhooks")
        events = deliveries // self._endpoints
        with _stopped(pid):
            self._send(events)
        before, started = cpu_seconds(pid), time.monotonic()
        wanted = events * self._endpoints
        wait_until("all are delivered", lambda: self._receiver.count() >= wanted, 900)
        took, cpu = time.monotonic() - started, cpu_seconds(pid) - before
        self._receiver.first()
        print(
            f"| {self._endpoints} | {wanted / took:,.0f} | {1e6 * cpu / wanted:,.0f} µs"
            f" | {100 * cpu / took:.0f} % |"
        )

    def _send(self, events: int) -> list[Recognition]:
        now_ms = time.time_ns() // 1_000_000
        made = [recognition(self._owner, next(self._numbers), now_ms + n) for n in range(events)]
        self._stack.send(RECOGNITIONS, ((one.camera_id, one) for one in made))
        return made


@contextmanager
def _stopped(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--deliveries", type=int, default=5_000)
    parser.add_argument("--rate", type=float, default=200)
    parser.add_argument("--seconds", type=float, default=15)
    arguments = parser.parse_args()
    with running_stack(**_SETTINGS) as stack, running_receiver() as receiver:
        stack.run_only("api", "relay", "webhooks")
        deliveries = Deliveries(stack, receiver)
        deliveries.have_endpoints(1)
        print_table("event → received, events/s", "p50 ms", "p95 ms", "max ms")
        for rate in (2, arguments.rate):
            took_ms = deliveries.latency_ms(rate, arguments.seconds)
            print(f"| {rate:g} | {spread(took_ms)} |")
        print_table("endpoints", "deliveries/s", "CPU time per delivery", "of one core")
        for endpoints in (1, _MANY_ENDPOINTS):
            deliveries.have_endpoints(endpoints)
            deliveries.print_rate(arguments.deliveries)


if __name__ == "__main__":
    main()
