/*
 * pair.h - two texts and one head: where a query of each looks, and what comes next. Data of
 * ATTN_FIGURE_PAIR.
 */
#ifndef ATTN_QUESTIONS_PAIR_H
#define ATTN_QUESTIONS_PAIR_H

#include "questions/diff.h"

struct attn_table_picture; /* pictures/table_view.h */

/*
 * Compares the row that REQUEST selects, one query (NULL: the last position) of one head, with that
 * of the second run of ARGS, which has no study. *table has the columns
 *
 *     part, query, key, token, weight, prob, differs
 *
 * with a row for each key of the texts a and b, then for the five most probable next tokens, which
 * have no key. `differs`: a token that is not in the longest common subsequence of the texts, or is
 * predicted for one of them alone. The caller owns *table. Errors have a stage.
 */
ATTN_API enum attn_status attn_pair(struct attn_host *host, const struct attn_request *request,
                                    const struct attn_diff_args *args, struct attn_table **table,
                                    struct attn_error *err);

/* Names the model of HOST, and that of the second run of ARGS if it has another name, in PICTURE.
 * ROOM is for both names; borrowed. */
ATTN_API void attn_pair_name_models(const struct attn_host *host, const struct attn_diff_args *args,
                                    struct attn_table_picture *picture, char *room, size_t size);

/* How pictures show this table. */
extern const struct attn_table_view attn_pair_view;

#endif
