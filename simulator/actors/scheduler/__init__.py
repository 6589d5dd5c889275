"""KAI's scheduler, binder, podgroup-controller and queue-controller around the pure engine `scheduling`."""
