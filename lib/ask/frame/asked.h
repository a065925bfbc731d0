/* asked.h - what a question sees of the run that it asks: the text, the tensors, what changes them.
 * The frame (frame/frame.h) prepares the run; nothing here can change it. */
#ifndef ATTN_FRAME_ASKED_H
#define ATTN_FRAME_ASKED_H

#include "attention/kind.h"
#include "run/host_extra.h"
#include "tables/table.h"
#include "trace/lists.h"
#include "trace/location_extra.h"
#include "trace/places_extra.h"
#include "trace/rows_extra.h"
#include "trace/selection.h"
#include "trace/trace_extra.h"

struct attn_run;

/* Returns T, the number of positions of the text. */
ATTN_API size_t attn_asked_n(const struct attn_run *run);

/* Returns the text of the token at POSITION; missing if tokens have no texts. */
ATTN_API struct attn_cell attn_asked_token(const struct attn_run *run, size_t position);

/* Returns the sizes of the tensors of the run; borrowed. */
ATTN_API const struct attn_dims *attn_asked_dims(const struct attn_run *run);

/* Sets FLAGS [T] of the positions that LIST names to 1; if it is not given, of all that the
 * tokenizer did not add. Errors are of the field LABEL. */
ATTN_API enum attn_status attn_asked_positions(const struct attn_run *run,
                                               const struct attn_number_list *list,
                                               const char *label, unsigned char *flags,
                                               struct attn_error *err);

/* Returns the kind of attention of the layer of AT. */
ATTN_API enum attn_attention_kind attn_asked_kind(const struct attn_run *run,
                                                  const struct attn_location *at);

/* Whether an edit of the request changes the tensor AT, and whether a run has it at all. */
ATTN_API bool attn_asked_is_changed(const struct attn_run *run, const struct attn_location *at);
ATTN_API bool attn_asked_has(const struct attn_run *run, const struct attn_location *at);

/* Whether weights of the pattern are dropped at random. */
ATTN_API bool attn_asked_is_dropped(const struct attn_run *run);

#endif
