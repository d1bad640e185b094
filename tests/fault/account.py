"""Compares input with output: passes, images, alerts, deliveries and credits."""

import time
from collections import Counter
from collections.abc import Collection

from common.records.recognitions import RecognitionSource
from tests.fault.conftest import Say
from tests.fault.ledger import judge_shows, repeated_ids
from tests.fault.scenery import Scenery

_IMAGES_SECONDS = 120


def hold_to_account(scenery: Scenery, say: Say) -> None:
    """Wait until nothing is in flight, and check that the output matches the input."""
    verdict = scenery.until_nothing_is_open()
    say(str(verdict))
    assert not verdict, verdict
    dead_letters = scenery.stages.dead_letters()
    assert not dead_letters, dead_letters
    published = scenery.stages.recognitions()
    of_calls = {one.id: one.plate for one in published if one.source is RecognitionSource.API}
    assert Counter(of_calls.values()) == scenery.image_plates
    listed = scenery.api.recognitions()
    assert not repeated_ids(listed)
    shows = {str(show.camera_id) for show in scenery.cameras.shows}
    of_shows = [one for one in listed if one.camera_id in shows]
    say(f"{len(shows)} shows of {len(scenery.expected_plates)} passes: {len(of_shows)} passes")
    findings = judge_shows(shows, scenery.expected_plates, listed, published)
    assert not findings, findings
    faults = _image_faults(scenery, {one.id for one in of_shows})
    deadline = time.monotonic() + _IMAGES_SECONDS
    # Images that S3 did not accept are stored later.
    while faults and time.monotonic() < deadline:
        time.sleep(1)
        faults = _image_faults(scenery, faults)
    assert not faults, faults


def _image_faults(scenery: Scenery, recognitions: Collection[str]) -> dict[str, list[str]]:
    found = {one: scenery.api.image_faults(one) for one in recognitions}
    return {one: faults for one, faults in found.items() if faults}
