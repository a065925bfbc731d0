/*
 * each_internal.h - see each.h. For studies.
 *
 *     attn_each_open(&options, &rows, host, items, &each, &err);
 *     attn_each_resume(each, take, user, &err);          // items that were done before
 *     while (attn_items_next(items, &item, &err) == ATTN_OK && item)
 *         attn_each_write(each, item, table, NULL, &err); // or NULL and why it failed
 *     attn_each_finish(each, &err);                      // the file has its name
 *     attn_each_free(each);
 */
#ifndef ATTN_STUDY_EACH_INTERNAL_H
#define ATTN_STUDY_EACH_INTERNAL_H

#include "base/buffer.h"
#include "base/note.h"
#include "base/table.h"
#include "host/host.h"
#include "records/items.h"
#include "study/each.h"

struct attn_each;

/* The rows of a study. Borrowed. */
struct attn_each_rows {
    const struct attn_column *columns; /* [n_column] with unique names per type; the tables of items
                                          show some, all the same ones */
    size_t n_column;
    const bool *hidden;   /* [n_column] the columns to leave out if every item fails */
    bool is_ragged;       /* items have different numbers of rows, and cannot be resumed */
    attn_note_fn on_note; /* or NULL */
    void *note_user;      /* for it */

    /* Appends the state after the written items that a resumed run needs beside the rows: printable
     * ASCII without quotes, backslashes and semicolons. Or NULL. */
    void (*save)(void *user, struct attn_buffer *out);
    void *user; /* for it */
};

/* GIVEN is copied, all else borrowed. */
enum attn_status attn_each_open(const struct attn_each_options *given,
                                const struct attn_each_rows *rows, struct attn_host *host,
                                struct attn_items *items, struct attn_each **each,
                                struct attn_error *err);

/* Gets an item of an earlier run with its TABLE, or NULL and why it FAILED. All is borrowed. */
typedef enum attn_status (*attn_each_fn)(void *user, const struct attn_item *item,
                                         const struct attn_table *table,
                                         const struct attn_error *failed, struct attn_error *err);

/* Calls TAKE for each item of earlier runs, if `is_resumed`: reads the items from their beginning,
 * and their rows from the file. ATTN_INVALID at the stage of the options if the file has another
 * model, input or options. Call it once, before the first item. */
enum attn_status attn_each_resume(struct attn_each *each, attn_each_fn take, void *user,
                                  struct attn_error *err);

/* The state that was saved after these items; or "". */
const char *attn_each_saved(const struct attn_each *each);

/* Appends the rows of the next item, TABLE, or NULL and why it FAILED. */
enum attn_status attn_each_write(struct attn_each *each, const struct attn_item *item,
                                 const struct attn_table *table, const struct attn_error *failed,
                                 struct attn_error *err);

/* Gives the complete file its name. */
enum attn_status attn_each_finish(struct attn_each *each, struct attn_error *err);

/* Ends early because of ERR, with a checkpoint. NULL: without one. */
void attn_each_keep(struct attn_each *each, const struct attn_error *err);

/* Removes the file unless it was kept. NULL is allowed. */
void attn_each_free(struct attn_each *each);

#endif
