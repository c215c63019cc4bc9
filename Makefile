# Two commands from a bare clone: `make simulate` and `make test`. Nothing else is needed but Python 3.11.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: simulate test format slow evidence measure docs check-deps sbom reproducible wheelhouse clean

simulate: $(VENV)/.installed        ## the default study: SAPE-FL, encrypted, 20 clients, 10 rounds
	$(BIN)/secure-sapefl simulate

test: $(VENV)/.installed-dev        ## lint, types, fast tests: what CI runs
	BIN=$(BIN) ./scripts/check

slow: $(VENV)/.installed-dev        ## the long tests, in parts; PART=tests/crypto runs some, PART=--list says what is known
	$(BIN)/python scripts/slow.py $(PART)

evidence: $(VENV)/.installed-dev    ## the runs behind the tables of two pages of docs; they add up over days
	$(BIN)/python scripts/evidence.py $(PART)

measure: $(VENV)/.installed-dev     ## the house in numbers: lines, folders, cycles, repetition
	$(BIN)/python scripts/measure.py

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix . && $(BIN)/ruff format .

docs: $(VENV)/.installed-docs        ## dist/docs: the documentation, to be read without a network
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "Open dist/docs/index.html"

check-deps: $(VENV)/.installed-security    ## known vulnerabilities and licences of what is installed
	$(BIN)/python scripts/check_deps.py

sbom: $(VENV)/.installed-security          ## dist/sbom.json: a bill of materials, CycloneDX
	@mkdir -p dist
	$(BIN)/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible --output-file dist/sbom.json $(BIN)/python

reproducible: $(VENV)/.installed-dev       ## build twice, apart, and compare byte by byte
	$(BIN)/python scripts/reproducible.py

wheelhouse: $(VENV)/.installed             ## dist/wheelhouse: all wheels and install.sh, for machines without a network
	$(BIN)/python scripts/wheelhouse.py

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("secure-sapefl needs Python 3.11 or newer; this is %s. Try: make PYTHON=python3.11 ..." % sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

# torch first and alone: pinned, so that no dependency makes pip choose another build of it.
$(VENV)/.installed: $(VENV)/bin/python pyproject.toml constraints.txt
	@echo "Installing into $(VENV) (once; the longest part is the download) ..."
	$(PIP) torch
	$(PIP) --editable .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(PIP) --editable '.[dev]'
	@touch $@

$(VENV)/.installed-docs: $(VENV)/.installed
	$(PIP) --editable '.[docs]'
	@touch $@

$(VENV)/.installed-security: $(VENV)/.installed
	$(PIP) --editable '.[security]'
	@touch $@

clean:
	rm -rf $(VENV) runs .mypy_cache .ruff_cache .pytest_cache dist
