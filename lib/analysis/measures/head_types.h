/*
 * head_types.h - the types of heads that a model brings along. They are those of texts that the
 * model wrote itself, the table of `attn-cli probe texts` as JSON: a part of a model, heads.json,
 * which lies beside its weights or is built in.
 */
#ifndef ATTN_MEASURES_HEAD_TYPES_H
#define ATTN_MEASURES_HEAD_TYPES_H

#include "measures/head_kind.h"
#include "model/model.h"

/* Reads the types of the heads [n_layer, n_head] of MODEL, without a kind where it has none; from
 * GIVEN, which may be NULL, if it brings none along. Sets *types to NULL if there are none for the
 * weights as they are, or if they cannot be read: the only failure is ATTN_NO_MEMORY. The caller
 * frees *types (attn_free). */
enum attn_status attn_head_types_read(const struct attn_model *model, const struct attn_blob *given,
                                      struct attn_head_type **types, struct attn_error *err);

#endif
