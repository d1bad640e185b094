"""Owners and their credentials."""
