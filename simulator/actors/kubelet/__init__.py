"""The kubelets of all simulated nodes: pods become Running and Ready, restart, log and go away; nodes fall silent."""
