"""Renders images of licence plates whose text is known, because the plates are synthetic.

The module `plates` renders a plate. This package imports no other package of the project.
"""
