/*
 * each.h - writes a line for each row of each item of a study, as CSV or JSON Lines: id, labels,
 * the columns of the row, error. A run that ended early can be resumed.
 *
 *     struct attn_each_options each = ATTN_EACH_OPTIONS_DEFAULT;
 *     each.path = "rows.csv", each.is_resumed = true;
 *     study.items = items, study.each = &each;           // means/study.h
 *
 * Numbers have all digits, so that a resumed run continues with the same doubles. In CSV a missing
 * value is an empty field, NaN is nan, texts are escaped as in tables, ids and labels are not. In
 * JSON Lines a missing value has no key, NaN is null, infinities are 1e999. CSV has the labels of
 * attn_items_labels; labels that occur only in later items are left out, and a note names the first
 * one. JSON has all labels. A label whose name is that of a column, `id` or `error` is written as
 * item.NAME. A failed item is one line with its error.
 *
 * Rows are first written to FILE.part, which gets its name when it is complete. Beside it,
 * FILE.part.key has a hash of `key`, of the files that it names and of those of the model, and one
 * of the items up to the last row. A resumed run with other ones is refused. It reads the rows that
 * are there, also for the table of all items, computes the last of these items again, compares the
 * bytes, and goes on; without FILE.part.key it computes and compares all items. Results that need
 * more than rows are left out of its table. The file name of a shard contains its number,
 * rows-00003-of-00008.csv. Concatenated, without the headers of later CSV files, the shards equal
 * the file of a single run. Memory is constant, except that lines of CSV wait until the first item
 * succeeds, which determines the columns.
 */
#ifndef ATTN_STREAM_EACH_H
#define ATTN_STREAM_EACH_H

#include "base/sink.h"
#include "stream/records.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum attn_each_form {
    ATTN_EACH_BY_NAME = 0, /* .json and .jsonl: JSON Lines; other names: CSV */
    ATTN_EACH_CSV = 1,
    ATTN_EACH_JSON_LINES = 2,
    /* only the first column of an item's row, which is a text: one line per item, empty if the item
     * failed */
    ATTN_EACH_TEXTS = 3,
    /* FILE.npz with one matrix per item, 000000007/weight.npy, except for failed items. Rows of the
     * table are its cells in C order; the first column is the row index, and the only column of
     * reals is the number */
    ATTN_EACH_MATRICES = 4,
    /* of attn_collect: one line of JSON per item, with labels, ids, tokens, predictions and tensors
     * (stream/records.h) */
    ATTN_EACH_RECORDS = 5,
    ATTN_EACH_DOCUMENT = 6 /* one document of JSON, like that of a table; it cannot be resumed */
};

struct attn_each_result {
    uint64_t n_item, n_failed; /* number of written items, including earlier runs */
    uint64_t n_before;         /* number of items from earlier runs */
    bool has_failed;           /* items failed, and no limit of failures was set */
    bool is_complete;          /* an earlier run was complete already */
    bool can_resume;           /* the run ended early, and can be resumed after n_item */
    bool is_abandoned;         /* the run ended early because the reader of its pipe closed it */
    double seconds;            /* computing time, including earlier runs; 0 if is_complete */
};

struct attn_each_options {
    size_t size;            /* size of this struct */
    const char *path;       /* path of a file or a pipe; NULL: writes to the sink */
    struct attn_sink *sink; /* borrowed; not committed */
    enum attn_each_form form;
    bool is_resumed; /* continues an incomplete file; begins a new one if it is missing */

    /* Called when the run ends early. Returns true if the last results may be wrong; those of this
     * run are then removed. May be NULL. */
    bool (*is_spoiled)(void *user);
    void *user; /* passed to is_spoiled */

    struct attn_each_result *result; /* set at the end, also after a failure; or NULL */

    /* lines, in any order, about all that decides the rows beside the items, such as options: an
     * incomplete file is only continued with equal ones; NULL: none */
    const char *key;
};

/* Sets OPTIONS [size bytes] to the defaults, and returns it. */
ATTN_API struct attn_each_options *attn_each_options_init(struct attn_each_options *options,
                                                          size_t size);
#define ATTN_EACH_OPTIONS_DEFAULT ATTN_DEFAULT_OF(attn_each_options)

#endif
