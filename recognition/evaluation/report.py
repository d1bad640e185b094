"""Writes the results of an evaluation as Markdown, or as HTML with an image of every error."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Final

import cv2

from recognition.evaluation.evaluate import PhotoResult
from recognition.evaluation.outcomes import PlateOutcome
from recognition.evaluation.summary import MeasuredShare, Summary
from recognition.reading.crops import cut
from recognition.reading.selection import edges_of
from recognition.types import BgrImage, Box, grown

_IMAGE_WIDTH_PX: Final = 260
_SURROUNDINGS: Final = (0.35, 0.7)
"""Margins around a plate's box, as fractions of its width and height."""

_JPEG_QUALITY: Final = 80
_STYLE: Final = (
    "body{font:15px/1.45 system-ui,sans-serif;margin:2em auto;max-width:1200px;padding:0 1em}"
    ".row{display:flex;flex-wrap:wrap;align-items:flex-start}"
    ".miss{width:260px;margin:0 12px 16px 0}.miss img{width:260px;display:block}"
    ".want{color:#06612a}.got{color:#a11}.miss small{color:#666;word-break:break-all}"
)


@dataclass(frozen=True)
class Miss:
    """An error of the engine, with an image (JPEG), the label's text and the engine's text."""

    kind: str
    photo: str
    wanted: str
    got: str
    picture: bytes


def misses(result: PhotoResult, image: BgrImage) -> list[Miss]:
    """Return a photo's errors: missed plates, wrong texts, and readings where there is no plate."""
    name = result.photo.name
    rows = [
        Miss(kind, name, one.plate.text or "?", _got(one), _picture(image, one.plate.box))
        for one in result.outcomes
        if (kind := _kind(one))
    ]
    if result.photo.exhaustive:
        rows += [
            Miss("no plate", name, "", f"{one.text} {one.confidence:.2f}", picture)
            for one in result.invented
            if (picture := _picture(image, edges_of(one)))
        ]
    return rows


def _kind(outcome: PlateOutcome) -> str:
    if outcome.exact:
        return ""
    if outcome.prediction is None:
        return "not found"
    if outcome.plate.certain:
        return "wrong text"
    return "" if outcome.found else "inaccurate box"


def _got(outcome: PlateOutcome) -> str:
    read = outcome.prediction
    return "–" if read is None else f"{read.text} {read.confidence:.2f}"


def _picture(image: BgrImage, box: Box) -> bytes:
    height, width = image.shape[:2]
    part = cut(image, grown(box, *_SURROUNDINGS, width, height))
    size = (_IMAGE_WIDTH_PX, max(1, round(part.shape[0] * _IMAGE_WIDTH_PX / part.shape[1])))
    shown = cv2.resize(part, size, interpolation=cv2.INTER_CUBIC)
    return cv2.imencode(".jpg", shown, [cv2.IMWRITE_JPEG_QUALITY, _JPEG_QUALITY])[1].tobytes()


def as_text(summary: Summary) -> str:
    """Return the results as Markdown."""
    lines = [
        f"{summary.photos} photos, {summary.plates} plates, {summary.certain} with a known text",
        f"detected {_percent(summary.detected)}, exact {_percent(summary.exact)}, O=0 I=1 folded "
        f"{_percent(summary.folded)}, calibration error {100 * summary.calibration_error:.1f} %",
        f"readings on no labelled plate: {summary.invented}; {summary.false_alarms} of "
        f"{summary.exhaustive_photos} fully labelled photos have one",
        f"CPU time per photo, including decoding: median {summary.cpu_ms:.1f} ms",
    ]
    for name, slices in summary.tables:
        lines += ["", f"| {name} | plates | found | exact | O=0 I=1 folded |", "|---" * 5 + "|"]
        lines += [
            f"| {o.name} | {o.plates} | {o.found} | {o.exact} of {o.certain} | {o.folded} |"
            for o in slices
        ]
    return "\n".join(lines)


def write_report(path: Path, title: str, summary: Summary, found: Sequence[Miss]) -> None:
    """Write a self-contained HTML page."""
    parts = [
        f"<!doctype html><meta charset=utf-8><title>{escape(title)}</title><style>{_STYLE}</style>",
        f"<h1>{escape(title)}</h1><pre>{escape(as_text(summary))}</pre>",
    ]
    for kind in dict.fromkeys(miss.kind for miss in found):
        these = [miss for miss in found if miss.kind == kind]
        parts += [f"<h2>{escape(kind)}: {len(these)}</h2><div class=row>", *map(_figure, these)]
        parts.append("</div>")
    path.write_text("\n".join(parts), encoding="utf-8")


def _percent(share: MeasuredShare) -> str:
    return f"{100 * share.value:.1f} % ({100 * share.low:.1f}–{100 * share.high:.1f})"


def _figure(miss: Miss) -> str:
    data = base64.b64encode(miss.picture).decode()
    return (
        f'<div class=miss><img alt="" src="data:image/jpeg;base64,{data}">'
        f"<span class=want>{escape(miss.wanted)}</span> "
        f"<span class=got>{escape(miss.got)}</span><br><small>{escape(miss.photo)}</small></div>"
    )
