/*
 * each.h - what came of each item, a line for each of its rows: id, labels, the row's columns,
 * error. CSV, or JSON Lines. It streams; a run that ended early is resumed, and shards joined are
 * the whole.
 *
 *     struct attn_each_options options = ATTN_EACH_OPTIONS_DEFAULT;
 *     options.path = "rows.csv", options.source = &source, options.is_resumed = true;
 *     attn_each_open(&options, host, items, columns, n_column, &each, &err);
 *     attn_each_resume(each, fold, user, &err);          // items that were done before
 *     while (attn_items_next(items, &item, &err) == ATTN_OK && item) {
 *         ... cells [n_row, n_column] of the item; or item->record.failure ...
 *         attn_each_write(each, item, cells, n_row, &err);
 *     }
 *     attn_each_finish(each, &err);                      // rows.csv
 *     attn_each_free(each);
 *
 * A row is written with all digits of its numbers: a resumed run hands back the same doubles that
 * it was given. In CSV what is missing is an empty field, NaN is nan, texts are escaped as in tables,
 * ids and labels are as they are. In JSON Lines what is missing has no key, NaN is null, infinities
 * are 1e999. Labels are those of attn_items_labels in CSV, where one that comes later is noted once
 * and left out; JSON has all. A label that is called as a column, id or error is written item.NAME.
 * An item that failed is one line with its error.
 *
 * The file grows as FILE.part, beside FILE.journal, and has its name when it is whole; then
 * FILE.run.json says how it was made: all as records/batch.h has it. Names of shards as there, too.
 * Memory: some bytes an item where items have different numbers of rows, else constant.
 */
#ifndef ATTN_RECORDS_EACH_H
#define ATTN_RECORDS_EACH_H

#include "base/sink.h"
#include "base/table.h"
#include "records/items.h"
#include "run/host.h"

enum attn_each_form {
    ATTN_EACH_BY_NAME = 0, /* .json and .jsonl are JSON Lines, all else CSV */
    ATTN_EACH_CSV = 1,
    ATTN_EACH_JSON_LINES = 2
};

struct attn_each_options {
    size_t size;            /* of this struct */
    const char *path;       /* a file, or a pipe; NULL: the sink */
    struct attn_sink *sink; /* borrowed, and not committed */
    enum attn_each_form form;
    bool is_resumed;       /* goes on with a file that is not whole; begins where there is none */
    bool is_synced;        /* waits for the disk at each checkpoint and at the end */
    size_t shard, n_shard; /* for its name: those of the items. n_shard 0: none */

    /* Of a file: what the host's model was opened from. */
    const struct attn_source *source;

    /* An object of JSON on one line: what else shapes the rows. It is resumed only with the same
     * text. NULL: "{}", and the caller vouches for the rest. */
    const char *asked;
    const char *const *files; /* [n_file] that shape them: their SHA-256 is added */
    size_t n_file;
    const char *const *command; /* [n_command] for the manifest: what the user typed */
    size_t n_command;

    const volatile sig_atomic_t *cancel; /* the host's; or NULL */
    attn_note_fn on_note;                /* gets what goes on, and labels left out; or NULL */
    void *user;                          /* for it */
};

#define ATTN_EACH_OPTIONS_DEFAULT                                                                  \
    ((struct attn_each_options){.size = sizeof(struct attn_each_options)})

struct attn_each;

/* Opens it for the rows of ITEMS, of which none was read: COLUMNS [n_column] of each are copied,
 * all else is borrowed. */
ATTN_API enum attn_status attn_each_open(const struct attn_each_options *options,
                                         struct attn_host *host, struct attn_items *items,
                                         const struct attn_column *columns, size_t n_column,
                                         struct attn_each **each, struct attn_error *err);

/* Gets an item that was done before with its CELLS [n_row, n_column], or its failure. All is
 * borrowed. */
typedef enum attn_status (*attn_each_fn)(void *user, const struct attn_item *item,
                                         const struct attn_cell *cells, size_t n_row,
                                         struct attn_error *err);

/*
 * Hands the items that earlier runs did to TAKE, one after the other: they are read from the items,
 * and their rows from the file. Nothing is handed where `is_resumed` is false, or nothing was done;
 * all, where all was. ATTN_INVALID at the stage of the options when it is of another model, input,
 * options or columns. Call it once, before the first item is read.
 */
ATTN_API enum attn_status attn_each_resume(struct attn_each *each, attn_each_fn take, void *user,
                                           struct attn_error *err);

/* Appends the rows of the next item, or the failure in its record. */
ATTN_API enum attn_status attn_each_write(struct attn_each *each, const struct attn_item *item,
                                          const struct attn_cell *cells, size_t n_row,
                                          struct attn_error *err);

/* All items were written: the file gets its name. */
ATTN_API enum attn_status attn_each_finish(struct attn_each *each, struct attn_error *err);

/* It ends early: keeps what is done, unless IS_SPOILED, of what was done since the last checkpoint.
 * Whether it can be resumed. */
ATTN_API bool attn_each_keep(struct attn_each *each, bool is_spoiled);

/* What was kept stays; else nothing does. NULL is allowed. */
ATTN_API void attn_each_free(struct attn_each *each);

#endif
