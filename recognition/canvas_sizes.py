"""To what size an image is brought for a detector."""

from recognition.model_card import InputCard
from recognition.settings import RecognizerSettings
from recognition.tensors import place, trimmed


class CanvasSizes:
    """The sizes that a model card and the settings ask for. All in pixels, width before height."""

    def __init__(self, card: InputCard, settings: RecognizerSettings) -> None:
        """Take how the model is fed; the settings may override the card's size."""
        self._stride = card.stride
        # Runtimes of GPUs prepare themselves anew for each size, for seconds to minutes.
        self.are_free = card.dynamic_size and settings.runs_on_cpu
        side = settings.recognition_input_size if card.dynamic_size else None
        side = None if side is None else -(-side // card.stride) * card.stride
        self._width, self._height = side or card.width, side or card.height
        self._largest = None if settings.recognition_input_size else card.largest_side

    def canvas(self, width: int, height: int, largest_px: int | None = None) -> tuple[int, int]:
        """Return width and height of the canvas that an image is laid on.

        A model of one size has that canvas always. Where it takes any size, the canvas has no grey
        beside a wide or tall image (with it a 1080p frame took the detector of 2026-11-21 45 ms in
        place of 26, one thread), and the image comes to ``largest_px`` a side if that is given.
        """
        if not self.are_free:
            return self._width, self._height
        box = self._box(width, height) if largest_px is None else (largest_px, largest_px)
        return trimmed(width, height, *box, self._stride)

    def scale(self, width: int, height: int) -> float:
        """Return the scale to which an image comes on its canvas: pixels there by pixels here."""
        return place(width, height, *self._box(width, height)).scale

    def _box(self, width: int, height: int) -> tuple[int, int]:
        """What the image must fit in: its own size, within what the card says."""
        if self._largest is None or not self.are_free:
            return self._width, self._height
        side = -(-min(max(width, height), self._largest) // self._stride) * self._stride
        return max(self._width, side), max(self._height, side)
