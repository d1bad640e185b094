"""Developer tools: training, benchmarks, synthetic plates, scripts. Not part of the package."""
