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
# The processor that is compiled for. libxsmm makes code for x86-64 alone. A source distribution, which has the sources of
# other libraries in the folder libraries, is built without it where it is not there.
MACHINE := $(firstword $(subst -, ,$(or $(shell $(CC) -dumpmachine 2>/dev/null),$(shell uname -m))))
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
.SUFFIXES: # make's own rules, none of which is used, would be tried for every file

VERSION := $(shell sed -nE 's/^\#define ATTN_VERSION "(.*)"$$/\1/p' lib/base/version.h)
# For Debian and pkg-config, where ~ comes before the end: 0.4.0~dev0 is older than 0.4.0.
TILDE_VERSION := $(subst .dev,~dev,$(VERSION))
SONAME := libattn.so.$(shell sed -nE 's/^\#define ATTN_ABI (.*)$$/\1/p' lib/base/version.h)

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
CPPFLAGS_wasm := -include lib/base/wasi.h $(addprefix -D_WASI_EMULATED_,SIGNAL PROCESS_CLOCKS GETPID MMAN)
LDFLAGS_wasm := -Wl,-s -Wl,-z,stack-size=1048576 $(addprefix -lwasi-emulated-,signal process-clocks getpid)
MODE_FLAGS_wasm := -msimd128
MODE_FLAGS_asan := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
MODE_FLAGS_tsan := -fsanitize=thread
MODE_FLAGS_coverage := --coverage
MODE_FLAGS_fuzz := -O1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
CLANG = $(notdir $(firstword $(foreach name,clang clang-14,$(shell command -v $(name))) clang))
ifeq ($(MODE),fuzz)
CC := $(CLANG)
endif

CPPFLAGS_ALL := -D_GNU_SOURCE -Ilib -I. $(CPPFLAGS_$(MODE)) $(CPPFLAGS)
NATIVE_FLAGS := $(if $(filter wasm,$(MODE)),,-fPIC -pthread)
# The folder that is built in leaves no trace: equal sources give equal bytes.
CFLAGS_ALL := -std=c11 -ffp-contract=off -fvisibility=hidden -ffile-prefix-map="$$PWD"=. $(NATIVE_FLAGS) $(WARNINGS) $(CFLAGS) \
    $(MODE_FLAGS_$(MODE))
LDFLAGS_ALL := $(NATIVE_FLAGS) $(MODE_FLAGS_$(MODE)) $(LDFLAGS_$(MODE)) $(LDFLAGS)
COMPILE = $(CC) $(CPPFLAGS_ALL) @$(BUILD)/libraries.cflags @$(BUILD)/hardening.cflags \
    -include lib/base/banned.h -MMD -MP
LINK = $(CC) $(CFLAGS_ALL) @$(BUILD)/hardening.cflags $(LDFLAGS_ALL) @$(BUILD)/hardening.ldflags

# The vector code is one source compiled once for each instruction set (lib/kernels/isa.h).
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

VECTOR_SOURCES := $(wildcard lib/kernels/vector*.c)
EXAMPLES := $(wildcard lib/examples/*.c)
XSMM_ABSENT := lib/kernels/gemm_xsmm$(if $(filter yes,$(XSMM)),_absent).c # the other one is built
AMX_ABSENT := lib/kernels/amx$(if $(filter x86_64,$(MACHINE)),$(if $(call accepted,-mamx-bf16),_absent)).c
# Nothing can be opened at run time by a static program, which has a C library of its own. For musl all are static.
CLOSED := $(filter static wasm,$(MODE))$(findstring musl,$(TARGET))
CAIRO_ABSENT := lib/figures/figure_cairo$(if $(CLOSED),,_absent).c
IMAGE_ABSENT := $(if $(CLOSED), \
    lib/base/dynamic.c lib/image/image_library.c \
    $(addprefix lib/image/image_file_,png.c jpeg.c webp.c) lib/input/sound_file.c, \
    lib/image/image_file_absent.c lib/input/sound_file_absent.c)
OTHER_SYSTEM := $(if $(filter wasm,$(MODE)),lib/base/system_linux.c cmd/line/ask_terminal.c cmd/line/interrupt.c, \
    $(wildcard lib/*/*_wasm.c cmd/*/*_wasm.c))
LIB_SOURCES := $(filter-out $(VECTOR_SOURCES) $(EXAMPLES) $(XSMM_ABSENT) $(AMX_ABSENT) \
    $(CAIRO_ABSENT) $(IMAGE_ABSENT) $(OTHER_SYSTEM),$(wildcard lib/*/*.c lib/*/*/*.c))
EMBEDDED := lib/base/unicode_tables.S lib/encode/colormap_tables.S lib/page/page_files.S \
    lib/tokenizer/unicode/unicode_tables.S
LIB_OBJECTS := $(LIB_SOURCES:%.c=$(BUILD)/%.o) \
    $(if $(filter wasm,$(MODE)),,$(BUILD)/lib/model/builtin_files.o) \
    $(EMBEDDED:%.S=$(BUILD)/%.o) \
    $(foreach isa,$(ISAS),$(VECTOR_SOURCES:%.c=$(BUILD)/%_$(isa).o))
CMD_SOURCES := $(filter-out $(OTHER_SYSTEM),$(wildcard cmd/*.c cmd/*/*.c))
MODEL_FILES := $(wildcard models/*/*.*) # folders, like that of a training, have no dot
SHARED_FILES := $(MODEL_FILES) $(wildcard data/experiments/*.csv data/experiments/*.jsonl data/microgpt/*.* data/stories/*.json)
PAGE_FILES := $(wildcard lib/page/*.js lib/page/*.css lib/page/*.html)
CMD_OBJECTS := $(CMD_SOURCES:%.c=$(BUILD)/%.o)
SUPPORT_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/support/*.c))
UNIT_TESTS := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/unit/test_*.c))
# The suites that start threads: ThreadSanitizer runs these alone.
THREADED_TESTS := $(filter $(addprefix $(BUILD)/tests/unit/test_,base_pool% base_pieces% \
    many output_threads% session% run),$(UNIT_TESTS))
BROWSER_TESTS := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/browser/test_*.c))
BROWSER_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/browser/*.c))
TEST_OBJECTS := $(SUPPORT_OBJECTS) $(UNIT_TESTS:=.o) $(BROWSER_OBJECTS)
OBJECTS := $(LIB_OBJECTS) $(CMD_OBJECTS) $(TEST_OBJECTS) $(EXAMPLES:%.c=$(BUILD)/%.o)
ifneq ($(MODE),wasm)
OBJECTS += $(patsubst %.c,$(BUILD)/%.o,$(wildcard .packaging/wheel/*.c))
endif

# Fuzz targets: with libFuzzer in MODE=fuzz, else with a main() that replays their corpora.
FUZZ_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/fuzz/*.c))
FUZZERS := $(patsubst %.o,%,$(filter $(BUILD)/tests/fuzz/fuzz_%,$(FUZZ_OBJECTS)))
FUZZ_SHARED := $(addprefix $(BUILD)/tests/fuzz/,fuzz.o tiny_bpe.o \
    $(if $(filter fuzz,$(MODE)),,replay.o))
OBJECTS += $(FUZZ_OBJECTS)

# What reads the command line hands failures to these.
REPORT_OBJECTS := cmd/line/report.o cmd/line/field_names.o cmd/line/interrupt.o cmd/line/progress.o

# Inputs that programs make who know the formats: tests/torture/adversary.sh.
ADVERSARY := $(BUILD)/tests/adversary/adversary
ADVERSARY_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/adversary/*.c))
OBJECTS += $(ADVERSARY_OBJECTS)

CONFORMANCE := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/conformance/*.c))
OBJECTS += $(CONFORMANCE:=.o)

BENCH_COLD := $(BUILD)/tests/bench/cold_products
BENCH_PARTS := $(BUILD)/tests/bench/bench_parts
BENCH_PARTS_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/bench/parts/*.c))
OBJECTS += $(BENCH_COLD).o $(BENCH_PARTS_OBJECTS)

# V=1 shows the commands instead of their short form.
say = $(if $(V),,@printf '  %-4s %s\n' $(1) $(@:$(BUILD)/%=%);)

all: $(BUILD)/attn-cli $(BUILD)/libattn.a $(BUILD)/libattn.so ## build the tool and the libraries
	@:

# --- Compiling and linking ----------------------------------------------------------------------

FLAGS := $(strip $(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) $(foreach isa,$(ISAS),$(ISA_FLAGS_$(isa))) $(VERSION) XSMM=$(XSMM))
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

$(BUILD)/check.cflags: tests/tools/dependencies.sh
	@tests/tools/dependencies.sh find $(BUILD)/check check

$(OBJECTS): $(BUILD)/flags $(BUILD)/libraries.cflags $(BUILD)/hardening.cflags
$(TEST_OBJECTS): $(BUILD)/check.cflags
$(TEST_OBJECTS): CPPFLAGS_ALL += @$(BUILD)/check.cflags

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC)$(COMPILE) $(CFLAGS_ALL) -c $< -o $@

# `attn-cli --version` names the commit, which git writes into archives. attn.wasm depends on the sources alone.
COMMIT := $(if $(filter-out wasm,$(MODE)),$(shell grep -o '^[0-9a-f]\{12\}' .packaging/commit || git rev-parse --short=12 HEAD 2>/dev/null))
ifneq ($(COMMIT),$(strip $(file <$(BUILD)/commit)))
.PHONY: $(BUILD)/commit
endif
$(BUILD)/commit:
	@mkdir -p $(@D)
	@echo $(COMMIT) >$@
$(BUILD)/cmd/main.o: $(BUILD)/commit
$(addprefix $(BUILD)/cmd/main.,o tidy tidy-fast analyzed): CPPFLAGS_ALL += -DATTN_COMMIT='"$(COMMIT:%=, commit %)"'

# Examples include <attn/attn.h>, as programs do that use an installed library.
EXAMPLE_INCLUDES := -I$(BUILD)/include
$(EXAMPLES:%.c=$(BUILD)/%.o): CPPFLAGS_ALL += $(EXAMPLE_INCLUDES)
$(EXAMPLES:%.c=$(BUILD)/%.o): | $(BUILD)/include/attn
$(BUILD)/include/attn:
	@mkdir -p $(@D) && ln -sfn "$(CURDIR)/lib" $@

define isa_rule
$(BUILD)/%_$(1).o: %.c
	@mkdir -p $$(@D)
	$$(call say,CC)$$(COMPILE) $$(CFLAGS_ALL:-O2=-O3) $$(ISA_FLAGS_$(1)) $$(FLAGS_$$(notdir $$*)) \
	    -DATTN_ISA=$(1) -c $$< -o $$@
endef
$(foreach isa,$(ISAS),$(eval $(call isa_rule,$(isa))))

# They hold files (.incbin), which -MMD does not see: the built-in models, colors, characters, and the
# page of --html with the policies of its scripts and styles.
$(BUILD)/lib/model/builtin_files.o: $(MODEL_FILES)
$(BUILD)/lib/encode/colormap_tables.o: $(wildcard lib/encode/*.bin)
$(BUILD)/lib/base/unicode_tables.o: $(wildcard lib/base/unicode/*.bin)
$(BUILD)/lib/tokenizer/unicode/unicode_tables.o: $(wildcard lib/tokenizer/unicode/tables/*.bin)
BARE_FILES := $(patsubst %.js,$(BUILD)/%.bare.js,$(wildcard lib/page/*.js))
POLICIES := $(patsubst %,$(BUILD)/lib/page/%.policy,viewer figure more live)
$(BUILD)/lib/page/page_files.o: $(PAGE_FILES) $(BARE_FILES) $(POLICIES)
$(BUILD)/%.o: %.S
	@mkdir -p $(@D)
	$(call say,AS)$(CC) $(CPPFLAGS_ALL) -fPIC -Wa,--noexecstack,-I$(BUILD) -MMD -MP -c $< -o $@

# Scripts stand in pages, and in attn.wasm, without their lines of comment.
$(BARE_FILES): $(BUILD)/%.bare.js: %.js
	@mkdir -p $(@D)
	$(call say,GEN)sed -E '/^ *\/\/( |$$)/d' $< >$@

# Policies are hashes of the scripts and styles of a page.
bare = $(foreach part,$(1),$(BUILD)/lib/page/$(part).bare.js)
styles = $(foreach part,$(1),lib/page/$(part).css)
$(POLICIES): $(BUILD)/lib/page/%.policy: tests/tools/page_policy.sh $(PAGE_FILES) $(BARE_FILES)
	@mkdir -p $(@D)
	$(call say,GEN)$< $(POLICY_$*) >$@
POLICY_viewer = $(call bare,shared viewer) $(call styles,viewer)
POLICY_figure = $(call styles,figure)
LIVE_PARTS := viewer experiment picture neurons live stage life
POLICY_live = --live $(call bare,$(LIVE_PARTS) shared story why) $(call styles,$(LIVE_PARTS))
MORE_PARTS := atlas examples experiment neurons picture viewer
POLICY_more = $(call bare,$(MORE_PARTS) shared gradients) $(call styles,$(MORE_PARTS))

$(BUILD)/libattn.a: $(LIB_OBJECTS)
	@rm -f $@
	$(call say,AR)$(AR) rcs $@ $^

VERSION_NODE := -Wl,--version-script=lib/libattn.map

# Only ATTN_API functions leave the shared library; libxsmm, a static archive, stays inside.
$(BUILD)/libattn.so: $(LIB_OBJECTS) lib/libattn.map | $(BUILD)/hardening.ldflags $(BUILD)/attn-cli.source
	$(call say,LD)$(LINK) -shared -Wl,-soname,$(SONAME) $(VERSION_NODE) -Wl,--exclude-libs,ALL \
	    $(if $(MODE_FLAGS_$(MODE)),,-Wl,-z,defs) $(LIB_OBJECTS) @$(BUILD)/libraries.libs -o $@

# The Python wheel has the library, stripped, and the tool within it: a small program finds and calls that. They need
# the C library alone, since the other libraries are linked from pinned sources. WHEEL=system takes those of the system,
# as packages of sources are built.
WHEEL ?= pinned
MODULE := $(BUILD)/module$(if $(filter system,$(WHEEL)),-system)
ifeq ($(PINNED)$(filter system,$(WHEEL)),)
WHEEL_LIBRARIES := $(MODULE)/libraries
$(WHEEL_LIBRARIES).libs: $(BUILD)/libraries.cflags $(PINS)
	@mkdir -p $(@D)
	@.packaging/libraries.sh $(WHEEL_LIBRARIES) $(LIBRARY_SOURCES)
	@tests/tools/dependencies.sh find $(WHEEL_LIBRARIES) pinned
else
WHEEL_LIBRARIES := $(BUILD)/libraries
$(WHEEL_LIBRARIES).libs: $(BUILD)/libraries.cflags
endif
module: $(MODULE)/attn/libattn.so $(MODULE)/bin/attn-cli
	@:
$(MODULE)/attn/libattn.so: $(LIB_OBJECTS) $(CMD_OBJECTS) $(BUILD)/.packaging/wheel/entry.o lib/libattn.map $(WHEEL_LIBRARIES).libs | $(BUILD)/hardening.ldflags
	@mkdir -p $(@D)
	$(call say,LD)$(LINK) -shared -s -Wl,-soname,$(SONAME) $(VERSION_NODE) $(if $(TARGET),,-Wl,--exclude-libs,ALL) -Wl,--as-needed \
	    $(if $(MODE_FLAGS_$(MODE)),,-Wl,-z,defs) $(filter %.o,$^) @$(WHEEL_LIBRARIES).libs -o $@
$(MODULE)/bin/attn-cli: $(BUILD)/.packaging/wheel/attn-cli.o | $(BUILD)/hardening.ldflags
	@mkdir -p $(@D)
	$(call say,LD)$(LINK) $(if $(TARGET),-dynamic) -pie -s -Wl,--as-needed $^ -ldl -o $@
# The tool alone, static where the C library is musl.
$(MODULE)/attn-cli: $(CMD_OBJECTS) $(BUILD)/libattn.a $(WHEEL_LIBRARIES).libs | $(BUILD)/hardening.ldflags
	@mkdir -p $(@D)
	$(call say,LD)$(LINK) -pie -s -Wl,--as-needed $(CMD_OBJECTS) $(BUILD)/libattn.a @$(WHEEL_LIBRARIES).libs -o $@
.PHONY: module

# It lies beside what is built and says where the sources are, whose models are found then. It is not installed.
$(BUILD)/attn-cli.source:
	@mkdir -p $(@D)
	@realpath --relative-to=$(@D) . >$@

$(BUILD)/attn-cli: $(CMD_OBJECTS) $(if $(filter asan,$(MODE)),$(BUILD)/tests/support/leaks.o) $(BUILD)/libattn.a | $(BUILD)/hardening.ldflags $(BUILD)/attn-cli.source
	$(call say,LD)$(LINK) $(if $(filter static,$(MODE)),,-pie) $^ @$(BUILD)/libraries.libs -o $@

# The tool as a WebAssembly module of WASI: for the page of --live, and any other that runs those.
$(BUILD)/attn.wasm: $(CMD_OBJECTS) $(LIB_OBJECTS) | $(BUILD)/hardening.ldflags
	$(call say,LD)$(LINK) $^ @$(BUILD)/libraries.libs -o $@

# One program has all unit tests and runs the file of its name. A single file that is asked for is linked alone: it does not
# wait for the others.
UNIT := $(BUILD)/tests/unit/all
$(UNIT): $(UNIT_TESTS:=.o)
	$(LINK_TESTS)
	@cd $(@D) && for name in $(notdir $(UNIT_TESTS)); do ln -sf all $$name; done
$(UNIT_TESTS): %: %.o
	$(LINK_TESTS)
$(BROWSER_TESTS): %: %.o $(BUILD)/tests/browser/browser.o
	$(LINK_TESTS)
$(UNIT) $(UNIT_TESTS) $(BROWSER_TESTS): $(SUPPORT_OBJECTS) $(BUILD)/libattn.a | $(BUILD)/hardening.ldflags
LINK_TESTS = $(call say,LD)$(LINK) $(filter %.o,$^) $(filter %.a,$^) @$(BUILD)/check.libs @$(BUILD)/libraries.libs -o $@

# Their models and arrays are unpacked where git ignores them.
FIXTURES := tests/fixtures/.unpacked
$(UNIT) $(UNIT_TESTS) $(FUZZERS) $(BROWSER_TESTS): | $(FIXTURES)
$(FIXTURES): $(wildcard tests/fixtures/*.tar tests/golden/*.tar)
	@tests/tools/fixtures.sh unpack

fixtures: ## keep the models and arrays of tests in their archives, after one was made
	@tests/tools/fixtures.sh pack
fixtures-check: $(FIXTURES)
	@tests/tools/fixtures.sh check
.PHONY: fixtures fixtures-check

# It looks at what the tool makes of the library's texts.
$(UNIT) $(BUILD)/tests/unit/test_cli_fields: $(filter-out %/main.o,$(CMD_OBJECTS))

# It runs the example that needs no library.
$(UNIT) $(BUILD)/tests/unit/test_one_layer: | $(BUILD)/lib/examples/one_layer
$(BUILD)/lib/examples/one_layer: %: %.o | $(BUILD)/hardening.ldflags
	$(call say,LD)$(LINK) $^ -lm -o $@

$(FUZZERS): %: %.o $(FUZZ_SHARED) $(BUILD)/libattn.a | $(BUILD)/hardening.ldflags
	$(call say,LD)$(LINK) $(if $(filter fuzz,$(MODE)),-fsanitize=fuzzer) $(filter %.o,$^) $(filter %.a,$^) @$(BUILD)/libraries.libs -o $@

$(CONFORMANCE) $(BENCH_COLD): %: %.o $(BUILD)/libattn.a | $(BUILD)/hardening.ldflags
	$(call say,LD)$(LINK) $^ @$(BUILD)/libraries.libs -o $@

$(BENCH_PARTS): $(BENCH_PARTS_OBJECTS) $(BUILD)/libattn.a | $(BUILD)/hardening.ldflags
	$(call say,LD)$(LINK) $^ @$(BUILD)/libraries.libs -o $@

$(ADVERSARY): $(ADVERSARY_OBJECTS) $(addprefix $(BUILD)/,tests/fuzz/fuzz.o tests/support/naughty.o libattn.a) | $(BUILD)/hardening.ldflags
	$(call say,LD)$(LINK) $^ @$(BUILD)/libraries.libs -o $@

# It reads the command line, which is no part of the library.
$(BUILD)/tests/fuzz/fuzz_options: $(addprefix $(BUILD)/,$(addprefix cmd/line/,options.o option.o settings.o defaults.o former.o) $(REPORT_OBJECTS))

# The one target with a mutator of its own, which calls libFuzzer.
ifeq ($(MODE),fuzz)
$(BUILD)/tests/fuzz/fuzz_safetensors: $(BUILD)/tests/fuzz/mutate_safetensors.o
endif

# Kernels parse nothing, and clang takes minutes for them with all of it.
ifeq ($(MODE),fuzz)
$(foreach isa,$(ISAS),$(VECTOR_SOURCES:%.c=$(BUILD)/%_$(isa).o)): CFLAGS_ALL += -fno-sanitize=undefined,fuzzer-no-link
endif

-include $(OBJECTS:.o=.d)

# --- Running and testing ------------------------------------------------------------------------
# run and test first install what is missing; only then is the rest of the graph looked at.

run: deps-build ## build, then show the attention of one sentence
	@$(MAKE) $(BUILD)/attn-cli
	@echo
	$(BUILD)/attn-cli run --sentence "Life is short, eat dessert first"
	@printf '%s\n' '' 'To call it as attn-cli, put it on the PATH of this shell, or install it into ~/.local/bin:' \
	    '  export PATH="$(CURDIR)/$(BUILD):$$PATH"' '  make install PREFIX="$$HOME/.local"' \
	    'attn-cli -h then lists the commands; cmd/manual is the manual.'

PARTS ?= unit corpora cli readme $(if $(filter release,$(MODE)),install) $(if $(filter release asan,$(MODE)),torture)
test: deps-test ## build, then run all tests, or those of PARTS='cli readme install'
	@$(MAKE) $(if $(filter unit corpora torture,$(PARTS)),tests,all)
	@$(if $(filter asan,$(MODE)),TORTURE_PARTS=adversary) tests/run.sh $(PARTS)

tests: all $(UNIT) $(FUZZERS) $(CONFORMANCE) $(ADVERSARY) $(if $(filter release,$(MODE)),$(BUILD)/tests/torture/failing_calls.so)
	@:

unit: tests ## run the unit tests; with TORTURE=full whole sweeps, of which make test takes a sample
	@tests/run.sh unit

corpora: tests ## run the fuzz targets over their corpora
	@tests/run.sh corpora

cli: tests ## run the tests of the command line
	@tests/run.sh cli

cli-refresh: tests ## take what the command line now says as expected (look at git diff)
	@tests/run_cli.sh --refresh

torture: tests ## fail every allocation and system call, fill devices, send signals: many minutes
	@TORTURE=full tests/run_torture.sh $(PART)

# For LD_PRELOAD: it replaces functions of the C library, so nothing of it may be hidden.
$(BUILD)/tests/torture/%.so: tests/torture/%.c tests/support/sealed_memory.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,LD)$(CC) $(CPPFLAGS_ALL) $(filter-out -fvisibility=hidden,$(CFLAGS_ALL)) -shared $(filter %.c,$^) -ldl -o $@

conformance: $(BUILD)/tests/conformance/json_suite ## judge the files of JSONTestSuite: make conformance DATA=FOLDER
	@$< $(wildcard $(DATA)/*.json)

valgrind: $(UNIT) ## run the unit tests under valgrind: many minutes
	@tests/run_valgrind.sh $(UNIT_TESTS)

check-python: all $(ADVERSARY) $(FIXTURES) ## open what is written with numpy, pandas, jq and unzip, and run the README's Python
	@PATH="$(abspath $(BUILD)):$$PATH" $(or $(PYTHON),python3) tests/tools/check_python.py $(BUILD)/python
	@PATH="$(abspath $(BUILD)):$$PATH" $(or $(PYTHON),python3) tests/tools/check_adversary.py $(ADVERSARY) $(BUILD)/judged
	@PATH="$(abspath $(BUILD)):$$PATH" $(or $(PYTHON),python3) tests/tools/check_gguf.py $(BUILD)/check_gguf
	@LIBATTN="$(abspath $(BUILD)/libattn.so)" $(or $(PYTHON),python3) tests/tools/check_tokenizers.py $(BUILD)/check_tokenizers
	@PATH="$(abspath $(BUILD)):$$PATH" $(or $(PYTHON),python3) tests/tools/check_study.py $(BUILD)/check_study
	@$(MAKE) check-ctypes check-module

check-compare: $(BUILD)/attn-cli ## compare fable with transformers (PYTHON names a python with torch and transformers)
	@$(PYTHON) data/recipes/compare.py --attn-cli $(BUILD)/attn-cli models/fable "The keys to the cabinet are on the table"

check-hooks: all ## compare edits by functions with hooks of torch (PYTHON names a python with torch and transformers)
	@LIBATTN="$(abspath $(BUILD)/libattn.so)" PYTHONPATH="$(abspath lib/python)" $(PYTHON) tests/tools/check_hooks.py

check-module: deps-python ## run the tests of the Python module attn (PYTHON names the python)
	@$(MAKE) all
	@ATTN_CLI="$(abspath $(BUILD)/attn-cli)" LIBATTN="$(abspath $(BUILD)/libattn.so)" PYTHONPATH="$(abspath lib/python)" \
	    $(or $(PYTHON),python3) -m unittest discover -s tests/python

check-question: all ## add a question to a copy of the library, in a file and a row, and ask it (PYTHON names the python)
	@PYTHON="$(or $(PYTHON),python3)" tests/tools/check_question.sh $(BUILD)

check-slurm: $(BUILD)/attn-cli ## run the recipe for Slurm on a Slurm of one node, on loopback: needs root
	@tests/engines/check_slurm.sh

check-parallel: $(BUILD)/attn-cli ## run the recipes for GNU parallel
	@tests/engines/check_parallel.sh

check-spark: $(BUILD)/attn-cli ## run those for Spark on two workers (PYTHON names a python with pyspark, pandas, pyarrow)
	@tests/engines/check_spark.sh $(or $(PYTHON),python3)

check-engines: $(BUILD)/attn-cli ## run those for Ray, Snakemake and Parquet (PYTHON names a python with ray[data], snakemake, pyarrow)
	@tests/engines/check_engines.sh $(or $(PYTHON),python3)

.PHONY: check-slurm check-parallel check-spark check-engines deps-engines

check-browser: ## look at the page of --html in Chromium; where there is none, say so
	@missing=$$(tests/tools/dependencies.sh missing browser); if [ -n "$$missing" ]; then \
	    echo "check-browser: skipped, $$missing is missing: make deps-browser installs it"; else \
	    $(MAKE) wasm && $(MAKE) $(BUILD)/attn-cli $(BROWSER_TESTS) && tests/run_unit.sh $(BROWSER_TESTS) && \
	    if command -v firefox-esr >/dev/null; then python3 tests/tools/check_firefox.py $(BUILD)/attn-cli; \
	    else echo 'check-browser: Firefox is skipped, firefox-esr is missing'; fi; fi

binding: ## make the Python binding, and what it takes structs for, from the public headers
	@$(or $(PYTHON),python3) lib/python/make_binding.py
	@$(MAKE) $(BUILD)/libattn.so
	@LIBATTN=$(BUILD)/libattn.so $(or $(PYTHON),python3) lib/python/make_questions.py

binding-check: $(BUILD)/libattn.so
	@command -v $(or $(PYTHON),python3) >/dev/null || { echo 'binding-check: skipped, there is no Python' && exit; }; \
	    $(or $(PYTHON),python3) lib/python/make_binding.py --check && \
	    LIBATTN=$(BUILD)/libattn.so $(or $(PYTHON),python3) lib/python/make_questions.py --check

check-ctypes: deps-python binding-check ## call all functions by Python, and let its example use libattn.so (PYTHON names the python)
	@tests/tools/check_calls.sh $(or $(PYTHON),python3)
	@$(MAKE) all
	@LIBATTN=$(BUILD)/libattn.so $(or $(PYTHON),python3) lib/examples/one_head.py \
	    models/tiny-gpt2 2.1 'The cat sat on the mat' | diff -u tests/install/one_head.out -

wheel: wasm ## build the Python wheel in build/release/wheel, or of a TARGET, and check it in an empty environment
	@rm -rf $(BUILD)/wheel
	@$(native) BUILD=$(BUILD) TARGET=$(TARGET) $(or $(PYTHON),python3) lib/python/build_wheel.py $(BUILD)/wheel
	@.packaging/licences.py check $(BUILD)/wheel/*.whl
	@$(if $(filter aarch64% %musl,$(TARGET)),:,tests/python/check_wheel.sh $(BUILD)/wheel/*.whl $(or $(PYTHON),python3))

wheel-any: wasm ## build the wheel for other systems, in build/wheel-any: the tool as WebAssembly, run by wasmtime
	@rm -rf build/wheel-any
	@$(MAKE) MODE=release TARGET= build/release/attn-cli
	@LICENCES=build/wasm/libraries/licences $(or $(PYTHON),python3) lib/python/build_wheel.py build/wheel-any any
	@.packaging/licences.py check build/wheel-any/*.whl
	@.packaging/check_any.sh build/wheel-any/*.whl $(or $(PYTHON),python3)

# glibc 2.28 is that of Debian 10 and RHEL 8; for musl the command is static.
WHEEL_TARGETS := x86_64-linux-gnu.2.28 aarch64-linux-gnu.2.28 x86_64-linux-musl aarch64-linux-musl
STATIC_TARGETS := aarch64-linux-musl # beside the one of this machine
check-targets: all ## build the wheels and archives for other systems, and run each there: needs root
	@tests/tools/dependencies.sh install wasm fresh targets
	@set -e; for target in $(WHEEL_TARGETS); do $(MAKE) wheel TARGET=$$target; done
	@set -e; for target in $(STATIC_TARGETS); do $(MAKE) static TARGET=$$target; done
	@.packaging/check_targets.sh $(foreach target,$(WHEEL_TARGETS),build/$(target)/wheel/*.whl) \
	    $(foreach target,$(STATIC_TARGETS),build/attn-cli-$(VERSION)-linux-$(firstword $(subst -, ,$(target))).tar.gz)

check-wheel: wheel ## test that wheel in Debian's SUITES, default trixie: needs root and debootstrap
	@.packaging/check_wheel.sh $(BUILD)/wheel/*.whl $(or $(SUITES),trixie)

.PHONY: completions wheel wheel-any check-targets check-wheel check-module

bench: all $(BENCH_PARTS) ## attn-cli beside PyTorch, ONNX Runtime, llama.cpp and numpy, as ratios (PYTHON names the python)
	@$(or $(PYTHON),python3) tests/bench/peers.py $(BUILD)/attn-cli $(or $(BENCH_FOLDER),$(BUILD)/bench) $(BENCH_ARGS)

bench-parts: $(BENCH_PARTS) ## the parts of a model, as shares of what the machine can do: BENCH_ARGS='--model DIR --parts product,write'
	@$< $(BENCH_ARGS)

bench-cold: $(BENCH_COLD) ## products with cold weights, by libxsmm and by our own loop: BENCH_ARGS='THREADS ROUNDS'
	@$< $(BENCH_ARGS)

bench-wasm: deps-node ## attn.wasm under node beside the binary without FMA, as ratios: BENCH_ARGS=ROUNDS
	@$(MAKE) wasm
	@$(MAKE) $(BUILD)/attn-cli
	@node tests/bench/wasm.mjs $(WASM_MODULE) $(BUILD)/attn-cli $(BENCH_ARGS)

check-bench: deps-node ## every target bench* and script of tests/bench once, small: that it still runs (PYTHON names the python)
	@$(MAKE) wasm
	@$(MAKE) all $(BENCH_COLD) $(BENCH_PARTS)
	@tests/bench/small.sh $(PYTHON)

probes: $(BUILD)/attn-cli ## ask a model for the next words of data/probes: make probes MODEL=models/fable
	@PATH="$(abspath $(BUILD)):$$PATH" data/probes/run.sh $(or $(MODEL),models/fable)
	@echo
	@PATH="$(abspath $(BUILD)):$$PATH" data/probes/look.sh $(or $(MODEL),models/fable) data/probes/heads.tsv

translations: $(BUILD)/attn-cli ## let models/interpreter translate 500 unseen sentences, and look where its heads look
	@PATH="$(abspath $(BUILD)):$$PATH" data/probes/translate.sh models/interpreter data/probes/interpreter.tsv \
	    1.0 written 3.0 writing

# With -flto gcc sees from one source into another, and warns of more.
compilers: clang ## compile with clang, build with -flto and without libxsmm, without a warning
	@$(MAKE) WERROR=yes BUILD=build/without-xsmm XSMM=no all
	@$(MAKE) WERROR=yes BUILD=build/lto CFLAGS='$(CFLAGS) -flto=auto' all

clang: deps-clang
	@$(MAKE) WERROR=yes BUILD=build/clang CC=$(CLANG) objects

objects: $(OBJECTS)
	@:

# For 64-bit ARM, in build/aarch64, by Debian's cross compiler.
ARM_MAKE = PKG_CONFIG_LIBDIR=/usr/lib/aarch64-linux-gnu/pkgconfig $(MAKE) BUILD=build/aarch64 \
    CC=aarch64-linux-gnu-gcc AR=aarch64-linux-gnu-ar XSMM=no

check-aarch64: ## build for 64-bit ARM, run its tests under qemu-user, compare its bits with ours (Debian), or a part: ARM_PARTS=binding
	@tests/tools/dependencies.sh install build test aarch64
	@$(MAKE) all
	+@$(ARM_MAKE) all $(if $(filter-out products bits binding,$(or $(ARM_PARTS),unit)),tests)
	@tests/tools/check_aarch64.sh build/aarch64 $(BUILD) $(ARM_PARTS)

.PHONY: check-aarch64

test-threaded: $(THREADED_TESTS)
	@$(if $^,tests/run_unit.sh $^,:)

check-same-bits: $(BUILD)/attn-cli ## compare what the tool writes with sums that hold for every compiler and system
	@tests/tools/same_bits.sh $(BUILD)/attn-cli

.PHONY: check-same-bits

check: ## what must hold before a change lands: lint, tests, both compilers, tests under sanitizers
	@$(MAKE) lint
	@$(MAKE) test
	@$(MAKE) compilers
	@$(MAKE) check-sanitized

check-sanitized: ## run the tests under ASan and UBSan, the threaded ones under TSan
	@$(MAKE) MODE=tsan test-threaded
	@$(MAKE) MODE=asan test

coverage: ## run the tests and tell which part of each source they executed
	@rm -f $$(find build/coverage -name '*.gcda' 2>/dev/null)
	@$(MAKE) MODE=coverage test
	@BUILD=build/coverage tests/tools/coverage.sh

# --- Fuzzing ------------------------------------------------------------------------------------

fuzz: deps-fuzz ## look for inputs that break a target: make fuzz T=json TIME=60 (seconds)
	@$(MAKE) MODE=fuzz fuzzers
	@tests/tools/fuzz.sh run "$(T)" -max_total_time=$(or $(TIME),60)

fuzz-smoke: deps-fuzz ## run each target, or those of T, a million times
	@$(MAKE) MODE=fuzz fuzzers
	@tests/tools/fuzz.sh run "$(T)" -runs=1000000

fuzz-minimize: deps-fuzz ## keep the smallest corpora that reach what all found inputs reach
	@$(MAKE) MODE=fuzz fuzzers
	@tests/tools/fuzz.sh minimize "$(T)"

fuzzers: $(FUZZERS)
	@:

.PHONY: corpora fuzz fuzz-smoke fuzz-minimize fuzzers deps-fuzz

# --- Lint ---------------------------------------------------------------------------------------

SOURCES := $(wildcard $(addsuffix .[ch],lib/* lib/*/* lib/*/*/* cmd/* cmd/*/* tests/*/* .packaging/wheel/*))
# one_layer.c prints arrays of rows as numbers in a row, which the analyzer takes for going beyond the first.
# ANALYZER=no: without clang's analyzer of paths, which takes nine tenths of the time.
TIDIED := tidy$(if $(filter no,$(ANALYZER)),-fast)
TIDY := $(patsubst %.c,$(BUILD)/%.$(TIDIED),$(LIB_SOURCES) $(CMD_SOURCES) $(VECTOR_SOURCES) \
    $(filter-out %/one_layer.c,$(EXAMPLES)))

quick: deps-lint ## check what changed since COMMIT, default HEAD, in some seconds: format, layers, clang-tidy, tests
	@tests/tools/quick.sh $(COMMIT)

hooks: ## let git check the form of commit messages
	@mkdir -p "$$(git rev-parse --git-path hooks)"
	@ln -sf "$(CURDIR)/tests/tools/commit_msg.sh" "$$(git rev-parse --git-path hooks)/commit-msg"

lint: deps-lint ## check layers, symbols, headers, hardening, format, and run clang-tidy
	@$(MAKE) -k -O budget layers symbols headers hardening links facts homes-check reference-check format-check binding-check fixtures-check abi-check tidy
	@echo 'lint: nothing found'

budget: ## compare the lines of each room with tests/budget
	@tests/tools/check_budget.sh

layers: $(LIB_OBJECTS) $(CMD_OBJECTS) ## check which file may use what (the layers), and which defines what
	@tests/tools/check_layers.sh $(LIB_OBJECTS)
	@tests/tools/check_libm.sh $(LIB_OBJECTS) $(CMD_OBJECTS)
	@tests/tools/check_cairo.sh
	@tests/tools/check_namesakes.sh

symbols: $(BUILD)/libattn.so $(BUILD)/libattn.a ## check what the library exports
	@tests/tools/check_symbols.sh

headers: $(BUILD)/libattn.so ## check that every header stands alone, and that examples in public ones compile
	@tests/tools/check_headers.sh
	@tests/tools/check_examples.sh

hardening: $(BUILD)/attn-cli $(BUILD)/libattn.so ## check that what is built is protected
	@tests/tools/check_hardening.sh

abi-check: ## compare attn.h with the ABI of the last release, if abidiff is there
	@tests/tools/check_abi.sh

abi: ## keep the ABI of a new version, which later versions with its ATTN_ABI are compared with
	@tests/tools/check_abi.sh --keep

gallery: all ## renew the pictures of the manual's gallery, and write build/gallery.html
	@tests/tools/make_gallery.sh

reference: $(BUILD)/attn-cli ## write the help of all commands and topics into the manual
	@tests/tools/make_reference.sh

reference-check: $(BUILD)/attn-cli
	@tests/tools/make_reference.sh --check

site: ## make build/site: the manual and all other Markdown files as HTML, with pandoc
	@tests/tools/make_site.sh

links: ## check relative links of the Markdown files, and the length of the manual's
	@tests/tools/check_links.sh

format: ## rewrite the sources as .clang-format says
	@clang-format -i $(SOURCES)

# clang-format wraps no comment that begins after code.
format-check:
	@clang-format --dry-run -Werror $(SOURCES)
	@tests/tools/check_comments.sh $(SOURCES)
	@! awk 'length > 100 { print FILENAME ":" FNR ": " length " columns, expected at most 100" }' \
	    $(filter lib/% cmd/% .packaging/%,$(SOURCES)) | grep .

# A test holds for every user. check_fresh.sh makes users.
homes-check:
	@! grep -rnE '(^|[^A-Za-z0-9_])/(root\>|home/)' tests --include='*.test' --include='*.sh' --include='*.[ch]' \
	    --include='*.py' --exclude=check_fresh.sh || { echo 'expected no home of a user in tests' && false; }

# A stamp for each source; it depends on the object, and so on every header that the object does.
tidy: $(TIDY) ## run clang-tidy, with ANALYZER=no without its analyzer of paths
	@:

$(BUILD)/%.$(TIDIED): $(BUILD)/%.o .clang-tidy
	$(call say,TIDY)ANALYZER=$(ANALYZER) tests/tools/tidy.sh $*.c $(CPPFLAGS_ALL) $(EXAMPLE_INCLUDES) $$(cat $(BUILD)/libraries.cflags) -std=c11
	@touch $@

TIDY_ISA := $(word 2,$(ISAS) $(ISAS))
$(VECTOR_SOURCES:%.c=$(BUILD)/%.$(TIDIED)): $(BUILD)/%.$(TIDIED): $(BUILD)/%_$(TIDY_ISA).o .clang-tidy
	$(call say,TIDY)ANALYZER=$(ANALYZER) tests/tools/tidy.sh $*.c $(CPPFLAGS_ALL) $(ISA_FLAGS_$(TIDY_ISA)) -DATTN_ISA=$(TIDY_ISA) -std=c11
	@touch $@

# Paths through one function at a time, also the unlikely ones; gcc only.
ANALYZED := $(patsubst %.c,$(BUILD)/%.analyzed,$(LIB_SOURCES) $(CMD_SOURCES))

# What gcc 12 cannot see: a list of arguments hangs in the caller's struct, by its offset; an option
# that takes a value has got one.
ANALYZER_cmd/line/options := -Wno-analyzer-malloc-leak -Wno-analyzer-null-argument

analyze: $(ANALYZED) ## run gcc -fanalyzer
	@echo 'analyze: nothing found'

$(BUILD)/%.analyzed: $(BUILD)/%.o
	$(call say,ANLZ)$(filter-out -MMD -MP,$(COMPILE)) $(CFLAGS_ALL) -Werror -fanalyzer $(ANALYZER_$*) \
	    -c $*.c -o /dev/null
	@touch $@

# --- Installing ---------------------------------------------------------------------------------

PUBLIC_HEADERS := extra.h base/api.h $(shell sed -nE 's/^\#include "([^"]+)".*/\1/p' lib/attn.h lib/extra.h)
COMPLETIONS := $(addprefix $(BUILD)/completion.,bash zsh fish)
BASH_COMPLETION := share/bash-completion/completions/attn-cli
ZSH_COMPLETION := share/zsh/site-functions/_attn-cli
FISH_COMPLETION := share/fish/vendor_completions.d/attn-cli.fish
place := $(DESTDIR)$(abspath $(PREFIX))
lib_place := $(DESTDIR)$(abspath $(LIBDIR))
prefix_word := $${prefix}
STRIP ?= $(if $(filter %-gcc,$(CC)),$(CC:%-gcc=%-strip),strip)
copy := install -D -m 644 # folders that it makes are 755

# The commands below and attn.pc take the path as it is.
SPECIAL := ' " ` \ $$ & | ; < > ( ) * ? [ ] { } ! \#
ifneq ($(filter install install-debug uninstall,$(MAKECMDGOALS)),)
ifneq ($(words x$(place)$(lib_place)x $(foreach mark,$(SPECIAL),$(findstring $(mark),$(place)$(lib_place)))),1)
$(error DESTDIR is '$(DESTDIR)', PREFIX '$(PREFIX)' and LIBDIR '$(LIBDIR)', expected neither white space nor any of $(SPECIAL))
endif
endif

completions: $(COMPLETIONS)
man: $(BUILD)/attn-cli.1 ## make the manual page, build/release/attn-cli.1

$(BUILD)/attn-cli.1: $(BUILD)/attn-cli
	$(call say,MAN)$< help --man >$@

$(COMPLETIONS): $(BUILD)/completion.%: $(BUILD)/attn-cli
	$(call say,GEN)$< completion $* >$@

install: all man $(COMPLETIONS) ## install tool, library, manual, completions, models and, if new, attn.wasm below PREFIX
	@install -D $(BUILD)/attn-cli $(place)/bin/attn-cli
	@$(copy) $(BUILD)/libattn.a $(lib_place)/libattn.a
	@$(copy) $(BUILD)/libattn.so $(lib_place)/libattn.so.$(VERSION)
	@$(STRIP) $(place)/bin/attn-cli $(lib_place)/libattn.so.$(VERSION)
	@$(STRIP) --strip-debug $(lib_place)/libattn.a
	@ln -sf libattn.so.$(VERSION) $(lib_place)/$(SONAME)
	@ln -sf $(SONAME) $(lib_place)/libattn.so
	@set -e; for file in $(PUBLIC_HEADERS); do $(copy) lib/$$file $(place)/include/attn/$$file; done
	@sed -i -E -e 's|^(#include) "([^"]+)"|\1 <attn/\2>|' $(addprefix $(place)/include/attn/,$(PUBLIC_HEADERS))
	@$(copy) lib/attn.pc.in $(lib_place)/pkgconfig/attn.pc
	@sed -i -e 's|@PREFIX@|$(abspath $(PREFIX))|' \
	    -e 's|@LIBDIR@|$(patsubst $(abspath $(PREFIX))/%,$(prefix_word)/%,$(abspath $(LIBDIR)))|' -e 's|@VERSION@|$(TILDE_VERSION)|' \
	    -e "s|@LIBRARIES@|$$(cat $(BUILD)/libraries.libs)|" -e 's|-L$(BUILD)/libraries|-L$${libdir}/attn|' $(lib_place)/pkgconfig/attn.pc
	@set -e; ! grep -qF 'libdir}/attn' $(lib_place)/pkgconfig/attn.pc || \
	    for file in $(BUILD)/libraries/lib*.a; do $(copy) $$file $(lib_place)/attn/$${file##*/}; done
	@$(copy) $(BUILD)/attn-cli.1 $(place)/share/man/man1/attn-cli.1
	@$(copy) $(BUILD)/completion.bash $(place)/$(BASH_COMPLETION)
	@$(copy) $(BUILD)/completion.zsh $(place)/$(ZSH_COMPLETION)
	@$(copy) $(BUILD)/completion.fish $(place)/$(FISH_COMPLETION)
	@set -e; for file in $(SHARED_FILES); do $(copy) $$file $(place)/share/attn-cli/$$file; done
	@set -e; case "$$(tests/tools/wasm_age.sh)" in new) $(copy) $(WASM_MODULE) $(place)/share/attn-cli/attn.wasm ;; \
	    old) echo '$(WASM_MODULE) is older than the sources, and left out: make wasm' >&2 ;; esac
	@echo 'attn-cli $(VERSION) is in $(place)'
	@$(if $(DESTDIR),:,.packaging/exports.sh '$(abspath $(PREFIX))' '$(lib_place)' '$(SONAME)')

install-debug: ## install the same with symbols for a debugger: ten times as large
	@$(MAKE) install STRIP=:

uninstall: ## remove what install has put there
	rm -rf $(place)/include/attn $(place)/share/attn-cli $(lib_place)/attn
	rm -f $(addprefix $(lib_place)/,libattn.a libattn.so $(SONAME) libattn.so.$(VERSION) \
	    pkgconfig/attn.pc) $(addprefix $(place)/,bin/attn-cli share/man/man1/attn-cli.1 \
	    $(BASH_COMPLETION) $(ZSH_COMPLETION) $(FISH_COMPLETION))
	@! cd $(place) 2>/dev/null || rmdir -p --ignore-fail-on-non-empty bin include share/man/man1 \
	    $(dir $(BASH_COMPLETION) $(ZSH_COMPLETION) $(FISH_COMPLETION)) \
	    $(patsubst $(place)/%,%,$(filter $(place)/%,$(lib_place)/pkgconfig)) 2>/dev/null || :
	@rmdir --ignore-fail-on-non-empty $(place) 2>/dev/null || :

# --- Packages -----------------------------------------------------------------------------------

SOURCE_ARCHIVE := build/attn-cli-$(VERSION).tar.gz
STATIC_ARCHIVE := build/attn-cli-$(VERSION)-linux-$(MACHINE).tar.gz

dist: ## make build/attn-cli-VERSION.tar.gz of what is committed: equal commits give equal bytes
	@mkdir -p build
	git -c tar.umask=022 archive --format=tar --prefix=attn-cli-$(VERSION)/ HEAD | gzip -n9 >$(SOURCE_ARCHIVE)

static: deps-build wasm ## make one file that needs no other, in build/attn-cli-VERSION-linux-x86_64.tar.gz, or of a TARGET with musl
ifeq ($(TARGET),)
	@$(MAKE) MODE=static build/static/attn-cli
	@.packaging/static.sh build/static/attn-cli build/static/libraries/licences $(WASM_MODULE) $(STATIC_ARCHIVE) $(MACHINE)
else
	@$(MAKE) $(BUILD)/module/attn-cli
	@$(native) $(MAKE) TARGET= BUILD=build/release build/release/attn-cli
	@TOOL=build/release/attn-cli STRIP=: .packaging/static.sh $(BUILD)/module/attn-cli $(BUILD)/libraries/licences \
	    $(WASM_MODULE) $(STATIC_ARCHIVE) $(MACHINE)
endif
	@.packaging/licences.py check $(STATIC_ARCHIVE)
	@ls -l $(STATIC_ARCHIVE)

check-static: ## run that file in an empty folder, and in Debian's SUITES: needs root
	@.packaging/check_static.sh $(STATIC_ARCHIVE) $(SUITES)

deb: dist ## make Debian packages in build/deb, and let lintian look at them
	@tests/tools/dependencies.sh install build test packages wasm
	@.packaging/deb.sh $(SOURCE_ARCHIVE) '$(TILDE_VERSION)' build/deb
	@lintian --fail-on error --suppress-tags initial-upload-closes-no-bugs build/deb/*.changes
	@ls build/deb/*.deb

check-container: static ## build the image of that file with buildah, and run it and the job of Kubernetes: needs root
	@tests/engines/check_container.sh $(STATIC_ARCHIVE) $(or $(PYTHON),python3)

check-deb: ## install, use, upgrade and remove these packages in a fresh Debian 12: needs root
	@.packaging/check_deb.sh build/deb '$(TILDE_VERSION)'

wasm: deps-wasm ## make build/wasm/attn.wasm, the tool for live pages and runtimes of WASI
	@$(native) $(MAKE) TARGET= MODE=wasm BUILD=build/wasm $(WASM_MODULE)
	@ls -l $(WASM_MODULE)

check-wasm: deps-node ## compare what that prints and writes with the binary, byte for byte; make it twice
	@$(MAKE) wasm
	@$(MAKE) $(BUILD)/attn-cli $(FIXTURES)
	@node tests/tools/check_wasm.mjs $(WASM_MODULE) $(BUILD)/attn-cli
	@tests/tools/check_wasm_bytes.sh $(WASM_MODULE)

check-reproducible: ## make PACKAGES twice in different folders and compare their bytes, default dist, wheel-any and static
	@tests/tools/check_reproducible.sh $(or $(PACKAGES),dist wheel-any static)

sdist: wasm ## make the source distribution of PyPI in build/sdist: what is built, with the sources of libraries and attn.wasm
	@rm -rf build/sdist && mkdir -p build/sdist
	@LICENCES=build/wasm/libraries/licences $(or $(PYTHON),python3) lib/python/build_wheel.py build/sdist sdist

check-sdist: sdist all ## build that without network, with and without libraries, for musl, in Debian's SUITES: needs root
	@.packaging/check_sdist.sh build/sdist/*.tar.gz $(or $(PYTHON),python3) $(SUITES)

check-lock: ## let uv lock and install from a folder with all wheels that are in build
	@.packaging/check_lock.sh $(or $(PYTHON),python3) $(wildcard build/*/wheel/*.whl) build/wheel-any/*.whl

ALL_PACKAGES := dist sdist static wheel-any deb $(WHEEL_TARGETS:%=wheel@%) $(STATIC_TARGETS:%=static@%)
made = $(wildcard build/attn-cli-$(VERSION)*.tar.gz build/sdist/*.tar.gz build/wheel-any/*.whl build/deb/*.deb build/*-*/wheel/*.whl)
packages: ## make all packages, or PACKAGES='dist static wheel@TARGET', SHA256SUMS, an SBOM and, with MINISIGN_KEY, a signature
	@set -e; for package in $(or $(PACKAGES),$(ALL_PACKAGES)); do \
	    case $$package in *@*) target=TARGET=$${package#*@} ;; *) target= ;; esac; $(MAKE) $${package%@*} $$target; done
	@$(MAKE) gather
gather:
	@LICENCES=build/wasm/libraries/licences .packaging/gather.sh $(VERSION) \
	    $(shell sed -nE 's/^\#define ATTN_VERSION_DATE "(.*)"$$/\1/p' lib/base/version.h) build/attn-cli-$(VERSION) $(made)

release: ## release what is committed: move CHANGELOG's entries, tag, make all packages, check and sign them (MINISIGN_KEY)
	@.packaging/release.sh

# No package of a release is made while the project has no address.
dist sdist static wheel wheel-any deb: | has-address
has-address:
	@.packaging/facts.sh require
facts:
	@.packaging/facts.sh agree

check-fresh: ## run README's make run and make test in Debian's SUITES, default bookworm: needs root
	@tests/tools/dependencies.sh install fresh
	@tests/tools/check_fresh.sh $(or $(SUITES),bookworm)

.PHONY: release packages gather sdist check-sdist check-lock has-address facts check-reproducible dist static check-static check-container deb check-deb wasm check-wasm check-fresh

# --- The rest -----------------------------------------------------------------------------------

deps: ## install what build, tests and lint need (Debian, Ubuntu)
	@tests/tools/dependencies.sh install build test optional draw pictures lint

deps-browser: ## install the browser of check-browser
	@tests/tools/dependencies.sh install browser

deps-engines: ## install Slurm and GNU parallel, for check-slurm and check-parallel
	@tests/tools/dependencies.sh install engines

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

deps-lint:
	@tests/tools/dependencies.sh install build test lint

deps-clang:
	@tests/tools/dependencies.sh install build test clang

deps-fuzz:
	@tests/tools/dependencies.sh install build clang
	@tests/tools/dependencies.sh install fuzz

deps-wasm:
	@$(native) tests/tools/dependencies.sh install build wasm

deps-node:
	@tests/tools/dependencies.sh install node

clean: ## remove everything that was made
	@tests/tools/fixtures.sh remove
	rm -rf build $$(find lib/python tests/python -name __pycache__)

help: ## list the targets
	@echo 'make [MODE=release|static|asan|tsan|coverage|fuzz|wasm] [V=1] [XSMM=no] [CC= CFLAGS= LDFLAGS=] TARGET'
	@grep -hE '^[a-z0-9-]+:.*## ' $(firstword $(MAKEFILE_LIST)) | \
	    sed -E 's/^([a-z0-9-]+):.*## (.*)/\1\t\2/' | expand -t 18

.PHONY: all run test tests unit cli cli-refresh bench bench-parts bench-cold bench-wasm check-bench check-python check-compare check-hooks check-ctypes binding binding-check probes translations test-threaded check \
    compilers clang objects check-sanitized torture conformance valgrind analyze coverage quick hooks lint budget layers symbols headers abi abi-check hardening links homes-check gallery reference reference-check site format format-check tidy man install install-debug uninstall deps \
    deps-build deps-test deps-draw deps-pictures deps-optional deps-lint deps-clang deps-python deps-wasm deps-node clean help
.SECONDARY:
.DELETE_ON_ERROR:
