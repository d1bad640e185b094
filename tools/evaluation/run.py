"""Readings as the training scores them."""

from recognition.evaluation.evaluate import prediction_of as said_of

__all__ = ["said_of"]
