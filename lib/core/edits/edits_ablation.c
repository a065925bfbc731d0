/*
 * edits_ablation.c - edits that set tensors to zero or to their mean over the positions of the
 * text, or the weights of heads to uniform ones. A run without edits computes the means first.
 *
 * An ablation has a list of heads, whose z or weights it changes, or a tensor, which may be outside
 * the layers. The mean of a matrix is taken column by column over the cells that are not masked. A
 * masked cell keeps its value.
 */
#include "edits/edits_internal.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "trace/trace_internal.h"

#include <string.h>

/* An ablation, whose edits are to be appended. */
struct item {
    const struct attn_edit_scope *scope;
    struct attn_edit_list *list;
    const struct attn_intervention *given;
    size_t part;
    size_t first, end; /* edits first .. end-1 of the list come from the parts before this one */
};

/* Appends EDIT unless an earlier part has it. */
static enum attn_status add_edit(const struct item *item, const struct attn_edit *edit,
                                 struct attn_error *err)
{
    for (size_t i = item->first; i < item->end; i++) {
        const struct attn_edit *earlier = &item->list->items[i];

        if (earlier->at.site == edit->at.site && earlier->col0 == edit->col0 &&
            earlier->col1 == edit->col1 && attn_location_compare(&earlier->at, &edit->at) == 0)
            return attn_edits_link(item->list, i, item->part, err);
    }
    return attn_edits_append(item->list, edit, item->part, err);
}

/* Appends an edit that sets HEAD of the tensor AT to zero. */
static enum attn_status add_head(const struct item *item, struct attn_location at, int head,
                                 struct attn_error *err)
{
    struct attn_edit edit = ATTN_EDIT_DEFAULT;

    edit.at = at;
    edit.at.head = head;
    edit.op = ATTN_EDIT_ZERO;
    if (item->given->op == ATTN_EDIT_UNIFORM)
        attn_edit_make_uniform(attn_model_config(attn_edit_scope_at(item->scope, &at).model),
                               &edit);
    return add_edit(item, &edit, err);
}

/* Appends the edits of the heads of mixing in CHOSEN: columns of mixer_z. Channels side by side are
 * one edit. */
static enum attn_status add_mixers(const struct item *item, const struct attn_selection *chosen,
                                   const struct attn_dims *dims, struct attn_error *err)
{
    struct attn_edit edit = ATTN_EDIT_DEFAULT;

    edit.at = (struct attn_location){.site = ATTN_SITE_MIXER_Z, .layer = ATTN_NO_LAYER};
    edit.op = ATTN_EDIT_ZERO;
    while (attn_dims_next_layer(dims, &edit.at)) {
        const size_t n_head =
            dims->mixer->kind == ATTN_MIXER_CONV ? dims->d_model : dims->mixer->n_head;
        const size_t width = attn_site_width(edit.at.site, dims) / n_head;
        struct attn_location head = edit.at;

        if (attn_location_is_lacking(dims, &edit.at))
            continue;
        for (head.head = 0; head.head < (int)n_head; head.head++) {
            if (!attn_selection_has_head(chosen, &head))
                continue;
            edit.col0 = (size_t)head.head * width;
            for (edit.col1 = edit.col0 + width; width == 1 && edit.col1 < n_head; edit.col1++) {
                head.head++;
                if (!attn_selection_has_head(chosen, &head))
                    break;
            }
            ATTN_TRY(add_edit(item, &edit, err));
        }
    }
    return ATTN_OK;
}

/* Fails if all layers of CHOSEN are MLPs alone. */
static enum attn_status check_heads(const struct attn_head_list *heads,
                                    const struct attn_selection *chosen,
                                    const struct attn_dims *dims, struct attn_error *err)
{
    const enum attn_site sites[] = {ATTN_SITE_Z, ATTN_SITE_MIXER_Z};
    bool is_found = false;

    for (size_t i = 0; i < sizeof sites / sizeof *sites; i++) {
        struct attn_location at = {.site = sites[i], .layer = ATTN_NO_LAYER};

        while (!is_found && attn_dims_next_layer(dims, &at))
            for (at.head = 0;
                 at.head < (int)attn_dims_n_head_of(dims, attn_location_index(&at)) && !is_found;
                 at.head++)
                is_found =
                    attn_selection_has_head(chosen, &at) && !attn_location_is_lacking(dims, &at);
    }
    return is_found ? ATTN_OK
                    : attn_error_set(err, ATTN_INVALID, "the layers of heads '%s' have no heads",
                                     attn_quote_string(heads->text ? heads->text : "").text);
}

/* Appends an edit for each head of HEADS in the stacks that go together with STACK. */
static enum attn_status add_stack(const struct item *item, const struct attn_head_list *heads,
                                  enum attn_model_stack stack, struct attn_error *err)
{
    struct attn_location at = {.stack = stack,
                               .site = item->given->op == ATTN_EDIT_UNIFORM ? ATTN_SITE_QK
                                                                            : ATTN_SITE_Z,
                               .layer = ATTN_NO_LAYER};
    const struct attn_dims *dims = attn_edit_scope_at(item->scope, &at).dims;
    struct attn_selection *chosen;
    enum attn_status status = ATTN_OK;

    ATTN_TRY(attn_edit_select_heads(heads, stack, item->scope->dims, &chosen, err));
    if (chosen && dims->mixer)
        status = check_heads(heads, chosen, dims, err);
    if (status == ATTN_OK && chosen && dims->mixer)
        status = item->given->op == ATTN_EDIT_UNIFORM ? attn_edit_check_attention(chosen, dims, err)
                                                      : add_mixers(item, chosen, dims, err);
    while (status == ATTN_OK && chosen && attn_dims_next_head(dims, &at))
        if (attn_selection_has_head(chosen, &at) && !attn_location_is_lacking(dims, &at))
            status = add_head(item, at, at.head, err);
    attn_selection_free(chosen);
    return status;
}

static enum attn_status add_heads(const struct item *item, const struct attn_head_list *heads,
                                  struct attn_error *err)
{
    size_t n_stack;

    if (heads->n == 0)
        ATTN_TRY(attn_edit_stack_check(attn_model_stack_find(heads->text, &n_stack),
                                       item->scope->model, heads->text, err));
    const struct attn_dims *encoder = item->scope->dims->encoder;

    ATTN_TRY(add_stack(item, heads, ATTN_STACK_ONLY, err));
    return encoder ? add_stack(item, heads, attn_dims_own_stack(encoder), err) : ATTN_OK;
}

/* Appends the edits of an ablation of the tensor `at`: one for each head of the tensor that is
 * meant, or one for a tensor without heads. */
static enum attn_status add_tensor(const struct item *item, struct attn_error *err)
{
    struct attn_location at = item->given->at;
    const struct attn_dims *dims = attn_edit_scope_at(item->scope, &at).dims;
    const size_t n_head = attn_site_n_head(at.site, dims);

    if (!attn_site_is_in_layer(at.site))
        at.layer = ATTN_NO_LAYER;
    if (!attn_site_has_heads(at.site))
        return add_head(item, at, ATTN_ALL_HEADS, err);
    for (size_t head = 0; head < n_head; head++)
        if (at.head == ATTN_ALL_HEADS || at.head == (int)head)
            ATTN_TRY(add_head(item, at, (int)head, err));
    return ATTN_OK;
}

static enum attn_status add_item(const struct item *item, struct attn_error *err)
{
    const struct attn_intervention *given = item->given;
    const struct attn_head_list at = {.items = &given->at, .n = 1};
    const bool has_heads = attn_head_list_is_given(&given->heads);

    if (has_heads || given->op == ATTN_EDIT_UNIFORM)
        return attn_error_in(add_heads(item, has_heads ? &given->heads : &at, err),
                             attn_intervention_field(given), err);
    ATTN_TRY(attn_edit_place_check(given, item->scope->model, err));
    return add_tensor(item, err);
}

enum attn_status attn_edits_add_ablations(const struct attn_edit_scope *scope,
                                          struct attn_edit_list *list, struct attn_edit_range range,
                                          struct attn_error *err)
{
    const size_t first = list->n;
    enum attn_status status = ATTN_OK;

    for (size_t i = range.first; status == ATTN_OK && i < range.end; i++)
        status =
            add_item(&(struct item){scope, list, list->parts[i].given, i, first, list->n}, err);
    return attn_error_at(status, ATTN_STAGE_OPTIONS, err);
}

/* A tensor that one edit replaces by its means. Owns its arrays. */
struct attn_edit_mean {
    struct attn_edit_tensor tensor;
    double *sums;  /* [width] of a vector: the sums over its rows; NULL for a matrix */
    float *values; /* [width] the means of a vector; [n_row, width] a matrix without edits, later
                      with means instead of cells that are not masked */
    unsigned char *counts; /* [n_row, width] 1 for each cell of a matrix that is not masked */
    size_t n_came;
};

/* Copies row R of a matrix to mean->values, and marks in mean->counts which of its cells are not
 * masked. */
static void copy_row(const struct attn_edit_mean *mean, const struct attn_trace_event *event,
                     size_t r)
{
    const size_t at = (event->row0 + r) * mean->tensor.width;
    const size_t n = event->keys ? event->n_kept[r] : event->n_col;
    const size_t n_seen = event->row0 + r + event->ahead + 1;

    for (size_t i = 0; i < n; i++) {
        const size_t column = event->keys ? (size_t)event->keys[r * event->ld + i] : i;

        mean->values[at + column] = event->data[r * event->ld + i];
        mean->counts[at + column] = event->keys || !event->is_causal || i < n_seen;
    }
}

enum attn_status attn_edit_means_add(void *user, const struct attn_trace_event *event,
                                     struct attn_error *err)
{
    const struct attn_edit_means *means = user;

    (void)err;
    for (size_t i = 0; i < means->n; i++) {
        struct attn_edit_mean *mean = &means->items[i];

        if (means->edits[i].at.site != event->at.site ||
            attn_location_compare(&means->edits[i].at, &event->at) != 0)
            continue;
        for (size_t r = 0; r < event->n_row; r++) {
            for (size_t k = 0; mean->sums && k < mean->tensor.width; k++)
                mean->sums[k] += (double)event->data[r * event->ld + k];
            if (!mean->sums)
                copy_row(mean, event, r);
        }
        mean->n_came += event->n_row;
    }
    return ATTN_OK;
}

/* Replaces the cells of a matrix that are not masked by the mean of their column. */
static void average_columns(const struct attn_edit_mean *mean)
{
    const size_t width = mean->tensor.width, n_cell = mean->tensor.n_row * width;

    for (size_t column = 0; column < width; column++) {
        double sum = 0;
        size_t n = 0;

        for (size_t at = column; at < n_cell; at += width) {
            sum += mean->counts[at] ? (double)mean->values[at] : 0;
            n += mean->counts[at];
        }
        for (size_t at = column; at < n_cell; at += width)
            if (mean->counts[at])
                mean->values[at] = (float)(sum / (double)n);
    }
}

void attn_edit_means_finish(const struct attn_edit_means *means)
{
    for (size_t i = 0; i < means->n; i++) {
        const struct attn_edit_mean *mean = &means->items[i];
        struct attn_edit *edit = &means->edits[i];

        for (size_t k = 0; mean->sums && k < mean->tensor.width; k++)
            mean->values[k] = (float)(mean->sums[k] / (double)mean->n_came);
        if (!mean->sums)
            average_columns(mean);
        edit->op = ATTN_EDIT_REPLACE;
        edit->row1 = mean->sums ? SIZE_MAX : mean->tensor.n_row;
        edit->col1 = edit->col1 < mean->tensor.width ? edit->col1 : mean->tensor.width;
        edit->data = mean->values + edit->col0;
        edit->ld = mean->sums ? 0 : mean->tensor.width;
    }
}

enum attn_status attn_edit_means_begin(struct attn_edit_means *means, const struct attn_dims *dims,
                                       struct attn_error *err)
{
    ATTN_TRY(ATTN_ALLOC(means->items, means->n, err));
    for (size_t i = 0; i < means->n; i++) {
        struct attn_edit_mean *mean = &means->items[i];
        const struct attn_location *at = &means->edits[i].at;

        mean->tensor.at = *at;
        attn_edit_tensor_size(attn_dims_of(dims, at->stack), &mean->tensor);
        const size_t width = mean->tensor.width, n_cell = mean->tensor.n_row * width;

        ATTN_TRY(ATTN_ALLOC(mean->values, mean->tensor.is_matrix ? n_cell : width, err));
        ATTN_TRY(mean->tensor.is_matrix ? ATTN_ALLOC(mean->counts, n_cell, err)
                                        : ATTN_ALLOC(mean->sums, width, err));
    }
    return ATTN_OK;
}

void attn_edit_means_release(struct attn_edit_means *means)
{
    for (size_t i = 0; means->items && i < means->n; i++) {
        attn_free(means->items[i].sums);
        attn_free(means->items[i].values);
        attn_free(means->items[i].counts);
    }
    attn_free(means->items);
}

/* Selects the tensors of EDITS [n]. */
static enum attn_status select_tensors(const struct attn_edit *edits, size_t n,
                                       struct attn_selection *selection, struct attn_error *err)
{
    struct attn_site_set sites = {0};

    for (size_t i = 0; i < n; i++)
        attn_sites_add(&sites, edits[i].at.site);
    ATTN_TRY(attn_selection_set_sites(selection, sites, err));
    for (size_t i = 0; i < n; i++) {
        struct attn_location at = edits[i].at;

        if (attn_site_layout(at.site) == ATTN_LAYOUT_KEY)
            at.head = ATTN_ALL_HEADS;
        if (at.stack == ATTN_STACK_TOWER && attn_selection_dims(selection)->encoder)
            ATTN_TRY(attn_selection_add_sites(selection, at.stack, ATTN_SITES(at.site), err));
        if (attn_site_is_in_layer(at.site))
            ATTN_TRY(attn_selection_add_head(selection, &at, err));
    }
    return ATTN_OK;
}

enum attn_status attn_edits_select(const struct attn_edit *edits, size_t n,
                                   const struct attn_dims *dims, struct attn_selection **selection,
                                   struct attn_error *err)
{
    struct attn_selection *made;

    ATTN_TRY(attn_selection_create(dims, &made, err));
    ATTN_RETURN_MADE(attn_error_at(select_tensors(edits, n, made, err), ATTN_STAGE_OPTIONS, err),
                     selection, made, attn_selection_free);
}

/* Whether one of MEANS is of a stack that goes together with STACK. */
static bool has_stack(const struct attn_edit_means *means, enum attn_model_stack stack)
{
    size_t i = 0;

    while (i < means->n && !attn_stacks_go_together(means->edits[i].at.stack, stack))
        i++;
    return i < means->n;
}

/* Runs the stacks that MEANS are of, without edits, and adds their values to MEANS. Makes the rows
 * before the text, if they are due. */
static enum attn_status run_text(const struct attn_edit_scope *scope, struct attn_edit_means *means,
                                 struct attn_error *err)
{
    struct attn_before *before = scope->before;
    struct attn_before_pass first = attn_before_pass_of(before, scope->session);
    struct attn_pass pass = {.model = scope->model,
                             .text = scope->text,
                             .source = scope->source,
                             .options = *scope->session};
    struct attn_selection *selection;
    struct attn_trace trace = {.on_event = attn_edit_means_add, .user = means};
    enum attn_status status = ATTN_OK;

    ATTN_TRY(attn_edits_select(means->edits, means->n, scope->dims, &selection, err));
    trace.selection = selection;
    pass.options.trace = &trace;
    pass.options.cache = ATTN_CACHE_ONE_LAYER;
    first.progress = scope->progress;
    first.options.trace = has_stack(means, ATTN_STACK_ENCODER) ? &trace : NULL;
    first.n_shown = before->n_chosen;
    if (first.options.trace || before->is_due)
        status = attn_before_run(&first, before->is_due ? before->reader->embedded : NULL, err);
    before->is_due &= status != ATTN_OK;
    if (status == ATTN_OK && has_stack(means, ATTN_STACK_ONLY))
        status = attn_pass_run(&pass, NULL, err);
    attn_selection_free(selection);
    return status;
}

enum attn_status attn_edits_add_means(const struct attn_edit_scope *scope,
                                      struct attn_edit_list *list, struct attn_edit_range range,
                                      struct attn_error *err)
{
    const size_t first = list->n;

    ATTN_TRY(attn_edits_add_ablations(scope, list, range, err));
    list->means = (struct attn_edit_means){.edits = list->items + first, .n = list->n - first};
    ATTN_TRY(attn_edit_means_begin(&list->means, scope->dims, err));
    const size_t n_picture = attn_before_n_own(scope->before);

    for (size_t i = 0; n_picture > 1 && i < list->means.n; i++)
        if (list->means.edits[i].at.stack == ATTN_STACK_TOWER && !list->means.items[i].sums)
            return attn_refuse(err, ATTN_STAGE_OPTIONS,
                               "`ablate`: the mean of '%s' is of one picture, and %zu are edited: "
                               "expected one in `tiles`",
                               attn_site_name(list->means.edits[i].at.site), n_picture);
    ATTN_TRY(run_text(scope, &list->means, err));
    attn_edit_means_finish(&list->means);
    return ATTN_OK;
}
