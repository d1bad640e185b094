# Platestream. `make` without a target lists the targets.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: $(shell grep -oE '^[a-z-]+:' $(firstword $(MAKEFILE_LIST)) | tr -d :)

# Compiled modules are cached, because the stack and the tests start hundreds of processes.
unexport PYTHONDONTWRITEBYTECODE

# Any Python can run the bootstrap; the virtual environment is created with Python 3.11.
SYSTEM_PYTHON := $(shell for p in python3.11 python3; do $$p -c "" 2>/dev/null && echo $$p && break; done)
PYTHON := .venv/bin/python
# Tests run in several processes; the tests of a module run in the same one (tests/schedule.py).
SIDE_BY_SIDE := --numprocesses=3 --dist=loadscope --no-loadscope-reorder
# COVERAGE=1: also report the lines that the tests executed.
ROOMS := common recognition ingest streams analytics_sql api deploy clients/python/platestream_client
COVERED := $(if $(COVERAGE),$(addprefix --cov=,$(ROOMS)) --cov-report=term:skip-covered --cov-report=html:.local/coverage)
BOOTSTRAP = @$(or $(SYSTEM_PYTHON),$(error Python 3.11 is required: apt-get install python3.11)) deploy/local/bootstrap.py
INSTALLED := test -x $(PYTHON) || { echo "nothing is installed yet; run: make run"; exit 1; }
# CAMERA is passed in the environment, because arguments are visible in the process list.
STACK := @$(INSTALLED); exec $(PYTHON) -m deploy.local

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## (.*)/  make \1\t\2/' | expand -t 28
	@echo
	@echo "  CAMERA=rtsp://user:password@host/path make run   uses your camera (or a video file)"
	@echo "  Settings (PLATESTREAM_...) are read from the environment: docs/settings.md"

run: ## Start the local stack with a demo camera; stop it with Ctrl-C
	$(BOOTSTRAP) run
	$(STACK) run

up: ## Start the local stack in the background
	$(BOOTSTRAP) run
	$(STACK) up

servers: ## Start only the local stack's servers in the background, to restore a backup
	$(BOOTSTRAP) run
	$(STACK) servers

down: ## Stop the local stack
	$(STACK) down

status: ## Show the stack's processes, their memory and its URL
	@$(INSTALLED); $(PYTHON) -m deploy.local status || test $$? = 3

exec: ## Run a command with the stack's settings: make exec COMMAND="platestream stack check"
	$(STACK) exec $(COMMAND)

logs: ## Follow the logs; NAME=api for one process
	$(STACK) logs $(NAME)

test: ## Check format, lint and types, and run all tests except `long` ones; starts its own servers; RECORD=1 records durations, COVERAGE=1 reports coverage
	$(BOOTSTRAP) test
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m ruff check .
	@$(MAKE) --no-print-directory --jobs=2 test-types test-run

test-all: audit ## Run make audit, then make test including the long tests (whole stacks, outages, every page of the console)
	@$(MAKE) --no-print-directory test PYTEST='-m "not training and not image and not charts and not fleet" $(PYTEST)'

test-types:
	$(PYTHON) -m mypy

test-run:
	$(PYTHON) -m tests.services $(PYTHON) -m pytest $(SIDE_BY_SIDE) $(COVERED) --durations=100 --durations-min=2 $(if $(RECORD),--record-durations) $(PYTEST)

# Without --strict, pip-audit skips packages that it cannot look up, and succeeds.
audit: ## Check the locked packages against PyPI's vulnerability database (requires network access); AUDIT=skip skips it
ifeq ($(AUDIT),skip)
	@echo "AUDIT=skip: the locked packages were NOT audited"
else
	$(BOOTSTRAP) python
	@.venv/bin/uv tool run --quiet pip-audit==2.10.1 --strict --require-hashes --disable-pip --progress-spinner=off \
		-r requirements/runtime.txt || { echo "audit: vulnerable packages (see above), or the database is unavailable; to continue without: AUDIT=skip"; exit 1; }
endif

check: ## Format, lint, check types and run the unit tests (one minute, no servers)
	$(BOOTSTRAP) python
	$(PYTHON) -m ruff format .
	$(PYTHON) -m ruff check --fix .
	$(PYTHON) -m mypy
	$(PYTHON) -m pytest $(SIDE_BY_SIDE) $(COVERED) tests/unit tests/structure $(PYTEST)

fault: ## Run the fault injection tests; ROUNDS=20 for twenty rounds and then each fault alone; OUTAGE_SECONDS=300 for server outages
	$(BOOTSTRAP) test
	$(PYTHON) -m pytest -m fault $(PYTEST)

fleet: ## Run fault injection on two machines and three brokers (kill, freeze, broker loss, network partition, rolling restart); ROUNDS=20; requires root
	$(BOOTSTRAP) test
	$(PYTHON) -m pytest -m fleet $(PYTEST)

security: ## Run the tests listed in docs/security.md
	$(BOOTSTRAP) test
	$(PYTHON) -m pytest -m "not image and not charts and not fleet" $$(grep -oE '`(unit|integration|e2e)/[^`]+' docs/security.md | sed 's#^.#tests/#' | sort -u) $(PYTEST)

bench: ## Run the benchmarks; copy the results to docs/benchmarks.md by hand
	$(BOOTSTRAP) test
	$(PYTHON) -m tools.benchmarks

site: ## Build the documentation site in .local/site
	$(BOOTSTRAP) test
	$(PYTHON) -m tools.scripts.docs_site

schemathesis: ## Test the API against its OpenAPI description; EXAMPLES=200 calls per operation
	$(BOOTSTRAP) test
	PLATESTREAM_TEST_EXAMPLES=$(or $(EXAMPLES),200) $(PYTHON) -m pytest -m integration --timeout=3600 tests/integration/api/test_description_holds.py

mutations: ## Fuzz the API with corrupted images and bodies; COUNT=10000 of each
	$(BOOTSTRAP) test
	PLATESTREAM_TEST_MUTATIONS=$(or $(COUNT),10000) $(PYTHON) -m pytest --timeout=7200 \
		tests/integration/api/test_mutated_images.py tests/integration/api/test_mutated_bodies.py

client-types: ## Regenerate the types of both clients from the OpenAPI description (requires Node.js)
	$(BOOTSTRAP) python
	cd clients/typescript && npm ci --silent --no-audit --no-fund
	$(PYTHON) -m tools.scripts.client_types

clients: ## Build and check the client packages for PyPI and npm (requires Node.js)
	$(BOOTSTRAP) python
	rm -rf clients/python/dist
	.venv/bin/uv build --quiet --out-dir clients/python/dist clients/python
	.venv/bin/uv tool run --quiet twine==7.0.0 check --strict clients/python/dist/*
	.venv/bin/uv run --quiet --isolated --no-project --with clients/python/dist/*.whl python -c "import platestream_client.receiver"
	cd clients/typescript && npm ci --silent --no-audit --no-fund && npm pack --dry-run

console-types: ## Type-check the console's JavaScript, also against the OpenAPI description (requires Node.js)
	$(BOOTSTRAP) python
	cd tools/console && npm ci --silent --no-audit --no-fund
	$(PYTHON) -c "import json; from api.app import create_app; from api.openapi import describe; print(json.dumps(describe(create_app())))" > tools/console/openapi.json
	cd tools/console && npx openapi-typescript openapi.json -o api.d.ts && npx tsc -p .

# Training uses a separate environment, created here unless TRAIN names another Python: make ... TRAIN=python
TRAIN ?= .venv-train/bin/python
TRAINING_READY := $(if $(filter .venv-train/%,$(TRAIN)),.venv-train/packages.stamp)
PHOTOS ?= photos
WORK ?= .local/training
MODELS := recognition/models
# The service's commands use the trained models, in any folder.
TRAINER = $(INSTALLED); set -e; mkdir -p $(WORK); test -e $(PHOTOS)/scenes.jsonl || { echo "PHOTOS: the folder contains no scenes.jsonl"; exit 1; }; t="$(TRAIN) -m tools.training"; \
	export PLATESTREAM_RECOGNITION_DETECTOR_MODEL=$(MODELS)/plate-detector.onnx; \
	export PLATESTREAM_RECOGNITION_READER_MODEL=$(MODELS)/plate-reader.onnx; \
	export PLATESTREAM_RECOGNITION_SECOND_READER=$(MODELS)/plate-second-reader.onnx
MISSES = $(PYTHON) -m api.cli evaluate $(PHOTOS)/scenes.jsonl --split val --report $(WORK)/misses.html
# Options of the training commands: numbers of epochs, crops, steps ...
FIRST ?= --epochs 18
FURTHER ?= --epochs 6 --rate 0.0003
READER ?=
# Optional second folder of plate crops for the reader: tools/training/README.md
MORE ?=
MORE_CROPS = $(if $(MORE),--more $(MORE))

.venv-train/packages.stamp: requirements/train.txt
	$(BOOTSTRAP) python
	$(PYTHON) -m venv --clear .venv-train
	.venv-train/bin/python -m pip install --quiet --require-hashes -r requirements/train.txt
	.venv-train/bin/python -m pip install --quiet --no-deps -e .
	touch $@

train-detector: $(TRAINING_READY) ## Train the plate detector; PHOTOS=, START=, TEACHER=, OTHERS=: tools/training/README.md
	@$(TRAINER); first=$(WORK)/first; \
	test -e "$(START)" -a -d "$(OTHERS)" || { echo "START must be a file and OTHERS a folder"; exit 1; }; \
	$$t.labels --photos $(PHOTOS) $(if $(TEACHER),--teacher $(TEACHER)) --out $(WORK)/labels.jsonl; \
	$$t.detector train --photos $(PHOTOS) --labels $(WORK)/labels.jsonl --start $(START) --work $$first $(FIRST); \
	$$t.detector export --weights $$first/detector/weights/last.pt --photos $(PHOTOS) \
		--out $$first/plate-detector.onnx --float-out $$first/plate-detector-float.onnx; \
	cp $(MODELS)/plate-detector.json $(MODELS)/plate-detector-float.json $$first; \
	$$t.cards $$first/plate-detector.onnx $$first/plate-detector-float.onnx; \
	test -d $(WORK)/others || PLATESTREAM_RECOGNITION_DETECTOR_MODEL=$$first/plate-detector.onnx \
		$(PYTHON) -m tools.training.other_pictures --others $(OTHERS) --out $(WORK)/others; \
	$$t.detector train --photos $(PHOTOS) --labels $(WORK)/labels.jsonl --start $$first/detector/weights/last.pt \
		--others $(WORK)/others --work $(WORK) $(FURTHER); \
	$$t.detector export --weights $(WORK)/detector/weights/last.pt --photos $(PHOTOS) \
		--out $(MODELS)/plate-detector.onnx --float-out $(MODELS)/plate-detector-float.onnx; \
	$$t.cards $(MODELS)/plate-detector.onnx $(MODELS)/plate-detector-float.onnx; \
	$(PYTHON) -m tools.training.plate_chance --photos $(PHOTOS) --labels $(WORK)/labels.jsonl --others $(OTHERS); \
	$(MISSES)

train-reader: $(TRAINING_READY) ## Train the plate reader; PHOTOS=, START=
	@$(TRAINER); \
	$$t.reader --photos $(PHOTOS) $(MORE_CROPS) --start $(START) --card $(MODELS)/plate-reader.json \
		--out $(MODELS)/plate-reader.onnx $(READER); \
	$$t.cards $(MODELS)/plate-reader.onnx

evaluate: $(TRAINING_READY) ## Calibrate the confidence and evaluate the models on photos, with an image of every error; PHOTOS=
	@$(TRAINER); $$t.calibration --photos $(PHOTOS) --reader $(MODELS)/plate-reader.onnx; $(MISSES)

test-training: $(TRAINING_READY) ## Smoke-test the training of each model on synthetic images
	$(BOOTSTRAP) python
	PLATESTREAM_TEST_TRAINING=$(TRAIN) $(PYTHON) -m pytest -m training $(PYTEST)

# docker, podman or buildah; BUILD: additional options, such as --secret id=ca.pem,src=...
BUILDER ?= docker build
BASE ?= python:3.11-slim-bookworm
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
IMAGE ?= platestream:$(VERSION)

image: ## Build the container image; BUILDER="buildah build --format docker", BASE=, IMAGE=, BUILD=, VARIANT=gpu
	$(BUILDER) --file deploy/Dockerfile --tag $(IMAGE) --build-arg BASE=$(BASE) $(BUILD) \
		--build-arg VARIANT=$(or $(VARIANT),service) \
		--build-arg VERSION=$(VERSION) \
		--build-arg REVISION=$$(git rev-parse HEAD) .

test-image: ## Build the image from Debian packages and run compose.yaml with it (requires root, buildah, mmdebstrap)
	$(BOOTSTRAP) test
	$(PYTHON) -m pytest -m image tests/image $(PYTEST)

# Tools that read charts and compose files, at tested releases; require Go and Python.
CHART_TOOLS := .local/chart-tools
GO_TOOLS := helm.sh/helm/v3/cmd/helm@v3.22.0 github.com/compose-spec/compose-go/v2/cmd@v2.16.2

$(CHART_TOOLS)/stamp: requirements/charts.txt Makefile
	$(BOOTSTRAP) python
	mkdir -p $(CHART_TOOLS)
	for tool in $(GO_TOOLS); do GOBIN=$(abspath $(CHART_TOOLS)) CGO_ENABLED=0 go install $$tool || exit 1; done
	mv $(CHART_TOOLS)/cmd $(CHART_TOOLS)/compose-go
	$(PYTHON) -m venv --clear $(CHART_TOOLS)/python
	$(CHART_TOOLS)/python/bin/python -m pip install --quiet --require-hashes -r requirements/charts.txt
	touch $@

test-charts: $(CHART_TOOLS)/stamp ## Validate the Helm chart and compose.yaml with helm, the Kubernetes schemas and Compose's parser (requires Go)
	PLATESTREAM_TEST_CHART_TOOLS=$(CHART_TOOLS) $(PYTHON) -m pytest -m charts tests/charts $(PYTEST)

# Without Go, Helm is not installed, and the release has no chart.
release: $(if $(shell command -v go),$(CHART_TOOLS)/stamp) ## Build all release artefacts in .local/release; BUILDER=, BASE=, BUILD= as for the image; BUILDER=none skips the image
	$(BOOTSTRAP) python
	$(PYTHON) -m tools.release $(if $(shell command -v go),--helm $(abspath $(CHART_TOOLS))/helm) \
		$(if $(filter-out file default,$(origin BUILDER)),--builder "$(BUILDER)") $(if $(filter-out file default,$(origin BASE)),--base $(BASE))

lock: ## Regenerate the lock files from pyproject.toml
	$(PYTHON) tools/scripts/lock.py

jar-sums: ## Regenerate the jar checksums (deploy/local/*/jars.sha256) after changing a pom.xml
	$(BOOTSTRAP) jar-sums

bootstrap: ## Install dependencies; LEVEL=service (no servers), python (only Python packages, for checks), test (everything for the tests)
	$(BOOTSTRAP) $(or $(LEVEL),run)

clean: ## Stop the stack and delete its data, logs and secrets
	@test ! -x $(PYTHON) || $(PYTHON) -m deploy.local down
	@test ! -d .local || find .local -mindepth 1 -maxdepth 1 ! -name jars -exec rm -rf {} +
