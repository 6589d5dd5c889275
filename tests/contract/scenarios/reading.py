"""Lists, selectors, pages, tables and other forms."""

from tests.contract.steps import config, delete, get, labelled, pod, post, widget

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"

_three = [
    post("configmaps", labelled("a", app="web", tier="front")),
    post("configmaps", labelled("b", app="web")),
    post("configmaps", labelled("c", app="db")),
]
_no = {"fieldSelector": "metadata.name!=kube-root-ca.crt"}


def _labels(*selectors: str) -> list:
    return [*_three, *(get("configmaps", accept=PARTIAL_LIST, labelSelector=text) for text in selectors)]


def _fields(*selectors: str) -> list:
    return [post("pods", pod()), *(get("pods", accept=PARTIAL_LIST, fieldSelector=text) for text in selectors)]


SCENARIOS = {
    "an empty list": [get("secrets"), get("widgets/widgets"), get("/api/v1/namespaces/nowhere/secrets")],
    "a list": [*_three, get("configmaps", **_no)],
    "what is not there": [
        get("configmaps/a"),
        get("widgets/widgets/w"),
        get("/api/v1/nodes/n-none"),
        get("/api/v1/namespaces/nowhere"),
    ],
    "label selectors": _labels(
        "app",
        "!app,tier",
        "app=web",
        "app==db",
        "app!=web,app",
        "app in (web,db)",
        "app notin (web),app",
        "app=web,tier=front",
        "app=none",
    ),
    "label selectors that are wrong": _labels(
        "app=(", "=x", "app in web", "a b", "app>x", "app in ()", "-x=1", "x=a b"
    ),
    "field selectors": _fields(
        "metadata.name=p",
        "metadata.name!=p",
        "status.phase=Pending",
        "spec.nodeName=",
        "spec.schedulerName=nobody",
        "metadata.namespace=nothing",
        "status.phase=Running,metadata.name=p",
    ),
    "field selectors that are wrong": _fields("spec.queue=x", "metadata.labels=x", "x", "metadata.name>p"),
    "field selectors of custom resources": [
        post("widgets/widgets", widget()),
        get("widgets/widgets", fieldSelector="metadata.name=w"),
        get("widgets/widgets", fieldSelector="spec.colour=red"),
    ],
    "pages": [
        *_three,
        get("configmaps", limit=2, **_no),
        get("configmaps", limit=0, **_no),
        get("configmaps", limit=-1, **_no),
        get("configmaps", limit="x", **_no),
    ],
    "a continue token that is none": [
        get("configmaps", **{"continue": "nonsense"}),
        get("configmaps", **{"continue": "e30="}),
    ],
    "versions of lists": [
        get("secrets", resourceVersion="0"),
        get("secrets", resourceVersion="x"),
        get("secrets", resourceVersion="-1"),
        get("secrets", resourceVersion="1", resourceVersionMatch="Exact", limit=1),
        get("secrets", resourceVersionMatch="Exact"),
        get("secrets", resourceVersion="0", resourceVersionMatch="Exact"),
        get("secrets", resourceVersion="1", resourceVersionMatch="Some"),
        get("secrets", resourceVersion="99999999999"),
        get("secrets/none", resourceVersion="x"),
    ],
    "a table of config maps": [post("configmaps", config(x="1")), get("configmaps/a", accept=TABLE)],
    "a table of pods": [
        post("pods", pod()),
        get("pods", accept=TABLE),
        get("pods/p", accept=TABLE, includeObject="Object"),
    ],
    "a table of widgets": [
        post("widgets/widgets", widget()),
        get("widgets/widgets", accept=TABLE),
        get("widgets/widgets", accept=TABLE, includeObject="None"),
    ],
    "an empty table": [get("widgets/widgets", accept=TABLE)],
    "partial metadata": [
        post("widgets/widgets", widget()),
        get("widgets/widgets/w", accept=PARTIAL),
        get("widgets/widgets", accept=PARTIAL_LIST),
    ],
    "forms that are not served": [
        get("configmaps", accept="text/html"),
        get("configmaps", accept="application/json;as=Nothing;v=v1;g=meta.k8s.io"),
        get("configmaps", accept="*/*", **_no),
    ],
    "watches that are wrong": [
        get("configmaps", watch="true", resourceVersion="x"),
        get("configmaps", watch="true", fieldSelector="x"),
        get("configmaps", watch="true", sendInitialEvents="true", timeoutSeconds=1),
    ],
    "deleted collections": [
        *_three,
        delete("configmaps", labelSelector="app=web"),
        get("configmaps", accept=PARTIAL_LIST, labelSelector="app"),
        delete("configmaps", fieldSelector="metadata.name=c"),
        get("configmaps/c"),
    ],
    "discovery of groups": [
        get("/apis/contract.muster.dev"),
        get("/apis/contract.muster.dev/v1"),
        get("/apis/scheduling.run.ai"),
        get("/apis/kai.scheduler/v1alpha1"),
        get("/apis/none.example"),
        get("/apis/contract.muster.dev/v9"),
        get("/api"),
    ],
}
