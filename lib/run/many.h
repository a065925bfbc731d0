/*
 * many.h - the same request for many inputs: records in, results out in their order, on all
 * threads of a host and in memory that does not grow with their number.
 *
 *     enum attn_status next(void *user, struct attn_record *record, bool *is_over,
 *                           struct attn_error *err)
 *     {
 *         struct lines *lines = user;
 *         *is_over = lines->at == lines->n;
 *         if (!*is_over)
 *             record->input.text = lines->items[lines->at], record->input.n_text = ...;
 *         ...
 *     }
 *     enum attn_status done(void *user, const struct attn_many_result *result,
 *                           struct attn_error *err)
 *     {
 *         const float *entropy = attn_many_measure(result, ATTN_MEASURE_ENTROPY); // [L, H]
 *         ...
 *     }
 *     struct attn_many_options options = ATTN_MANY_OPTIONS_DEFAULT;
 *     struct attn_many_calls calls = {.next = next, .done = done, .user = &lines};
 *     options.request = &request, options.measures = ATTN_MEASURES_DEFAULT;
 *     attn_run_many(host, &options, &calls, &err);
 *
 * Each result is, to the bit, what the request gives for that input alone: it does not depend on
 * threads, on what else is computed, or on how texts are put together. Short texts are fed
 * together, as many as lie ready; nothing waits for more of them. So a caller that reads a line,
 * writes the result and then reads the next line is served at once.
 *
 * A record that fails is a result with the reason. Anything else that fails ends the run.
 */
#ifndef ATTN_RUN_MANY_H
#define ATTN_RUN_MANY_H

#include "analysis/measure.h"
#include "capture/capture.h"
#include "host/host.h"
#include "input/record.h"
#include "run/run.h"

struct attn_edges; /* analysis/edges.h */

struct attn_many_options {
    size_t size;                        /* of this struct */
    const struct attn_request *request; /* what is asked of every record; its input, source,
                                           outputs and selection are not used. Words among its
                                           queries are found in each text */
    attn_measure_set measures;          /* ATTN_MEASURE_BIT of what is found of every head that the
                                           request selects; 0: nothing */
    bool keeps_tensors;                 /* the tensors that the request selects are captured */
    bool has_surprisal;                 /* of each token, in nats */
    size_t n_max_token;                 /* a longer text fails; 0: what the model takes */
    size_t n_window;                    /* most records in memory; 0: 1,024 */
    size_t n_window_byte;               /* bytes in memory, except for one record; 0: 64 MiB */
    size_t n_edge;   /* the so many largest keys of each query are found; 0: none */
    bool has_logits; /* after one position of each record, which says which */
};

#define ATTN_MANY_OPTIONS_DEFAULT                                                                  \
    ((struct attn_many_options){.size = sizeof(struct attn_many_options)})

/* The result of a record. Borrowed until `done` returns. */
struct attn_many_result {
    const struct attn_record *record; /* its number, id, failure */
    size_t n_token;                   /* 0 if it failed */
    const struct attn_labels *labels; /* ids, tokens, offsets and the selection; NULL if it
                                         failed */
    const float *measures;            /* [n_measure, L, H], in the order of enum attn_measure; NaN
                                          of heads that are not selected and where there is no such
                                          row; NULL of one that failed or if none were asked for */
    const double *exact;              /* the measures before they were rounded */
    attn_measure_set which;           /* which measures they are */
    size_t n_layer, n_head;           /* L and H */
    struct attn_predictions predictions; /* if asked for */
    const struct attn_capture *capture;  /* the tensors; NULL unless they are kept */
    const double *surprisal; /* [n_token] -ln p(token | those before), the first NaN; of an encoder
                                -ln p(token | all others), special ones NaN; or NULL */
    const struct attn_edges *edges; /* the largest keys of each query; NULL unless asked for */
    bool is_followed;               /* the next result is ready and comes at once */
    const struct attn_run *run;     /* of the record; NULL if it failed */
    const float *logits;            /* [n_vocab] after the position of the record; or NULL */
};

/* Reads the next record into RECORD, which is {0} except for its number, or sets *is_over. The
 * caller owns what the record points to, and keeps it valid until `release`. May block. Called on
 * the thread that called attn_run_many. */
typedef enum attn_status (*attn_next_fn)(void *user, struct attn_record *record, bool *is_over,
                                         struct attn_error *err);

/* Takes the result of a record. Called in the order of the records, one call at a time, on any
 * thread. While it blocks, reading stops when the window is full. */
typedef enum attn_status (*attn_done_fn)(void *user, const struct attn_many_result *result,
                                         struct attn_error *err);

struct attn_many_calls {
    attn_next_fn next;
    attn_done_fn done;
    /* Releases the record, after `done`, or at the end if `done` was never called. Called once for
     * each call of `next`, also if that failed or set *is_over. Any thread may call it, in parallel
     * with `next`. Or NULL. */
    void (*release)(void *user, struct attn_record *record);
    void (*on_end)(void *user); /* the run ends early because of a failure: a blocked `next` should
                                   return. Called once, on any thread; or NULL */
    void *user;                 /* for these */
};

/* Runs all records that `next` reads. Memory beside the model: the window, a session of 256
 * positions for each thread of the host, and a session for the longest text so far. OPTIONS may be
 * NULL. Fails as attn_run_request does if the request fits no record, with the failure of `next` or
 * `done`, and with ATTN_CANCELED if the host's flag is set. Results before the first unfinished
 * record are handed out first. */
ATTN_API enum attn_status attn_run_many(struct attn_host *host,
                                        const struct attn_many_options *options,
                                        const struct attn_many_calls *calls,
                                        struct attn_error *err);

/* Returns the numbers of MEASURE [L, H] in RESULT; NULL if it was not requested or the record
 * failed. */
ATTN_API const float *attn_many_measure(const struct attn_many_result *result,
                                        enum attn_measure measure);

#endif
