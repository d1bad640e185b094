"""A soak as one HTML page: what grew, and the curves. No script, nothing from elsewhere."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from tools.soak.samples import Sample

SETTLED_SECONDS = 900.0
"""The first quarter of an hour, in which caches and pools fill."""

MAX_GROWTH = 0.05
_WINDOW_SECONDS = 300.0
_WIDTH, _HEIGHT, _LEFT, _BELOW, _ABOVE = 860, 240, 60, 24, 8
_COLOURS = (
    *("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b", "#e377c2"),
    *("#7f7f7f", "#bcbd22", "#393b79", "#ad494a", "#637939", "#8c6d31"),
)
_STYLE = """body{font:14px/1.4 system-ui,sans-serif;max-width:900px;margin:2em auto;color:#222}
table{border-collapse:collapse}td,th{padding:2px 10px;border-bottom:1px solid #ddd;text-align:right}
td:first-child,th:first-child{text-align:left}.bad{color:#b00;font-weight:bold}
.key{display:inline-block;margin-right:1em;white-space:nowrap}
.key i{display:inline-block;width:1em;height:.35em;margin-right:.3em;vertical-align:middle}
pre{white-space:pre-wrap;font-size:12px}svg{display:block}text{font-size:11px;fill:#555}"""


@dataclass(frozen=True)
class Growth:
    """Memory of a process, MiB: the mean of five minutes after the first quarter of an hour and
    that of the last five minutes.
    """

    process: str
    first_mib: float
    last_mib: float

    @property
    def share(self) -> float:
        """The growth as a part of the first."""
        return self.last_mib / self.first_mib - 1 if self.first_mib else 0.0

    @property
    def is_too_much(self) -> bool:
        """Whether it grew by more than is promised."""
        return self.share > MAX_GROWTH


def growths(samples: Sequence[Sample]) -> list[Growth]:
    """Return the growth of each process, none where the soak was too short to tell."""
    end = samples[-1].seconds if samples else 0.0
    if end < SETTLED_SECONDS + 2 * _WINDOW_SECONDS:
        return []
    first = _within(samples, SETTLED_SECONDS, SETTLED_SECONDS + _WINDOW_SECONDS)
    last = _within(samples, end - _WINDOW_SECONDS, end)
    return [Growth(name, _mean(first, name), _mean(last, name)) for name in samples[-1].memory_mib]


def restarted(samples: Sequence[Sample]) -> list[str]:
    """Return the processes that were not the same all the time."""
    names = samples[0].pids if samples else {}
    return [name for name in names if len({each.pids.get(name) for each in samples}) > 1]


def _within(samples: Iterable[Sample], begin: float, end: float) -> list[Sample]:
    return [each for each in samples if begin <= each.seconds <= end]


def _mean(samples: Sequence[Sample], process: str) -> float:
    return sum(each.memory_mib.get(process, 0.0) for each in samples) / max(1, len(samples))


def render(
    title: str, samples: Sequence[Sample], answers: Mapping[str, int], error_lines: Sequence[str]
) -> str:
    """Return the page. ``answers`` counts what was asked by ``what: status``."""
    errors = samples[-1].errors if samples else {}
    parts = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{len(samples)} looks in {samples[-1].seconds / 60:.0f} minutes.</p>"
        if samples
        else "",
        "<h2>Memory</h2>",
        _growth_table(growths(samples)),
        f"<p>Started again meanwhile: {escape(', '.join(restarted(samples)) or 'none')}.</p>",
        _chart("Memory, MiB", samples, lambda one: one.memory_mib),
        _chart("Descriptors", samples, lambda one: one.descriptors),
        _chart("Threads", samples, lambda one: one.threads),
        "<h2>Disk and Kafka</h2>",
        _chart("Disk, MiB", samples, lambda one: one.disk_mib),
        _chart("Kafka segments", samples, lambda one: {"segments": one.segments}),
        _chart("Lag, messages", samples, lambda one: one.lag),
        "<h2>Clients</h2>",
        _chart("p95, ms", samples, lambda one: one.latency_ms),
        _counts("answers", answers),
        "<h2>Lines of errors</h2>",
        _counts("lines", errors) if errors else "<p>None.</p>",
        f"<pre>{escape(chr(10).join(error_lines))}</pre>" if error_lines else "",
    ]
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{_STYLE}</style>'
    return (
        f"<!doctype html>\n<html lang=en><head>{head}</head><body>{''.join(parts)}</body></html>\n"
    )


def _growth_table(found: Sequence[Growth]) -> str:
    if not found:
        return "<p>Too short to tell growth.</p>"
    rows = "".join(
        f"<tr><td>{escape(each.process)}</td><td>{each.first_mib:.0f}</td>"
        f"<td>{each.last_mib:.0f}</td>"
        f"<td{' class=bad' if each.is_too_much else ''}>{each.share:+.1%}</td></tr>"
        for each in found
    )
    return (
        "<table><tr><th>process</th><th>MiB after 15 to 20 min</th><th>in the last 5 min</th>"
        f"<th>growth</th></tr>{rows}</table>"
    )


def _counts(what: str, counts: Mapping[str, int]) -> str:
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td>{count}</td></tr>"
        for name, count in sorted(counts.items())
    )
    return f"<table><tr><th></th><th>{what}</th></tr>{rows}</table>"


def _chart(
    title: str, samples: Sequence[Sample], values: Callable[[Sample], Mapping[str, float]]
) -> str:
    names = sorted({name for each in samples for name in values(each)})
    highest = max((v for each in samples for v in values(each).values()), default=0.0)
    if not names or not highest:
        return f"<h3>{escape(title)}</h3><p>Nothing.</p>"
    lines, keys = [], []
    for number, name in enumerate(names):
        colour = _COLOURS[number % len(_COLOURS)]
        points = [(each.seconds, values(each)[name]) for each in samples if name in values(each)]
        lines.append(_line(points, samples[-1].seconds, highest, colour))
        keys.append(
            f'<span class=key><i style="background:{colour}"></i>'
            f"{escape(name)} {points[-1][1]:.0f}</span>"
        )
    return (
        f"<h3>{escape(title)}</h3>"
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}">'
        f"{_axes(samples[-1].seconds, highest)}{''.join(lines)}</svg><p>{''.join(keys)}</p>"
    )


def _line(points: Sequence[tuple[float, float]], end: float, highest: float, colour: str) -> str:
    drawn = " ".join(f"{_x(at, end):.1f},{_y(value, highest):.1f}" for at, value in points)
    return f'<polyline points="{drawn}" fill="none" stroke="{colour}" stroke-width="1.5"/>'


def _axes(end: float, highest: float) -> str:
    """Return five lines across, with their values, and the minutes below."""
    parts = []
    for fifth in range(6):
        y = _y(highest * fifth / 5, highest)
        x = _x(end * fifth / 5, end)
        parts.append(
            f'<line x1="{_LEFT}" x2="{_WIDTH}" y1="{y:.1f}" y2="{y:.1f}" stroke="#eee"/>'
            f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">'
            f"{highest * fifth / 5:.0f}</text>"
            f'<text x="{x:.1f}" y="{_HEIGHT - 6}" text-anchor="{"end" if fifth == 5 else "middle"}"'
            f">{end * fifth / 300:.0f} min</text>"
        )
    return "".join(parts)


def _x(at: float, end: float) -> float:
    return _LEFT + (_WIDTH - _LEFT) * at / (end or 1.0)


def _y(value: float, highest: float) -> float:
    return _HEIGHT - _BELOW - (_HEIGHT - _BELOW - _ABOVE) * value / highest
