"""Developer tools, not part of the package: training, benchmarks, synthetic plates and scripts."""
