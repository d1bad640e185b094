"""Builds all artefacts of a release from a commit: ``make release``."""
