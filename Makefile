# Platestream. `make` alone tells what there is.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: $(shell grep -oE '^[a-z-]+:' $(firstword $(MAKEFILE_LIST)) | tr -d :)

# Compiled modules are kept: the stack and the tests start hundreds of processes.
unexport PYTHONDONTWRITEBYTECODE

# Any Python starts the bootstrap; the virtual environment is made with Python 3.11.
SYSTEM_PYTHON := $(shell for p in python3.11 python3; do $$p -c "" 2>/dev/null && echo $$p && break; done)
PYTHON := .venv/bin/python
# The tests in several processes: a module stays in one of them (tests/schedule.py).
SIDE_BY_SIDE := --numprocesses=3 --dist=loadscope --no-loadscope-reorder
# COVERAGE=1: also report which lines the tests ran.
ROOMS := common recognition ingest streams analytics_sql api deploy clients/python/platestream_client
COVERED := $(if $(COVERAGE),$(addprefix --cov=,$(ROOMS)) --cov-report=term:skip-covered --cov-report=html:.local/coverage)
BOOTSTRAP = @$(or $(SYSTEM_PYTHON),$(error Python 3.11 is needed: apt-get install python3.11)) deploy/local/bootstrap.py
INSTALLED := test -x $(PYTHON) || { echo "nothing is installed yet: make run"; exit 1; }
# CAMERA reaches it by the environment: arguments are in the machine's process list.
STACK := @$(INSTALLED); exec $(PYTHON) -m deploy.local

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## (.*)/  make \1\t\2/' | expand -t 28
	@echo
	@echo "  CAMERA=rtsp://user:password@address/path make run   plays your camera (or a video file)"
	@echo "  Settings (PLATESTREAM_...) given in the environment reach the processes: docs/settings.md"

run: ## Start the local stack here, with a demo camera; Ctrl-C stops it
	$(BOOTSTRAP) run
	$(STACK) run

up: ## Start the local stack in the background
	$(BOOTSTRAP) run
	$(STACK) up

servers: ## Start only the servers of the local stack in the background, to restore a backup
	$(BOOTSTRAP) run
	$(STACK) servers

down: ## Stop the local stack
	$(STACK) down

status: ## Show the stack's processes, their memory and addresses
	@$(INSTALLED); $(PYTHON) -m deploy.local status || test $$? = 3

exec: ## Run a command with the stack's settings: make exec COMMAND="platestream stack check"
	$(STACK) exec $(COMMAND)

logs: ## Follow the logs; make logs NAME=api for one process
	$(STACK) logs $(NAME)

test: ## Format, lint, types and the tests that are not `long`, on real servers that it starts itself; RECORD=1, COVERAGE=1: with times, with a report
	$(BOOTSTRAP) test
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m ruff check .
	@$(MAKE) --no-print-directory --jobs=2 test-types test-run

test-all: audit ## The same with the long tests: whole stacks, outages, every page of the console; first make audit
	@$(MAKE) --no-print-directory test PYTEST='-m "not training and not image and not charts and not fleet" $(PYTEST)'

test-types:
	$(PYTHON) -m mypy

test-run:
	$(PYTHON) -m tests.services $(PYTHON) -m pytest $(SIDE_BY_SIDE) $(COVERED) --durations=100 --durations-min=2 $(if $(RECORD),--record-durations) $(PYTEST)

# Without --strict, pip-audit skips packages that it cannot look up, and succeeds.
audit: ## Look the locked packages up in PyPI's database of vulnerabilities (needs network); AUDIT=skip: do not
ifeq ($(AUDIT),skip)
	@echo "AUDIT=skip: the locked packages were NOT audited"
else
	$(BOOTSTRAP) python
	@.venv/bin/uv tool run --quiet pip-audit==2.10.1 --strict --require-hashes --disable-pip --progress-spinner=off \
		-r requirements/runtime.txt || { echo "audit: vulnerable packages above, or the database cannot be reached; go on without: AUDIT=skip"; exit 1; }
endif

check: ## Format, lint, types and unit tests: a minute, no servers
	$(BOOTSTRAP) python
	$(PYTHON) -m ruff format .
	$(PYTHON) -m ruff check --fix .
	$(PYTHON) -m mypy
	$(PYTHON) -m pytest $(SIDE_BY_SIDE) $(COVERED) tests/unit tests/structure $(PYTEST)

fault: ## Only the tests that harm processes; ROUNDS=20: twenty rounds, then each harm alone; OUTAGE_SECONDS=300: each server away
	$(BOOTSTRAP) test
	$(PYTHON) -m pytest -m fault $(PYTEST)

fleet: ## A fleet of two machines and three brokers, harmed: ROUNDS=20 of kill, freeze, broker lost, machine cut off, rolling restart; as root
	$(BOOTSTRAP) test
	$(PYTHON) -m pytest -m fleet $(PYTEST)

security: ## Only the tests that docs/security.md names
	$(BOOTSTRAP) test
	$(PYTHON) -m pytest -m "not image and not charts and not fleet" $$(grep -oE '`(unit|integration|e2e)/[^`]+' docs/security.md | sed 's#^.#tests/#' | sort -u) $(PYTEST)

bench: ## Measure; results go to docs/benchmarks.md by hand
	$(BOOTSTRAP) test
	$(PYTHON) -m tools.benchmarks

site: ## Make a site of docs/ in .local/site
	$(BOOTSTRAP) test
	$(PYTHON) -m tools.scripts.docs_site

schemathesis: ## Hold the API to its description; EXAMPLES=200: calls of each operation
	$(BOOTSTRAP) test
	PLATESTREAM_TEST_EXAMPLES=$(or $(EXAMPLES),200) $(PYTHON) -m pytest -m integration --timeout=3600 tests/integration/api/test_description_holds.py

mutations: ## Send spoilt images and bodies; COUNT=10000 of each
	$(BOOTSTRAP) test
	PLATESTREAM_TEST_MUTATIONS=$(or $(COUNT),10000) $(PYTHON) -m pytest --timeout=7200 \
		tests/integration/api/test_mutated_images.py tests/integration/api/test_mutated_bodies.py

client-types: ## Make the types of both clients anew from the API's description (needs Node)
	$(BOOTSTRAP) python
	cd clients/typescript && npm ci --silent --no-audit --no-fund
	$(PYTHON) -m tools.scripts.client_types

clients: ## Build what PyPI and npm would get of the clients, and check it (needs Node)
	$(BOOTSTRAP) python
	rm -rf clients/python/dist
	.venv/bin/uv build --quiet --out-dir clients/python/dist clients/python
	.venv/bin/uv tool run --quiet twine==7.0.0 check --strict clients/python/dist/*
	.venv/bin/uv run --quiet --isolated --no-project --with clients/python/dist/*.whl python -c "import platestream_client.receiver"
	cd clients/typescript && npm ci --silent --no-audit --no-fund && npm pack --dry-run

console-types: ## Check the types of the console's JavaScript, also against the API's description (needs Node)
	$(BOOTSTRAP) python
	cd tools/console && npm ci --silent --no-audit --no-fund
	$(PYTHON) -c "import json; from api.app import create_app; from api.openapi import describe; print(json.dumps(describe(create_app())))" > tools/console/openapi.json
	cd tools/console && npx openapi-typescript openapi.json -o api.d.ts && npx tsc -p .

# Training has an environment of its own, made here unless another Python is named: make ... TRAIN=python
TRAIN ?= .venv-train/bin/python
TRAINING_READY := $(if $(filter .venv-train/%,$(TRAIN)),.venv-train/packages.stamp)
PHOTOS ?= photos
WORK ?= .local/training
MODELS := recognition/models
# The service's own commands take the models that are trained, wherever these are.
TRAINER = $(INSTALLED); set -e; mkdir -p $(WORK); test -e $(PHOTOS)/scenes.jsonl || { echo "PHOTOS=: no scenes.jsonl there"; exit 1; }; t="$(TRAIN) -m tools.training"; \
	export PLATESTREAM_RECOGNITION_DETECTOR_MODEL=$(MODELS)/plate-detector.onnx; \
	export PLATESTREAM_RECOGNITION_READER_MODEL=$(MODELS)/plate-reader.onnx; \
	export PLATESTREAM_RECOGNITION_SECOND_READER=$(MODELS)/plate-second-reader.onnx
MISSES = $(PYTHON) -m api.cli evaluate $(PHOTOS)/scenes.jsonl --split val --report $(WORK)/misses.html
# What the commands of the training take besides: the numbers of epochs, crops, steps ...
FIRST ?= --epochs 18
FURTHER ?= --epochs 6 --rate 0.0003
READER ?=
# A second folder of plate crops for the reader: tools/training/README.md
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
	test -e "$(START)" -a -d "$(OTHERS)" || { echo "START= must be a file, OTHERS= a folder"; exit 1; }; \
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

evaluate: $(TRAINING_READY) ## Fit the confidence and measure both models on photos, with a picture of every miss; PHOTOS=
	@$(TRAINER); $$t.calibration --photos $(PHOTOS) --reader $(MODELS)/plate-reader.onnx; $(MISSES)

test-training: $(TRAINING_READY) ## Train each model for a moment on drawn pictures
	$(BOOTSTRAP) python
	PLATESTREAM_TEST_TRAINING=$(TRAIN) $(PYTHON) -m pytest -m training $(PYTEST)

# docker, podman or buildah; BUILD: what else it is to be told, such as --secret id=ca.pem,src=...
BUILDER ?= docker build
BASE ?= python:3.11-slim-bookworm
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
IMAGE ?= platestream:$(VERSION)

image: ## Build the image; BUILDER="buildah build --format docker", BASE=, IMAGE=, BUILD=, VARIANT=gpu
	$(BUILDER) --file deploy/Dockerfile --tag $(IMAGE) --build-arg BASE=$(BASE) $(BUILD) \
		--build-arg VARIANT=$(or $(VARIANT),service) \
		--build-arg VERSION=$(VERSION) \
		--build-arg REVISION=$$(git rev-parse HEAD) .

test-image: ## Build the image on Debian's packages and run all of compose.yaml from it (root, buildah, mmdebstrap)
	$(BOOTSTRAP) test
	$(PYTHON) -m pytest -m image tests/image $(PYTEST)

# What reads charts and compose files, at the releases that were tried; needs Go and Python.
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

test-charts: $(CHART_TOOLS)/stamp ## Check the Helm chart and compose.yaml with helm, Kubernetes' schemas and Compose's own reader
	PLATESTREAM_TEST_CHART_TOOLS=$(CHART_TOOLS) $(PYTHON) -m pytest -m charts tests/charts $(PYTEST)

# Without Go there is no Helm, and the release has no chart.
release: $(if $(shell command -v go),$(CHART_TOOLS)/stamp) ## Make all that a release consists of, in .local/release; BUILDER=, BASE=, BUILD= as for the image, BUILDER=none: without
	$(BOOTSTRAP) python
	$(PYTHON) -m tools.release $(if $(shell command -v go),--helm $(abspath $(CHART_TOOLS))/helm) \
		$(if $(filter-out file default,$(origin BUILDER)),--builder "$(BUILDER)") $(if $(filter-out file default,$(origin BASE)),--base $(BASE))

lock: ## Make the lock files anew from pyproject.toml
	$(PYTHON) tools/scripts/lock.py

jar-sums: ## Make the lists of the servers' jars anew (deploy/local/*/jars.sha256), after a change of a pom.xml
	$(BOOTSTRAP) jar-sums

bootstrap: ## Only install what is missing to run; LEVEL=service: without servers, python: what checks it too, test: all that tests it
	$(BOOTSTRAP) $(or $(LEVEL),run)

clean: ## Stop the stack and delete its data, logs and secrets
	@test ! -x $(PYTHON) || $(PYTHON) -m deploy.local down
	@test ! -d .local || find .local -mindepth 1 -maxdepth 1 ! -name jars -exec rm -rf {} +
