"""Rendered number plates and road scenes: pictures whose truth is known because we drew them.

A leaf room: it imports nothing of ours. `plates` draws one plate, `road` a clip of passing cars
with the list of its true passes, `sheet` a contact sheet of plates.
"""
