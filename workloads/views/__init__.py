"""Pages of workloads: the list, the submission, one workload, and the acts on it."""
