"""What developers run: training, evaluation, benchmarks, scenes. No serving process imports it."""
