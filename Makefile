# Makefile of attn-cli. `make help` lists what can be asked for.

MODE ?= release
BUILD := build/$(MODE)

CC ?= cc
CFLAGS ?= -O2 -g
PKG_CONFIG ?= pkg-config

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion \
    -Wdouble-promotion -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition \
    -Wpointer-arith -Wcast-qual -Wwrite-strings -Wformat=2 -Wundef -Wvla -Wimplicit-fallthrough
ifneq ($(wildcard .git),)
WARNINGS += -Werror
endif

CPPFLAGS_ALL := -D_GNU_SOURCE -Ilib -I. $(shell $(PKG_CONFIG) --cflags libcjson libpcre2-8) $(CPPFLAGS)
CFLAGS_ALL := -std=c11 -ffp-contract=off -fvisibility=hidden -fPIC -pthread $(WARNINGS) $(CFLAGS)
LIBS := -lxsmm -lxsmmnoblas $(shell $(PKG_CONFIG) --libs libcjson libpcre2-8) -lpthread -lrt -ldl -lm

ifeq ($(MODE),asan)
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
endif
ifeq ($(MODE),tsan)
SANITIZE := -fsanitize=thread
endif
ifeq ($(MODE),coverage)
SANITIZE := --coverage
endif
CFLAGS_ALL += $(SANITIZE)
LDFLAGS_ALL := -pthread $(SANITIZE) $(LDFLAGS)

# The vector code is one source compiled once for each instruction set (lib/kernels/isa.h).
ISAS := baseline avx2 avx512
ISA_FLAGS_baseline :=
ISA_FLAGS_avx2 := -mavx2 -mfma -mf16c
ISA_FLAGS_avx512 := -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mf16c -mprefer-vector-width=512

VECTOR_SOURCES := $(wildcard lib/kernels/vector*.c)
LIB_SOURCES := $(filter-out $(VECTOR_SOURCES),$(wildcard lib/*/*.c))
LIB_OBJECTS := $(LIB_SOURCES:%.c=$(BUILD)/%.o) \
    $(foreach isa,$(ISAS),$(VECTOR_SOURCES:%.c=$(BUILD)/%_$(isa).o))
CMD_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(wildcard cmd/*.c)) \
    $(patsubst %.S,$(BUILD)/%.o,$(wildcard cmd/*.S))
SUPPORT_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/support/*.c))
UNIT_TESTS := $(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%,$(wildcard tests/unit/test_*.c))

all: $(BUILD)/attn-cli ## build everything (build/release/attn-cli)

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -MMD -MP -c $< -o $@

$(BUILD)/%.o: %.S
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS_ALL) -fPIC -MMD -MP -c $< -o $@

define isa_rule
$(BUILD)/%_$(1).o: %.c
	@mkdir -p $$(@D)
	$$(CC) $$(CPPFLAGS_ALL) $$(CFLAGS_ALL) -O3 $$(ISA_FLAGS_$(1)) -DATTN_ISA=$(1) -MMD -MP -c $$< -o $$@
endef
$(foreach isa,$(ISAS),$(eval $(call isa_rule,$(isa))))

$(BUILD)/libattn.a: $(LIB_OBJECTS)
	@rm -f $@
	$(AR) rcs $@ $^

$(BUILD)/attn-cli: $(CMD_OBJECTS) $(BUILD)/libattn.a
	$(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL) $(CMD_OBJECTS) $(BUILD)/libattn.a $(LIBS) -o $@

$(BUILD)/tests/unit/%: $(BUILD)/tests/unit/%.o $(SUPPORT_OBJECTS) $(BUILD)/libattn.a
	$(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL) $< $(SUPPORT_OBJECTS) $(BUILD)/libattn.a \
	    $(shell $(PKG_CONFIG) --libs check) $(LIBS) -o $@

unit: $(UNIT_TESTS) ## run the unit tests
	@set -e; for t in $(UNIT_TESTS); do $$t; done

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort

.PHONY: all unit help
.SECONDARY:
-include $(LIB_OBJECTS:.o=.d) $(CMD_OBJECTS:.o=.d) $(SUPPORT_OBJECTS:.o=.d) $(UNIT_TESTS:=.d)
