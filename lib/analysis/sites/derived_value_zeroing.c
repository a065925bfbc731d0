/*
 * derived_value_zeroing.c - how much each row of a layer's output changes when one key has no value
 * (Mohebbi et al. 2023, arXiv 2301.12971):
 *
 *     changed[i, j] = 1 - cos(resid_post[i], resid_post[i] with v[j] = 0 in all heads of the layer)
 *     value_zeroing[i, j] = changed[i, j] / sum over j of changed[i, j]
 *
 * The inputs of the layer are the same for all j. A row that no key changes has no values. If two
 * rows differ and one of them is all zeros, 1 - cos is 1.
 *
 * The layer is computed again for each key, from the row of that key on. The keys go from last to
 * first; each time the session is rewound to the key and keeps the rows before it. Cosines are in
 * double precision.
 */
#include "sites/derived_internal.h"

#include "attention/keys.h"
#include "base/memory.h"
#include "trace/capture.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <string.h>

struct zeroing {
    const struct attn_derivation *derivation;
    struct attn_location at;
    struct attn_store *store;     /* owns; has the arrays */
    enum attn_site output;        /* the site of the layer's output */
    size_t n_row, n_key, d_model; /* n_row: number of rows up to the last wanted query */
    size_t n_value, d_value;      /* G, the value heads of the layer, and their width */
    const float *base;            /* [T, D] resid_post without changes, in `kept` */
    float *values;                /* [G, n_key, d_value] v, in which the current key is set to 0 */
    float *saved;                 /* [G, d_value] the values of the current key */
    size_t key;
    float *changed;                   /* [n_row, n_key] */
    struct attn_edit *edits;          /* [G] edits that set v to `values` */
    struct attn_capture *kept;        /* owns; the layer without changes */
    struct attn_selection *selection; /* owns; the selection of `kept` */
    struct attn_session *session;     /* owns; computes the layer again */
};

/* Returns 1 - cos(x, y) of N numbers each. It is computed as half the square of the distance
 * between their directions, which is accurate also if they are nearly equal. */
static double cosine_distance(const float *x, const float *y, size_t n)
{
    double xx = 0, yy = 0, distance = 0;

    if (memcmp(x, y, n * sizeof *x) == 0)
        return 0;
    for (size_t i = 0; i < n; i++) {
        xx += (double)x[i] * (double)x[i];
        yy += (double)y[i] * (double)y[i];
    }
    if (xx == 0 || yy == 0)
        return 1;
    xx = sqrt(xx);
    yy = sqrt(yy);
    for (size_t i = 0; i < n; i++) {
        const double difference = (double)x[i] / xx - (double)y[i] / yy;

        distance += difference * difference;
    }
    return distance / 2;
}

/* An attn_trace_fn: compares the rows of the layer's output without the current key to the original
 * ones. */
static enum attn_status on_output(void *user, const struct attn_trace_event *event,
                                  struct attn_error *err)
{
    struct zeroing *zeroing = user;

    (void)err;
    for (size_t r = 0; r < event->n_row; r++) {
        const size_t row = event->row0 + r;

        zeroing->changed[row * zeroing->n_key + zeroing->key] = (float)cosine_distance(
            zeroing->base + row * zeroing->d_model, event->data + r * event->ld, zeroing->d_model);
    }
    return ATTN_OK;
}

/* Computes the layer without changes, and keeps its v and its output. */
static enum attn_status keep_layer(struct zeroing *zeroing, struct attn_error *err)
{
    const struct attn_derivation *derivation = zeroing->derivation;
    const struct attn_site_set sites = ATTN_SITES(ATTN_SITE_V, zeroing->output);
    const struct attn_location output = attn_location_in(
        attn_selection_dims(derivation->asked_by->selection), &zeroing->at, zeroing->output);
    struct attn_again again = {.at = &zeroing->at};

    ATTN_TRY(attn_derivation_select(derivation, sites, &zeroing->at, &zeroing->selection, err));
    ATTN_TRY(attn_capture_create(zeroing->selection, &zeroing->kept, err));
    again.trace = attn_capture_trace(zeroing->kept);
    ATTN_TRY(attn_derivation_open(derivation, &again, &zeroing->session, err));
    ATTN_TRY(
        attn_derivation_feed(derivation, zeroing->session, &zeroing->at, 0, zeroing->n_row, err));
    attn_session_free(zeroing->session);
    zeroing->session = NULL;
    zeroing->base = attn_capture_tensor(zeroing->kept, &output);
    return ATTN_OK;
}

/* Creates the edits that replace the layer's v by `values`. */
static enum attn_status make_edits(struct zeroing *zeroing, struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(zeroing->selection);
    const size_t n = zeroing->n_value, size = zeroing->n_key * zeroing->d_value;
    struct attn_location v = attn_location_in(dims, &zeroing->at, ATTN_SITE_V);

    ATTN_TRY(ATTN_STORE_ALLOC(&zeroing->store, zeroing->edits, n, err));
    ATTN_TRY(
        ATTN_STORE_ALLOC(&zeroing->store, zeroing->saved, attn_size_mul(n, zeroing->d_value), err));
    ATTN_TRY(ATTN_STORE_ALLOC(&zeroing->store, zeroing->values, attn_size_mul(n, size), err));
    ATTN_TRY(ATTN_STORE_ALLOC(&zeroing->store, zeroing->changed,
                              attn_size_mul(zeroing->n_row, zeroing->n_key), err));
    memcpy(zeroing->values, attn_capture_tensor(zeroing->kept, &v),
           n * size * sizeof *zeroing->values);
    for (size_t g = 0; g < n; g++) {
        v.head = (int)g;
        zeroing->edits[g] = (struct attn_edit){.at = v,
                                               .row1 = zeroing->n_key,
                                               .col1 = zeroing->d_value,
                                               .op = ATTN_EDIT_REPLACE,
                                               .data = zeroing->values + g * size,
                                               .ld = zeroing->d_value};
    }
    return ATTN_OK;
}

/* Sets the values of the current key to 0, or back to what they were. */
static void set_values(struct zeroing *zeroing, bool is_zero)
{
    const size_t n = zeroing->d_value;

    for (size_t g = 0; g < zeroing->n_value; g++) {
        float *values = zeroing->values + (g * zeroing->n_key + zeroing->key) * n;

        if (is_zero)
            memcpy(zeroing->saved + g * n, values, n * sizeof *values);
        for (size_t i = 0; i < n; i++)
            values[i] = is_zero ? 0 : zeroing->saved[g * n + i];
    }
}

/* Feeds the rows that the current key can change. */
static enum attn_status feed_changed(const struct zeroing *zeroing, bool has_steps,
                                     struct attn_error *err)
{
    const size_t first = has_steps ? zeroing->key : 0;

    if (has_steps)
        ATTN_TRY(attn_session_rewind(zeroing->session, first, err));
    else
        attn_session_reset(zeroing->session);
    return attn_derivation_feed(zeroing->derivation, zeroing->session, &zeroing->at, first,
                                zeroing->n_row - first, err);
}

static enum attn_status change_all(struct zeroing *zeroing, struct attn_error *err)
{
    const struct attn_derivation *derivation = zeroing->derivation;
    const bool has_steps = attn_derivation_has_steps(derivation, &zeroing->at);
    const size_t n = has_steps ? zeroing->n_row : zeroing->n_key;
    const struct attn_trace trace = {
        .selection = zeroing->selection, .on_event = on_output, .user = zeroing};
    const struct attn_again again = {&trace, &zeroing->at, zeroing->edits, zeroing->n_value};

    ATTN_TRY(attn_selection_set_sites(zeroing->selection, ATTN_SITES(zeroing->output), err));
    ATTN_TRY(attn_derivation_open(derivation, &again, &zeroing->session, err));
    if (has_steps) /* the session can only be rewound to rows that it was fed */
        ATTN_TRY(attn_derivation_feed(derivation, zeroing->session, &zeroing->at, 0, zeroing->n_row,
                                      err));
    for (zeroing->key = n; zeroing->key-- > 0;) {
        set_values(zeroing, true);
        ATTN_TRY(feed_changed(zeroing, has_steps, err));
        set_values(zeroing, false);
    }
    return ATTN_OK;
}

/* Emits one row divided by its sum; without values if the sum is 0. */
static enum attn_status emit_row(const struct zeroing *zeroing, size_t row, struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(zeroing->derivation->asked_by->selection);
    const bool is_cross = attn_location_is_cross(dims, &zeroing->at);
    const struct attn_attention *attention =
        &zeroing->derivation->of.session.attention[attn_location_index(&zeroing->at)];
    static const size_t none = 0;
    static const int32_t no_key = 0;
    float *changed = zeroing->changed + row * zeroing->n_key;
    struct attn_trace_event event = {.at = zeroing->at,
                                     .row0 = row,
                                     .n_row = 1,
                                     .n_col = zeroing->n_key,
                                     .ld = zeroing->n_key,
                                     .data = changed,
                                     .is_causal = !is_cross && attn_keys_are_causal(attention)};
    double sum = 0;

    for (size_t key = 0; key < zeroing->n_key; key++)
        sum += (double)changed[key];
    for (size_t key = 0; sum > 0 && key < zeroing->n_key; key++)
        changed[key] = (float)((double)changed[key] / sum);
    if (!(sum > 0)) {
        event.keys = &no_key;
        event.n_kept = &none;
    }
    return attn_trace_hand_on(zeroing->derivation->asked_by, &event, err);
}

static enum attn_status zero_keys(struct zeroing *zeroing, struct attn_error *err)
{
    ATTN_TRY(keep_layer(zeroing, err));
    ATTN_TRY(make_edits(zeroing, err));
    ATTN_TRY(change_all(zeroing, err));
    for (size_t row = 0; row < zeroing->n_row; row++)
        ATTN_TRY(emit_row(zeroing, row, err));
    return ATTN_OK;
}

static enum attn_status derive(const struct attn_derivation *derivation,
                               const struct attn_location *at, struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(derivation->asked_by->selection);
    struct zeroing zeroing = {.derivation = derivation,
                              .at = *at,
                              .n_row = attn_derivation_n_row(derivation, at),
                              .n_key = attn_location_n_key(dims, at),
                              .output = attn_location_output(dims, at),
                              .d_model = dims->d_model,
                              .n_value = attn_location_dims(dims, at).n_kv_head,
                              .d_value = attn_location_dims(dims, at).d_value};
    const enum attn_status status = zero_keys(&zeroing, err);

    attn_session_free(zeroing.session);
    attn_capture_free(zeroing.kept);
    attn_selection_free(zeroing.selection);
    attn_store_release(&zeroing.store);
    return status;
}

const struct attn_derived_kind attn_derived_value_zeroing = {
    .site = ATTN_SITE_VALUE_ZEROING,
    .derive = derive,
};
