"""Request bodies in Kubernetes' protobuf, as `kubectl create …` and `kubectl auth can-i` send them, to plain objects.

Only the messages that kubectl creates are known (field numbers: `generated.proto` of k8s.io/api); answers are always
JSON, which the same clients accept.
"""

import base64
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import cache
from typing import Any, NamedTuple

from core.moments import rfc3339
from simulator.api.errors import bad_request
from simulator.client import Object

MAGIC = b"k8s\x00"
# `name=number` is a string; after a colon: i int, i* int that may be 0, b bool, b* bool that may be false, y bytes,
# t time, x int or string, q quantity, map, mapy, mapq (values string, bytes, quantity), else a message; [] repeats.
_MESSAGES = {
    "ObjectMeta": "name=1 generateName=2 namespace=3 uid=5 resourceVersion=6 generation:i=7 creationTimestamp:t=8 "
    "labels:map=11 annotations:map=12 ownerReferences:OwnerReference[]=13 finalizers:[]=14",
    "OwnerReference": "kind=1 name=3 uid=4 apiVersion=5 controller:b*=6 blockOwnerDeletion:b*=7",
    "LabelSelector": "matchLabels:map=1 matchExpressions:LabelSelectorRequirement[]=2",
    "LabelSelectorRequirement": "key=1 operator=2 values:[]=3",
    "Namespace": "metadata:ObjectMeta=1",
    "ConfigMap": "metadata:ObjectMeta=1 data:map=2 binaryData:mapy=3 immutable:b*=4",
    "Secret": "metadata:ObjectMeta=1 data:mapy=2 type=3 stringData:map=4 immutable:b*=5",
    "ServiceAccount": "metadata:ObjectMeta=1 secrets:ObjectReference[]=2 imagePullSecrets:LocalObjectReference[]=3 "
    "automountServiceAccountToken:b*=4",
    "ObjectReference": "kind=1 namespace=2 name=3 uid=4 apiVersion=5 resourceVersion=6 fieldPath=7",
    "LocalObjectReference": "name=1",
    "Service": "metadata:ObjectMeta=1 spec:ServiceSpec=2",
    "ServiceSpec": "ports:ServicePort[]=1 selector:map=2 clusterIP=3 type=4 externalIPs:[]=5 sessionAffinity=7 "
    "loadBalancerIP=8 externalName=10 externalTrafficPolicy=11 publishNotReadyAddresses:b=13 ipFamilyPolicy=17 "
    "clusterIPs:[]=18 ipFamilies:[]=19 internalTrafficPolicy=22",
    "ServicePort": "name=1 protocol=2 port:i=3 targetPort:x=4 nodePort:i=5 appProtocol=6",
    "ResourceQuota": "metadata:ObjectMeta=1 spec:ResourceQuotaSpec=2",
    "ResourceQuotaSpec": "hard:mapq=1 scopes:[]=2",
    "Deployment": "metadata:ObjectMeta=1 spec:DeploymentSpec=2",
    "DeploymentSpec": "replicas:i*=1 selector:LabelSelector=2 template:PodTemplateSpec=3 "
    "strategy:DeploymentStrategy=4 minReadySeconds:i=5 revisionHistoryLimit:i*=6 paused:b=7 "
    "progressDeadlineSeconds:i*=9",
    "DeploymentStrategy": "type=1 rollingUpdate:RollingUpdateDeployment=2",
    "RollingUpdateDeployment": "maxUnavailable:x=1 maxSurge:x=2",
    "PodTemplateSpec": "metadata:ObjectMeta=1 spec:PodSpec=2",
    "Pod": "metadata:ObjectMeta=1 spec:PodSpec=2",
    "PodSpec": "containers:Container[]=2 restartPolicy=3 terminationGracePeriodSeconds:i*=4 "
    "activeDeadlineSeconds:i*=5 dnsPolicy=6 nodeSelector:map=7 serviceAccountName=8 serviceAccount=9 nodeName=10 "
    "hostNetwork:b=11 imagePullSecrets:LocalObjectReference[]=15 hostname=16 subdomain=17 schedulerName=19 "
    "initContainers:Container[]=20 automountServiceAccountToken:b*=21 tolerations:Toleration[]=22 "
    "priorityClassName=24",
    "Container": "name=1 image=2 command:[]=3 args:[]=4 workingDir=5 ports:ContainerPort[]=6 env:EnvVar[]=7 "
    "resources:ResourceRequirements=8 terminationMessagePath=13 imagePullPolicy=14 stdin:b=16 stdinOnce:b=17 "
    "tty:b=18 terminationMessagePolicy=20",
    "ContainerPort": "name=1 hostPort:i=2 containerPort:i=3 protocol=4 hostIP=5",
    "EnvVar": "name=1 value=2",
    "ResourceRequirements": "limits:mapq=1 requests:mapq=2",
    "Toleration": "key=1 operator=2 value=3 effect=4 tolerationSeconds:i*=5",
    "Job": "metadata:ObjectMeta=1 spec:JobSpec=2",
    "JobSpec": "parallelism:i*=1 completions:i*=2 activeDeadlineSeconds:i*=3 selector:LabelSelector=4 "
    "manualSelector:b*=5 template:PodTemplateSpec=6 backoffLimit:i*=7",
    "PriorityClass": "metadata:ObjectMeta=1 value:i=2 globalDefault:b=3 description=4 preemptionPolicy=5",
    "Role": "metadata:ObjectMeta=1 rules:PolicyRule[]=2",
    "ClusterRole": "metadata:ObjectMeta=1 rules:PolicyRule[]=2",
    "PolicyRule": "verbs:[]=1 apiGroups:[]=2 resources:[]=3 resourceNames:[]=4 nonResourceURLs:[]=5",
    "RoleBinding": "metadata:ObjectMeta=1 subjects:Subject[]=2 roleRef:RoleRef=3",
    "ClusterRoleBinding": "metadata:ObjectMeta=1 subjects:Subject[]=2 roleRef:RoleRef=3",
    "Subject": "kind=1 apiGroup=2 name=3 namespace=4",
    "RoleRef": "apiGroup=1 kind=2 name=3",
    "SelfSubjectAccessReview": "metadata:ObjectMeta=1 spec:SelfSubjectAccessReviewSpec=2",
    "SelfSubjectAccessReviewSpec": "resourceAttributes:ResourceAttributes=1 "
    "nonResourceAttributes:NonResourceAttributes=2",
    "SubjectAccessReview": "metadata:ObjectMeta=1 spec:SubjectAccessReviewSpec=2",
    "LocalSubjectAccessReview": "metadata:ObjectMeta=1 spec:SubjectAccessReviewSpec=2",
    "SubjectAccessReviewSpec": "resourceAttributes:ResourceAttributes=1 "
    "nonResourceAttributes:NonResourceAttributes=2 user=3 groups:[]=4 uid=6",
    "ResourceAttributes": "namespace=1 verb=2 group=3 version=4 resource=5 subresource=6 name=7",
    "NonResourceAttributes": "path=1 verb=2",
    "SelfSubjectRulesReview": "metadata:ObjectMeta=1 spec:SelfSubjectRulesReviewSpec=2",
    "SelfSubjectRulesReviewSpec": "namespace=1",
    "SelfSubjectReview": "metadata:ObjectMeta=1",
    "TokenReview": "metadata:ObjectMeta=1 spec:TokenReviewSpec=2",
    "TokenReviewSpec": "token=1 audiences:[]=2",
    "TokenRequest": "metadata:ObjectMeta=1 spec:TokenRequestSpec=2",
    "TokenRequestSpec": "audiences:[]=1 boundObjectRef:BoundObjectReference=3 expirationSeconds:i*=4",
    "BoundObjectReference": "kind=1 apiVersion=2 name=3 uid=4",
    "Eviction": "metadata:ObjectMeta=1 deleteOptions:DeleteOptions=2",
    "DeleteOptions": "gracePeriodSeconds:i*=1 preconditions:Preconditions=2 orphanDependents:b*=3 "
    "propagationPolicy=4 dryRun:[]=5",
    "Preconditions": "uid=1 resourceVersion=2",
    "Binding": "metadata:ObjectMeta=1 target:ObjectReference=2",
}


class Field(NamedTuple):
    name: str
    type: str
    repeated: bool


def decode(raw: bytes) -> Object:
    """A body that begins with `MAGIC`; raises 400 for a kind that is not known and for broken bytes."""
    try:
        envelope = dict(_fields(raw[len(MAGIC) :]))
        identity = dict(_fields(_bytes(envelope[1])))
        version, kind = _bytes(identity.get(1, b"")).decode(), _bytes(identity.get(2, b"")).decode()
        if kind not in _MESSAGES:
            raise bad_request(f'no kind "{kind}" is known in protobuf; send JSON')
        return {"apiVersion": version, "kind": kind, **_message(kind, _bytes(envelope.get(2, b"")))}
    except (KeyError, IndexError, UnicodeDecodeError) as error:
        raise bad_request(f"the protobuf body cannot be read: {error}") from error


@cache
def _layout(message: str) -> dict[int, Field]:
    layout: dict[int, Field] = {}
    for word in _MESSAGES[message].split():
        described, _, number = word.partition("=")
        name, _, kind = described.partition(":")
        layout[int(number)] = Field(name, kind.removesuffix("[]"), kind.endswith("[]"))
    return layout


def _message(name: str, raw: bytes) -> Object:
    layout = _layout(name)
    result: Object = {}
    for number, value in _fields(raw):
        field = layout.get(number)
        if field is None:
            continue
        if field.type.startswith("map"):
            key, item = _entry(field.type, _bytes(value))
            result.setdefault(field.name, {})[key] = item
        elif field.repeated:
            result.setdefault(field.name, []).append(_value(field.type, value))
        else:
            read = _value(field.type, value)
            if read not in ("", None) and (field.type.endswith("*") or read not in (0, False)):
                result[field.name] = read
    return result


def _entry(kind: str, raw: bytes) -> tuple[str, Any]:
    parts = dict(_fields(raw))
    return _bytes(parts.get(1, b"")).decode(), _value(kind.removeprefix("map"), parts.get(2, b""))


def _value(kind: str, value: bytes | int) -> Any:
    reader = _READERS.get(kind.removesuffix("*"))
    return _message(kind, _bytes(value)) if reader is None else reader(value)


def _int_or_string(value: bytes | int) -> int | str:
    parts = dict(_fields(_bytes(value)))
    return _text(parts.get(3, b"")) if parts.get(1) else _signed(parts.get(2, 0))


def _quantity(value: bytes | int) -> str:
    return _text(dict(_fields(_bytes(value))).get(1, b""))


def _text(value: bytes | int) -> str:
    return _bytes(value).decode()


def _time(value: bytes | int) -> str | None:
    seconds = dict(_fields(_bytes(value))).get(1)
    if seconds is None:
        return None
    return rfc3339(datetime.fromtimestamp(_signed(seconds), UTC))


def _fields(raw: bytes) -> Iterator[tuple[int, bytes | int]]:
    position = 0
    while position < len(raw):
        tag, position = _varint(raw, position)
        wire = tag & 7
        if wire == 0:
            number, position = _varint(raw, position)
            yield tag >> 3, number
            continue
        size, position = _varint(raw, position) if wire == 2 else ({1: 8, 5: 4}[wire], position)
        if position + size > len(raw):
            raise IndexError("it ends too early")
        yield tag >> 3, raw[position : position + size]
        position += size


def _varint(raw: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = raw[position]
        value |= (byte & 0x7F) << shift
        position += 1
        shift += 7
        if not byte & 0x80:
            return value, position


def _signed(value: bytes | int) -> int:
    number = value if isinstance(value, int) else 0
    return number - 2**64 if number >= 2**63 else number


def _bytes(value: bytes | int) -> bytes:
    return value if isinstance(value, bytes) else b""


_READERS: dict[str, Callable[[bytes | int], Any]] = {
    "": _text,
    "i": _signed,
    "b": bool,
    "y": lambda value: base64.b64encode(_bytes(value)).decode(),
    "t": _time,
    "q": _quantity,
    "x": _int_or_string,
}
