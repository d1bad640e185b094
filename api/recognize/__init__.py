"""The image call: one picture in, its plates out, one credit."""
