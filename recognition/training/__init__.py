"""How the two models in ``recognition/models`` were made, one command a step.

Needs the extra ``train`` (torch, ultralytics) in an environment of its own; no serving process
imports this package.
"""
