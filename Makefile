# `make run` shows the main job; `make test` runs all tests; both set up their environments.

PYTHON ?= python3
LAMBDA_PYTHON ?= python3.13
FILE ?=
FIFO ?=
EVENT ?= events/batch.json
SEEDS ?= 10000
SEED ?=
OPERATORS ?=
FULL ?=
STACK ?=
SCALE ?= 1
ALGORITHM ?= shipped
PROFILE ?= measured
REPORT ?= .build/aws-report.json
YES ?=
TAG ?=
RELEASE ?=
PACKAGE_ARCH ?= arm64
ARCH ?= $(if $(filter arm64 aarch64,$(shell uname -m)),arm64,x86_64)

# Dozens of processes read the compiled modules, with any setting of the shell.
export PYTHONDONTWRITEBYTECODE :=

BIN := .venv/bin
# A file's tests share servers and fixtures, so a process takes whole files.
PYTEST = $(BIN)/python -m pytest --numprocesses 2 --dist loadfile
# So that the checks of `make check` do not mix their lines; the make of macOS cannot.
OUTPUT_IN_ORDER := $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)

# uv ignores pip's settings, so it gets those for an index, a proxy and certificates.
PIP_SETTINGS := eval "$$($(PYTHON) -m ticketctl.local.environments)" &&
# The build method looks for uv on the path.
SAM := PATH="$$PWD/.venv-sam/bin:$$PATH" SAM_CLI_TELEMETRY=0 .venv-sam/bin/sam

.DEFAULT_GOAL := help
.PHONY: always help run up build invoke package test-sam test-aws test lab prove width simulate known-bad branches mutants bench bench-function check lint lint-ruff lint-mypy lint-imports lint-template unit unit-lambda template wheel beside release release-versions format contracts requirements pictures setup clean

help:  ##change Show this list; times are for two idle processors
	@awk -F ':.*##' '/^[a-z-]+:.*##[a-z]+ / { \
		group = text = $$2; sub(/ .*/, "", group); sub(/[a-z]+ /, "", text); \
		lines[group] = lines[group] sprintf("  make %-14s %s\n", $$1, text) \
	} END { \
		printf "First\n%s\nSAM and AWS\n%s\nThe evidence\n%s\nFor a change\n%s", \
			lines["start"], lines["sam"], lines["lab"], lines["change"] \
	}' $(MAKEFILE_LIST)

run: setup  ##start Run the system here, with a verdict (FILE=, FIFO=1)
	@$(BIN)/ticketctl run $(if $(FIFO),--fifo) $(if $(FILE),"$(FILE)")

up: setup  ##start Run it until Ctrl-C, for a tour (FIFO=1)
	@$(BIN)/ticketctl up $(if $(FIFO),--fifo)

# Lambda cannot write beside the code, so without bytecode each cold start compiles every module.
# Bytecode of another version would be ignored; hashes, because the zip file resets the times.
define compile_artifact
	@for python in .venv-3.13/bin/python "$(LAMBDA_PYTHON)" "$$HOME"/.pyenv/versions/3.13*/bin/python3.13; do \
		if "$$python" -c 'import sys; sys.exit(sys.implementation.cache_tag != "cpython-313")' 2> /dev/null; then \
			exec "$$python" -m compileall -qq --invalidation-mode unchecked-hash $(1); \
		fi; \
	done; \
	echo "There is no Python 3.13 here, so the artifact has no bytecode and starts more slowly; name one with LAMBDA_PYTHON=..." >&2
endef

# In the folder of plain `sam build`, so that an edit is invoked. Its packages may be for another processor
# than the stack's, so the template goes, and `sam deploy` ends.
build: .venv/ready .venv-sam/ready  ##sam Build it for `sam local invoke`, for this processor
	$(PIP_SETTINGS) $(SAM) build --parameter-overrides Architecture=$(ARCH)
	mv .aws-sam/build/template.yaml .aws-sam/build/template-of-make-build.yaml
	$(BIN)/python -m ticketctl.local.artifact .aws-sam/build/NumberingWorker
	$(call compile_artifact,.aws-sam/build/NumberingWorker)
	@printf 'Next, in place of the above: `make up`, and in another terminal `make invoke`.\n'

invoke: .venv-sam/ready  ##sam Run the built function in a container (EVENT=)
	@test -f .build/local/env || { echo "start the local system first, in another terminal: make up" >&2; exit 1; }
	@test -d .aws-sam/build/NumberingWorker || { echo "build the function first: make build" >&2; exit 1; }
	$(SAM) local invoke --event "$(EVENT)"

package: .venv/bin/ticketctl .venv-sam/ready  ##start Build the function for `sam deploy`; a minute
	$(PIP_SETTINGS) $(SAM) build --no-cached --parameter-overrides Architecture=$(PACKAGE_ARCH)
	$(BIN)/python -m ticketctl.local.artifact .aws-sam/build/NumberingWorker
	$(call compile_artifact,.aws-sam/build/NumberingWorker)

test-sam: setup build  ##sam Invoke and deploy with the SAM CLI; 4 minutes
	$(PIP_SETTINGS) $(BIN)/python -m pytest tests/sam

test-aws: .venv/ready  ##sam Check the facts in your AWS account (STACK=, YES=1)
	@PYTHONPATH=src:lab $(BIN)/python -m conformance aws --report "$(REPORT)" $(if $(STACK),--stack "$(STACK)") $(if $(YES),--yes)
	@$(if $(STACK),$(BIN)/python -m pytest tests/e2e --stack "$(STACK)",:)
	@$(if $(GRADUAL),PYTHONPATH=src:lab $(BIN)/python -m conformance gradual --stack "$(STACK)" $(if $(YES),--yes),:)

# Three at a time, because those on the local system mostly wait for it.
# Coverage is the unit tests' alone: a trace takes twice the time of a history, and proves nothing there.
test: setup  ##start All tests, with the coverage gates; 4 minutes
	$(PYTEST) --numprocesses 3 --no-loadscope-reorder tests/e2e tests/simulation tests/integration
	$(PYTEST) --cov --cov-report= tests/unit
	$(call demand_coverage,95,src)
	$(call demand_coverage,88,ticketctl)
	$(call demand_coverage,90,ticketctl/audit)
	$(call demand_coverage,90,ticketctl/ledger)
	$(call demand_coverage,90,ticketctl/sequences)
	$(call demand_coverage,90,ticketctl/importing)
	$(call demand_coverage,90,ticketctl/restore)
	$(call demand_coverage,90,ticketctl/dead_letters)
	$(call demand_coverage,90,ticketctl/verify)

demand_coverage = $(BIN)/coverage report --fail-under=$(1) --include='$(2)/*'

lab: simulate known-bad width branches mutants  ##lab All long checks; three hours

prove: .venv-prove/ready  ##lab Prove the promises by induction; seconds
	@PYTHONPATH=lab .venv-prove/bin/python -m induction

width: .venv-prove/ready  ##lab Check that the proof needs each of its conditions
	@PYTHONPATH=lab .venv-prove/bin/python -m induction.width

simulate: .venv/ready  ##lab Run 10,000 histories (SEEDS=, SEED=, OPERATORS=1)
	$(if $(OPERATORS),,@PYTHONPATH=src:lab $(BIN)/python -m simulation $(if $(SEED),seed $(SEED),seeds $(SEEDS)) --algorithm "$(ALGORITHM)")
	$(if $(OPERATORS),@$(PLAY_OPERATORS),$(if $(SEED)$(filter-out shipped,$(ALGORITHM)),,@$(PLAY_OPERATORS)))

# They seed, import, void and erase with the code of ticketctl, which the simulation does not know.
PLAY_OPERATORS = PYTHONPATH=src:lab $(BIN)/python -m operators $(if $(SEED),seed $(SEED),seeds $$(( ($(SEEDS) + 9) / 10 )) && PYTHONPATH=src:lab $(BIN)/python -m operators restores $$(( ($(SEEDS) + 19) / 20 )))

known-bad: .venv/ready  ##lab Count the seeds that catch each known-bad algorithm
	@PYTHONPATH=src:lab $(BIN)/python -m simulation known-bad
	@PYTHONPATH=src:lab $(BIN)/python -m operators known-bad

# In one process each, because a trace sees no other one.
branches: .venv/ready  ##lab Compare the branches that no history takes with the list
	@mkdir -p .build
	$(TRACED) --data-file=.build/histories.coverage --concurrency=thread,greenlet -m tools.branches play
	$(TRACED) --data-file=.build/tests.coverage -m pytest --quiet $$($(BIN)/python -m tools.branches tests)
	$(call report_branches,histories)
	$(call report_branches,tests)
	$(BIN)/python -m tools.branches compare .build/histories.json .build/tests.json

TRACED = PYTHONPATH=src:lab:. $(BIN)/coverage run
report_branches = $(BIN)/coverage json --quiet --data-file=.build/$(1).coverage -o .build/$(1).json --include='$(OF_HISTORIES)'
OF_HISTORIES := src/ticket_numbering/allocation/*,src/ticket_numbering/worker/*,ticketctl/restore/*,ticketctl/importing/*,ticketctl/sequences/*,ticketctl/dead_letters/*

mutants: .venv-mutation/ready  ##lab Change the code a little: a test must fail; two hours
	rm -rf mutants
	nice .venv-mutation/bin/mutmut run --max-children 2
	.venv-mutation/bin/python -m tools.mutants

bench: .venv/ready  ##lab Measure beside other algorithms (SCALE=, FULL=1, LINE=1)
	@PYTHONPATH=src:lab $(BIN)/python -m benchmarks --scale "$(SCALE)" --profile "$(PROFILE)" $(if $(FULL),--seeds 8 --plots docs/performance) $(if $(LINE),--seeds 4 --line)

bench-function: .venv/ready  ##lab Measure start, processor time, memory of the function
	@PYTHONPATH=lab $(BIN)/python -m benchmarks.function

check: .venv/ready .venv-prove/ready  ##start Lint, types, template, proof, unit tests; 45 seconds
	@$(MAKE) --no-print-directory --keep-going --jobs 2 $(OUTPUT_IN_ORDER) lint-ruff unit prove lint

lint: lint-mypy lint-ruff lint-imports lint-template

lint-ruff: .venv/ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

lint-mypy: .venv/ready
	$(BIN)/mypy

lint-imports: .venv/ready
	PYTHONPATH=src:lab:. $(BIN)/lint-imports --no-logo

lint-template: .venv/ready
	$(BIN)/cfn-lint template.yaml docs/examples/*.yaml

unit: .venv/ready
	$(PYTEST) --quiet tests/unit

unit-lambda: BIN := .venv-3.13/bin
unit-lambda: .venv-3.13/ready  ##change The unit tests on Lambda's Python, 3.13
	$(PYTEST) --quiet tests/unit

template: .venv-sam/ready .venv-scan/ready  ##sam Lint and scan the template and the policies
	SAM_CLI_TELEMETRY=0 AWS_DEFAULT_REGION=eu-west-1 .venv-sam/bin/sam validate --lint
	.venv-scan/bin/checkov --framework cloudformation --file template.yaml --skip-download --compact --quiet
	PYTHONWARNINGS=ignore::UserWarning:parliament .venv-scan/bin/parliament --minimum_severity MEDIUM --files docs/examples/check-permissions.json,docs/examples/deploy-permissions.json

# A build reuses an earlier one's files in `build`.
wheel:  ##change Build the wheel, install it, import all of it
	rm -rf .build/wheel build
	$(PYTHON) -m venv .build/wheel
	.build/wheel/bin/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir .build/wheel .
	.build/wheel/bin/python -m pip install --quiet --disable-pip-version-check .build/wheel/*.whl
	.build/wheel/bin/python -I tools/import_all.py
	.build/wheel/bin/python .build/wheel/bin/ticketctl --help > /dev/null

beside: setup  ##change Let the worker of a RELEASE= number together with this one
	PYTHONPATH=src $(BIN)/python -m tools.beside "$(RELEASE)"

release: release-versions wheel package  ##change Write the files of a release to dist/ (TAG=)
	PYTHONPATH=src $(BIN)/python -m tools.release write .build/wheel/*.whl .aws-sam/build/NumberingWorker dist

release-versions: .venv/ready
	@PYTHONPATH=src $(BIN)/python -m tools.release check $(TAG)

format: .venv/ready  ##change Format the code, and apply the fixes of ruff
	$(BIN)/ruff check --fix --exit-zero --quiet .
	$(BIN)/ruff format .
	$(BIN)/ruff check .

contracts: .venv/ready  ##change Write the generated parts of pages and schemas
	PYTHONPATH=src:lab $(BIN)/python -m tools.contracts
	PYTHONPATH=src:lab $(BIN)/python -m tools.pages
	PYTHONPATH=src $(BIN)/python -m tools.reference

pictures: setup  ##change Draw the terminal of `make run` again
	@PYTHONPATH=src $(BIN)/python -m tools.pictures

# Side by side, because they mostly wait for the network.
setup:
	@$(MAKE) --no-print-directory $(if $(filter --jobserver%,$(MAKEFLAGS)),,--jobs 2) .venv/bin/ticketctl .venv-emulator/ready

# The emulator, the SAM CLI and the scanner each pin a boto3 of their own, so each lives apart.
%/ready: REQUIREMENTS = requirements/$(patsubst .venv-%,%,$*).txt
.venv/ready .venv-3.13/ready: REQUIREMENTS = requirements/dev.txt
.venv-3.13/ready: PYTHON = $(LAMBDA_PYTHON)

# `ready` is a copy of the requirements: a switch of branches changes times, but not the installed packages.
# The scripts of an environment name its place.
%/ready: always | .venv-uv/ready
	@cmp -s $(REQUIREMENTS) $@ && $(call is_here,$*) || $(call environments,$* $(REQUIREMENTS))

# First and alone, so that a machine without network has one error.
.venv-uv/ready: always
	@cmp -s requirements/uv.txt $@ && $(call is_here,.venv-uv) || $(call environments,.venv-uv requirements/uv.txt)

is_here = grep -qF " $$(pwd -P)/$(1)" $(1)/pyvenv.cfg

environments = { $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	{ echo "Python 3.11 or newer is needed; name one with PYTHON=..." >&2; exit 1; }; \
	$(PYTHON) -m ticketctl.local.environments $(1); }

always:

# `ticketctl`, from any directory; it finds itself, for a checkout can be moved or copied.
.venv/bin/ticketctl: .venv/ready
	@printf '%s\n' '#!/bin/sh' 'here=$$(dirname "$$(readlink -f "$$0")")/../..' \
		'PYTHONPATH="$$here:$$here/src" exec "$$here/.venv/bin/python" -m ticketctl "$$@"' > $@
	@chmod +x $@

requirements: .venv/ready  ##change Pin the packages of the .in files, with hashes
	$(call compile,uv,requirements/uv.txt)
	$(call compile,runtime,src/requirements.txt)
	$(call compile,dev,requirements/dev.txt,--constraints src/requirements.txt)
	$(call compile,emulator,requirements/emulator.txt)
	$(call compile,sam,requirements/sam.txt)
	$(call compile,scan,requirements/scan.txt)
	$(call compile,prove,requirements/prove.txt)
	$(call compile,mutation,requirements/mutation.txt,--constraints src/requirements.txt --constraints requirements/dev.txt)

# --universal: for every platform and every Python from 3.11 on, including the function's 3.13.
# Without pip's settings: a partial mirror would give only its own hashes.
compile = UV_SYSTEM_CERTS=true $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--custom-compile-command 'make requirements' $(3) requirements/$(1).in --output-file $(2)

clean:  ##change Remove environments, build output and caches
	rm -rf .venv .venv-emulator .venv-sam .venv-scan .venv-mutation .venv-prove .venv-3.13 .venv-uv mutants .build build dist *.egg-info .aws-sam .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .coverage
	find . -name __pycache__ -prune -exec rm -rf {} +
