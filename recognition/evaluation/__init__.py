"""Measures the engine on labelled photos: ``platestream evaluate``."""
