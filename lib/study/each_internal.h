/*
 * each_internal.h - see each.h: functions for studies.
 *
 *     attn_each_open(&options, &form, host, items, &each, &err);
 *     attn_each_resume(each, take, user, &err);          // items of earlier runs
 *     while (attn_items_next(items, &item, &err) == ATTN_OK && item)
 *         attn_each_write(each, &result, &err);           // with `rows`, or a failure
 *     attn_each_finish(each, &err);                      // renames the file to its final name
 *     attn_each_free(each);
 */
#ifndef ATTN_STUDY_EACH_INTERNAL_H
#define ATTN_STUDY_EACH_INTERNAL_H

#include "base/note.h"
#include "batch/records_internal.h"
#include "host/host.h"
#include "records/items.h"
#include "study/each.h"

struct attn_each;

/* Copies GIVEN and FORM, of which it needs the columns, how rows are kept and where notes go;
 * everything else is borrowed. */
enum attn_status attn_each_open(const struct attn_each_options *given,
                                const struct attn_records_form *form, struct attn_host *host,
                                struct attn_items *items, struct attn_each **each,
                                struct attn_error *err);

/* If `is_resumed`, reads the items from their beginning and calls TAKE for each item of earlier
 * runs. Call once, before the first item. *N_FAILED is the number of items that had failed.
 * ATTN_INVALID at the stage of the options if the file belongs to another model, input or
 * options. */
enum attn_status attn_each_resume(struct attn_each *each, attn_record_take_fn take, void *user,
                                  size_t *n_failed, struct attn_error *err);

/* Writes the result of the next item. */
enum attn_status attn_each_write(struct attn_each *each, const struct attn_item_result *result,
                                 struct attn_error *err);

/* Completes the file and gives it its final name. */
enum attn_status attn_each_finish(struct attn_each *each, struct attn_error *err);

/* Ends early because of ERR, after a checkpoint. ERR NULL: without a checkpoint. */
void attn_each_keep(struct attn_each *each, const struct attn_error *err);

/* Frees EACH and removes the unfinished file, unless attn_each_keep kept it. NULL is allowed. */
void attn_each_free(struct attn_each *each);

#endif
