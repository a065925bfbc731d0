/*
 * trained.h - checkpoints of small training programs that torch.save wrote: which program it was,
 * and the config that follows from what it saved, from the shapes of its tensors, and from a file
 * of the user's (`config`). What several of these say must agree.
 *
 * nanoGPT: `model_args` with n_layer. llama2.c: `model_args` with n_layers. build-nanogpt:
 * `config`, an object with n_layer. LLMs-from-scratch: trf_blocks.0.att.W_query.weight; without
 * heads. minGPT: transformer.h.0.attn.bias, and an output that is not the embedding; without heads.
 * nanochat: transformer.h.0.attn.c_q.weight, with the sizes in the meta_NNNNNN.json beside it.
 * Other weights alone under nanoGPT's names: without heads, and either GELU.
 *
 * A number of heads that is not in the file is that of GPT-2's sizes, or the user's.
 */
#pragma once

#include "foreign/pickle.h"
#include "formats/json.h"
#include "formats/opener.h"

/* Reads the config of OPENED, whose tensors are there, and gives these the names that are read.
 * PICKLE is the object of the file, which IS_LATE says was written after May 2023. OWN is the file
 * of the user's; or NULL. */
enum attn_status attn_trained_read(const struct attn_pickle *pickle, bool is_late,
                                   const struct attn_json *own, struct attn_opened *opened,
                                   struct attn_error *err);

/* Gets the sizes that OWN has under either of TWO, as *size if it is 0. Fails if it has another
 * number than *size. */
enum attn_status attn_trained_size(const struct attn_json *own, const char *const two[2],
                                   size_t *size, struct attn_error *err);
