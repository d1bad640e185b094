"""Documents that are made from code say what the code says."""

import re
from pathlib import Path

import pytest

from api.metrics import MetricName as ApiMetricName
from contracts.metrics import METRICS
from deploy import settings_docs

ROOT = Path(__file__).resolve().parents[2]


def test_settings_page_is_current() -> None:
    page = settings_docs.DOCUMENT.read_text(encoding="utf-8")

    assert page == settings_docs.render(), "run: python -m deploy.settings_docs"


def test_every_setting_has_a_sentence() -> None:
    for cls in settings_docs.settings_classes():
        for name, field in cls.model_fields.items():
            assert field.description, f"{cls.__name__}.{name}"
            assert field.description.rstrip().endswith("."), f"{cls.__name__}.{name}"


def test_readme_fits_its_bound() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 150


PAGES = sorted((ROOT / "docs").rglob("*.md"))
FOR_OPERATORS = [ROOT / "docs" / name for name in ("runbook.md", "operations.md", "mqtt.md")]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.name))
def test_settings_that_a_page_names_are_there(page: Path) -> None:
    known = set(re.findall(r"PLATESTREAM_\w+", settings_docs.render()))
    # Those of the tests and the examples themselves are not the service's.
    others = re.compile(r"PLATESTREAM_(TEST_\w+|URL|KEY|EMAIL|PASSWORD|PHOTO)$")
    for name in re.findall(r"PLATESTREAM_[A-Z0-9_]*[A-Z0-9]\b(?!…)", _text(page)):
        assert name in known or others.match(name), name


@pytest.mark.parametrize("page", FOR_OPERATORS, ids=lambda p: str(p.name))
def test_metrics_that_a_page_names_are_there(page: Path) -> None:
    known = {metric.name for metric in METRICS} | {f"{name}_total" for name in ApiMetricName}
    for name in re.findall(r"platestream_[a-z_]+[a-z]", _text(page)):
        assert name in known, name


@pytest.mark.parametrize("page", FOR_OPERATORS, ids=lambda p: str(p.name))
def test_words_of_the_log_that_a_page_names_are_said(page: Path) -> None:
    said = "".join(
        path.read_text(encoding="utf-8")
        for room in ("alert_rules", "api", "contracts", "ingest", "recognition", "streams")
        for path in (ROOT / room).rglob("*.py")
    )
    words = re.findall(r"`(?!platestream_)([a-z]+(?:_[a-z]+)+)`", _text(page))
    assert not [word for word in words if f'"{word}"' not in said]


@pytest.mark.parametrize("page", FOR_OPERATORS, ids=lambda p: str(p.name))
def test_make_has_what_a_page_asks_for(page: Path) -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    assert set(re.findall(r"`make ([a-z-]+)", _text(page))) <= set(targets)


def _text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.name))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name}: {target}"
