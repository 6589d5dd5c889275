"""What is checked in the parts of a container and of a service."""

from typing import Any

from simulator.api.errors import FieldError, field_invalid, field_required, field_unsupported
from simulator.api.quantities import number_of
from simulator.client import Object

_PORT_RANGE = "must be between 1 and 65535, inclusive"
_SERVICE_TYPES = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"]


def container_parts(container: Object, path: str, volumes: list[Object]) -> list[FieldError]:
    """Errors of ports, environment, mounts and extended resources."""
    errors: list[FieldError] = []
    for index, port in enumerate(container.get("ports") or []):
        if not _is_port(port.get("containerPort")):
            where = f"{path}.ports[{index}].containerPort"
            errors.append(field_invalid(where, port.get("containerPort"), _PORT_RANGE))
    for index, variable in enumerate(container.get("env") or []):
        if not variable.get("name"):
            errors.append(field_required(f"{path}.env[{index}].name"))
    known = {volume.get("name") for volume in volumes}
    for index, mount in enumerate(container.get("volumeMounts") or []):
        if mount.get("name") not in known:
            where = f"{path}.volumeMounts[{index}].name"
            errors.append(FieldError(where, "FieldValueNotFound", f'Not found: "{mount.get("name")}"'))
    return errors + _extended(container.get("resources") or {}, f"{path}.resources")


def service_shape(spec: Object) -> list[FieldError]:
    """Errors of a service's type, and of ports that need names."""
    errors: list[FieldError] = []
    ports = spec.get("ports") or []
    if len(ports) > 1:
        errors += [
            field_required(f"spec.ports[{index}].name") for index, port in enumerate(ports) if not port.get("name")
        ]
    for index, port in enumerate(ports):
        target = port.get("targetPort")
        if isinstance(target, int) and not _is_port(target):
            errors.append(field_invalid(f"spec.ports[{index}].targetPort", target, _PORT_RANGE))
    if spec.get("type") not in _SERVICE_TYPES:
        errors.append(field_unsupported("spec.type", spec.get("type"), _SERVICE_TYPES))
    return errors


def _extended(resources: Object, path: str) -> list[FieldError]:
    """GPUs and their like come whole, and no more are requested than allowed."""
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    errors = []
    for kind, amounts in (("limits", limits), ("requests", requests)):
        for name, amount in amounts.items():
            if _is_extended(name) and number_of(amount) % 1:
                errors.append(field_invalid(f"{path}.{kind}[{name}]", _milli(amount), "must be an integer"))
    for name, amount in requests.items():
        if _is_extended(name) and name in limits and number_of(amount) != number_of(limits[name]):
            text = f"must be equal to {name} limit of {limits[name]}"
            errors.append(field_invalid(f"{path}.requests", str(amount), text))
    return errors


def _is_extended(name: str) -> bool:
    return "/" in name and not name.startswith("kubernetes.io/")


def _milli(amount: Any) -> str:
    return f"{int(number_of(amount) * 1000)}m"


def _is_port(number: Any) -> bool:
    return isinstance(number, int) and 1 <= number <= 65535
