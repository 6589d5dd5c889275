"""One contract of the Kubernetes API, kept by two servers: the simulator's API half and a real kube-apiserver."""
