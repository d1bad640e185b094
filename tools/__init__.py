"""Developer tools: training, benchmarks, synthetic plates and scripts. Not part of the package."""
