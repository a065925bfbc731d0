/*
 * each.h - the results of each item of a study, a line for each row of its table: id, labels, the
 * row's columns, error. CSV, or JSON Lines. Rows are written as they come; a run that ended early
 * can be resumed, and the files of all shards joined are that of one run.
 *
 *     struct attn_each_options each = ATTN_EACH_OPTIONS_DEFAULT;
 *     each.path = "rows.csv", each.source = &source, each.is_resumed = true;
 *     study.items = items, study.each = &each;           // study/study.h
 *
 * A row is written with all digits of its numbers: a resumed run goes on with the same doubles. In
 * CSV what is missing is an empty field, NaN is nan, texts are escaped as in tables, ids and labels
 * are as they are. In JSON Lines what is missing has no key, NaN is null, infinities are 1e999.
 * Labels are those of attn_items_labels in CSV, where one that comes later is noted once and left
 * out; JSON has all. A label that is called as a column, id or error is written item.NAME. An item
 * that failed is one line with its error.
 *
 * The file grows as FILE.part, beside FILE.journal, and has its name when it is whole; then
 * FILE.run.json says how it was made: all as batch/batch.h has it. Where the items are a shard,
 * the name says which, rows-00003-of-00008.csv; joined without the later headers of CSV, the files
 * of all shards are that of one run. Memory is constant, but for CSV of items that fail before the
 * first that does not: the columns are known by that one, so their lines wait.
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
    ATTN_EACH_JSON_LINES = 2
};

/* What came of it. */
struct attn_each_result {
    uint64_t n_item;   /* that are done, with those of earlier runs */
    uint64_t n_before; /* of these, done by earlier runs */
    bool is_complete;  /* all were done before */
    bool can_resume;   /* it ended early, and can be resumed after n_item */
    bool is_abandoned; /* it ended early: nobody reads the pipe that it writes into */
};

struct attn_each_options {
    size_t size;            /* of this struct */
    const char *path;       /* a file, or a pipe; NULL: the sink */
    struct attn_sink *sink; /* borrowed, and not committed */
    enum attn_each_form form;
    bool is_resumed; /* goes on with a file that is not whole; begins where there is none */
    bool is_synced;  /* waits for the disk at each checkpoint and at the end */

    /* Of a file: what the host's model was opened from. */
    const struct attn_source *source;

    /* An object of JSON on one line: what else shapes the rows. It is resumed only with the same
     * text. NULL: "{}", and the caller vouches for the rest. */
    const char *asked;
    const char *const *files; /* [n_file] that shape them: their SHA-256 is added */
    size_t n_file;
    const char *const *command; /* [n_command] for the manifest: what the user typed */
    size_t n_command;

    /* Asked when it ends early: whether what was computed last cannot be trusted, so that no
     * checkpoint is taken of it. Or NULL. */
    bool (*is_spoiled)(void *user);
    void *user; /* for it */

    struct attn_each_result *result; /* filled, also after a failure; or NULL */
};

#define ATTN_EACH_OPTIONS_DEFAULT                                                                  \
    ((struct attn_each_options){.size = sizeof(struct attn_each_options)})

#endif
