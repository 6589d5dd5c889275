"""KAI Scheduler's rules as pure functions: no Django, no client, no clock; nothing of ours but itself."""
