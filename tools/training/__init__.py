"""Trains the models in ``recognition/models``, with one command per step.

Requires the ``train`` extra (torch, ultralytics) in a separate environment. No serving process
imports this package.
"""
