/*
 * each_internal.h - see each.h. For studies.
 *
 *     attn_each_open(&options, &rows, host, items, &each, &err);
 *     attn_each_resume(each, take, user, &err);          // items of earlier runs
 *     while (attn_items_next(items, &item, &err) == ATTN_OK && item)
 *         attn_each_write(each, item, &rows, NULL, &err); // or why it failed
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
#include "study/kept_rows.h"

struct attn_each;

/* The rows of a study. Borrowed. */
struct attn_each_rows {
    const struct attn_column *columns; /* [n_column] with unique names per type; the tables of items
                                          show some, all the same ones */
    size_t n_column;
    const bool *hidden;   /* [n_column] the columns to leave out if every item fails */
    bool is_ragged;       /* items have different numbers of rows */
    bool are_kept;        /* a resumed run gets the rows of earlier runs */
    attn_note_fn on_note; /* or NULL */
    void *note_user;      /* for it */
};

/* GIVEN is copied, all else borrowed. */
enum attn_status attn_each_open(const struct attn_each_options *given,
                                const struct attn_each_rows *rows, struct attn_host *host,
                                struct attn_items *items, struct attn_each **each,
                                struct attn_error *err);

/* Gets an item of an earlier run, with its rows if they `are_kept`. All is borrowed. */
typedef enum attn_status (*attn_each_fn)(void *user, const struct attn_item *item,
                                         const struct attn_kept_item *kept, struct attn_error *err);

/* Calls TAKE for each item of earlier runs, if `is_resumed`: reads the items from their beginning.
 * ATTN_INVALID at the stage of the options if the file has another model, input or options. Call it
 * once, before the first item. *n_failed counts the items that failed. */
enum attn_status attn_each_resume(struct attn_each *each, attn_each_fn take, void *user,
                                  size_t *n_failed, struct attn_error *err);

/* Appends the next item: its rows, and numbers that a resumed run gets beside them, or why it
 * FAILED. */
enum attn_status attn_each_write(struct attn_each *each, const struct attn_item *item,
                                 const struct attn_kept_item *rows, const struct attn_error *failed,
                                 struct attn_error *err);

/* Gives the complete file its name. */
enum attn_status attn_each_finish(struct attn_each *each, struct attn_error *err);

/* Ends early because of ERR, with a checkpoint. NULL: without one. */
void attn_each_keep(struct attn_each *each, const struct attn_error *err);

/* Removes the file unless it was kept. NULL is allowed. */
void attn_each_free(struct attn_each *each);

#endif
