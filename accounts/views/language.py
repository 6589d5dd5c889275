"""The language of the console: kept in the browser, and with the account of whoever is signed in."""

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.views.i18n import set_language

from accounts.models import User


@login_not_required
def choose_language(request: HttpRequest) -> HttpResponseBase:
    """Takes `language` and goes back to `next`. A language that Muster does not speak changes nothing; nor does GET."""
    language = request.POST.get("language", "")
    if isinstance(request.user, User) and language in dict(settings.LANGUAGES):
        User.objects.filter(pk=request.user.pk).update(language=language)
    return set_language(request)
