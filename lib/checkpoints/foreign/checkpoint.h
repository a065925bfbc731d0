/*
 * checkpoint.h - one file that a small training program saves: one of torch.save (trained.h), the
 * model.bin of llama2.c, version 0, or of llm.c, versions 3 (float32) and 5 (bfloat16).
 *
 * The file becomes a config.json and a directory of tensors, which stay in the file. The user's
 * config.json (`config`) may give what the file does not have.
 *
 * llama2.c: seven int32: d_model, d_mlp, layers, heads, heads of keys, tokens (negative: the output
 * has its own matrix), positions; then float32: the embedding, and for all layers one after the
 * other norm, q, k, v, output, norm, gate, down, up; the last norm; two tables of rotations, which
 * are not needed; the output matrix. Rows of q and k turn in adjacent pairs, as in GGUF, whose
 * names the tensors get.
 *
 * llm.c: 256 int32: 20240326, version, positions, tokens, layers, heads, d_model, rows of the
 * embedding, of which the first are the tokens; then each tensor of nanoGPT for all layers before
 * the next. The output is the embedding.
 */
#pragma once

#include "formats/opener.h"

/* The part of a source that is such a file: an override, a blob or, as in a live page, the file of
 * this name in a directory without a config. */
#define ATTN_CHECKPOINT_PART "checkpoint"

extern const struct attn_opener attn_opener_checkpoint;
