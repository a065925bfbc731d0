/*
 * record_keys_internal.h - the keys of items, and readers for their values, which treat
 * tokens of JSON and fields of CSV alike.
 *
 *     attn_record_find_key("foil", 4, &key);
 *     attn_record_set(&item, &key, &value, &err);     // item.answer.foil
 *
 * A value may be in another form, "clean": "ids:5,17,3" or [5, 17, 3]: each form is a row of its
 * own. To add a key, add a row to the table in record_keys.c. Private to lib/ask/stream.
 */
#pragma once

#include "formats/json_reader.h"
#include "run/item.h"

struct attn_cell;

/* The type of a key's value, and of the fields at `at` and `second` in which it is stored. */
enum attn_key_kind {
    ATTN_KEY_ID,       /* a text or an integer: the id of the record */
    ATTN_KEY_BYTES,    /* a text: const char *; second: size_t */
    ATTN_KEY_TEXT,     /* a text without NUL: const char * */
    ATTN_KEY_POSITION, /* a text or an integer: const char ** */
    ATTN_KEY_PLACE, /* a text or an integer: a place of the item, named by the key after "pos." */
    ATTN_KEY_TOKEN, /* a nonnegative integer: const int32_t ** */
    /* a list of nonnegative integers: const int32_t *; second: size_t. In CSV "5 17 3" */
    ATTN_KEY_INTEGERS,
    ATTN_KEY_SOURCE, /* a text, or rows of numbers: struct attn_input */
    ATTN_KEY_ROWS,   /* a text without NUL, the .npy file of such rows: struct attn_input */
    ATTN_KEY_TEXTS,  /* a text or a list of texts, without NUL: const char *const *; second: size_t
                      */
    ATTN_KEY_CONTINUATIONS, /* the same; those with "ids:" become numbers: `next`, `next_ids` */
    ATTN_KEY_WORDS,         /* a list of texts without NUL: struct attn_word_texts; or a LABEL */
    ATTN_KEY_OBJECT,        /* an object, which is kept as JSON: const char * */
    ATTN_KEY_MESSAGES,      /* a list, which is kept as JSON, or a text without NUL: const char * */
    /* A LABEL, which is also kept if it is a text without NUL: const char *. */
    ATTN_KEY_PLAIN_LABEL,
    ATTN_KEY_LABEL /* a text, a number or a boolean: a label of the item */
};

enum attn_key_trait {
    ATTN_KEY_IS_INPUT = 1, /* its value is an input, or a source, which may be the only input */
    ATTN_KEY_IS_TEXT = 2   /* it is stored in `texts` of the item */
};

struct attn_record_key {
    const char *name; /* null-terminated */
    size_t n_name;
    const char *form; /* what the value begins with, "ids:"; NULL: the key's own form */
    enum attn_key_kind kind;
    enum attn_reason failure; /* failure code for values of another type */
    unsigned traits;
    size_t at, second; /* offsets in struct attn_item, or in its `texts` */
};

/* Removes blanks around NAME [size]. */
void attn_record_trim(const char **name, size_t *size);

/* Finds the key NAME [size]. An unknown one is a PLACE or a LABEL, whose `name` is NULL until the
 * caller sets it. */
void attn_record_find_key(const char *name, size_t size, struct attn_record_key *key);

/* Finds the row of the key NAME [size] for values that begin with FORM. Returns false if there is
 * none. */
bool attn_record_find_form(const char *name, size_t size, const char *form,
                           struct attn_record_key *key);

/* Returns true if values of KEY may also be labels of an item. */
bool attn_record_key_is_label(const struct attn_record_key *key);

/* A value. */
struct attn_record_value {
    struct attn_json_token token;  /* its first token, or the only one */
    struct attn_json_reader *json; /* provides the rest of a list; NULL: a field of CSV */
    size_t at;                     /* bytes of a list in CSV that were read */
};

/* Returns the CSV field TEXT [size] as a value of KEY: a number or a boolean if JSON would read it
 * as such and KEY allows that type; otherwise a text. */
struct attn_record_value attn_record_field(const struct attn_record_key *key, const char *text,
                                           size_t size);

/* Reads VALUE, which is not null, as the value of the key NAMED. If it is invalid, marks the record
 * as failed, unless it failed before; a list may then be read only in part. ATTN_NO_MEMORY is the
 * only error. */
enum attn_status attn_record_set(struct attn_item *item, const struct attn_record_key *named,
                                 struct attn_record_value *value, struct attn_error *err);

/* Marks the record as failed because NAME has VALUE, unless it failed before. */
void attn_record_refuse(struct attn_item *item, enum attn_reason failure, const char *name,
                        const struct attn_record_value *value, const char *expected);

/* Returns a null-terminated copy of a string, or of a number as written; NULL on failure. */
const char *attn_record_keep(struct attn_item *item, const struct attn_json_token *token,
                             size_t *size, struct attn_error *err);
