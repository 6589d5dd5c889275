"""Shapes of what an API server answers: an answer of another shape is not an API server's.

What it serves is read from its discovery: aggregated (Kubernetes ≥ 1.26), or a document per group and version.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from clusters.kube.gateway import Served

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
ROOTS = ("/api", "/apis")


class Meta(msgspec.Struct, gc=False):
    """As far as every object has it."""

    name: str


class AnyObject(msgspec.Struct, gc=False):
    """What every object has; a Status has no name."""

    metadata: Meta


class ServerVersion(msgspec.Struct, gc=False, rename="camel"):
    """Of `/version`."""

    git_version: str


class ReviewStatus(msgspec.Struct, gc=False, rename="camel"):
    """Of a SelfSubjectAccessReview and of a SelfSubjectRulesReview."""

    allowed: bool = False
    incomplete: bool = False
    resource_rules: list[dict[str, Any]] | None = None


class Review(msgspec.Struct, gc=False):
    """Either review."""

    status: ReviewStatus


class _Named(msgspec.Struct, gc=False):
    name: str = ""


class _Resource(msgspec.Struct, gc=False):
    resource: str


class _Version(msgspec.Struct, gc=False):
    version: str
    resources: list[_Resource] | None = None


class _Group(msgspec.Struct, gc=False):
    metadata: _Named
    versions: list[_Version] | None = None


class Aggregated(msgspec.Struct, gc=False, tag_field="kind", tag="APIGroupDiscoveryList"):
    """All groups with their resources (`apidiscovery.k8s.io/v2`)."""

    items: list[_Group] | None = None


class CoreVersions(msgspec.Struct, gc=False, tag_field="kind", tag="APIVersions"):
    """The versions of the core group."""

    versions: list[str] | None = None


class _PlainGroup(msgspec.Struct, gc=False, rename="camel"):
    name: str
    versions: list[_Version]
    preferred_version: _Version


class PlainGroups(msgspec.Struct, gc=False, tag_field="kind", tag="APIGroupList"):
    """The other groups, without their resources."""

    groups: list[_PlainGroup] | None = None


class PlainResources(msgspec.Struct, gc=False, tag_field="kind", tag="APIResourceList"):
    """The resources of one group and version, with their subresources (`pods/log`)."""

    resources: list[_Named] | None = None


Root = Aggregated | CoreVersions | PlainGroups


def add_aggregated(answer: Aggregated, found: Served) -> None:
    """Note what `answer` serves."""
    for group in answer.items or ():
        resources = found.setdefault(group.metadata.name, {})
        for version in group.versions or ():
            for resource in version.resources or ():
                resources.setdefault(resource.resource, []).append(version.version)


def plain_documents(answer: CoreVersions | PlainGroups) -> Iterator[tuple[str, str, str]]:
    """(group, version, path of its resources), the preferred version of each group first."""
    if isinstance(answer, CoreVersions):
        yield from (("", version, f"/api/{version}") for version in answer.versions or ())
        return
    for group in answer.groups or ():
        preferred = group.preferred_version.version
        for version in sorted((each.version for each in group.versions), key=lambda each: each != preferred):
            yield group.name, version, f"/apis/{group.name}/{version}"


def add_plain(group: str, version: str, answer: PlainResources, found: Served) -> None:
    """Note what one document of a group and version serves."""
    for resource in answer.resources or ():
        if "/" not in resource.name:
            found.setdefault(group, {}).setdefault(resource.name, []).append(version)
