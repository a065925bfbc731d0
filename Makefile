# Makefile of attn-cli. `make help` lists what can be asked for.
#
# Everything that is made lies in build/MODE, so the modes (release, static, asan, tsan, coverage,
# fuzz) never share an object. CC, CFLAGS, CPPFLAGS and LDFLAGS belong to the user: what the code itself
# needs is added here, and objects are made again when any of it changes.

MODE ?= release
BUILD := build/$(MODE)
CFLAGS ?= -O2 -g
PKG_CONFIG ?= pkg-config
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
export CC PKG_CONFIG BUILD

ifeq ($(filter $(MODE),release static asan tsan coverage fuzz wasm),)
$(error MODE is '$(MODE)', expected release, static, asan, tsan, coverage, fuzz or wasm)
endif
# The user's settings are for another processor, and equal sources give equal bytes. Code without
# numbers is small in a page, and as fast.
ifeq ($(MODE),wasm)
override CC := clang-19 --target=wasm32-wasi
override CFLAGS := -Os
override CPPFLAGS :=
override LDFLAGS :=
override XSMM := no
endif
# TARGET=x86_64-linux-gnu.2.28, for one: all is made by zig for that processor and C library, in a folder of its own.
TARGET ?=
ifneq ($(TARGET),)
# Before a command that makes what this machine runs: manual, completions, attn.wasm.
native := env -u CC -u XSMM $(if $(filter-out default,$(origin CC)),CC='$(CC)') $(if $(XSMM),XSMM=$(XSMM))
override BUILD := build/$(TARGET)
override CC := build/zig/$(TARGET)/cc
override AR := build/zig/ar
override XSMM := no
$(shell .packaging/zig.sh $(TARGET) >&2)
endif
WASM_MODULE := build/wasm/attn.wasm
# The system that is built for.
SYSTEM := $(or $(filter wasm,$(MODE)),$(filter macos windows,$(subst -, ,$(subst ., ,$(TARGET)))),\
    $(if $(TARGET),,$(if $(filter Darwin,$(shell uname -s)),macos)),linux)
EXE := $(if $(filter windows,$(SYSTEM)),.exe)
# The processor that is compiled for. libxsmm makes code for x86-64 alone. A source distribution, which has the sources of
# other libraries in the folder libraries, is built without it where it is not there.
MACHINE := $(patsubst arm64,aarch64,$(firstword $(subst -, ,$(or $(shell $(CC) -dumpmachine 2>/dev/null),$(shell uname -m)))))
ifeq ($(origin XSMM),undefined)
XSMM := $(if $(filter x86_64,$(MACHINE)),$(if $(wildcard libraries),$(if $(shell XSMM=yes tests/tools/dependencies.sh missing xsmm),no,yes),yes),no)
endif
export XSMM
ifeq ($(filter $(XSMM),yes no),)
$(error XSMM is '$(XSMM)', expected yes or no)
endif
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc) # a -j on the command line wins
endif
MAKEFLAGS += --no-print-directory
comma := ,
.SUFFIXES: # make's own rules, none of which is used, would be tried for every file

# The version of the headers; of the program, with the number of the build; and for Debian and pkg-config.
FORMS := $(shell .packaging/facts.sh versions)
VERSION := $(word 2,$(FORMS))
PROGRAM_VERSION := $(word 4,$(FORMS))
TILDE_VERSION := $(word 8,$(FORMS))
SONAME := libattn.so.$(shell sed -nE 's/^\#define ATTN_ABI (.*)$$/\1/p' lib/ground/base/version.h)

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion \
    -Wdouble-promotion -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition \
    -Wpointer-arith -Wcast-qual -Wwrite-strings -Wformat=2 -Wundef -Wvla -Wimplicit-fallthrough \
    -Wno-enum-float-conversion # constants are enumerators, also where floats are computed
ifeq ($(WERROR),yes)
WARNINGS += -Werror # in CI alone: another compiler must not break a build
endif

# FLAGS if the compiler takes them without a warning.
accepted = $(shell $(CC) $(1) -Werror -x c -E /dev/null >/dev/null 2>&1 && echo '$(1)')

LDFLAGS_static := -static-pie
CPPFLAGS_wasm := -include lib/ground/base/os/wasi.h $(addprefix -D_WASI_EMULATED_,SIGNAL PROCESS_CLOCKS GETPID MMAN)
LDFLAGS_wasm := -Wl,-s -Wl,--compress-relocations -Wl,-z,stack-size=1048576 $(addprefix -lwasi-emulated-,signal process-clocks getpid)
MODE_FLAGS_wasm := -msimd128
MODE_FLAGS_asan := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
MODE_FLAGS_tsan := -fsanitize=thread
MODE_FLAGS_coverage := --coverage
MODE_FLAGS_fuzz := -O1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
CLANG = $(notdir $(firstword $(foreach name,clang clang-14,$(shell command -v $(name))) clang))
ifeq ($(MODE),fuzz)
CC := $(CLANG)
endif

# A file of lib sees its own folder and those before it (lib/folders): the compiler holds the border. All others see all.
FOLDERS := $(patsubst -Ilib/%,%,$(file <lib/folders))
SEEN := -I. -Ilib $(FOLDERS:%=-Ilib/%)
# A header with what a C library lacks of that of Linux: the system's part of lib/ground/base implements it.
CPPFLAGS_macos := -include lib/ground/base/os/libc_macos.h
CPPFLAGS_windows := -include lib/ground/base/os/libc_windows.h -D_FILE_OFFSET_BITS=64 -D__USE_MINGW_ANSI_STDIO=1
CPPFLAGS_ALL = -D_GNU_SOURCE $(SEEN) $(CPPFLAGS_$(SYSTEM)) $(CPPFLAGS)
NATIVE_FLAGS := $(if $(filter linux macos,$(SYSTEM)),-fPIC -pthread)
LIBS_windows := -lapi-ms-win-core-synch-l1-2-0 -lshell32 -ladvapi32
# The folder that is built in leaves no trace: equal sources give equal bytes.
CFLAGS_ALL := -std=c11 -ffp-contract=off -fvisibility=hidden -ffile-prefix-map="$$PWD"=. $(NATIVE_FLAGS) $(WARNINGS) $(CFLAGS) \
    $(MODE_FLAGS_$(MODE))
LDFLAGS_ALL := $(NATIVE_FLAGS) $(MODE_FLAGS_$(MODE)) $(LDFLAGS_$(MODE)) $(LDFLAGS)
COMPILE = $(CC) $(CPPFLAGS_ALL) @$(BUILD)/libraries.cflags @$(BUILD)/hardening.cflags \
    $(if $(filter windows,$(SYSTEM)),,-include lib/ground/base/banned.h) -MMD -MP
LINK = $(CC) $(CFLAGS_ALL) @$(BUILD)/hardening.cflags $(LDFLAGS_ALL) @$(BUILD)/hardening.ldflags

# The vector code is one source compiled once for each instruction set (lib/core/kernels/gemm.h).
ISAS_x86_64 := baseline avx2 avx512
ISAS_aarch64 := baseline neon
ISAS_wasm32 := baseline relaxed
ISAS := $(or $(ISAS_$(MACHINE)),baseline)
ISA_FLAGS_baseline := $(if $(filter aarch64,$(MACHINE)),$(if $(TARGET),-mcpu=generic-neon,-march=armv8-a+nosimd)) $(if $(filter wasm,$(MODE)),-O3)
ISA_FLAGS_relaxed := -mrelaxed-simd -O3
ISA_FLAGS_avx2 := -mavx2 -mfma -mf16c
ISA_FLAGS_avx512 := -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mf16c -mprefer-vector-width=512

# Its loops are left to the compiler, which gets lost among 512 bits.
FLAGS_vector_blocks := -O3 $(if $(filter x86_64,$(MACHINE)),-mprefer-vector-width=256)

# gcc puts the steps of several exponentials beside each other only when it schedules early.
FLAGS_vector_rows := $(call accepted,-fschedule-insns -fsched-pressure)

VECTOR_SOURCES := $(wildcard lib/core/kernels/vector*.c)
EXAMPLES := $(wildcard lib/examples/*.c)
XSMM_ABSENT := lib/core/kernels/gemm_xsmm$(if $(filter yes,$(XSMM)),_absent).c # the other one is built
AMX_ABSENT := lib/core/kernels/amx$(if $(filter x86_64,$(MACHINE)),$(if $(filter linux,$(SYSTEM)),$(if $(call accepted,-mamx-bf16),_absent))).c
# Nothing can be opened at run time by a static program, which has a C library of its own. For musl all are static.
CLOSED := $(filter static wasm,$(MODE))$(findstring musl,$(TARGET))$(filter windows,$(SYSTEM))
CAIRO_ABSENT := lib/views/figures/figure_cairo$(if $(CLOSED),,_absent).c
IMAGE_ABSENT := $(if $(CLOSED), \
    lib/ground/base/os/dynamic.c lib/media/image/image_library.c \
    $(addprefix lib/media/image/image_file_,png.c jpeg.c webp.c) lib/media/sound/sound_file.c, \
    lib/media/image/image_file_absent.c lib/media/sound/sound_file_absent.c)
# Sources whose names end in a system are of that one; those of _posix are of Linux and macOS, and os_posix.c of WASI, too.
OWN_SYSTEM := $(SYSTEM) $(if $(filter linux macos,$(SYSTEM)),posix)
OTHER_SYSTEM := $(filter-out $(if $(filter wasm,$(SYSTEM)),lib/ground/base/os/os_posix.c),$(foreach system, \
    $(filter-out $(OWN_SYSTEM),linux macos posix windows wasm),$(wildcard lib/*/*/*_$(system).c lib/*/*/*/*_$(system).c cmd/*/*_$(system).c)))
LIB_SOURCES := $(filter-out lib/core_parts.c $(VECTOR_SOURCES) $(EXAMPLES) $(XSMM_ABSENT) $(AMX_ABSENT) \
    $(CAIRO_ABSENT) $(IMAGE_ABSENT) $(OTHER_SYSTEM) $(if $(filter wasm,$(SYSTEM)),lib/views/page/page_frame.c),$(wildcard lib/*.c lib/*/*/*.c lib/*/*/*/*.c))
EMBEDDED := lib/ground/base/text/unicode_tables.S lib/views/pictures/colormap_tables.S lib/core/tokenizer/unicode/unicode_tables.S \
    $(if $(filter wasm,$(SYSTEM)),,lib/views/page/page_files.S)
LIB_OBJECTS := $(LIB_SOURCES:%.c=$(BUILD)/%.o) \
    $(if $(filter wasm,$(SYSTEM)),,$(BUILD)/lib/core/model/builtin_files.o) \
    $(EMBEDDED:%.S=$(BUILD)/%.o) \
    $(foreach isa,$(ISAS),$(VECTOR_SOURCES:%.c=$(BUILD)/%_$(isa).o))
CMD_SOURCES := $(filter-out $(OTHER_SYSTEM),$(wildcard cmd/*.c cmd/*/*.c))
MODEL_FILES := $(wildcard models/*/*.* models/*/sae/*.*) # folders, like that of a training, have no dot
SHARED_FILES := $(MODEL_FILES) $(wildcard data/experiments/*.csv data/experiments/*.jsonl data/microgpt/*.* data/microgpt/model/*.* data/stories/*.json)
CMD_OBJECTS := $(CMD_SOURCES:%.c=$(BUILD)/%.o)
# The families of the models that are built in.
CORE_OBJECTS := $(filter $(BUILD)/lib/ground/% $(BUILD)/lib/core/%,$(LIB_OBJECTS)) $(BUILD)/lib/core_parts.o $(addprefix $(BUILD)/lib/checkpoints/families/,attn.o gpt.o)
OBJECTS := $(LIB_OBJECTS) $(BUILD)/lib/core_parts.o $(CMD_OBJECTS) $(EXAMPLES:%.c=$(BUILD)/%.o)

# V=1 shows the commands instead of their short form.
say = $(if $(V),,@printf '  %-4s %s\n' $(1) $(@:$(BUILD)/%=%);)

all: $(BUILD)/attn-cli $(BUILD)/libattn.a $(BUILD)/libattn.so ## build the tool and the libraries
	@:

# --- Compiling and linking ----------------------------------------------------------------------

FLAGS := $(strip $(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) $(foreach isa,$(ISAS),$(ISA_FLAGS_$(isa))) $(LDFLAGS) $(VERSION) XSMM=$(XSMM))
ifneq ($(FLAGS),$(strip $(file <$(BUILD)/flags)))
.PHONY: $(BUILD)/flags
endif
$(BUILD)/flags:
	@mkdir -p $(@D)
	@printf '%s\n' '$(subst ','\'',$(FLAGS))' >$@

# What a compiler knows of hardening is found once, too. Sanitizers have their own checks.
$(BUILD)/hardening.cflags: tests/tools/hardening.sh $(BUILD)/flags
	@$(if $(MODE_FLAGS_$(MODE)),:,tests/tools/hardening.sh compile $(CPPFLAGS_ALL) $(CFLAGS_ALL)) >$@

$(BUILD)/hardening.ldflags: tests/tools/hardening.sh $(BUILD)/flags
	@$(if $(MODE_FLAGS_$(MODE)),:,tests/tools/hardening.sh link $(CFLAGS_ALL) $(LDFLAGS_ALL)) >$@

# Where the libraries are is found once for each build folder and kept there. What runs on other systems is linked with
# archives that are made of pinned sources (.packaging/sources.sha256).
PINNED := $(filter static wasm,$(MODE))$(TARGET)
PINS := .packaging/libraries.sh .packaging/sources.sha256 $(wildcard .packaging/patches/*)
$(BUILD)/libraries.cflags: tests/tools/dependencies.sh $(BUILD)/flags $(if $(PINNED),$(PINS))
ifneq ($(PINNED),)
	@CC='$(CC)' AR='$(AR)' $(if $(filter wasm,$(MODE)),LIBRARY_FLAGS='-O2 -msimd128') \
	    .packaging/libraries.sh $(BUILD)/libraries $(LIBRARY_SOURCES)
	@tests/tools/dependencies.sh find $(BUILD)/libraries pinned
else
	@tests/tools/dependencies.sh find $(BUILD)/libraries build
endif

# A folder of sources without tests is built, too.
include $(wildcard lib/views/page/page.mk tests/tests.mk .packaging/install.mk .packaging/packages.mk)

$(OBJECTS): $(BUILD)/flags $(BUILD)/libraries.cflags $(BUILD)/hardening.cflags

define border
seen_here += -Ilib/$(1)
$(BUILD)/lib/$(1)/%: private SEEN := $$(seen_here)
endef
seen_here :=
$(foreach folder,$(FOLDERS),$(eval $(call border,$(folder))))

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC)$(COMPILE) $(CFLAGS_ALL) -c $< -o $@

# `attn-cli --version` names build and commit, which archives have in a file. attn.wasm depends on the sources alone. No other
# object depends on them, so that a commit compiles one file.
COMMIT := $(if $(filter-out wasm,$(MODE)),$(shell grep -o '^[0-9a-f]\{12\}' .packaging/commit || git rev-parse --short=12 HEAD 2>/dev/null))
NAMED := $(if $(filter wasm,$(MODE)),$(VERSION),$(PROGRAM_VERSION)) $(COMMIT)
ifneq ($(strip $(NAMED)),$(strip $(file <$(BUILD)/commit)))
.PHONY: $(BUILD)/commit
endif
$(BUILD)/commit:
	@mkdir -p $(@D)
	@echo $(NAMED) >$@
$(BUILD)/cmd/main.o: $(BUILD)/commit
$(addprefix $(BUILD)/cmd/main.,o tidy tidy-fast analyzed): CPPFLAGS_ALL += -DATTN_BUILD='"$(firstword $(NAMED))"' \
    -DATTN_COMMIT='"$(COMMIT:%=, commit %)"'

# Examples include <attn/attn.h>, as programs do that use an installed library.
EXAMPLE_INCLUDES := -I$(BUILD)/include
$(EXAMPLES:%.c=$(BUILD)/%.o): CPPFLAGS_ALL += $(EXAMPLE_INCLUDES)
$(EXAMPLES:%.c=$(BUILD)/%.o): | $(BUILD)/include/attn
$(BUILD)/include/attn:
	@mkdir -p $@ && ln -sfn $(foreach room,$(wildcard lib/*.h lib/*/*/),"$(CURDIR)/$(room:%/=%)") $@

define isa_rule
$(BUILD)/%_$(1).o: %.c
	@mkdir -p $$(@D)
	$$(call say,CC)$$(COMPILE) $$(CFLAGS_ALL:-O2=-O3) $$(ISA_FLAGS_$(1)) $$(FLAGS_$$(notdir $$*)) \
	    -DATTN_ISA=$(1) -c $$< -o $$@
endef
$(foreach isa,$(ISAS),$(eval $(call isa_rule,$(isa))))

# They hold files (.incbin), which -MMD does not see: the built-in models, colors, characters; and the page (lib/views/page/page.mk).
$(BUILD)/lib/core/model/builtin_files.o: $(MODEL_FILES)
$(BUILD)/lib/views/pictures/colormap_tables.o: $(wildcard lib/views/pictures/*.bin)
$(BUILD)/lib/ground/base/text/unicode_tables.o: $(wildcard lib/ground/base/text/unicode/*.bin)
$(BUILD)/lib/core/tokenizer/unicode/unicode_tables.o: $(wildcard lib/core/tokenizer/unicode/tables/*.bin)
$(BUILD)/%.o: %.S
	@mkdir -p $(@D)
	$(call say,AS)$(CC) $(CPPFLAGS_ALL) $(if $(filter windows,$(SYSTEM)),,-fPIC) -Wa,$(if $(filter linux wasm,$(SYSTEM)),--noexecstack$(comma))-I$(BUILD) -MMD -MP -c $< -o $@

$(BUILD)/libattn.a: $(LIB_OBJECTS)
$(BUILD)/libattn-core.a: $(CORE_OBJECTS)
$(BUILD)/libattn.a $(BUILD)/libattn-core.a:
	@rm -f $@
	$(call say,AR)$(AR) rcs $@ $^

VERSION_NODE := -Wl,--version-script=lib/libattn.map

# Only ATTN_API functions leave the shared library; libxsmm, a static archive, stays inside.
$(BUILD)/libattn.so: $(LIB_OBJECTS) lib/libattn.map | $(BUILD)/hardening.ldflags $(BUILD)/attn-cli.source
	$(call say,LD)$(LINK) -shared -Wl,-soname,$(SONAME) $(VERSION_NODE) -Wl,--exclude-libs,ALL \
	    $(if $(MODE_FLAGS_$(MODE)),,-Wl,-z,defs) $(LIB_OBJECTS) @$(BUILD)/libraries.libs -o $@

# It lies beside what is built and says where the sources are, whose models are found then. It is not installed.
$(BUILD)/attn-cli.source:
	@mkdir -p $(@D)
	@realpath --relative-to=$(@D) . >$@

$(BUILD)/attn-cli$(EXE): $(CMD_OBJECTS) $(if $(filter asan,$(MODE)),$(BUILD)/tests/support/leaks.o) $(BUILD)/libattn.a | $(BUILD)/hardening.ldflags $(BUILD)/attn-cli.source
	$(call say,LD)$(LINK) $(if $(filter linux,$(SYSTEM)),$(if $(filter static,$(MODE)),,-pie)) $^ @$(BUILD)/libraries.libs $(LIBS_$(SYSTEM)) -o $@

# The tool as a WebAssembly module of WASI: for the page of --live, and any other that runs those. Sorted, a kernel's two
# objects are neighbors, and deflate finds the second in the first.
$(BUILD)/attn.wasm: $(CMD_OBJECTS) $(LIB_OBJECTS) | $(BUILD)/hardening.ldflags
	$(call say,LD)$(LINK) $(sort $^) @$(BUILD)/libraries.libs -o $@

-include $(OBJECTS:.o=.d)

# lib/core by itself: a program that is linked with nothing else, and its unit tests (tests/tests.mk).
core: $(BUILD)/lib/examples/core ## build the core alone: libattn-core.a, and a program of it
	@:
$(BUILD)/lib/examples/core: $(BUILD)/lib/examples/core.o $(BUILD)/libattn-core.a | $(BUILD)/hardening.ldflags
	$(call say,LD)$(LINK) $^ @$(BUILD)/libraries.libs -o $@

# --- Running and testing ------------------------------------------------------------------------
# run and test first install what is missing; only then is the rest of the graph looked at.

run: deps-build ## build, then show the attention of one sentence
	@tests/tools/dependencies.sh offer draw pictures
	@$(MAKE) $(BUILD)/attn-cli
	@echo
	$(BUILD)/attn-cli run --sentence "Life is short, eat dessert first"
	@printf '%s\n' '' 'To call it as attn-cli, put it on the PATH of this shell, or install it into ~/.local/bin:' \
	    '  export PATH="$(CURDIR)/$(BUILD):$$PATH"' '  make install PREFIX="$$HOME/.local"' \
	    'attn-cli -h then lists the commands; cmd/manual is the manual.'

PARTS ?= unit corpora cli readme $(if $(filter release,$(MODE)),install) $(if $(filter release asan,$(MODE)),torture)
test: $(if $(wildcard tests/fixtures),deps-test,has-tests) ## build, then run all tests, or those of PARTS='cli readme install'
	@$(MAKE) $(if $(filter unit corpora torture,$(PARTS)),tests,all)
	@$(if $(filter asan,$(MODE)),TORTURE_PARTS=adversary) tests/run.sh $(PARTS)

has-tests:
	@echo 'make test: unpack attn-cli-$(PROGRAM_VERSION)-tests.tar.gz over this folder, which has no tests/fixtures' >&2 && exit 1

# --- The rest -----------------------------------------------------------------------------------

deps: ## install what build, tests and lint need (Debian, Ubuntu)
	@tests/tools/dependencies.sh install build test optional draw pictures lint

deps-python:
	@PYTHON="$(PYTHON)" tests/tools/dependencies.sh install python

deps-build:
	@$(native) tests/tools/dependencies.sh install build

deps-test:
	@tests/tools/dependencies.sh install build test

deps-draw: ## install what --png and --pdf use at run time: pango, cairo, a font
	@tests/tools/dependencies.sh install draw

deps-pictures: ## install what --image reads PNG and JPEG with at run time
	@tests/tools/dependencies.sh install pictures

deps-optional:
	@tests/tools/dependencies.sh install optional

deps-wasm:
	@$(native) tests/tools/dependencies.sh install build wasm

clean: ## remove everything that was made
	@tests/tools/fixtures.sh remove
	rm -rf build $$(find lib/python tests/python -name __pycache__)

help: ## list the targets
	@echo 'make [MODE=release|static|asan|tsan|coverage|fuzz|wasm] [V=1] [XSMM=no] [CC= CFLAGS= LDFLAGS=] TARGET'
	@grep -hE '^[a-z0-9-]+:.*## ' $(filter Makefile %.mk,$(MAKEFILE_LIST)) | \
	    sed -E 's/^([a-z0-9-]+):.*## (.*)/\1\t\2/' | expand -t 18

.PHONY: all run test has-tests deps deps-build deps-test deps-draw deps-pictures deps-optional deps-python deps-wasm \
    clean help
.SECONDARY:
.DELETE_ON_ERROR:
