/*
 * each.h - writes a line for each row of each item of a study, as CSV or JSON Lines: id, labels,
 * the columns of the row, error. A run that ended early can be resumed.
 *
 *     struct attn_each_options each = ATTN_EACH_OPTIONS_DEFAULT;
 *     each.path = "rows.csv", each.source = &source, each.is_resumed = true;
 *     study.items = items, study.each = &each;           // study/study.h
 *
 * Numbers have all digits, so that a resumed run continues with the same doubles. In CSV a missing
 * value is an empty field, NaN is nan, texts are escaped as in tables, ids and labels are not. In
 * JSON Lines a missing value has no key, NaN is null, infinities are 1e999. The labels of CSV are
 * those of attn_items_labels: the first later one is noted, all are left out; JSON has all labels.
 * A label with the name of a column, id or error is written item.NAME. A failed item is one line
 * with its error.
 *
 * The file grows as FILE.part, with FILE.journal and at the end FILE.run.json, as those of a batch
 * (batch/batch.h). FILE.state has the same rows as bytes, from which a resumed run makes the table
 * of all items; studies without such a table have none. The name of a shard's file has its number,
 * rows-00003-of-00008.csv; joined without the later headers of CSV, they are the file of one run.
 * Memory is constant, except that lines of CSV wait until the first item succeeds, which determines
 * the columns.
 */
#ifndef ATTN_STUDY_EACH_H
#define ATTN_STUDY_EACH_H

#include "base/sink.h"
#include "base/source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum attn_each_form {
    ATTN_EACH_BY_NAME = 0, /* .json and .jsonl are JSON Lines, all else CSV */
    ATTN_EACH_CSV = 1,
    ATTN_EACH_JSON_LINES = 2,
    ATTN_EACH_TEXTS = 3,   /* the first column of an item's row, a text, and nothing else: one line
                              an item, which is empty if it failed */
    ATTN_EACH_MATRICES = 4 /* FILE.npz with a matrix for each item, 000000007/weight.npy, unless the
                              item failed: rows of the table are its cells in C order, the first
                              column is the row and the only column of reals the number */
};

struct attn_each_result {
    uint64_t n_item;   /* written items, with those of earlier runs */
    uint64_t n_before; /* items of earlier runs */
    bool is_complete;  /* an earlier run was complete */
    bool can_resume;   /* it ended early, and can be resumed after n_item */
    bool is_abandoned; /* it ended early: the reader of its pipe is gone */
};

struct attn_each_options {
    size_t size;            /* of this struct */
    const char *path;       /* a file, or a pipe; NULL: the sink */
    struct attn_sink *sink; /* borrowed, and not committed */
    enum attn_each_form form;
    bool is_resumed; /* continue a file that is not whole; begin if there is none */
    bool is_synced;  /* wait for the disk at each checkpoint and at the end */

    const struct attn_source *source; /* of the host's model; needed for a file */

    /* An object of JSON on one line: the other options that shape the rows. A run is resumed only
     * with the same text. NULL: "{}", and the caller vouches for the rest. */
    const char *asked;
    const char *const *files; /* [n_file] that shape the rows: their SHA-256 is added */
    size_t n_file;
    const char *const *command; /* [n_command] the command line, for the manifest */
    size_t n_command;

    /* Called when it ends early: whether the last results may be wrong, so that they get no
     * checkpoint. Or NULL. */
    bool (*is_spoiled)(void *user);
    void *user; /* for it */

    struct attn_each_result *result; /* filled, also after a failure; or NULL */
};

#define ATTN_EACH_OPTIONS_DEFAULT                                                                  \
    ((struct attn_each_options){.size = sizeof(struct attn_each_options)})

#endif
