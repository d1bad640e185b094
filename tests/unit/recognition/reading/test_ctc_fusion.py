"""The combined result of two readers."""

import itertools

import numpy as np
import pytest

from recognition.reading.ctc_reader import (
    candidate_texts,
    ctc_log_likelihoods,
    fuse,
    greedy_text,
    merge_look_alikes,
)
from recognition.types import CtcLogProbs
from tests.unit.recognition.cards import ALPHABET, slots_of

PAD = ALPHABET.index("_")


def as_indices(text: str) -> tuple[int, ...]:
    return tuple(ALPHABET.index(character) for character in text)


def line(*places: str, sure: float = 0.98) -> CtcLogProbs:
    """Return log probabilities of positions with these characters; "-" is the blank."""
    values = np.full((len(places), 37), (1 - sure) / 36)
    for row, shown in zip(values, places, strict=True):
        row[0 if shown == "-" else ALPHABET.index(shown) + 1] = sure
    return np.asarray(np.log(values))


def test_the_likeliest_texts_come_first_and_have_no_hole() -> None:
    slots = slots_of("AB1", probability=0.7)
    texts = candidate_texts(slots, PAD)
    assert texts[0] == as_indices("AB1")
    assert len(texts) > 1
    assert all(PAD not in text for text in texts)


def test_a_line_joins_repeats_and_drops_gaps() -> None:
    assert greedy_text(line("A", "A", "-", "A", "B", "-")) == as_indices("AAB")
    assert greedy_text(line("-", "-")) == ()


def test_scores_are_the_sum_over_all_ways_to_lay_a_text_out() -> None:
    logs = np.log(np.random.default_rng(0).dirichlet(np.ones(37), 4))
    texts = (as_indices("AB"), as_indices("A"), as_indices("AA"), as_indices("BAB"))
    wanted = np.zeros(len(texts))
    classes = sorted({0, *(i + 1 for text in texts for i in text)})
    for path in itertools.product(classes, repeat=len(logs)):
        shown = tuple(i - 1 for i, _ in itertools.groupby(path) if i)
        if shown in texts:
            wanted[texts.index(shown)] += np.exp(logs[np.arange(len(path)), path].sum())
    assert np.exp(ctc_log_likelihoods(logs, texts)) == pytest.approx(wanted)


def test_look_alikes_count_alike() -> None:
    logs = merge_look_alikes(line("0", "1"), (as_indices("0OQ"), as_indices("1I")))
    scores = ctc_log_likelihoods(logs, (as_indices("01"), as_indices("OI"), as_indices("Q1")))
    assert scores == pytest.approx(np.full(3, scores[0]))


def test_a_clear_line_settles_an_unsure_place() -> None:
    slots = slots_of("AB1", probability=0.95)
    slots[1] = 0
    slots[1, ALPHABET.index("8")], slots[1, ALPHABET.index("B")] = 0.55, 0.45
    texts = candidate_texts(slots, PAD)
    together = fuse(slots, line("A", "-", "B", "1"), texts, PAD, weight=0.4)
    assert "".join(ALPHABET[i] for i in together.argmax(axis=-1)).rstrip("_") == "AB1"
    assert together.sum(axis=-1) == pytest.approx(np.ones(len(slots)))


def test_a_line_that_shows_something_else_changes_little() -> None:
    slots = slots_of("AB1", probability=0.95)
    together = fuse(slots, line("-", "-", "-"), candidate_texts(slots, PAD), PAD, weight=0.4)
    assert "".join(ALPHABET[i] for i in together.argmax(axis=-1)).rstrip("_") == "AB1"
