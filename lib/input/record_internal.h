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

/* What some keys are called instead of their own names, and who takes the others. NULL: as they
 * are, and nobody. */
struct attn_record_keys {
    const char *text, *id;
    bool has_next; /* `next` is looked for, too */
    /* Takes VALUE, which is not null, of KEY, and all that belongs to it. Whether the record has an
     * input is then the caller's to check. */
    enum attn_status (*take)(void *user, struct attn_record_reading *reading,
                             const struct attn_json_token *key, const struct attn_json_token *value,
                             struct attn_error *err);
    /* Gets KEY and its first token, even if that is null, before it is taken. Or NULL. */
    enum attn_status (*see)(void *user, const struct attn_record_reading *reading,
                            const struct attn_json_token *key, const struct attn_json_token *value,
                            struct attn_error *err);
    void *user;          /* for both */
    bool has_no_offsets; /* the line was made of something else: messages give no offsets in it */
};

/* Integers of a list. */
struct attn_record_integers {
    int32_t *items; /* owns */
    size_t capacity;
};

/* What a record points to that was read of a line; owns. Initialize with = {0}. */
struct attn_record_store {
    struct attn_buffer text, id, source, pair, image; /* [size] bytes, UTF-8 */
    struct attn_record_integers ids, types, key_mask, source_ids;
    float *rows; /* [S, d_source] of a source that is numbers */
    size_t rows_capacity;
    struct attn_ndarray source_rows; /* these, with their shape */
    struct attn_buffer next_text;    /* the continuations, one after the other, each terminated */
    const char **next;               /* [n_next] where each begins */
    size_t next_capacity;
};

/* Reads LINE [size bytes] into RECORD, of which all but its number and `mine` is overwritten. A
 * line that is no such object gives a record that failed, with the reason, and ATTN_OK;
 * ATTN_NO_MEMORY is the only failure. KEYS may be NULL. */
enum attn_status attn_record_read(const char *line, size_t size,
                                  const struct attn_record_keys *keys,
                                  struct attn_record_store *store, struct attn_record *record,
                                  struct attn_error *err);

void attn_record_store_release(struct attn_record_store *store);

/* --- For those who take other keys ------------------------------------------------------------ */

/* A line on its way to a record. */
struct attn_record_reading {
    struct attn_json_reader reader;
    struct attn_record_store *store;
    struct attn_record *record;
    const struct attn_record_keys *keys; /* not NULL */
    const char *text_key, *id_key;
};

/* Says that the record fails because NAME has FOUND, unless it failed before, and skips what is
 * left of the value. */
enum attn_status attn_record_refuse(struct attn_record_reading *reading,
                                    enum attn_record_failure failure, const char *name,
                                    const struct attn_json_token *found, const char *expected,
                                    struct attn_error *err);

/* Takes the value of NAME as the text, or the ids, of INPUT, which then points into STORE. */
enum attn_status attn_record_take_text(struct attn_record_reading *reading, const char *name,
                                       const struct attn_json_token *value,
                                       struct attn_record_store *store, struct attn_input *input,
                                       struct attn_error *err);
enum attn_status attn_record_take_ids(struct attn_record_reading *reading, const char *name,
                                      const struct attn_json_token *value,
                                      struct attn_record_store *store, struct attn_input *input,
                                      struct attn_error *err);

/* Takes the value of NAME as the ids of the source SOURCE. */
enum attn_status attn_record_take_source_ids(struct attn_record_reading *reading, const char *name,
                                             const struct attn_json_token *value,
                                             struct attn_record_store *store,
                                             struct attn_input *source, struct attn_error *err);

/* Takes it as a source: a text, or rows of numbers. */
enum attn_status attn_record_take_source(struct attn_record_reading *reading, const char *name,
                                         const struct attn_json_token *value,
                                         struct attn_record_store *store, struct attn_input *input,
                                         struct attn_error *err);

/* Whether VALUE is an integer as it is written: no fraction, no exponent. */
bool attn_record_is_integer(const struct attn_json_token *value);

/* Bytes that what RECORD points to takes, about. */
size_t attn_record_n_byte(const struct attn_record *record);

#endif
