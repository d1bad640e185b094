"""Documents that describe the code match the code."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from api.app import create_app
from api.middleware.request_context import MetricName as ApiMetricName
from common.metrics import METRICS
from deploy.local.plan import METRICS_OFFSETS
from tools.scripts import client_types, scopes_docs, settings_docs

ROOT = Path(__file__).resolve().parents[2]


def test_settings_page_is_current() -> None:
    page = settings_docs.DOCUMENT.read_text(encoding="utf-8")

    assert page == settings_docs.render(), "run: python -m tools.scripts.settings_docs"


def test_list_of_scopes_is_current() -> None:
    page = scopes_docs.DOCUMENT.read_text(encoding="utf-8")

    assert page == scopes_docs.render(page), "run: python -m tools.scripts.scopes_docs"


@pytest.mark.parametrize(
    "made", [client_types.PYTHON, client_types.TYPESCRIPT], ids=lambda p: p.name
)
def test_types_of_the_clients_are_current(made: Path) -> None:
    first, _, _ = made.read_text(encoding="utf-8").partition("\n")

    assert first.endswith(client_types.fingerprint()), "run: make client-types"


def test_every_test_that_the_security_page_names_is_there() -> None:
    page = _text(ROOT / "docs" / "security.md")
    named = re.findall(r"`((?:unit|integration|e2e)/[^`:]+)(?:::(\w+))?`", page)
    assert len(named) > 100
    for path, test in named:
        wanted = rf"^(async )?def {test}\(" if test else "def test_"
        assert re.search(wanted, _text(ROOT / "tests" / path), re.M), f"{path}::{test}"


def test_every_setting_has_a_sentence() -> None:
    for cls in settings_docs.settings_classes():
        for name, field in cls.model_fields.items():
            assert field.description, f"{cls.__name__}.{name}"
            assert field.description.rstrip().endswith("."), f"{cls.__name__}.{name}"


def test_readme_fits_its_bound() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 60


PAGES = sorted((ROOT / "docs").rglob("*.md"))
NAMES = ("operations", "deployment", "mqtt")
OPERATIONS, DEPLOYMENT, MQTT = (ROOT / "docs" / f"{name}.md" for name in NAMES)
MONITORING = sorted((ROOT / "deploy" / "monitoring").glob("*.yml"))
LINKING = [
    *PAGES,
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "clients").glob("*/README.md")),
    *sorted((ROOT / "recognition").rglob("*.md")),
]
LABELS = {metric.name: metric.labels for metric in METRICS.values()}
LABELS_OF_THE_API = ("method", "route", "status")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.name))
def test_settings_that_a_page_names_are_there(page: Path) -> None:
    known = set(re.findall(r"PLATESTREAM_\w+", settings_docs.render()))
    # Settings of the tests and of the examples themselves do not belong to the service.
    others = re.compile(r"PLATESTREAM_(TEST_\w+|URL|KEY|EMAIL|PASSWORD|PHOTO)$")
    for name in re.findall(r"PLATESTREAM_[A-Z0-9_]*[A-Z0-9]\b(?!…)", _text(page)):
        assert name in known or others.match(name), name


@pytest.mark.parametrize("page", [OPERATIONS, MQTT, *MONITORING], ids=lambda p: str(p.name))
def test_metrics_that_a_page_names_are_there(page: Path) -> None:
    known = METRICS.keys() | {f"{name}_total" for name in ApiMetricName}
    for name in re.findall(r"platestream_[a-z_]+[a-z]", _text(page)):
        assert name.removesuffix("_bucket") in known, name


def test_alert_rules_select_by_labels_that_the_metrics_have() -> None:
    for rule in _alert_rules():
        for name, chosen in re.findall(r"(platestream_[a-z_]+)\{([^}]*)\}", rule["expr"]):
            labels = set(re.findall(r"(\w+)\s*[!=]", chosen))
            assert labels <= set(LABELS.get(name, LABELS_OF_THE_API)), name


def test_every_alert_rule_has_its_test() -> None:
    """promtool runs the tests in deploy/monitoring/alerts_test.yml."""
    silent, firing = (
        {
            one["alertname"]
            for one in _rule_cases("alert_rule_test")
            if ("exp_alerts" in one) is fires
        }
        for fires in (False, True)
    )
    assert silent == firing == {rule["alert"] for rule in _alert_rules()}


def test_tests_of_alert_rules_have_series_as_they_are_scraped() -> None:
    of_the_scrape = {"job", "process", "le"}
    for series in _rule_cases("input_series"):
        name, _, labels = series["series"].partition("{")
        if name != "up":
            known = LABELS.get(name.removesuffix("_bucket"), LABELS_OF_THE_API)
            assert set(re.findall(r"(\w+)=", labels)) - of_the_scrape == set(known), name


def test_every_metric_worth_an_alarm_has_its_rule() -> None:
    rules = "".join(rule["expr"] for rule in _alert_rules())
    table = re.findall(r"^\|.*", _text(OPERATIONS), re.M)
    named = re.findall(r"platestream_[a-z_]+[a-z]", "".join(table))
    assert named
    assert [name for name in named if name not in rules] == []


def test_what_prometheus_scrapes_are_the_ports_that_the_page_sets() -> None:
    scraped = {
        (labels["process"], address.partition(":")[2])
        for one in _yaml("prometheus.yml")["scrape_configs"][0]["static_configs"]
        for address, labels in [(one["targets"][0], one["labels"])]
    }
    (first,) = re.findall(r"^PLATESTREAM_METRICS_PORT=(\d+)$", _text(OPERATIONS), re.M)
    ports = {name: str(int(first) + offset) for name, offset in METRICS_OFFSETS.items()}
    # MQTT is disabled unless a broker is configured.
    assert scraped == {(name, port) for name, port in ports.items() if name != "mqtt"}


def _alert_rules() -> Iterator[Mapping[str, Any]]:
    for group in _yaml("alerts.yml")["groups"]:
        yield from group["rules"]


def _rule_cases(part: str) -> Iterator[Mapping[str, Any]]:
    for test in _yaml("alerts_test.yml")["tests"]:
        yield from test[part]


def _yaml(name: str) -> Any:
    return msgspec.yaml.decode((ROOT / "deploy" / "monitoring" / name).read_bytes())


@pytest.mark.parametrize("page", [OPERATIONS, MQTT], ids=lambda p: str(p.name))
def test_words_of_the_log_that_a_page_names_are_said(page: Path) -> None:
    said = "".join(
        path.read_text(encoding="utf-8")
        for room in ("api", "common", "ingest", "recognition", "streams")
        for path in (ROOT / room).rglob("*.py")
    )
    words = re.findall(r"`(?!platestream_)([a-z]+(?:_[a-z]+)+)`", _text(page))
    assert not [word for word in words if f'"{word}"' not in said]


@pytest.mark.parametrize("page", [OPERATIONS, MQTT], ids=lambda p: str(p.name))
def test_make_has_what_a_page_asks_for(page: Path) -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    assert set(re.findall(r"`make ([a-z-]+)", _text(page))) <= set(targets)


def _text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


@pytest.mark.parametrize("page", [OPERATIONS, DEPLOYMENT], ids=lambda p: str(p.name))
def test_paths_that_a_page_names_are_answered(page: Path) -> None:
    of_others = re.findall(r'self\.path == "([^"]+)"', _text(ROOT / "common" / "metrics.py"))
    assert of_others
    known = {_any_id(path) for _, path in create_app().state.permissions.access} | set(of_others)
    # The end of a file name, as in common/metrics.py, is not a path.
    named = re.findall(
        r"(?<![a-z.])(/(?:livez|readyz|healthz|metrics)\b|/api/[\w:{}./-]*[\w}])", _text(page)
    )
    assert named
    assert [path for path in named if _any_id(path) not in known] == []


def _any_id(path: str) -> str:
    return re.sub(r":\w+|\{\w+\}", "{}", path)


@pytest.mark.parametrize("page", LINKING, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target, place in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", _prose(page)):
        linked = page.parent / target if target else page
        assert linked.exists(), f"{page.name}: {target}"
        if place:
            assert place in _anchors(linked), f"{page.name}: {target}#{place}"


def _anchors(page: Path) -> set[str]:
    """Return the names under which GitHub links to the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", _prose(page), re.M)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


def _prose(page: Path) -> str:
    return re.sub(r"^ *```.*?^ *```", "", _text(page), flags=re.M | re.S)
