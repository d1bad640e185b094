"""The bundled line reader distinguishes plates with swapped characters."""

from dataclasses import replace

import numpy as np
import pytest

from recognition.reading.crops import cut
from recognition.reading.ctc_reader import CtcReader, greedy_text
from recognition.settings import RecognizerSettings
from recognition.types import grown
from tools.training.reader_data import Sample, whole_crop
from tools.training.rendered import render_samples
from tools.training.swapped_characters import find_characters, swapped


@pytest.fixture(scope="module")
def reader() -> CtcReader:
    loaded = CtcReader.load(RecognizerSettings.model_validate({}))
    assert loaded is not None
    return loaded


@pytest.fixture(scope="module")
def plates() -> list[Sample]:
    return render_samples(60, 10, seed=4)


def test_what_is_swapped_is_read_as_it_is_said_to_be(
    plates: list[Sample], reader: CtcReader
) -> None:
    rng = np.random.default_rng(2)
    made = [
        (plate, other)
        for plate in plates
        if (found := find_characters(plate, reader)) is not None
        and (other := swapped(plate, found, rng)) is not None
    ]
    assert len(made) >= 10
    for plate, other in made:
        assert sum(a != b for a, b in zip(plate.text, other.text, strict=True)) >= 2
        assert set(other.text) <= set(plate.text)
        kinds = [[c.isdigit() for c in text] for text in (plate.text, other.text)]
        assert kinds[0] == kinds[1]
        assert other.image.shape == plate.image.shape
    assert sum(_read(other, reader) == other.text for _, other in made) >= 0.8 * len(made)


def _read(sample: Sample, reader: CtcReader) -> str:
    height, width = sample.image.shape[:2]
    box = grown(sample.box, 0.02, 0.04, width, height)
    crop = np.ascontiguousarray(cut(sample.image, box)[..., ::-1])
    alphabet = reader.card.output.alphabet
    return "".join(alphabet[c] for c in greedy_text(reader.log_probs(crop)))


def test_a_plate_that_is_read_otherwise_gives_none(plates: list[Sample], reader: CtcReader) -> None:
    known = next(one for one in plates if find_characters(one, reader) is not None)
    assert find_characters(replace(known, text=known.text[::-1] + "1"), reader) is None
    blank = whole_crop(np.full((60, 200, 3), 127, np.uint8), "AB12CDE", "lone")
    assert find_characters(blank, reader) is None


def test_labels_that_write_0_for_o_still_do(plates: list[Sample], reader: CtcReader) -> None:
    known = next(
        one for one in plates if "O" in one.text and find_characters(one, reader) is not None
    )
    alike = replace(known, text=known.text.replace("O", "0"), alike=True)
    found = find_characters(alike, reader)
    assert found is not None and found.text == known.text
    rng = np.random.default_rng(1)
    others = [other for _ in range(8) if (other := swapped(alike, found, rng)) is not None]
    assert others and all("O" not in other.text for other in others)
