"""Where the simulator answers otherwise than the recorded server, and why. docs/simulator.md has the reasons.

The key is subject, scenario and the step's number.
"""

DIFFERENCES: dict[tuple[str, str, int], str] = {}
