"""Trains the models in ``recognition/models``. Each module with a command is one step.

Requires the ``train`` extra (torch, ultralytics) in a separate environment. No serving process
imports this package.
"""
