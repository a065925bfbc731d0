/*
 * pair.h - two texts and one head: where a query of each looks, and what comes next, data of
 * `figure pair`; or where all queries look, data of `figure matrix`.
 */
#ifndef ATTN_DIFF_PAIR_H
#define ATTN_DIFF_PAIR_H

#include "diff/diff.h"

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

/*
 * Compares the rows of the one head that REQUEST selects with those of the second run of ARGS. Both
 * texts have equally many tokens, at most 512. *table has the columns
 *
 *     part, query, key, token, weight
 *
 * with a row for each cell that is not masked of `a`, of `b`, and of their difference `b - a`, in
 * which the weight of a masked cell is 0. The caller owns *table. Errors have a stage.
 */
ATTN_API enum attn_status attn_pair_maps(struct attn_host *host, const struct attn_request *request,
                                         const struct attn_diff_args *args,
                                         struct attn_table **table, struct attn_error *err);

/* Names the model of HOST, and that of the second run of ARGS if it has another name, in PICTURE.
 * ROOM is for both names; borrowed. */
ATTN_API void attn_pair_name_models(const struct attn_host *host, const struct attn_diff_args *args,
                                    struct attn_table_picture *picture, char *room, size_t size);

/* How pictures show these tables; the maps with `part` as group. */
extern const struct attn_table_view attn_pair_view, attn_pair_map_view;

#endif
