"""The making of the models in ``recognition/models``, one command a step.

Needs the extra ``train`` (torch, ultralytics) in an environment of its own; no serving process
imports this package.
"""
