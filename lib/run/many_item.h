/*
 * many_item.h - one of many inputs while it is inside: its record, its run, those who listen to it,
 * and what it came to. For the files of this layer.
 */
#ifndef ATTN_RUN_MANY_ITEM_H
#define ATTN_RUN_MANY_ITEM_H

#include "analysis/metric.h"
#include "run/many.h"
#include "run/run_internal.h"

/* What is asked of every record. */
struct attn_many_task {
    struct attn_host *host;
    struct attn_many_options options; /* what it points to is borrowed */
    struct attn_request request;      /* of every record, but for its input and source */
    size_t n_layer, n_head;
    const struct attn_metric *metrics[ATTN_N_MEASURE]; /* [n_metric] that find the measures */
    size_t n_metric;
    size_t n_most;  /* tokens of the longest text that is taken */
    bool has_cross; /* some layer attends to a source */

    /* Of records that may share a session: */
    bool is_packed;                 /* there are such */
    struct attn_run *longest;       /* owns; a run of the longest text that does */
    struct attn_selection *watched; /* owns; what their session watches, or NULL */
    size_t n_longest;               /* positions of that text */
    size_t n_session_row;           /* positions of the session */
    size_t n_most_packed;           /* texts at a time */
};

enum {
    ATTN_MANY_PACK_ROWS = 128, /* rows that are fed together */
    ATTN_MANY_MOST_ROWS = 256  /* a longer text gets all threads for itself */
};

/* Initialize with = {0}; end with attn_many_item_release. */
struct attn_many_item {
    struct attn_record record;
    struct attn_run *run; /* owns; NULL before it is prepared and of a record that failed */
    struct attn_selection *watched;                        /* owns; what it listens to */
    struct attn_measurement *measurements[ATTN_N_MEASURE]; /* [n_metric] own */
    struct attn_edges *edges;                              /* owns; or NULL */
    struct attn_capture *capture;                          /* owns; or NULL */
    float *measures;                                       /* [n_measure, L, H] owns; or NULL */
    double *exact;                                         /* likewise; before they were rounded */
    double *surprisal;                                     /* [n_token] owns; or NULL */
    struct attn_pool *pool;                                /* helps with what is heard; or NULL */
    struct attn_result result;                             /* owns its predictions */
};

/* Reads GIVEN, and says whether the request can be served at all. Errors have a stage. */
enum attn_status attn_many_task_init(struct attn_many_task *task, struct attn_host *host,
                                     const struct attn_many_options *given, struct attn_error *err);

void attn_many_task_release(struct attn_many_task *task);

/* Whether ITEM, which is prepared, can share a session with others. */
bool attn_many_task_can_pack(const struct attn_many_task *task, const struct attn_many_item *item);

/* Reads the input of ITEM. What is wrong with it goes into its record, and is no failure here. */
enum attn_status attn_many_item_prepare(const struct attn_many_task *task,
                                        struct attn_many_item *item, struct attn_error *err);

/* Makes those who listen to ITEM, which is prepared. POOL, or NULL, helps with long rows. */
enum attn_status attn_many_item_listen(const struct attn_many_task *task,
                                       struct attn_many_item *item, struct attn_pool *pool,
                                       struct attn_error *err);

/* An attn_trace_fn. USER is the item, which listens. */
enum attn_status attn_many_item_event(void *user, const struct attn_trace_event *event,
                                      struct attn_error *err);

/* Makes the measures of what was heard, and frees what was only for that. */
enum attn_status attn_many_item_finish(const struct attn_many_task *task,
                                       struct attn_many_item *item, struct attn_error *err);

/* Computes ITEM, which is prepared, by itself: listens, feeds a session, finishes. POOL: NULL for
 * the thread that calls. */
enum attn_status attn_many_item_compute(const struct attn_many_task *task,
                                        struct attn_many_item *item, struct attn_pool *pool,
                                        struct attn_error *err);

/* About how many bytes ITEM, which is prepared, holds from when it is computed until it is handed
 * out. */
size_t attn_many_item_n_byte(const struct attn_many_task *task, const struct attn_many_item *item);

/* What the caller is told of ITEM. */
struct attn_many_result attn_many_item_result(const struct attn_many_task *task,
                                              const struct attn_many_item *item);

void attn_many_item_release(struct attn_many_item *item);

#endif
