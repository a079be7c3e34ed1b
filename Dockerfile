# Toolfold as uid 65532, with no shell, on a root that can be read-only. Nothing is written, and
# nothing is downloaded at run time: the token counter's vocabulary is in the wheels. One worker a
# container: run more replicas instead.
#
#   docker build -t toolfold .
#   docker run --read-only --network host toolfold
#
# It listens on loopback. To publish its port give it TOOLFOLD_HOST=0.0.0.0 and, so that not
# everybody is let in, a policy file with keys.
#
# Both images have to have the same Python at the same path: that of Debian 12.
ARG BUILD_IMAGE=docker.io/library/debian:bookworm-slim
ARG BASE_IMAGE=gcr.io/distroless/python3-debian12:nonroot

FROM ${BUILD_IMAGE} AS build
# Of a release of Debian there is one version at a time, and an old one cannot be had.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends binutils ca-certificates python3-venv \
    && rm -rf /var/lib/apt/lists/*
# The extras of pyproject.toml that a server can use.
ARG EXTRAS=redis,otel
COPY pyproject.toml README.md LICENSE /src/
COPY app /src/app
# Bytecode is compiled here, since it cannot be written later. What only installs, tests or debugs
# the dependencies is a third of their size. Libraries that wheels carry in *.libs were moved about
# inside by the tool that put them there, and do not survive strip.
RUN python3 -m venv /opt/toolfold \
    && /opt/toolfold/bin/pip install --no-cache-dir "/src[${EXTRAS}]" \
    && /opt/toolfold/bin/pip uninstall --yes setuptools pip \
    && find /opt/toolfold/lib -type d -name tests -prune -exec rm -rf {} + \
    && find /opt/toolfold/lib -name '*.so' -not -path '*.libs/*' -exec strip --strip-debug {} +

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
