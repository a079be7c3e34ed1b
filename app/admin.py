"""The admin port: is the process alive, and may it be sent requests?"""

from fastapi import FastAPI, Response


def create_admin() -> FastAPI:
    """`/healthz` says that the process runs; `/readyz` that it is configured and warm."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)

    @app.get("/healthz")
    @app.get("/readyz")
    async def answer() -> Response:
        # Both ports open after the vocabulary is loaded, so who is answered may send.
        return Response("ok\n", media_type="text/plain")

    return app
