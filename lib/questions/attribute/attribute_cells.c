/* attribute_cells.c - attributes an answer to cells of patterns, and to outputs of MLPs
 * (attribute.h). For each head the backward pass emits blocks of rows of the pattern, each followed
 * by its gradient. The largest cells are kept in a heap whose first element is the smallest.
 * Outputs of MLPs are kept from the forward pass until their gradients come. */
#include "attribute/attribute_internal.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "frame/questions_internal.h"
#include "trials/derivative.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_MOST = 20, DEFAULT_CAUSES = 12 };

enum {
    PART,
    STACK,
    LAYER,
    HEAD,
    QUERY,
    KEY,
    TOKEN,
    WEIGHT,
    ATTN_X_GRAD,
    ATTRIBUTION,
    KNOCKOUT,
    ROW_TYPE,
    N_COLUMN
};

enum { SHOW_CAUSES = 2, SHOW_CELLS = 4 };

static const struct attn_column columns[N_COLUMN] = {
    [PART] = ATTN_COLUMN_OF(PART, "part", TEXT, .shown = SHOW_CAUSES),
    ATTN_COLUMNS_HEAD(STACK, 0),
    [QUERY] = ATTN_COLUMN_OF(QUERY, "query", INTEGER),
    [KEY] = ATTN_COLUMN_OF(KEY, "key", INTEGER),
    [TOKEN] = ATTN_COLUMN_OF(TOKEN, "token", TEXT),
    [WEIGHT] = ATTN_COLUMN_QUANTITY("weight", 4, NULL, SHARE, "weight"),
    [ATTN_X_GRAD] = ATTN_COLUMN_REAL(
        "attn_x_grad", 4, NULL, SIGNED, .shown = SHOW_CELLS, .traits = ATTN_TRAIT_RANKED,
        .help = "P dP: the weight by the derivative of the answer with respect to it"),
    [ATTRIBUTION] = ATTN_COLUMN_REAL(
        "attribution", 4, NULL, SIGNED, .shown = SHOW_CAUSES, .traits = ATTN_TRAIT_RANKED,
        .help = "P dP, as attn_x_grad; for an MLP its output . gradient"),
    [KNOCKOUT] = ATTN_COLUMN_QUANTITY("knockout", 4, NULL, SIGNED,
                                      "estimated change of @ without the weight"),
    [ROW_TYPE] = ATTN_COLUMN_ROW_TYPE,
};

struct attribution {
    struct attn_frame frame;
    const struct attn_attribute_args *args;
    struct attn_answer answer;
    struct attn_derivative *derivative; /* owns */
    bool has_mlps;                      /* outputs of MLPs are attributed, too */
    float *mlps;                        /* [n_layer, n, D] owns; outputs of the MLPs */
    float *pattern;                     /* [n_row, n] owns; current rows of a pattern */
    size_t n_float;                     /* capacity of `pattern` */
    struct attn_found_cell *cells;      /* [n_most] owns; a heap of n_cell cells */
    size_t n_cell, n_most, capacity;
    struct attn_found_cell *found; /* [n_found] owns; cells of all MLPs at all positions */
    size_t n_found, room;
};

static bool is_of_causes(const struct attribution *a)
{
    const struct attn_attribute_args *args = a->frame.args;

    return args->method == ATTN_ATTRIBUTE_CAUSES;
}

/* --- The heap --------------------------------------------------------------------------------- */

static void swap(struct attn_found_cell *a, struct attn_found_cell *b)
{
    const struct attn_found_cell cell = *a;

    *a = *b;
    *b = cell;
}

/* Restores the heap after its first element changed. */
static void sink_first(struct attribution *a)
{
    for (size_t at = 0, child; (child = 2 * at + 1) < a->n_cell; at = child) {
        if (child + 1 < a->n_cell &&
            attn_found_cell_compare(&a->cells[child + 1], &a->cells[child]) > 0)
            child++;
        if (attn_found_cell_compare(&a->cells[at], &a->cells[child]) >= 0)
            return;
        swap(&a->cells[at], &a->cells[child]);
    }
}

/* Adds CELL, which is among the largest so far, to the heap. */
static enum attn_status keep_cell(struct attribution *a, const struct attn_found_cell *cell,
                                  struct attn_error *err)
{
    if (a->n_cell == a->n_most) {
        a->cells[0] = *cell;
        sink_first(a);
        return ATTN_OK;
    }
    ATTN_TRY(ATTN_GROW(a->cells, a->capacity, a->n_cell + 1, err));
    a->cells[a->n_cell] = *cell;
    for (size_t at = a->n_cell++; at > 0; at = (at - 1) / 2) {
        const size_t parent = (at - 1) / 2;

        if (attn_found_cell_compare(&a->cells[parent], &a->cells[at]) >= 0)
            break;
        swap(&a->cells[parent], &a->cells[at]);
    }
    return ATTN_OK;
}

/* --- Rows of a pattern ------------------------------------------------------------------------ */

/* Estimates the effect of masking the key of CELL in a row P [n] whose gradient is D. Sums run over
 * the other keys, because 1 minus a weight near 1 would lose precision. */
static void find_knockout(const float *p, const float *d, size_t n, struct attn_found_cell *cell)
{
    double total = 0, mean = 0;

    for (size_t j = 0; j < n; j++)
        if (j != cell->key) {
            total += (double)p[j];
            mean += (double)p[j] * (double)d[j];
        }
    cell->has_knockout = total > 0;
    if (cell->has_knockout)
        cell->knockout = cell->weight * (mean / total - (double)d[cell->key]);
}

static enum attn_status take_row(struct attribution *a, const struct attn_trace_event *event,
                                 size_t r, struct attn_error *err)
{
    const float *p = a->pattern + r * event->n_col, *d = event->data + r * event->ld;

    for (size_t key = 0; key < event->n_col; key++) {
        struct attn_found_cell cell = {.at = event->at,
                                       .query = event->row0 + r,
                                       .key = key,
                                       .weight = (double)p[key],
                                       .value = (double)p[key] * (double)d[key]};

        if (p[key] == 0 ||
            (a->n_cell == a->n_most && attn_found_cell_compare(&cell, &a->cells[0]) >= 0))
            continue;
        find_knockout(p, d, event->n_col, &cell);
        ATTN_TRY(keep_cell(a, &cell, err));
    }
    return ATTN_OK;
}

/* Copies rows of an MLP's output (attn_trace_fn of the forward pass). */
static enum attn_status on_output(void *user, const struct attn_trace_event *event,
                                  struct attn_error *err)
{
    struct attribution *a = user;
    const size_t n = attn_asked_n(a->frame.run);

    (void)err;
    for (size_t r = 0; r < event->n_row; r++)
        memcpy(a->mlps + (attn_location_index(&event->at) * n + event->row0 + r) * event->n_col,
               event->data + r * event->ld, event->n_col * sizeof *a->mlps);
    return ATTN_OK;
}

/* Adds the MLPs of EVENT, a gradient of an MLP's output: at each position, output times
 * gradient. */
static enum attn_status take_mlps(struct attribution *a, const struct attn_trace_event *event,
                                  struct attn_error *err)
{
    const size_t n = attn_asked_n(a->frame.run);

    for (size_t r = 0; r < event->n_row; r++) {
        struct attn_found_cell *mlp;
        const float *out =
            a->mlps + (attn_location_index(&event->at) * n + event->row0 + r) * event->n_col;

        ATTN_TRY(ATTN_GROW(a->found, a->room, a->n_found + 1, err));
        mlp = &a->found[a->n_found++];
        *mlp = (struct attn_found_cell){
            .at = event->at, .query = event->row0 + r, .has_knockout = true};
        for (size_t c = 0; c < event->n_col; c++)
            mlp->value += (double)out[c] * (double)event->data[r * event->ld + c];
        mlp->knockout = -mlp->value;
    }
    return ATTN_OK;
}

/* Receives rows of a pattern, then their gradient; or the gradient of an MLP's output
 * (attn_trace_fn). */
static enum attn_status on_gradient(void *user, const struct attn_trace_event *event,
                                    struct attn_error *err)
{
    struct attribution *a = user;
    const size_t n = event->n_row * event->n_col;

    if (event->at.site == ATTN_SITE_MLP_OUT_GRAD)
        return take_mlps(a, event, err);
    if (event->at.site == ATTN_SITE_PATTERN) {
        ATTN_TRY(ATTN_GROW(a->pattern, a->n_float, n, err));
        for (size_t r = 0; r < event->n_row; r++)
            memcpy(a->pattern + r * event->n_col, event->data + r * event->ld,
                   event->n_col * sizeof *a->pattern);
        return ATTN_OK;
    }
    for (size_t r = 0; r < event->n_row; r++)
        ATTN_TRY(take_row(a, event, r, err));
    return ATTN_OK;
}

/* --- The procedure ---------------------------------------------------------------------------- */

/* Records the outputs of MLPs in the forward pass, if the model has MLPs. */
static enum attn_status watch_mlps(struct attribution *a, struct attn_error *err)
{
    const struct attn_site_set site = ATTN_SITES(ATTN_SITE_MLP_OUT);
    const struct attn_config *config = a->frame.config;
    const size_t n = attn_asked_n(a->frame.run);

    a->has_mlps = attn_sites_meet(attn_config_dims(config, n).sites, site);
    if (!a->has_mlps)
        return ATTN_OK;
    a->mlps = attn_frame_alloc(&a->frame, config->n_layer * n, config->d_model * sizeof *a->mlps);
    return attn_frame_memory(&a->frame, err);
}

static enum attn_status prepare(void *state, struct attn_error *err)
{
    struct attribution *a = state;
    struct attn_derivative_options options = {
        .gradients = {ATTN_SITES(ATTN_SITE_PATTERN, ATTN_SITE_PATTERN_GRAD), on_gradient, a}};

    a->args = a->frame.args;
    a->n_most = a->args->n_most > 0 ? a->args->n_most
                : is_of_causes(a)   ? DEFAULT_CAUSES
                                    : DEFAULT_MOST;
    ATTN_TRY(attn_frame_find_answer(&a->frame, &a->args->answer, &a->answer, err));
    ATTN_TRY(attn_error_at(attn_answer_check_goal(&a->answer, err), ATTN_STAGE_OPTIONS, err));
    if (is_of_causes(a))
        ATTN_TRY(attn_error_at(watch_mlps(a, err), ATTN_STAGE_MODEL, err));
    if (a->has_mlps) {
        attn_sites_add(&options.gradients.sites, ATTN_SITE_MLP_OUT_GRAD);
        options.watched =
            (struct attn_derivative_events){ATTN_SITES(ATTN_SITE_MLP_OUT), on_output, a};
    }
    return attn_derivative_create(a->frame.run, &a->answer, &options, &a->derivative, err);
}

static enum attn_status append(struct attribution *a, const struct attn_found_cell *cell,
                               struct attn_error *err)
{
    const bool is_mlp = cell->at.head == ATTN_ALL_HEADS;
    const size_t position = is_mlp ? cell->query : cell->key;
    struct attn_cell row[N_COLUMN] = {[PART] = attn_cell_string(is_mlp ? "mlp" : "head"),
                                      [QUERY] = attn_cell_integer((int64_t)cell->query),
                                      [TOKEN] = attn_asked_token(a->frame.run, position),
                                      [ATTN_X_GRAD] = attn_cell_real(cell->value),
                                      [ATTRIBUTION] = attn_cell_real(cell->value)};

    attn_location_put(&cell->at, &row[STACK]);
    if (!is_mlp) {
        row[HEAD] = attn_cell_integer(cell->at.head);
        row[KEY] = attn_cell_integer((int64_t)cell->key);
        row[WEIGHT] = attn_cell_real(cell->weight);
    }
    if (cell->has_knockout)
        row[KNOCKOUT] = attn_cell_real(cell->knockout);
    return attn_frame_append(&a->frame, row, err);
}

/* Adds the largest MLPs, as many as cells at most, that are at least as large as the smallest
 * cell. */
static enum attn_status join_mlps(struct attribution *a, struct attn_error *err)
{
    const struct attn_found_cell least = a->n_cell > 0 ? a->cells[0] : (struct attn_found_cell){0};

    ATTN_SORT(a->found, a->n_found, attn_found_cell_compare);
    for (size_t i = 0; i < a->n_found && i < a->n_most; i++) {
        if (fabs(a->found[i].value) < fabs(least.value))
            break;
        ATTN_TRY(ATTN_GROW(a->cells, a->capacity, a->n_cell + 1, err));
        a->cells[a->n_cell++] = a->found[i];
    }
    return ATTN_OK;
}

static enum attn_status ask(void *state, struct attn_error *err)
{
    struct attribution *a = state;
    const size_t n = attn_asked_n(a->frame.run);
    float *x = attn_frame_alloc(&a->frame, n, a->frame.config->d_embed * sizeof *x);
    double value;

    ATTN_TRY(attn_frame_memory(&a->frame, err));
    ATTN_TRY(attn_derivative_embed(a->frame.run, x, err));
    ATTN_TRY(attn_derivative_feed(a->derivative, x, &value, err));
    ATTN_TRY(attn_derivative_backward(a->derivative, err));
    ATTN_TRY(join_mlps(a, err));
    ATTN_SORT(a->cells, a->n_cell, attn_found_cell_compare);
    for (size_t i = 0; i < a->n_cell; i++)
        ATTN_TRY(append(a, &a->cells[i], err));
    return attn_table_set_about(
        a->frame.rows.table,
        (const struct attn_column[]){ATTN_COLUMN("method", TEXT), ATTN_COLUMN("metric", TEXT)},
        (const struct attn_cell[]){attn_cell_string(is_of_causes(a) ? "causes" : "attn_x_grad"),
                                   attn_cell_string(attn_answer_metric_name(a->answer.metric))},
        2, err);
}

static void release(void *state)
{
    struct attribution *a = state;

    attn_derivative_free(a->derivative);
    attn_free(a->pattern);
    attn_free(a->cells);
    attn_free(a->found);
}

static const struct attn_table_view views[] = {
    {ATTN_VIEW_OF(LAYER, KEY, ATTRIBUTION), .detail = ATTN_ROLE_HEAD, .texts = ATTN_ROLE_TOKEN,
     .quantity = "part of @", .asked = "in the largest cells and MLPs", .traits = ATTN_VIEW_TOKENS},
    {ATTN_VIEW_OF(LAYER, KEY, ATTN_X_GRAD), .detail = ATTN_ROLE_HEAD, .texts = ATTN_ROLE_TOKEN,
     .quantity = "weight times the gradient of @", .asked = "in the largest cells",
     .traits = ATTN_VIEW_TOKENS},
};

static uint64_t shows(const void *state)
{
    return is_of_causes(state) ? SHOW_CAUSES : SHOW_CELLS;
}

const struct attn_procedure attn_attribute_cells = {
    .table.name = ATTN_TABLE_ATTRIBUTE_PATTERN,
    ATTN_ATTRIBUTE(struct attribution),
    .needs_output = true,
    .reads_unequal_layers = true, /* gradients refuse them by name */
    .check = attn_attribute_check,
    .release = release,
};
