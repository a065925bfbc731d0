/*
 * record_internal.h - a record from one line of JSON.
 *
 *     struct attn_record_store store = {0};
 *     struct attn_record record = {.number = i};
 *     attn_record_read(line, size, NULL, &store, &record, &err);
 *     ... record.failure, record.id, record.input: valid until the store reads another line ...
 *     attn_record_store_release(&store);
 *
 * The line is an object with `text`, a string, or `ids`, a list of integers; with `id`, a string or
 * an integer, if it has one; and with `source` for models with cross-attention: a string, or a list
 * of rows of numbers; and with `next`, where it is looked for: a string, or a list of them. Other
 * keys are ignored, and null is the same as no key. JSON is read strictly
 * (formats/json_reader.h): no key twice, no lone surrogate, at most 64 levels.
 */
#ifndef ATTN_RUN_RECORD_INTERNAL_H
#define ATTN_RUN_RECORD_INTERNAL_H

#include "base/buffer.h"
#include "run/record.h"

/* Which keys are looked for. */
struct attn_record_keys {
    const char *text, *id; /* what these are called instead of their own names; NULL: as they are */
    bool has_next;         /* `next` is one */
};

/* What a record points to that was read of a line; owns. Initialize with = {0}. */
struct attn_record_store {
    struct attn_buffer text, id, source; /* [size] bytes, UTF-8 */
    int32_t *ids;                        /* [n_id] */
    size_t ids_capacity;
    float *rows; /* [S, d_source] of a source that is numbers */
    size_t rows_capacity;
    struct attn_ndarray source_rows; /* these, with their shape */
    struct attn_buffer next_text;    /* the continuations, one after the other, each terminated */
    const char **next;               /* [n_next] where each begins */
    size_t next_capacity;
};

/*
 * Reads LINE [size bytes] into RECORD, of which all but its number and `mine` is overwritten. A
 * line that is no such object gives a record that failed, with the reason, and ATTN_OK;
 * ATTN_NO_MEMORY is the only failure. KEYS may be NULL.
 */
enum attn_status attn_record_read(const char *line, size_t size,
                                  const struct attn_record_keys *keys,
                                  struct attn_record_store *store, struct attn_record *record,
                                  struct attn_error *err);

void attn_record_store_release(struct attn_record_store *store);

#endif
