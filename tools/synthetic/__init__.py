"""Rendered licence plates: images whose text is known because they are synthetic.

Imports no other package of the project. `plates` renders one plate.
"""
