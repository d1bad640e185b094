"""``make release``: builds all artefacts of a release from a commit."""
