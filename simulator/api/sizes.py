"""How large a stored object may be: etcd's limits, in the words that come through from there.

The real limits are of whole messages in the stored form; what they hold beside the object's JSON is left out.
"""

from simulator.api.errors import ApiError
from simulator.api.store import encode_json
from simulator.client import Object

REQUEST_LIMIT = 1536 * 1024
MESSAGE_LIMIT = 2 * 1024 * 1024


def check_size(body: Object) -> None:
    """Raises the 500 without a reason that an API server makes of an object that etcd does not take."""
    size = len(encode_json(body))
    if size > MESSAGE_LIMIT:
        text = f"trying to send message larger than max ({size} vs. {MESSAGE_LIMIT})"
        raise ApiError(500, "", f"rpc error: code = ResourceExhausted desc = {text}")
    if size > REQUEST_LIMIT:
        raise ApiError(500, "", "etcdserver: request is too large")
