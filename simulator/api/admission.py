"""Admission: what the API server's plugins and the operators' webhooks change or refuse."""

from typing import TYPE_CHECKING

from simulator.api.requests import WriteOptions
from simulator.api.resources import Resource
from simulator.client import Object

if TYPE_CHECKING:
    from simulator.api.server import Server


def mutate(server: "Server", resource: Resource, new: Object, old: Object | None, options: WriteOptions) -> Object:
    return new


def validate(server: "Server", resource: Resource, new: Object, old: Object | None, options: WriteOptions) -> list[str]:
    """Warnings; raises what a webhook refuses."""
    return []


def validate_delete(server: "Server", resource: Resource, old: Object) -> None:
    """Raises what a webhook refuses to delete."""
