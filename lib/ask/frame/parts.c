#include "frame/parts.h"

#include "base/memory.h"
#include "means/rows.h"
#include "means/significance.h"
#include "trace/trace_internal.h"

/* Appends the parts of the tensor AT. */
static enum attn_status list_tensor(const struct attn_selection *selection,
                                    const struct attn_location *at, size_t n_row,
                                    struct attn_parts *parts, struct attn_error *err)
{
    const struct attn_dims dims =
        attn_location_dims(attn_dims_of(attn_selection_dims(selection), at->stack), at);
    const size_t n_mixing = attn_site_n_mixing_head(at->site, &dims);
    const bool has_heads = attn_site_has_heads(at->site) || n_mixing > 0,
               has_neurons = at->site == ATTN_SITE_MLP_POST;
    const size_t n_unit = has_neurons    ? dims.d_mlp
                          : n_mixing > 0 ? n_mixing
                                         : attn_site_n_head(at->site, &dims);
    const size_t n_each = n_row > 0 ? n_row : 1;

    ATTN_TRY(ATTN_GROW(parts->items, parts->capacity, parts->n + n_unit * n_each, err));
    for (size_t i = 0; i < n_unit * n_each; i++) {
        struct attn_part part = {*at, has_neurons ? (int)(i / n_each) : -1, i % n_each};

        part.at.head = has_heads ? (int)(i / n_each) : ATTN_ALL_HEADS;
        if (!has_heads || attn_selection_has_tensor_head(selection, &part.at))
            parts->items[parts->n++] = part;
    }
    return ATTN_OK;
}

enum attn_status attn_parts_list(const struct attn_selection *selection,
                                 const struct attn_location *of, size_t n_row,
                                 struct attn_parts *parts, struct attn_error *err)
{
    for (struct attn_selection_walk walk = {0}; attn_selection_next(selection, &walk);)
        if (walk.at.site == of->site &&
            (of->stack == ATTN_STACK_ONLY ||
             (of->stack == ATTN_STACK_ENCODER) == (walk.at.stack == ATTN_STACK_ENCODER)) &&
            (of->layer == ATTN_ALL_LAYERS || of->layer == walk.at.layer))
            ATTN_TRY(list_tensor(selection, &walk.at, n_row, parts, err));
    return ATTN_OK;
}

void attn_part_place(const struct attn_part *part, const struct attn_dims *dims,
                     struct attn_edit *edit)
{
    const size_t n_mixing = attn_site_n_mixing_head(part->at.site, dims);
    const size_t width = n_mixing > 0 ? attn_site_width(part->at.site, dims) / n_mixing : 1;
    const int column = n_mixing > 0 ? part->at.head : part->neuron;

    edit->at = part->at;
    if (n_mixing > 0)
        edit->at.head = ATTN_ALL_HEADS;
    if (column < 0)
        return;
    edit->col0 = (size_t)column * width;
    edit->col1 = edit->col0 + width;
}

size_t attn_parts_find(const struct attn_parts *parts, const struct attn_location *at)
{
    size_t i = 0;

    while (i < parts->n && (parts->items[i].at.site != at->site ||
                            attn_location_compare(&parts->items[i].at, at) != 0))
        i++;
    return i;
}

enum attn_status attn_part_edits_add(struct attn_part_edits *edits, const struct attn_edit *edit,
                                     struct attn_error *err)
{
    ATTN_TRY(attn_grow(&edits->items, &edits->capacity, edits->n + 1, sizeof *edit, err));
    edits->items[edits->n++] = *edit;
    return ATTN_OK;
}

enum attn_status attn_parts_try(struct attn_trials *trials, size_t n, attn_part_edit_fn add,
                                void *user, struct attn_trial_outcome *outcomes,
                                struct attn_error *err)
{
    struct attn_part_edits edits = {.n = 0};
    struct attn_trial_change *changes;
    enum attn_status status = ATTN_ALLOC(changes, n, err);

    for (size_t i = 0; status == ATTN_OK && i < n; i++) {
        edits.first = edits.n;
        status = add(user, i, &edits, err);
        changes[i] = (struct attn_trial_change){edits.first, edits.n - edits.first};
    }
    ATTN_THEN(status, attn_trials_perform(trials, edits.items, changes, n, outcomes, err));
    attn_free(edits.items);
    attn_free(changes);
    return status;
}

void attn_reply_put(const struct attn_answer *answer, const struct attn_reply *base,
                    const struct attn_reply *reply, struct attn_cell *cells)
{
    cells[0] = attn_cell_real(reply->value);
    cells[1] = attn_cell_real(reply->value - base->value);
    cells[2] = attn_answer_has_p(answer) ? attn_cell_real(reply->kl) : attn_cell_missing();
    cells[3] = attn_answer_has_top(answer) ? attn_cell_boolean(reply->first == base->first)
                                           : attn_cell_missing();
    cells[4] = attn_reply_right(answer, reply->right);
}

void attn_control_put(const double *effects, size_t n, double x, struct attn_cell *cells)
{
    struct attn_moments moments = {.n = 0};

    for (size_t i = 0; i < n; i++)
        attn_moments_add(&moments, effects[i]);
    cells[0] = attn_cell_real(moments.mean);
    cells[1] = attn_cell_real(n > 1 ? attn_moments_sd(&moments) : 0);
    cells[2] = attn_cell_real(attn_rank_share(effects, n, x));
}
