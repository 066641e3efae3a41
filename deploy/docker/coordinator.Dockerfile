# The coordinator service. Built from the root of the checkout: docker build -f deploy/docker/coordinator.Dockerfile -t lockgate-coordinator .
FROM python:3.12-slim AS build

# All that comes from a registry has the hash that tools/constraints/images names, what builds our packages included.
COPY tools/constraints/images /src/hashes
RUN pip install --no-cache-dir --require-hashes --requirement /src/hashes/build.txt
COPY core /src/core
COPY clients/http /src/clients/http
COPY clients/cli /src/clients/cli
COPY services/coordinator /src/services/coordinator
# An environment of its own: all that the service needs, and neither the sources nor pip, in one folder that the image below takes.
RUN python -m venv --without-pip /opt/lockgate \
 && pip --python /opt/lockgate/bin/python install --no-cache-dir --require-hashes --requirement /src/hashes/coordinator.txt \
 && pip wheel --quiet --no-index --no-deps --no-build-isolation --wheel-dir /src/wheels /src/core /src/clients/http /src/clients/cli /src/services/coordinator \
 && pip --python /opt/lockgate/bin/python install --no-index --no-deps /src/wheels/*.whl

# Python, the environment and the libraries that they are linked to, and nothing else: no shell, no package manager.
COPY deploy/docker/rootfs.sh /src/
RUN /src/rootfs.sh /rootfs /opt/lockgate


FROM scratch

# Where the sources are published, which commit, which version: docker build --build-arg SOURCE=https://… --build-arg REVISION=…
ARG SOURCE=""
ARG REVISION=""
ARG VERSION=""
LABEL org.opencontainers.image.title="lockgate coordinator" \
      org.opencontainers.image.description="Collects the watermarks of readers and announces how far each may read ahead" \
      org.opencontainers.image.source="$SOURCE" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.licenses="Apache-2.0"

COPY --from=build /rootfs /
ENV PATH=/opt/lockgate/bin:/usr/local/bin PYTHONUNBUFFERED=1 LANG=C.UTF-8 SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
USER 10001:10001
EXPOSE 8080

# Live, not ready: a coordinator whose store is away for a moment is not mended by a restart.
HEALTHCHECK --interval=5s --timeout=3s --start-period=10s --retries=3 \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8080/livez', timeout=2)"]

ENTRYPOINT ["lockgate"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8080"]
