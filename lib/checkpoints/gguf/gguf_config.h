/*
 * gguf_config.h - converts the metadata of a GGUF file to the config.json that its family reads.
 *
 *     struct attn_buffer json = {0};
 *     attn_gguf_write_config(gguf, NULL, &json, &err);  // {"model_type": "llama", ...
 *
 * The keys are those of llama.cpp (src/llama-arch.cpp). Facts that only its code contains, such as
 * activations and the layers with windows, are in the rows of families (struct attn_gguf_form).
 */
#pragma once

#include "base/buffer.h"
#include "gguf/gguf.h"
#include "model/config_internal.h"

/* Names of the tensors with the divisors of rotary frequencies. */
#define ATTN_ROPE_SHORT "rope_factors_short.weight"
#define ATTN_ROPE_LONG "rope_factors_long.weight"
#define ATTN_ROPE_FREQS "rope_freqs.weight"

/* Writes the config.json for GGUF to JSON, with that of its tower for pictures, which PROJECTOR has
 * (tower_reader.h); NULL: it has none. Returns ATTN_UNSUPPORTED for an architecture, or a key
 * that requires a part, that this version lacks; ATTN_FORMAT for a key that is missing or wrong.
 * The message names it. */
enum attn_status attn_gguf_write_config(const struct attn_bundle *gguf,
                                        const struct attn_bundle *projector,
                                        struct attn_buffer *json, struct attn_error *err);

/* Adds facts to CONFIG, which was read from that text, that a config.json cannot contain: the 1 of
 * Gemma's norms is in the weights, and `rope_freqs.weight` divides frequencies. */
enum attn_status attn_gguf_finish_config(const struct attn_bundle *gguf, struct attn_config *config,
                                         struct attn_config_layers *layers, struct attn_error *err);
