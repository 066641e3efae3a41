# The coordinator service. Built from the root of the checkout: docker build -f deploy/docker/coordinator.Dockerfile -t lockgate-coordinator .
FROM python:3.12-slim AS build

# All that comes from a registry has the hash that constraints/images names, what builds our packages included.
COPY constraints/images /src/hashes
RUN pip install --no-cache-dir --require-hashes --requirement /src/hashes/build.txt
COPY core /src/core
COPY services/coordinator /src/coordinator
# An environment of its own: all that the service needs, and neither the sources nor pip, in one folder that the image below takes.
RUN python -m venv --without-pip /opt/lockgate \
 && pip --python /opt/lockgate/bin/python install --no-cache-dir --require-hashes --requirement /src/hashes/coordinator.txt \
 && pip wheel --quiet --no-index --no-deps --no-build-isolation --wheel-dir /src/wheels /src/core /src/coordinator \
 && pip --python /opt/lockgate/bin/python install --no-index --no-deps /src/wheels/*.whl


FROM python:3.12-slim

# Where the sources are published: docker build --build-arg SOURCE=https://…
ARG SOURCE=""
LABEL org.opencontainers.image.title="lockgate coordinator" \
      org.opencontainers.image.description="Collects the watermarks of readers and announces how far each may read ahead" \
      org.opencontainers.image.source="$SOURCE" \
      org.opencontainers.image.licenses="Apache-2.0"

COPY --from=build /opt/lockgate /opt/lockgate
ENV PATH=/opt/lockgate/bin:$PATH PYTHONUNBUFFERED=1
USER 10001:10001
EXPOSE 8080

# Live, not ready: a coordinator whose store is away for a moment is not mended by a restart.
HEALTHCHECK --interval=5s --timeout=3s --start-period=10s --retries=3 \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8080/livez', timeout=2)"]

ENTRYPOINT ["lockgate"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8080"]
