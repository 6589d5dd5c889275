"""KAI's own metrics as text: the scheduler's fair shares per queue (kai-scheduler.md §5.1). Pure."""

from collections.abc import Iterable, Mapping

from clusters.operators.objects import spec_of
from scheduling.structs import Resources
from simulator.client import Object

NAMESPACE = "kai-scheduler"
PORT = 8080
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


def service_name(pool: str) -> str:
    """The scheduler of a shard is called after it; the default shard is `default`."""
    return f"kai-scheduler-{pool or 'default'}"


def fair_share_metrics(shares: Mapping[str, Resources], queues: Iterable[Object]) -> str:
    """Gauges in GPUs, cores and GB (10^9 bytes). `queue_name` is the display name where there is one."""
    shown = {queue["metadata"]["name"]: str(spec_of(queue).get("displayName") or "") for queue in queues}
    lines = []
    for resource in ("gpu", "cpu_cores", "memory_gb"):
        name = f"kai_queue_fair_share_{resource}"
        lines.append(f"# TYPE {name} gauge")
        for queue, share in sorted(shares.items()):
            display = shown.get(queue, "")
            labels = {
                "queue_name": display or queue,
                "queue_metadata_name": queue,
                "queue_display_name": display,
            }
            text = ",".join(f'{key}="{value.translate(_ESCAPES)}"' for key, value in labels.items())
            lines.append(f"{name}{{{text}}} {_amount(share, resource):g}")
    return "\n".join(lines) + "\n"


def _amount(share: Resources, resource: str) -> float:
    if resource == "gpu":
        return share.gpu
    return share.cpu / 1000 if resource == "cpu_cores" else share.memory / 1e9
