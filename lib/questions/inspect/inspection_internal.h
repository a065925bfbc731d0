/*
 * inspection_internal.h - tables of an inspection that have their own source files: differences
 * from GPT-2 (inspection_differences.c), and GGUF files (inspection_gguf.c).
 *
 *     puts(attn_gguf_mixture(gguf));                         // "Q4_K_M"
 *     attn_gguf_metadata_append(gguf, table, &err);          // llama.block_count, u32, 1, "22"
 *     attn_gguf_conversion_append(gguf, &form, table, &err); // q and k, "read in ..."
 */
#pragma once

#include "gguf/gguf.h"
#include "model/family.h"

/* Appends a row of two texts to TABLE for each field of CONFIG that differs from that of a GPT-2 of
 * its sizes: the name, and the value as a config is shown. */
enum attn_status attn_differences_append(const struct attn_config *config, struct attn_table *table,
                                         struct attn_error *err);

/* Returns the bytes of the state that layers without attention keep for a text. */
size_t attn_inspection_state_size(const struct attn_config *config);

/* Returns what LAYER mixes tokens with, a static word: "full", "window", "delta", "mlp", ... */
const char *attn_inspection_layer_kind(const struct attn_config *config, size_t layer);

/* Returns the static word of the scaling of ROPE. */
const char *attn_inspection_rope_type(const struct attn_rope *rope);

/* Appends a row of two texts for each run of equal layers: "attention 0-4", and its attention. */
enum attn_status attn_layers_append(const struct attn_config *config, struct attn_table *table,
                                    struct attn_error *err);

/* Returns the static name of the mixture with the number `general.file_type`. NULL if it has no
 * name, or if it contradicts the tensors: more than half of the values in matrices of blocks must
 * have the type in its name, or the type that replaces it if rows are not whole blocks. */
const char *attn_gguf_mixture(const struct attn_bundle *gguf);

/* Appends a row for each pair: key, type, n, value (missing for long arrays). */
enum attn_status attn_gguf_metadata_append(const struct attn_bundle *gguf, struct attn_table *table,
                                           struct attn_error *err);

/* Appends the differences between GGUF, for a model of CONFIG, and Hugging Face's files: part,
 * difference. */
enum attn_status attn_gguf_conversion_append(const struct attn_bundle *gguf,
                                             const struct attn_config *config,
                                             struct attn_table *table, struct attn_error *err);
