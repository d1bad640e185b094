"""Cameras: what clients register and ingest workers open."""
