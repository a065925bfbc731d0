/* edit_internal.h - what edit.h declares for the library alone. */
#ifndef ATTN_TRACE_EDIT_INTERNAL_H
#define ATTN_TRACE_EDIT_INTERNAL_H

#include "trace/edit.h"

#include <stdatomic.h>

/* Checks edits against the sizes of a model: sites it has, heads and layers in range, op allowed
 * for the site. */
enum attn_status attn_edits_check(const struct attn_edit *edits, size_t n_edit,
                                  const struct attn_dims *dims, struct attn_error *err);

/* Whether any edit concerns the site in that layer (any head). */
bool attn_edits_touch(const struct attn_edit *edits, size_t n_edit, enum attn_site site, int layer);

/* Applies the edits of TARGET in order. Returns the number of rows in which an edit changed a
 * value, each counted once. Sets HAS_EFFECT [n_edit], which may be NULL, for edits that changed a
 * value. Safe on any thread. */
size_t attn_edits_apply(const struct attn_edit *edits, size_t n_edit, atomic_bool *has_effect,
                        const struct attn_edit_target *target);

#endif
