"""Shapes of objects of others, and of the installation's settings."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType

from core.api.limits import limited
from core.api.shapes import Shape
from core.tenant_settings import SETTINGS

Uid = Annotated[str, Meta(examples=["0f6d3f4e-0000-4000-8000-0000000000d1"])]
ObjectKind = Annotated[str, Meta(examples=["Queue"])]
ObjectNamespace = Annotated[str, Meta(description="Empty for what has none.", examples=[""])]
ObjectName = Annotated[str, Meta(examples=["research"])]
Maker = Annotated[str, Meta(examples=["kubectl"])]
Effects = Annotated[list[str], Meta(examples=[["The namespace research, where its pods are, is used as it is."]])]


class CandidateShape(Shape):
    """An object of somebody else: what it would become, or why it cannot (`blocked`); `effects` come with it."""

    uid: Uid
    kind: ObjectKind
    namespace: ObjectNamespace
    name: ObjectName
    made_by: Maker
    becomes: Annotated[str, Meta(examples=["Department"])]
    blocked: Annotated[str, Meta(examples=[""])]
    effects: Effects


class AdoptionShape(Shape):
    """An object that was taken over. `owner`: the row that keeps it."""

    uid: Uid
    kind: ObjectKind
    namespace: ObjectNamespace
    name: ObjectName
    made_by: Maker
    owner: Annotated[str, Meta(examples=["organizations.Department.4"])]
    state: Literal["Adopting", "Adopted", "Releasing"]


class Adoptions(Shape):
    """Objects of others in one cluster, and those that were taken over."""

    candidates: list[CandidateShape]
    adoptions: list[AdoptionShape]


class AdoptionChoice(Shape):
    """Uids of objects to take over, and of those to give back as they were."""

    adopt: list[Uid] | UnsetType = UNSET
    release: list[Uid] | UnsetType = UNSET


class FieldChangeShape(Shape):
    """A field that taking over would change, and who owns it."""

    field: Annotated[str, Meta(examples=["spec.resources.gpu.quota"])]
    now: Annotated[Any, Meta(examples=[8])]
    then: Annotated[Any, Meta(examples=[16])]
    owners: Annotated[list[str], Meta(examples=[["kubectl"]])]


class AdoptionResult(Shape):
    """What became of one object. A dry run says what would change (`changes`, `effects`) instead of `accepted`."""

    uid: Uid
    name: ObjectName
    message: Annotated[str, Meta(examples=[""])]
    accepted: bool | UnsetType = UNSET
    changes: list[FieldChangeShape] | UnsetType = UNSET
    effects: Effects | UnsetType = UNSET


class AdoptionResults(Shape):
    """One for each object that was named."""

    results: list[AdoptionResult]


class SettingShape(Shape):
    """A setting of the installation; its value is text."""

    key: str
    value: str
    label: str
    category: str
    type: str
    stage: str
    source: str
    active: bool


class SettingChange(Shape):
    """A setting to turn on or off."""

    key: Annotated[str, limited(enum=list(SETTINGS))]
    value: bool | Annotated[str, limited(enum=["false", "true"])]


class SettingChanged(Shape):
    """What it is now."""

    msg: str
