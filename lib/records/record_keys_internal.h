/*
 * record_keys_internal.h - the keys of records and items, and how their values are read: from
 * tokens of JSON and from fields of CSV in the same way.
 *
 *     attn_record_find_key(&form, "foil", 4, &key);
 *     attn_record_set(&reading, &key, &value, &err);     // item.foil
 *
 * Adding a key is a row of the table in record_keys.c. For the files of this layer.
 */
#ifndef ATTN_RECORDS_RECORD_KEYS_INTERNAL_H
#define ATTN_RECORDS_RECORD_KEYS_INTERNAL_H

#include "formats/json_reader.h"
#include "input/record.h"
#include "records/record_store.h"

struct attn_cell;

/* What values a key may have, and the fields at `at` and `second` that get them. */
enum attn_key_kind {
    ATTN_KEY_ID,       /* a text or an integer: the id of the record */
    ATTN_KEY_BYTES,    /* a text: const char *; second: size_t */
    ATTN_KEY_TEXT,     /* a text without NUL: const char * */
    ATTN_KEY_POSITION, /* the same, or an integer: const char * */
    ATTN_KEY_PLACE,    /* the same: a place of the item, named by the key after "pos." */
    ATTN_KEY_TOKEN,    /* an integer from 0 on: const int32_t * */
    ATTN_KEY_INTEGERS, /* a list of these: const int32_t *; second: size_t. In CSV "5 17 3" */
    ATTN_KEY_SOURCE,   /* a text, or rows of numbers: struct attn_input */
    ATTN_KEY_ROWS,     /* a text without NUL, the .npy file of such rows: struct attn_input */
    ATTN_KEY_NEXT,     /* a text or a list of texts, without NUL: the continuations of the record */
    ATTN_KEY_WORDS,    /* a list of texts without NUL: struct attn_word_texts; or a LABEL */
    ATTN_KEY_PICTURE,  /* a text without NUL: const char *; anything else is ignored */
    ATTN_KEY_IMAGE,    /* a LABEL, which is also a path if it is a text without NUL: const char * */
    ATTN_KEY_LABEL     /* a text, a number or a boolean: a label of the item */
};

enum attn_key_trait {
    ATTN_KEY_OF_TEXTS = 1, /* lines that are only texts have it */
    ATTN_KEY_OF_BATCH = 2, /* records of a batch have it */
    ATTN_KEY_OF_ITEMS = 4, /* items have it */
    ATTN_KEY_IS_INPUT = 8  /* its value is an input, or a source, which may be the only one */
};

struct attn_record_key {
    const char *name; /* terminated */
    size_t n_name;
    enum attn_key_kind kind;
    enum attn_record_failure failure; /* of other values */
    unsigned traits;
    size_t at, second; /* in struct attn_item_made, which begins with the record */
};

/* Which keys a line may have. */
struct attn_record_form {
    enum attn_key_trait reader; /* ATTN_KEY_OF_TEXTS, _OF_BATCH or _OF_ITEMS */
    const char *text, *id;      /* other names of these two keys; or NULL */
};

/* Finds the key NAME [size]. With items every other key is a PLACE or a LABEL, whose `name` is NULL
 * until the caller sets it; else returns false. */
bool attn_record_find_key(const struct attn_record_form *form, const char *name, size_t size,
                          struct attn_record_key *key);

/* Whether an item may have the values of KEY as a label. */
bool attn_record_key_is_label(const struct attn_record_key *key);

/* The state of reading one line. */
struct attn_record_reading {
    struct attn_record *record; /* of items that of a struct attn_item_made */
    struct attn_record_store *store;
};

/* A value. */
struct attn_record_value {
    struct attn_json_token token;  /* its first one, or all of it */
    struct attn_json_reader *json; /* which has the rest of a list; NULL: a field of CSV */
    size_t at;                     /* bytes of a list of CSV that were read */
};

/* The field TEXT [size] of CSV, as a value of KEY. It is a number or a boolean if JSON would read
 * one and KEY may have one. */
struct attn_record_value attn_record_field(const struct attn_record_key *key, const char *text,
                                           size_t size);

/* Reads VALUE, which is not null, as that of KEY. A wrong one fails the record, unless it failed
 * before. A list may be left in its middle. ATTN_NO_MEMORY is the only error. */
enum attn_status attn_record_set(const struct attn_record_reading *reading,
                                 const struct attn_record_key *key, struct attn_record_value *value,
                                 struct attn_error *err);

/* Fails the record because NAME has VALUE, unless it failed before. */
void attn_record_refuse(const struct attn_record_reading *reading, enum attn_record_failure failure,
                        const char *name, const struct attn_record_value *value,
                        const char *expected);

/* Reads the boolean or the finite number TOKEN: an integer, or a real if it does not fit 64 bits.
 * False for other tokens. */
bool attn_label_read_value(const struct attn_json_token *token, struct attn_cell *value);

#endif
