"""Rendered number plates: pictures whose text is known because they were drawn.

A leaf room: it imports nothing of ours. `plates` draws one plate.
"""
