# shardlab: build, tests, set-up. `make help` lists the targets.
#
#     make demo                           everything from a fresh Debian: install what is missing, build, show
#     make check                          the same set-up, then every test
#     make check ONLY='plan sim'          only tests with "plan" or "sim" in their name
#     make check SAN=address,undefined    the tests under sanitizers, in a build folder of their own
#     make V=1 WERROR=1                   show the commands; a warning is an error (as CI has it)
#
# A new source file needs no line here: every .c file in a layer's folder belongs to the program, and tests go by name
#
#     tests/LAYER/test_*.c   a program that uses Check           tests/LAYER/*.sh       a script, finds the program in $SHARDLAB
#     tests/mpi/mpi_*.c      run at 1, 2, 3, 4 and 8 ranks       tests/fuzz/fuzz_*.c    a fuzz target, with inputs in corpus/
#     tests/support/*.c      linked into all of them             tests/bench/bench_*    programs and scripts of `make bench`
#     tests/cuda/test_*.c*   has the GPU's kernels too, compiled for the host (tests/emulate/emulate.cuh); those that use
#                            tests/gpu/target.h are linked once more, for a GPU: `make check-gpu`

# Use all cores unless the caller says how many.
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc)
endif

CC = gcc
CXX = g++
AR = ar
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
OPTIMIZE ?= $(if $(SAN),-O1,-O2)
comma := ,
space := $(subst ,, )

# ---- Options: sanitizers, warnings as errors, commands shown ----

BUILD := build$(if $(SAN),/$(subst $(comma),-,$(SAN)))
ifneq ($(SAN),)
sanitize := -fsanitize=$(SAN) -fno-sanitize-recover=all
stay_loaded := $(BUILD)/tests/support/stay_loaded.o
endif
ifneq ($(V),1)
quiet = @echo '  $(1)  $@';
endif

# ---- Flags ----

# gcc guesses wrongly about uninitialized or overlong data in code that a sanitizer has changed.
WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wconversion \
	    $(if $(SAN),-Wno-maybe-uninitialized -Wno-format-truncation) $(if $(filter 1,$(WERROR)),-Werror)
CPPFLAGS := -I.
# A sanitizer's report needs lines; all the rest of a debugger's would double its programs. Its programs take longer to
# compile at -O2 and -O3 than the tests gain.
CFLAGS = -std=gnu11 $(OPTIMIZE) $(if $(SAN),-g1,-g) -fno-omit-frame-pointer
LDFLAGS := -Wl,--as-needed $(if $(SAN),$(stay_loaded) -Wl$(comma)--export-dynamic-symbol=dlclose)
ALL_CFLAGS = $(CPPFLAGS) $(LIBRARY_CFLAGS) $(CFLAGS) $(WARNINGS) $(sanitize)

# The libraries' flags are asked for once and kept in a file, which also defines LIBRARY_CFLAGS and LIBRARIES.
# Make builds the file first and then starts over. Targets that compile nothing do without.
modules := ompi-c openblas jansson yaml-0.1 zlib glib-2.0 libpcre2-8 libcmark check cairo cairo-ft pangocairo fontconfig freetype2 sdl2
compiles_nothing := setup clean help format uninstall fresh-root check-format cuda # that needs nvcc alone
ifneq ($(or $(filter-out $(compiles_nothing),$(MAKECMDGOALS)),$(if $(MAKECMDGOALS),,all)),)
include $(BUILD)/libraries.mk
endif

# ---- Sources ----

library_sources := $(sort $(filter-out cli/main.c,$(shell find $(wildcard strategy sim real viz cli) -name '*.c')) \
			  $(wildcard kernels/cpu/*.c))
# Vector code is compiled once for each type of elements and level of instructions; the program picks a level when it
# starts. Level 3 has products of bf16, and is level 2 for the other types.
simd_sources := $(sort $(wildcard kernels/cpu/simd/*.c))
# gcc does not align AddressSanitizer's stack frames to AVX-512's vectors (PR sanitizer/110027).
SIMD_FLAGS := $(if $(findstring address,$(SAN)),$(if $(findstring clang,$(CC)),,--param=asan-use-after-return=0))
SIMD_FLAGS_0 :=
SIMD_FLAGS_1 := -mavx2 -mfma -mf16c
SIMD_FLAGS_2 := -mavx512f -mavx512dq -mavx512bw -mavx512vl -mfma -mf16c -mprefer-vector-width=512
SIMD_FLAGS_3 := $(SIMD_FLAGS_2) -mavx512bf16
simd_levels := $(if $(filter x86_64,$(shell uname -m)),0 1 2,0)
simd_variants := $(simd_levels:%=fp32.%) $(simd_levels:%=bf16.%) $(simd_levels:%=fp16.%) \
		 $(if $(filter 2,$(simd_levels)),bf16.3)

library_objects := $(library_sources:%.c=$(BUILD)/%.o) \
		   $(foreach variant,$(simd_variants),$(simd_sources:%.c=$(BUILD)/%.$(variant).o))
# A library a layer, in the order in which they are linked: each knows only those behind it (tests/strategy/test_walls.sh).
layers := cli viz real sim kernels strategy
layer_libraries := $(layers:%=$(BUILD)/libshardlab-%.a)
layer_objects = $(filter $(BUILD)/$(1)/%,$(library_objects))
test_support := $(patsubst %.c,$(BUILD)/%.o,$(filter-out %/stay_loaded.c,$(wildcard tests/support/*.c)))
test_folders := $(addprefix tests/,strategy sim real viz cli kernels mpi cuda hosts)
test_programs := $(patsubst %.c,$(BUILD)/%,$(wildcard $(test_folders:%=%/test_*.c) tests/mpi/mpi_*.c)) \
		 $(patsubst %.cpp,$(BUILD)/%,$(wildcard tests/cuda/test_*.cpp))
# What it runs under a sanitizer mpi_shipped does too.
test_programs := $(if $(SAN),$(filter-out %/mpi_noisy,$(test_programs)),$(test_programs))
# Builds a whole Debian in a folder: run by hand, as `make fresh-root`.
test_scripts := $(filter-out tests/cli/fresh_root.sh,$(wildcard $(test_folders:%=%/*.sh)))
fuzz_programs := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/fuzz/fuzz_*.c))
bench_programs := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/bench/bench_*.c))
bench_scripts := $(wildcard tests/bench/bench_*.sh)
# The GPU's kernels for the host, all but the files that need CUDA's own headers and libraries.
emulated_sources := $(shell grep -L 'include <cu' /dev/null $(wildcard kernels/cuda/*.cu tests/emulate/*.cu)) $(wildcard tests/emulate/*.cpp)
emulated_objects := $(patsubst %,$(BUILD)/emulated/%.o,$(filter-out /dev/null,$(emulated_sources)))
emulated_tests := $(filter $(BUILD)/tests/cuda/% %/mpi_shipped,$(test_programs))
# The same with a GPU's rounding: products fused into sums, exp2 off by a unit in the last place (tests/emulate/emulate.cuh).
noisy_objects := $(emulated_objects:$(BUILD)/emulated/%=$(BUILD)/noisy/%)
# The tests of these kernels, on a GPU, and what tests/gpu's scripts and their test stand on.
gpu_tests := $(patsubst tests/cuda/%,$(BUILD)/tests/gpu/%,$(basename $(shell grep -lE 'target_run|CUDA_SUITE' $(wildcard tests/cuda/test_cuda_*.c*))))
gpu_scripts_need := $(gpu_tests) $(addprefix $(BUILD)/tests/gpu/,ask_gpu shardlab bench_cuda_ladder)

every_source := $(sort $(shell find * -path build -prune -o \( -name '*.[ch]' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' \) -print))

# The GPU's part of the program, a library of its own: built where nvcc is found. Code for these compute capabilities,
# in ascending order, and PTX of the last.
NVCC ?= $(or $(shell command -v nvcc),$(wildcard /usr/local/cuda/bin/nvcc))
nvcc_version := $(if $(NVCC),$(shell $(NVCC) --version 2>&1 | sed -n 's/.*release \([0-9.]*\),.*/\1/p'))
# Why there is no library: 12.0 is the first that has Hopper's wgmma.
no_nvcc := $(if $(NVCC),$(if $(filter 5 6 7 8 9 10 11,$(basename $(nvcc_version))),nvcc $(nvcc_version) is too old ($(NVCC)): CUDA 12.0 or newer is needed),no nvcc on the PATH or in /usr/local/cuda/bin)
CUDA_ARCHITECTURES ?= 80 90
CUDA_HOME ?= $(patsubst %/bin/nvcc,%,$(realpath $(NVCC)))
cuda_sources := $(wildcard kernels/cuda/*.cu)
cuda_objects := $(cuda_sources:%.cu=$(BUILD)/cuda/%.o)
# Sanitizers are the host's.
cuda_library := $(if $(SAN)$(no_nvcc),,$(BUILD)/libshardlab-cuda.so)
CUDA_FLAGS := -std=c++17 -O3 -lineinfo -I. -Xcompiler -fPIC,-Wall,-Wextra \
	      $(foreach a,$(CUDA_ARCHITECTURES),-gencode arch=compute_$(a),code=sm_$(a)) \
	      -gencode arch=compute_$(lastword $(CUDA_ARCHITECTURES)),code=compute_$(lastword $(CUDA_ARCHITECTURES)) \
	      -DSHARDLAB_CUDA_ARCHITECTURES='"$(subst $(space),:,$(strip $(CUDA_ARCHITECTURES)))"'
# NCCL's types alone: the library itself is opened when it is asked for.
nccl_cflags := $(if $(wildcard $(CUDA_HOME)/include/cuda_runtime.h),-isystem $(CUDA_HOME)/include)

# ---- The program ----

.PHONY: all
all: $(BUILD)/shardlab $(cuda_library) ## build the program (the default)
ifneq ($(no_nvcc),)
	@echo '  built without CUDA, for CPUs alone: $(no_nvcc)'
endif

# Needs no library of ours, so that it can be built again where a GPU and nvcc are and nothing else is.
.PHONY: cuda
cuda: $(cuda_library) ## build libshardlab-cuda.so alone, which takes nvcc and nothing else
	@[ -z '$(no_nvcc)' ] || { echo 'make: $(no_nvcc)' >&2; exit 2; }

$(BUILD)/libshardlab-cuda.so: $(cuda_objects)
	$(call quiet,LINK)$(NVCC) -shared -cudart static $(filter %.o,$^) -lcublasLt -Xlinker -rpath,$(CUDA_HOME)/lib64 -o $@
$(BUILD)/cuda/%.o: %.cu $(BUILD)/cuda_flags
	$(call quiet,NVCC)mkdir -p $(@D) && { $(NVCC) $(CUDA_FLAGS) -Xptxas -v -MMD -MF $(@:.o=.d) -c $< -o $@ >$(@:.o=.ptxas) 2>&1 || \
		{ cat $(@:.o=.ptxas) && exit 1; }; } && sed -n '/ptxas info\|bytes stack frame\|^$$/!p' $(@:.o=.ptxas)
-include $(cuda_objects:.o=.d)
# Compute capability 9.0 has instructions that only code for it alone may use. Others have an empty kernel there.
ifneq ($(filter 90,$(CUDA_ARCHITECTURES)),)
$(patsubst %,$(BUILD)/cuda/kernels/cuda/%.o,attention_hopper attention_hopper_backward product_hopper): CUDA_FLAGS := $(patsubst arch=compute_90$(comma)code=sm_90,arch=compute_90a$(comma)code=sm_90a,$(CUDA_FLAGS)) -DSHARDLAB_HOPPER
endif

nccl_objects := $(BUILD)/real/communicator/nccl.o $(BUILD)/tests/support/fake_nccl.o
$(nccl_objects): CPPFLAGS += $(nccl_cflags)
$(nccl_objects): $(BUILD)/nccl_flags

$(BUILD)/shardlab: $(BUILD)/cli/main.o $(layer_libraries)
	$(call quiet,LINK)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -fopenmp $^ $(LIBRARIES) -o $@

# Everything but main, so that tests reach all of it. A list of members that changed (a file is gone) makes it anew.
# Members are appended, not replaced: files of several folders share a name.
define layer_rule
$$(BUILD)/libshardlab-$(1).a: $$(call layer_objects,$(1)) $$(BUILD)/members-$(1)
	$$(call quiet,AR)rm -f $$@ && $$(AR) qcs $$@ $$(call layer_objects,$(1))
members-$(1)_text := $$(call layer_objects,$(1))
endef
$(foreach layer,$(layers),$(eval $(call layer_rule,$(layer))))

KERNEL_CFLAGS := $(if $(SAN),,-O3) -fopenmp
$(BUILD)/kernels/%: CFLAGS += $(KERNEL_CFLAGS)

# Every object depends on the flags that it was made with.
$(BUILD)/%.o: %.c $(BUILD)/flags
	$(call quiet,CC)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

# $(1) is TYPE.LEVEL.
define simd_rule
$$(BUILD)/%.$(1).o: %.c $$(BUILD)/flags
	$$(call quiet,CC)mkdir -p $$(@D) && $$(CC) $$(ALL_CFLAGS) $$(SIMD_FLAGS) $$(SIMD_FLAGS$$(subst .,_,$$(suffix $(1)))) \
		-DSIMD_LEVEL=$$(subst .,,$$(suffix $(1))) -DSIMD_TYPE_$$(basename $(1)) -MMD -MP -c $$< -o $$@
endef
$(foreach variant,$(simd_variants),$(eval $(call simd_rule,$(variant))))

# Files that are rewritten only when what they hold changes.
flags_text := $(CC) $(shell $(CC) --version 2>/dev/null | head -n 1) $(ALL_CFLAGS) $(KERNEL_CFLAGS) $(SIMD_FLAGS) $(foreach level,0 1 2 3,$(level): $(SIMD_FLAGS_$(level))) \
	      $(LDFLAGS) $(LIBRARIES)
cuda_flags_text = $(NVCC) $(nvcc_version) $(subst ',,$(CUDA_FLAGS))
nccl_flags_text = $(nccl_cflags) $(wildcard $(addsuffix /nccl.h,$(CUDA_HOME)/include /usr/local/include /usr/include))
$(BUILD)/flags $(BUILD)/cuda_flags $(BUILD)/nccl_flags $(layers:%=$(BUILD)/members-%): always
	@mkdir -p $(@D)
	@echo '$($(@F)_text)' | cmp -s - $@ || echo '$($(@F)_text)' >$@
.PHONY: always

$(BUILD)/libraries.mk: Makefile
	@mkdir -p $(@D)
	@pkg-config --print-errors --exists $(modules) || { \
		echo 'make: libraries are missing; run: make setup' >&2; exit 2; }
	@# Their headers are not ours to warn about: -isystem.
	@echo "LIBRARY_CFLAGS := $$(pkg-config --cflags $(modules) | sed 's/-I */-isystem /g')" >$@
	@echo "LIBRARIES := $$(pkg-config --libs $(filter-out check,$(modules))) -lm -lpthread" >>$@
	@echo "CHECK_LIBRARIES := $$(pkg-config --libs check)" >>$@

$(BUILD)/shardlab $(test_programs) $(fuzz_programs) $(gpu_tests) $(BUILD)/tests/gpu/ask_gpu $(BUILD)/tests/gpu/shardlab: | $(stay_loaded)

# The headers that each object was made from, written by the compiler.
-include $(patsubst %.o,%.d,$(library_objects) $(test_support)) \
	 $(patsubst %,%.d,$(BUILD)/cli/main $(BUILD)/tests/fuzz/replay $(test_programs) $(fuzz_programs) $(bench_programs)) \
	 $(patsubst %.c,$(BUILD)/%.d,$(wildcard tests/gpu/*.c))

# ---- Set-up and the two commands of the README ----

.PHONY: setup demo check
setup: ## install the Debian packages that are missing
	@tools/install-dependencies.sh
	@mkdir -p build && touch build/packages

# For these the packages come first, and are looked at again only when the list changes.
ifneq ($(filter demo check bench check-gpu bench-gpu,$(MAKECMDGOALS)),)
$(BUILD)/libraries.mk: build/packages
build/packages: tools/install-dependencies.sh
	@tools/install-dependencies.sh
	@mkdir -p $(@D) && touch $@
endif

demo: $(BUILD)/shardlab ## set up, build, and show the main job
	@$(BUILD)/shardlab demo

# With ONLY, what is not run is not built.
chosen = $(if $(ONLY),$(foreach test,$(1),$(if $(strip $(foreach word,$(ONLY),$(findstring $(word),$(notdir $(test))))),$(test))),$(1))
check: $(BUILD)/shardlab $(cuda_library) $(call chosen,$(test_programs) $(fuzz_programs)) \
		$(if $(SAN),,$(if $(filter %/gpu_scripts.sh %/gpu_stages.sh %/gpu_pack.sh,$(call chosen,$(test_scripts))),$(gpu_scripts_need))) \
		$(if $(cuda_library),$(if $(filter %/gpu_pack.sh,$(call chosen,$(test_scripts))),$(filter %/bench_cuda_memory %/bench_cuda_matrix %/bench_cuda_ladder,$(bench_programs)))) ## set up, build, and run every test
	@SHARDLAB='$(abspath $(BUILD)/shardlab)' CC='$(CC)' SAN='$(SAN)' ONLY='$(ONLY)' \
		tools/run-tests.sh $(call chosen,$(test_programs) $(fuzz_programs) $(test_scripts))

# ---- Tests, fuzz targets, benchmarks ----

$(test_programs): %: %.o $(test_support) $(layer_libraries)
	$(call quiet,LINK)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -fopenmp $^ $(CHECK_LIBRARIES) $(LIBRARIES) \
		$(if $(filter $(emulated_objects) $(noisy_objects),$^),-lstdc++) -o $@

target_gpu := $(addprefix $(BUILD)/tests/gpu/,target_gpu.o operands.o gpu.o)
# On a GPU: the kernels are the library's. What asks for one is no test, and no test support either.
$(gpu_tests): $(BUILD)/tests/gpu/%: $(BUILD)/tests/cuda/%.o $(target_gpu) \
		$(test_support) $(layer_libraries)
	$(call quiet,LINK)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) $(LDFLAGS) -fopenmp $^ $(CHECK_LIBRARIES) $(LIBRARIES) -lstdc++ -o $@
$(BUILD)/tests/gpu/ask_gpu: $(BUILD)/tests/gpu/ask_gpu.o $(BUILD)/tests/gpu/gpu.o $(layer_libraries)
	$(call quiet,LINK)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -fopenmp $^ $(LIBRARIES) -o $@

# Stand-ins for cuDNN, and for a driver without a GPU: libraries that tests open by their names.
stand_ins := $(BUILD)/tests/emulate/libcudnn.so.9 $(BUILD)/tests/emulate/libcuda.so.1
$(stand_ins): $(BUILD)/flags
	$(call quiet,LINK)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) $(LDFLAGS) -fPIC -shared -Wl,-soname,$(@F) $(filter %.c,$^) -o $@
$(BUILD)/tests/emulate/libcudnn.so.9: tests/emulate/cudnn.c
$(BUILD)/tests/emulate/libcuda.so.1: tests/emulate/driver.c
$(addprefix $(BUILD)/tests/,$(addprefix cuda/,test_cuda_attention test_cuda_choice test_cuda_cudnn) mpi/mpi_shipped mpi/mpi_noisy): | $(stand_ins)

# The GPU's kernels for the host.
$(emulated_tests): $(emulated_objects)
$(filter-out %/test_cuda_operands,$(emulated_tests)): $(BUILD)/tests/gpu/target_emulated.o
$(BUILD)/tests/cuda/test_cuda_operands: $(target_gpu) $(BUILD)/tests/gpu/card.o
# The other tests of kernels as they reach a card, by hand: `make build/tests/card/test_cuda_update`.
$(BUILD)/tests/card/%: $(BUILD)/tests/cuda/%.o $(target_gpu) $(BUILD)/tests/gpu/card.o $(emulated_objects) $(test_support) $(layer_libraries)
	$(call quiet,LINK)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) $(LDFLAGS) -fopenmp $^ $(CHECK_LIBRARIES) $(LIBRARIES) -lstdc++ -o $@
$(BUILD)/tests/mpi/mpi_noisy: $(noisy_objects) $(BUILD)/tests/gpu/target_emulated.o
EMULATED_CFLAGS = $(CPPFLAGS) -DSHARDLAB_EMULATE='"tests/emulate/emulate.cuh"' -std=c++17 -O2 -g -fno-omit-frame-pointer -Wall -Wextra -Wshadow \
		  -Wno-unknown-pragmas $(if $(filter 1,$(WERROR)),-Werror) $(sanitize) $(told)
# Kernels tell the emulator of each access (emulate/watch.h), in the calls of a sanitizer that is not there; all but
# *_plain.cu, in which a thread works alone.
ifeq ($(SAN),)
EMULATED_CFLAGS += -DEMULATE_TELLS
told_objects := $(patsubst %,$(BUILD)/emulated/%.o,$(foreach source,$(filter %.cu,$(emulated_sources)),$(if $(findstring plain,$(source)),,$(source)))) \
		$(patsubst %.cpp,$(BUILD)/%.o,$(shell grep -l __global__ tests/cuda/test_cuda_*.cpp))
$(told_objects): told := -O1 -fsanitize=thread --param tsan-instrument-func-entry-exit=0
endif
$(BUILD)/emulated/%.o: % $(BUILD)/flags
	$(call quiet,CXX)mkdir -p $(@D) && $(CXX) $(EMULATED_CFLAGS) -MMD -MP -x c++ -c $< -o $@
$(noisy_objects): $(BUILD)/noisy/%.o: % $(BUILD)/flags
	$(call quiet,CXX)mkdir -p $(@D) && $(CXX) $(filter-out -DEMULATE_TELLS,$(EMULATED_CFLAGS)) -DEMULATE_NOISE -ffp-contract=fast \
		$(if $(filter x86_64,$(shell uname -m)),-mfma) -MMD -MP -x c++ -c $< -o $@
$(BUILD)/tests/%.o: tests/%.cpp $(BUILD)/flags
	$(call quiet,CXX)mkdir -p $(@D) && $(CXX) $(EMULATED_CFLAGS) -MMD -MP -c $< -o $@
-include $(emulated_objects:.o=.d) $(noisy_objects:.o=.d)

# The program with stand-ins for GPUs and NCCL, for the tests of tests/gpu's scripts.
$(BUILD)/tests/gpu/shardlab: $(BUILD)/cli/main.o $(BUILD)/tests/gpu/fake_gpu.o \
		$(filter $(BUILD)/tests/support/fake_% %/elements.o,$(test_support)) $(layer_libraries)
	$(call quiet,LINK)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -fopenmp $^ $(LIBRARIES) -o $@

# A benchmark of a GPU on the same stand-in with the shipped kernels: that what it computes is right.
$(BUILD)/tests/gpu/bench_%: $(BUILD)/tests/bench/bench_%.o $(BUILD)/tests/gpu/fake_bench.o $(emulated_objects) \
		$(filter $(BUILD)/tests/support/fake_% %/elements.o,$(test_support)) $(layer_libraries)
	$(call quiet,LINK)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -fopenmp $^ $(LIBRARIES) -lstdc++ -o $@

# In `make check` a fuzz target reads its corpus; under `make fuzz` clang's fuzzer drives it and looks for more.
ifeq ($(filter fuzzer-no-link,$(subst $(comma), ,$(SAN))),)
fuzz_driver := $(BUILD)/tests/fuzz/replay.o
else
fuzz_driver := -fsanitize=fuzzer
endif
# No parser computes, and the kernels take longest to compile.
$(fuzz_programs): %: %.o $(filter %.o,$(fuzz_driver)) $(filter-out %-kernels.a,$(layer_libraries))
	$(call quiet,LINK)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -fopenmp $(filter -%,$(fuzz_driver)) $^ $(LIBRARIES) -o $@

# Where a GPU is; elsewhere each part says that it is skipped. What it finds out, tests/gpu/record.sh writes down.
.PHONY: check-gpu bench-gpu
gpu_needs := $(BUILD)/shardlab $(cuda_library) $(BUILD)/tests/gpu/ask_gpu $(filter %/bench_cuda_memory,$(bench_programs))
check-gpu: $(gpu_needs) $(gpu_tests) ## on a GPU: kernels, plans, validate, other families, compute-sanitizer
	@SHARDLAB='$(abspath $(BUILD)/shardlab)' tests/gpu/check.sh
bench-gpu: $(gpu_needs) $(filter %/bench_cuda_matrix %/bench_cuda_ladder,$(bench_programs)) ## on a GPU: speed and memory, beside PyTorch's
	@SHARDLAB='$(abspath $(BUILD)/shardlab)' tests/gpu/bench.sh

.PHONY: mutants
mutants: $(BUILD)/shardlab ## put bugs in, one at a time: do the tests notice? (MUTANTS='viz M07': only these)
	@tests/mutants/run.py $(MUTANTS)

.PHONY: fuzz fuzz-programs bench
fuzz-programs: $(fuzz_programs)
fuzz: ## look for crashing inputs, FUZZ_SECONDS (60) for each parser; needs clang
	@# The warnings that count are gcc's.
	@$(MAKE) --no-print-directory CC=clang WARNINGS= SAN=fuzzer-no-link,address BUILD=build/fuzz fuzz-programs
	@tools/run-fuzzers.sh $(FUZZ_SECONDS) $(patsubst $(BUILD)/%,build/fuzz/%,$(fuzz_programs))

$(BUILD)/tests/bench/%: $(BUILD)/tests/bench/%.o $(BUILD)/tests/support/plans.o $(layer_libraries)
	$(call quiet,LINK)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -fopenmp $^ $(LIBRARIES) $(if $(filter $(emulated_objects),$^),-lstdc++) -o $@

# One after another, when nothing compiles any more. A program that speaks MPI itself runs on two ranks (which mpirun
# allows root only with the two OMPI settings). A forced BLAS kernel would change the rates.
bench_on_ranks := $(patsubst %.c,$(BUILD)/%,$(shell grep -ls '<mpi.h>' tests/bench/bench_*.c))
bench: $(BUILD)/shardlab $(bench_programs) $(addprefix $(BUILD)/tests/cli/,test_memory test_killed) ## set up, build, and measure: kernels against the machine's limits, then the rest
	@set -e; unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE; export SHARDLAB='$(abspath $(BUILD)/shardlab)'; \
	export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; \
	for program in $(filter-out $(bench_on_ranks),$(bench_programs)) $(bench_scripts); do \
		echo "== $$program"; $$program; done; \
	for program in $(bench_on_ranks); do \
		for ranks in $$(sed -n 's/^ \* ranks: //p' tests/bench/$$(basename $$program).c); do \
			echo "== $$program on $$ranks ranks"; \
			mpirun --oversubscribe --bind-to none -n $$ranks $$program; done; done

# ---- Checks without running: see .ci/run ----

.PHONY: format check-format tidy cppcheck
format: ## lay out all C files as .clang-format says
	@clang-format -i $(every_source)
check-format: ## fail when a C file is laid out differently
	@clang-format --dry-run -Werror $(every_source)

# Level 1 stands for the vector code, in fp32 and in bf16: the same text, with the intrinsics that a checker can parse.
checked_sources := $(filter %.c,$(every_source))
# clang's analyzer goes through what a function calls too, which is most of its time. Tests, all of which run under sanitizers, do
# without that.
shallow := -Xclang -analyzer-config -Xclang mode=shallow
tidied := $(filter-out $(simd_sources),$(checked_sources))
# $1: sources, $2: flags
define tidy_each
	@printf '%s\n' $1 | xargs -r -P $$(nproc) -I {} clang-tidy --quiet --warnings-as-errors='*' {} -- $(CPPFLAGS) -std=gnu11 $2

endef
tidy: ## clang-tidy, with the checks in .clang-tidy
	$(call tidy_each,$(filter-out tests/%,$(tidied)),$(LIBRARY_CFLAGS) -fopenmp)
	$(call tidy_each,$(filter tests/%,$(tidied)),$(LIBRARY_CFLAGS) -fopenmp $(shallow))
	$(foreach type,fp32 bf16,$(call tidy_each,$(simd_sources),$(SIMD_FLAGS_1) -DSIMD_LEVEL=1 -DSIMD_TYPE_$(type)))
# Neither sees fp16, the other levels, or aarch64: of those the tests and gcc's warnings are what there is.
cppcheck_call = cppcheck --quiet --error-exitcode=1 --inline-suppr --suppressions-list=tools/cppcheck.txt -j $$(nproc) \
		--enable=warning,portability --std=c11 -D__x86_64__ $(CPPFLAGS)
cppcheck: ## cppcheck, less what tools/cppcheck.txt lists
	@mkdir -p build/cppcheck/fp32 build/cppcheck/bf16
	@$(cppcheck_call) --cppcheck-build-dir=build/cppcheck $(filter-out $(simd_sources),$(checked_sources))
	@for type in fp32 bf16; do $(cppcheck_call) -DSIMD_LEVEL=1 -DSIMD_TYPE_$$type \
		--cppcheck-build-dir=build/cppcheck/$$type $(simd_sources) || exit 1; done

# ---- Lessons ----

.PHONY: lessons-update
lessons-update: $(BUILD)/shardlab ## write the outputs and pictures of all lessons anew
	@$(BUILD)/shardlab lesson --update

.PHONY: docs-pictures
docs-pictures: $(BUILD)/shardlab ## draw the pictures of docs/ anew
	@tools/docs-pictures.sh

# ---- Installing and the rest ----

.PHONY: install uninstall clean fresh-root help
install: $(BUILD)/shardlab $(cuda_library) ## put the program, libraries and headers into $(PREFIX)
	DESTDIR='$(DESTDIR)' tools/install.sh install '$(BUILD)' '$(PREFIX)'
uninstall: ## take them away again
	DESTDIR='$(DESTDIR)' tools/install.sh uninstall '$(BUILD)' '$(PREFIX)'
clean: ## remove all that was built
	rm -rf build
fresh-root: ## try both commands in a fresh Debian; needs root, debootstrap, network
	tests/cli/fresh_root.sh
help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | sort | expand -t 16

# Objects are kept: a test that fails to link does not compile again.
.SECONDARY:
# A recipe that fails leaves no half-written file behind.
.DELETE_ON_ERROR:
