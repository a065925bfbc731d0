/* selection.h - checks of named positions, edits as they are typed, and the lists of sites and of
 * kinds of attention. */
#pragma once

#include "cmd/line/command.h"

#include "extra.h"

/* Refuses a name of a position (--positions) that no option of CALL uses. */
enum attn_status places_check(const struct call *call, struct attn_error *err);

/* Sets PLACES, which is borrowed, and EDITS, which are parsed for the model of HOST, in REQUEST.
 * Errors have a stage. */
enum attn_status edits_read(struct attn_edit_texts *edits, const struct attn_places *places,
                            const struct attn_host *host, struct attn_request *request,
                            struct attn_error *err);

/* Print the tables of --sites help and of --attention help. */
void sites_print(struct attn_sink *out);
void attention_kinds_print(struct attn_sink *out);
