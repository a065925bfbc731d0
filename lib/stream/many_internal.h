/* many_internal.h - declarations of many.h for use inside the library only. */
#ifndef ATTN_STREAM_MANY_INTERNAL_H
#define ATTN_STREAM_MANY_INTERNAL_H

#include "stream/many.h"

/* Answers about the item of RESULT, which has nothing else, except `spaces`. A failure belongs to
 * the item, unless all items would fail with it. Called on several threads at a time. */
typedef enum attn_status (*attn_ask_fn)(void *user, struct attn_item_result *result,
                                        struct attn_error *err);

/* Runs all items like attn_run_many, but ASK computes each, also a pair at once, on one thread of
 * HOST. Without IS_PARALLEL items follow one after the other, each on all threads. USER of CALLS is
 * passed to ASK. A failure of all items ends the run after the items before it. */
enum attn_status attn_ask_many(struct attn_host *host, attn_ask_fn ask, bool is_parallel,
                               const struct attn_many_calls *calls, struct attn_error *err);

/* Returns true if STATUS with ERR is a failure of a single item. */
bool attn_many_is_of_item(enum attn_status status, const struct attn_error *err);

#endif
