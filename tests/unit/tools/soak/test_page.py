"""What a soak's page says of growth, restarts and errors."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tools.soak.page import growths, render, restarted
from tools.soak.samples import ErrorLines, Sample, is_error


def _sample(seconds: float, *, api_mib: float = 300, pid: int = 1, **more: object) -> Sample:
    given: dict[str, object] = {
        "memory_mib": {"api": api_mib, "sink": 70.0},
        "descriptors": {"api": 40},
        "threads": {"api": 12},
        "pids": {"api": pid, "sink": 2},
        "disk_mib": {"kafka": 100.0},
        "segments": 20,
        "lag": {"sink of recognitions": 3},
        "errors": {},
    }
    return Sample(seconds=seconds, **(given | more))  # type: ignore[arg-type]


def test_growth_is_told_from_what_comes_after_the_first_quarter_of_an_hour() -> None:
    samples = [_sample(60.0 * n, api_mib=100 if n < 15 else 300 + n) for n in range(61)]
    by_name = {each.process: each for each in growths(samples)}
    assert by_name["api"].first_mib == pytest.approx(317.5)
    assert by_name["api"].last_mib == pytest.approx(357.5)
    assert by_name["api"].is_too_much
    assert not by_name["sink"].is_too_much


def test_a_short_soak_tells_no_growth() -> None:
    assert growths([_sample(60.0 * n) for n in range(20)]) == []


def test_a_process_with_another_pid_was_started_again() -> None:
    assert restarted([_sample(0), _sample(15)]) == []
    assert restarted([_sample(0), _sample(15, pid=7)]) == ["api"]


def test_page_is_whole_and_takes_nothing_from_elsewhere() -> None:
    samples = [_sample(15.0 * n, api_mib=300 + n, latency_ms={"search": 12.0}) for n in range(300)]
    page = render("Soak <1>", samples, {"search: 200": 7}, ["api: <b>failed</b>"])
    assert "Soak &lt;1&gt;" in page and "&lt;b&gt;failed" in page
    assert "http" not in page and "<script" not in page
    drawings = [part.split("</svg>")[0] + "</svg>" for part in page.split("<svg")[1:]]
    assert len(drawings) == 7
    for drawing in drawings:
        ElementTree.fromstring("<svg" + drawing)


@pytest.mark.parametrize(
    ("line", "is_one"),
    [
        ('{"event": "it failed", "level": "error"}', True),
        ('{"event": "it failed", "level": "critical"}', True),
        ('{"event": "ERROR is only said", "level": "warning"}', False),
        ("2026-11-24 18:00:00 UTC ERROR:  deadlock detected", True),
        ("[2026-11-24 18:00:00,000] INFO no error here (kafka.log)", False),
        ("{ cut off", False),
    ],
)
def test_lines_of_errors(line: str, is_one: bool) -> None:
    assert is_error(line) is is_one


def test_lines_are_counted_once_and_rotated_files_from_their_beginning(tmp_path: Path) -> None:
    log, errors = tmp_path / "api.log", ErrorLines(tmp_path)
    log.write_text('{"level": "error"}\n{"level": "info"}\n{"level": "er')
    errors.look()
    errors.look()
    assert errors.counts == {"api": 1}
    log.write_text('{"level": "error"}\n{"level": "info"}\n{"level": "error"}\n')
    errors.look()
    assert errors.counts == {"api": 2}
    log.write_text('{"level": "error"}\n')
    errors.look()
    assert errors.counts == {"api": 3}
    assert len(errors.lines) == 3
