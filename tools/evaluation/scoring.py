"""Scores what a pair of models says of labelled photos."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field

from common.plates.edit_distance import within_edits
from recognition.evaluation.outcomes import DETECTED_IOU, FOLDED, SAME_PLATE_IOU
from recognition.evaluation.outcomes import Prediction as Said
from recognition.evaluation.summary import calibration_error
from recognition.types import iou
from tools.evaluation.photos import Card, Photo

__all__ = ["DETECTED_IOU", "Figures", "Said", "score"]


@dataclass
class Figures:
    """Shares, 0–1, over ``plates`` boxed plates of which ``certain`` have a certain text.

    ``exact``, ``folded`` (O=0, I=1, Q=0) and ``one_edit`` are shares of the certain texts;
    ``calibration_error`` is the expected calibration error over ten bins;
    ``unlabelled_finds_on_exhaustive`` counts finds on photos whose every plate is boxed.
    """

    photos: int = 0
    plates: int = 0
    certain: int = 0
    detected: float = 0.0
    exact: float = 0.0
    folded: float = 0.0
    one_edit: float = 0.0
    calibration_error: float = 0.0
    unlabelled_finds_on_exhaustive: int = 0
    exhaustive_photos: int = 0
    _pairs: list[tuple[float, bool]] = field(default_factory=list)

    def as_row(self) -> Card:
        """For a JSON file: shares rounded to a tenth of a per cent."""
        rows = {k: v for k, v in asdict(self).items() if not k.startswith("_")}
        return {k: round(v, 3) if isinstance(v, float) else v for k, v in rows.items()}


def score(photos: Iterable[Photo], said: dict[str, list[Said]]) -> Figures:
    """Figures over ``photos``; ``said`` by the photo's name."""
    figures = Figures()
    for photo in photos:
        _add(figures, photo, said[photo.name])
    figures.detected /= max(1, figures.plates)
    for name in ("exact", "folded", "one_edit"):
        setattr(figures, name, getattr(figures, name) / max(1, figures.certain))
    figures.calibration_error = calibration_error(figures._pairs)
    return figures


def _add(figures: Figures, photo: Photo, said: list[Said]) -> None:
    figures.photos += 1
    if photo.exhaustive:
        figures.exhaustive_photos += 1
        figures.unlabelled_finds_on_exhaustive += sum(
            all(iou(s.box, p.box) < SAME_PLATE_IOU for p in photo.plates) for s in said
        )
    for plate in photo.plates:
        near = [s for s in said if iou(plate.box, s.box) >= SAME_PLATE_IOU]
        figures.plates += 1
        figures.detected += any(iou(plate.box, s.box) >= DETECTED_IOU for s in said)
        if plate.uncertain or not plate.text:
            continue
        figures.certain += 1
        texts = [s.text for s in (said if len(photo.plates) == 1 else near)]
        figures.exact += plate.text in texts
        folded, want = [t.translate(FOLDED) for t in texts], plate.text.translate(FOLDED)
        figures.folded += want in folded
        figures.one_edit += any(within_edits(want, t, 1) for t in folded)
        figures._pairs += [(s.confidence, s.text == plate.text) for s in near]
