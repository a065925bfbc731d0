# page.mk - what the page of --html holds: its files, and the policies of its scripts and styles.

PAGE_FILES := $(wildcard lib/views/page/*.js lib/views/page/*.css lib/views/page/*.html)
BARE_FILES := $(patsubst %.js,$(BUILD)/%.bare.js,$(wildcard lib/views/page/*.js)) \
    $(patsubst %.css,$(BUILD)/%.bare.css,$(wildcard lib/views/page/*.css))
POLICIES := $(patsubst %,$(BUILD)/lib/views/page/%.policy,viewer figure more live)
$(BUILD)/lib/views/page/page_files.o: $(PAGE_FILES) $(BARE_FILES) $(POLICIES)

# Scripts and styles stand in pages, and scripts in attn.wasm, without comments, blank lines and indentation. A template
# that spans lines would lose its own.
define strip_file
@mkdir -p $(@D)
@awk -F'`' 'NF && NF % 2 == 0 { print FILENAME ":" FNR ": a template spans lines"; exit 1 }' $<
$(call say,GEN)sed -E '/^ *(\/\/( .*)?|\/\*.*\*\/)?$$/d; s/^ +//' $< >$@
endef
$(BUILD)/%.bare.js: %.js lib/views/page/page.mk
	$(strip_file)
$(BUILD)/%.bare.css: %.css lib/views/page/page.mk
	$(strip_file)
	@sed -i -E 's/ *([{}]) */\1/g' $@

# Policies are hashes of the scripts and styles of a page.
bare = $(foreach part,$(1),$(BUILD)/lib/views/page/$(part).bare.js)
styles = $(foreach part,$(1),$(BUILD)/lib/views/page/$(part).bare.css)
$(POLICIES): $(BUILD)/lib/views/page/%.policy: tests/tools/page_policy.sh $(PAGE_FILES) $(BARE_FILES)
	@mkdir -p $(@D)
	$(call say,GEN)$< $(POLICY_$*) >$@
POLICY_viewer = $(call bare,shared map look viewer) $(call styles,viewer)
POLICY_figure = $(call styles,figure)
LIVE_PARTS := viewer question picture neurons live stage life
POLICY_live = --live $(call bare,$(LIVE_PARTS) shared map look pair like guess story why) $(call styles,$(LIVE_PARTS))
MORE_PARTS := atlas examples question neurons picture viewer
POLICY_more = $(call bare,$(MORE_PARTS) shared map look) $(call styles,$(MORE_PARTS))
