"""The Grove operator: PodCliqueSet → PodCliques, scaling groups, PodGangs and gated pods.

Rules and texts are those recorded in golden/grove (Grove commit fcc3b3b) and dynamo.md §3.
"""
