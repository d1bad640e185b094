"""Trains the models in ``recognition/models``, with one command per step.

Requires the extra ``train`` (torch, ultralytics) in a separate environment. No serving process
imports this package.
"""
