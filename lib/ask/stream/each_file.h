/*
 * each_file.h - the file of the rows of items (each.h), which grows as FILE.part and gets its name
 * when it is complete; and how a run goes on after the rows of an earlier one. Private to the
 * library.
 *
 *     struct attn_each_file file = {.options = &each, .field = "each", .has_rows_alone = true};
 *     attn_each_file_name(&file, items, &err);
 *     attn_each_file_open(&file, "rows", &form, host, &err);
 *     attn_each_file_resume(&file, items, take, user, &result, &err);
 *     attn_each_file_write(&file, &result, &err);           // each item
 *     attn_each_file_finish(&file, &err);
 *     can_resume = attn_each_file_keep(&file, false);       // or ends early
 *     attn_each_file_release(&file);
 *
 * A resumed run reads the rows that are there, item by item, and compares their ids with those of
 * the items. It computes the last of these items again, which may have only some of its rows, and
 * compares the bytes: other ones are of other options or another model. FILE.part.key, one line,
 * has a hash of the options and files (seal.h), the place of the last item and a hash of all items
 * up to it, with their pictures. The line is written before the rows of the item, so that it knows
 * of every row that a kill leaves. So all rows are of one run, nothing is lost, and nothing is
 * written twice.
 */
#pragma once

#include "base/buffer.h"
#include "stream/each.h"
#include "stream/records_internal.h"

/* The line of FILE.part.key, before `state`: hashes of options, files and version, and of the
 * items, and the number of items that were read, those of other shards included. */
struct attn_each_key {
    uint64_t options, n_read, items;
};

/* Set the first fields, and zero the rest. */
struct attn_each_file {
    const struct attn_each_options *options; /* borrowed */
    const char *field;                       /* the option that names the file, for messages */
    bool has_rows_alone;                     /* a run can go on from the rows */
    attn_note_fn on_note;                    /* or NULL */
    void *user;                              /* passed to on_note */

    struct attn_buffer path;  /* owns; with the shard; without data for a sink */
    bool is_file;             /* neither a sink nor a stream, so it can be resumed */
    bool is_complete;         /* an earlier run was complete: nothing is written */
    bool is_other;            /* an earlier run had other options, files or items */
    struct attn_each_key key; /* of an earlier run; and of this one */
    struct attn_each_key own;
    struct attn_buffer key_path;  /* owns; of FILE.part.key; without data if there is none */
    int key_file;                 /* its descriptor */
    char state[192];              /* text of the caller's in the key of an item, then of the next */
    struct attn_records *records; /* owns; NULL before it is open */
    uint64_t n_item;              /* number of items whose rows are there */
    uint64_t n_before;            /* bytes that an earlier run left */
};

/* Appends PATH with shard SHARD of N_SHARD in its last part, results-00003-of-00008.jsonl. PATH is
 * unchanged if N_SHARD is 0 or PATH is a stream. */
void attn_each_path_append(struct attn_buffer *out, const char *path, size_t shard, size_t n_shard);

/* Sets the path for the shard of ITEMS. ATTN_INVALID if a stream is to be resumed, or if the file
 * is that of ITEMS. */
enum attn_status attn_each_file_name(struct attn_each_file *file, const struct attn_items *items,
                                     struct attn_error *err);

/* Opens the file in FORMAT (records_internal.h). Returns an error if it would replace a file of the
 * model. */
enum attn_status attn_each_file_open(struct attn_each_file *file, const char *format,
                                     const struct attn_records_form *form, struct attn_host *host,
                                     struct attn_error *err);

/* Receives an item of an earlier run, with its rows if the form asks for them, or its failure.
 * Borrowed. */
typedef enum attn_status (*attn_earlier_fn)(void *user, const struct attn_item_result *result,
                                            struct attn_error *err);

/* If the options say so, passes the items of an earlier run, but for the last, to TAKE, and sets
 * the counts of RESULT. ATTN_INVALID, with the stage of options, if the rows are not those of
 * ITEMS, and with the stage of the input if the key is another one. */
enum attn_status attn_each_file_resume(struct attn_each_file *file, struct attn_items *items,
                                       attn_earlier_fn take, void *user,
                                       struct attn_each_result *result, struct attn_error *err);

/* Writes the rows of an item. They are flushed unless another item follows at once. */
enum attn_status attn_each_file_write(struct attn_each_file *file,
                                      const struct attn_item_result *result,
                                      struct attn_error *err);

/* Gives the complete file its name. */
enum attn_status attn_each_file_finish(struct attn_each_file *file, struct attn_error *err);

/* Ends early. IS_WRONG: the last rows may be wrong. Returns true if the run can be resumed;
 * otherwise the file is removed. */
bool attn_each_file_keep(struct attn_each_file *file, bool is_wrong);

void attn_each_file_release(struct attn_each_file *file);
