"""A second opinion on unsure plates: a model that reads them as lines of text."""

from functools import cached_property

import numpy as np

from contracts.errors import MisconfiguredError
from recognition.line_texts import Texts, folded, likely_texts, line_text, settled
from recognition.model_card import Interpolation, LineReaderCard, load_card
from recognition.runtime import Model, load_model
from recognition.settings import CPU_PROVIDER, RecognizerSettings
from recognition.tensors import stretch, to_tensor
from recognition.types import BgrImage, LineLogs, Slots

SHORTEST = 4
"""Shorter lines are no texts to try."""


class SecondReader:
    """A reader of lines, loaded when it is first asked. Not for two threads at once."""

    def __init__(self, card: LineReaderCard, settings: RecognizerSettings) -> None:
        """Take a card whose file lies where the settings say."""
        self.card = card
        self._settings = settings

    @classmethod
    def load(cls, settings: RecognizerSettings) -> "SecondReader | None":
        """Check the card and the file that the settings name; None where none is wanted.

        A file of the user's own is loaded at once, so that a wrong one is told at start.

        Raises:
            MisconfiguredError: a file is missing or is not the one of its card.
        """
        if not settings.recognition_second_reader:
            return None
        reader = cls(load_card(LineReaderCard, settings.second_reader_path), settings)
        if settings.recognition_second_reader_model is not None:
            reader.look(np.zeros((reader.card.input.height, reader.card.least_width, 3), np.uint8))
        return reader

    def settle(self, slots: Slots, crop: BgrImage, pad: int) -> Slots:
        """Return what a reader's slots say together with this crop of the plate.

        ``pad`` is the place of the padding in the reader's alphabet.
        """
        logs, groups = self.look(crop), self._groups
        texts = likely_texts(slots, pad)
        own = line_text(logs)
        if SHORTEST <= len(own) <= len(slots):
            texts = tuple(dict.fromkeys((*texts, own)))
        if not texts:
            return slots
        return settled(slots, folded(logs, groups), texts, pad, self.card.weight)

    def look(self, crop: BgrImage) -> LineLogs:
        """Return what is read on a crop.

        Raises:
            MisconfiguredError: the model does not give what its card says.
        """
        image = stretch(crop, self._width(crop), self.card.input.height, Interpolation.CUBIC)
        said = self._model.run(to_tensor([image], self.card.input))
        logs = said.get(self.card.output.name)
        if logs is None or logs.shape[2:] != (len(self.card.output.alphabet) + 1,):
            raise MisconfiguredError(f"model {self.card.name} does not fit its card: its output")
        return np.asarray(logs[0], np.float64)

    @cached_property
    def _model(self) -> Model:
        # On the CPU always: runtimes of GPUs prepare anew for each width of a line.
        settings = self._settings.model_copy(update={"recognition_providers": CPU_PROVIDER})
        return load_model(
            settings.second_reader_path, settings, settings.recognition_reader_precision
        )

    @cached_property
    def _groups(self) -> Texts:
        alphabet = self.card.output.alphabet
        return tuple(tuple(map(alphabet.index, group)) for group in self.card.output.look_alikes)

    def _width(self, crop: BgrImage) -> int:
        height, width = crop.shape[:2]
        card = self.card.input
        wanted = round(card.height * int(width) / int(height) / card.stride) * card.stride
        return max(self.card.least_width, min(card.width, wanted))
