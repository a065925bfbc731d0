/*
 * record.h - one of many inputs: what is known of it before it is computed, and why it failed.
 *
 * A line of JSON becomes a record, and attn_run_many (run/many.h) takes one after the other. A
 * record that cannot be computed stays in its place and says why: a code for programs, a message
 * for people.
 */
#ifndef ATTN_INPUT_RECORD_H
#define ATTN_INPUT_RECORD_H

#include "input/input.h"

/* X(ID, number, code). Why a record cannot be computed. All else that fails, memory or a
 * file, is no matter of one record and ends the run. */
#define ATTN_RECORD_FAILURE_MAP(X)                                                                 \
    X(NONE, 0, "")             /* it has not failed */                                             \
    X(BAD_JSON, 1, "bad_json") /* its line is not a JSON object */                                 \
    X(NO_TEXT, 2, "no_text")   /* it has no text and no ids */                                     \
    X(BAD_TEXT, 3, "bad_text") /* its text is not UTF-8, or the vocabulary lacks a word of it */   \
    X(BAD_IDS, 4, "bad_ids")   /* an id is no whole number, or not of the vocabulary */            \
    X(EMPTY, 5, "empty")       /* it has no tokens */                                              \
    X(TOO_LONG, 6, "too_long") /* it has more tokens than the model takes, or than are allowed */  \
    X(LINE_TOO_LONG, 7, "line_too_long") /* its line has more bytes than are allowed */            \
    X(BAD_SOURCE, 8, "bad_source") /* it has no source, or one that the model does not take */     \
    X(NO_FIT, 9, "no_fit") /* it does not have the positions, words or keys that were asked for */ \
    X(BAD_CSV, 10, "bad_csv")     /* its line is no record of CSV with the fields of the header */ \
    X(BAD_VALUE, 11, "bad_value") /* a key has a value of a kind that it does not take */          \
    X(BAD_IMAGE, 12, "bad_image") /* its picture cannot be read, or has a size of no use */

enum attn_record_failure {
#define ATTN_RECORD_FAILURE_ENUM(id, number, code) ATTN_RECORD_FAILURE_##id = (number),
    ATTN_RECORD_FAILURE_MAP(ATTN_RECORD_FAILURE_ENUM)
#undef ATTN_RECORD_FAILURE_ENUM
        ATTN_N_RECORD_FAILURE = 0 ATTN_RECORD_FAILURE_MAP(ATTN_COUNT)
};

/* "too_long"; "" for NONE. Never NULL. */
ATTN_API const char *attn_record_failure_code(enum attn_record_failure failure);

/* What the `id` of a record was. */
enum attn_record_id {
    ATTN_RECORD_ID_NUMBER = 0, /* there was none: its number stands for it */
    ATTN_RECORD_ID_TEXT = 1,
    ATTN_RECORD_ID_INTEGER = 2, /* its digits, as they were written */
};

/* Initialize with = {0}. What it points to is its maker's. */
struct attn_record {
    size_t number;           /* its place among all, from 0 */
    enum attn_record_id has; /* which id */
    const char *id;          /* [n_id] bytes of a text, UTF-8, or digits; NULL for NUMBER */
    size_t n_id;
    struct attn_input input;          /* a text, ids, embeddings or a picture */
    struct attn_input source;         /* of models with cross-attention; others do not look at it */
    void *mine;                       /* the maker's own, whatever it is */
    enum attn_record_failure failure; /* not NONE: it is not computed */
    struct attn_error err;            /* and why */
    const char *const *next;          /* [n_next] terminated: continuations instead of those of the
                                         request; NULL: it has none of its own */
    size_t n_next;
    const char *at;      /* terminated: the position whose logits are asked for, a number or a word
                            (input/position.h); NULL: the last */
    const char *queries; /* terminated: the rows that are selected, instead of those of the request;
                            or NULL */
    const struct attn_places *places; /* before those of the request; or NULL */
};

#endif
