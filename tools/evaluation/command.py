"""The evaluation as the training uses it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from recognition.engine import Recognizer
from recognition.evaluation import evaluate as evaluation
from recognition.evaluation.evaluate import PhotoResult
from recognition.evaluation.outcomes import Prediction
from recognition.evaluation.photos import Photo


@dataclass(frozen=True)
class Looked:
    """A photo with all that was found in it, before any threshold."""

    result: PhotoResult

    @property
    def photo(self) -> Photo:
        """The photo."""
        return self.result.photo

    @property
    def said(self) -> tuple[Prediction, ...]:
        """What was found and read."""
        return self.result.predictions

    @property
    def cpu_ms(self) -> float:
        """Processor time, decoding included."""
        return self.result.cpu_ms


@dataclass(frozen=True)
class Evaluation:
    """Every photo in its order."""

    looked: tuple[Looked, ...]


def evaluate(photos: Sequence[Photo], recognizer: Recognizer, *, pictures: bool) -> Evaluation:
    """Read all photos; ``pictures`` is False.

    Raises:
        OSError: a photo cannot be read.
    """
    assert not pictures
    return Evaluation(tuple(map(Looked, evaluation.evaluate(photos, recognizer))))


def write_predictions(path: Path, looked: Sequence[Looked]) -> None:
    """Write one JSON object a photo and line."""
    evaluation.write_predictions(path, [one.result for one in looked])
