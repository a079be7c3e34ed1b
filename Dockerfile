# Toolfold as uid 65532 on a root that can be read-only. Nothing is written, nothing is downloaded
# at run time: the token counter's vocabulary is in the wheels. One worker a container: run more
# replicas instead.
#
#   docker build -t toolfold .
#   docker run --read-only --network host toolfold
#
# It listens on loopback. To publish its port give it TOOLFOLD_HOST=0.0.0.0 and, so that not
# everybody is let in, a policy file with keys.
ARG BASE_IMAGE=docker.io/library/python:3.13-slim-bookworm

FROM ${BASE_IMAGE} AS build
# The extras of pyproject.toml that a server can use.
ARG EXTRAS=redis
COPY pyproject.toml README.md LICENSE /src/
COPY app /src/app
# Bytecode is compiled here, since it cannot be written later. Tests of the dependencies and what
# installs them have no use in production, and are a tenth of the image.
RUN python3 -m venv /opt/toolfold \
    && /opt/toolfold/bin/pip install --no-cache-dir "/src[${EXTRAS}]" \
    && /opt/toolfold/bin/pip uninstall --yes pip \
    && find /opt/toolfold/lib -type d -name tests -prune -exec rm -rf {} + \
    && rm -rf /opt/toolfold/lib/python3*/site-packages/setuptools* \
        /opt/toolfold/lib/python3*/site-packages/numpy/f2py

FROM ${BASE_IMAGE}
LABEL org.opencontainers.image.title="toolfold" \
    org.opencontainers.image.description="Folds large tools arrays of OpenAI-compatible requests" \
    org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/toolfold /opt/toolfold
ENV PATH=/opt/toolfold/bin:$PATH PYTHONDONTWRITEBYTECODE=1
USER 65532:65532
EXPOSE 8080 9090
# Docker's own; Kubernetes has probes. No shell and no curl: the command asks the admin port.
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s CMD ["toolfold", "healthcheck"]
ENTRYPOINT ["toolfold"]
CMD ["serve"]
