"""An HTML page of an evaluation: figures, reliability, and a picture of every miss."""

import base64
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from pathlib import Path

import cv2

from recognition.reading.crops import cut
from recognition.types import Box, grown
from tools.evaluation.outcomes import PlateOutcome, Slice
from tools.evaluation.photos import Image
from tools.evaluation.run import Bin, Looked
from tools.evaluation.summary import Summary

PICTURE_WIDTH_PX = 260
SURROUNDINGS = (0.35, 0.7)
"""Of a plate's width and height, what is shown on each side of it."""

JPEG_QUALITY = 80

_STYLE = (
    "body{font:15px/1.45 system-ui,sans-serif;margin:2em auto;max-width:1200px;padding:0 1em}"
    "table{border-collapse:collapse;margin:1em 2em 1em 0}td,th{padding:.2em .8em;text-align:right;"
    "border-bottom:1px solid #ddd}td:first-child,th:first-child{text-align:left}"
    ".row{display:flex;flex-wrap:wrap;align-items:flex-start}"
    ".miss{width:260px;margin:0 12px 16px 0}.miss img{width:260px;display:block}"
    ".want{color:#06612a}.got{color:#a11}"
    ".miss small{color:#666;word-break:break-all}"
)


@dataclass(frozen=True)
class Miss:
    """A mistake with its picture (JPEG): what is written there, what was said."""

    kind: str
    photo: str
    wanted: str
    got: str
    picture: bytes


def misses(looked: Looked, image: Image) -> list[Miss]:
    """What went wrong on a photo: plates not found, texts read wrong, readings of no plate."""
    name = looked.photo.name
    wrong = [(o, _kind(o)) for o in looked.outcomes]
    rows = [
        Miss(kind, name, o.plate.text or "?", _got(o), _picture(image, o.plate.box))
        for o, kind in wrong
        if kind
    ]
    if looked.photo.exhaustive:
        rows += [
            Miss("no plate there", name, "", f"{s.text} {s.confidence:.2f}", _picture(image, s.box))
            for s in looked.invented
        ]
    return rows


def write_report(path: Path, title: str, summary: Summary, found: list[Miss]) -> None:
    """Write the page; it needs no other file and no network."""
    parts = [
        f"<!doctype html><meta charset=utf-8><title>{escape(title)}</title><style>{_STYLE}</style>",
        f"<h1>{escape(title)}</h1><p>{summary.photos} photos, {summary.plates} plates, "
        f"{summary.certain} of them with a certain text.</p>",
        _figures(summary),
        "<div class=row>",
        *(_table(name, rows) for name, rows in summary.tables),
        f"</div><h2>Reliability</h2>{_diagram(summary.bins)}",
    ]
    for kind in dict.fromkeys(m.kind for m in found):
        these = [m for m in found if m.kind == kind]
        parts += [f"<h2>{escape(kind)}: {len(these)}</h2><div class=row>", *map(_figure, these)]
        parts.append("</div>")
    path.write_text("\n".join(parts), encoding="utf-8")


def _kind(outcome: PlateOutcome) -> str:
    if outcome.exact:
        return ""
    if outcome.said is None:
        return "not found"
    if outcome.certain:
        return "read wrong"
    return "" if outcome.found else "found inexactly"


def _got(outcome: PlateOutcome) -> str:
    if outcome.said is None:
        return "–"
    return f"{outcome.said.text} {outcome.said.confidence:.2f}"


def _picture(image: Image, box: Box) -> bytes:
    height, width = image.shape[:2]
    part = cut(image, grown(box, *SURROUNDINGS, width, height))[..., ::-1]
    size = (PICTURE_WIDTH_PX, max(1, round(part.shape[0] * PICTURE_WIDTH_PX / part.shape[1])))
    shown = cv2.resize(part, size, interpolation=cv2.INTER_CUBIC)
    _, data = cv2.imencode(".jpg", shown, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])
    return bytes(data)


def _figures(summary: Summary) -> str:
    rows = [
        (name, f"{100 * s.value:.1f} %", f"{100 * s.low:.1f} to {100 * s.high:.1f} %")
        for name, s in (
            ("plates found", summary.detected),
            ("texts read exactly", summary.exact),
            ("the same with O=0, I=1, Q=0", summary.folded),
        )
    ]
    rows += [
        ("expected calibration error", f"{100 * summary.calibration_error:.1f} %", ""),
        ("readings on no labelled plate", str(summary.invented), ""),
        (
            "photos with one, of those whose every plate is labelled",
            f"{summary.false_alarms} of {summary.exhaustive_photos}",
            "",
        ),
        ("processor time a photo, median", f"{summary.cpu_ms:.1f} ms", ""),
    ]
    return _rows(("", "", "95 % interval"), rows)


def _table(name: str, rows: Iterable[Slice]) -> str:
    cells = [
        (r.name, str(r.plates), str(r.found), f"{r.exact} of {r.certain}", str(r.folded))
        for r in rows
    ]
    return _rows((name, "plates", "found", "read right", "folded"), cells)


def _rows(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><tr>{top}</tr>{body}</table>"


def _diagram(bins: Iterable[Bin]) -> str:
    """Confidence to the right, share of right readings upwards; the dots should lie on the line."""
    dots = "".join(
        f'<circle cx="{20 + 260 * b.confidence:.0f}" cy="{280 - 260 * b.right:.0f}" '
        f'r="{3 + min(12, b.count**0.5):.1f}" fill="#2667b5" fill-opacity=".7">'
        f"<title>{b.count} readings: confidence {b.confidence:.2f}, right {b.right:.2f}</title>"
        "</circle>"
        for b in bins
    )
    return (
        '<svg width="300" height="305" role="img" aria-label="reliability">'
        '<rect x="20" y="20" width="260" height="260" fill="none" stroke="#999"/>'
        f'<line x1="20" y1="280" x2="280" y2="20" stroke="#999" stroke-dasharray="4"/>{dots}'
        '<text x="150" y="298" text-anchor="middle">confidence, 0 to 1</text>'
        '<text x="12" y="150" text-anchor="middle" transform="rotate(-90 12 150)">'
        "share that is right, 0 to 1</text></svg>"
    )


def _figure(miss: Miss) -> str:
    data = base64.b64encode(miss.picture).decode()
    return (
        f'<div class=miss><img alt="" src="data:image/jpeg;base64,{data}">'
        f"<span class=want>{escape(miss.wanted)}</span> "
        f"<span class=got>{escape(miss.got)}</span><br><small>{escape(miss.photo)}</small></div>"
    )
