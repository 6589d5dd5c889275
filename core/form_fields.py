"""Form fields that Django does not bring."""

from typing import Any

from django import forms


class LinesField(forms.CharField):
    """A text of several lines. Each ends with a line feed, whatever the browser sends."""

    widget = forms.Textarea(attrs={"rows": 2})

    def to_python(self, value: Any) -> str:
        """The text, stripped."""
        return (super().to_python(value) or "").replace("\r\n", "\n")
