# The coordinator service. Built from the root of the checkout: docker build -f deploy/docker/coordinator.Dockerfile .
FROM python:3.12-slim

COPY constraints/dev.txt /build/constraints.txt
COPY core /build/core
COPY services/coordinator /build/coordinator
RUN pip install --no-cache-dir --constraint /build/constraints.txt /build/core /build/coordinator && rm -rf /build

RUN useradd --system --no-create-home --uid 10001 lockgate
USER 10001
EXPOSE 8080

# Live, not ready: a coordinator whose store is away for a moment is not mended by a restart.
HEALTHCHECK --interval=5s --timeout=3s --start-period=10s --retries=3 \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8080/livez', timeout=2)"]

ENTRYPOINT ["lockgate"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8080"]
