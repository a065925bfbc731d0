# packages.mk - the Python wheel and module, archives, Debian packages, releases. The Makefile includes it.

ifneq ($(MODE),wasm)
OBJECTS += $(patsubst %.c,$(BUILD)/%.o,$(wildcard .packaging/wheel/*.c))
endif

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
# The names and flags of a shared library: version and names of libattn.so are of ELF.
LIBRARY_macos := libattn.dylib
LIBRARY_windows := attn.dll
LIBRARY := $(or $(LIBRARY_$(SYSTEM)),libattn.so)
LINK_NAME_linux = -Wl,-soname,$(SONAME) $(VERSION_NODE) $(if $(TARGET),,-Wl,--exclude-libs,ALL) $(if $(MODE_FLAGS_$(MODE)),,-Wl,-z,defs) $(LINK_NEEDED)
LINK_NAME_macos := -Wl,-install_name,@rpath/libattn.dylib
LINK_NAME_windows := -Wl,--out-implib,$(MODULE)/attn.lib
LINK_NEEDED := $(if $(filter linux,$(SYSTEM)),-Wl$(comma)--as-needed)
LINK_PIE := $(if $(filter linux,$(SYSTEM)),-pie)
module: $(MODULE)/attn/$(LIBRARY) $(MODULE)/bin/attn-cli$(EXE)
	@:
$(MODULE)/attn/$(LIBRARY): $(LIB_OBJECTS) $(CMD_OBJECTS) $(BUILD)/.packaging/wheel/entry.o lib/libattn.map $(WHEEL_LIBRARIES).libs | $(BUILD)/hardening.ldflags
	@mkdir -p $(@D)
	$(call say,LD)$(LINK) -shared -s $(LINK_NAME_$(SYSTEM)) $(filter %.o,$^) @$(WHEEL_LIBRARIES).libs $(LIBS_$(SYSTEM)) -o $@
$(MODULE)/bin/attn-cli$(EXE): $(BUILD)/.packaging/wheel/attn-cli$(if $(EXE),_windows).o | $(BUILD)/hardening.ldflags
	@mkdir -p $(@D)
	$(call say,LD)$(LINK) $(if $(filter linux,$(SYSTEM)),$(if $(TARGET),-dynamic)) $(LINK_PIE) -s $(LINK_NEEDED) $^ $(if $(filter linux,$(SYSTEM)),-ldl) -o $@
# The tool alone, static where the C library is musl.
$(MODULE)/attn-cli$(EXE): $(CMD_OBJECTS) $(BUILD)/libattn.a $(WHEEL_LIBRARIES).libs | $(BUILD)/hardening.ldflags
	@mkdir -p $(@D)
	$(call say,LD)$(LINK) $(LINK_PIE) -s $(LINK_NEEDED) $(CMD_OBJECTS) $(BUILD)/libattn.a @$(WHEEL_LIBRARIES).libs $(LIBS_$(SYSTEM)) -o $@
wheel: wasm ## build the Python wheel in build/release/wheel, or of a TARGET, and check it in an empty environment
	@rm -rf $(BUILD)/wheel
	@$(native) BUILD=$(BUILD) TARGET=$(TARGET) $(or $(PYTHON),python3) lib/python/build_wheel.py $(BUILD)/wheel
	@.packaging/licences.py check $(BUILD)/wheel/*.whl
	@$(if $(filter aarch64% %musl x86_64-windows% x86_64-macos%,$(TARGET)),:,tests/python/check_wheel.sh $(BUILD)/wheel/*.whl $(or $(PYTHON),python3))

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
	    $(foreach target,$(STATIC_TARGETS),build/attn-cli-$(PROGRAM_VERSION)-linux-$(firstword $(subst -, ,$(target))).tar.gz)

check-wheel: wheel ## test that wheel in Debian's SUITES, default trixie: needs root and debootstrap
	@.packaging/check_wheel.sh $(BUILD)/wheel/*.whl $(or $(SUITES),trixie)

SOURCE_ARCHIVE := build/attn-cli-$(PROGRAM_VERSION).tar.gz
MACHINE_NAME := $(if $(filter macos,$(SYSTEM)),$(MACHINE:aarch64=arm64),$(MACHINE))
STATIC_ARCHIVE := build/attn-cli-$(PROGRAM_VERSION)-$(SYSTEM)-$(MACHINE_NAME).$(if $(EXE),zip,tar.gz)

dist: ## make build/attn-cli-VERSION.tar.gz of what is committed, and -tests.tar.gz: equal commits give equal bytes
	@.packaging/dist.sh attn-cli-$(PROGRAM_VERSION) build

static: deps-build wasm ## make one file that needs no other, in build/attn-cli-VERSION-linux-x86_64.tar.gz, or of a TARGET with musl
ifeq ($(TARGET),)
	@$(MAKE) MODE=static build/static/attn-cli
	@.packaging/static.sh build/static/attn-cli build/static/libraries/licences $(WASM_MODULE) $(STATIC_ARCHIVE) Linux $(MACHINE)
else
	@$(MAKE) $(BUILD)/module/attn-cli$(EXE)
	@$(native) $(MAKE) TARGET= BUILD=build/release build/release/attn-cli
	@TOOL=build/release/attn-cli STRIP=: .packaging/static.sh $(BUILD)/module/attn-cli$(EXE) $(BUILD)/libraries/licences \
	    $(WASM_MODULE) $(STATIC_ARCHIVE) $(if $(filter linux,$(SYSTEM)),Linux,$(if $(EXE),Windows,macOS)) $(MACHINE_NAME)
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

check-container: static ## build the image of that file with buildah, and run it: needs root
	@tests/engines/check_container.sh $(STATIC_ARCHIVE)

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

# Windows and macOS: .ci/nightly runs or inspects these.
OTHER_TARGETS := x86_64-windows-gnu aarch64-macos.11.0 x86_64-macos.11.0
ALL_PACKAGES := dist sdist static wheel-any deb $(WHEEL_TARGETS:%=wheel@%) $(STATIC_TARGETS:%=static@%) \
    $(foreach target,$(OTHER_TARGETS),wheel@$(target) static@$(target))
made = $(wildcard build/attn-cli-$(PROGRAM_VERSION)*.tar.gz build/attn-cli-$(PROGRAM_VERSION)*.zip build/sdist/*.tar.gz build/wheel-any/*.whl build/deb/*.deb build/*-*/wheel/*.whl)
packages: ## make all packages, or PACKAGES='dist static wheel@TARGET', SHA256SUMS, an SBOM and, with MINISIGN_KEY, a signature
	@set -e; for package in $(or $(PACKAGES),$(ALL_PACKAGES)); do \
	    case $$package in *@*) target=TARGET=$${package#*@} ;; *) target= ;; esac; $(MAKE) $${package%@*} $$target; done
	@$(MAKE) gather
gather:
	@LICENCES=build/wasm/libraries/licences .packaging/gather.sh $(PROGRAM_VERSION) \
	    $(shell sed -nE 's/^\#define ATTN_VERSION_DATE "(.*)"$$/\1/p' lib/ground/base/version.h) build/attn-cli-$(PROGRAM_VERSION) $(made)

release: ## release what is committed: refuse what is not ready, tag, make all packages, check and sign them (MINISIGN_KEY)
	@.packaging/release.sh

# No package of a release is made while the project has no address.
dist sdist static wheel wheel-any deb: | has-address
has-address:
	@.packaging/facts.sh require
facts:
	@.packaging/facts.sh agree

check-notes: $(BUILD)/attn-cli ## run the commands of the next version's note, .packaging/notes/VERSION.md
	@.packaging/check_notes.sh $<

check-upgrade: all ## try with today's build what users of FROM have: a tag, a commit, a file; default: the newest of tests/former
	@BUILD=$(BUILD) tests/tools/check_upgrade.sh "$(FROM)" $(PACKAGE)

keep-former: all $(FIXTURES) ## keep what users of this version have, for check-upgrade: tests/former/VERSION.tar
	@BUILD=$(BUILD) tests/tools/check_upgrade.sh --keep

check-fresh: ## run README's make run and make test in Debian's SUITES, default bookworm: needs root
	@tests/tools/dependencies.sh install fresh
	@tests/tools/check_fresh.sh $(or $(SUITES),bookworm)

.PHONY: module wheel wheel-any check-targets check-wheel release packages gather sdist check-sdist check-lock \
    has-address facts check-notes check-upgrade keep-former check-reproducible dist static check-static check-container deb check-deb wasm \
    check-wasm check-fresh
