/*
 * compare_heads.c - rows of a pattern against rows of the exact one, context vectors against exact
 * ones.
 *
 * An event with rows of one head leads to the same rows of the exact pattern being computed, by
 * attention on the arrays of that head alone. Both stay where they were computed while the pool
 * compares them row by row; the sums are added up in the order of the rows.
 */
#include "experiment/comparing.h"

/* Rows of one head: those that an event told, and where their sums go. */
struct rows {
    struct attn_comparing *comparing;
    const struct attn_trace_event *other;
    const struct attn_trace_event *exact; /* some of the same rows */
    struct attn_difference_sums *sums;
};

static struct attn_weight_row row_of(const struct attn_trace_event *event, size_t i)
{
    struct attn_weight_row row = {.weights = event->data + i * event->ld, .n = event->n_col};
    const size_t n_visible = event->row0 + i + event->ahead + 1;

    if (event->keys != NULL) {
        row.keys = event->keys + i * event->ld;
        row.n = event->n_kept[i];
    } else if (event->is_causal && n_visible < row.n) {
        row.n = n_visible;
    }
    return row;
}

static void compare_row(void *context, size_t task, int worker)
{
    const struct rows *rows = context;
    const struct attn_comparing *c = rows->comparing;
    const struct attn_weight_row exact = row_of(rows->exact, task);
    const struct attn_weight_row other =
        row_of(rows->other, rows->exact->row0 - rows->other->row0 + task);

    (void)worker;
    c->is_row_counted[task] =
        attn_row_difference_find(&exact, &other, c->n_recalled, &c->row_difference[task]);
}

/* An attn_trace_fn: exact rows, at last. */
static enum attn_status on_exact_rows(void *user, const struct attn_trace_event *event,
                                      struct attn_error *err)
{
    struct rows *rows = user;
    const struct attn_comparing *c = rows->comparing;

    (void)err;
    rows->exact = event;
    attn_pool_run(c->pool, event->n_row, compare_row, rows);
    for (size_t i = 0; i < event->n_row; i++)
        if (c->is_row_counted[i])
            attn_difference_add_row(rows->sums, &c->row_difference[i]);
    return ATTN_OK;
}

/* What dropout draws for the layers before LAYER: the stream of a run goes through them all. */
static uint64_t count_drawn(const struct attn_comparing *comparing, int layer)
{
    const struct attn_dims *dims = &comparing->dims;
    uint64_t n = 0;

    for (int i = 0; i < layer; i++)
        if (comparing->chosen[i].dropout > 0 && comparing->chosen[i].dropout_mask.cells == NULL)
            n += (uint64_t)dims->n_head * dims->n_position * attn_site_n_key(dims, i);
    return n;
}

struct attn_attend_args attn_comparing_inputs(const struct attn_comparing *comparing, int layer,
                                              const struct attn_attention *attention)
{
    const struct attn_compare_args *args = comparing->args;
    const struct attn_config *config = comparing->config;
    struct attn_attend_args inputs;

    if (comparing->arrays != NULL) {
        inputs = *comparing->arrays;
        inputs.attention = *attention;
        return inputs;
    }
    inputs = (struct attn_attend_args){
        .n_head = config->n_head,
        .n_kv_head = config->n_kv_head,
        .n_query = args->n,
        .n_key = attn_site_n_key(&comparing->dims, layer),
        .d_head = config->d_head,
        .d_value = config->d_value,
        .q = attn_capture_tensor(comparing->capture, ATTN_SITE_Q, layer),
        .k = attn_capture_tensor(comparing->capture, ATTN_SITE_K, layer),
        .v = attn_capture_tensor(comparing->capture, ATTN_SITE_V, layer),
        .attention = *attention,
        .random_layer = layer,
        .n_drawn = count_drawn(comparing, layer),
        .pool = args->pool,
        .cancel = args->cancel,
        .gemm = args->gemm,
        .isa = args->isa,
    };
    inputs.attention.dropout_seed = comparing->chosen[0].dropout_seed; /* as in a session */
    if (config->is_cross[layer] && attention->mask == ATTN_MASK_CAUSAL)
        inputs.attention.mask = ATTN_MASK_NONE; /* likewise: a source has no order */
    return inputs;
}

/* Narrows INPUTS to what the pattern of one head is made of. */
static void narrow(struct attn_attend_args *inputs, size_t head)
{
    struct attn_mask_matrix *matrix = &inputs->attention.matrix;
    const size_t kv_head = head / (inputs->n_head / inputs->n_kv_head);
    const size_t n_cell = inputs->n_query * inputs->n_key;

    if (inputs->scores != NULL) {
        inputs->scores += head * n_cell;
    } else {
        inputs->q += head * inputs->n_query * inputs->d_head;
        inputs->k += kv_head * inputs->n_key * inputs->d_head;
    }
    if (matrix->cells != NULL && matrix->n_head > 1)
        matrix->cells += head * n_cell;
    matrix->n_head = matrix->n_head > 1 ? 1 : matrix->n_head;
    inputs->v = NULL;
    inputs->n_head = inputs->n_kv_head = 1;
}

/* Runs INPUTS and tells ON_EVENT of what SELECTION wants, which has their dims. */
static enum attn_status attend(const struct attn_attend_args *inputs,
                               const struct attn_selection *selection, attn_trace_fn on_event,
                               void *user, struct attn_error *err)
{
    const struct attn_trace trace = {selection, on_event, user};
    struct attn_attend_args args = *inputs;

    args.trace = &trace;
    return attn_attend(&args, err);
}

/* The pattern's rows that EVENT holds, of attention with DIMS. */
static enum attn_status select_rows(const struct attn_dims *dims,
                                    const struct attn_trace_event *event,
                                    struct attn_selection **selection, struct attn_error *err)
{
    enum attn_status status = attn_selection_create(dims, selection, err);

    if (status != ATTN_OK)
        return status;
    status = attn_selection_set_sites(*selection, ATTN_SITE_BIT(ATTN_SITE_PATTERN), err);
    if (status == ATTN_OK)
        status = attn_selection_keep_queries(*selection, event->row0, event->n_row, err);
    if (status != ATTN_OK)
        attn_selection_free(*selection);
    return status;
}

static enum attn_status compare_pattern(struct attn_comparing *comparing, int layer,
                                        const struct attn_trace_event *event,
                                        struct attn_difference_sums *sums, struct attn_error *err)
{
    struct attn_attend_args inputs =
        attn_comparing_inputs(comparing, layer, &comparing->exact[layer]);
    struct rows rows = {.comparing = comparing, .other = event, .sums = sums};
    struct attn_selection *selection;
    struct attn_dims dims;
    enum attn_status status;

    narrow(&inputs, (size_t)event->head);
    dims = attn_attend_dims(&inputs);
    status = select_rows(&dims, event, &selection, err);
    if (status != ATTN_OK)
        return status;
    status = attend(&inputs, selection, on_exact_rows, &rows, err);
    attn_selection_free(selection);
    return status;
}

static void compare_z(const struct attn_comparing *comparing, int layer,
                      const struct attn_trace_event *event, struct attn_difference_sums *sums)
{
    const size_t d = event->n_col;
    const size_t first = (size_t)event->head * comparing->dims.n_position + event->row0;
    const float *exact = attn_capture_tensor(comparing->capture, ATTN_SITE_Z, layer) + first * d;

    for (size_t i = 0; i < event->n_row; i++)
        attn_difference_add_vector(sums, exact + i * d, event->data + i * event->ld, d);
}

enum attn_status attn_compare_event(void *user, const struct attn_trace_event *event,
                                    struct attn_error *err)
{
    const struct attn_head_pass *pass = user;
    const int layer = pass->layer == ATTN_ALL_LAYERS ? event->layer : pass->layer;
    const size_t head = (size_t)layer * pass->comparing->dims.n_head + (size_t)event->head;

    if (event->site == ATTN_SITE_PATTERN)
        return compare_pattern(pass->comparing, layer, event, &pass->sums[head], err);
    compare_z(pass->comparing, layer, event, &pass->sums[head]);
    return ATTN_OK;
}

/* The heads and queries of LAYER that are compared, of attention on arrays with DIMS. */
static enum attn_status select_layer(const struct attn_comparing *comparing, int layer,
                                     const struct attn_dims *dims,
                                     struct attn_selection **selection, struct attn_error *err)
{
    const struct attn_selection *from = comparing->selection;
    enum attn_status status = attn_selection_create(dims, selection, err);

    if (status != ATTN_OK)
        return status;
    for (int head = 0; status == ATTN_OK && head < (int)dims->n_head; head++)
        if (attn_selection_has_head(from, layer, head))
            status = attn_selection_keep(*selection, 0, head, err);
    for (size_t query = 0; status == ATTN_OK && query < dims->n_position; query++)
        if (attn_selection_has_query(from, query))
            status = attn_selection_keep_queries(*selection, query, 1, err);
    if (status != ATTN_OK)
        attn_selection_free(*selection);
    return status;
}

enum attn_status attn_compare_locally(struct attn_comparing *comparing, int layer,
                                      struct attn_error *err)
{
    const struct attn_attend_args inputs =
        attn_comparing_inputs(comparing, layer, &comparing->chosen[layer]);
    const struct attn_dims dims = attn_attend_dims(&inputs);
    struct attn_head_pass pass = {comparing, layer, comparing->local};
    struct attn_selection *selection;
    enum attn_status status = select_layer(comparing, layer, &dims, &selection, err);

    if (status != ATTN_OK)
        return status;
    status = attend(&inputs, selection, attn_compare_event, &pass, err);
    attn_selection_free(selection);
    return status;
}
