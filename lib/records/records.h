/*
 * records.h - what many inputs came to, written as it comes: a line of JSON a record, and beside it
 * tables and arrays with a row a record. Files grow under the name FILE.part and have their own
 * name when all is whole; a run that ended early can be resumed.
 *
 *     struct attn_records_item items[] = {{"jsonl", "results.jsonl"}, {"npy", "arrays"}};
 *     struct attn_records_form form = ATTN_RECORDS_FORM_DEFAULT;
 *     form.fields = ATTN_RECORD_FIELD_BIT(MEASURES), form.measures = ATTN_MEASURES_ALL;
 *     form.n_layer = 12, form.n_head = 12;
 *     attn_records_open(items, 2, &form, false, &records, &err);
 *     attn_records_write(records, &outcome, &err);      // of each record, in their order, or in an
 *                                                       // attn_done_fn: attn_outcome_of(result)
 *     attn_records_flush(records, false, &err);
 *     attn_records_finish(records, false, &err);        // results.jsonl.part is whole
 *     attn_records_commit(records, &err);               // results.jsonl, after the others
 *     attn_records_free(records);                       // without _commit the parts stay
 *
 * The formats are
 *
 *     jsonl   {"id":"p7","n_token":6,"ids":[804,...],"measures":{"entropy":[[0.41,...],...],...}}
 *             {"id":"p8","error":{"code":"too_long","message":"..."}}, a line a record
 *     csv     id,layer,head,n_token and the measures, a line a selected head of a record
 *     edges   id,layer,head,query,key,weight: the largest keys of each query, a line each
 *     npy     a folder: n_token.npy int32 [N], a file a measure float32 [N, L, H], and with
 *             predictions top_id.npy int32 [N, K], top_p.npy float32 [N, K]. A record that failed
 *             is a row of 0, NaN, -1 and NaN
 *     npz     an archive with members 000000007/blocks.0.attn.hook_pattern, those of a run; none of
 *             a record that failed. Its list of members, some 120 bytes each, belongs to its end
 *             and grows in a file beside it, FILE.members.part
 *
 * Numbers are the shortest text that reads back, null or nothing where there is none. The bytes
 * depend on the outcomes alone.
 */
#ifndef ATTN_RECORDS_RECORDS_H
#define ATTN_RECORDS_RECORDS_H

#include "analysis/edges.h"
#include "analysis/measure.h"
#include "capture/capture.h"
#include "output/output.h"
#include "run/many.h"

/* X(ID, name). What a line of JSON holds of a record, in this order. */
#define ATTN_RECORD_FIELD_MAP(X)                                                                   \
    X(IDS, 0, "ids")                 /* of its tokens */                                           \
    X(TOKENS, 1, "tokens")           /* their texts */                                             \
    X(OFFSETS, 2, "offsets")         /* where each begins and ends in the text, in bytes */        \
    X(MEASURES, 3, "measures")       /* of each head, [L, H] */                                    \
    X(SURPRISAL, 4, "surprisal")     /* of each token given those before it, in nats */            \
    X(PREDICTIONS, 5, "predictions") /* what comes next */                                         \
    X(TENSORS, 6, "tensors")         /* under their names in archives */

enum attn_record_field {
#define ATTN_RECORD_FIELD_ENUM(id, number, ...) ATTN_RECORD_FIELD_##id = (number),
    ATTN_RECORD_FIELD_MAP(ATTN_RECORD_FIELD_ENUM)
#undef ATTN_RECORD_FIELD_ENUM
        ATTN_N_RECORD_FIELD = 0 ATTN_RECORD_FIELD_MAP(ATTN_COUNT)
};

#define ATTN_RECORD_FIELD_BIT(id) (UINT64_C(1) << ATTN_RECORD_FIELD_##id)

ATTN_API const char *attn_record_field_name(enum attn_record_field field); /* "ids" */

/* Reads a list like "ids,measures" into a set of bits. ATTN_INVALID for an unknown name. */
ATTN_API enum attn_status attn_record_fields_parse(const char *list, uint64_t *fields,
                                                   struct attn_error *err);

/* What is written of each record, whatever it is. */
struct attn_records_form {
    size_t size;               /* of this struct */
    uint64_t fields;           /* of jsonl: bits of enum attn_record_field */
    attn_measure_set measures; /* which measures: ATTN_MEASURE_BIT of each */
    size_t n_layer, n_head;    /* L and H */
    size_t n_top;              /* K: next tokens that are predicted; 0: none */
    int precision;             /* digits after the point of decimal numbers, 0..17; -1: the shortest
                               text that reads back as the same number */
    attn_note_fn on_note;      /* gets, once, an id that a spreadsheet would run; or NULL */
    void *user;                /* for on_note */
};

#define ATTN_RECORDS_FORM_DEFAULT                                                                  \
    ((struct attn_records_form){.size = sizeof(struct attn_records_form), .precision = -1})

/* An output: where records go in a format. */
struct attn_records_item {
    const char *format;     /* "jsonl", "csv", "edges", "npy" or "npz" */
    const char *path;       /* a file, of npy a folder; NULL: the sink */
    struct attn_sink *sink; /* standard output, say; borrowed, and not committed. jsonl, csv and
                               edges can go there */
};

/* What a record came to. Everything is borrowed until attn_records_write returns. */
struct attn_outcome {
    size_t number;  /* its place among all, from 0 */
    const char *id; /* [n_id] UTF-8, or the digits of an integer; NULL: its number */
    size_t n_id;
    bool has_text_id;                 /* the id is a text */
    const char *failure;              /* a code as "too_long"; NULL: it did not fail. Of one that
                                         failed all that is below is not looked at */
    const char *message;              /* and why */
    size_t n_token;                   /* its tokens */
    const struct attn_labels *labels; /* its tokens and what is selected */
    const float
        *measures; /* [n_measure, L, H] those of the form, in the order of enum attn_measure;
                              NaN where there is none. NULL: there are none */
    const double *surprisal; /* [n_token] nats, NaN where there is none; or NULL */
    const struct attn_predictions *predictions; /* or NULL */
    const struct attn_capture *capture;         /* the selected tensors, or NULL */
    const struct attn_edges *edges;             /* the largest keys of each query, or NULL */
};

/* What attn_run_many reports of a record. Borrows from RESULT. */
ATTN_API struct attn_outcome attn_outcome_of(const struct attn_many_result *result);

struct attn_records;

/*
 * Opens all of the N outputs, or none; FORM and ITEMS are copied. With IS_RESUMED parts that are
 * there are opened as they are, and attn_records_begin must be called before the first record; else
 * there may be none. ATTN_IO when another process writes one of them.
 */
ATTN_API enum attn_status attn_records_open(const struct attn_records_item *items, size_t n,
                                            const struct attn_records_form *form, bool is_resumed,
                                            struct attn_records **records, struct attn_error *err);

/*
 * Says where a resumed run begins: after N_RECORD records, whose parts had SIZES [n_size] bytes
 * after a flush, as attn_records_part says of each; longer parts are cut. Without sizes all parts
 * are emptied. ATTN_IO when a part has fewer bytes.
 */
ATTN_API enum attn_status attn_records_begin(struct attn_records *records, size_t n_record,
                                             const uint64_t *sizes, size_t n_size,
                                             struct attn_error *err);

/* Appends what the next record came to. */
ATTN_API enum attn_status attn_records_write(struct attn_records *records,
                                             const struct attn_outcome *outcome,
                                             struct attn_error *err);

/* Writes out all that was appended; IS_SYNCED waits until devices have it. */
ATTN_API enum attn_status attn_records_flush(struct attn_records *records, bool is_synced,
                                             struct attn_error *err);

/* A file that is being written. */
struct attn_records_part {
    const char *target;  /* the name that it will have; NULL of one that will be part of another */
    const char *path;    /* the name that it has */
    uint64_t size;       /* bytes */
    uint64_t n_changing; /* so many of these, from the first on, attn_records_finish writes again */
};

/* Part I, in an order that depends on the items alone; false: there are I of them. Sinks, FIFOs and
 * devices are none. Of the first item is the last part, and it gets its name last. Borrowed until
 * the next call. */
ATTN_API bool attn_records_part(const struct attn_records *records, size_t i,
                                struct attn_records_part *part);

/* Completes the parts: lengths in headers, the list of an archive. Then attn_records_commit gives
 * them their names. IS_SYNCED as above. */
ATTN_API enum attn_status attn_records_finish(struct attn_records *records, bool is_synced,
                                              struct attn_error *err);
ATTN_API enum attn_status attn_records_commit(struct attn_records *records, struct attn_error *err);

/* Whether all outputs are pipes whose readers went away, and this is why writing failed. One such
 * pipe among other outputs is no failure: nothing more goes into it. */
ATTN_API bool attn_records_is_abandoned(const struct attn_records *records);

/* Frees; parts without a name stay as they are. NULL is allowed. */
ATTN_API void attn_records_free(struct attn_records *records);

/* The form of what attn_run_many gives with OPTIONS and a model with the sizes of CONFIG: measures,
 * sizes and predictions. jsonl has ids, measures and, where asked for, predictions. */
ATTN_API struct attn_records_form attn_records_form_of(const struct attn_many_options *options,
                                                       const struct attn_config *config);

#endif
