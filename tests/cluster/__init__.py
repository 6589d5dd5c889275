"""A real Kubernetes control plane on loopback: etcd, kube-apiserver, kube-controller-manager and KWOK as processes."""
