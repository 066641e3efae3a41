# One Spark application in a group: examples/window_counts.py, with Spark, its Kafka connector and the client. Built from the root of the
# checkout: docker build -f deploy/docker/job.Dockerfile -t lockgate-job .
FROM python:3.12-slim AS java

# Debian's own, 17 or newer. The folder: its set-up wants to put manual pages there, which slim images have not.
RUN mkdir -p /usr/share/man/man1 \
 && apt-get update -qq \
 && apt-get install -y -qq --no-install-recommends default-jre-headless >/dev/null \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/*


FROM java AS spark

# All that comes from a registry has the hash that tools/constraints/images names, what builds PySpark and our packages included.
COPY tools/constraints/images /src/hashes
RUN pip install --no-cache-dir --require-hashes --requirement /src/hashes/build.txt
RUN python -m venv --without-pip /opt/spark \
 && pip wheel --quiet --no-cache-dir --no-build-isolation --require-hashes --wheel-dir /src/spark --requirement /src/hashes/spark.txt \
 && pip --python /opt/spark/bin/python install --no-index --no-deps /src/spark/*.whl \
 && rm -r /src/spark
# The connector for this very PySpark, brought as the test bed brings it, by the Ivy that is in PySpark. Among Spark's own jars no job has to name it.
COPY tools/testbed/src /src/tools/testbed/src
RUN PYTHONPATH=/src/tools/testbed/src LOCKGATE_CACHE=/opt/jars /opt/spark/bin/python -c "from lockgate_testbed import jars; jars.kafka_connector()" \
 && mv /opt/jars/*/*.jar /opt/spark/lib/python3.12/site-packages/pyspark/jars/


FROM spark AS client

COPY core /src/core
COPY clients/http /src/clients/http
COPY clients/spark /src/clients/spark
# In a folder of its own: what changes often is then a small layer.
RUN pip install --no-cache-dir --require-hashes --requirement /src/hashes/client.txt --target /opt/lockgate \
 && pip wheel --quiet --no-index --no-deps --no-build-isolation --wheel-dir /src/wheels /src/core /src/clients/http /src/clients/spark \
 && pip install --no-index --no-deps --target /opt/lockgate /src/wheels/*.whl


FROM java

# Where the sources are published: docker build --build-arg SOURCE=https://…
ARG SOURCE=""
LABEL org.opencontainers.image.title="lockgate job" \
      org.opencontainers.image.description="A Spark job that counts records by windows of event time, in a group" \
      org.opencontainers.image.source="$SOURCE" \
      org.opencontainers.image.licenses="Apache-2.0"

# Hadoop asks who runs it: a user without a name does not do. What a job keeps (checkpoint, results) lies in /data.
RUN useradd --uid 10001 --no-create-home job && mkdir /data && chown job:job /data
COPY --from=spark /opt/spark /opt/spark
COPY --from=client /opt/lockgate /opt/lockgate
COPY deploy/docker/job/spark-defaults.conf tools/testbed/src/lockgate_testbed/log4j2.properties /opt/job/conf/
COPY examples/window_counts.py /opt/job/
ENV PATH=/opt/spark/bin:$PATH PYTHONPATH=/opt/lockgate PYTHONUNBUFFERED=1 SPARK_CONF_DIR=/opt/job/conf
USER 10001:10001
VOLUME /data
WORKDIR /tmp

ENTRYPOINT ["python", "/opt/job/window_counts.py"]
