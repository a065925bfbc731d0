# install.mk - what is installed below PREFIX, and removed.

PUBLIC_HEADERS := ask.h base/api.h $(sort $(shell sed -nE 's/^\#include "([^"]+)".*/\1/p' lib/attn.h lib/extra.h lib/ask.h))
home_of = $(firstword $(wildcard lib/$(1) lib/*/$(1)))
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
man: $(BUILD)/man/attn-cli.1 ## make the pages of the manual, build/release/man/attn-cli.1 and one for each command

$(BUILD)/man/attn-cli.1: $(BUILD)/attn-cli .packaging/man.sh
	$(call say,MAN).packaging/man.sh $< $(@D)

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
	@set -e; $(foreach file,$(PUBLIC_HEADERS),$(copy) $(call home_of,$(file)) $(place)/include/attn/$(file);)
	@sed -i -E -e 's|^(#include) "([^"]+)"|\1 <attn/\2>|' $(addprefix $(place)/include/attn/,$(PUBLIC_HEADERS))
	@$(copy) lib/attn.pc.in $(lib_place)/pkgconfig/attn.pc
	@sed -i -e 's|@PREFIX@|$(abspath $(PREFIX))|' \
	    -e 's|@LIBDIR@|$(patsubst $(abspath $(PREFIX))/%,$(prefix_word)/%,$(abspath $(LIBDIR)))|' -e 's|@VERSION@|$(TILDE_VERSION)|' \
	    -e "s|@LIBRARIES@|$$(cat $(BUILD)/libraries.libs)|" -e 's|-L$(BUILD)/libraries|-L$${libdir}/attn|' $(lib_place)/pkgconfig/attn.pc
	@set -e; ! grep -qF 'libdir}/attn' $(lib_place)/pkgconfig/attn.pc || \
	    for file in $(BUILD)/libraries/lib*.a; do $(copy) $$file $(lib_place)/attn/$${file##*/}; done
	@set -e; for file in $(BUILD)/man/*.1; do $(copy) $$file $(place)/share/man/man1/$${file##*/}; done
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
	    pkgconfig/attn.pc) $(addprefix $(place)/,bin/attn-cli share/man/man1/attn-cli.1 share/man/man1/attn-cli-*.1 \
	    $(BASH_COMPLETION) $(ZSH_COMPLETION) $(FISH_COMPLETION))
	@! cd $(place) 2>/dev/null || rmdir -p --ignore-fail-on-non-empty bin include share/man/man1 \
	    $(dir $(BASH_COMPLETION) $(ZSH_COMPLETION) $(FISH_COMPLETION)) \
	    $(patsubst $(place)/%,%,$(filter $(place)/%,$(lib_place)/pkgconfig)) 2>/dev/null || :
	@rmdir --ignore-fail-on-non-empty $(place) 2>/dev/null || :

.PHONY: completions man install install-debug uninstall
