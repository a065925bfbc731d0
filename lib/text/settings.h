/*
 * settings.h - what config.json says about the tokenizer:
 *
 *     "tokenizer": {"type": "word", "drop": ",.", "unk": "<unk>"}
 *
 * All of it may be absent. `type` is "word", "char" or "bpe"; `drop` are characters that are no
 * part of any word; `unk` is the token of unknown words. The last two are not for BPE.
 */
#ifndef ATTN_TEXT_SETTINGS_H
#define ATTN_TEXT_SETTINGS_H

#include "base/source.h"
#include "text/tokenizer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Initialize with = {0}; end with attn_settings_release. */
struct attn_settings {
    bool has_kind;
    enum attn_tokenizer_kind kind;
    uint32_t *drop; /* owns; [n_drop] code points */
    size_t n_drop;
    char *unk; /* owns; NULL when there is none */
};

enum attn_status attn_settings_read(struct attn_settings *settings,
                                    const struct attn_source *source, struct attn_error *err);
void attn_settings_release(struct attn_settings *settings);

/* The `type` of KIND: "word". */
const char *attn_settings_type(enum attn_tokenizer_kind kind);

/* Whether tokenizer_config.json, if there is one, has "add_prefix_space": true. */
enum attn_status attn_settings_read_prefix(const struct attn_source *source, bool *prefix,
                                           struct attn_error *err);

#endif
