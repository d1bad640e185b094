"""The tutorial docs/first-alert.md, as a newcomer would type it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from platestream_client import Client

from deploy.local.ports import free_ports
from tests.road import RoadClip
from tests.services.stack import RunningStack

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(400)]

_PAGE = Path(__file__).resolve().parents[2] / "docs" / "first-alert.md"
_EXAMPLE = re.compile(r"^```(bash|python)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def test_the_walk_ends_with_a_plate_at_the_receiver(
    running_stack: RunningStack, client: Client, road_clip: RoadClip, tmp_path: Path
) -> None:
    (port,) = free_ports(1)
    text = (
        _PAGE.read_text(encoding="utf-8").replace(":9000", f":{port}").replace("9000)", f"{port})")
    )
    examples = _EXAMPLE.findall(text)
    (receiver,) = (script for language, script in examples if language == "python")
    (tmp_path / "receiver.py").write_text(receiver, encoding="utf-8")
    walk = "".join(script for language, script in examples if language == "bash")
    camera = client.cameras.create(
        {"name": "Gate", "rtspUrl": road_clip.path.as_uri(), "identifier": "first"}
    )
    walked = subprocess.run(
        # The tutorial's `kill %1` needs job control, as in an interactive shell.
        ["bash", "-mec", walk],
        cwd=tmp_path,
        env={
            "PATH": f"{Path(sys.executable).parent}:{os.defpath}",
            "PLATESTREAM_URL": running_stack.access.base_url,
            "PLATESTREAM_KEY": running_stack.access.api_key,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=200,
    )
    client.cameras.delete(camera["id"])

    assert walked.returncode == 0, walked.stdout
    plates = re.findall(r"^alert\.triggered (\w+)$", walked.stdout, re.MULTILINE)
    assert plates
    assert set(plates) <= set(road_clip.plates)
