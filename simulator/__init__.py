"""A simulated GPU cluster behind a real Kubernetes HTTP API. Imports only pure modules of the product."""
