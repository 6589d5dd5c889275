"""`python -m tests.bench`: what Muster costs beside its floor and beside others, measured in one run."""
