"""Recognitions: the list, its cursors, and one by id."""
