/*
 * checkpoint.h - one file that a small training program saves: a checkpoint of nanoGPT (ckpt.pt,
 * torch.h), or the model.bin of llama2.c, version 0.
 *
 * The file becomes a config.json and a directory of tensors, which stay in the file.
 *
 * llama2.c: seven int32: d_model, d_mlp, layers, heads, heads of keys, tokens (negative: the output
 * has its own matrix), positions; then float32: the embedding, and for all layers one after the
 * other norm, q, k, v, output, norm, gate, down, up; the last norm; two tables of rotations, which
 * are not needed; the output matrix. Rows of q and k turn in adjacent pairs, as in GGUF, whose
 * names the tensors get.
 */
#ifndef ATTN_FORMATS_CHECKPOINT_H
#define ATTN_FORMATS_CHECKPOINT_H

#include "base/buffer.h"
#include "base/source.h"
#include "base/status.h"
#include "formats/tensor_files.h"

#include <stdbool.h>

/* The part of a source that is such a file. */
#define ATTN_CHECKPOINT_PART "checkpoint"

/* Whether SOURCE has it as an override or as a blob; or, as in a live page, as the file of this
 * name in a directory without a config. */
bool attn_checkpoint_is_source(const struct attn_source *source);

/* Opens the file of SOURCE, and appends its config to CONFIG. *has_gguf_names: the tensors are
 * named, and q and k lie, as in GGUF. The caller frees *files and releases CONFIG. */
enum attn_status attn_checkpoint_read(const struct attn_source *source, enum attn_load load,
                                      struct attn_buffer *config, struct attn_tensor_files **files,
                                      bool *has_gguf_names, struct attn_error *err);

#endif
