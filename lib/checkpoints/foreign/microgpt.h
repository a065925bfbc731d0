/*
 * microgpt.h - microgpt, the small GPT that courses train, in one JSON file as people save it:
 *
 *     {"n_head": 4, "uchars": ["a", "b"], "state_dict": {"wte": [[0.1, ...], ...], ...}}
 *
 * The file becomes the parts of a model directory of type "attn": config.json, model.safetensors
 * and, if it has its letters, vocab.json.
 *
 * The model, as its weights alone do not say: x = rms(wte[id] + wpe[position]); in each layer x +=
 * wo attention(rms(x)), then x += fc2 act(fc1 rms(x)); logits = lm_head x. There is no norm at the
 * end. Norms have no weights, maps no biases; matrices are [out][in], and the heads are slices of
 * the rows of wq, wk and wv.
 */
#pragma once

#include "formats/opener.h"

/* The part of a source that is such a file: an override or a blob, as no directory has this name.
 */
#define ATTN_MICROGPT_PART "microgpt.json"

/* n_head and act_fn of an override of config.json replace those of the file. ATTN_UNSUPPORTED for
 * matrices and activations that the model does not have. */
extern const struct attn_opener attn_opener_microgpt;
