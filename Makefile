# Platestream. `make` alone tells what there is.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help run up down status exec logs test check bench bench-recognition client schemathesis mutations fault lock bootstrap clean train-detector train-reader train-second-reader evaluate

# Any Python starts the bootstrap; the virtual environment is made with Python 3.11.
SYSTEM_PYTHON := $(shell for p in python3.11 python3; do $$p -c "" 2>/dev/null && echo $$p && break; done)
PYTHON := .venv/bin/python
BOOTSTRAP = @$(or $(SYSTEM_PYTHON),$(error Python 3.11 is needed: apt-get install python3.11)) deploy/local/bootstrap.py
INSTALLED := test -x $(PYTHON) || { echo "nothing is installed yet: make run"; exit 1; }
STACK := @$(INSTALLED); exec $(PYTHON) -m deploy.local

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## (.*)/  make \1\t\2/' | expand -t 28
	@echo
	@echo "  make run CAMERA=rtsp://user:password@address/path   plays your camera (or a video file)"
	@echo "  Settings (PLATESTREAM_...) given in the environment reach every process: docs/settings.md"

run: ## Start the local stack here, with a demo camera; Ctrl-C stops it
	$(BOOTSTRAP) run
	$(STACK) run $(if $(CAMERA),--camera "$(CAMERA)")

up: ## Start the local stack in the background
	$(BOOTSTRAP) run
	$(STACK) up $(if $(CAMERA),--camera "$(CAMERA)")

down: ## Stop the local stack
	$(STACK) down

status: ## Show the stack's processes, their memory and addresses
	@$(INSTALLED); $(PYTHON) -m deploy.local status || test $$? = 3

exec: ## Run a command with the stack's settings: make exec COMMAND="platestream stack check"
	$(STACK) exec $(COMMAND)

logs: ## Follow the logs; make logs NAME=api for one process
	$(STACK) logs $(NAME)

test: ## Format, lint, types and all tests, on real servers that it starts itself
	$(BOOTSTRAP) test
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m ruff check .
	$(PYTHON) -m mypy
	$(PYTHON) -m pytest $(PYTEST)

check: ## Format, lint, types and unit tests: a minute, no servers
	$(BOOTSTRAP) python
	$(PYTHON) -m ruff format .
	$(PYTHON) -m ruff check --fix .
	$(PYTHON) -m mypy
	$(PYTHON) -m pytest tests/unit tests/structure $(PYTEST)

fault: ## Only the tests that harm processes; ROUNDS=20: twenty rounds, then each harm alone; OUTAGE_SECONDS=300: each server away
	$(BOOTSTRAP) test
	$(PYTHON) -m pytest -m fault $(PYTEST)

bench: ## Measure; results go to docs/benchmarks.md by hand
	$(BOOTSTRAP) test
	$(PYTHON) -m benchmarks

bench-recognition: ## Accuracy, speed and memory of the models; PHOTOS=folder SPLIT=val PEERS="name,detector,reader ..."
	@$(INSTALLED); $(PYTHON) -m benchmarks.recognition_models $(if $(wildcard $(PHOTOS)/scenes.jsonl),$(PHOTOS)/scenes.jsonl) \
		$(if $(SPLIT),--split $(SPLIT)) $(foreach peer,$(PEERS),--peer $(peer))

schemathesis: ## Hold the API to its description; EXAMPLES=200: calls of each operation
	$(BOOTSTRAP) test
	PLATESTREAM_TEST_EXAMPLES=$(or $(EXAMPLES),200) $(PYTHON) -m pytest --timeout=3600 tests/integration/api/test_description_holds.py

mutations: ## Send spoilt images and bodies; COUNT=10000 of each
	$(BOOTSTRAP) test
	PLATESTREAM_TEST_MUTATIONS=$(or $(COUNT),10000) $(PYTHON) -m pytest --timeout=7200 \
		tests/integration/api/test_mutated_images.py tests/integration/api/test_mutated_bodies.py

client: ## Make the typed Python client in clients/python from the API's description
	@$(INSTALLED); $(PYTHON) -m deploy.python_client

# Training has an environment of its own (recognition/training/README.md): make ... TRAIN=.venv-train/bin/python
TRAIN ?= .venv-train/bin/python
PHOTOS ?= photos
WORK ?= .local/training
MODELS := recognition/models
TRAINER = @test -x $(TRAIN) || { echo "no training environment: recognition/training/README.md"; exit 1; }; set -e; \
	t="$(TRAIN) -m recognition.training"
PAIR := --detector $(MODELS)/plate-detector.onnx --reader $(MODELS)/plate-reader.onnx

train-detector: ## Train the plate detector; PHOTOS=, START=, TEACHER=, OTHERS=: recognition/training/README.md
	$(TRAINER); mkdir -p $(WORK); \
	$$t.labels --photos $(PHOTOS) --teacher $(TEACHER) --out $(WORK)/labels.jsonl; \
	test -e $(WORK)/data/data.yaml || \
		$(PYTHON) -m recognition.training.other_pictures --others $(OTHERS) --out $(WORK)/others; \
	$$t.detector train --photos $(PHOTOS) --labels $(WORK)/labels.jsonl --start $(START) \
		--others $(WORK)/others --work $(WORK); \
	$$t.detector export --weights $(WORK)/detector/weights/last.pt --photos $(PHOTOS) \
		--out $(MODELS)/plate-detector.onnx --float-out $(MODELS)/plate-detector-float.onnx; \
	$$t.cards $(MODELS)/plate-detector.onnx $(MODELS)/plate-detector-float.onnx; \
	$(PYTHON) -m recognition.training.plate_chance --photos $(PHOTOS) --labels $(WORK)/labels.jsonl --others $(OTHERS); \
	$$t.threshold --photos $(PHOTOS) --labels $(WORK)/labels.jsonl $(PAIR)

train-reader: ## Train the plate reader; PHOTOS=, START=
	$(TRAINER); mkdir -p $(WORK); \
	$$t.reader --photos $(PHOTOS) --start $(START) --card $(MODELS)/plate-reader.json \
		--work $(WORK)/reader --out $(MODELS)/plate-reader.onnx; \
	$$t.cards $(MODELS)/plate-reader.onnx

train-second-reader: ## Train the second reader; PHOTOS=, START=
	$(TRAINER); mkdir -p $(WORK)/second; \
	$$t.second_reader --photos $(PHOTOS) --start $(START) --work $(WORK)/second --out $(WORK)/second/head.onnx; \
	$$t.second_reader_tuning --photos $(PHOTOS) --start $(WORK)/second/head.onnx --card $(MODELS)/plate-second-reader.json \
		--work $(WORK)/second --out $(MODELS)/plate-second-reader.onnx; \
	$(PYTHON) -m recognition.training.second_card --photos $(PHOTOS)

evaluate: ## Fit the confidence and measure both models on photos; PHOTOS=
	$(TRAINER); $$t.evaluate --photos $(PHOTOS) --calibrate $(PAIR)

lock: ## Make the lock files anew from pyproject.toml
	$(PYTHON) deploy/lock.py

bootstrap: ## Only install what is missing; LEVEL=test: what the tests need too
	$(BOOTSTRAP) $(or $(LEVEL),run)

clean: ## Stop the stack and delete its data, logs and secrets
	@test ! -x $(PYTHON) || $(PYTHON) -m deploy.local down
	@test ! -d .local || find .local -mindepth 1 -maxdepth 1 ! -name jars -exec rm -rf {} +
