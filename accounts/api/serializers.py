"""The bodies of the token endpoints, for the schema. They are read by hand, since clients spell keys differently."""

from typing import Any

from rest_framework import serializers


class TokenRequestSerializer(serializers.Serializer[Any]):
    """Keys are matched without regard to case."""

    grantType = serializers.ChoiceField(["password", "client_credentials", "app_token", "refresh_token"])
    username = serializers.CharField(required=False)
    password = serializers.CharField(required=False)
    clientID = serializers.CharField(required=False)
    clientSecret = serializers.CharField(required=False)
    AppId = serializers.CharField(required=False)
    AppSecret = serializers.CharField(required=False)
    refreshToken = serializers.CharField(required=False)


class TokenSerializer(serializers.Serializer[Any]):
    """A pair of tokens; `expiresIn` is the access token's life in seconds."""

    accessToken = serializers.CharField()
    refreshToken = serializers.CharField()
    expiresIn = serializers.IntegerField()


class OAuthRequestSerializer(serializers.Serializer[Any]):
    """RFC 6749, sections 4.3, 4.4 and 6."""

    grant_type = serializers.ChoiceField(["password", "client_credentials", "refresh_token"])
    username = serializers.CharField(required=False)
    password = serializers.CharField(required=False)
    client_id = serializers.CharField(required=False)
    client_secret = serializers.CharField(required=False)
    refresh_token = serializers.CharField(required=False)


class OAuthTokenSerializer(serializers.Serializer[Any]):
    """RFC 6749, section 5.1."""

    access_token = serializers.CharField()
    token_type = serializers.CharField()
    expires_in = serializers.IntegerField()
    refresh_token = serializers.CharField()


class OAuthErrorSerializer(serializers.Serializer[Any]):
    """RFC 6749, section 5.2."""

    error = serializers.CharField()
    error_description = serializers.CharField()
