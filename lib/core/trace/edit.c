/* edit.c - edits: checked once, and applied to rectangles of tensors by the threads that compute
 * them. */
#include "trace/trace_internal.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/given.h"
#include "trace/blocks_internal.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

ATTN_DEFAULTS(attn_edit, .at = {.layer = ATTN_ALL_LAYERS, .head = ATTN_ALL_HEADS}, .row1 = SIZE_MAX,
              .col1 = SIZE_MAX)

static bool is_in_range(size_t first, size_t last, size_t n)
{
    return first < n && first < last && (last == SIZE_MAX || last <= n);
}

/* Checks that the model has the stack and the layer of EDIT. */
static enum attn_status check_layer(const struct attn_edit *edit, const struct attn_dims *dims,
                                    struct attn_error *err)
{
    const char *name = attn_site_name(edit->at.site);
    const enum attn_model_stack stack = edit->at.stack;
    const size_t n_layer = attn_dims_n_whole_layer(dims);
    int number;

    if (!attn_site_is_in_layer(edit->at.site) ||
        (edit->at.layer == ATTN_ALL_LAYERS &&
         (stack == ATTN_STACK_ONLY || (attn_stack_is_encoder(stack) && dims->is_of_decoder))))
        return ATTN_OK;
    if (edit->at.layer < 0 || (size_t)edit->at.layer >= n_layer)
        return attn_error_set(err, ATTN_INVALID,
                              "an edit of '%s' names layer %d, expected 0 to %zu", name,
                              edit->at.layer, n_layer - 1);
    if (attn_model_stack_of(dims, edit->at.site, attn_location_block(&edit->at), &number) != stack)
        return dims->has_pairs
                   ? attn_error_set(err, ATTN_INVALID,
                                    "an edit of '%s' names the stack '%s', expected 'decoder'%s",
                                    name, attn_model_stack_name(stack),
                                    attn_site_is_after_attention(edit->at.site) ? ""
                                                                                : " or 'cross'")
                   : attn_error_set(err, ATTN_INVALID,
                                    "an edit of '%s' names the stack '%s', and the model has one",
                                    name, attn_model_stack_name(stack));
    return ATTN_OK;
}

static enum attn_status check_place(const struct attn_edit *edit, const struct attn_dims *dims,
                                    struct attn_error *err)
{
    const char *name = attn_site_name(edit->at.site);
    const struct attn_dims own = attn_dims_in(dims, attn_location_block(&edit->at));
    const size_t n_head = attn_site_n_head(edit->at.site, &own);
    const size_t n_key = dims->n_position > dims->n_source ? dims->n_position : dims->n_source;
    const bool is_key = attn_site_layout(edit->at.site) == ATTN_LAYOUT_KEY;
    const bool is_pooled = attn_site_is_pooled(edit->at.site, dims);
    const size_t n_row = is_key ? n_key : is_pooled ? 1 : dims->n_position;
    const bool is_together = edit->at.head == ATTN_HEADS_TOGETHER && edit->at.site == ATTN_SITE_Z;
    const size_t n_col = attn_site_has_keys(edit->at.site)
                             ? n_key
                             : attn_site_width(edit->at.site, &own) * (is_together ? n_head : 1);

    const bool is_mixing = attn_sites_have(
        ATTN_SITES(ATTN_SITE_MIXING, ATTN_SITE_MIXING_BAND, ATTN_SITE_MIXING_NORM), edit->at.site);

    if (!attn_sites_have(dims->sites, edit->at.site))
        return attn_error_set(err, ATTN_INVALID, "the model has no site '%s' to edit", name);
    ATTN_TRY(check_layer(edit, dims, err));
    if (attn_sites_have(ATTN_SITES(ATTN_SITE_SINK, ATTN_SITE_EXPERT_INDICES), edit->at.site) ||
        is_mixing) {
        attn_error_set(err, ATTN_INVALID,
                       "an edit of '%s' would change nothing: no tensor is made of it", name);
        return is_mixing ? attn_error_hint(err, "'mixer_z' is edited in its place") : ATTN_INVALID;
    }
    if (edit->at.site == ATTN_SITE_C2P || edit->at.site == ATTN_SITE_P2C)
        return attn_error_set(err, ATTN_INVALID,
                              "an edit of '%s' is not read, expected one of 'attn_scores', which "
                              "it is a part of",
                              name);
    if (attn_site_is_lacking(dims, edit->at.site, attn_location_block(&edit->at)))
        return attn_error_set(err, ATTN_INVALID, "layer %d has no site '%s' to edit",
                              edit->at.layer, name);
    if (attn_site_has_heads(edit->at.site) && edit->at.head != ATTN_ALL_HEADS && !is_together &&
        (edit->at.head < 0 || (size_t)edit->at.head >= n_head))
        return attn_error_set(err, ATTN_INVALID, "an edit of '%s' names head %d, expected 0 to %zu",
                              name, edit->at.head, n_head - 1);
    if (!is_in_range(edit->row0, edit->row1, n_row))
        return attn_error_set(err, ATTN_INVALID,
                              "an edit of '%s' names positions %zu to %zu, expected some of 0 to "
                              "%zu",
                              name, edit->row0, edit->row1, n_row);
    if (!is_in_range(edit->col0, edit->col1, n_col))
        return attn_error_set(err, ATTN_INVALID,
                              "an edit of '%s' names columns %zu to %zu, expected some of 0 to %zu",
                              name, edit->col0, edit->col1, n_col);
    return ATTN_OK;
}

static enum attn_status check_op(const struct attn_edit *edit, struct attn_error *err)
{
    const char *name = attn_site_name(edit->at.site);

    if (edit->op == ATTN_EDIT_MASK && edit->at.site != ATTN_SITE_QK &&
        edit->at.site != ATTN_SITE_ATTN_SCORES)
        return attn_error_set(err, ATTN_INVALID,
                              "an edit masks '%s', expected 'qk' or 'attn_scores'", name);
    if (edit->op == ATTN_EDIT_PROJECT &&
        (attn_site_has_keys(edit->at.site) || attn_site_layout(edit->at.site) == ATTN_LAYOUT_RANK))
        return attn_error_set(err, ATTN_INVALID,
                              "an edit projects '%s', expected a site whose rows are vectors",
                              name);
    if (attn_edit_op_has_data(edit->op) &&
        (!edit->data || edit->col1 == SIZE_MAX ||
         (edit->ld > 0 && (edit->row1 == SIZE_MAX || edit->ld < edit->col1 - edit->col0))))
        return attn_error_set(err, ATTN_INVALID,
                              "an edit of '%s' needs data for given rows and columns", name);
    if (edit->op == ATTN_EDIT_FUNCTION && !attn_is_given(edit->function, "function", err))
        return ATTN_INVALID;
    if (edit->op == ATTN_EDIT_FUNCTION && (edit->col0 != 0 || edit->col1 != SIZE_MAX))
        return attn_error_set(err, ATTN_INVALID,
                              "an edit of '%s' by a function names columns, expected all", name);
    return ATTN_OK;
}

enum attn_status attn_edits_check(const struct attn_edit *edits, size_t n_edit,
                                  const struct attn_dims *dims, struct attn_error *err)
{
    for (size_t i = 0; i < n_edit; i++) {
        if (!ATTN_IS_KNOWN(edits[i].later, "edit", err) ||
            !attn_is_choice(edits[i].at.site, ATTN_N_SITE, "site", err) ||
            !attn_is_choice(edits[i].op == ATTN_EDIT_PROJECT ? 0 : edits[i].op,
                            ATTN_EDIT_FUNCTION + 1, "op", err))
            return ATTN_INVALID;
        ATTN_TRY(check_place(&edits[i], dims, err));
        ATTN_TRY(check_op(&edits[i], err));
    }
    return ATTN_OK;
}

/* Whether EDIT changes SITE in the block LAYER. IS_OF_MODEL: SITE is outside the layers, so the
 * layer does not matter. */
static inline bool is_at(const struct attn_edit *edit, enum attn_site site, int layer,
                         bool is_of_model)
{
    return edit->at.site == site && (attn_location_block(&edit->at) == layer ||
                                     edit->at.layer == ATTN_ALL_LAYERS || is_of_model);
}

bool attn_edits_touch(const struct attn_edit *edits, size_t n_edit, const struct attn_location *at)
{
    const bool is_of_model = n_edit > 0 && !attn_site_is_in_layer(at->site);
    const int block = n_edit > 0 ? attn_location_block(at) : 0;

    for (size_t i = 0; i < n_edit; i++)
        if (is_at(&edits[i], at->site, block, is_of_model))
            return true;
    return false;
}

bool attn_edit_op_has_data(enum attn_edit_op op)
{
    return op == ATTN_EDIT_REPLACE || op == ATTN_EDIT_ADD || op == ATTN_EDIT_PROJECT;
}

/* Returns what times V [n] EDIT, a projection, adds to X. */
static double find_step(const struct attn_edit *edit, const float *v, const float *x, size_t n)
{
    double along = 0, square = 0;

    for (size_t j = 0; j < n; j++) {
        along += (double)v[j] * (double)x[j];
        square += (double)v[j] * (double)v[j];
    }
    return square > 0 ? (double)edit->offset / sqrt(square) - (double)edit->factor * along / square
                      : 0;
}

/* Applies EDIT to x [n], the cells of one row. DATA are the edit's values at these columns; NULL if
 * its op has none. Returns whether x changed. */
static bool edit_row(const struct attn_edit *edit, const float *data, float *x, size_t n)
{
    const double step = edit->op == ATTN_EDIT_PROJECT ? find_step(edit, data, x, n) : 0;
    bool is_changed = false;

    assert(data || (!attn_edit_op_has_data(edit->op) && edit->op != ATTN_EDIT_FUNCTION));
    for (size_t j = 0; j < n; j++) {
        const float before = x[j];

        switch (edit->op) {
        case ATTN_EDIT_ZERO:
            x[j] = 0;
            break;
        case ATTN_EDIT_SCALE:
            /* A masked score stays minus infinity. */
            x[j] = before == -INFINITY ? before : before * edit->factor;
            break;
        case ATTN_EDIT_REPLACE:
        case ATTN_EDIT_FUNCTION:
            x[j] = data[j];
            break;
        case ATTN_EDIT_ADD:
            x[j] += data[j];
            break;
        case ATTN_EDIT_PROJECT:
            x[j] = (float)((double)before + step * (double)data[j]);
            break;
        case ATTN_EDIT_MEAN: /* only of interventions */
        case ATTN_EDIT_UNIFORM:
            break;
        case ATTN_EDIT_MASK:
            x[j] = -INFINITY;
            break;
        }
        is_changed |= x[j] != before;
    }
    return is_changed;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

enum { BLOCK = 64 }; /* rows edited at once: apply_edit returns one bit for each */

/* Whether EDIT changes the tensor and the head of TARGET. IS_OF_MODEL: the site is outside the
 * layers. */
static inline bool is_of(const struct attn_edit *edit, const struct attn_edit_target *target,
                         bool is_of_model)
{
    return edit->at.site == target->at.site &&
           is_at(edit, target->at.site, attn_location_block(&target->at), is_of_model) &&
           (edit->at.head == target->at.head || edit->at.head == ATTN_ALL_HEADS ||
            target->at.head == ATTN_ALL_HEADS);
}

/* Applies EDIT to at most BLOCK rows of TARGET, from position ROW0 on. Bit r of the result: row
 * ROW0 + r changed. */
static uint64_t apply_edit(const struct attn_edit *edit, const struct attn_edit_target *target,
                           size_t row0)
{
    const size_t first = edit->row0 > row0 ? edit->row0 : row0;
    const size_t last = smaller(edit->row1, smaller(row0 + BLOCK, target->row0 + target->n_row));
    const size_t col1 = smaller(edit->col1, target->n_col);
    uint64_t changed = 0;

    if (edit->col0 >= col1)
        return 0;
    for (size_t row = first; row < last; row++) {
        const float *data = edit->data ? edit->data + (row - edit->row0) * edit->ld : NULL;
        float *x = target->data + (row - target->row0) * target->ld + edit->col0;

        changed |= (uint64_t)edit_row(edit, data, x, col1 - edit->col0) << (row - row0);
    }
    return changed;
}

bool attn_edits_have_function(const struct attn_edit *edits, size_t n_edit)
{
    size_t i = 0;

    while (i < n_edit && edits[i].op != ATTN_EDIT_FUNCTION)
        i++;
    return i < n_edit;
}

static bool is_matrix(enum attn_site site)
{
    return attn_site_layout(site) == ATTN_LAYOUT_MATRIX ||
           attn_site_layout(site) == ATTN_LAYOUT_RANK;
}

bool attn_edits_have_matrix_function(const struct attn_edit *edits, size_t n_edit, int layer)
{
    size_t i = 0;

    while (i < n_edit && (edits[i].op != ATTN_EDIT_FUNCTION || !is_matrix(edits[i].at.site) ||
                          !is_at(&edits[i], edits[i].at.site, layer, false)))
        i++;
    return i < n_edit;
}

/* Checks the VALUES [n] that a function made of a tensor of SITE. */
static enum attn_status check_values(const float *values, size_t n, enum attn_site site,
                                     struct attn_error *err)
{
    const bool may_mask = site == ATTN_SITE_QK || site == ATTN_SITE_ATTN_SCORES;

    for (size_t i = 0; i < n; i++)
        if (!isfinite(values[i]) && !(may_mask && values[i] == -INFINITY))
            return attn_error_set(err, ATTN_INVALID,
                                  "the function that edits '%s' gave a value that is not finite",
                                  attn_site_name(site));
    return ATTN_OK;
}

void attn_edit_call(const struct attn_edit *edit, const struct attn_edit_calls *calls,
                    const struct attn_edit_target *target, float *values)
{
    const size_t end = smaller(edit->row1, target->row0 + target->n_row);
    const size_t first = edit->row0 > target->row0 ? edit->row0 : target->row0;
    struct attn_trace_event event = {.sequence = calls->sequence,
                                     .row0 = first,
                                     .n_row = end > first ? end - first : 0,
                                     .n_col = target->n_col,
                                     .ld = target->n_col};

    if (event.n_row == 0 || *calls->status != ATTN_OK)
        return;
    values += (first - target->row0) * target->n_col;
    event.data = values;
    event.at = attn_location_in(calls->dims, &target->at, target->at.site);
    *calls->status = attn_call_status(edit->function(edit->user, &event, values, calls->err),
                                      "function", calls->err);
    if (*calls->status == ATTN_OK)
        *calls->status =
            check_values(values, event.n_row * event.n_col, target->at.site, calls->err);
}

/* Returns EDIT, a function, with what it made of positions ROW0 on, VALUES [.., LD], as its data.
 * VALUES is NULL if it was not called: then no row is changed. */
static struct attn_edit answered(const struct attn_edit *edit, const float *values, size_t row0,
                                 size_t ld)
{
    struct attn_edit with_data = *edit;

    with_data.row0 = edit->row0 > row0 ? edit->row0 : row0;
    with_data.row1 = values ? edit->row1 : with_data.row0;
    with_data.data =
        values && with_data.row0 < with_data.row1 ? values + (with_data.row0 - row0) * ld : values;
    with_data.ld = ld;
    return with_data;
}

/* Calls the function EDIT with a copy of TARGET. Returns the new values, which the caller frees, or
 * NULL after a failure. */
static float *call_with_copy(const struct attn_edit *edit, const struct attn_edit_calls *calls,
                             const struct attn_edit_target *target)
{
    const size_t n = target->n_col;
    float *values;

    if (*calls->status != ATTN_OK)
        return NULL;
    values = attn_alloc(target->n_row * n, sizeof *values, calls->err);
    if (!values) {
        *calls->status = ATTN_NO_MEMORY;
        return NULL;
    }
    for (size_t i = 0; i < target->n_row; i++)
        memcpy(values + i * n, target->data + i * target->ld, n * sizeof *values);
    attn_edit_call(edit, calls, target, values);
    if (*calls->status == ATTN_OK)
        return values;
    attn_free(values);
    return NULL;
}

/* Applies edits, of which some are functions of whole vectors, to TARGET, one after the other.
 * Returns the number of rows whose values changed. CHANGED [n_row] is scratch of zeros. */
static size_t apply_each(const struct attn_edit *edits, size_t n_edit, atomic_bool *has_effect,
                         const struct attn_edit_calls *calls, const struct attn_edit_target *target,
                         uint64_t *changed)
{
    const bool is_of_model = !attn_site_is_in_layer(target->at.site);
    size_t n_changed = 0;

    for (size_t i = 0; i < n_edit; i++) {
        const bool is_function = edits[i].op == ATTN_EDIT_FUNCTION;
        float *values = NULL;
        struct attn_edit edit = edits[i];

        if (!is_of(&edit, target, is_of_model))
            continue;
        if (is_function) {
            values = call_with_copy(&edit, calls, target);
            edit = answered(&edit, values, target->row0, target->n_col);
        }
        for (size_t row = 0; row < target->n_row; row += BLOCK) {
            const uint64_t by_this = apply_edit(&edit, target, target->row0 + row);

            if (by_this != 0 && has_effect)
                atomic_store_explicit(&has_effect[i], true, memory_order_relaxed);
            changed[row / BLOCK] |= i < target->n_uncounted ? 0 : by_this;
        }
        attn_free(values);
    }
    for (size_t row = 0; row < target->n_row; row += BLOCK)
        n_changed += (size_t)__builtin_popcountll(changed[row / BLOCK]);
    return n_changed;
}

/* Whether a function among the edits changes all of TARGET at once. */
static bool is_called(const struct attn_edit *edits, size_t n_edit,
                      const struct attn_edit_target *target)
{
    const bool is_of_model = !attn_site_is_in_layer(target->at.site);

    for (size_t i = 0; i < n_edit && !is_matrix(target->at.site); i++)
        if (edits[i].op == ATTN_EDIT_FUNCTION && is_of(&edits[i], target, is_of_model))
            return true;
    return false;
}

static size_t apply_functions(const struct attn_edit *edits, size_t n_edit, atomic_bool *has_effect,
                              const struct attn_edit_calls *calls,
                              const struct attn_edit_target *target)
{
    uint64_t *changed = attn_alloc(target->n_row / BLOCK + 1, sizeof *changed, calls->err);
    size_t n = 0;

    if (changed)
        n = apply_each(edits, n_edit, has_effect, calls, target, changed);
    else if (*calls->status == ATTN_OK)
        *calls->status = ATTN_NO_MEMORY;
    attn_free(changed);
    return n;
}

size_t attn_edits_apply(const struct attn_edit *edits, size_t n_edit, atomic_bool *has_effect,
                        const struct attn_edit_calls *calls, const struct attn_edit_target *target)
{
    const bool is_of_model = !attn_site_is_in_layer(target->at.site);
    size_t n_changed = 0;

    if (is_called(edits, n_edit, target))
        return apply_functions(edits, n_edit, has_effect, calls, target);
    if (calls && calls->site == target->at.site)
        n_edit = calls->end;
    for (size_t row = 0; row < target->n_row; row += BLOCK) {
        uint64_t changed = 0;

        for (size_t i = 0; i < n_edit; i++) {
            const struct attn_edit *edit = &edits[i];
            struct attn_edit with_data;
            uint64_t by_this;

            if (!is_of(edit, target, is_of_model))
                continue;
            if (edit->op == ATTN_EDIT_FUNCTION && calls) {
                with_data = answered(
                    edit, calls->answers[i * calls->dims->n_head + (size_t)target->at.head],
                    calls->row0, calls->n_key);
                edit = &with_data;
            }
            by_this = apply_edit(edit, target, target->row0 + row);
            if (by_this != 0 && has_effect)
                atomic_store_explicit(&has_effect[i], true, memory_order_relaxed);
            changed |= i < target->n_uncounted ? 0 : by_this;
        }
        n_changed += (size_t)__builtin_popcountll(changed);
    }
    return n_changed;
}
