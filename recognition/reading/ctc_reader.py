"""Reads uncertain plates as lines of text, with a CTC model (the second reader).

The model's log probabilities are fused with the first reader's slots. Both readers use the same
characters in the same order (see ``Slots`` and ``CtcLogProbs`` in :mod:`recognition.types`).
"""

from functools import cached_property
from pathlib import Path

import numpy as np

from common.errors import MisconfiguredError
from recognition.models.model_card import CtcReaderCard, load_card
from recognition.models.runtime import Model, load_model
from recognition.models.tensors import stretch, to_tensor
from recognition.settings import CPU_PROVIDER, RecognizerSettings
from recognition.types import BgrImage, CtcLogProbs, FloatArray, Slots

Texts = tuple[tuple[int, ...], ...]
"""Texts, as indices into the alphabet."""

MAX_TEXTS, MAX_CHARACTERS_PER_SLOT = 24, 4
MIN_CANDIDATE_PROBABILITY = 0.004
"""Minimum probability of a candidate character."""

MIN_PROBABILITY = 1e-4
MIN_LOG_PROBABILITY = -12.0
MIN_LOG_RATIO = -20.0
"""Limits the CTC reader's evidence against a text, because it may have read another line."""

_NEVER = -1e9


def candidate_texts(slots: Slots, pad: int) -> Texts:
    """Return the most likely texts without empty slots between characters, best first.

    ``pad`` is the index of the padding in the alphabet.
    """
    beam: list[tuple[tuple[int, ...], float]] = [((), 0.0)]
    for slot in slots:
        best = [
            int(i)
            for i in np.argsort(slot)[::-1][:MAX_CHARACTERS_PER_SLOT]
            if slot[i] > MIN_CANDIDATE_PROBABILITY
        ]
        longer = [((*text, i), score + np.log(slot[i])) for text, score in beam for i in best]
        beam = sorted(longer, key=lambda row: -row[1])[:MAX_TEXTS]
    filled = [(text, tuple(i for i in text if i != pad)) for text, _ in beam]
    return tuple(dict.fromkeys(own for text, own in filled if own and text[: len(own)] == own))


def greedy_text(logs: CtcLogProbs) -> tuple[int, ...]:
    """Return the text of the steps' best classes, with repeats and blanks removed."""
    best = logs.argmax(axis=-1)
    fresh = np.concatenate([[True], best[1:] != best[:-1]])
    return tuple(int(i) - 1 for i in best[fresh & (best > 0)])


def merge_look_alikes(logs: CtcLogProbs, groups: tuple[tuple[int, ...], ...]) -> CtcLogProbs:
    """Return the logarithms, with the same likelihood for all characters of a group."""
    logs = np.maximum(logs, MIN_LOG_PROBABILITY)
    for group in groups:
        classes = [i + 1 for i in group]
        logs[:, classes] = np.logaddexp.reduce(logs[:, classes], axis=1, keepdims=True)
    return logs


def ctc_log_likelihoods(logs: CtcLogProbs, texts: Texts) -> FloatArray:
    """Return the logarithm of each text's likelihood, over all its alignments with the steps.

    **Source:** Graves et al., Connectionist temporal classification, ICML 2006.
    """
    lengths = np.array([len(text) for text in texts])
    states = np.zeros((len(texts), 2 * int(lengths.max()) + 1), int)
    for places, text in zip(states, texts, strict=True):
        places[1 : 2 * len(text) : 2] = np.array(text) + 1
    # The blank between two different characters can be skipped.
    leaps = np.zeros(states.shape, bool)
    leaps[:, 2:] = (states[:, 2:] > 0) & (states[:, 2:] != states[:, :-2])
    score = np.full(states.shape, _NEVER)
    score[:, :2] = logs[0][states[:, :2]]
    for place in logs[1:]:
        leapt = np.where(leaps, _shifted(score, 2), _NEVER)
        score = np.logaddexp(np.logaddexp(score, _shifted(score, 1)), leapt) + place[states]
    rows = np.arange(len(texts))
    return np.asarray(np.logaddexp(score[rows, 2 * lengths], score[rows, 2 * lengths - 1]))


def fuse(slots: Slots, logs: CtcLogProbs, texts: Texts, pad: int, weight: float) -> Slots:
    """Return the mean of the texts as slots, weighted by the texts' likelihood in both readers.

    The CTC reader's logarithms are multiplied by ``weight``.
    """
    lines = ctc_log_likelihoods(logs, texts)
    padded = np.full((len(texts), len(slots)), pad)
    for row, text in zip(padded, texts, strict=True):
        row[: len(text)] = text
    places = np.arange(len(slots))
    own = np.log(np.maximum(slots[places, padded], MIN_PROBABILITY)).sum(axis=1)
    score = own + weight * np.maximum(lines - lines.max(), MIN_LOG_RATIO)
    share = np.exp(score - score.max())
    result = np.zeros(slots.shape)
    for row, part in zip(padded, share / share.sum(), strict=True):
        result[places, row] += part
    return result


def _shifted(score: FloatArray, by: int) -> FloatArray:
    moved = np.full(score.shape, _NEVER)
    moved[:, by:] = score[:, :-by]
    return moved


MIN_TEXT_LENGTH = 4
"""Minimum number of characters of a candidate line."""


class CtcReader:
    """A reader of text lines. The model is loaded on first use. Not thread-safe."""

    def __init__(self, card: CtcReaderCard, settings: RecognizerSettings) -> None:
        """Prepare a model with its card. The model is loaded at the first crop."""
        self.card = card
        self._settings = settings

    @classmethod
    def load(cls, settings: RecognizerSettings) -> "CtcReader | None":
        """Return the configured reader after checking its card and file, or None if disabled.

        A custom model is loaded immediately, so that an invalid model is an error at startup.

        Raises:
            MisconfiguredError: a file is missing or does not match the card.
        """
        if not settings.recognition_second_reader:
            return None
        reader = cls(load_card(CtcReaderCard, settings.second_reader_path), settings)
        if isinstance(settings.recognition_second_reader, Path):
            reader.log_probs(
                np.zeros((reader.card.input.height, reader.card.least_width, 3), np.uint8)
            )
        return reader

    def fuse(self, slots: Slots, crop: BgrImage, pad: int) -> Slots:
        """Return the first reader's slots, fused with the text of this crop of the plate.

        ``pad`` is the index of the padding in the first reader's alphabet.
        """
        logs, groups = self.log_probs(crop), self._groups
        texts = candidate_texts(slots, pad)
        own = greedy_text(logs)
        if MIN_TEXT_LENGTH <= len(own) <= len(slots):
            texts = tuple(dict.fromkeys((*texts, own)))
        if not texts:
            return slots
        return fuse(slots, merge_look_alikes(logs, groups), texts, pad, self.card.weight)

    def log_probs(self, crop: BgrImage) -> CtcLogProbs:
        """Return the log probabilities of a crop's characters.

        Raises:
            MisconfiguredError: the model's output differs from the card.
        """
        image = stretch(crop, self._width(crop), self.card.input.height, "cubic")
        outputs = self._model.run(to_tensor([image], self.card.input))
        logs = outputs.get(self.card.output.name)
        if logs is None or logs.shape[2:] != (len(self.card.output.alphabet) + 1,):
            message = f"model {self.card.name} does not match its model card: unexpected output"
            raise MisconfiguredError(message)
        return np.asarray(logs[0], np.float64)

    @cached_property
    def _model(self) -> Model:
        # Always use the CPU: GPU runtimes prepare again for each width of a line.
        settings = self._settings.model_copy(update={"recognition_providers": CPU_PROVIDER})
        return load_model(settings.second_reader_path, settings, settings.precision)

    @cached_property
    def _groups(self) -> Texts:
        alphabet = self.card.output.alphabet
        return tuple(tuple(map(alphabet.index, group)) for group in self.card.output.look_alikes)

    def _width(self, crop: BgrImage) -> int:
        height, width = crop.shape[:2]
        card = self.card.input
        wanted = round(card.height * int(width) / int(height) / card.stride) * card.stride
        return max(self.card.least_width, min(card.width, wanted))
