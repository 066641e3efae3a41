# A plain Python service in a group: examples/enricher.py, with the reader. Built from the root of the checkout:
# docker build -f deploy/docker/enricher.Dockerfile -t lockgate-enricher .
FROM python:3.12-slim AS build

# All that comes from a registry has the hash that tools/constraints/images names, what builds our packages included.
COPY tools/constraints/images /src/hashes
RUN pip install --no-cache-dir --require-hashes --requirement /src/hashes/build.txt
RUN python -m venv --without-pip /opt/enricher \
 && pip --python /opt/enricher/bin/python install --no-cache-dir --require-hashes --requirement /src/hashes/client.txt --requirement /src/hashes/producer.txt
COPY core /src/core
COPY clients/http /src/clients/http
COPY clients/reader /src/clients/reader
RUN pip wheel --quiet --no-index --no-deps --no-build-isolation --wheel-dir /src/wheels /src/core /src/clients/http /src/clients/reader \
 && pip --python /opt/enricher/bin/python install --no-index --no-deps /src/wheels/*.whl


FROM python:3.12-slim

ARG SOURCE=""
LABEL org.opencontainers.image.title="lockgate enricher" \
      org.opencontainers.image.description="A plain Python service that enriches records, in a group with a Spark job" \
      org.opencontainers.image.source="$SOURCE" \
      org.opencontainers.image.licenses="Apache-2.0"

# What it keeps (its table) lies in /data.
RUN mkdir /data && chown 10001:10001 /data
COPY --from=build /opt/enricher /opt/enricher
COPY examples/enricher.py /opt/job/
ENV PATH=/opt/enricher/bin:$PATH PYTHONUNBUFFERED=1
USER 10001:10001
VOLUME /data
WORKDIR /tmp

ENTRYPOINT ["python", "/opt/job/enricher.py"]
