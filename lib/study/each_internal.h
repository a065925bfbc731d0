/*
 * each_internal.h - the lines of items on their way into a file. For those who ask about items.
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

/* What rows are. Borrowed. */
struct attn_each_rows {
    const struct attn_column *columns; /* [n_column] of which the tables of items show some, all the
                                          same; no two of one name and one type */
    size_t n_column;
    uint64_t hidden;      /* bits of those that these tables do not have, where every item fails */
    attn_note_fn on_note; /* gets what goes on, and labels left out; or NULL */
    void *note_user;      /* for it */

    /* Appends what a resumed run has to know beside the rows: printable ASCII without quotes,
     * backslashes and semicolons, after the items that were written. Or NULL. */
    void (*save)(void *user, struct attn_buffer *out);
    void *user; /* for it */
};

/* Opens it for the rows of ITEMS. All is borrowed but what is GIVEN, which is copied. */
enum attn_status attn_each_open(const struct attn_each_options *given,
                                const struct attn_each_rows *rows, struct attn_host *host,
                                struct attn_items *items, struct attn_each **each,
                                struct attn_error *err);

/* Gets an item that was done before with its TABLE, or NULL and why it FAILED. All is borrowed. */
typedef enum attn_status (*attn_each_fn)(void *user, const struct attn_item *item,
                                         const struct attn_table *table,
                                         const struct attn_error *failed, struct attn_error *err);

/*
 * Hands the items that earlier runs did to TAKE, one after the other: they are read from the items,
 * of which none was read, and their rows from the file. Nothing is handed where `is_resumed` is
 * false, or nothing was done; all, where all was. ATTN_INVALID at the stage of the options when it
 * is of another model, input or options. To be called once, before the first item is written.
 */
enum attn_status attn_each_resume(struct attn_each *each, attn_each_fn take, void *user,
                                  struct attn_error *err);

/* What was saved when the items that were handed over had been written; "". */
const char *attn_each_saved(const struct attn_each *each);

/* Appends the rows of the next item, TABLE, or NULL and why it FAILED. */
enum attn_status attn_each_write(struct attn_each *each, const struct attn_item *item,
                                 const struct attn_table *table, const struct attn_error *failed,
                                 struct attn_error *err);

/* All items were written: the file gets its name. */
enum attn_status attn_each_finish(struct attn_each *each, struct attn_error *err);

/* It ends early, by ERR: keeps what is done. NULL: what was done since the last checkpoint is
 * lost. */
void attn_each_keep(struct attn_each *each, const struct attn_error *err);

/* What was kept stays; else nothing does. NULL is allowed. */
void attn_each_free(struct attn_each *each);

#endif
