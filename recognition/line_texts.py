"""Settles between the texts that a reader of slots thinks possible, by what a reader of lines saw.

Rules alone. Both readers number the same characters alike (see :data:`recognition.types.Slots` and
:data:`recognition.types.LineLogs`).
"""

import numpy as np

from recognition.types import FloatArray, LineLogs, Slots

Texts = tuple[tuple[int, ...], ...]
"""Texts as indices into the alphabet."""

MOST_TEXTS, MOST_A_SLOT = 24, 4
LEAST_LIKELY = 0.004
"""A character of lower probability is not tried."""

LEAST_PROBABILITY = 1e-4
LEAST_LOG = -12.0
WORST_LOSS = -20.0
"""How far the line reader may speak against a text: it may have read another line."""

_NEVER = -1e9


def likely_texts(slots: Slots, pad: int) -> Texts:
    """Return the likeliest texts, best first; without those that have a hole.

    ``pad`` is the place of the padding in the alphabet.
    """
    beam: list[tuple[tuple[int, ...], float]] = [((), 0.0)]
    for slot in slots:
        best = [int(i) for i in np.argsort(slot)[::-1][:MOST_A_SLOT] if slot[i] > LEAST_LIKELY]
        longer = [((*text, i), score + np.log(slot[i])) for text, score in beam for i in best]
        beam = sorted(longer, key=lambda row: -row[1])[:MOST_TEXTS]
    texts = (_stripped(text, pad) for text, _ in beam)
    return tuple(dict.fromkeys(text for text in texts if text and pad not in text))


def line_text(logs: LineLogs) -> tuple[int, ...]:
    """Return the text of the best classes: repeats joined, none dropped."""
    best = logs.argmax(axis=-1)
    fresh = np.concatenate([[True], best[1:] != best[:-1]])
    return tuple(int(i) - 1 for i in best[fresh & (best > 0)])


def folded(logs: LineLogs, groups: tuple[tuple[int, ...], ...]) -> LineLogs:
    """Return the logarithms with the characters of each group told apart no more."""
    logs = np.maximum(logs, LEAST_LOG)
    for group in groups:
        classes = [i + 1 for i in group]
        logs[:, classes] = np.logaddexp.reduce(logs[:, classes], axis=1, keepdims=True)
    return logs


def line_scores(logs: LineLogs, texts: Texts) -> FloatArray:
    """Return the logarithm of each text's likelihood over all ways to lay it along the places.

    **Source:** Graves et al., Connectionist temporal classification, ICML 2006.
    """
    lengths = np.array([len(text) for text in texts])
    states = np.zeros((len(texts), 2 * int(lengths.max()) + 1), int)
    for places, text in zip(states, texts, strict=True):
        places[1 : 2 * len(text) : 2] = np.array(text) + 1
    # A place may pass over the none between two characters where they differ.
    leaps = np.zeros(states.shape, bool)
    leaps[:, 2:] = (states[:, 2:] > 0) & (states[:, 2:] != states[:, :-2])
    score = np.full(states.shape, _NEVER)
    score[:, :2] = logs[0][states[:, :2]]
    for place in logs[1:]:
        leapt = np.where(leaps, _shifted(score, 2), _NEVER)
        score = np.logaddexp(np.logaddexp(score, _shifted(score, 1)), leapt) + place[states]
    rows = np.arange(len(texts))
    return np.asarray(np.logaddexp(score[rows, 2 * lengths], score[rows, 2 * lengths - 1]))


def settled(slots: Slots, logs: LineLogs, texts: Texts, pad: int, weight: float) -> Slots:
    """Return the probabilities over the texts: what both readers say together.

    The line reader's logarithms count ``weight`` times.
    """
    lines = line_scores(logs, texts)
    padded = np.full((len(texts), len(slots)), pad)
    for row, text in zip(padded, texts, strict=True):
        row[: len(text)] = text
    places = np.arange(len(slots))
    own = np.log(np.maximum(slots[places, padded], LEAST_PROBABILITY)).sum(axis=1)
    score = own + weight * np.maximum(lines - lines.max(), WORST_LOSS)
    share = np.exp(score - score.max())
    result = np.zeros(slots.shape)
    for row, part in zip(padded, share / share.sum(), strict=True):
        result[places, row] += part
    return result


def _stripped(text: tuple[int, ...], pad: int) -> tuple[int, ...]:
    end = len(text)
    while end and text[end - 1] == pad:
        end -= 1
    return text[:end]


def _shifted(score: FloatArray, by: int) -> FloatArray:
    moved = np.full(score.shape, _NEVER)
    moved[:, by:] = score[:, :-by]
    return moved
