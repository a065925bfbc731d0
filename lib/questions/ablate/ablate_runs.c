/* ablate_runs.c - the runs of `ablate` without each part or set, and without random choices of as
 * many heads. */
#include "ablate/ablate_internal.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/number.h"
#include "model/config_internal.h"
#include "tables/table_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Whether PART has the tensor AT: a layer has all tensors of its stack that have its number. */
static bool has_tensor(const struct attn_ablation *ablation, const struct attn_location *part,
                       const struct attn_location *at)
{
    return ablation->args->by == ATTN_ABLATE_BY_LAYER
               ? part->layer == at->layer && attn_stacks_go_together(part->stack, at->stack)
               : part->site == at->site && attn_location_compare(part, at) == 0;
}

/* Appends the edits of part I, or if the parts add up, also those of the parts before it
 * (attn_part_edit_fn). */
static enum attn_status add_part(void *user, size_t i, struct attn_part_edits *edits,
                                 struct attn_error *err)
{
    const struct attn_ablation *ablation = user;
    const struct attn_part *part = &ablation->parts.items[i];

    if (ablation->adds_up)
        edits->first = 0;
    for (size_t k = 0; k < ablation->n_own; k++) {
        struct attn_edit edit = ablation->edits[k];

        if (!has_tensor(ablation, &part->at, &ablation->tensors.items[k].at))
            continue;
        if (part->neuron >= 0) {
            edit.col0 = (size_t)part->neuron;
            edit.col1 = edit.col0 + 1;
            edit.data = edit.data ? edit.data + edit.col0 : NULL;
        }
        ATTN_TRY(attn_part_edits_add(edits, &edit, err));
    }
    return ATTN_OK;
}

/* Appends the edits of set number I (attn_part_edit_fn). */
static enum attn_status add_set(void *user, size_t i, struct attn_part_edits *edits,
                                struct attn_error *err)
{
    const struct attn_ablation *ablation = user;
    struct attn_parts heads = {.n = 0};
    enum attn_status status = attn_error_in(
        attn_ablate_list(ablation, ablation->sites, &ablation->args->sets[i].heads, &heads, err),
        "sets", err);

    for (size_t k = 0; status == ATTN_OK && k < heads.n; k++)
        status = attn_part_edits_add(
            edits, &ablation->edits[attn_parts_find(&ablation->tensors, &heads.items[k].at)], err);
    ablation->n_head[i] = heads.n;
    attn_free(heads.items);
    if (status != ATTN_OK && ablation->frame.answer)
        ablation->frame.answer->is_general = true;
    return attn_error_at(status, ATTN_STAGE_OPTIONS, err);
}

enum attn_status attn_ablate_try(struct attn_ablation *ablation, struct attn_error *err)
{
    return attn_parts_try(&ablation->frame.trials, ablation->n_row,
                          attn_ablate_has_sets(ablation) ? add_set : add_part, ablation,
                          ablation->outcomes, err);
}

/* A part, and the change that it makes alone. */
struct ranked {
    struct attn_part part;
    double change;
};

static int by_change(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    int order = attn_compare_numbers(fabs(x->change), fabs(y->change));

    if (order != 0)
        return order;
    order = attn_location_compare(&x->part.at, &y->part.at);
    return order != 0 ? order
                      : (x->part.neuron > y->part.neuron) - (x->part.neuron < y->part.neuron);
}

/* Sorts RANKED [n], the smallest change first, into PARTS. */
static void sort_ranked(struct ranked *ranked, size_t n, struct attn_part *parts)
{
    qsort(ranked, n, sizeof *ranked, by_change);
    for (size_t i = 0; i < n; i++)
        parts[i] = ranked[i].part;
}

enum attn_status attn_ablate_sort(struct attn_ablation *ablation, struct attn_error *err)
{
    const struct attn_parts *order =
        &((const struct attn_ablate_plan *)ablation->frame.plan)->order;
    struct attn_part *parts = ablation->parts.items;
    const size_t n = ablation->parts.n;
    struct ranked *ranked;

    if (order->n == n) {
        memcpy(parts, order->items, n * sizeof *parts);
        for (size_t i = 0; i < n && attn_ablate_is_of_tower(ablation);
             i++) /* its table names no stack */
            parts[i].at.stack = ATTN_STACK_TOWER;
        return ATTN_OK;
    }
    ATTN_TRY(attn_ablate_try(ablation, err));
    ATTN_TRY(ATTN_ALLOC(ranked, n, err));
    for (size_t i = 0; i < n; i++)
        ranked[i] = (struct ranked){parts[i], ablation->outcomes[i].reply.value -
                                                  ablation->frame.trials.base.value};
    sort_ranked(ranked, n, parts);
    attn_free(ranked);
    return ATTN_OK;
}

/* Whether ROW of TABLE is of a layer without attention. */
static bool row_is_mixing(const struct attn_table *table, size_t row)
{
    const struct attn_cell cell = attn_table_cell(table, row, attn_table_find(table, "kind"));

    return attn_cell_word(&cell, ATTN_ABLATE_MIXING) == 0;
}

enum attn_status attn_ablate_read_order(const struct attn_table *table, enum attn_ablate_by by,
                                        struct attn_parts *order, struct attn_error *err)
{
    static const enum attn_site sites[][2] = {
        [ATTN_ABLATE_BY_HEAD] = {ATTN_SITE_Z, ATTN_SITE_MIXER_Z},
        [ATTN_ABLATE_BY_ATTN] = {ATTN_SITE_ATTN_OUT, ATTN_SITE_MIXER_OUT},
        [ATTN_ABLATE_BY_MLP] = {ATTN_SITE_MLP_OUT},
        [ATTN_ABLATE_BY_LAYER] = {ATTN_SITE_ATTN_OUT},
        [ATTN_ABLATE_BY_NEURON] = {ATTN_SITE_MLP_POST},
    };
    const size_t n_row = attn_table_n_row(table);
    const size_t n = n_row > 0 ? n_row - 1 : 0; /* without the row `base` */
    const size_t layer = attn_table_find_role(table, ATTN_ROLE_LAYER);
    const size_t change = attn_table_find(table, "change");
    const bool has_neurons = n > 0 && attn_table_column(table, layer + 1)->role == ATTN_ROLE_NEURON;
    struct ranked *ranked;

    ATTN_TRY(ATTN_ALLOC(order->items, n, err));
    ATTN_TRY(ATTN_ALLOC(ranked, n, err));
    for (size_t i = 0; i < n; i++) {
        const struct attn_cell index = attn_table_cell(table, i + 1, layer + 1);
        const int number = index.type == ATTN_VALUE_MISSING ? -1 : (int)index.integer;
        struct attn_part *part = &ranked[i].part;

        attn_location_read(table, i + 1, layer, &part->at);
        part->at.site = sites[by][row_is_mixing(table, i + 1)];
        part->at.head = has_neurons ? ATTN_ALL_HEADS : number;
        part->neuron = has_neurons ? number : -1;
        ranked[i].change = attn_table_cell(table, i + 1, change).real;
    }
    order->n = n;
    sort_ranked(ranked, n, order->items);
    attn_free(ranked);
    return ATTN_OK;
}

/* --- Controls --------------------------------------------------------------------------------- */

/* The heads that a control draws: N_HEAD of N, counted over the heads of the text's model, then
 * those of its encoder, or if they are of the encoder, over those. */
struct draw {
    struct attn_ablation *ablation;
    const struct attn_edit *heads; /* [n_all] those of the encoder come first */
    size_t n_all, first, n, n_head;
};

/* Returns a draw among the heads of the stacks that go together with STACK; with IS_OF_ALL among
 * all. */
static struct draw draw_of(struct attn_ablation *ablation, enum attn_model_stack stack,
                           bool is_of_all)
{
    const size_t first = ablation->args->by == ATTN_ABLATE_BY_HEAD ? 0 : ablation->n_own;
    struct draw draw = {.ablation = ablation,
                        .heads = ablation->edits + first,
                        .n_all = ablation->tensors.n - first};
    const bool is_before = attn_stack_is_encoder(stack);
    size_t n_encoder = 0;

    while (n_encoder < draw.n_all && attn_stack_is_encoder(draw.heads[n_encoder].at.stack))
        n_encoder++;
    draw.first = is_before && !is_of_all ? 0 : n_encoder;
    draw.n = is_of_all ? draw.n_all : is_before ? n_encoder : draw.n_all - n_encoder;
    return draw;
}

/* Appends the edits of randomly drawn heads (attn_part_edit_fn). */
static enum attn_status add_drawn(void *user, size_t i, struct attn_part_edits *edits,
                                  struct attn_error *err)
{
    const struct draw *draw = user;
    struct attn_ablation *ablation = draw->ablation;

    (void)i;
    attn_random_permutation(&ablation->random, ablation->order, draw->n);
    for (size_t k = 0; k < draw->n_head && k < draw->n; k++)
        ATTN_TRY(attn_part_edits_add(
            edits, &draw->heads[(draw->first + ablation->order[k]) % draw->n_all], err));
    return ATTN_OK;
}

/* Runs the random choices of DRAW, and stores their CHANGES [n_control]. */
static enum attn_status try_control(struct draw *draw, double *changes, struct attn_error *err)
{
    const struct attn_ablation *ablation = draw->ablation;
    const size_t n = ablation->args->n_control;
    struct attn_trials *trials = &draw->ablation->frame.trials;

    ATTN_TRY(attn_parts_try(trials, n, add_drawn, draw, ablation->drawn, err));
    for (size_t i = 0; i < n; i++)
        changes[i] = ablation->drawn[i].reply.value - trials->base.value;
    return ATTN_OK;
}

/* Returns the number of heads in a part of STACK; controls draw equally many. */
static size_t n_heads_of_part(const struct attn_ablation *ablation, enum attn_model_stack stack)
{
    const struct attn_config *config = attn_ablate_config(ablation, stack);
    const enum attn_ablate_by by = ablation->args->by;

    return by == ATTN_ABLATE_BY_HEAD
               ? 1
               : config->n_head * (by == ATTN_ABLATE_BY_LAYER ? attn_config_n_part(config) : 1);
}

enum attn_status attn_ablate_try_controls(struct attn_ablation *ablation, bool has_own_control,
                                          double *changes, struct attn_error *err)
{
    const struct attn_ablate_args *args = ablation->args;
    const size_t n = ablation->n_row, n_control = args->n_control;
    size_t n_encoder = 0;

    for (size_t i = 0; i < n && n_control > 0 && has_own_control; i++) {
        const bool is_mixed =
            args->is_cumulative ||
            (attn_ablate_has_sets(ablation) && attn_ablate_names_encoder(&args->sets[i].heads));
        const bool has_sets = attn_ablate_has_sets(ablation);
        struct draw draw =
            draw_of(ablation, has_sets ? ATTN_STACK_ONLY : ablation->parts.items[i].at.stack,
                    ablation->has_encoder && is_mixed);

        draw.n_head =
            has_sets ? ablation->n_head[i] : (i + 1) * n_heads_of_part(ablation, ATTN_STACK_ONLY);
        ATTN_TRY(try_control(&draw, changes + i * n_control, err));
    }
    if (n_control == 0 || has_own_control || n == 0)
        return ATTN_OK;
    while (n_encoder < n && attn_stack_is_encoder(ablation->parts.items[n_encoder].at.stack))
        n_encoder++;
    /* parts of one stack share a control; that of the text's model is drawn first */
    for (int side = 0; side < (ablation->has_encoder ? 2 : 1); side++) {
        const size_t first = side == 0 ? n_encoder : 0, end = side == 0 ? n : n_encoder;
        double *own = changes + first * n_control;
        const enum attn_model_stack stack = side > 0 ? ATTN_STACK_ENCODER : ATTN_STACK_ONLY;
        struct draw draw = draw_of(ablation, stack, false);

        draw.n_head = n_heads_of_part(ablation, stack);
        if (first == end)
            continue;
        ATTN_TRY(try_control(&draw, own, err));
        for (size_t i = first + 1; i < end && ablation->has_encoder; i++)
            memcpy(changes + i * n_control, own, n_control * sizeof *own);
    }
    return ATTN_OK;
}
