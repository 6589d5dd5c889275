"""Names, labels and annotations that Muster writes or reads, and the validators for what enters a URL. Pure."""

import re

from core.errors import InvalidInput
from core.words import gettext as _

MANAGED_BY_LABEL = "app.kubernetes.io/managed-by"
MANAGED_BY = "muster"
# `<app_label.Model>.<id>` of the desired-state row that an object belongs to.
OWNER_LABEL = "muster.dev/owner"
WORKLOAD_LABEL = "muster.dev/workload"
PROJECT_LABEL = "muster.dev/project"

NODE_POOL_LABEL = "kai.scheduler/node-pool"
QUEUE_LABEL = "kai.scheduler/queue"
TOPOLOGY_ANNOTATION = "kai.scheduler/topology"
REQUIRED_PLACEMENT_ANNOTATION = "kai.scheduler/topology-required-placement"
PREFERRED_PLACEMENT_ANNOTATION = "kai.scheduler/topology-preferred-placement"
DYNAMO_QUEUE_ANNOTATION = "nvidia.com/kai-scheduler-queue"
HOSTNAME_LABEL = "kubernetes.io/hostname"
GPU_RESOURCE = "nvidia.com/gpu"
# KAI's place holders for devices that pods share live here: what they ask for is counted with those pods.
RESERVATION_NAMESPACE = "kai-resource-reservation"

DEFAULT_NODE_POOL = "default"

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
RFC1123_LABEL = re.compile(rf"{_LABEL}\Z")
_RFC1035_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?\Z")
RFC1123_SUBDOMAIN = re.compile(rf"{_LABEL}(\.{_LABEL})*\Z")
LABEL_NAME = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)\Z")


def is_rfc1123_label(name: str) -> bool:
    """Whether `name` can be a namespace, or any name of at most 63 characters."""
    return len(name) <= 63 and RFC1123_LABEL.match(name) is not None


def is_rfc1123_subdomain(name: str) -> bool:
    """Whether `name` can be the name of an object, at most 253 characters."""
    return len(name) <= 253 and RFC1123_SUBDOMAIN.match(name) is not None


def is_label_key(key: str) -> bool:
    """Whether `key` is a Kubernetes label key: an optional DNS prefix of ≤ 253 and "/", then a name of ≤ 63."""
    prefix, slash, name = key.rpartition("/")
    if slash and not is_rfc1123_subdomain(prefix):
        return False
    return len(name) <= 63 and LABEL_NAME.match(name) is not None


def is_label_value(value: str) -> bool:
    """Whether `value` is a Kubernetes label value: empty, or at most 63 characters."""
    return value == "" or (len(value) <= 63 and LABEL_NAME.match(value) is not None)


def check_object_name(name: str, *, field: str = "name") -> str:
    """`name`, or `InvalidInput` naming the field: the one gate before a name becomes part of a URL."""
    if not is_rfc1123_subdomain(name):
        raise InvalidInput.of(
            field,
            _("%(name)s is not a Kubernetes name") % {"name": repr(name[:80])},
            _("1 to 253 lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit"),
        )
    return name


def check_service_name(name: str, *, field: str = "name") -> str:
    """`name` where services can be named after it (RFC 1035 label), else `InvalidInput` naming the field."""
    if len(name) > 63 or _RFC1035_LABEL.match(name) is None:
        raise InvalidInput.of(
            field,
            _("%(name)s cannot name an object that services are named after") % {"name": repr(name[:80])},
            _("1 to 63 lower-case letters, digits and '-', a letter first, a letter or digit last"),
        )
    return name


def owner_label_value(label: str, pk: object) -> str:
    """The value of `OWNER_LABEL`: `topology.NetworkTopology.<id>`, at most 63 characters by construction."""
    return f"{label}.{pk}"
