"""The whole local stack: first start, second start, and a start after every process was killed."""

import json
import subprocess
import sys
import time
from contextlib import suppress
from io import StringIO
from pathlib import Path

import psutil
import pytest
import urllib3

from deploy.local.plan import APPLICATION, make_plan
from deploy.local.servers.base import CLONE
from deploy.local.settings import LocalStackSettings
from deploy.local.stack import LocalStack
from deploy.local.waiting import Progress, StartError
from tests.services.stack import RunningStack

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(400)]

_SERVERS = ("kafka", "s3", "postgres", "clickhouse")
_PROCESSES = (*_SERVERS, *(program.name for program in APPLICATION))
_BACK_SECONDS = 60
_HOLDERS = {
    "PLATESTREAM_SECRET_KEY": {"api", "ingest", "webhooks"},
    "PLATESTREAM_DATABASE_URL": {"api", "relay"},
    "PLATESTREAM_S3_SECRET_KEY": {"api", "ingest", "recognition", "webhooks"},
    "PLATESTREAM_KAFKA_SASL_PASSWORD": {program.name for program in APPLICATION},
    "PLATESTREAM_CLICKHOUSE_PASSWORD": {"api", "sink", "clickhouse"},
}


def _get(stack: RunningStack, path: str) -> int:
    access = stack.access
    answer = urllib3.request(
        "GET",
        access.base_url + path,
        headers={"Authorization": f"Bearer {access.api_key}"},
        timeout=10,
        retries=False,
    )
    return int(answer.status)


def test_the_api_answers_the_owners_key(running_stack: RunningStack) -> None:
    assert _get(running_stack, "/api/recognitions") == 200
    assert _get(running_stack, "/api/cameras") == 200


def test_every_process_is_there(running_stack: RunningStack) -> None:
    assert all(running_stack.pid(process) for process in _PROCESSES)


def _environments() -> dict[int, str]:
    """Return the initial environment of each process on this machine, by process ID."""
    found: dict[int, str] = {}
    for file in Path("/proc").glob("[0-9]*/environ"):
        # The process has ended meanwhile, or belongs to another user.
        with suppress(OSError):
            found[int(file.parent.name)] = file.read_bytes().decode(errors="replace")
    return found


def test_no_process_holds_a_secret_that_it_does_not_use(running_stack: RunningStack) -> None:
    pids = {running_stack.pid(process): process for process in _PROCESSES}
    # The supervisor gives the processes their environment.
    supervisor = psutil.Process(running_stack.pid("api")).ppid()
    held = _environments()

    holders = {
        secret: {
            pids.get(pid, f"another process, {pid}")
            for pid, text in held.items()
            if pid != supervisor and running_stack.environment[secret] in text
        }
        for secret in _HOLDERS
    }

    assert holders == _HOLDERS
    assert "PLATESTREAM_SECRET_KEY" in held[supervisor]


def test_servers_and_recogniser_processes_hold_no_setting(running_stack: RunningStack) -> None:
    servers = [psutil.Process(running_stack.pid(name)) for name in ("kafka", "s3", "postgres")]
    below = [child.pid for server in servers for child in server.children(recursive=True)]
    recognisers = [*running_stack.workers("api"), *running_stack.workers("recognition")]
    # The environments are read last, because a process that starts later would be missing.
    held = _environments()

    assert recognisers
    for pid in (*(server.pid for server in servers), *below, *recognisers):
        # PostgreSQL's processes come and go.
        assert "PLATESTREAM_" not in held.get(pid, ""), psutil.Process(pid).cmdline()
    looked_at = {*recognisers, *(server.pid for server in servers)}
    # An inference worker can be replaced meanwhile.
    assert held.keys() >= {pid for pid in looked_at if psutil.pid_exists(pid)}
    assert held.keys() & set(recognisers)


def test_a_command_runs_with_the_stacks_settings(running_stack: RunningStack) -> None:
    command = ("exec", "platestream", "stack", "check", "--json")
    environment = running_stack.environment
    done = subprocess.run(
        [sys.executable, "-m", "deploy.local", *command],
        env=environment,
        cwd=CLONE,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for part in ("postgres", "clickhouse", "kafka", "s3"):
        assert part in done.stdout.lower()


def test_account_and_key_are_for_the_user_alone(running_stack: RunningStack) -> None:
    file = running_stack.folder / "access.json"

    assert file.stat().st_mode & 0o777 == 0o600


def test_the_analyst_may_ask(running_stack: RunningStack) -> None:
    access = json.loads((running_stack.folder / "access.json").read_text())

    answer = urllib3.request(
        "POST",
        f"{access['clickhouseUrl']}/?database=platestream",
        body="SELECT count() FROM analysis_recognitions",
        headers=urllib3.make_headers(
            basic_auth=f"{access['analystUser']}:{access['analystPassword']}"
        ),
        timeout=10,
        retries=False,
    )

    assert answer.status == 200, answer.data


def test_up_once_more_changes_nothing(running_stack: RunningStack) -> None:
    before = {process: running_stack.pid(process) for process in _PROCESSES}
    access = running_stack.access

    running_stack.start()

    assert {process: running_stack.pid(process) for process in _PROCESSES} == before
    assert running_stack.access == access


def test_a_second_stack_on_the_same_ports_is_refused_with_the_reason(
    running_stack: RunningStack, tmp_path: Path
) -> None:
    api_port = int(running_stack.access.base_url.rsplit(":", 1)[1])
    settings = LocalStackSettings.model_validate({"local_dir": tmp_path, "api_port": api_port})

    with pytest.raises(StartError, match=rf"port {api_port} is in use by process \d+"):
        LocalStack(make_plan(settings, {}), Progress(StringIO())).up()


def test_a_running_stack_takes_no_other_settings(running_stack: RunningStack) -> None:
    settings = LocalStackSettings.model_validate({"local_dir": running_stack.folder})
    environment = {**running_stack.environment, "PLATESTREAM_LOG_LEVEL": "debug"}

    with pytest.raises(StartError, match="`make down` first: PLATESTREAM_LOG_LEVEL$"):
        LocalStack(make_plan(settings, environment), Progress(StringIO())).up()


@pytest.mark.long
@pytest.mark.fault
def test_processes_killed_all_at_once_run_again_within_a_minute(
    running_stack: RunningStack,
) -> None:
    """tests/fault kills the processes one at a time, and checks that nothing is lost."""
    killed = time.monotonic()
    old = {process: running_stack.kill(process) for process in _PROCESSES}

    running_stack.start()

    assert time.monotonic() - killed < _BACK_SECONDS
    for process in _PROCESSES:
        assert running_stack.pid(process) not in (0, old[process])
