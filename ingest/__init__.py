"""Cameras in, frames out: capture, sampling, motion gate, snapshots and camera status."""
