/* selection.h - the options that select (--layers, --heads, --queries, --sites), predict (--top,
 * --next) and edit (--ablate and others). */
#ifndef CMD_SELECTION_ARGS_H
#define CMD_SELECTION_ARGS_H

#include "cmd/line/options.h"

#include "extra.h"

/* Options that fill a struct attn_request, and --max-span, of a struct attn_request_labels. */
extern const struct option_group selection_options, prediction_options, span_options;

/* Options that fill a struct attn_edit_texts, and --positions, of a struct attn_places. */
extern const struct option_group edit_options, place_options;

/* Refuses names of places that no option of CALL uses. */
enum attn_status places_check(const struct call *call, struct attn_error *err);

/* Sets PLACES, which it borrows, and EDITS, read for the model of HOST, in REQUEST. Errors have a
 * stage. */
enum attn_status edits_read(struct attn_edit_texts *edits, const struct attn_places *places,
                            const struct attn_host *host, struct attn_request *request,
                            struct attn_error *err);

/* The table for --sites help. */
void sites_print(struct attn_sink *out);

#endif
