/*
 * many.h - runs the same request for many inputs, on all threads of a host: reads items and
 * returns results in the same order, in memory that does not grow with their number.
 *
 *     enum attn_status next(void *user, struct attn_item **item, struct attn_error *err)
 *     {
 *         struct lines *lines = user;
 *         *item = lines->at < lines->n ? &lines->items[lines->at++] : NULL;
 *         return ATTN_OK;
 *     }
 *     enum attn_status done(void *user, const struct attn_item_result *result,
 *                           struct attn_error *err)
 *     {
 *         printf("%g\n", (double)result->heads.measures[0]);  // [L, H]
 *         return ATTN_OK;
 *     }
 *     struct attn_many_options options = ATTN_MANY_OPTIONS_DEFAULT;
 *     struct attn_item_calls calls = {.next = next, .done = done, .user = &lines};
 *     options.request = &request, attn_measures_parse("entropy", &options.measures, &err);
 *     attn_run_many(host, &options, &calls, &err);
 *
 * Each result is bit-identical to that of the request for this input alone: it does not depend on
 * threads, on other results, or on which texts are fed together. Short texts that have been read
 * are fed together; the run does not wait for more of them. So a caller that reads a line, writes
 * the result and then reads the next line gets each result at once.
 *
 * An item that fails is a result with the reason. Any other failure ends the run.
 */
#ifndef ATTN_STREAM_MANY_H
#define ATTN_STREAM_MANY_H

#include "measures/measure.h"
#include "run/host.h"
#include "run/item.h"
#include "run/run.h"
#include "stream/item_result.h"

struct attn_token_reader; /* stream/token_reader.h */

struct attn_many_options {
    size_t size; /* of this struct */
    /* The request for every item; its input, source, outputs and selection are not used. Words
     * among its queries are found in each text. Texts longer than its `max_input` fail. */
    const struct attn_request *request;
    attn_measure_set measures; /* ATTN_MEASURE_BIT of each measure to compute for every head that
                                  the request selects; 0: none */
    bool keeps_tensors;        /* captures the tensors that the request selects */
    bool has_surprisal;        /* computes the surprisal of each token, in nats */
    size_t n_window;           /* maximum number of texts in memory; 0: 1,024 */
    size_t n_window_byte;      /* maximum bytes in memory, which one text may exceed; 0: 64 MiB */
    bool has_logits; /* computes the logits after one position of each item: its `answer.at`, by
                        default the last one */
    bool has_mixes;  /* computes how each head divides its weight */
    bool is_serial;  /* with `ask`: items follow one after the other, each on all threads */
    /* A single text that is longer than a run takes is read in windows, each this many positions
     * after the previous one, and has one result: each token is that of the first window that has
     * it, and the result has a `text`, `surprisal` and `numbers` alone. 0: a longer text fails */
    size_t stride;
    const struct attn_token_reader *tokens; /* with has_surprisal; or NULL */
    bool is_only; /* one text: notes do not number it, and the caller notes unusual spaces */
};

/* Sets OPTIONS [size bytes] to the defaults, and returns it. */
ATTN_API struct attn_many_options *attn_many_options_init(struct attn_many_options *options,
                                                          size_t size);
#define ATTN_MANY_OPTIONS_DEFAULT ATTN_DEFAULT_OF(attn_many_options)

/* Reads the next item, with its number; NULL after the last. The caller owns it, and keeps it valid
 * until `release`. May block. Called on the thread that called attn_run_many. */
typedef enum attn_status (*attn_next_fn)(void *user, struct attn_item **item,
                                         struct attn_error *err);

/* Adds the answer of a question to RESULT. */
typedef enum attn_status (*attn_answer_fn)(void *user, struct attn_item_result *result,
                                           struct attn_error *err);

/* Receives the result of an item; for a pair, two results, one after the other. Called in the order
 * of the items, one call at a time, on any thread. While it blocks, reading stops when the window
 * is full. */
typedef enum attn_status (*attn_done_fn)(void *user, const struct attn_item_result *result,
                                         struct attn_error *err);

/* What is called for the items on their way, from `next` to `done`. */
struct attn_item_calls {
    attn_next_fn next;
    attn_done_fn done;
    /* Releases an item, after its last `done`, or at the end if `done` was never called. Called
     * once for each item, also if `next` then failed. Any thread may call it, in parallel with
     * `next`. Or NULL. */
    void (*release)(struct attn_item *item);
    void (*on_end)(void *user); /* called once, on any thread, if a failure ends the run early: a
                                   blocked `next` should return; or NULL */
    /* Answers about the item of RESULT, also a pair at once, instead of a run of its text. RESULT
     * has nothing else, except `spaces`. A failure belongs to the item, unless all items would fail
     * with it. Called on several threads at a time. Or NULL. */
    attn_answer_fn ask;
    /* Adds the answer to the result of one text of an item, the only one, or the first or second of
     * a pair; that of the last text counts, and is the only one that `done` receives. An emptied
     * table and `beside` are reused. Called like `done`; not again for an item after one of its
     * texts failed. Or NULL. */
    attn_answer_fn find;
    void *user; /* user data of these functions */
};

/* Runs all items that `next` reads. Memory in addition to the model: the window, a session of 256
 * positions for each thread of the host, and a session for the longest text so far. OPTIONS may be
 * NULL. Fails like attn_run_request if no item can satisfy the request, with the failure of
 * `next` or `done`, and with ATTN_CANCELED if the host's flag is set. Before it fails, it hands out
 * the results before the first unfinished item. */
ATTN_API enum attn_status attn_run_many(struct attn_host *host,
                                        const struct attn_many_options *options,
                                        const struct attn_item_calls *calls,
                                        struct attn_error *err);

#endif
