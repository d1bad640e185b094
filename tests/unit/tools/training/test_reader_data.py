"""How a reader in training is shown a plate."""

import numpy as np

from tools.training.reader_data import changed_crop, whole_crop

SIZE = (128, 64)


def test_a_changed_crop_has_the_readers_size_and_a_seed_gives_the_same() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (80, 200, 3), dtype=np.uint8)
    plate = whole_crop(pixels, "AB12", "br")
    shown = [changed_crop(plate, SIZE, np.random.default_rng(seed)) for seed in range(12)]
    again = [changed_crop(plate, SIZE, np.random.default_rng(seed)) for seed in range(12)]
    assert {crop.shape for crop in shown} == {(64, 128, 3)}
    assert all((a == b).all() for a, b in zip(shown, again, strict=True))
    assert len({crop.tobytes() for crop in shown}) == 12


def test_half_of_the_crops_are_as_coarse_as_small_plates() -> None:
    stripes = np.zeros((80, 400, 3), np.uint8)
    stripes[:, ::4] = stripes[:, 1::4] = 255
    plate = whole_crop(stripes, "AB12", "br")
    sharp = [
        np.abs(np.diff(crop[..., 0].astype(float), axis=1)).mean() > 20
        for crop in (changed_crop(plate, SIZE, np.random.default_rng(s)) for s in range(60))
    ]
    assert 0.2 < np.mean(sharp) < 0.75
