"""A topology that somebody is putting together: what the page's form says, and what it would make.

Every state is in the form's fields, so the page works with and without script.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from topology.findings import Finding, find
from topology.suggestions import (
    CandidateKey,
    KeyUse,
    NodeFacts,
    Order,
    candidate_keys,
    order_of,
    propose_levels,
    read_pasted_levels,
)
from topology.tree import Tree, domain_tree


class Fields(Protocol):
    """A form's data with repeated names, as Django's QueryDict is."""

    def get(self, name: str, default: str = "", /) -> Any:
        """The last value."""
        ...

    def getlist(self, name: str, /) -> list[str]:
        """All values."""
        ...


@dataclass(frozen=True, slots=True)
class Draft:
    """`levels` as they would be saved. `pasted` is what a person pasted, where it was turned round; `doubled` are keys
    that were said more than once and stand in `levels` once: a person has to see that before it is saved."""

    name: str
    levels: tuple[str, ...]
    candidates: tuple[CandidateKey, ...]
    tree: Tree
    findings: tuple[Finding, ...]
    pasted: tuple[str, ...] = ()
    doubled: tuple[str, ...] = ()

    @property
    def places(self) -> tuple[CandidateKey, ...]:
        """Keys that can be levels, and those that were chosen all the same."""
        return tuple(c for c in self.candidates if c.use is not KeyUse.OTHER or c.key in self.levels)

    @property
    def others(self) -> tuple[CandidateKey, ...]:
        """Keys that name no place."""
        return tuple(c for c in self.candidates if c.use is KeyUse.OTHER and c.key not in self.levels)

    @property
    def notes(self) -> list[dict[str, Any]]:
        """Levels with their domains, for the list that is put in order."""
        return [{"value": key, "domains": count} for key, count in zip(self.levels, self.tree.counts, strict=True)]


def read_draft(fields: Fields, nodes: Sequence[NodeFacts], pool_keys: Sequence[str]) -> Draft:
    """What the form says; without any level said, the proposal."""
    proposal = propose_levels(nodes)
    candidates = candidate_keys(nodes, pool_keys=pool_keys, proposed=proposal)
    keys = [candidate.key for candidate in candidates]
    pasted: tuple[str, ...] = ()
    text = str(fields.get("paste", "") or "")
    if text.strip() and fields.get("use_paste"):
        said = read_pasted_levels(text, keys)
        levels = tuple(dict.fromkeys(said))
        if order_of(levels, nodes) is Order.NEAR_TO_FAR and not fields.get("as_pasted"):
            pasted, levels = levels, tuple(reversed(levels))
    elif fields.get("order_given"):
        said = tuple(fields.getlist("level"))
        levels = _ordered(fields, proposal)
    else:
        said = levels = proposal
    return Draft(
        name=str(fields.get("name", "") or "").strip(),
        levels=levels,
        candidates=candidates,
        tree=domain_tree(levels, nodes),
        findings=find(levels, nodes) if levels else (),
        pasted=pasted,
        doubled=tuple(key for key, times in Counter(said).items() if key and times > 1),
    )


def _ordered(fields: Fields, proposal: Sequence[str]) -> tuple[str, ...]:
    """The order in the form, without what was unticked or removed, with what was ticked since at its place."""
    before, now, ticked = fields.getlist("was"), fields.getlist("level"), fields.getlist("key")
    shown = fields.getlist("shown")
    levels = [key for key in dict.fromkeys(now) if key in ticked or key not in shown]
    for key in ticked:
        if key not in levels and key not in before:
            levels.insert(_place(key, levels, proposal), key)
    return tuple(levels)


def _place(key: str, levels: Sequence[str], proposal: Sequence[str]) -> int:
    """Where a newly chosen key goes: as the proposal has it, else before the host name, else last."""
    rank: Mapping[str, int] = {each: position for position, each in enumerate(proposal)}
    if key in rank:
        return next((i for i, other in enumerate(levels) if rank.get(other, -1) > rank[key]), len(levels))
    if levels and levels[-1] == "kubernetes.io/hostname":
        return len(levels) - 1
    return len(levels)
