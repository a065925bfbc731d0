/*
 * each_internal.h - see each.h: functions for studies.
 *
 *     attn_each_open(&options, &form, &outputs, items, &each, &err);
 *     attn_each_begin(each, host, NULL, &err);
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

/* The outputs of a batch [n]; or NULL: those of GIVEN, which are rows. The input of a batch is not
 * replayed but skipped, and its failures cause an exit code only if max_failed is negative. */
struct attn_each_outputs {
    const struct attn_records_item *items;
    size_t n;
    int64_t max_failed;
    const volatile sig_atomic_t *cancel; /* or NULL */
};

/* The first names the outputs; GIVEN and OUTPUTS are copied, and FORM, of which it needs the
 * columns, how rows are kept and where notes go. The second opens them, those of a batch with its
 * own FORM, otherwise NULL. Everything else is borrowed. */
enum attn_status attn_each_open(const struct attn_each_options *given,
                                const struct attn_records_form *form,
                                const struct attn_each_outputs *outputs, struct attn_items *items,
                                struct attn_each **each, struct attn_error *err);
enum attn_status attn_each_begin(struct attn_each *each, struct attn_host *host,
                                 const struct attn_records_form *form, struct attn_error *err);

/* If `is_resumed`, reads the items from their beginning and calls TAKE for each item of earlier
 * runs, or skips those of a batch. Call once, before the first item. ATTN_INVALID at the stage of
 * the options if the file belongs to another model, input or options. */
enum attn_status attn_each_resume(struct attn_each *each, attn_record_take_fn take, void *user,
                                  struct attn_error *err);

/* What was written so far; the time since attn_each_begin; and where the last item ends. */
const struct attn_each_result *attn_each_result(struct attn_each *each);
double attn_each_seconds(const struct attn_each *each);
uint64_t attn_each_input_end(const struct attn_each *each);

/* Writes GIVEN, the result of the next item. */
enum attn_status attn_each_write(struct attn_each *each, const struct attn_item_result *given,
                                 struct attn_error *err);

/* Completes the file and gives it its final name. */
enum attn_status attn_each_finish(struct attn_each *each, struct attn_error *err);

/* Ends early because of ERR, after a checkpoint. ERR NULL: without a checkpoint. */
void attn_each_keep(struct attn_each *each, const struct attn_error *err);

/* Frees EACH and removes the unfinished file, unless attn_each_keep kept it. NULL is allowed. */
void attn_each_free(struct attn_each *each);

#endif
