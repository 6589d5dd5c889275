"""Where the simulator answers otherwise than the recorded server, by reason. docs/simulator.md explains them.

Each reason has scenarios (`subject: name`) with the numbers of their steps.
"""

BY_REASON: dict[str, dict[str, tuple[int, ...]]] = {
    "node lifecycle controller and kubelet add a taint, a TTL annotation and zero values; nobody does so here": {
        "living: a node": (
            0,
            1,
            3,
            4,
            5,
        ),
    },
    "columns of Tables have no descriptions, and cells of kinds that only kubectl shows are simpler": {
        "reading: a table of config maps": (1,),
        "reading: a table of pods": (
            1,
            2,
        ),
        "reading: a table of widgets": (
            1,
            2,
        ),
        "reading: an empty table": (0,),
    },
    "discovery lists verbs and kinds in another order, without storage version hashes": {
        "reading: discovery of groups": (
            1,
            3,
        ),
    },
    "empty fields of an Event are left out, and items of core lists name their kind": {
        "living: events": (
            0,
            2,
            4,
            5,
        ),
    },
    "rules about fields that neither Muster nor the actors write are not checked": {
        "applying: apply with managed fields": (2,),
        "custom_resources: keys of config maps and secrets": (
            1,
            3,
            5,
            9,
            10,
        ),
        "custom_resources: names": (17,),
        "custom_resources: status is apart": (4,),
        "custom_resources: validation of the whole": (4,),
        "living: access reviews": (
            2,
            4,
        ),
        "living: delete with wrong options": (4,),
        "living: no token and a wrong one": (3,),
        "living: priority of pods": (2,),
        "reading: watches that are wrong": (0,),
        "writing: strategic merge patch": (6,),
        "writing: too large": (0,),
    },
    "it is refused with the same code in other words, or with fewer causes": {
        "applying: apply of a map list": (5,),
        "applying: apply with a version": (4,),
        "applying: apply with managed fields": (
            3,
            4,
            5,
        ),
        "applying: apply without a manager": (2,),
        "custom_resources: names": (
            4,
            14,
            16,
        ),
        "custom_resources: scale": (3,),
        "custom_resources: validation of collections": (
            9,
            10,
        ),
        "custom_resources: validation of scalars": (
            3,
            5,
            6,
            17,
        ),
        "custom_resources: validation of the whole": (
            2,
            6,
        ),
        "living: a deployment": (2,),
        "living: finalizers": (3,),
        "living: roles that are wrong": (6,),
        "reading: a continue token that is none": (
            0,
            1,
        ),
        "reading: forms that are not served": (
            0,
            1,
        ),
        "writing: JSON patch": (7,),
        "writing: a patch of an unknown type": (
            1,
            2,
        ),
        "writing: create with what is no object": (4,),
        "writing: fields of a pod that cannot change": (
            1,
            4,
        ),
        "writing: methods and paths that are not there": (6,),
        "writing: update with another uid": (2,),
    },
    "it follows from an earlier difference of the same scenario": {
        "custom_resources: keys of config maps and secrets": (
            2,
            4,
            6,
            8,
        ),
        "custom_resources: status is apart": (
            5,
            6,
            7,
        ),
        "living: a pod": (3,),
        "living: access reviews": (
            3,
            5,
        ),
        "living: binding": (
            4,
            5,
            6,
        ),
        "living: no token and a wrong one": (
            5,
            6,
        ),
        "living: roles that are wrong": (3,),
        "reading: versions of lists": (8,),
        "writing: JSON patch that fails": (6,),
        "writing: strategic merge patch": (7,),
    },
    "ownership of fields that only metadata writes to a status, or removed duplicates, touch is kept otherwise": {
        "custom_resources: status is apart": (3,),
        "living: a service": (0,),
        "living: binding": (3,),
        "living: foreground and orphan": (5,),
        "writing: merge patch": (4,),
    },
    "items of core lists name their kind; empty lists of metadata are empty, not null": {
        "reading: a list": (3,),
        "reading: an empty list": (1,),
        "reading: deleted collections": (
            3,
            5,
        ),
        "reading: field selectors": (
            2,
            6,
            7,
        ),
        "reading: field selectors of custom resources": (1,),
        "reading: label selectors": (
            4,
            11,
        ),
        "reading: label selectors that are wrong": (8,),
        "reading: pages": (
            3,
            4,
            5,
        ),
    },
    "the simulator refuses what a real server takes": {
        "living: logs of a pod that does not run": (1,),
        "reading: versions of lists": (3,),
        "writing: JSON patch that fails": (3,),
    },
    "zero values are left out, items of lists stand in another order, or a deletion answers with a Status": {
        "custom_resources: annotations, finalizers and owners": (7,),
        "custom_resources: pruning": (0,),
        "living: a pod": (2,),
        "living: access reviews": (0,),
        "living: priority of pods": (0,),
        "living: roles that are wrong": (2,),
        "writing: create with a version or a uid": (1,),
        "writing: strategic merge patch": (4,),
    },
}
DIFFERENCES: dict[tuple[str, int], str] = {
    (scenario, number): reason
    for reason, scenarios in BY_REASON.items()
    for scenario, numbers in scenarios.items()
    for number in numbers
}
