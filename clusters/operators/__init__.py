"""What Dynamo's operator, Grove and KAI's pod grouper make of a graph, as pure functions.

The simulated operators apply it, and a preview knows by it what a submission would become.
"""
