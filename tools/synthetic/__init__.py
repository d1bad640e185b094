"""Renders images of synthetic plates with known text. Imports no other package of the project."""
