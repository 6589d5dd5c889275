"""Mirrors the objects of every cluster into the database; the only writer of observed rows."""
