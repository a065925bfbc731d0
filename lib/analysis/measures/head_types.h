/*
 * head_types.h - the types of heads that a model brings along. They are those of texts that the
 * model wrote itself, the table of `attn-cli probe texts` as JSON: a part of a model, heads.json,
 * which lies beside its weights, is built in, or is kept in a folder of the user.
 */
#pragma once

#include "measures/head_kind.h"
#include "model/model.h"

/* Reads the types of all heads of MODEL into *types [n_layer, n_head], which the caller frees with
 * attn_free. GIVEN, which may be NULL, has the types of a model without the part. The kind of a
 * head without a type is NULL. *types is NULL if nothing can be read, and for a model with an
 * encoder or an adapter. The only failure is ATTN_NO_MEMORY. */
enum attn_status attn_head_types_read(const struct attn_model *model, const struct attn_blob *given,
                                      struct attn_head_type **types, struct attn_error *err);

/* Keeps the types of HEADS, the table of `probe` texts, where MODEL may, or nothing on failure. */
void attn_head_types_keep(const struct attn_model *model, const struct attn_table *heads);
