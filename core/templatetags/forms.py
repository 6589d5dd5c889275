"""How a form's controls look: the attributes and wrapping that CSS and assistive technology need."""

from django import template
from django.forms import BoundField, CheckboxInput, Select, Textarea
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()


@register.filter
def is_checkbox(field: BoundField) -> bool:
    """Whether the label stands beside the control, not above it."""
    return isinstance(field.field.widget, CheckboxInput)


@register.simple_tag
def control(field: BoundField, unit: str = "") -> SafeString:
    """The field's control with its edge, its state and the ids of what describes it."""
    described = f"{field.auto_id}-error" if field.errors else f"{field.auto_id}-hint" if field.help_text else ""
    attrs: dict[str, str | bool] = {}
    if described:
        attrs["aria-describedby"] = described
    if field.errors:
        attrs["aria-invalid"] = "true"
    widget = field.field.widget
    state = " invalid" if field.errors else ""
    if isinstance(widget, CheckboxInput):
        return field.as_widget(attrs={**attrs, "class": "check"})
    if isinstance(widget, Textarea):
        return field.as_widget(attrs={**attrs, "class": f"textarea{state}"})
    if isinstance(widget, Select):
        return field.as_widget(attrs={**attrs, "class": f"select{state}"})
    suffix = format_html('<span class="unit">{}</span>', unit) if unit else ""
    return format_html('<div class="input{}">{}{}</div>', state, field.as_widget(attrs=attrs), suffix)
