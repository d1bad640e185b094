"""Frames to recognitions: one Faust app that reads plates, follows them and settles each pass."""
