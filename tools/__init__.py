"""What developers run: training, benchmarks, scenes, scripts. It is in no package."""
