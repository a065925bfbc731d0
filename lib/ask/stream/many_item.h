/*
 * many_item.h - one of many texts while it is computed: its item, its run, the consumers of its
 * trace, and its result; also a pack, which computes several short inputs together. For many.c,
 * which reads records, schedules them and returns results:
 *
 *     attn_many_task_init(&task, host, &options, &err);         // once
 *     attn_many_item_prepare(&task, &item, &err);               // item.n_row, item.can_pack
 *     attn_many_item_compute(&task, &item, false, &err);        // or attn_many_pack_run
 *     attn_many_item_report(&task, &item, &result);
 *     attn_many_item_release(&item);
 */
#pragma once

#include "input/spaces.h"
#include "measures/analysis_internal.h"
#include "run/run_internal.h"
#include "stream/many.h"
#include "stream/token_reader.h"
#include "towers/pixels.h"

/* The options and the request for all records. */
struct attn_many_task {
    struct attn_host *host;
    struct attn_many_options options; /* the data it points to is borrowed */
    struct attn_request request;      /* for every record, except its input and source */
    size_t n_layer, n_head;
    size_t n_most;  /* maximum number of tokens of a text */
    bool has_cross; /* at least one layer attends to a source */

    /* For records that may share a session: */
    bool is_packed;                 /* sharing a session is possible */
    struct attn_run *longest;       /* owns; a run of the longest text that may share a session */
    struct attn_selection *watched; /* owns; the selection of the session's trace, or NULL */
    size_t n_longest;               /* positions of that text */
    struct attn_pixels blank;       /* owns; the input of that run, if the model reads pictures */
    size_t n_session_row;           /* positions of the session */
    size_t n_most_packed;           /* maximum number of texts in a pack */
};

enum {
    ATTN_MANY_PACK_ROWS = 128, /* maximum number of rows in a pack */
    ATTN_MANY_MOST_ROWS = 256, /* longer texts are computed alone, with all threads */
    ATTN_MANY_MASKED_ROWS =
        256 /* rows of masked copies that are fed together; at least ATTN_MANY_MOST_ROWS */
};

/* A text that is read in windows. Token i of a window is token shift + i of the text, except that
 * a start token (ATTN_SPECIAL_TOKENS_BOS) is put in front of each window. */
struct attn_many_whole {
    struct attn_sequence text; /* owns */
    double *surprisal;         /* [n] owns; of the windows that were handed out; or NULL */
    double *numbers;           /* [n, n_number] owns; likewise */
};

/* The answer about an item that is asked alone. */
struct attn_many_answer {
    struct attn_item_result result; /* owns its rows and numbers */
    struct attn_spaces spaces;
};

/* A window of a text. */
struct attn_many_part {
    struct attn_many_whole *whole; /* the text; NULL: the item is no window. The last owns it */
    size_t shift, from;      /* as above; and the first token that is not in an earlier window */
    int32_t *ids;            /* owns */
    struct attn_input input; /* these ids */
};

/* What is measured of the heads of a text. */
struct attn_many_heads {
    struct attn_measure_group group; /* owns; computes the measures */
    struct attn_head_mixes *mixing;  /* owns; or NULL */
    struct attn_head_mix *mixes;     /* [L, H] owns; or NULL */
    float *measures;                 /* [n_measure, L, H] owns; or NULL */
    double *exact;                   /* [n_measure, L, H] owns; before they were rounded; or NULL */
};

/* Initialize with = {0}; end with attn_many_item_release. */
struct attn_many_item {
    struct attn_item *given; /* borrowed */
    bool is_second, is_last; /* which of the texts of a pair it is */
    struct attn_many_part part;

    /* Set by attn_many_item_prepare: */
    enum attn_reason failure;
    struct attn_error *why; /* owns; why it failed, unless the item had failed before; or NULL */
    struct attn_run *run;   /* owns; NULL if it failed */
    size_t n_row;           /* its positions; 0 if it failed */
    bool can_pack;          /* it can share a session with others */
    size_t n_byte;          /* estimated bytes that it occupies from computing until release */

    /* Set while it is computed: */
    struct attn_selection *watched; /* owns; the selection of its trace */
    struct attn_many_heads heads;
    struct attn_capture *capture;           /* owns; or NULL */
    double *surprisal;                      /* [n_token] owns; or NULL */
    struct attn_token_text tokens;          /* owns `numbers`; for the reader of tokens */
    const struct attn_token_reader *reader; /* borrowed; or NULL, like the next */
    void *reading;                          /* owns; its state */
    size_t position;                        /* the position whose logits are stored */
    float *logits;                          /* [n_vocab] owns; or NULL */
    struct attn_pool *pool;                 /* helps with trace events; or NULL */
    struct attn_result result;              /* owns; only its predictions are used */
    struct attn_many_answer *answer;        /* owns; the answer about the item instead; or NULL */
};

static inline const struct attn_input *attn_many_item_input(const struct attn_many_item *item)
{
    return item->part.whole  ? &item->part.input
           : item->is_second ? &item->given->other
                             : &item->given->input;
}

/* Initializes TASK from GIVEN. Fails if no record can satisfy the request. Errors have a stage. */
enum attn_status attn_many_task_init(struct attn_many_task *task, struct attn_host *host,
                                     const struct attn_many_options *given, struct attn_error *err);

void attn_many_task_release(struct attn_many_task *task);

/* If GIVEN has a single text that must be read in windows, reads its tokens into *WHOLE, which the
 * caller owns; a text that cannot be read has none, and fails later. Then cuts the next window,
 * which begins at shift and from, for ITEM, and sets is_last. */
enum attn_status attn_many_whole_read(const struct attn_many_task *task,
                                      const struct attn_item *given, struct attn_many_whole **whole,
                                      struct attn_error *err);
enum attn_status attn_many_whole_cut(const struct attn_many_task *task, struct attn_many_item *item,
                                     struct attn_error *err);
void attn_many_whole_free(struct attn_many_whole *whole); /* NULL is allowed */

/* Reads the input of ITEM. A bad input is a failure of the item, not of this call. */
enum attn_status attn_many_item_prepare(const struct attn_many_task *task,
                                        struct attn_many_item *item, struct attn_error *err);

/* Computes ITEM, which is prepared, in a separate session: on all threads of the host if HAS_POOL,
 * else on the calling thread. */
enum attn_status attn_many_item_compute(const struct attn_many_task *task,
                                        struct attn_many_item *item, bool has_pool,
                                        struct attn_error *err);

/* Fills RESULT, which borrows from ITEM, once it is computed or has failed. */
void attn_many_item_report(const struct attn_many_task *task, const struct attn_many_item *item,
                           struct attn_item_result *result);

void attn_many_item_release(struct attn_many_item *item);

/* A session for short texts, which are fed together, so that one matrix product has rows of several
 * texts. Products of 128 rows do four times as many multiply-adds per second as products of six
 * rows; more rows gain nothing. */
struct attn_many_pack;

/* Creates a pack. Its session is allocated on first use. TASK is borrowed. */
enum attn_status attn_many_pack_create(const struct attn_many_task *task,
                                       struct attn_many_pack **pack, struct attn_error *err);
void attn_many_pack_free(struct attn_many_pack *pack); /* NULL is allowed */

/* Computes ITEMS [n], which are prepared and have can_pack set. Together they have at most
 * ATTN_MANY_PACK_ROWS positions, unless there is only one. */
enum attn_status attn_many_pack_run(struct attn_many_pack *pack,
                                    struct attn_many_item *const *items, size_t n,
                                    struct attn_error *err);
