/*
 * gguf_config.h - the metadata of a GGUF file as the config.json that its family reads.
 *
 *     struct attn_buffer json = {0};
 *     attn_gguf_write_config(gguf, &json, &err); // {"model_type": "llama", ...
 *
 * Keys are those of llama.cpp (src/llama-arch.cpp); facts that are only in its code, such as
 * activations and the layers with windows, are in the rows of families (struct attn_gguf_form).
 */
#ifndef ATTN_MODEL_GGUF_CONFIG_H
#define ATTN_MODEL_GGUF_CONFIG_H

#include "base/buffer.h"
#include "formats/gguf.h"
#include "model/config_internal.h"

/* The tensor of the numbers that divide the frequencies of rotary positions. */
#define ATTN_ROPE_SHORT "rope_factors_short.weight"
#define ATTN_ROPE_LONG "rope_factors_long.weight"
#define ATTN_ROPE_FREQS "rope_freqs.weight"

/* Writes the text of a config.json for GGUF. ATTN_UNSUPPORTED names an architecture, or a key that
 * requires a part, that this version lacks; ATTN_FORMAT a key that is missing or wrong. */
enum attn_status attn_gguf_write_config(const struct attn_gguf *gguf, struct attn_buffer *json,
                                        struct attn_error *err);

/* Adds to CONFIG, which was read from that text, the facts that no config.json has: the 1 of
 * Gemma's norms is in the weights, and `rope_freqs.weight` divides frequencies. */
enum attn_status attn_gguf_finish_config(const struct attn_gguf *gguf, struct attn_config *config,
                                         struct attn_config_layers *layers, struct attn_error *err);

#endif
