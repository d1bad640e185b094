"""Recognitions as they come, as server-sent events."""
