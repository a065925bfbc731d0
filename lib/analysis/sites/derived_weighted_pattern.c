/*
 * derived_weighted_pattern.c - the pattern, times the length of the vector that each head writes
 * for a key (Kobayashi et al. 2020, arXiv 2004.10102):
 *
 *     weighted_pattern[h, i, j] = pattern[h, i, j] * |f_h(x_j)|,
 *     f_h(x_j) = scale * v[j, g] W_O[h], v[j, g] = x_j W_V[g] + b_V[g]
 *
 * g is the value head of h; scale is that of models with layer scale, else 1. v is the site v, with
 * its bias and with edits. The bias of the output projection belongs to no key, and a norm after
 * attn_out comes later: neither is part of f. Without an output projection f is v.
 *
 * The length is computed with the matrix W_O[h] W_O[h]^T [Ev, Ev], so that a key needs Ev^2 and not
 * Ev * D multiplications, in double precision.
 */
#include "sites/derived_internal.h"

#include "base/memory.h"
#include "model/elements.h"
#include "model/model_internal.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <string.h>

enum { PIECE_FLOATS = 1 << 18 }; /* floats emitted at a time, or one row */

struct weighting {
    const struct attn_derivation *derivation;
    struct attn_store *store; /* owns; has the arrays */
    /* [H*Ev, D]; its data is NULL if there is no output projection. */
    const struct attn_matrix *output;
    const struct attn_vector *scale; /* [D]; its data is NULL if there is no layer scale */
    size_t n_head, n_shared, d_value, n_key;
    double *lengths; /* [n_head, n_key] |f_h(x_j)| */
    double *rows;    /* [d_value, D] W_O of the current head times the scale */
    double *factors; /* [D] the scale in double precision */
    double *gram;    /* [d_value, d_value] W_O[h] W_O[h]^T of the current head */
    float *piece;    /* [piece_size] owns: the rows that are emitted */
    size_t piece_size;
    /* Owns; what is read from the layer when it is computed again. */
    struct attn_selection *selection;
    struct attn_session *session; /* owns; computes the layer again */
};

/* Computes gram = W_O[head] W_O[head]^T, where W_O is multiplied by the scale. */
static void find_gram(struct weighting *weighting, size_t head)
{
    const size_t n = weighting->d_value, width = weighting->output->n_col;

    attn_matrix_rows(weighting->output, head * n, n, weighting->rows);
    for (size_t i = 0; weighting->scale->data && i < n * width; i++)
        weighting->rows[i] *= weighting->factors[i % width];
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b <= a; b++) {
            double sum = 0;

            for (size_t i = 0; i < width; i++)
                sum += weighting->rows[a * width + i] * weighting->rows[b * width + i];
            weighting->gram[a * n + b] = weighting->gram[b * n + a] = sum;
        }
}

/* Returns |f| of one key, whose values are V [d_value]. */
static double find_length(const struct weighting *weighting, const float *v)
{
    const size_t n = weighting->d_value;
    double square = 0;

    for (size_t a = 0; a < n; a++) {
        double sum = 0;

        if (!weighting->output->data)
            sum = (double)v[a];
        for (size_t b = 0; weighting->output->data && b < n; b++)
            sum += weighting->gram[a * n + b] * (double)v[b];
        square += (double)v[a] * sum;
    }
    return sqrt(fmax(square, 0));
}

/* Computes the lengths of all keys for heads that use the value head of EVENT, an event of v. */
static void compute_lengths(struct weighting *weighting, const struct attn_trace_event *event)
{
    const size_t first = (size_t)event->at.head * weighting->n_shared;
    struct attn_location at = event->at;

    for (size_t head = first; head < first + weighting->n_shared; head++) {
        at.head = (int)head;
        if (!attn_selection_has_head(weighting->derivation->asked_by->selection, &at))
            continue;
        if (weighting->output->data)
            find_gram(weighting, head);
        for (size_t r = 0; r < event->n_row; r++)
            weighting->lengths[head * weighting->n_key + event->row0 + r] =
                find_length(weighting, event->data + r * event->ld);
    }
}

/* Emits rows FIRST .. FIRST + N - 1 of EVENT, an event of the pattern, times the lengths. */
static enum attn_status emit_rows(struct weighting *weighting, const struct attn_trace_event *event,
                                  size_t first, size_t n, struct attn_error *err)
{
    const double *lengths = weighting->lengths + (size_t)event->at.head * weighting->n_key;
    struct attn_trace_event part = *event;

    part.at.site = ATTN_SITE_WEIGHTED_PATTERN;
    part.row0 += first;
    part.n_row = n;
    part.data = weighting->piece;
    if (event->keys) {
        part.keys += first * event->ld;
        part.n_kept += first;
    }
    for (size_t r = 0; r < n; r++) {
        const float *from = event->data + (first + r) * event->ld;
        const int32_t *keys = event->keys ? part.keys + r * event->ld : NULL;
        const size_t n_cell = keys ? part.n_kept[r] : event->n_col;
        float *to = weighting->piece + r * event->ld;

        for (size_t i = 0; i < n_cell; i++) {
            const size_t key = keys ? (size_t)keys[i] : i;
            const bool is_masked = !keys && event->is_causal && key > part.row0 + r + event->ahead;

            to[i] = is_masked ? 0 : (float)((double)from[i] * lengths[key]);
        }
    }
    return attn_trace_hand_on(weighting->derivation->asked_by, &part, err);
}

/* An attn_trace_fn: computes lengths from events of v, emits rows from events of the pattern. */
static enum attn_status on_event(void *user, const struct attn_trace_event *event,
                                 struct attn_error *err)
{
    struct weighting *weighting = user;
    const size_t fits = event->ld > 0 ? PIECE_FLOATS / event->ld : PIECE_FLOATS;
    const size_t n_at_once = fits > 0 ? fits : 1;
    const size_t n_most = event->n_row < n_at_once ? event->n_row : n_at_once;

    if (event->at.site == ATTN_SITE_V) {
        compute_lengths(weighting, event);
        return ATTN_OK;
    }
    ATTN_TRY(ATTN_GROW(weighting->piece, weighting->piece_size, n_most * event->ld, err));
    for (size_t row = 0; row < event->n_row; row += n_at_once) {
        const size_t rest = event->n_row - row;

        ATTN_TRY(emit_rows(weighting, event, row, rest < n_at_once ? rest : n_at_once, err));
    }
    return ATTN_OK;
}

static enum attn_status reserve(struct weighting *weighting, struct attn_error *err)
{
    const size_t n = weighting->d_value;

    ATTN_TRY(ATTN_STORE_ALLOC(&weighting->store, weighting->lengths,
                              attn_size_mul(weighting->n_head, weighting->n_key), err));
    ATTN_TRY(ATTN_STORE_ALLOC(&weighting->store, weighting->rows,
                              attn_size_mul(n, weighting->output->n_col), err));
    ATTN_TRY(ATTN_STORE_ALLOC(&weighting->store, weighting->gram, attn_size_mul(n, n), err));
    ATTN_TRY(ATTN_STORE_ALLOC(&weighting->store, weighting->factors, weighting->scale->n, err));
    attn_vector_elements(weighting->scale, 0, weighting->scale->n, weighting->factors);
    return ATTN_OK;
}

/* Selects v and the pattern of the wanted heads and queries. */
static enum attn_status choose(const struct attn_derivation *derivation,
                               const struct attn_location *at, struct attn_selection **selection,
                               struct attn_error *err)
{
    const struct attn_site_set sites = ATTN_SITES(ATTN_SITE_V, ATTN_SITE_PATTERN);
    const struct attn_selection *asked = derivation->asked_by->selection;
    const struct attn_dims *dims = attn_selection_dims(asked);
    struct attn_location one = *at;

    ATTN_TRY(attn_derivation_select(derivation, sites, at, selection, err));
    for (one.head = 0; one.head < (int)dims->n_head; one.head++)
        if (attn_selection_has_head(asked, &one))
            ATTN_TRY(attn_selection_add_head(*selection, &one, err));
    for (size_t query = 0; query < dims->n_position; query++)
        if (attn_selection_has_query(asked, ATTN_STACK_ONLY, query))
            ATTN_TRY(attn_selection_add_queries(*selection, ATTN_STACK_ONLY, query, 1, err));
    return ATTN_OK;
}

static enum attn_status weigh(struct weighting *weighting, const struct attn_location *at,
                              struct attn_error *err)
{
    const struct attn_derivation *derivation = weighting->derivation;
    struct attn_trace trace = {.on_event = on_event, .user = weighting};
    const struct attn_again again = {.trace = &trace, .at = at};

    ATTN_TRY(reserve(weighting, err));
    ATTN_TRY(choose(derivation, at, &weighting->selection, err));
    trace.selection = weighting->selection;
    ATTN_TRY(attn_derivation_open(derivation, &again, &weighting->session, err));
    return attn_derivation_feed(derivation, weighting->session, at, 0,
                                attn_derivation_n_row(derivation, at), err);
}

static enum attn_status derive(const struct attn_derivation *derivation,
                               const struct attn_location *at, struct attn_error *err)
{
    const struct attn_model *model = derivation->of.model;
    const struct attn_block_weights *block = attn_block_at(&model->weights, at);
    const struct attn_dims *run = attn_selection_dims(derivation->asked_by->selection);
    const struct attn_dims dims = attn_location_dims(run, at);
    struct weighting weighting = {.derivation = derivation,
                                  .output = &block->out.weight,
                                  .scale = &block->attn_scale.w,
                                  .n_head = dims.n_head,
                                  .n_shared = dims.n_head / dims.n_kv_head,
                                  .d_value = dims.d_value,
                                  .n_key = attn_location_n_key(run, at)};
    const enum attn_status status = weigh(&weighting, at, err);

    attn_session_free(weighting.session);
    attn_selection_free(weighting.selection);
    attn_store_release(&weighting.store);
    attn_free(weighting.piece);
    return status;
}

static enum attn_status check(const struct attn_model *model, struct attn_error *err)
{
    return attn_model_config(model)->has_attn_gate
               ? attn_error_set(err, ATTN_INVALID,
                                "'weighted_pattern' is what a head writes for a key, and in '%s' a "
                                "gate of the query multiplies it",
                                attn_quote_string(attn_model_name(model)).text)
               : ATTN_OK;
}

const struct attn_derived_kind attn_derived_weighted_pattern = {
    .site = ATTN_SITE_WEIGHTED_PATTERN,
    .check = check,
    .derive = derive,
};
