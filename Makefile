# tally: `make help` lists the targets.  SAN=address,undefined or SAN=thread builds and tests apart, with a sanitizer.
# V=1 shows whole commands.

ifneq ($(word 2,$(CURDIR)),)
$(error make cannot work in a folder whose path has a blank: $(CURDIR))
endif

# For another processor: CROSS=aarch64-linux-gnu, its libraries installed here or in a folder, SYSROOT=DIR; then
# EMULATOR='qemu-aarch64 -L DIR' runs the tests in C.  README.md has the commands.
CROSS   ?=
SYSROOT ?=
EMULATOR ?=
export EMULATOR
CC      ?= cc
PKGCONF ?= pkg-config
ifneq ($(CROSS),)
CC      := $(CROSS)-gcc $(SYSROOT:%=--sysroot=%)
AR      := $(CROSS)-ar
PKGCONF := env PKG_CONFIG_SYSROOT_DIR=$(SYSROOT) PKG_CONFIG_LIBDIR=$(SYSROOT)/usr/lib/$(CROSS)/pkgconfig:$(SYSROOT)/usr/share/pkgconfig pkg-config
CUDA    ?= 0
endif
VERSION := $(shell cat VERSION)
PREFIX  ?= /usr/local
DESTDIR ?=
SAN     ?=
FUZZTIME ?= 60
comma   := ,
# oneDNN's major version by its installed header, empty where there is none.  lib/engine/cpu/dnnl/dnnl_v2.c and dnnl_v3.c know one
# each, but not 3.0.
DNNL    := $(shell printf '\043include <oneapi/dnnl/dnnl_version.h>\nDNNL_VERSION_MAJOR DNNL_VERSION_MINOR\n' | \
	$(CC) $(CPPFLAGS) -E -P - 2>/dev/null | sed -n '$$ s/ /./p' | sed 's/^\([1-9][0-9]*\)\.[1-9].*/\1/; s/^2\.0/2/')
# The engines built in, by default all but a cpu engine without its library; other ones than these are built apart.
ENGINES ?= $(if $(filter 2 3,$(DNNL)),cpu$(comma))ref,cuda
engines  = $(subst $(comma), ,$(ENGINES))
ifneq ($(words $(engines)),$(words $(filter cpu ref cuda,$(engines))))
$(error ENGINES=$(ENGINES): the engines are cpu, ref and cuda)
endif
ifeq ($(strip $(engines)),)
$(error ENGINES names no engine: the engines are cpu, ref and cuda)
endif
BUILD   ?= build$(CROSS:%=-%)$(if $(SAN),-$(subst $(comma),-,$(SAN)))$(if $(filter-out file,$(origin ENGINES)),$(if $(filter-out cpu$(comma)ref$(comma)cuda,$(ENGINES)),-$(subst $(comma),-,$(ENGINES))))
SETUP   ?= share/setup
say      = $(if $(V),,@echo "  $(1) $(2)";)

WARN    := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wwrite-strings -Wvla
OPT     ?= $(if $(SAN),-O1 -g1,-O2 -g)
# Lua 5.4 goes by other names elsewhere than on Debian.
LUA     := $(firstword $(shell for p in lua5.4 lua-5.4 lua54 lua; do \
	$(PKGCONF) --atleast-version=5.4 $$p 2>/dev/null && ! $(PKGCONF) --atleast-version=5.5 $$p && echo $$p; done) lua5.4)
PKGS    := libarchive libturbojpeg libjpeg spng libdeflate libwebp libwebpdemux libtiff-4 zlib liblzma libzstd $(LUA) jansson openssl libxxhash
# A caller's CFLAGS= takes the place of OPT alone: no result depends on it.
CFLAGS  ?= $(OPT)
# Without contraction every compiler rounds alike on every processor (wino_product.o and point_product.o have it, as oneDNN's products do); without traps a choice of two numbers needs no branch.
DIALECT := -std=c11 -ffp-contract=off -fno-trapping-math -fno-math-errno $(WARN) $(if $(WERROR),-Werror)
# So do CPPFLAGS, LDFLAGS and LDLIBS only add to what is here.
DEFINES := -D_GNU_SOURCE -DTALLY_VERSION='"$(VERSION)"' -Ilib -Icmd $(CPPFLAGS) $(shell $(PKGCONF) --cflags $(PKGS) 2>/dev/null)
LIBS    := $(LDLIBS) $(shell $(PKGCONF) --libs $(PKGS) 2>/dev/null) -lgif $(if $(filter cpu,$(engines)),-ldnnl) -fopenmp -lpthread -lm
# GNU ld takes up to a minute over an instrumented test and oneDNN's symbols, gold a third of a second.
LINK    := $(LDFLAGS) -Wl,--as-needed $(shell $(CROSS:%=%-)ld.gold --version >/dev/null 2>&1 && echo -fuse-ld=gold)
ifneq ($(SAN),)
DIALECT += -fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer
LINK    += -fsanitize=$(SAN)
endif
# oneDNN 2 reads past the end of a vector, where the address sanitizer's allocator may have no memory.  Fuzz targets, which clang
# builds with its own new, make no such kernels.
ifeq ($(findstring address,$(SAN))$(findstring fuzzer,$(SAN)) $(filter cpu,$(engines)) $(DNNL),address cpu 2)
PADDED  := $(BUILD)/tests/padded_new.o
LIBS    := $(PADDED) $(LIBS)
endif

# Files below FOLDERS, at every depth.
find    = $(sort $(shell find $(1) -name '$(2)'))

NOT     := $(filter-out $(wildcard lib/engine/cpu/dnnl/dnnl_v$(DNNL)*.c),$(wildcard lib/engine/cpu/dnnl/dnnl_v*.c)) \
	$(if $(filter cpu,$(engines)),,lib/engine/cpu/% $(shell grep -l '"engine/cpu/' tests/op/*_test.c)) $(if $(filter cuda,$(engines)),,lib/engine/cuda.c tests/op/device_test.c) lib/engine/cuda/%
# libjpeg-turbo's private header, which not every system installs and whose structs only 2.1 is known to have so: else
# turbojpeg reads all JPEG, and reading is slower (bench/read.sh).  JPEGINT=0 builds without it.
JPEGINT ?= $(shell printf '\043include <stdio.h>\n\043include <jpeglib.h>\n\043include <jpegint.h>\nLIBJPEG_TURBO_VERSION_NUMBER\n' | \
	$(CC) $(DEFINES) -E -P - 2>/dev/null | grep -c '^20010[0-9][0-9]$$')
JPEGINT := $(JPEGINT)
# The own path of plain PNG calls only public functions of libdeflate.  PNGPLAIN=0 builds without it: libspng decodes all PNG.
PNGPLAIN ?= 1
NOT     += $(if $(filter 1,$(JPEGINT)),lib/image/jpeg/img_jpeg_none.c,lib/image/jpeg/huff%.c lib/image/jpeg/img_jpeg_fast.c) \
	lib/image/img_png_plain$(if $(filter 1,$(PNGPLAIN)),_none).c
# The transport UCX, whose library is loaded when a job asks for it.  UCX=0 builds without its headers.
UCX     ?= $(shell printf '\043include <ucp/api/ucp.h>\nUCP_API_MAJOR\n' | $(CC) $(DEFINES) -E -P - 2>/dev/null | grep -c '^1$$')
UCX     := $(UCX)
NOT     += $(if $(filter 1,$(UCX)),,lib/wire/path/ucx.c lib/wire/path/ucx_load.c)
LIB     := $(patsubst %.c,$(BUILD)/%.o,$(filter-out $(NOT),$(call find,lib,*.c)))

# The cuda engine's other half is a module, built where CUDA's compiler and cuDNN's header are; CUDA=0 leaves it out.
CUDA_HOME  ?= /usr/local/cuda
# cuDNN and NCCL are in the toolkit, in the system's folders, or in wheels, as PyTorch brings them.
WHEELS     ?= $(wildcard $(foreach d,$(VIRTUAL_ENV) $(CONDA_PREFIX) $(HOME)/.local /usr/local /usr,\
	$d/lib/python3*/site-packages/nvidia $d/lib/python3*/dist-packages/nvidia))
CUDNN_PLACES ?= $(CUDA_HOME) /usr $(CONDA_PREFIX) $(addsuffix /cudnn,$(WHEELS))
cudnn_h    = $(firstword $(wildcard $(1)/include/cudnn.h $(1)/include/*-linux-gnu/cudnn.h))
CUDNN_HOME ?= $(firstword $(foreach d,$(CUDNN_PLACES),$(if $(call cudnn_h,$d),$d)) $(CUDA_HOME))
CUDNN_H    := $(call cudnn_h,$(CUDNN_HOME))
NCCL_HOME  ?= $(firstword $(foreach d,$(CUDA_HOME) $(addsuffix /nccl,$(WHEELS)),$(if $(call cuda_so,$d,nccl),$d)) $(CUDA_HOME))
CUDA       ?= $(if $(filter cuda,$(engines)),$(if $(SAN),,$(if $(wildcard $(CUDA_HOME)/bin/nvcc),$(if $(CUDNN_H),1))))
# The compiler searches the system's folders by itself, and naming them would change their order.
CUDNN_I    := $(addprefix -isystem ,$(filter-out /usr/include /usr/include/%,$(patsubst %/,%,$(dir $(CUDNN_H)))))
CUDA_I     := $(CUDNN_I) $(addprefix -isystem ,$(filter-out /usr/include,$(CUDA_HOME)/include))
# Code of 8.0 runs on 8.6 and 8.9, of 10.0 on 10.3; the driver compiles PTX for what comes later.  nvcc ends with an error
# at a device that it does not know, so only those that it lists are named: before CUDA 12.8 these end with 9.0.
CUDA_WANT  := 75 80 90 100 120
CUDA_KNOWN := $(if $(filter 1,$(CUDA)),$(patsubst sm_%,%,$(shell $(CUDA_HOME)/bin/nvcc --list-gpu-code 2>/dev/null)))
CUDA_CODE  ?= $(filter $(CUDA_KNOWN),$(CUDA_WANT))
CUDA_PTX   ?= $(lastword $(filter $(CUDA_KNOWN),$(filter-out 120,$(CUDA_WANT))))
# Each library by its file: wheels have no libcudnn.so beside libcudnn.so.9.
cuda_so = $(firstword $(wildcard $(foreach e,.so .so.*,$(1)/lib64/lib$(2)$e $(1)/lib/lib$(2)$e $(1)/lib/*-linux-gnu/lib$(2)$e)))
CUDA_LIBS  := $(call cuda_so,$(CUDNN_HOME),cudnn) $(call cuda_so,$(CUDA_HOME),cublasLt) $(call cuda_so,$(CUDA_HOME),cudart)
# Why the module cannot be built with them all the same, by a small file that is compiled first.
CUDA_WHY   := $(if $(and $(filter 1,$(CUDA)),$(shell command -v $(firstword $(CC))),$(strip $(CUDA_CODE)),$(filter-out clean dist fuzz help results setup setup-test uninstall,$(or $(MAKECMDGOALS),all))),$(shell \
	CUDA_HOME="$(CUDA_HOME)" CUDNN_H="$(CUDNN_H)" CUDA_CODE="$(strip $(CUDA_CODE))" CUDA_LIBS="$(CUDA_LIBS)" share/probe-cuda $(BUILD)))
CUDA_WORKS := $(and $(filter 1,$(CUDA)),$(strip $(CUDA_CODE)),$(if $(CUDA_WHY),,1))
MODULE     := $(CUDA_WORKS:1=$(BUILD)/tally-cuda.so)
# What of it calls no library of the device's.
CUDA_PURE  := $(patsubst lib/engine/cuda/%.c,%,$(wildcard lib/engine/cuda/*.c)) device/nccl memplan
CUDA_SIDE  := device/blas.o device/choose.o device/device.o device/dnn.o device/dnn_desc.o device/dnn_race.o kernel/kernel_run.cu.o
# The rest of it, with stand-ins for CUDA's libraries, and for cuDNN and the kernels with loops.
EMU_HEADERS = $(if $(CUDA_WORKS),$(CUDA_I),-isystem tests/emu/include)
EMU_SIDE   := $(patsubst %,$(BUILD)/tests/emu/device/%.o,choose device blas dnn_race) $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/emu/*.c))
GPU_TESTS  := $(if $(MODULE),$(patsubst %.c,$(BUILD)/%,$(wildcard tests/gpu/*_test.c)))
STUBS      := $(BUILD)/tests/stub/libnccl.so.2 $(BUILD)/tests/stub/libnvidia-ml.so.1
EMU        := $(if $(filter cuda,$(engines)),$(BUILD)/tests/emu/tally-cuda.so $(BUILD)/tests/emu/bits_test $(BUILD)/bench/gpu_step $(STUBS))
# A tool is a folder, cmd/TOOL/, or cmd/TOOL.c with cmd/TOOL_*.c; all tools share front*.c.
FRONT   := $(patsubst %.c,$(BUILD)/%.o,$(wildcard cmd/front*.c))
TOOLS   := $(patsubst cmd/%/main.c,%,$(wildcard cmd/*/main.c)) \
	$(patsubst cmd/%.c,%,$(filter-out cmd/front.c $(wildcard cmd/*_*.c),$(wildcard cmd/*.c)))
TESTS   := $(patsubst %.c,$(BUILD)/%,$(filter-out $(NOT),$(call find,tests/lib tests/op tests/law tests/golden,*_test.c)))
WORLD   := $(patsubst %.c,$(BUILD)/%.o,$(filter-out %_test.c $(wildcard tests/law/sim/*.c tests/law/job*.c),$(call find,tests/law,*.c)))
# Whole processes in simulated time: the linker gives their calls of the system to tests/law/sim.
SIM     := $(patsubst %.c,$(BUILD)/%.o,$(filter-out %_test.c,$(wildcard tests/law/sim/*.c tests/law/job*.c)))
SOAKED  := job sync slack elastic backup
SIM_CALLS := $(shell sed -n 's/^.X.[a-z_ *]*, \([a-z_0-9]*\), .*/\1/p' tests/law/sim/sys.h)
PEERS   := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/peers/*.c))
FUZZ    := $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
REPLAY  := $(FUZZ:%=$(BUILD)/tests/fuzz/%)
SCRIPTS := $(call find,tests/op tests/cmd tests/flow tests/golden tests/lint,*.t)

all: $(BUILD)/libtally.a $(addprefix $(BUILD)/,$(TOOLS)) $(MODULE)	## build the tools into build/

# A file whose name sums up settings: other settings make it, and what depends on it, anew.
stamp = $(BUILD)/$(1)-$(firstword $(shell printf '%s' '$(2)' | cksum))
MADE_FOR := $(call stamp,made-for,$(engines) $(DNNL) $(JPEGINT) $(PNGPLAIN) $(UCX))
CUDA_FOR := $(call stamp,cuda-for,$(CUDA_HOME) $(CUDNN_HOME) $(CUDA_CODE) $(CUDA_PTX))
FOUND    := $(call stamp,found,$(engines) $(DNNL) $(JPEGINT) $(UCX) $(SAN) $(CUDA) $(CUDA_HOME) $(CUDNN_HOME) $(CUDA_CODE) $(CUDA_WHY) $(PKGCONF))
$(MADE_FOR) $(CUDA_FOR):
	@mkdir -p $(@D) && rm -f $(@D)/$(firstword $(subst -for-, ,$(@F)))-for-* && touch $@
$(BUILD)/lib/engine/engine.o $(BUILD)/lib/wire/conn_path.o $(patsubst %.c,$(BUILD)/%.o,$(wildcard lib/engine/cpu/dnnl/dnnl*.c)): $(MADE_FOR)
$(CUDA_SIDE:%=$(BUILD)/lib/engine/cuda/%): $(CUDA_FOR)

# What this machine has, printed again when it changes.  A module of a toolkit that is no longer there is removed.
find_parts = ENGINES="$(engines)" SAN="$(SAN)" JPEGINT="$(JPEGINT)" UCX="$(UCX)" CUDA="$(CUDA)" CUDA_HOME="$(CUDA_HOME)" CUDNN_HOME="$(CUDNN_HOME)" \
	CUDA_CODE="$(strip $(CUDA_CODE))" CUDA_WANT="$(CUDA_WANT)" CUDA_WHY="$(CUDA_WHY)" PKGCONF="$(PKGCONF)" share/found "$(CC) $(CPPFLAGS) $(LDFLAGS)" $(PKGS)
$(FOUND): Makefile share/found
	@mkdir -p $(@D)
	@$(find_parts)
	@rm -f $(BUILD)/found-* $(if $(MODULE),,$(BUILD)/tally-cuda.so) && touch $@

found:	## print what the build finds on this machine and what it leaves out
	@$(find_parts)

$(BUILD)/%.o: %.c | $(FOUND)
	@mkdir -p $(@D)
	$(call say,cc  ,$<)$(CC) $(DEFINES) $(CFLAGS) $(DIALECT) $(KERNEL) -MMD -MP -c -o $@ $<

$(patsubst %.c,$(BUILD)/%.o,$(shell grep -rl TALLY_VERSION --include='*.c' lib cmd)): VERSION

# Kernels over whole arrays.  Instrumented at -O3 some take minutes.
$(BUILD)/lib/engine/%.o $(BUILD)/lib/net/optim/%.o $(BUILD)/lib/net/merge/merge_sum.o: KERNEL := $(if $(SAN),-O1,-O3) -fopenmp
$(BUILD)/lib/engine/cpu/wino/wino_product.o $(BUILD)/lib/engine/cpu/point/point_product.o: KERNEL := $(if $(SAN),-O1,-O3) -ffp-contract=fast
$(BUILD)/lib/batch/aug_%.o $(BUILD)/lib/batch/mean_make.o $(BUILD)/lib/batch/planes.o $(BUILD)/lib/image/resize_pass.o $(BUILD)/lib/wire/codec.o: KERNEL := $(if $(SAN),-O1,-O3)

$(BUILD)/lib/engine/engine.o: DEFINES += $(foreach e,$(engines),-DENGINE_$e)
$(BUILD)/lib/wire/conn_path.o: DEFINES += -DHAS_UCX=$(if $(filter 1,$(UCX)),1,0)

$(BUILD)/lib/engine/cuda/%.o $(BUILD)/tests/emu/%.o: KERNEL := $(if $(SAN),-O1,-O2) -fPIC -fvisibility=hidden -fopenmp
$(CUDA_SIDE:%=$(BUILD)/lib/engine/cuda/%): DEFINES += $(CUDA_I)
$(BUILD)/tests/emu/%.o: DEFINES += -Itests $(EMU_HEADERS)
$(BUILD)/tests/emu/device/%.o: lib/engine/cuda/device/%.c | $(FOUND)
	@mkdir -p $(@D)
	$(call say,cc  ,$<)$(CC) $(DEFINES) $(CFLAGS) $(DIALECT) $(KERNEL) -MMD -MP -c -o $@ $<
# Pure files of lib/ that the module has too.
$(BUILD)/lib/engine/cuda/memplan.o: lib/engine/memplan.c | $(FOUND)
	@mkdir -p $(@D)
	$(call say,cc  ,$<)$(CC) $(DEFINES) $(CFLAGS) $(DIALECT) $(KERNEL) -MMD -MP -c -o $@ $<
$(BUILD)/lib/engine/cuda/%.cu.o: lib/engine/cuda/%.cu | $(FOUND)
	@mkdir -p $(@D)
	$(call say,nvcc,$<)$(CUDA_HOME)/bin/nvcc --threads 0 -std=c++17 -O3 -fmad=false -Ilib $(CUDNN_I) \
		$(foreach a,$(CUDA_CODE),-gencode arch=compute_$a,code=sm_$a) $(foreach a,$(CUDA_PTX),-gencode arch=compute_$a,code=compute_$a) \
		-Xcompiler -fPIC,-fvisibility=hidden,-fno-threadsafe-statics,-Wall -MMD -MP -c -o $@ $<

CUDA_PATHS = $(foreach d,$(sort $(dir $(CUDA_LIBS) $(call cuda_so,$(NCCL_HOME),nccl))),-Wl$(comma)-rpath$(comma)$(patsubst %/,%,$d))
$(BUILD)/tally-cuda.so: $(CUDA_PURE:%=$(BUILD)/lib/engine/cuda/%.o) $(CUDA_SIDE:%=$(BUILD)/lib/engine/cuda/%)
	$(call say,link,$@)$(CC) -shared -Wl,--version-script=lib/engine/cuda/module.map $(CFLAGS) $(DIALECT) $(LINK) -o $@ $^ $(CUDA_LIBS) $(CUDA_PATHS) -lm
$(BUILD)/tests/emu/tally-cuda.so: $(CUDA_PURE:%=$(BUILD)/lib/engine/cuda/%.o) $(EMU_SIDE)
	$(call say,link,$@)$(CC) -shared -Wl,--version-script=lib/engine/cuda/module.map $(CFLAGS) $(DIALECT) $(LINK) -o $@ $^ -fopenmp -lm

# Stand-ins for libraries of the GPU's, opened by name where LD_LIBRARY_PATH has this folder.
$(BUILD)/tests/stub/libnccl.so.2: tests/stub/nccl.c tests/emu/emu.h
$(BUILD)/tests/stub/libnvidia-ml.so.1: tests/stub/nvml.c
$(STUBS): | $(FOUND)
	@mkdir -p $(@D)
	$(call say,link,$@)$(CC) $(DEFINES) -Itests $(CFLAGS) $(DIALECT) -shared -fPIC -o $@ $<

# Every program that links LIBS depends on this library, so that PADDED is made before.
$(BUILD)/libtally.a: $(LIB) $(MADE_FOR) | $(PADDED)
	@rm -f $@
	$(call say,ar  ,$@)$(AR) rcs $@ $(LIB)

$(addprefix $(BUILD)/,$(TOOLS)): $(FRONT) $(BUILD)/libtally.a
	$(call say,link,$@)$(CC) $(CFLAGS) $(DIALECT) $(LINK) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LIBS)
# A worker may be a server too.
$(BUILD)/pworker: $(patsubst %.c,$(BUILD)/%.o,$(wildcard cmd/pserver_*.c))
$(foreach t,$(TOOLS),$(eval $(BUILD)/$t: $(patsubst %.c,$(BUILD)/%.o,$(wildcard cmd/$t.c cmd/$t_*.c) $(if $(wildcard cmd/$t/.),$(call find,cmd/$t,*.c)))))

# Parts of the module by themselves, with its libraries.
$(GPU_TESTS): $(BUILD)/%: $(BUILD)/%.o $(CUDA_SIDE:%=$(BUILD)/lib/engine/cuda/%) $(BUILD)/libtally.a
	$(call say,link,$@)$(CC) $(CFLAGS) $(DIALECT) $(LINK) -o $@ $^ $(CUDA_LIBS) $(CUDA_PATHS) $(LIBS)
$(GPU_TESTS:%=%.o): DEFINES += -Itests $(CUDA_I)

$(TESTS) $(PEERS): $(BUILD)/%: $(BUILD)/%.o $(BUILD)/libtally.a
	$(call say,link,$@)$(CC) $(CFLAGS) $(DIALECT) $(LINK) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LIBS)
$(filter $(BUILD)/tests/law/%,$(TESTS)): $(WORLD)
$(BUILD)/tests/law/job_test: $(SIM)
$(BUILD)/tests/law/job_test: LINK += $(SIM_CALLS:%=-Wl,--wrap=%)
$(filter %/device_test,$(TESTS)): $(EMU_SIDE)
$(BUILD)/tests/op/device_test.o: DEFINES += $(EMU_HEADERS)
$(TESTS:%=%.o) $(WORLD) $(SIM): DEFINES += -Itests
# gcc 12.2's vectorizer for arm64 ends with an internal error at a maximum by fmax().
$(TESTS:%=%.o): KERNEL := -fno-tree-vectorize
$(BUILD)/tests/lib/share_test.o: KERNEL := -fno-tree-vectorize -fopenmp

$(BUILD)/bench/%: $(BUILD)/bench/%.o $(FRONT) $(BUILD)/libtally.a
	$(call say,link,$@)$(CC) $(CFLAGS) $(DIALECT) $(LINK) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LIBS)
$(BUILD)/bench/%.o: KERNEL := -fopenmp
$(BUILD)/bench/scale: $(filter $(BUILD)/tests/law/sim/%,$(SIM))
$(BUILD)/bench/scale: LINK += $(SIM_CALLS:%=-Wl,--wrap=%)
$(BUILD)/bench/scale.o: DEFINES += -Itests
# The rate of products, with the module's own parts; build/tests/emu/gpu_rate rehearses it without a GPU.
$(BUILD)/bench/gpu_rate: $(BUILD)/bench/gpu_rate.o $(CUDA_SIDE:%=$(BUILD)/lib/engine/cuda/%) $(BUILD)/libtally.a
	$(call say,link,$@)$(CC) $(CFLAGS) $(DIALECT) $(LINK) -o $@ $^ $(CUDA_LIBS) $(CUDA_PATHS) $(LIBS)
$(BUILD)/tests/emu/gpu_rate: $(BUILD)/bench/gpu_rate.o $(EMU_SIDE) $(BUILD)/libtally.a
	$(call say,link,$@)$(CC) $(CFLAGS) $(DIALECT) $(LINK) -o $@ $^ $(LIBS)

# The same for what the module relies on of a GPU.
$(BUILD)/tests/emu/bits_test: $(BUILD)/tests/gpu/bits_test.o $(EMU_SIDE) $(BUILD)/libtally.a
	$(call say,link,$@)$(CC) $(CFLAGS) $(DIALECT) $(LINK) -o $@ $^ $(LIBS)
$(BUILD)/tests/gpu/bits_test.o: DEFINES += -Itests

# A fuzz target with an ordinary main: replays the corpus.  libFuzzer's entry has no header to declare it.
$(REPLAY): $(BUILD)/%: $(BUILD)/%.o $(BUILD)/tests/fuzz/replay.o $(BUILD)/tests/fuzz/mutate.o $(BUILD)/libtally.a
	$(call say,link,$@)$(CC) $(CFLAGS) $(DIALECT) $(LINK) -o $@ $^ $(LIBS)
$(BUILD)/tests/fuzz/%.o: KERNEL := -Wno-missing-prototypes
$(BUILD)/tests/fuzz/%.o: DEFINES += -Itests

tests: all $(TESTS) $(REPLAY) $(EMU) $(GPU_TESTS) $(BUILD)/share/demo/pictures

# The scripts run whole jobs, minutes of them under the thread sanitizer: that one gets the tests in C, but for those of
# net scripts, since each error that Lua throws leaves frames on the sanitizer's own stack, and of fibers.  An emulator gets those in C, too.
CHECKED := $(if $(EMULATOR),$(TESTS) $(REPLAY),$(if $(filter thread,$(SAN)),$(filter-out %/script_test %/fuzz_script %/job_test,$(TESTS) $(REPLAY)),$(TESTS) $(GPU_TESTS) $(REPLAY) $(SCRIPTS)))

# For commands that also install: they build on all processors, unless the caller gave -j.
PARALLEL = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))

check: setup-test	## install what is missing and run every test; SAN=... for a sanitizer
	@$(MAKE) --no-print-directory $(PARALLEL) checked

# Two tests run for each processor, since those of jobs also wait.  Those that take longest begin, so that no processor waits
# for them at the end.
JOBS    ?= $(shell echo $$(($$(nproc) * 2)))
PROVE   := prove --timer --failures --comments --exec tests/run
LONGEST := $(foreach t,flow/ssh flow/scale op/emulated_verdict flow/gpu flow/learn flow/return flow/spare flow/bits flow/demo op/emulated flow/cut flow/codec flow/wait flow/outage flow/state flow/strangers cmd/examples flow/respawn flow/kill flow/agent,tests/$t.t)
checked: tests
	@TOP=$(CURDIR) BUILD=$(abspath $(BUILD)) SAN=$(SAN) $(PROVE) -j$(JOBS) $(filter $(LONGEST),$(CHECKED)) $(filter-out $(LONGEST),$(CHECKED))

# What a developer runs after each edit: every test of one module or one engine by itself, and the tree's laws.  Whole
# tools, jobs and simulations, other authors' numbers, and all engines over again through emulation are for make check; their
# tests in C are built, so that none is left behind by an edit.
QUICK   := $(filter $(BUILD)/tests/lib/% $(BUILD)/tests/op/%,$(TESTS))
check-quick: all $(TESTS)	## run the tests of single modules and engines, and lint: a minute or two on two cores
	@TOP=$(CURDIR) BUILD=$(abspath $(BUILD)) SAN=$(SAN) prove -j$(shell nproc) --failures --exec tests/run $(filter tests/lint/%,$(SCRIPTS)) $(QUICK)

# A script needs the tools, and those of tests/op the engines' tests too.  T names a test by its path, with or without .c, or
# by its name alone.
find_test = $(or $(if $(wildcard $(1).c),$(1)),$(filter %.t,$(wildcard $(1))),$(firstword $(patsubst %.c,%,\
	$(filter %/$(1).c %/$(1).t $(filter %.t,%/$(1)),$(call find,tests,*.[ct])))),$(error T=$(T): there is no test $(1)))
FOR_T   := $(if $(filter test,$(MAKECMDGOALS)),$(if $(T),$(foreach t,$(patsubst %.c,%,$(T)),$(call find_test,$t)),\
	$(error T names no test; for example: make test T=tests/lib/rec_test)))
ASKED   := $(filter %.t,$(FOR_T)) $(patsubst %,$(BUILD)/%,$(filter-out %.t,$(FOR_T)))
NEEDED  := $(filter-out %.t,$(ASKED)) $(if $(filter tests/op/%.t,$(ASKED)),tests,$(if $(filter %.t,$(ASKED)),all $(EMU) $(BUILD)/share/demo/pictures))
test: $(NEEDED)	## build and run one test: T=tests/lib/rec_test, T=plog.t
	@TOP=$(CURDIR) BUILD=$(abspath $(BUILD)) SAN=$(SAN) prove --timer --failures --comments --exec tests/run $(ASKED)

soak: SEEDS ?= 1-1000
soak: $(SOAKED:%=$(BUILD)/tests/law/%_test)	## run the simulations over SEEDS=1-100000 on all processors, and print what failed in them
	@BUILD=$(abspath $(BUILD)) tests/law/soak $(SEEDS) $(SOAKED)

check-peers: all $(PEERS) $(BUILD)/share/demo/pictures	## compare with other programs; PEER_TORCH=PYTHON names one, and tests/peers says which more
	@TOP=$(CURDIR) BUILD=$(abspath $(BUILD)) prove --timer --failures --comments --exec tests/run $(wildcard tests/peers/*.t)

demo: setup	## install what is missing; pictures to weights in three minutes, by two workers and two servers
	@$(MAKE) --no-print-directory $(PARALLEL) demonstrated

demonstrated: all $(BUILD)/share/demo/pictures
	@BUILD=$(abspath $(BUILD)) share/demo/run

$(BUILD)/share/demo/pictures: $(BUILD)/share/demo/pictures.o $(FRONT) $(BUILD)/libtally.a
	$(call say,link,$@)$(CC) $(CFLAGS) $(DIALECT) $(LINK) -o $@ $^ $(LIBS)

check-gpu: all $(TESTS)	## look for faults of memory in the GPU's kernels with compute-sanitizer, which needs a GPU
	@tests/gpu/sanitize $(abspath $(BUILD)) $(CUDA_HOME)

# What the verdict runs.  Where nothing can be installed, what is there may do.
GPU_OPS := $(patsubst %,$(BUILD)/tests/op/%_test,seam layer sums scores classes order drop match learn split)
gpu:	## install what is missing, test the cuda engine on this machine's GPU and measure it beside PyTorch: PASS or FAIL within 10 minutes after the build
	@$(SETUP) || :
	@$(MAKE) --no-print-directory $(PARALLEL) all $(GPU_OPS) $(filter %/bits_test,$(GPU_TESTS)) $(BUILD)/bench/gpu_step $(BUILD)/share/demo/pictures
	@tests/gpu/verdict $(abspath $(BUILD)) $(CUDA_HOME)

lint: tests	## run the tests of the tree's own laws: floors, names, headers, pages
	@TOP=$(CURDIR) BUILD=$(abspath $(BUILD)) prove --exec tests/run $(filter tests/lint/%,$(SCRIPTS))

# An xz file may ask for 4 GB at once; what it does not fill is no memory.
fuzz: $(FUZZ)	## give each parser FUZZTIME=60 seconds of hostile bytes (clang)
$(FUZZ):
	@$(MAKE) --no-print-directory CC=clang SAN=fuzzer-no-link,address,undefined BUILD=build-fuzz build-fuzz/run/$@
	@mkdir -p build-fuzz/corpus/$@ tests/fuzz/corpus/$(@:fuzz_%=%)
	cd build-fuzz && run/$@ -max_total_time=$(FUZZTIME) -timeout=10 -len_control=100 -rss_limit_mb=2048 -malloc_limit_mb=8192 -print_final_stats=1 -verbosity=0 \
		-close_fd_mask=1 corpus/$@ ../tests/fuzz/corpus/$(@:fuzz_%=%)

$(BUILD)/run/fuzz_%: $(BUILD)/tests/fuzz/fuzz_%.o $(BUILD)/tests/fuzz/mutate.o $(BUILD)/libtally.a
	@mkdir -p $(@D)
	$(call say,link,$@)$(CC) $(CFLAGS) $(LINK) -fsanitize=fuzzer -o $@ $^ $(LIBS)

# Those that need arguments, or write files.
BENCH_SKIP := alone codec codec_accuracy defaults link profile slow
bench: all	## measure; each bench/*.sh that needs no arguments prints a table
	@for b in $(filter-out $(BENCH_SKIP:%=bench/%.sh),$(wildcard bench/*.sh)); do [ ! -x $$b ] || BUILD=$(abspath $(BUILD)) $$b || exit; done

bench-profile: all	## write what each layer of the nets costs into build/profile
	@BUILD=$(abspath $(BUILD)) bench/profile.sh

reproduce: all	## train a published result again, or go on with it: ROW=mnist-lenet SEEDS="1 2"; without ROW: list them
	@BUILD=$(abspath $(BUILD)) bench/reproduce $(ROW) $(SEEDS)

speed: all	## measure the training steps of RESULTS.md, or what is missing: TYPES="f32 bf16"; PEER_TORCH and PEER_MXNET name pythons
	@BUILD=$(abspath $(BUILD)) bench/speed $(TYPES)

results: all	## write RESULTS.md: the speed of training steps, and what the recipes reached here beside what their sources published
	@BUILD=$(abspath $(BUILD)) bench/results >RESULTS.md.new && mv RESULTS.md.new RESULTS.md

# Pages say of which version they are.
PAGES   := $(patsubst %,$(BUILD)/%,$(wildcard man/*.[157]))
$(PAGES): $(BUILD)/%: % VERSION
	@mkdir -p $(@D)
	@sed 's/^\.Os tally$$/& $(VERSION)/' $< >$@

# A PREFIX without a slash in front is one within DESTDIR.
PLACE   = $(DESTDIR)$(if $(DESTDIR),$(if $(filter /%,$(PREFIX)),,/))$(PREFIX)
install: all $(PAGES)	## install tools, pages, completions and share/ under PREFIX=/usr/local (DESTDIR= for packagers)
	@BUILD=$(BUILD) TOOLS="$(TOOLS)" MODULE=$(MODULE) share/installed >$(BUILD)/installed
	@while read -r mode from at; do install -D -m $$mode $$from "$(PLACE)/$$at" || exit; done <$(BUILD)/installed

# Empty folders go too: tally's own, and under DESTDIR those above the files.
uninstall:	## remove what install put under PREFIX (DESTDIR=)
	@list=$$(BUILD=$(BUILD) TOOLS="$(TOOLS)" MODULE=$(BUILD)/tally-cuda.so share/installed) && cd "$(or $(DESTDIR),$(if $(filter /%,$(PREFIX)),,.))/" && \
	echo "$$list" | while read -r mode from at; do rm -f "./$(PREFIX)/$$at" || exit; done && \
	$(if $(filter-out /,$(DESTDIR)),echo "$$list" | while read -r mode from at; do at=$(PREFIX:/%=%)/$$at; \
		[ ! -d "$${at%/*}" ] || rmdir -p --ignore-fail-on-non-empty "$${at%/*}"; done &&) \
	for d in share/tally lib/tally; do [ ! -d "./$(PREFIX)/$$d" ] || find "./$(PREFIX)/$$d" -depth -type d -empty -exec rmdir {} \;; done

dist:	## make a source release of what is committed, build/tally-VERSION.tar.gz
	@share/dist $(VERSION) $(BUILD)

deb: all	## make a Debian package, build/tally_VERSION_ARCH.deb
	@share/deb $(VERSION) $(BUILD)

clean:	## remove what was built, but not the checkpoints of make reproduce
	@for b in build build-*; do [ ! -d $$b ] || find $$b/ -mindepth 1 -maxdepth 1 ! -name reproduce -exec rm -rf {} + || exit; done
	@rmdir build build-* 2>/dev/null || :

help:	## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /  make \1	/p' $(MAKEFILE_LIST) | expand -t 22

setup setup-test:
	@$(SETUP) $(@:setup%=$(if $(filter %-test,$@),test))

.PHONY: all found tests check check-quick test soak check-gpu gpu checked check-peers demo demonstrated lint fuzz $(FUZZ) bench bench-profile reproduce speed results install uninstall dist deb clean help setup setup-test
.DELETE_ON_ERROR:
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
