"""The admin port: is the process alive, and may it be sent requests?"""

from collections.abc import Callable

from fastapi import FastAPI, Response


def create_admin(is_ready: Callable[[], bool]) -> FastAPI:
    """`/healthz` says that the process runs; `/readyz` that requests may be sent to it."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)

    @app.get("/healthz")
    async def health() -> Response:
        return Response("ok\n", media_type="text/plain")

    @app.get("/readyz")
    async def readiness() -> Response:
        if is_ready():
            return Response("ok\n", media_type="text/plain")
        return Response("not ready\n", 503, media_type="text/plain")

    return app
