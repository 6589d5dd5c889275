"""What the core kinds check beyond the types of their fields."""

from collections.abc import Callable
from typing import Any

from simulator.api import crds, names
from simulator.api.errors import FieldError, field_forbidden, field_invalid, field_required, field_unsupported
from simulator.api.pod_parts import container_parts, service_shape
from simulator.api.store import CollectionName
from simulator.client import Object

Check = Callable[[Object, Object | None], list[FieldError]]

_EFFECTS = ["NoSchedule", "PreferNoSchedule", "NoExecute"]
_MOST_DATA = 1024 * 1024
_POD_CHANGES = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` "
    "(only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it "
    "was previously negative)"
)


def pod(new: Object, old: Object | None) -> list[FieldError]:
    spec = new.get("spec") or {}
    if old is not None:
        return _pod_update(spec, old.get("spec") or {})
    return pod_spec(spec, "spec")


def pod_spec(spec: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    containers = spec.get("containers") or []
    if not containers:
        errors.append(field_required(f"{path}.containers"))
    seen: set[str] = set()
    for field in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(field) or []):
            errors += _container(container, f"{path}.{field}[{index}]", seen)
            errors += container_parts(container, f"{path}.{field}[{index}]", spec.get("volumes") or [])
    if spec.get("restartPolicy") not in ("Always", "OnFailure", "Never"):
        allowed = ["Always", "OnFailure", "Never"]
        errors.append(field_unsupported(f"{path}.restartPolicy", spec.get("restartPolicy"), allowed))
    errors += names.labels(spec.get("nodeSelector") or {}, f"{path}.nodeSelector")
    return errors


def deployment(new: Object, old: Object | None) -> list[FieldError]:
    return _selecting(new, old)


def service(new: Object, old: Object | None) -> list[FieldError]:
    spec = new.get("spec") or {}
    errors: list[FieldError] = []
    headless = spec.get("clusterIP") == "None" or spec.get("type") == "ExternalName"
    if not spec.get("ports") and not headless:
        errors.append(field_required("spec.ports"))
    for index, port in enumerate(spec.get("ports") or []):
        number = port.get("port")
        if not isinstance(number, int) or not 1 <= number <= 65535:
            text = "must be between 1 and 65535, inclusive"
            errors.append(field_invalid(f"spec.ports[{index}].port", number, text))
    errors += service_shape(spec)
    before = ((old or {}).get("spec") or {}).get("clusterIP")
    if before and spec.get("clusterIP") != before:
        errors.append(field_invalid("spec.clusterIPs[0]", [spec.get("clusterIP")], "may not change once set"))
    return errors


def secret(new: Object, old: Object | None) -> list[FieldError]:
    errors = _keys(new) + _too_large(new, "data") + _secret_parts(new)
    if old is not None and new.get("type") != old.get("type"):
        errors.append(field_invalid("type", new.get("type"), "field is immutable"))
    return errors + _immutable_data(new, old)


def config_map(new: Object, old: Object | None) -> list[FieldError]:
    return _keys(new) + _too_large(new, "") + _immutable_data(new, old)


_REQUIRED_PARTS = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}


def _secret_parts(new: Object) -> list[FieldError]:
    data = new.get("data") or {}
    wanted = _REQUIRED_PARTS.get(str(new.get("type")), ())
    return [field_required(f"data[{key}]") for key in wanted if key not in data]


def _too_large(new: Object, path: str) -> list[FieldError]:
    """Data of a secret or config map together: at most 1 MiB."""
    bytes_in = _decoded_size if new.get("kind") == "Secret" else lambda text: len(text.encode())
    size = sum(bytes_in(text) for text in (new.get("data") or {}).values())
    size += sum(map(_decoded_size, (new.get("binaryData") or {}).values()))
    if size <= _MOST_DATA:
        return []
    return [FieldError(path or "[]", "FieldValueTooLong", f"Too long: may not be more than {_MOST_DATA} bytes")]


def _decoded_size(text: str | None) -> int:
    """Bytes of a text that is base64."""
    signs = "".join((text or "").split()).rstrip("=")
    return len(signs) * 3 // 4


def priority_class(new: Object, old: Object | None) -> list[FieldError]:
    if old is not None and new.get("value") != old.get("value"):
        return [field_forbidden("value", "may not be changed in an update.")]
    value = new.get("value", 0)
    name = str(new["metadata"].get("name", ""))
    if name.startswith("system-") and name not in ("system-cluster-critical", "system-node-critical"):
        text = (
            "priority class names with 'system-' prefix are reserved for system use only. error: "
            f"{name} is not a known system priority class"
        )
        return [field_forbidden("metadata.name", text)]
    if value > 1_000_000_000 and not name.startswith("system-"):
        text = "maximum allowed value of a user defined priority is 1000000000"
        return [field_forbidden("value", text)]
    return []


def event(new: Object, old: Object | None) -> list[FieldError]:
    involved = new.get("involvedObject") or {}
    namespace = new["metadata"].get("namespace")
    if involved.get("namespace") and involved["namespace"] != namespace:
        return [field_invalid("involvedObject.namespace", involved["namespace"], "does not match event.namespace")]
    return []


def node(new: Object, old: Object | None) -> list[FieldError]:
    errors: list[FieldError] = []
    before = ((old or {}).get("spec") or {}).get("providerID")
    if before and (new.get("spec") or {}).get("providerID") != before:
        text = 'node updates may not change providerID except from "" to valid'
        errors.append(field_forbidden("spec.providerID", text))
    for index, taint in enumerate((new.get("spec") or {}).get("taints") or []):
        path = f"spec.taints[{index}]"
        errors += [field_invalid(f"{path}.key", taint.get("key"), text)
                   for text in names.qualified_name(str(taint.get("key", "")))]  # fmt: skip
        if taint.get("effect") not in _EFFECTS:
            errors.append(field_unsupported(f"{path}.effect", taint.get("effect"), _EFFECTS))
    return errors


def binding(new: Object, old: Object | None) -> list[FieldError]:
    """RBAC bindings: the role cannot be changed."""
    if old is not None and new.get("roleRef") != old.get("roleRef"):
        reference = new.get("roleRef") or {}
        shown = {name: reference.get(name[0].lower() + name[1:], "") for name in ("APIGroup", "Kind", "Name")}
        shown["APIGroup"] = reference.get("apiGroup", "")
        return [field_invalid("roleRef", shown, "cannot change roleRef")]
    wrong = [
        field_unsupported(f"subjects[{index}].kind", subject.get("kind"), ["ServiceAccount", "User", "Group"])
        for index, subject in enumerate(new.get("subjects") or [])
        if subject.get("kind") not in ("ServiceAccount", "User", "Group")
    ]
    if wrong:
        return wrong
    if not (new.get("roleRef") or {}).get("name"):
        return [field_required("roleRef.name")]
    return []


def role(new: Object, old: Object | None) -> list[FieldError]:
    errors = []
    for index, rule in enumerate(new.get("rules") or []):
        path = f"rules[{index}]"
        if not rule.get("verbs"):
            errors.append(field_required(f"{path}.verbs", "verbs must contain at least one value"))
        if rule.get("nonResourceURLs"):
            continue
        if not rule.get("apiGroups"):
            errors.append(field_required(f"{path}.apiGroups", "resource rules must supply at least one api group"))
        if not rule.get("resources"):
            errors.append(field_required(f"{path}.resources", "resource rules must supply at least one resource"))
    return errors


def lease(new: Object, old: Object | None) -> list[FieldError]:
    seconds = (new.get("spec") or {}).get("leaseDurationSeconds")
    if seconds is not None and seconds <= 0:
        return [field_invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0")]
    return []


def custom_resource_definition(new: Object, old: Object | None) -> list[FieldError]:
    return crds.check(new)


def _pod_update(spec: Object, old: Object) -> list[FieldError]:
    if spec == old:
        return []
    if _changes_tolerations(spec, old):
        text = "existing toleration can not be modified except its tolerationSeconds"
        return [field_forbidden("spec.tolerations", text)]
    if _fixed_part(spec) == _fixed_part(old):
        return []
    text = f"pod updates may not change fields other than {_POD_CHANGES}"
    return [field_forbidden("spec", text)]


def _changes_tolerations(spec: Object, old: Object) -> bool:
    kept = [_toleration(each) for each in spec.get("tolerations") or []]
    return any(_toleration(each) not in kept for each in old.get("tolerations") or [])


def _toleration(toleration: Object) -> Object:
    return {key: value for key, value in toleration.items() if key != "tolerationSeconds"}


def _fixed_part(spec: Object) -> Object:
    changeable = ("activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds", "schedulingGates")
    part = {key: value for key, value in spec.items() if key not in changeable}
    for field in ("containers", "initContainers"):
        if field in part:
            part[field] = [{key: value for key, value in item.items() if key != "image"} for item in part[field]]
    return part


def _container(container: Any, path: str, seen: set[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    name = str(container.get("name") or "")
    if not name:
        errors.append(field_required(f"{path}.name"))
    else:
        errors += [field_invalid(f"{path}.name", name, text) for text in names.label(name)]
    if name in seen:
        errors.append(FieldError(f"{path}.name", "FieldValueDuplicate", f'Duplicate value: "{name}"'))
    seen.add(name)
    if not container.get("image"):
        errors.append(field_required(f"{path}.image"))
    resources = container.get("resources") or {}
    for kind in ("limits", "requests"):
        for resource, amount in (resources.get(kind) or {}).items():
            where = f"{path}.resources.{kind}[{resource}]"
            if str(amount).startswith("-"):
                errors.append(field_invalid(where, amount, "must be greater than or equal to 0"))
    return errors


def _selecting(new: Object, old: Object | None) -> list[FieldError]:
    spec = new.get("spec") or {}
    selector = spec.get("selector")
    template = spec.get("template") or {}
    if not selector:
        text = "`selector` does not match template `labels`"
        labels = (template.get("metadata") or {}).get("labels")
        return [field_required("spec.selector"), field_invalid("spec.template.metadata.labels", labels, text)]
    if old is not None and selector != (old.get("spec") or {}).get("selector"):
        return [field_invalid("spec.selector", selector, "field is immutable")]
    labels = (template.get("metadata") or {}).get("labels") or {}
    errors = []
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        text = "`selector` does not match template `labels`"
        errors.append(field_invalid("spec.template.metadata.labels", labels, text))
    return errors + pod_spec(template.get("spec") or {}, "spec.template.spec")


def _keys(new: Object) -> list[FieldError]:
    errors = []
    for field in ("data", "binaryData"):
        for key in new.get(field) or {}:
            if not key or len(key) > 253 or any(not (sign.isalnum() or sign in "-_.") for sign in key):
                text = (
                    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  "
                    "or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
                )
                errors.append(field_invalid(f"{field}[{key}]", key, text))
            elif key in (".", "..") or key.startswith(".."):
                text = f"must not be '{key}'" if key in (".", "..") else "must not start with '..'"
                errors.append(field_invalid(f"{field}[{key}]", key, text))
    both = set(new.get("data") or {}) & set(new.get("binaryData") or {})
    text = "duplicate of key present in binaryData"
    return errors + [field_invalid(f"data[{key}]", key, text) for key in sorted(both)]


def _immutable_data(new: Object, old: Object | None) -> list[FieldError]:
    if old is None or not old.get("immutable"):
        return []
    if not new.get("immutable"):
        return [field_forbidden("immutable", "field is immutable when `immutable` is set")]
    if new.get("data") != old.get("data"):
        return [field_forbidden("data", "field is immutable when `immutable` is set")]
    return []


CHECKS: dict[CollectionName, Check] = {
    ("", "pods"): pod,
    ("", "services"): service,
    ("", "secrets"): secret,
    ("", "configmaps"): config_map,
    ("", "events"): event,
    ("", "nodes"): node,
    ("apps", "deployments"): deployment,
    ("apps", "replicasets"): deployment,
    ("apps", "daemonsets"): deployment,
    ("scheduling.k8s.io", "priorityclasses"): priority_class,
    ("coordination.k8s.io", "leases"): lease,
    ("rbac.authorization.k8s.io", "roles"): role,
    ("rbac.authorization.k8s.io", "clusterroles"): role,
    ("rbac.authorization.k8s.io", "rolebindings"): binding,
    ("rbac.authorization.k8s.io", "clusterrolebindings"): binding,
    ("apiextensions.k8s.io", "customresourcedefinitions"): custom_resource_definition,
}
