"""Dynamo: graph → PodCliqueSet."""
