"""Erasing on request: a plate, an account, and the images of what was erased."""
