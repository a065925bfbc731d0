/*
 * each.h - writes a line for each row of each item of a study, as CSV or JSON Lines: id, labels,
 * the columns of the row, error. A run that ended early can be resumed.
 *
 *     struct attn_each_options each = ATTN_EACH_OPTIONS_DEFAULT;
 *     each.path = "rows.csv", each.source = &source, each.is_resumed = true;
 *     study.items = items, study.each = &each;           // questions/study.h
 *
 * Numbers have all digits, so that a resumed run continues with the same doubles. In CSV a missing
 * value is an empty field, NaN is nan, texts are escaped as in tables, ids and labels are not. In
 * JSON Lines a missing value has no key, NaN is null, infinities are 1e999. CSV has the labels of
 * attn_items_labels; labels that occur only in later items are left out, and a note names the first
 * one. JSON has all labels. A label whose name is that of a column, `id` or `error` is written as
 * item.NAME. A failed item is one line with its error.
 *
 * As for a batch (batch.h), rows are first written to FILE.part, with FILE.journal, and at
 * the end FILE.run.json is added. FILE.state has the same rows in binary form, from which a resumed
 * run computes the table of all items; studies without such a table have no such file. The file
 * name of a shard contains its number, rows-00003-of-00008.csv. Concatenated, without the headers
 * of later CSV files, the shards equal the file of a single run. Memory is constant, except that
 * lines of CSV wait until the first item succeeds, which determines the columns.
 */
#ifndef ATTN_STREAM_EACH_H
#define ATTN_STREAM_EACH_H

#include "base/sink.h"
#include "base/source.h"
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
    ATTN_EACH_MATRICES = 4
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

/* The progress of a run. */
struct attn_batch_progress {
    uint64_t n_record, n_failed; /* records or items done and failed, including earlier runs */
    uint64_t n_before;           /* number of these that earlier runs computed */
    double seconds;              /* time since records are being computed */
    double share;                /* share of the input whose results are done, 0..1; 0: not known */
    double seconds_left;         /* estimated time until the end; 0: not known, or at the end */
};

struct attn_each_options {
    size_t size;            /* size of this struct */
    const char *path;       /* path of a file or a pipe; NULL: writes to the sink */
    struct attn_sink *sink; /* borrowed; not committed */
    enum attn_each_form form;
    bool is_resumed; /* continues an incomplete file; begins a new one if it is missing */
    bool is_synced;  /* syncs to disk at each checkpoint and at the end */

    const struct attn_source *source; /* source of the host's model; required for a file */

    /* The other options that affect the rows, as a JSON object on one line. A run can only be
     * resumed with the same text. NULL: "{}"; the caller then ensures that the options are the
     * same. */
    const char *asked;
    /* [n_file] files that affect the rows; their SHA-256 is added to the options */
    const char *const *files;
    size_t n_file;
    const char *const *command; /* [n_command] the command line, recorded in the manifest */
    size_t n_command;

    /* Called when the run ends early. Returns true if the last results may be wrong; they then get
     * no checkpoint. May be NULL. */
    bool (*is_spoiled)(void *user);
    void *user; /* passed to is_spoiled */

    struct attn_each_result *result; /* set at the end, also after a failure; or NULL */

    /* [n_output] several files of other formats instead of `path` and `sink`, for a batch: the
     * first gives journal and manifest their names */
    const struct attn_records_item *outputs;
    size_t n_output;
};

/* Sets OPTIONS [size bytes] to the defaults, and returns it. */
ATTN_API struct attn_each_options *attn_each_options_init(struct attn_each_options *options,
                                                          size_t size);
#define ATTN_EACH_OPTIONS_DEFAULT ATTN_DEFAULT_OF(attn_each_options)

#endif
