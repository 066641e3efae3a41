# The skewed producer. Built from the root of the checkout: docker build -f deploy/docker/producer.Dockerfile -t lockgate-producer .
FROM python:3.12-slim AS build

# All that comes from a registry has the hash that tools/constraints/images names, what builds our package included.
COPY tools/constraints/images /src/hashes
RUN pip install --no-cache-dir --require-hashes --requirement /src/hashes/build.txt
COPY tools/testbed /src/testbed
# Without what the rest of the test bed needs: Spark, a coordinator, Redis.
RUN python -m venv --without-pip /opt/producer \
 && pip --python /opt/producer/bin/python install --no-cache-dir --require-hashes --requirement /src/hashes/producer.txt \
 && pip wheel --quiet --no-index --no-deps --no-build-isolation --wheel-dir /src/wheels /src/testbed \
 && pip --python /opt/producer/bin/python install --no-index --no-deps /src/wheels/*.whl


FROM python:3.12-slim

ARG SOURCE=""
LABEL org.opencontainers.image.title="lockgate producer" \
      org.opencontainers.image.description="Two feeds whose event times lie apart, for a look at alignment" \
      org.opencontainers.image.source="$SOURCE" \
      org.opencontainers.image.licenses="Apache-2.0"

COPY --from=build /opt/producer /opt/producer
ENV PATH=/opt/producer/bin:$PATH PYTHONUNBUFFERED=1
USER 10001:10001
WORKDIR /tmp

ENTRYPOINT ["python", "-m", "lockgate_testbed.producer"]
