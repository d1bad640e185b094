"""Renders licence plates. The text of the images is known because they are synthetic.

Imports no other package of the project. `plates` renders a plate.
"""
