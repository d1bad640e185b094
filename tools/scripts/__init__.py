"""Scripts that keep the repository's generated files true."""
