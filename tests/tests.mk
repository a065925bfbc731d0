# tests.mk - how tests are built and run, and what checks the sources. The Makefile includes it.

# What the user keeps is neither read nor written.
export ATTN_CLI_CACHE := off

SUPPORT_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/support/*.c))
UNIT_TESTS := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/unit/test_*.c))
# The suites that start threads: ThreadSanitizer runs these alone.
THREADED_TESTS := $(filter $(addprefix $(BUILD)/tests/unit/test_,base_pool% base_pieces% \
    many output_threads% session% run),$(UNIT_TESTS))
BROWSER_TESTS := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/browser/test_*.c))
BROWSER_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/browser/*.c))
TEST_OBJECTS := $(SUPPORT_OBJECTS) $(UNIT_TESTS:=.o) $(BROWSER_OBJECTS)
OBJECTS += $(TEST_OBJECTS)

# Fuzz targets: with libFuzzer in MODE=fuzz, else with a main() that replays their corpora.
FUZZ_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/fuzz/*.c))
FUZZERS := $(patsubst %.o,%,$(filter $(BUILD)/tests/fuzz/fuzz_%,$(FUZZ_OBJECTS)))
FUZZ_SHARED := $(addprefix $(BUILD)/tests/fuzz/,fuzz.o tiny_bpe.o \
    $(if $(filter fuzz,$(MODE)),,replay.o))
OBJECTS += $(FUZZ_OBJECTS)

# What reads the command line hands failures to these.
REPORT_OBJECTS := cmd/line/report.o cmd/line/field_names.o cmd/line/interrupt_posix.o cmd/line/progress.o

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

# --- Linking --------------------------------------------------------------------------------------

$(BUILD)/check.cflags: tests/tools/dependencies.sh
	@tests/tools/dependencies.sh find $(BUILD)/check check

$(TEST_OBJECTS): $(BUILD)/check.cflags
$(TEST_OBJECTS): CPPFLAGS_ALL += @$(BUILD)/check.cflags

# The calls of all public functions, with a pointer that is NULL.
$(BUILD)/tests/unit/public_calls.h: tests/tools/list_calls.sh tests/install/symbols lib/folders $(wildcard lib/*.h lib/*/*/*.h lib/*/*/*/*.h)
	@mkdir -p $(@D) && CC="$(CC)" tests/tools/list_calls.sh >$@
$(BUILD)/tests/unit/test_callers_mistakes.o: $(BUILD)/tests/unit/public_calls.h
$(BUILD)/tests/unit/test_callers_mistakes.%: CPPFLAGS_ALL += -I$(BUILD)

# One program has all unit tests and runs the file of its name. A single file that is asked for is linked alone: it does not
# wait for the others.
# The tests that tests/unit/core lists need lib/core alone: they are in a program of their own, linked with nothing else.
UNIT := $(BUILD)/tests/unit/all $(BUILD)/tests/unit/all_core
CORE_TESTS := $(addprefix $(BUILD)/tests/unit/,$(file <tests/unit/core))
$(BUILD)/tests/unit/all: $(addsuffix .o,$(filter-out $(CORE_TESTS),$(UNIT_TESTS)))
	$(LINK_TESTS)
	@cd $(@D) && for name in $(notdir $(filter-out $(CORE_TESTS),$(UNIT_TESTS))); do ln -sf all $$name; done
$(BUILD)/tests/unit/all_core: $(CORE_TESTS:=.o) $(BUILD)/tests/support/libsupport.a $(BUILD)/libattn-core.a | $(BUILD)/hardening.ldflags
	$(LINK_TESTS)
	@cd $(@D) && for name in $(notdir $(CORE_TESTS)); do ln -sf all_core $$name; done
$(BUILD)/tests/support/libsupport.a: $(SUPPORT_OBJECTS)
	@rm -f $@
	$(call say,AR)$(AR) rcs $@ $^
core: $(BUILD)/tests/unit/all_core
$(UNIT_TESTS): %: %.o
	$(LINK_TESTS)
$(BROWSER_TESTS): %: %.o $(BUILD)/tests/browser/browser.o
	$(LINK_TESTS)
$(BUILD)/tests/unit/all $(UNIT_TESTS) $(BROWSER_TESTS): $(SUPPORT_OBJECTS) $(BUILD)/libattn.a | $(BUILD)/hardening.ldflags
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
# It looks at what the tool makes of the library's texts.
$(BUILD)/tests/unit/all $(BUILD)/tests/unit/test_cli_fields: $(filter-out %/main.o,$(CMD_OBJECTS))

$(BUILD)/tests/unit/all $(BUILD)/tests/unit/test_bench: $(filter-out %/parts.o,$(BENCH_PARTS_OBJECTS))

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
$(BUILD)/tests/fuzz/fuzz_options: $(addprefix $(BUILD)/,$(addprefix cmd/line/,options.o option.o forms.o defaults.o) $(REPORT_OBJECTS))

# The one target with a mutator of its own, which calls libFuzzer.
ifeq ($(MODE),fuzz)
$(BUILD)/tests/fuzz/fuzz_safetensors: $(BUILD)/tests/fuzz/mutate_safetensors.o
endif

# Kernels parse nothing, and clang takes minutes for them with all of it.
ifeq ($(MODE),fuzz)
$(foreach isa,$(ISAS),$(VECTOR_SOURCES:%.c=$(BUILD)/%_$(isa).o)): CFLAGS_ALL += -fno-sanitize=undefined,fuzzer-no-link
endif

# --- Running --------------------------------------------------------------------------------------

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

# PUBLISHED names a folder that has the packages, in raw, or gets them: 650 MB.
PUBLISHED ?= $(BUILD)/published
check-published: $(BUILD)/attn-cli ## compare models of PyPI's packages with transformers (PUBLISHED=DIR keeps them)
	@PYTHON="$(or $(PYTHON),python3)" tests/tools/check_published.sh $< "$(PUBLISHED)"

check-python: all $(ADVERSARY) $(FIXTURES) ## open what is written with numpy, pandas, jq and unzip, and run the README's Python
	@PATH="$(abspath $(BUILD)):$$PATH" $(or $(PYTHON),python3) tests/tools/check_python.py $(BUILD)/python
	@PATH="$(abspath $(BUILD)):$$PATH" $(or $(PYTHON),python3) tests/tools/check_adversary.py $(ADVERSARY) $(BUILD)/judged
	@PATH="$(abspath $(BUILD)):$$PATH" $(or $(PYTHON),python3) tests/tools/check_gguf.py $(BUILD)/check_gguf
	@LIBATTN="$(abspath $(BUILD)/libattn.so)" $(or $(PYTHON),python3) tests/tools/check_tokenizers.py $(BUILD)/check_tokenizers
	@PATH="$(abspath $(BUILD)):$$PATH" $(or $(PYTHON),python3) tests/tools/check_study.py $(BUILD)/check_study
	@$(MAKE) check-ctypes check-module

check-compare: $(BUILD)/attn-cli ## compare fable with transformers (PYTHON names a python with torch and transformers)
	@$(PYTHON) data/recipes/compare.py --attn-cli $(BUILD)/attn-cli models/fable "The keys to the cabinet are on the table"

check-hooks: all ## compare edits with hooks of torch (PYTHON names a python with torch and transformers)
	@LIBATTN="$(abspath $(BUILD)/libattn.so)" PYTHONPATH="$(abspath lib/python)" $(PYTHON) tests/tools/check_hooks.py
	@mkdir -p $(BUILD)/stacks && tar xf tests/fixtures/stacks.tar -C $(BUILD)/stacks
	@$(PYTHON) tests/tools/check_encoder_edits.py $(BUILD)/stacks

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

check-engines: $(BUILD)/attn-cli ## run those for Ray and Parquet (PYTHON names a python with ray[data], pyarrow)
	@tests/engines/check_engines.sh $(or $(PYTHON),python3)

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

bench: all $(BENCH_PARTS) ## attn-cli beside PyTorch, ONNX Runtime, llama.cpp, as ratios (PYTHON names the python; PUBLISHED=DIR: with its models)
	@$(or $(PYTHON),python3) $(if $(filter command environment,$(origin PUBLISHED)),tests/bench/published.py $(BUILD)/attn-cli \
	    "$(PUBLISHED)"/models/*.gguf,tests/bench/peers.py $(BUILD)/attn-cli $(or $(BENCH_FOLDER),$(BUILD)/bench) $(BENCH_ARGS))

bench-parts: $(BENCH_PARTS) ## a model and its parts, as shares of what the machine can do: BENCH_ARGS='--model MODEL --parts prefill,decode'
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

check-same-files: $(BUILD)/attn-cli ## compare what the tool prints and writes with an earlier one's, byte for byte: OLD=BINARY
	@python3 tests/tools/same_files.py $(OLD) $(BUILD)/attn-cli

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

# --- Lint ---------------------------------------------------------------------------------------

SOURCES := $(wildcard $(addsuffix .[ch],lib/* lib/*/*/* lib/*/*/*/* cmd/* cmd/*/* tests/*/* .packaging/wheel/*))
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
	@$(MAKE) -k -O budget layers symbols headers hardening links facts check-notes homes-check format-check binding-check fixtures-check abi-check check-interface tidy
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
	@tests/tools/list_functions.sh >/dev/null

headers: $(BUILD)/libattn.so ## check that every header stands alone, and that examples in public ones compile
	@tests/tools/check_headers.sh
	@tests/tools/check_examples.sh

hardening: $(BUILD)/attn-cli $(BUILD)/libattn.so ## check that what is built is protected
	@tests/tools/check_hardening.sh

check-interface: deps-python all $(FIXTURES) ## compare commands, options, columns, keys of JSON and sites with tests/interface
	@python3 tests/tools/check_interface.py $(BUILD)/attn-cli

interface: deps-python all $(FIXTURES) ## keep them, after a change that CHANGELOG.md names
	@python3 tests/tools/check_interface.py $(BUILD)/attn-cli --keep

abi-check: ## compare attn.h with the ABI of the last release, if abidiff is there
	@tests/tools/check_abi.sh

abi: ## keep the ABI of a new version, which later versions with its ATTN_ABI are compared with
	@tests/tools/check_abi.sh --keep

gallery: all ## renew the pictures of the manual's gallery, and write build/gallery.html
	@tests/tools/make_gallery.sh

reference: $(BUILD)/attn-cli ## write the help of all commands and topics, and the functions of C, into build/reference
	@tests/tools/make_reference.sh

site: reference ## make build/site: the manual, the reference and all other Markdown files as HTML, with pandoc
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

# --- What tests need -------------------------------------------------------------------------------

deps-browser: ## install the browser of check-browser
	@tests/tools/dependencies.sh install browser

deps-engines: ## install Slurm and GNU parallel, for check-slurm and check-parallel
	@tests/tools/dependencies.sh install engines

deps-lint:
	@tests/tools/dependencies.sh install build test lint

deps-clang:
	@tests/tools/dependencies.sh install build test clang

deps-fuzz:
	@tests/tools/dependencies.sh install build clang
	@tests/tools/dependencies.sh install fuzz

deps-node:
	@tests/tools/dependencies.sh install node

.PHONY: tests unit cli cli-refresh bench bench-parts bench-cold bench-wasm check-bench check-published check-python \
    check-compare check-hooks check-ctypes check-module binding binding-check probes translations test-threaded check \
    compilers clang objects check-sanitized torture conformance valgrind analyze coverage quick hooks lint \
    budget layers symbols headers abi abi-check check-interface interface hardening links homes-check gallery reference \
    site format format-check tidy deps-lint deps-clang deps-node fixtures fixtures-check check-slurm \
    check-parallel check-spark check-engines deps-engines check-same-bits check-same-files corpora fuzz fuzz-smoke \
    fuzz-minimize fuzzers deps-fuzz
