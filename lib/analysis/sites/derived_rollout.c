/*
 * derived_rollout.c - attention followed through the layers (Abnar & Zuidema 2020, arXiv
 * 2005.00928):
 *
 *     mixed_m = pattern_m, mean over its heads, plus the identity, each row divided by its sum
 *     rollout_l = mixed_l mixed_l-1 ... mixed_0
 *
 * The identity stands for the residual stream. To get row q, the unit vector e_q is multiplied by
 * the matrices of the layers from l down to 0: r = r mixed_m, in double precision, each sum over
 * ascending positions. So a row takes O(T) numbers, and its value depends on no other row. The
 * patterns of the layers below are computed again, some rows of all heads at a time.
 */
#include "sites/derived_internal.h"

#include "attention/keys.h"
#include "base/memory.h"
#include "base/pool_internal.h"
#include "trace/trace_internal.h"

#include <string.h>

enum {
    MOST_MIXED = 1 << 20,  /* largest number of cells of `mixed` in memory, if a layer may be fed
                              some rows at a time */
    MOST_ROLLED = 1 << 22, /* largest number of floats for the queries that are multiplied together;
                              one query may exceed it */
    QUERIES_PER_TASK = 4,
};

struct rollout {
    const struct attn_derivation *derivation;
    struct attn_store *store; /* owns; has the arrays */
    size_t n_head, n;         /* n: T, the number of positions */
    size_t n_at_once;         /* number of rows of `mixed` in memory */
    size_t first;             /* the first of these rows */
    double *mixed;            /* [n_at_once, n] rows of mixed_m */
    size_t *queries;          /* [n_query] the queries whose rows are being multiplied */
    size_t n_query;
    double *from, *to; /* [n_query, n] the rows of these queries, before and after a layer */
    float *row;        /* [n] a row that is emitted */
};

/* An attn_trace_fn: adds the pattern of each head to the rows of `mixed`. */
static enum attn_status on_pattern(void *user, const struct attn_trace_event *event,
                                   struct attn_error *err)
{
    struct rollout *rollout = user;

    (void)err;
    for (size_t r = 0; r < event->n_row; r++) {
        double *mixed = rollout->mixed + (event->row0 + r - rollout->first) * rollout->n;
        struct attn_row row = attn_event_row(event, r);
        struct attn_cells cells;

        while (attn_row_next(&row, &cells))
            for (size_t i = 0; i < cells.n; i++)
                mixed[cells.first + i] += (double)cells.values[i];
    }
    return ATTN_OK;
}

/* An attn_task_fn: makes one row of `mixed` from the sum over heads. */
static void mix_row(void *context, size_t task, int worker)
{
    const struct rollout *rollout = context;
    double *row = rollout->mixed + task * rollout->n, sum = 0;

    (void)worker;
    for (size_t i = 0; i < rollout->n; i++)
        row[i] /= (double)rollout->n_head;
    row[rollout->first + task] += 1;
    for (size_t i = 0; i < rollout->n; i++)
        sum += row[i];
    for (size_t i = 0; sum != 0 && i < rollout->n; i++)
        row[i] /= sum;
}

/* The rows of `mixed` that are in memory, and their number. */
struct rolling {
    struct rollout *rollout;
    size_t n_row;
};

/* An attn_task_fn: multiplies the rows of some queries by these rows of `mixed`. */
static void multiply_queries(void *context, size_t task, int worker)
{
    const struct rolling *rolling = context;
    const struct rollout *rollout = rolling->rollout;
    const size_t begin = task * QUERIES_PER_TASK, rest = rollout->n_query - begin;
    const size_t end = begin + (rest < QUERIES_PER_TASK ? rest : QUERIES_PER_TASK);

    (void)worker;
    for (size_t q = begin; q < end; q++) {
        const double *from = rollout->from + q * rollout->n + rollout->first;
        double *to = rollout->to + q * rollout->n;

        for (size_t r = 0; r < rolling->n_row; r++) {
            const double *mixed = rollout->mixed + r * rollout->n, weight = from[r];

            for (size_t i = 0; weight != 0 && i < rollout->n; i++)
                to[i] += weight * mixed[i];
        }
    }
}

/* Multiplies the rows of all current queries by the matrix of the layer of AT; SESSION computes its
 * patterns. */
static enum attn_status multiply_by_rows(struct rollout *rollout, const struct attn_location *at,
                                         struct attn_session *session, struct attn_error *err)
{
    struct attn_pool *pool = rollout->derivation->pool;
    const size_t n_row = attn_derivation_n_row(rollout->derivation, at);
    double *rolled;

    memset(rollout->to, 0, rollout->n_query * rollout->n * sizeof *rollout->to);
    for (rollout->first = 0; rollout->first < n_row; rollout->first += rollout->n_at_once) {
        const size_t rest = n_row - rollout->first;
        struct rolling rolling = {rollout, rest < rollout->n_at_once ? rest : rollout->n_at_once};

        memset(rollout->mixed, 0, rolling.n_row * rollout->n * sizeof *rollout->mixed);
        ATTN_TRY(attn_derivation_feed(rollout->derivation, session, at, rollout->first,
                                      rolling.n_row, err));
        attn_pool_run(pool, rolling.n_row, mix_row, rollout);
        attn_pool_run(pool, (rollout->n_query + QUERIES_PER_TASK - 1) / QUERIES_PER_TASK,
                      multiply_queries, &rolling);
    }
    rolled = rollout->to;
    rollout->to = rollout->from;
    rollout->from = rolled;
    return ATTN_OK;
}

/* As multiply_by_rows, with a session that it creates. */
static enum attn_status multiply_by_layer(struct rollout *rollout, const struct attn_location *at,
                                          struct attn_error *err)
{
    const struct attn_site_set sites = ATTN_SITES(ATTN_SITE_PATTERN);
    struct attn_trace trace = {.on_event = on_pattern, .user = rollout};
    const struct attn_again again = {.trace = &trace, .at = at};
    struct attn_selection *selection;
    struct attn_session *session = NULL;
    enum attn_status status;

    ATTN_TRY(attn_derivation_select(rollout->derivation, sites, at, &selection, err));
    trace.selection = selection;
    status = attn_derivation_open(rollout->derivation, &again, &session, err);
    ATTN_THEN(status, multiply_by_rows(rollout, at, session, err));
    attn_session_free(session);
    attn_selection_free(selection);
    return status;
}

static enum attn_status emit(const struct rollout *rollout, const struct attn_location *at,
                             struct attn_error *err)
{
    const struct attn_attention *attention = rollout->derivation->of.session.attention;
    bool is_causal = true;

    for (int i = 0; i <= at->layer; i++)
        is_causal = is_causal && attn_keys_are_causal(&attention[i]);
    for (size_t q = 0; q < rollout->n_query; q++) {
        const struct attn_trace_event event = {.at = *at,
                                               .row0 = rollout->queries[q],
                                               .n_row = 1,
                                               .n_col = rollout->n,
                                               .ld = rollout->n,
                                               .data = rollout->row,
                                               .is_causal = is_causal};

        for (size_t i = 0; i < rollout->n; i++)
            rollout->row[i] = (float)rollout->from[q * rollout->n + i];
        ATTN_TRY(attn_trace_hand_on(rollout->derivation->asked_by, &event, err));
    }
    return ATTN_OK;
}

/* Computes and emits the rows of the current queries: begins with unit vectors, and multiplies by
 * the matrices from the layer of AT down to 0. */
static enum attn_status roll(struct rollout *rollout, const struct attn_location *at,
                             struct attn_error *err)
{
    struct attn_location m = *at;

    memset(rollout->from, 0, rollout->n_query * rollout->n * sizeof *rollout->from);
    for (size_t q = 0; q < rollout->n_query; q++)
        rollout->from[q * rollout->n + rollout->queries[q]] = 1;
    for (; m.layer >= 0; m.layer--)
        ATTN_TRY(multiply_by_layer(rollout, &m, err));
    return emit(rollout, at, err);
}

/* Does this for all wanted queries, at most N_MOST at a time. */
static enum attn_status roll_all(struct rollout *rollout, const struct attn_location *at,
                                 size_t n_most, struct attn_error *err)
{
    const struct attn_selection *asked = rollout->derivation->asked_by->selection;

    ATTN_TRY(ATTN_STORE_ALLOC(&rollout->store, rollout->mixed,
                              attn_size_mul(rollout->n_at_once, rollout->n), err));
    ATTN_TRY(ATTN_STORE_ALLOC(&rollout->store, rollout->queries, n_most, err));
    ATTN_TRY(
        ATTN_STORE_ALLOC(&rollout->store, rollout->from, attn_size_mul(n_most, rollout->n), err));
    ATTN_TRY(
        ATTN_STORE_ALLOC(&rollout->store, rollout->to, attn_size_mul(n_most, rollout->n), err));
    ATTN_TRY(ATTN_STORE_ALLOC(&rollout->store, rollout->row, rollout->n, err));
    for (size_t query = 0; query < rollout->n; query++) {
        if (attn_selection_has_query(asked, ATTN_STACK_ONLY, query))
            rollout->queries[rollout->n_query++] = query;
        if (rollout->n_query < n_most && (query + 1 < rollout->n || rollout->n_query == 0))
            continue;
        ATTN_TRY(roll(rollout, at, err));
        rollout->n_query = 0;
    }
    return ATTN_OK;
}

static enum attn_status derive(const struct attn_derivation *derivation,
                               const struct attn_location *at, struct attn_error *err)
{
    const struct attn_selection *asked = derivation->asked_by->selection;
    const struct attn_dims *dims = attn_selection_dims(asked);
    const size_t n = dims->n_position, n_asked = attn_selection_n_query(asked);
    const size_t fits = n < MOST_ROLLED ? MOST_ROLLED / n : 1;
    const size_t mixed_fit = n < MOST_MIXED ? MOST_MIXED / n : 1;
    /* If a row of the layer cannot be fed without the others, all rows of `mixed` are in memory. */
    const bool has_pieces = mixed_fit < n && attn_derivation_has_steps(derivation, at);
    struct rollout rollout = {.derivation = derivation,
                              .n_head = dims->n_head,
                              .n = n,
                              .n_at_once = has_pieces ? mixed_fit : n};
    const enum attn_status status = roll_all(&rollout, at, n_asked < fits ? n_asked : fits, err);

    attn_store_release(&rollout.store);
    return status;
}

static enum attn_status check(const struct attn_model *model, struct attn_error *err)
{
    const struct attn_config *config = attn_model_config(model);
    const struct attn_quote name = attn_quote_string(attn_model_name(model));

    if (!config->has_residual)
        return attn_error_set(
            err, ATTN_INVALID,
            "'rollout' mixes the pattern with a residual stream, and '%s' has none", name.text);
    if (config->mixer)
        return attn_error_set(
            err, ATTN_INVALID,
            "'rollout' follows attention alone, and layers of '%s' mix tokens by a "
            "state or a convolution, too",
            name.text);
    if (config->stack.has_encoder)
        return attn_error_set(
            err, ATTN_INVALID,
            "'rollout' follows one sequence, and the decoder of '%s' attends to a "
            "source; 'encoder:rollout' follows the source",
            name.text);
    for (size_t layer = 0; layer < config->n_layer; layer++)
        if (config->is_cross[layer])
            return attn_error_set(
                err, ATTN_INVALID,
                "'rollout' follows one sequence, and layer %zu of '%s' attends to "
                "a source",
                layer, name.text);
    return ATTN_OK;
}

const struct attn_derived_kind attn_derived_rollout = {
    .site = ATTN_SITE_ROLLOUT,
    .needs_earlier = true,
    .check = check,
    .derive = derive,
};
