/*
 * many_pack.h - a session for short texts, which are fed to it together: the rows of several in one
 * matrix product. For the files of this layer.
 *
 * Products of 128 rows do four times as many multiply-adds a second as those of six. More rows gain
 * nothing.
 */
#ifndef ATTN_RUN_MANY_PACK_H
#define ATTN_RUN_MANY_PACK_H

#include "run/many_item.h"

struct attn_many_pack;

/* Takes the memory of the session when it is first used. TASK is borrowed. */
enum attn_status attn_many_pack_create(const struct attn_many_task *task,
                                       struct attn_many_pack **pack, struct attn_error *err);
void attn_many_pack_free(struct attn_many_pack *pack); /* NULL is allowed */

/* Computes ITEMS [n], which are prepared and can be packed: together they have ATTN_MANY_PACK_ROWS
 * positions, or there is one. */
enum attn_status attn_many_pack_run(struct attn_many_pack *pack,
                                    struct attn_many_item *const *items, size_t n,
                                    struct attn_error *err);

#endif
