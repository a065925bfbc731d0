/*
 * study_pack.h - feeds the texts of items side by side, short ones together (run/many.h), for
 * experiments that need one pass over the texts of an item. The result of an item does not depend
 * on the others. For the files of this layer.
 *
 *     struct attn_study_pack pack = {study, host, &request, find, user};
 *     struct attn_many_options options = ATTN_MANY_OPTIONS_DEFAULT;
 *     options.has_surprisal = true;
 *     attn_study_pack_run(&pack, &options, &err);
 */
#ifndef ATTN_EXPERIMENT_STUDY_PACK_H
#define ATTN_EXPERIMENT_STUDY_PACK_H

#include "experiment/study_internal.h"
#include "run/many.h"

/* Takes the RESULT of a text of ITEM, the first or the second of a pair; after the last one ANSWER
 * is whole. Before the first it is {0}, but for what the item before left: a table without rows,
 * and numbers, whose memory serves again. In the order of the items, one call at a time, on any
 * thread. Not called of an item after one of its texts has failed. */
typedef enum attn_status (*attn_study_find_fn)(void *user, const struct attn_item *item,
                                               bool is_second,
                                               const struct attn_many_result *result,
                                               struct attn_study_answer *answer,
                                               struct attn_error *err);

struct attn_study_pack {
    struct attn_study *study; /* borrowed, like all else */
    struct attn_host *host;
    const struct attn_request *request; /* of every text */
    const char *at; /* the position whose logits are asked for, of items that name none; or NULL */
    attn_study_find_fn find;
    void *user; /* for it */
};

/* Goes over all items. OPTIONS get the request. */
enum attn_status attn_study_pack_run(const struct attn_study_pack *pack,
                                     struct attn_many_options *options, struct attn_error *err);

#endif
