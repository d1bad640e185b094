"""All that a release consists of, made of what is committed: ``make release``."""
