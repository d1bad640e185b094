"""Labelled photos and figures as the training uses them."""
