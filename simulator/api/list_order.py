"""In which order the items of two associative lists are merged (structured-merge-diff v6, typed/merge.go)."""

from collections.abc import Sequence


def merged_order(live: Sequence[str], applied: Sequence[str]) -> list[str]:
    """Keys of both lists: what was applied keeps its order, and so does what is there, where the two agree."""
    known, wanted = set(live), set(applied)
    shared = [key for key in applied if key in known]
    order: list[str] = []
    done: set[str] = set()
    left = right = 0
    while left < len(live) or right < len(applied):
        key = live[left] if left < len(live) else None
        other = applied[right] if right < len(applied) else None
        following = next((each for each in shared if each not in done), None)
        if key is not None and other is not None and key != other and key in wanted and following not in (None, key):
            left += 1  # shared, but not the one that is due
            continue
        if key is not None and key not in wanted:
            order.append(key)
            left += 1
            continue
        if key is not None and (key in done or key == other):
            left += 1
        if other is not None:
            order.append(other)
            done.add(other)
            right += 1
    return order
