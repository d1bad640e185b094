"""Scripts that update the generated files of the repository."""
