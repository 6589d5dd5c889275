"""The conversion webhook of Dynamo's graphs, as the operator's deployment has one: both versions are served."""

import base64
import contextlib
import ssl
from collections.abc import AsyncIterator
from typing import Any

from aiohttp import web

from simulator.api.dynamo_versions import to_v1alpha1, to_v1beta1
from simulator.client import Object
from tests.cluster.running import HOST, RealCluster, free_ports

CONVERTERS = {"nvidia.com/v1beta1": to_v1beta1, "nvidia.com/v1alpha1": to_v1alpha1}


def converted(crd: Object, port: int, authority: str) -> Object:
    """A CRD whose conversion is asked of this machine, in place of the operator's service."""
    if "conversion" not in crd["spec"]:
        return crd
    client = {"url": f"https://{HOST}:{port}/convert", "caBundle": base64.b64encode(authority.encode()).decode()}
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": client}
    return crd | {"spec": crd["spec"] | {"conversion": {"strategy": "Webhook", "webhook": webhook}}}


@contextlib.asynccontextmanager
async def converting(cluster: RealCluster) -> AsyncIterator[int]:
    """The webhook, listening on the port that it gives."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(cluster.certificates.certificate, cluster.certificates.key)
    app = web.Application(client_max_size=32 * 1024**2)
    app.router.add_post("/convert", _convert)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    (port,) = free_ports(1)
    await web.TCPSite(runner, HOST, port, ssl_context=context).start()
    try:
        yield port
    finally:
        await runner.cleanup()


async def _convert(request: web.Request) -> web.Response:
    review = await request.json()
    asked: dict[str, Any] = review["request"]
    answer = {
        "uid": asked["uid"],
        "result": {"status": "Success"},
        "convertedObjects": [_one(body, asked["desiredAPIVersion"]) for body in asked["objects"]],
    }
    return web.json_response({"apiVersion": review["apiVersion"], "kind": "ConversionReview", "response": answer})


def _one(body: Object, wanted: str) -> Object:
    return body if body["apiVersion"] == wanted else CONVERTERS[wanted](body)
