"""Generates the Grafana dashboards in deploy/monitoring/grafana from the metric catalogue.

Each metric has a panel with the metric's description, grouped by label: the rate of a counter, the
sum or maximum of a gauge, or the median and 95th percentile of a histogram.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from common.metrics import METRICS, Metric, MetricKind

FOLDER: Final = Path(__file__).resolve().parents[2] / "deploy" / "monitoring" / "grafana"
_SOURCE: Final = {"type": "prometheus", "uid": "${source}"}
_UNITS: Final = {"bytes": "bytes", "ratio": "percentunit", "seconds": "s"}
_WIDTH, _HEIGHT, _COLUMNS = 8, 7, 3
_SCHEMA_VERSION: Final = 39
_PROCESS: Final = 'process=~"$process"'
_CAMERA: Final = 'camera=~"$camera"'
_NOT_SHOWN: Final = frozenset({"partition", "camera"})


_OF_THE_API: Final = (
    Metric(
        MetricKind.COUNTER,
        "platestream_api_requests_total",
        "requests",
        "HTTP requests. 5xx: a dependency is unavailable, or an internal error.",
        ("status",),
    ),
    Metric(
        MetricKind.HISTOGRAM,
        "platestream_api_request_seconds",
        "seconds",
        "Request duration. Rises if the CPU is overloaded or a dependency is slow.",
        ("route",),
    ),
)
"""Metrics of the API's middleware that are not in the catalogue."""
_SHOWN: Final = (*METRICS.values(), *_OF_THE_API)
_MACHINE: Final = {
    "Memory": ("process_resident_memory_bytes", "bytes"),
    "CPU": ("rate(process_cpu_seconds_total[$__rate_interval])", "short"),
    "Up": ("up", "short"),
}


@dataclass(frozen=True)
class Dashboard:
    """A dashboard of the metrics whose names start with one of the prefixes in ``begins``.

    If ``is_of_a_camera``, only metrics with a camera label are shown, otherwise only those without.
    """

    uid: str
    title: str
    begins: tuple[str, ...]
    is_of_a_camera: bool = False


DASHBOARDS: Final = (
    Dashboard("platestream-cameras", "Cameras and ingest", ("platestream_ingest_",)),
    Dashboard(
        "platestream-camera",
        "One camera",
        ("platestream_ingest_", "platestream_recognition_", "platestream_api_"),
        is_of_a_camera=True,
    ),
    Dashboard("platestream-recognition", "Recognition", ("platestream_recognition_",)),
    Dashboard(
        "platestream-deliveries",
        "Alerts and deliveries",
        ("platestream_alerts_", "platestream_webhooks_", "platestream_mqtt_"),
    ),
    Dashboard("platestream-api", "API and relay", ("platestream_api_", "platestream_relay_")),
    Dashboard(
        "platestream-stages", "Stages and processes", ("platestream_stream_", "platestream_traces_")
    ),
)


def metrics_of(dashboard: Dashboard) -> Sequence[Metric]:
    """Return the metrics of a dashboard."""
    return [
        each
        for each in _SHOWN
        if each.name.startswith(dashboard.begins)
        and ("camera" in each.labels) is dashboard.is_of_a_camera
    ]


def render(dashboard: Dashboard) -> str:
    """Return the dashboard in Grafana's JSON format."""
    panels = [_panel_of(metric) for metric in metrics_of(dashboard)]
    if dashboard.uid == "platestream-stages":
        panels += [_machine_panel(title, *what) for title, what in _MACHINE.items()]
    described = {
        "uid": dashboard.uid,
        "title": f"Platestream: {dashboard.title}",
        "tags": ["platestream"],
        "schemaVersion": _SCHEMA_VERSION,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {"list": [_source(), _camera() if dashboard.is_of_a_camera else _process()]},
        "links": [
            {
                "type": "dashboards",
                "tags": ["platestream"],
                "title": "Platestream",
                "asDropdown": True,
            }
        ],
        "panels": [
            {**panel, "id": number + 1, "gridPos": _place(number)}
            for number, panel in enumerate(panels)
        ],
    }
    return json.dumps(described, indent=2) + "\n"


def expressions(metric: Metric) -> Iterator[tuple[str, str]]:
    """Yield the Prometheus queries of a metric, each with a legend."""
    labels = [label for label in metric.labels if label not in _NOT_SHOWN]
    legend = " ".join(f"{{{{{label}}}}}" for label in labels) or "all"
    is_of_a_camera = "camera" in metric.labels
    series = f"{metric.name}{{{_CAMERA if is_of_a_camera else _PROCESS}}}"
    if metric.kind is MetricKind.COUNTER:
        # Counters of a camera are updated once per minute.
        interval = "5m" if is_of_a_camera else "$__rate_interval"
        yield _by(labels, f"rate({series}[{interval}])"), legend
    elif metric.kind is MetricKind.GAUGE:
        # A ratio or an age describes one process, so a sum over processes would be meaningless.
        how = "max" if metric.unit in ("ratio", "seconds") else "sum"
        yield _by(labels, series, how), legend
    else:
        buckets = f"rate({metric.name}_bucket{{{_PROCESS}}}[$__rate_interval])"
        for share in (0.5, 0.95):
            asked = _by([*labels, "le"], buckets)
            name = f"p{share * 100:g}" + (f" {legend}" if labels else "")
            yield f"histogram_quantile({share}, {asked})", name


def _by(labels: Sequence[str], asked: str, how: str = "sum") -> str:
    return f"{how} by ({', '.join(labels)}) ({asked})" if labels else f"{how}({asked})"


def _panel_of(metric: Metric) -> dict[str, Any]:
    unit = _UNITS.get(metric.unit, "short")
    title = metric.name.removeprefix("platestream_").removesuffix("_total").replace("_", " ")
    if metric.kind is MetricKind.COUNTER:
        title += f" ({metric.unit} per second)"
    return _panel(title[0].upper() + title[1:], metric.rise, unit, list(expressions(metric)))


def _machine_panel(title: str, asked: str, unit: str) -> dict[str, Any]:
    expression = (
        asked.replace("[", f"{{{_PROCESS}}}[") if "[" in asked else f"{asked}{{{_PROCESS}}}"
    )
    return _panel(title, "By process.", unit, [(expression, "{{process}} {{instance}}")])


def _panel(
    title: str, description: str, unit: str, asked: Sequence[tuple[str, str]]
) -> dict[str, Any]:
    return {
        "type": "timeseries",
        "title": title,
        "description": description,
        "datasource": _SOURCE,
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        "options": {"legend": {"displayMode": "list"}, "tooltip": {"mode": "multi"}},
        "targets": [
            {
                "refId": chr(ord("A") + number),
                "datasource": _SOURCE,
                "expr": expression,
                "legendFormat": legend,
            }
            for number, (expression, legend) in enumerate(asked)
        ],
    }


def _place(number: int) -> dict[str, int]:
    row, column = divmod(number, _COLUMNS)
    return {"x": column * _WIDTH, "y": row * _HEIGHT, "w": _WIDTH, "h": _HEIGHT}


def _source() -> dict[str, Any]:
    return {"name": "source", "label": "Source", "type": "datasource", "query": "prometheus"}


def _process() -> dict[str, Any]:
    return {
        "name": "process",
        "label": "Process",
        "type": "query",
        "datasource": _SOURCE,
        "query": "label_values(up, process)",
        "refresh": 2,
        "includeAll": True,
        "multi": True,
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
    }


def _camera() -> dict[str, Any]:
    return {
        "name": "camera",
        "label": "Camera",
        "type": "query",
        "datasource": _SOURCE,
        "query": "label_values(platestream_ingest_camera_state, camera)",
        "refresh": 2,
    }


def main() -> None:
    """Write all dashboards."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for dashboard in DASHBOARDS:
        (FOLDER / f"{dashboard.uid}.json").write_text(render(dashboard), encoding="utf-8")


if __name__ == "__main__":
    main()
