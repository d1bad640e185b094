"""Grafana's dashboards are generated from the catalogue, and each metric is in one dashboard."""

import json
from collections import Counter

import pytest

from common.metrics import METRICS
from tools.scripts.dashboards import DASHBOARDS, FOLDER, Dashboard, metrics_of, render


@pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda each: str(each.uid))
def test_the_files_are_those_that_the_script_makes(dashboard: Dashboard) -> None:
    path = FOLDER / f"{dashboard.uid}.json"

    assert path.read_text(encoding="utf-8") == render(dashboard), (
        "python -m tools.scripts.dashboards"
    )


def test_every_metric_is_in_one_dashboard() -> None:
    counts = Counter(metric.name for each in DASHBOARDS for metric in metrics_of(each))

    assert counts.keys() >= METRICS.keys()
    assert set(counts.values()) == {1}
    assert {path.stem for path in FOLDER.glob("*.json")} == {each.uid for each in DASHBOARDS}


def test_panels_lie_next_to_each_other_and_have_unique_ids() -> None:
    for dashboard in DASHBOARDS:
        panels = json.loads(render(dashboard))["panels"]
        places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels]

        assert len(set(places)) == len({panel["id"] for panel in panels}) == len(panels)
