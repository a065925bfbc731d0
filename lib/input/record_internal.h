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
 * of rows of numbers; with `pair`, a second text, `types` of the tokens of `ids`, and `key_mask`,
 * of the source where there is one; and with `next`, where it is looked for: a string, or a list of
 * them. Without text and ids it has `image`, the path of a picture. Other keys are ignored, and
 * null is the same as no key. JSON is read strictly
 * (formats/json_reader.h): no key twice, no lone surrogate, at most 64 levels.
 */
#ifndef ATTN_INPUT_RECORD_INTERNAL_H
#define ATTN_INPUT_RECORD_INTERNAL_H

#include "base/buffer.h"
#include "formats/json_reader.h"
#include "formats/ndarray.h"
#include "input/record.h"

struct attn_record_reading;

/* Other names for some keys, and a function that reads keys which a record does not have. NULL: the
 * usual names; no function. */
struct attn_record_keys {
    const char *text, *id;
    bool has_next; /* `next` is looked for, too */
    /* Reads VALUE, which is not null, of KEY, and everything inside it. The caller must then check
     * that the record has an input. */
    enum attn_status (*take)(void *user, struct attn_record_reading *reading,
                             const struct attn_json_token *key, const struct attn_json_token *value,
                             struct attn_error *err);
    /* Called with KEY and its first token, which may be null, before the value is read. Or NULL. */
    enum attn_status (*see)(void *user, const struct attn_record_reading *reading,
                            const struct attn_json_token *key, const struct attn_json_token *value,
                            struct attn_error *err);
    void *user;          /* for both */
    bool has_no_offsets; /* the line was converted from another format: messages give no offsets */
};

/* Integers of a list. */
struct attn_record_integers {
    int32_t *items; /* owns */
    size_t capacity;
};

/* Owns the data that was read from a line, to which a record points. Initialize with = {0}. */
struct attn_record_store {
    struct attn_buffer text, id, source, pair, image; /* [size] bytes, UTF-8 */
    struct attn_record_integers ids, types, key_mask, source_ids;
    float *rows; /* [S, d_source] a source of numbers */
    size_t rows_capacity;
    struct attn_ndarray source_rows; /* these, with their shape */
    struct attn_buffer next_text;    /* all continuations, each terminated */
    const char **next;               /* [n_next] where each begins */
    size_t next_capacity;
};

/* Reads LINE [size bytes] into RECORD; overwrites everything but its number and `mine`. A malformed
 * line gives a failed record with the reason, and ATTN_OK. ATTN_NO_MEMORY is the only error. KEYS
 * may be NULL. */
enum attn_status attn_record_read(const char *line, size_t size,
                                  const struct attn_record_keys *keys,
                                  struct attn_record_store *store, struct attn_record *record,
                                  struct attn_error *err);

void attn_record_store_release(struct attn_record_store *store);

/* --- For those who take other keys ------------------------------------------------------------ */

/* The state of reading one line. */
struct attn_record_reading {
    struct attn_json_reader reader;
    struct attn_record_store *store;
    struct attn_record *record;
    const struct attn_record_keys *keys; /* not NULL */
    const char *text_key, *id_key;
};

/* Fails the record because NAME has FOUND, unless it failed before, and skips the rest of the
 * value. */
enum attn_status attn_record_refuse(struct attn_record_reading *reading,
                                    enum attn_record_failure failure, const char *name,
                                    const struct attn_json_token *found, const char *expected,
                                    struct attn_error *err);

/* Reads the value of NAME as the text or the ids of INPUT, which then points into STORE. */
enum attn_status attn_record_take_text(struct attn_record_reading *reading, const char *name,
                                       const struct attn_json_token *value,
                                       struct attn_record_store *store, struct attn_input *input,
                                       struct attn_error *err);
enum attn_status attn_record_take_ids(struct attn_record_reading *reading, const char *name,
                                      const struct attn_json_token *value,
                                      struct attn_record_store *store, struct attn_input *input,
                                      struct attn_error *err);

/* Reads the value of NAME as the ids of SOURCE. */
enum attn_status attn_record_take_source_ids(struct attn_record_reading *reading, const char *name,
                                             const struct attn_json_token *value,
                                             struct attn_record_store *store,
                                             struct attn_input *source, struct attn_error *err);

/* Reads the value as a source: a text, or rows of numbers. */
enum attn_status attn_record_take_source(struct attn_record_reading *reading, const char *name,
                                         const struct attn_json_token *value,
                                         struct attn_record_store *store, struct attn_input *input,
                                         struct attn_error *err);

/* Whether VALUE is written as an integer, without fraction and exponent. */
bool attn_record_is_integer(const struct attn_json_token *value);

/* The approximate size in bytes of the data of RECORD. */
size_t attn_record_n_byte(const struct attn_record *record);

#endif
