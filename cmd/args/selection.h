/* selection.h - options that select tensors (--layers, --heads, --queries, --sites), print
 * predictions (--top, --next) and change the run (--ablate and others). */
#ifndef CMD_SELECTION_ARGS_H
#define CMD_SELECTION_ARGS_H

#include "cmd/line/options.h"

#include "extra.h"

/* Options of struct attn_request; and --max-span, an option of struct attn_request_labels. */
extern const struct option_group selection_options, prediction_options, span_options;

/* Options of struct attn_edit_texts; and --positions, an option of struct attn_places. */
extern const struct option_group edit_options, place_options;

/* Refuses a name of a position (--positions) that no option of CALL uses. */
enum attn_status places_check(const struct call *call, struct attn_error *err);

/* Sets PLACES, which is borrowed, and EDITS, which are parsed for the model of HOST, in REQUEST.
 * Errors have a stage. */
enum attn_status edits_read(struct attn_edit_texts *edits, const struct attn_places *places,
                            const struct attn_host *host, struct attn_request *request,
                            struct attn_error *err);

/* Prints the table of --sites help. */
void sites_print(struct attn_sink *out);

#endif
