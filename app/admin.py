"""The admin port: is the process alive, may it be sent requests, and how did they go?"""

from collections.abc import Callable

from fastapi import FastAPI, Response
from prometheus_client import CONTENT_TYPE_LATEST

from app.core.codec import encode
from app.page import load_page
from app.telemetry.telemetry import Telemetry

_INERT = {
    "content-security-policy": "default-src 'none'",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
}
"""Names in it are what clients wrote: no browser is to take them for a page."""


def create_admin(is_ready: Callable[[], bool], telemetry: Telemetry) -> FastAPI:
    """`/healthz` says that the process runs; `/readyz` that requests may be sent to it;
    `/` shows how they went, from `/stats.json`; `/metrics` is for Prometheus."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    page, headers = load_page()

    @app.get("/")
    async def show() -> Response:
        return Response(page, headers=headers, media_type="text/html")

    @app.get("/healthz")
    async def health() -> Response:
        return Response("ok\n", media_type="text/plain")

    @app.get("/readyz")
    async def readiness() -> Response:
        if is_ready():
            return Response("ok\n", media_type="text/plain")
        return Response("not ready\n", 503, media_type="text/plain")

    @app.get("/metrics")
    def metrics() -> Response:
        # In a thread: thousands of series take longer to write than a request may be held up.
        return Response(telemetry.metrics.text(), headers={"content-type": CONTENT_TYPE_LATEST})

    @app.get("/stats.json")
    async def stats() -> Response:
        return Response(encode(telemetry.stats()), headers=_INERT, media_type="application/json")

    return app
