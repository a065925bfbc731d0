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
#ifndef ATTN_FORMATS_MICROGPT_H
#define ATTN_FORMATS_MICROGPT_H

#include "base/source.h"
#include "base/status.h"

#include <stdbool.h>

/* The part of a source that is such a file. */
#define ATTN_MICROGPT_PART "microgpt.json"

/* Whether SOURCE has it as an override or as a blob. A directory has no file of this name. */
bool attn_microgpt_is_source(const struct attn_source *source);

struct attn_microgpt;

/* Reads the file of SOURCE. n_head and act_fn of an override of config.json replace those of the
 * file. ATTN_UNSUPPORTED for matrices and activations that the model does not have. */
enum attn_status attn_microgpt_read(const struct attn_source *source, struct attn_microgpt **made,
                                    struct attn_error *err);

/* Returns the parts, borrowed. */
const struct attn_source *attn_microgpt_parts(const struct attn_microgpt *microgpt);

/* Whether the number of heads is assumed, because the files lack it. */
bool attn_microgpt_lacks_heads(const struct attn_microgpt *microgpt);

void attn_microgpt_free(struct attn_microgpt *microgpt); /* NULL is allowed */

#endif
