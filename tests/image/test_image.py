"""Tests what the image contains, and what the image must not contain."""

import json
import os
import re
import shutil
import subprocess

import pytest

from tests.image.built import CLIPS_OF_THE_CLONE, HOME, USER, BuiltImage

pytestmark = [pytest.mark.image, pytest.mark.timeout(3600)]

MOST_BYTES = 900_000_000
MOST_SECONDS = 3.0


def _inside(image: BuiltImage, *command: str) -> str:
    whole = image.command(CLIPS_OF_THE_CLONE, *command)
    result = subprocess.run(whole, capture_output=True, text=True, check=False, timeout=120)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_it_is_small_and_says_what_it_is(image: BuiltImage) -> None:
    listed = _inside(image, "du", "--summarize", "--bytes", "--one-file-system", "/usr", "/opt")
    total = sum(int(line.split()[0]) for line in listed.splitlines())
    labels = image.configuration["Labels"]

    assert total < MOST_BYTES
    assert isinstance(labels, dict)
    assert labels["org.opencontainers.image.licenses"] == "AGPL-3.0-only"
    assert image.configuration["User"] == f"{USER}:{USER}"
    assert "Healthcheck" in image.configuration


def test_it_has_a_bill_of_what_is_in_it(image: BuiltImage) -> None:
    bill = json.loads((image.root / "usr/share/platestream/sbom.json").read_text())

    urls = {part.get("purl", part["name"]) for part in bill["components"]}
    assert bill["bomFormat"] == "CycloneDX"
    assert any(url.startswith("pkg:pypi/fastapi@") for url in urls)
    assert any(url.startswith("pkg:deb/debian/libssl3@") for url in urls)
    assert "plate-detector" in urls


def test_debian_has_mended_nothing_that_is_in_it(image: BuiltImage) -> None:
    scanner = shutil.which("debsecan")
    if scanner is None:
        pytest.skip("Debian's debsecan is not installed")
    release = (image.root / "etc/os-release").read_text()
    (suite,) = re.findall(r"^VERSION_CODENAME=(\w+)$", release, re.MULTILINE)
    # The list of vulnerabilities is Debian's security tracker, or a copy.
    source = os.environ.get("PLATESTREAM_TEST_DEBSECAN_SOURCE")
    command = [scanner, f"--suite={suite}", f"--status={image.root}/var/lib/dpkg/status"]
    command += ["--only-fixed", "--format=detail", *([f"--source={source}"] if source else [])]

    found = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)

    if "while downloading" in found.stderr:
        pytest.skip("Debian's list of vulnerabilities cannot be reached")
    assert (found.returncode, found.stdout) == (0, ""), found.stderr


def test_it_has_no_compiler_and_writes_nothing_but_its_state(image: BuiltImage) -> None:
    tools = "for tool in gcc cc ld make pip git curl; do ! command -v $tool || exit 1; done"
    _inside(image, "sh", "-c", tools)
    _inside(image, "sh", "-c", f"! touch /opt/x && ! touch /etc/x && touch /tmp/x {HOME}/x")


@pytest.mark.parametrize(
    "module", ["ingest.app", "streams.sink.app", "api.outbox.relay", "api.app"]
)
def test_a_process_starts_fast(image: BuiltImage, module: str) -> None:
    before = os.times()
    _inside(image, "python", "-c", f"import {module}")
    after = os.times()

    spent = after.children_user + after.children_system
    spent -= before.children_user + before.children_system
    assert spent < MOST_SECONDS, f"{spent:.1f} s of processor time"
