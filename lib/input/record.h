/*
 * record.h - a record: one of many inputs, and the reason if it could not be computed.
 *
 * A line of JSON or CSV becomes a record, and attn_run_many (run/many.h) computes one record after
 * the other. A record that fails keeps its place in the output, with a code for programs and a
 * message for people.
 */
#ifndef ATTN_INPUT_RECORD_H
#define ATTN_INPUT_RECORD_H

#include "input/input.h"

/* X(ID, number, code). The reasons why a record fails. Any other failure, of memory or a file, ends
 * the run. */
#define ATTN_RECORD_FAILURE_MAP(X)                                                                 \
    X(NONE, 0, "")             /* it has not failed */                                             \
    X(BAD_JSON, 1, "bad_json") /* the line is not a JSON object */                                 \
    X(NO_TEXT, 2, "no_text")   /* it has no text and no ids */                                     \
    X(BAD_TEXT, 3,                                                                                 \
      "bad_text")            /* the text is not UTF-8, or has a word that the vocabulary lacks */  \
    X(BAD_IDS, 4, "bad_ids") /* an id is not a whole number or exceeds the vocabulary */           \
    X(EMPTY, 5, "empty")     /* it has no tokens */                                                \
    X(TOO_LONG, 6, "too_long")           /* more tokens than the model or the caller allows */     \
    X(LINE_TOO_LONG, 7, "line_too_long") /* the line has more bytes than are allowed */            \
    X(BAD_SOURCE, 8, "bad_source") /* the source is missing, or the model does not accept it */    \
    X(NO_FIT, 9, "no_fit")         /* a requested position, word or key is missing */              \
    X(BAD_CSV, 10, "bad_csv")      /* the line of CSV does not have the fields of the header */    \
    X(BAD_VALUE, 11, "bad_value")  /* a value has the wrong type for its key */                    \
    X(BAD_IMAGE, 12, "bad_image")  /* the picture cannot be read, or has an unusable size */

enum attn_record_failure {
#define ATTN_RECORD_FAILURE_ENUM(id, number, code) ATTN_RECORD_FAILURE_##id = (number),
    ATTN_RECORD_FAILURE_MAP(ATTN_RECORD_FAILURE_ENUM)
#undef ATTN_RECORD_FAILURE_ENUM
        ATTN_N_RECORD_FAILURE = 0 ATTN_RECORD_FAILURE_MAP(ATTN_COUNT)
};

/* Returns the code of FAILURE, such as "too_long"; "" for NONE. Never NULL. */
ATTN_API const char *attn_record_failure_code(enum attn_record_failure failure);

/* The type of the `id` of a record. */
enum attn_record_id {
    ATTN_RECORD_ID_NUMBER = 0, /* no id: the record's number is used */
    ATTN_RECORD_ID_TEXT = 1,
    ATTN_RECORD_ID_INTEGER = 2, /* the digits of a number, unchanged */
};

/* Initialize with = {0}. The maker owns what it points to. */
struct attn_record {
    size_t number;           /* the record's index among all records, from 0 */
    enum attn_record_id has; /* the type of its id */
    const char *id;          /* [n_id] UTF-8 or digits; NULL for NUMBER */
    size_t n_id;
    struct attn_input input;          /* a text, ids, embeddings or a picture */
    struct attn_input source;         /* for models with cross-attention; others ignore it */
    void *mine;                       /* user data of the maker */
    enum attn_record_failure failure; /* unless NONE, the record is not computed */
    struct attn_error err;            /* why it failed */
    const char *const *next; /* [n_next] terminated continuations, which replace those of the
                                request; NULL: those of the request */
    size_t n_next;
    const char *at; /* terminated; the position of the requested logits, a number or a word
                       (input/position.h); NULL: the last position */
    /* Terminated; the selected rows, which replace those of the request; or NULL. */
    const char *queries;
    const struct attn_places *places; /* searched before those of the request; or NULL */
};

#endif
