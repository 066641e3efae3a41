# lockgate: `make` lists what there is. Needed: Python 3.10 or newer, and Java 17 or newer for all that has to do with Kafka and Spark.
PYTHON  ?= python3
VENV    ?= .venv
RECORDS ?= 2000000
STORE   ?= memory://
VERSIONS ?=
# Test processes: half as many again as processors, for some wait for Spark; from 3 to 6, for each has a JVM of up to 2 GB.
WORKERS  ?= $(shell n=$$(( ($$(nproc 2>/dev/null || sysctl -n hw.ncpu 2>/dev/null || echo 2) * 3 + 1) / 2 )); echo $$((n < 3 ? 3 : n > 6 ? 6 : n)))
ARGS    ?=

BIN      := $(VENV)/bin
READY    := $(VENV)/.ready
RELEASED := core services/coordinator clients/http clients/cli clients/spark clients/reader
PACKAGES := $(RELEASED) tools/testbed
PINS     := tools/constraints
TOOLS    := setuptools wheel hatchling editables pytest pytest-asyncio pytest-xdist hypothesis schemathesis pyyaml ruff mypy plotly numpy pandas pyarrow grpcio grpcio-status googleapis-common-protos zstandard trustme zensical mkdocstrings-python nbclient ipykernel
# Plugins of detect-secrets that guess by entropy or by names: tests are full of invented tokens.
GUESSES  := Base64HighEntropyString HexHighEntropyString KeywordDetector BasicAuthDetector IPPublicDetector IbmCloudIamDetector IbmCosHmacDetector SoftlayerDetector CloudantDetector
SOURCES  := $(addsuffix /src,$(PACKAGES)) $(wildcard tests examples benchmarks specification tools/*.py tools/constraints tools/site)

.DEFAULT_GOAL := help
.PHONY: help venv test test-compose test-versions properties mistakes lint format docs docs-serve jar dist version audit lint-workflows helm-test long demo observed bench scenarios specification clean

help: ## what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile
	@echo "  PYTHON=$(PYTHON) RECORDS=$(RECORDS) STORE=$(STORE) WORKERS=$(WORKERS) ARGS=… (more arguments for pytest, the demo or a benchmark)"

venv: $(READY) ## .venv with the packages (editable) and the tools, at the versions of tools/constraints/dev.txt

test: $(READY) machine ## all tests but the long suites and compose; what needs Kafka or Redis is left out, and says so, where they are missing
	@$(BIN)/python -m pytest -m "not long and not compose" -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(ARGS)

test-compose: $(READY) ## docker-compose.yml: brought up, looked at, a coordinator killed, Redis restarted, taken down; needs Docker
	@$(BIN)/python -m pytest -m compose -v -s $(ARGS) tests/compose

test-versions: $(READY) ## the Spark client on every line of Spark that it knows; VERSIONS="3.5 4.3" for some
	@$(BIN)/python tests/versions.py $(VERSIONS)

long: $(READY) machine ## the fault, soak and scale suites, one after the other; resumes, and writes build/long/summary.md
	@$(BIN)/python tests/long.py $(ARGS)

properties: $(READY) ## all property tests with all their examples; `make test` draws a tenth
	@EXAMPLES=all $(BIN)/python -m pytest -m "hypothesis and not long and not compose" -n $(WORKERS) $(ARGS)
	@EXAMPLES=all $(BIN)/python -m pytest tests/core

mistakes: $(READY) ## tests/mistakes/mistakes.txt anew: what each of more than seventy mistakes prints first
	@MISTAKES=write $(BIN)/python -m pytest tests/mistakes
	@git diff --stat tests/mistakes

lint: $(READY) ## ruff and mypy --strict
	@$(BIN)/ruff check $(SOURCES)
	@$(BIN)/ruff format --check $(SOURCES)
	@$(BIN)/mypy --strict -p lockgate -p lockgate_coordinator -p lockgate_http -p lockgate_cli -p lockgate_spark -p lockgate_reader -p lockgate_testbed

jar: $(READY) ## the jar for Spark Connect, Scala, Java, SQL and pipelines: build/lockgate-spark-server-VERSION.jar; needs a JDK
	@$(BIN)/python tools/jar.py

docs: $(READY) ## these pages as a site, in build/site; any warning fails it
	@$(BIN)/python -m zensical build --clean --strict

docs-serve: $(READY) ## the site at http://localhost:8000, made anew as you write
	@$(BIN)/python -m zensical serve

dist: $(READY) ## build/dist: wheels and sdists of what is released, each checked, the jar, SBOMs of the images, and SHA256SUMS
	@$(BIN)/pip install --quiet --disable-pip-version-check -c $(PINS)/dev.txt build twine cyclonedx-bom==7.5.0
	@rm -rf build/dist
	@set -e; export SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct); for package in $(RELEASED); do $(BIN)/python -m build --outdir build/dist $$package; done
	@$(BIN)/python -m twine check --strict build/dist/*
	@$(BIN)/python tools/jar.py build/dist
	@set -e; for image in coordinator client; do env -u PIP_INDEX_URL -u PIP_EXTRA_INDEX_URL $(BIN)/cyclonedx-py requirements $(PINS)/images/$$image.txt \
	  --mc-type application --output-reproducible --of JSON -o build/dist/lockgate-$$image.cdx.json; done
	@cd build/dist && sha256sum * >SHA256SUMS && ls -sh

version: $(READY) ## V=0.2.0: write the next version into core/src/lockgate/__init__.py, from where the packages have it, and where a file names it
	@cd core && $(abspath $(BIN))/hatchling version $(V)
	@perl -pi -e 's/"(lockgate(-[a-z]+)?)==[^"]+"/"$$1==$(V)"/; s/^(version|appVersion): .+/$$1: $(V)/' $(addsuffix /pyproject.toml,$(RELEASED)) deploy/helm/lockgate/Chart.yaml
	@perl -pi -e 's/(lockgate-spark-server)-\d[\w.]*(?=\.jar)/$$1-$(V)/g' $$(git grep -l 'lockgate-spark-server-[0-9]' '*.md')

helm-test: $(READY) ## the Helm chart: lint, the recorded manifests, Kubernetes' schemas; builds Helm where there is none
	@command -v helm >/dev/null || [ -x build/bin/helm ] || { command -v go >/dev/null || { echo "no helm, and no Go to build it with" >&2; exit 1; }; \
	  echo "building Helm …"; GOBIN=$(CURDIR)/build/bin go install helm.sh/helm/v3/cmd/helm@v3.19.2; }
	@$(BIN)/pip install --quiet --disable-pip-version-check -c $(PINS)/dev.txt kubernetes-validate==1.37.0
	@$(BIN)/python -m pytest -m long tests/deploy $(ARGS)

lint-workflows: $(READY) ## the workflow files of the forge, by actionlint; builds it where there is none
	@command -v actionlint >/dev/null || [ -x build/bin/actionlint ] || { command -v go >/dev/null || { echo "no actionlint, and no Go to build it with" >&2; exit 1; }; \
	  echo "building actionlint …"; GOBIN=$(CURDIR)/build/bin go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.12; }
	@PATH=$(CURDIR)/build/bin:$$PATH actionlint

audit: $(READY) ## unsafe patterns in the sources, secrets in the tree, known vulnerabilities of what is pinned; ARGS=--strict fails where a version could not be checked
	@$(BIN)/pip install --quiet --disable-pip-version-check -c $(PINS)/dev.txt bandit==1.9.4 detect-secrets==1.5.0 pip-audit==2.10.1
	@$(BIN)/bandit -q -ll -r $(addsuffix /src,$(RELEASED))
	@git ls-files -z | xargs -0 $(BIN)/detect-secrets-hook $(addprefix --disable-plugin ,$(GUESSES))
	@grep -hoiE '^[a-z0-9._-]+==[^[:space:];]+' $(PINS)/dev.txt $(PINS)/images/*.txt | sort -u >build/pins.txt
	@$(BIN)/pip-audit --no-deps --disable-pip -r build/pins.txt $(ARGS)

format: $(READY) ## let ruff lay out and mend what it can
	@$(BIN)/ruff check --fix $(SOURCES)
	@$(BIN)/ruff format $(SOURCES)

demo: $(READY) ## plain Spark beside lockgate on a real Kafka: RECORDS, STORE (memory:// or redis://…)
	@$(BIN)/python -m lockgate_testbed
	@$(BIN)/python -m examples.demo --records $(RECORDS) --store $(STORE) $(ARGS)

observed: $(READY) ## a sample of what mode observe reports, in build/observed
	@$(BIN)/python -m lockgate_testbed
	@$(BIN)/python -m examples.observed_report build/observed

bench: $(READY) ## run the benchmarks and rewrite the tables of the docs: ARGS="read plan" for some, ARGS=--list for all names; bench-NAME runs one
	@$(BIN)/python -m lockgate_testbed
	@$(BIN)/python -m benchmarks.figures $(ARGS)

bench-%: $(READY)
	@$(BIN)/python -m lockgate_testbed
	@$(BIN)/python -m benchmarks $* $(ARGS)

scenarios: $(READY) ## seeded scenarios, plain Spark beside aligned, against the truth: ARGS="--seed 0 --scenarios 200", "--seeds 17", "--table"
	@$(BIN)/python -m lockgate_testbed
	@PYTHONPATH=tests:tests/scenarios:$$PYTHONPATH $(BIN)/python -m seeded $(ARGS)

specification: $(READY) ## the protocol in TLA+, checked by TLC: ARGS=--quick, or ARGS="'without: epochs' --trace"
	@$(BIN)/python -m specification $(ARGS)

clean: ## remove the venv, the jars and every cache
	rm -rf $(VENV) build .pytest_cache .mypy_cache .ruff_cache .hypothesis spark-warehouse metastore_db derby.log

# Says what this machine lacks, and goes on: the tests that need it leave themselves out (with CI=true they fail).
.PHONY: machine
machine: $(READY)
	@$(BIN)/python -m lockgate_testbed || true

$(READY): $(PINS)/dev.txt $(addsuffix /pyproject.toml,$(PACKAGES))
	@command -v $(PYTHON) >/dev/null || { echo "no $(PYTHON) on the PATH: install Python 3.10 or newer, or make PYTHON=/path/to/python" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
	  echo "$$($(PYTHON) --version) is too old: 3.10 or newer is needed; make PYTHON=python3.12, for example" >&2; exit 1; }
	@echo "setting up $(VENV) with $$($(PYTHON) --version) …"
	@# A set-up that was cut off leaves half-written packages that pip takes for whole: begin anew.
	@$(PYTHON) -m venv $(if $(wildcard $(VENV)/.unfinished),--clear) $(VENV) && touch $(VENV)/.unfinished
	@$(BIN)/pip install --quiet --disable-pip-version-check -c $(PINS)/dev.txt $(TOOLS)
	@$(BIN)/pip install --quiet --disable-pip-version-check -c $(PINS)/dev.txt --no-build-isolation $(addprefix -e ,core clients/http clients/cli services/coordinator[otel,dev] clients/spark[pyspark] clients/reader[arrow,prometheus] tools/testbed)
	@touch $@ && rm $(VENV)/.unfinished
