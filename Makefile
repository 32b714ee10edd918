# Assay's one Makefile. `make` builds build/assay, `make run` shows it at work, `make test` tests it,
# `make check` is what a change must pass. Objects go to build/<combination>/, one folder per compiler and
# sanitizer. A folder may bring its own rules in <folder>/rules.mk (generated files, extra objects).
#
#   CC=clang          another compiler           SAN=address,undefined | SAN=thread
#   WERROR=1          warnings are errors        CUDA=0   leave the GPU half out though nvcc is there
#   T=name            only tests whose path holds the name       SECONDS=60   time per fuzz target
#   V=1               show whole commands
#   UNIT=1            no test scripts, only test programs
#   DESTDIR= PREFIX=/usr/local                   for install and uninstall (SYSCONFDIR, UNITDIR too)

ifeq ($(origin CC),default)
CC := gcc
endif
comma := ,
SAN ?=
COV ?=
WERROR ?=
V ?=
T ?=
F ?=
UNIT ?=
PREFIX ?= /usr/local
fuzz_seconds = $(if $(filter command line environment,$(origin SECONDS)),$(SECONDS),60)

CXX := $(if $(filter clang,$(notdir $(CC))),clang++,g++)
NVCC ?= $(firstword $(shell command -v nvcc) $(wildcard /usr/local/cuda/bin/nvcc))
# The toolkit's folders: where nvcc lies, where it says its top is (it may be a link or a wrapper), the usual places. A
# compiler without its headers or static runtime is as good as none.
ifneq ($(NVCC),)
cuda_tops := $(patsubst %/bin/nvcc,%,$(realpath $(NVCC)) $(NVCC)) $(CUDA_HOME) $(CUDA_PATH) /usr/local/cuda /usr \
             $(shell $(NVCC) --dryrun -x cu -c /dev/null -o /dev/null 2>&1 | sed -n 's/^.. TOP=//p')
cuda_found = $(firstword $(wildcard $(foreach t,$(cuda_tops),$(foreach d,$1,$t/$d/$2))))
CUDA_H := $(call cuda_found,include targets/*/include,cuda_runtime_api.h)
CUDA_A := $(call cuda_found,lib64 lib targets/*/lib lib/x86_64-linux-gnu,libcudart_static.a)
endif
CUDA_LACKS := $(strip $(if $(NVCC),$(if $(CUDA_H),,cuda_runtime_api.h) $(if $(CUDA_A),,libcudart_static.a),nvcc))
CUDA ?= $(if $(SAN)$(COV)$(CUDA_LACKS),0,1)
NVCC_ARCHS ?= 75 80 90

B := build/$(notdir $(CC))$(if $(SAN),-$(subst $(comma),-,$(SAN)))$(if $(COV),-cov)

# ---- what is built from what ----

# _GNU_SOURCE everywhere: pipe2, execvpe and strerror_r's GNU form are used, and one setting is simpler
# to reason about than one per file. Always PIC, so that the CUDA half can take objects from here.
WARN := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 \
        -Wundef -Wvla $(if $(WERROR),-Werror)
# Sanitized code is compiled in half the time at -O1; its tests take a fifth more of their few seconds.
OPT ?= $(if $(SAN),-O1 -g1,-O2 -g)
SAN_FLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer $(if $(findstring undefined,$(SAN)),-fno-sanitize-recover=undefined))
COV_FLAGS := $(if $(COV),-fprofile-instr-generate -fcoverage-mapping)

# Order matters for static linking only. Left: pkg-config's name; right: Debian's package.
PKGS := sqlite3:libsqlite3-dev libevent:libevent-dev libevent_pthreads:libevent-dev \
        libevent_openssl:libevent-dev openssl:libssl-dev jansson:libjansson-dev \
        libcurl:libcurl4-openssl-dev yaml-0.1:libyaml-dev zlib:zlib1g-dev \
        libpng:libpng-dev libjpeg:libjpeg62-turbo-dev liblzma:liblzma-dev libzstd:libzstd-dev \
        liblz4:liblz4-dev snappy:libsnappy-dev
pkg_names := $(foreach p,$(PKGS),$(firstword $(subst :, ,$p)))
need_pkgs := $(if $(NO_PKGS),,$(if $(filter-out clean deps deps-dev gpu-check gpu-bench lint spec-tables run test check dev deb check-deb check-image kubernetes-peers slurm-peers ansible-peers check-ansible uninstall,$(or $(MAKECMDGOALS),all)),1))
ifdef need_pkgs
PKG_CFLAGS := $(shell pkg-config --cflags $(pkg_names) 2>/dev/null)
PKG_LIBS := $(shell pkg-config --libs $(pkg_names) 2>/dev/null)
PKG_MISSING := $(if $(PKG_LIBS),,$(shell for p in $(PKGS); do \
    pkg-config --exists $${p%%:*} 2>/dev/null || echo $$p; done))
endif

CFLAGS_ALL = -std=c17 -D_GNU_SOURCE $(WARN) $(OPT) -ffp-contract=off -fPIC -pthread -I. -MMD -MP \
             $(SAN_FLAGS) $(COV_FLAGS) $(PKG_CFLAGS) $(CFLAGS)
LDFLAGS_ALL = $(SAN_FLAGS) $(COV_FLAGS) -pthread $(LDFLAGS)
LIBS_ALL = $(PKG_LIBS) -ldl -lm $(LIBS)

# Every folder of the product with C sources, rooms within rooms included; the CUDA half has rules of its own.
FOLDERS := $(filter-out ml/cuda% web/static%,$(sort $(shell find base proto search store ml controller trial-runner web cli -type d)))
SRCS := $(filter-out cli/main.c,$(wildcard $(addsuffix /*.c,$(FOLDERS))))
ASMS := $(wildcard $(addsuffix /*.S,$(FOLDERS)))
TEST_SRCS := $(shell find tests $(if $(SAN),-path tests/cuda -prune -o) -name 'test_*.c' -print 2>/dev/null | sort)
RIG_SRCS := $(filter-out tests/fuzz/% tests/bench/% tests/cuda/%,$(shell find tests -name '*.c' ! -name 'test_*' 2>/dev/null | sort))
SCRIPT_TESTS := $(shell find tests -mindepth 2 -name 'test_*.sh' -o -mindepth 2 -name 'test_*.mjs' 2>/dev/null | sort)
FUZZ_SRCS := $(wildcard tests/fuzz/fuzz_*.c)
BENCH_SRCS := $(wildcard tests/bench/bench_*.c)
# What ml/ and search/ may use of base/: libc only. Also what the CUDA half links.
LIBC_BASE := base err mem arena buf str log clk rng fault sha256 io utf8 simd
ML_SRCS := $(LIBC_BASE:%=base/%.c) $(filter-out ml/read/picture.c ml/read/columnar/codec.c,$(filter ml/%,$(SRCS)))
CUDA_SRCS := $(filter-out ml/cuda/check%,$(wildcard ml/cuda/*.c ml/cuda/*.cu))
CUDA_CHECKS := $(wildcard ml/cuda/check*.c)

picked = $(if $(T),$(foreach t,$1,$(if $(findstring $(T),$t),$t)),$1)
TESTS := $(patsubst %.c,$B/%,$(call picked,$(TEST_SRCS)))
SCRIPTS := $(if $(UNIT),,$(call picked,$(SCRIPT_TESTS)))
FUZZERS := $(patsubst tests/fuzz/fuzz_%.c,%,$(FUZZ_SRCS))
CUDA_SO := $(if $(filter 1,$(CUDA)),$(if $(CUDA_SRCS),$B/libassay-cuda.so))
PROGRAM := $(if $(wildcard cli/main.c),$B/assay)

# Short lines unless V=1; a recursive make uses every core unless told otherwise.
Q := $(if $(V),,@)
say = $(if $(V),@:,@echo "$1 $2")
AGAIN = $(MAKE) --no-print-directory $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(shell nproc))

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules
.PHONY: all lib deps deps-dev run test run-tests build-tests dev lint check bench bench-peers bench-nets bench-ask \
        bench-best bench-field test-chaos test-training formats-peers kubernetes-peers slurm-peers ansible-peers check-ansible \
        bench-pipelines bench-allocation bench-optimism bench-noise fuzz build-fuzz \
        fuzz-cover fuzz-minimise spec-tables manual install uninstall deb check-deb check-image clean gpu-check gpu-bench cuda need-packages

-include $(wildcard $(addsuffix /rules.mk,$(FOLDERS) ml/cuda tests/cuda))

OBJS = $(SRCS:%=$B/%.o) $(ASMS:%=$B/%.o) $(EXTRA_OBJS)

all: $(PROGRAM) $(B)/libassay.a cuda
ifneq ($(PROGRAM),)
	@$(if $(SAN)$(COV),,for n in assay assayd assay-runner; do ln -sfn $(notdir $B)/$$n build/$$n; done)
else
	@echo "no cli/main.c yet: only the library was built"
endif

lib: $B/libassay.a

ifneq ($(PKG_MISSING),)
need-packages:
	@$(foreach p,$(PKG_MISSING),echo "missing: $(firstword $(subst :, ,$p)) (Debian package $(lastword $(subst :, ,$p))); run: make deps" >&2;) exit 1
$(OBJS) $B/cli/main.c.o: | need-packages
endif

$B/%.c.o: %.c
	@mkdir -p $(@D)
	$(call say,cc  ,$<)
	$Q$(CC) $(CFLAGS_ALL) -c $< -o $@

$B/%.S.o: %.S
	@mkdir -p $(@D)
	$(call say,as  ,$<)
	$Q$(CC) -I. $(ASMFLAGS) -c $< -o $@

# .incbin leaves no dependency file: whatever may be embedded rebuilds it.
$B/web/api/page.S.o: $(shell find web/static -type f 2>/dev/null)
$(patsubst %,$B/%.o,$(wildcard store/*.S)): $(wildcard store/migrations/*.sql store/*.def)

# A list of the objects, so that a removed source file also renews the archive.
$B/objects: FORCE
	@mkdir -p $(@D) && printf '%s\n' $(OBJS) | cmp -s - $@ || printf '%s\n' $(OBJS) > $@
FORCE:

$B/libassay.a: $(OBJS) $B/objects
	@rm -f $@
	@$(AR) rcs $@ $(OBJS)

$B/librig.a: $(RIG_SRCS:%=$B/%.o)
	@mkdir -p $(@D) && rm -f $@
	@$(AR) rcs $@ $^

$B/libassay-ml.a: $(ML_SRCS:%=$B/%.o)
	@rm -f $@
	@$(AR) rcs $@ $^

$B/assay: $B/cli/main.c.o $B/libassay.a
	$(call say,link,$@)
	$Q$(CC) $(LDFLAGS_ALL) $^ $(LIBS_ALL) -o $@
	@ln -sfn assay $B/assayd && ln -sfn assay $B/assay-runner

# ---- the CUDA half: found, not demanded ----

# Beside PTX of the last architecture, so that newer devices work too. Never -lcuda: see ml/cuda.
GENCODE = $(foreach a,$(NVCC_ARCHS),-gencode arch=compute_$a,code=sm_$a) \
          -gencode arch=compute_$(lastword $(NVCC_ARCHS)),code=compute_$(lastword $(NVCC_ARCHS))
NVCC_FLAGS = -std=c++17 -O2 -lineinfo --fmad=false -I. $(GENCODE) -Xcompiler -fPIC,-Wall,-ffp-contract=off
CUDA_LIBS ?= -L$(dir $(CUDA_A)) -lcudart_static -ldl -lrt -lpthread -lstdc++ -lm

cuda: $(CUDA_SO)
ifneq ($(CUDA_LACKS),)
	@echo "CUDA: $(CUDA_LACKS) not found, GPU half skipped"
endif
ifneq ($(CUDA_SO),)
	@mkdir -p build && ln -sfn $(notdir $B)/libassay-cuda.so build/libassay-cuda.so
endif

$B/%.cu.o: %.cu
	@mkdir -p $(@D)
	$(call say,nvcc,$<)
	$Q$(NVCC) $(NVCC_FLAGS) -MMD -MP -MF $(@:.o=.d) -c $< -o $@

$B/ml/cuda/%.c.o: CFLAGS += -isystem $(dir $(CUDA_H))

$B/libassay-cuda.so: $(CUDA_SRCS:%=$B/%.o) $B/libassay-ml.a
	$(call say,link,$@)
	$Q$(CC) -shared -Wl,-Bsymbolic,-z,defs $(LDFLAGS_ALL) $^ $(CUDA_LIBS) -o $@

# The kernels for tests on a machine without a GPU: the same .cu files as C++ over tests/cuda/emu.h. Without sanitizers:
# fibers switch stacks, which they do not follow.
EMU_OBJS := $(CUDA_SRCS:%=$B/emu/%.o) $B/emu/tests/cuda/emu.cpp.o $B/emu/tests/cuda/nccl_emu.c.o
EMU_RIGS := $(patsubst %,$B/emu/%.o,$(wildcard tests/cuda/*_rig.c))
EMU_FLAGS = -O2 -g -ffp-contract=off -fPIC -pthread -I. -MMD -MP -DASSAY_EMULATE='"tests/cuda/emu.h"'

$B/emu/%.cu.o: %.cu
	@mkdir -p $(@D)
	$(call say,emu,$<)
	$Q$(CXX) -std=c++17 $(EMU_FLAGS) -x c++ -c $< -o $@
$B/emu/%.cpp.o: %.cpp
	@mkdir -p $(@D)
	$(call say,c++,$<)
	$Q$(CXX) -std=c++17 -Wall -Wextra $(EMU_FLAGS) -c $< -o $@
$B/emu/%.c.o: %.c
	@mkdir -p $(@D)
	$(call say,cc,$<)
	$Q$(CC) -std=c17 -D_GNU_SOURCE $(WARN) $(EMU_FLAGS) -c $< -o $@

$B/tests/cuda/%: $B/emu/tests/cuda/%.c.o $(EMU_OBJS) $(EMU_RIGS) $B/tests/ml/fit_rig.c.o $B/libassay-ml.a
	@mkdir -p $(@D)
	$(call say,link,$@)
	$Q$(CXX) $(LDFLAGS_ALL) $^ -ldl -lm -lcmocka -o $@

# The same as a shared object, which ASSAY_CUDA may name: a whole search on an emulated device.
$B/libassay-cuda-emulated.so: $(EMU_OBJS) $B/libassay-ml.a
	$(call say,link,$@)
	$Q$(CXX) -shared -Wl,-Bsymbolic,-z,defs $(LDFLAGS_ALL) $^ -ldl -lm -o $@

# Needs only gcc and nvcc: plain programs ml/cuda/check*.c, each says what agreed and exits non-zero if not; gpu-bench times
# the device against the CPU. ml/cuda/report.sh runs them, each within its time. ASSAY_CUDA may name another CUDA half.
gpu-check gpu-bench:
ifneq ($(CUDA_LACKS),)
	@echo "$@: $(CUDA_LACKS) not found, skipped"; echo "0 passed, 0 failed, 1 skipped"
else ifeq ($(CUDA_SRCS),)
	@echo "$@: ml/cuda/ holds no sources yet, skipped"; echo "0 passed, 0 failed, 1 skipped"
else
	@+$(AGAIN) NO_PKGS=1 CUDA=1 $(CUDA_CHECKS:%.c=$B/%) $B/libassay-cuda.so
	@ASSAY_CUDA=$${ASSAY_CUDA:-$B/libassay-cuda.so} sh ml/cuda/report.sh $(@:gpu-%=%) $B
endif

$B/ml/cuda/check%: $B/ml/cuda/check%.c.o $B/libassay-ml.a
	$(call say,link,$@)
	$Q$(CC) $(LDFLAGS_ALL) $^ -ldl -lm -lpthread -o $@

# ---- packages ----

deps:
	@.ci/deps.sh

deps-dev:
	@.ci/deps.sh dev

# ---- run, test ----

run: deps
	@+$(AGAIN) all
	@cli/first-run.sh $(if $(SAN)$(COV),$B,build)/assay

dev: deps
	@+$(AGAIN) all
	@tests/dev.sh

test: deps
	@+$(AGAIN) run-tests

$B/tests/%: $B/tests/%.c.o $B/librig.a $B/libassay.a
	$(call say,link,$@)
	$Q$(CC) $(LDFLAGS_ALL) $< $B/librig.a $B/libassay.a $(LIBS_ALL) -lcmocka -o $@

# End-to-end programs start the real thing.
$(filter $B/tests/e2e/% $B/tests/issues/%,$(TESTS)): | $(PROGRAM)

build-tests: $(TESTS) $(if $(SCRIPTS),all $(if $(SAN),,$B/libassay-cuda-emulated.so))

run-tests: build-tests
	@B=$B T='$(T)' SAN='$(SAN)' tests/run.sh $(SCRIPTS) $(TESTS)

# What takes longer than `make test` should. test-chaos: 50 simulated runners, 10,000 trials and 60 acts of chaos, a quarter of an
# hour; in the suite e2e/test_chaos runs a small one. test-training: scripts of scikit-learn and PyTorch as command studies; both
# are installed once, of pinned versions, under build/training (5 GB); skipped where they cannot be.
TRAINING_PYTHON ?= build/training/bin/python
test-chaos:
	@+$(AGAIN) all $B/tests/e2e/test_chaos
	@ASSAY_CHAOS_RUNNERS=$${ASSAY_CHAOS_RUNNERS:-50} ASSAY_CHAOS_TRIALS=$${ASSAY_CHAOS_TRIALS:-10000} \
	    ASSAY_CHAOS_ACTS=$${ASSAY_CHAOS_ACTS:-60} TEST_LIMIT=$${TEST_LIMIT:-3600} B=$B tests/run.sh $B/tests/e2e/test_chaos

test-training:
	@$(TRAINING_PYTHON) -c 'import sklearn, torch' 2>/dev/null || { python3 -m venv build/training && \
	    build/training/bin/python -m pip install -q -r tests/e2e/requirements-training.txt; } >/dev/null 2>&1; \
	    $(TRAINING_PYTHON) -c 'import sklearn, torch' 2>/dev/null || { echo "test-training: skipped, scikit-learn and PyTorch" \
	    "are not here and cannot be installed"; echo "0 passed, 0 failed, 1 skipped"; exit 0; }; \
	    $(AGAIN) all && PYTHON=$(abspath $(TRAINING_PYTHON)) TEST_LIMIT=$${TEST_LIMIT:-3600} B=$B tests/run.sh tests/e2e/training.sh

bench-%:
	@+$(AGAIN) bench T=bench_$*

# Beside scikit-learn, XGBoost and LightGBM of pinned versions, which are installed under build/peers-models once: PAIRS=5 runs each, THREADS=1,2, ONLY=text of a case; then how
# near our side comes to what this machine can do (bench_roofline). QUALITY=equal or defaults:
# boosting on the shared tables instead, how good it is; SEARCH=list, grid or race: a whole search beside a loop, ONLY="adult letter".
# NET=1 = bench-nets: small networks beside PyTorch, of pinned versions, which is installed under build/peers once; NET=tables: the
# default mlp beside RealMLP-TD and scikit-learn's on the shared tables; NET=smooth: beside our boosting where trees are weak; NET=cnn:
# the step of a small convolutional network beside PyTorch. NET=searched: a searched mlp beside searched boosting on the shared tables;
# NET=picks: what `assay fit` picks where trees are weak; both TIME=60s a search; ONLY="adult sine" = these tables or kinds.
# ASK=1 = bench-ask: programs that share a study, beside Optuna of a pinned version, which is installed under build/peers-ask once.
# BEST=1 = bench-best: the best value after 200 trials of five functions, beside Optuna's TPE and Gaussian process; that one needs
# PyTorch (build/peers-best, 5 GB); WHO="ours tpe" leaves it out. Hours; one that was stopped goes on.
# FIELD=1 = bench-field: whole fits on the shared tables beside AutoGluon and FLAML of pinned versions, one processor and TIME=60 seconds
# for each (build/peers-autogluon, 7 GB, and build/peers-flaml); FIELD="adult letter" = these tables, SIDES="assay flaml" = these sides.
PEERS_PYTHON ?= build/peers-models/bin/python
NETS_PYTHON ?= build/peers/bin/python
ASK_PYTHON ?= build/peers-ask/bin/python
BEST_PYTHON ?= build/peers-best/bin/python
ifneq ($(NET),)
bench-peers: bench-nets
else ifneq ($(ASK),)
bench-peers: bench-ask
else ifneq ($(BEST),)
bench-peers: bench-best
else ifneq ($(FIELD),)
bench-peers: bench-field
else
bench-peers:
	@[ -x $(PEERS_PYTHON) ] || { python3 -m venv build/peers-models && \
	    $(PEERS_PYTHON) -m pip install -q -r tests/bench/peers/requirements-models.txt; } >/dev/null 2>&1; \
	    $(PEERS_PYTHON) -c 'import lightgbm, sklearn, xgboost' 2>/dev/null || \
	    { echo "bench-peers: skipped, scikit-learn, XGBoost and LightGBM are not here and cannot be installed"; exit 0; }; \
	    $(AGAIN) all $B/tests/bench/peers/ours $B/tests/bench/peers/make_data && \
	    B=$B $(PEERS_PYTHON) tests/bench/peers/$(if $(QUALITY),quality.py $(QUALITY),$(if $(filter race,$(SEARCH)),race.py,$(if $(SEARCH),search.py $(SEARCH),$(if $(GPU),gpu.py $(filter-out 1,$(GPU)),peers.py))))$(if $(QUALITY)$(SEARCH)$(GPU),, && \
    $(AGAIN) $B/tests/bench/bench_roofline && $B/tests/bench/bench_roofline)
endif

bench-ask:
	@[ -x $(ASK_PYTHON) ] || { python3 -m venv build/peers-ask && \
	    $(ASK_PYTHON) -m pip install -q -r tests/bench/peers/requirements-ask.txt; } >/dev/null 2>&1; \
	    $(ASK_PYTHON) -c 'import optuna' 2>/dev/null || \
	    { echo "bench-ask: skipped, Optuna is not here and cannot be installed"; exit 0; }; \
	    $(AGAIN) all && B=$B $(ASK_PYTHON) tests/bench/peers/ask.py

bench-field:
	@for side in autogluon flaml; do python=build/peers-$$side/bin/python; \
	    [ -x $$python ] || { python3 -m venv build/peers-$$side && \
	    $$python -m pip install -q -r tests/bench/peers/requirements-$$side.txt; } >/dev/null 2>&1; \
	    $$python -c "import $$side" 2>/dev/null || { echo "bench-field: skipped, $$side is not here and cannot be installed"; exit 0; }; \
	done; $(AGAIN) all && B=$B build/peers-autogluon/bin/python tests/bench/peers/field.py $(filter-out 1,$(FIELD))

bench-best:
	@[ -x $(BEST_PYTHON) ] || { python3 -m venv build/peers-best && \
	    $(BEST_PYTHON) -m pip install -q -r tests/bench/peers/requirements-best.txt; } >/dev/null 2>&1; \
	    $(BEST_PYTHON) -c 'import optuna' 2>/dev/null || \
	    { echo "bench-best: skipped, Optuna is not here and cannot be installed"; exit 0; }; \
	    $(AGAIN) all && B=$B $(BEST_PYTHON) tests/bench/peers/best.py

bench-nets:
	@[ -x $(NETS_PYTHON) ] || { python3 -m venv build/peers && \
	    $(NETS_PYTHON) -m pip install -q -r tests/bench/peers/requirements.txt; } >/dev/null 2>&1; \
	    $(NETS_PYTHON) -c 'import numpy, torch' 2>/dev/null || \
	    { echo "bench-nets: skipped, PyTorch is not here and cannot be installed"; exit 0; }; \
	    $(AGAIN) all $B/tests/bench/peers/nets $B/tests/bench/peers/ours $B/tests/bench/peers/make_data && \
	    B=$B $(NETS_PYTHON) tests/bench/peers/$(if $(filter tables smooth,$(NET)),tables.py $(NET) $(ONLY),$(if \
	    $(filter searched picks,$(NET)),picks.py $(NET) $(ONLY),$(if $(filter cnn,$(NET)),cnn.py,nets.py)))

# Whole pipelines on generated tables as they are, beside a pipeline of scikit-learn and XGBoost of pinned versions, which are installed
# under build/peers-pipelines once: ONLY="levels text" (list = their names), ROWS=2000, TIME=20s, SEED=1; another Python that has
# them: PIPELINES_PYTHON=.
PIPELINES_PYTHON ?= build/peers-pipelines/bin/python
bench-pipelines:
	@[ -x $(PIPELINES_PYTHON) ] || { python3 -m venv build/peers-pipelines && \
	    $(PIPELINES_PYTHON) -m pip install -q -r tests/bench/pipelines/requirements.txt; } >/dev/null 2>&1; \
	    $(PIPELINES_PYTHON) -c 'import pandas, scipy, sklearn, xgboost' 2>/dev/null || \
	    { echo "bench-pipelines: skipped, scikit-learn and XGBoost are not here and cannot be installed"; exit 0; }; \
	    $(AGAIN) all && ASSAY=$B/assay ROWS=$(ROWS) TIME=$(or $(TIME),20s) SEED=$(or $(SEED),1) \
	    $(PIPELINES_PYTHON) tests/bench/pipelines/run.py $(ONLY)

# A whole search on generated tables: beside its families alone at equal time (RACE: "SECONDS KINDS SEEDS FAMILIES"), or what its
# score is worth (OPTIMISM="SECONDS SEEDS KINDS"). See tests/bench/search/README.md.
bench-allocation:
	@$(AGAIN) all && B=$B python3 tests/bench/search/race.py $(RACE)
bench-optimism:
	@$(AGAIN) all && B=$B python3 tests/bench/search/optimism.py $(OPTIMISM)

# Samplers on generated functions with noise, failures and misleading branches: NOISE="20 tpe,duo lure:0 bumps:1". PEERS=1: beside
# Optuna's samplers and SMAC3, which are installed under build/peers-noise once (3 GB, because Optuna's GP needs PyTorch).
NOISE_PYTHON ?= build/peers-noise/bin/python
bench-noise:
ifneq ($(PEERS),)
	@[ -x $(NOISE_PYTHON) ] || { python3 -m venv build/peers-noise && \
	    $(NOISE_PYTHON) -m pip install -q -r tests/bench/search/requirements-noise.txt; } >/dev/null 2>&1; \
	    $(NOISE_PYTHON) -c 'import optuna, smac' 2>/dev/null || \
	    { echo "bench-noise: skipped, Optuna and SMAC3 are not here and cannot be installed"; exit 0; }; \
	    $(AGAIN) all && python3 tests/bench/search/functions.py build/search-functions && \
	    B=$B OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(NOISE_PYTHON) tests/bench/search/$(if $(CURVES),curve,noise)_peers.py
else
	@$(AGAIN) all && B=$B tests/bench/search/noise.sh $(NOISE)
endif

# What tests/ml/test_formats compares with: writers of Parquet, Arrow and JSON lines, of pinned versions, installed once.
formats-peers:
	@python3 -m venv build/formats && build/formats/bin/python -m pip install -q -r tests/ml/formats/requirements.txt

# What tests/packaging/test_kubernetes validates the manifests with, of a pinned version, installed once.
kubernetes-peers:
	@python3 -m venv build/kubernetes && build/kubernetes/bin/python -m pip install -q -r tests/packaging/kubernetes/requirements.txt

# What tests/e2e/test_slurm.sh needs: a Slurm that the test itself starts (Debian, 3.5 MB).
slurm-peers:
	@sh .ci/deps.sh slurm

# What tests/packaging/test_ansible.sh needs.
ansible-peers:
	@sh .ci/deps.sh ansible
	@python3 -m venv build/ansible && build/ansible/bin/python -m pip install -q -r tests/packaging/ansible/requirements.txt

check-ansible:
	@tests/packaging/check_ansible.sh

$B/tests/bench/%: $B/tests/bench/%.c.o $B/librig.a $B/libassay.a
	$(call say,link,$@)
	$Q$(CC) $(LDFLAGS_ALL) $< $B/librig.a $B/libassay.a $(LIBS_ALL) -lcmocka -o $@

# bench_roofline counts what a fit does: the linker puts tests/bench/roofline/counts.c before the kernels that boosting calls.
ROOFLINE_SRCS := $(wildcard tests/bench/roofline/*.c)
ROOFLINE_WRAPS := hist_add hist_clear hist_subtract hist_rows_used hist_total_all scan_numeric scan_categorical part_rows \
                  grad_sigmoid grad_softmax grad_class grad_leaf boost_loss_leaves tree_add_columns
$(ROOFLINE_SRCS:%=$B/%.o): OPT := -O3 -g -fno-trapping-math
$B/tests/bench/bench_roofline: $B/tests/bench/bench_roofline.c.o $(ROOFLINE_SRCS:%=$B/%.o) $B/libassay.a
	$(call say,link,$@)
	$Q$(CC) $(LDFLAGS_ALL) $(ROOFLINE_WRAPS:%=-Wl,--wrap=%) $(filter %.o,$^) $B/libassay.a $(LIBS_ALL) -o $@

bench: all $(patsubst %.c,$B/%,$(call picked,$(BENCH_SRCS)))
	@set -e; for b in $(patsubst %.c,$B/%,$(call picked,$(BENCH_SRCS) $(wildcard tests/bench/bench_*.sh))); do \
	    echo "== $$b"; B=$B $$b; done

# ---- fuzz: clang's libFuzzer over tests/fuzz/fuzz_*.c, corpus kept in tests/fuzz/corpus/<name>.tar.gz ----

FUZZ_MAKE = $(AGAIN) CC=clang SAN=fuzzer-no-link,address,undefined CUDA=0
FUZZ_PICKED = $(if $(F),$(F),$(FUZZERS))

ifneq ($(findstring fuzzer-no-link,$(SAN)),)
$B/tests/fuzz/fuzz_%: $B/tests/fuzz/fuzz_%.c.o $B/libassay.a
	$(call say,link,$@)
	$Q$(CC) -fsanitize=fuzzer,address,undefined -pthread $< $B/libassay.a $(LIBS_ALL) -o $@
else
$B/tests/fuzz/fuzz_%: $B/tests/fuzz/fuzz_%.c.o $B/libassay.a
	$(call say,link,$@)
	$Q$(CC) -fsanitize=fuzzer $(COV_FLAGS) -pthread $< $B/libassay.a $(LIBS_ALL) -o $@
endif

build-fuzz: $(FUZZ_PICKED:%=$B/tests/fuzz/fuzz_%)

fuzz:
	@+$(FUZZ_MAKE) build-fuzz
	@tests/fuzz/run.sh fuzz build/clang-fuzzer-no-link-address-undefined $(fuzz_seconds) $(FUZZ_PICKED)

# Drops inputs of the kept corpora that reach nothing the others do not reach.
fuzz-minimise:
	@+$(FUZZ_MAKE) build-fuzz
	@tests/fuzz/run.sh minimise build/clang-fuzzer-no-link-address-undefined 0 $(FUZZ_PICKED)

# How much of the file named in the harness's "covers:" line the kept corpus reaches.
fuzz-cover:
	@+$(AGAIN) CC=clang COV=1 CUDA=0 build-fuzz
	@tests/fuzz/run.sh cover build/clang-cov 0 $(FUZZ_PICKED)

# ---- what a change must pass ----

# The tables of docs/SPEC.md follow from the code: spec-tables renews them, lint refuses a document that differs.
SPEC_SRCS := docs/spec_tables.c $(LIBC_BASE:%=base/%.c) \
             $(filter ml/family/% ml/math/% ml/metric/% search/%,$(SRCS))

$B/docs/spec_tables: $(SPEC_SRCS:%=$B/%.o)
	$(call say,link,$@)
	$Q$(CC) $(LDFLAGS_ALL) $^ -lm -o $@

spec-tables: $B/docs/spec_tables
	@$< docs/SPEC.md > $B/docs/SPEC.md && cp $B/docs/SPEC.md docs/SPEC.md

lint: $B/docs/spec_tables
	@SPEC_TABLES=$< tests/lint.sh $(LINT)

check: deps-dev
	@.ci/check.sh

# ---- install, clean ----

# Manual pages, shell completion: made from the program's own tables (docs/manual/).
MANUAL := $B/docs/manual/manual
man_date = $(shell date -u -d @$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct 2>/dev/null || date +%s)} +%Y-%m-%d)

$(MANUAL): $(patsubst %,$B/%.o,$(wildcard docs/manual/*.c)) $B/libassay.a
	$(call say,link,$@)
	$Q$(CC) $(LDFLAGS_ALL) $^ $(LIBS_ALL) -o $@

$B/manual/made: $(MANUAL) $B/assay docs/SPEC.md
	@mkdir -p $(@D)
	$(call say,make,$(@D))
	$Q$B/assay help --json > $(@D)/help.json && $(MANUAL) $(@D)/help.json docs/SPEC.md $(man_date) $(@D) && touch $@

manual: $B/manual/made

SYSCONFDIR ?= $(if $(filter /usr,$(PREFIX)),/etc,$(PREFIX)/etc)
UNITDIR ?= $(PREFIX)/lib/systemd/system
installing = B='$B' PREFIX='$(PREFIX)' SYSCONFDIR='$(SYSCONFDIR)' UNITDIR='$(UNITDIR)' LIBDIR='$(PREFIX)/lib' \
             DESTDIR='$(DESTDIR)' CUDA_SO='$(CUDA_SO)' configs/install.sh

install: all manual
	$Q$(installing) install

uninstall:
	$Q$(installing) uninstall

# Debian packages into build/deb; check-deb proves them in a bare system of their own (minutes, as root).
deb:
	@.ci/deps.sh deb
	@CUDA=$(CUDA) configs/debian/build.sh $(REF)

check-deb:
	@.ci/deps.sh deb
	@tests/packaging/check_deb.sh

# The steps of configs/kubernetes/Dockerfile in bare systems (minutes, as root).
check-image:
	@.ci/deps.sh deb
	@tests/packaging/check_image.sh

clean:
	rm -rf build

-include $(shell find $B -name '*.d' 2>/dev/null)
