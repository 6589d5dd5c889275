"""The requests whose answers are recorded from a real server, by subject. Each module has a dict `SCENARIOS`."""
