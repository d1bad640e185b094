"""A day's load in hours, and what the stack takes meanwhile, as a page with curves.

    make soak [HOURS=2] [RATE=1]          python -m tools.soak [--hours 2] [--rate 1] [--out FOLDER]

Starts a whole stack of its own with two cameras of the demo clip, alerts, a receiver of webhooks
and one of e-mail. What clients do in 24 hours (``tools/soak/load.py``) they do in ``--hours``;
``--rate`` is how many such days. Each quarter of a minute it looks at memory, descriptors, threads,
disk, Postgres' WAL, Kafka's segments, lag and lines of errors. ``soak.html`` in the folder is
written anew every minute, ``samples.jsonl`` holds the figures. Ends with status 1 where a process
grew by more than 5 % after the first quarter of an hour, was started again or wrote an error.
"""

import argparse
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import cv2
import httpx
import msgspec

from common.records.webhooks import EventName
from common.settings import KafkaSettings
from deploy.local.camera import DEMO_CLIP
from deploy.local.files import Layout
from deploy.local.servers.base import CLONE
from recognition.images import decode_image
from tests.fault.api import Api
from tests.fault.receivers import ALL, Receivers
from tests.fault.rules import GATE, RULES
from tests.fault.scenery import owner_of
from tests.fault.stages import Stages
from tests.services.stack import RunningStack
from tests.waiting import wait_until
from tools.benchmarks.demo_picture import demo_picture
from tools.soak.load import Clients, Day, Passes
from tools.soak.page import growths, render, restarted
from tools.soak.samples import Sample, Sampler

_DAY_HOURS = 24.0
_DAY_SECONDS = 86_400.0
_LOOK_SECONDS = 15.0
_LOOKS_A_PAGE = 4
_CAMERAS = 2
_PICTURES = 200
_CAMERA_SECONDS = 300
_CREDITS = 1_000_000
_SETTINGS = {
    "WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8",
    "SMTP_HOST": "127.0.0.1",
    "SMTP_ENCRYPTION": "none",
    "MAIL_PER_ADDRESS_PER_HOUR": "1000000",
    "MAIL_PER_OWNER_PER_HOUR": "0",
    # A day goes by in hours here: what is limited a minute is not what is measured.
    "IMAGE_CALLS_PER_MINUTE_PER_OWNER": "1000000",
    "REQUESTS_PER_MINUTE_PER_OWNER": "1000000",
}


class Soak:
    """One soak: what was seen so far, and the files that say so."""

    def __init__(self, title: str, out: Path, sampler: Sampler, clients: Clients) -> None:
        self._title, self._out = title, out
        self._sampler, self._clients = sampler, clients
        self.samples: list[Sample] = []

    def look(self) -> None:
        """Add one sample; now and then write the page."""
        self.samples.append(self._sampler.look(self._clients.latencies_ms()))
        with (self._out / "samples.jsonl").open("ab") as file:
            file.write(msgspec.json.encode(self.samples[-1]) + b"\n")
        if len(self.samples) % _LOOKS_A_PAGE == 1:
            self.write_page()

    def write_page(self) -> None:
        """Write the page from all that was seen."""
        errors = self._sampler.errors.lines
        page = render(self._title, self.samples, _counted(self._clients), errors)
        fresh = self._out / "soak.html.new"
        fresh.write_text(page)
        fresh.replace(self._out / "soak.html")

    def faults(self) -> list[str]:
        """Return what is not as promised."""
        return [
            *(
                f"{each.process} grew by {each.share:.1%}, from {each.first_mib:.0f} MiB"
                for each in growths(self.samples)
                if each.is_too_much
            ),
            *(f"{name} was started again" for name in restarted(self.samples)),
            *(
                f"{name}: {count} lines of errors"
                for name, count in self.samples[-1].errors.items()
            ),
        ]


def _counted(clients: Clients) -> Mapping[str, int]:
    return {f"{what}: {status or 'no answer'}": n for (what, status), n in clients.statuses.items()}


def _pictures() -> list[bytes]:
    """Return parts of a picture, each of another size, as clients send them."""
    whole = decode_image(demo_picture())
    height, width = whole.shape[:2]
    chance = random.Random(1)
    parts = (
        whole[chance.randrange(height // 2) :, chance.randrange(width // 2) :]
        for _ in range(_PICTURES)
    )
    return [cv2.imencode(".jpg", part)[1].tobytes() for part in parts]


def _grant_credits(stack: RunningStack) -> None:
    command = ("owner", "credits", "--email", stack.access.email, "--grant", str(_CREDITS))
    subprocess.run(
        (sys.executable, "-m", "api.cli", *command, "--reason", "soak"),
        cwd=CLONE,
        env=stack.environment,
        check=True,
        stdout=subprocess.DEVNULL,
        timeout=180,
    )


def _set_up(stack: RunningStack, receivers: Receivers, folder: Path) -> str:
    """Make alerts, webhook and cameras; return the id of a camera."""
    api = Api(stack.access.base_url, stack.access.api_key, stack.ready_url)
    api.create_webhook(
        receivers.web.url(ALL), EventName.RECOGNITION_CREATED, EventName.ALERT_TRIGGERED
    )
    for rule in RULES:
        api.create_alert(rule.body(receivers.web.url(GATE)))
    clip = folder / DEMO_CLIP.name
    shutil.copy(DEMO_CLIP, clip)
    cameras = [_camera(api, clip, number) for number in range(_CAMERAS)]
    api.close()
    return cameras[0]


def _camera(api: Api, clip: Path, number: int) -> str:
    """Register a camera; on a busy machine its worker may not answer the first time."""
    made: list[str] = []

    def is_made() -> bool:
        try:
            made.append(api.create_camera(clip.as_uri(), identifier=f"soak-{number}"))
        except httpx.HTTPError:
            return False
        return True

    wait_until("a worker has the camera", is_made, _CAMERA_SECONDS, 2.0)
    return made[0]


def soak(hours: float, rate: float, out: Path) -> list[str]:
    """Run one soak and return what is not as promised."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "samples.jsonl").unlink(missing_ok=True)
    day, speed = Day(), rate * _DAY_HOURS / hours
    with ExitStack() as open_things:
        folder = Path(open_things.enter_context(TemporaryDirectory(prefix="platestream-soak-")))
        receivers = open_things.enter_context(Receivers())
        settings = _SETTINGS | {"SMTP_PORT": str(receivers.mail.port)}
        stack = open_things.enter_context(RunningStack(folder / "stack", settings))
        _grant_credits(stack)
        camera = _set_up(stack, receivers, folder)
        kafka = stack.settings(KafkaSettings)
        sampler = Sampler(Layout(stack.folder), Stages(kafka))
        passes = Passes(kafka, owner_of(stack), day.passes * speed / _DAY_SECONDS)
        clients = Clients(stack.access, day, speed, _pictures(), camera)
        title = f"Soak: {rate:g} × 24 hours in {hours:g}"
        running = Soak(title, out, sampler, clients)
        with passes, clients:
            until = time.monotonic() + hours * 3600
            while time.monotonic() < until:
                running.look()
                # What has arrived is of no interest here, and would be this process's growth.
                receivers.web.received.clear()
                receivers.mail.emails.clear()
                time.sleep(_LOOK_SECONDS)
        running.look()
        running.write_page()
        for log in sorted(Layout(stack.folder).logs.glob("*.log*")):
            shutil.copy(log, out)
    return running.faults()


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.soak")
    parser.add_argument("--hours", type=float, default=2.0)
    parser.add_argument("--rate", type=float, default=1.0)
    parser.add_argument("--out", type=Path, default=CLONE / ".local" / "soak")
    arguments = parser.parse_args()
    faults = soak(arguments.hours, arguments.rate, arguments.out)
    print("\n".join(faults) or "nothing grew, nothing failed")
    print(arguments.out / "soak.html")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
