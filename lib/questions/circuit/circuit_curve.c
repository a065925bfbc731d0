/* circuit_curve.c - circuits of several sizes, or that of a file, beside random ones (circuit.h).
 * The circuit of a size is that of the scores of one pair or, over items, of their mean scores. */
#include "circuit/circuit_internal.h"

#include "base/random.h"
#include "base/status_internal.h"
#include "base/text/list.h"
#include "base/text/number.h"
#include "run/run_pass.h"

#include <math.h>
#include <string.h>

/* --- The circuits ----------------------------------------------------------------------------- */

/* Of each size the circuit of the scores, then the random ones. */
struct curve {
    size_t *sizes, n_size, n_each, *order; /* arrays owned by the frame */
    struct attn_circuit *circuits;         /* [n_size, n_each] owned by the frame */
};

/* Appends the size N to SIZES [*n_size], which has room for n_edge + 1. */
static void add_size(size_t *sizes, size_t *n_size, size_t n)
{
    if (*n_size == 0 || n > sizes[*n_size - 1])
        sizes[(*n_size)++] = n;
}

/* Reads the sizes of circuits, ascending, of N edges. */
static enum attn_status read_sizes(const char *curve, size_t n, size_t *sizes, size_t *n_size,
                                   struct attn_error *err)
{
    static const size_t steps[] = {1, 2, 5};
    int64_t size;

    if (strcmp(curve, "auto") == 0) {
        for (size_t unit = 10; unit < n; unit *= 10)
            for (size_t i = 0; i < 3 && unit * steps[i] < n; i++)
                add_size(sizes, n_size, unit * steps[i]);
        add_size(sizes, n_size, n);
        return ATTN_OK;
    }
    for (struct attn_list_item item = {.rest = curve}; attn_list_next(&item);) {
        if (!attn_parse_int(item.text, item.size, 1, (int64_t)n, &size) ||
            (*n_size > 0 && (size_t)size <= sizes[*n_size - 1]))
            return attn_refuse(
                err, ATTN_STAGE_OPTIONS,
                "`curve` is '%s', expected auto, or numbers of edges from 1 to %zu in "
                "ascending order, 10,20,50",
                attn_quote_string(curve).text, n);
        add_size(sizes, n_size, (size_t)size);
    }
    return ATTN_OK;
}

/* Takes the first edges of ORDER into circuit number K of each size. */
static void take_edges(const struct curve *curve, size_t k)
{
    for (size_t i = 0; i < curve->n_size; i++)
        for (size_t e = 0; e < curve->sizes[i]; e++)
            curve->circuits[i * curve->n_each + k].chosen[curve->order[e]] = 1;
}

/* Returns the flags [n_reader, n_writer] of the edges of a file. */
static const unsigned char *chosen_of(const struct attn_circuit_state *state)
{
    return ((const struct attn_circuit_plan *)state->patch.frame.plan)->chosen;
}

/* Returns the number of edges of a file. */
static size_t count(const struct attn_circuit_state *state)
{
    const size_t n = state->patch.edges.n_reader * state->patch.edges.n_writer;
    size_t n_chosen = 0;

    for (size_t i = 0; i < n; i++)
        n_chosen += chosen_of(state)[i];
    return n_chosen;
}

/* Chooses the edges of all circuits. */
static enum attn_status choose_edges(struct attn_circuit_state *state, struct curve *curve,
                                     struct attn_error *err)
{
    const struct attn_wiring *edges = &state->patch.edges;
    const size_t n = edges->n_edge, n_flag = edges->n_reader * edges->n_writer;
    const size_t n_circuit = curve->n_size * curve->n_each;
    struct attn_frame *frame = &state->patch.frame;
    unsigned char *flags = attn_frame_alloc(frame, n_circuit, n_flag);
    size_t *drawn = attn_frame_alloc(frame, 2 * n, sizeof *drawn), *list = drawn + n, at = 0;
    struct attn_random random;

    curve->circuits = attn_frame_alloc(frame, n_circuit, sizeof *curve->circuits);
    curve->order = attn_frame_alloc(frame, n, sizeof *curve->order);
    ATTN_TRY(attn_frame_memory(frame, err));
    for (size_t i = 0; i < n_circuit; i++)
        curve->circuits[i].chosen = flags + i * n_flag;
    if (!state->args->evaluate)
        ATTN_TRY(
            attn_circuit_rank(edges, state->scores, !state->args->is_by_score, curve->order, err));
    for (size_t i = 0; state->args->evaluate && i < n_flag; i++)
        if (chosen_of(state)[i])
            curve->order[at++] = i;
    take_edges(curve, 0);
    at = 0;
    for (size_t r = 0; r < edges->n_reader; r++)
        for (size_t w = 0; w < edges->readers[r].n_read; w++)
            list[at++] = r * edges->n_writer + w;
    attn_random_seed(&random, state->args->seed);
    for (size_t k = 1; k < curve->n_each; k++) {
        attn_random_permutation(&random, drawn, n);
        for (size_t i = 0; i < n; i++)
            curve->order[i] = list[drawn[i]];
        take_edges(curve, k);
    }
    return ATTN_OK;
}

/* --- Rows ------------------------------------------------------------------------------------- */

/* The numbers beside the rows: the metric of the corrupted text and of the clean text, then that of
 * all circuits, size by size. */
enum { CORRUPTED, CLEAN, FIRST_CIRCUIT };

/* Fills the columns of row number I that are shares of the difference of both texts, from
 * NUMBERS. */
static void put_shares(const double *numbers, size_t n_each, size_t i, struct attn_cell *row)
{
    const double base = numbers[CORRUPTED], whole = numbers[CLEAN] - base;
    const double *values = numbers + FIRST_CIRCUIT + i * n_each;
    struct attn_moments moments = {.n = 0};

    if (fabs(whole) < ATTN_PATCH_SMALLEST_DIFFERENCE)
        return;
    for (size_t k = 1; k < n_each; k++)
        attn_moments_add(&moments, (values[k] - base) / whole);
    row[ATTN_CIRCUIT_FAITHFULNESS] = attn_cell_real((values[0] - base) / whole);
    if (n_each == 1)
        return;
    row[ATTN_CIRCUIT_CONTROL] = attn_cell_real(moments.mean);
    row[ATTN_CIRCUIT_CONTROL_SD] = attn_cell_real_or_missing(attn_moments_sd(&moments));
}

/* Appends the rows of CURVE, and reports for an item the numbers from which shares of means are
 * computed. */
static enum attn_status append_rows(struct attn_circuit_state *state, const struct curve *curve,
                                    struct attn_error *err)
{
    struct attn_patching *patch = &state->patch;
    const size_t n_circuit = curve->n_size * curve->n_each;
    const bool is_to_noise = attn_patch_is_to_noise(patch->args);
    double *numbers = attn_frame_alloc(&patch->frame, FIRST_CIRCUIT + n_circuit, sizeof *numbers);

    ATTN_TRY(attn_frame_memory(&patch->frame, err));
    numbers[CORRUPTED] = is_to_noise ? patch->source_reply.value : patch->base_reply.value;
    numbers[CLEAN] = is_to_noise ? patch->base_reply.value : patch->source_reply.value;
    for (size_t i = 0; i < n_circuit; i++)
        numbers[FIRST_CIRCUIT + i] = curve->circuits[i].value;
    for (size_t i = 0; i < curve->n_size; i++) {
        const struct attn_circuit *first = &curve->circuits[i * curve->n_each];
        struct attn_cell row[ATTN_CIRCUIT_N_COLUMN] = {
            [ATTN_CIRCUIT_EDGES] = attn_cell_integer((int64_t)curve->sizes[i]),
            [ATTN_CIRCUIT_KEPT] = attn_cell_integer((int64_t)first->n_kept),
            [ATTN_CIRCUIT_VALUE] = attn_cell_real(first->value)};

        put_shares(numbers, curve->n_each, i, row);
        ATTN_TRY(attn_frame_append(&patch->frame, row, err));
    }
    return attn_frame_report_more(&patch->frame, numbers, FIRST_CIRCUIT + n_circuit, err);
}

enum attn_status attn_circuit_check_difference(double whole, struct attn_error *err)
{
    return fabs(whole) >= ATTN_PATCH_SMALLEST_DIFFERENCE
               ? ATTN_OK
               : attn_error_set(err, ATTN_INVALID,
                                "the mean difference of clean and corrupted texts is %.3g: there "
                                "is no difference to explain",
                                whole);
}

enum attn_status attn_circuit_curve_derive(const struct attn_circuit_args *args,
                                           const struct attn_fold_means *means,
                                           struct attn_error *err)
{
    if (!means->is_resample)
        ATTN_TRY(attn_circuit_check_difference(means->more[CLEAN] - means->more[CORRUPTED], err));
    for (size_t i = 0; i < means->n_row; i++)
        put_shares(means->more, 1 + args->n_random, i, means->rows + i * ATTN_CIRCUIT_N_COLUMN);
    return ATTN_OK;
}

/* --- Runs ------------------------------------------------------------------------------------- */

/* Reads the replies of both texts, of which the clean one is the base of the trials. */
static enum attn_status read_replies(struct attn_patching *patch, struct attn_error *err)
{
    const struct attn_watch watch = {.is_silent = true, .session = &patch->frame.session};

    ATTN_TRY(attn_watch(patch->frame.other, &watch, err));
    return attn_patch_read_source(patch, err);
}

enum attn_status attn_circuit_run_curve(struct attn_circuit_state *state, struct attn_error *err)
{
    struct attn_patching *patch = &state->patch;
    struct attn_frame *frame = &patch->frame;
    struct attn_wiring *edges = &patch->edges;
    struct curve curve = {.n_each = 1 + state->args->n_random};

    curve.sizes = attn_frame_alloc(frame, edges->n_edge + 1, sizeof *curve.sizes);
    ATTN_TRY(attn_frame_memory(frame, err));
    if (!state->args->evaluate)
        ATTN_TRY(read_sizes(state->args->curve, edges->n_edge, curve.sizes, &curve.n_size, err));
    else
        curve.sizes[curve.n_size++] = count(state);
    ATTN_TRY(choose_edges(state, &curve, err));
    attn_wiring_release(edges); /* now of the corrupted run */
    ATTN_TRY(attn_error_at(attn_wiring_list(frame->config, edges, err), ATTN_STAGE_MODEL, err));
    patch->answer.of = attn_run_answer_scope(frame->run);
    ATTN_TRY(attn_trials_start(frame->run, &patch->answer, ATTN_SITE_Q, &frame->trials, err));
    if (frame->plan)
        ATTN_TRY(read_replies(patch, err));
    ATTN_TRY(attn_wiring_open(frame->other, frame->run, &frame->session, edges, err));
    attn_session_free(frame->session);
    frame->session = NULL;
    ATTN_TRY(
        attn_circuit_run(edges, &frame->trials, curve.circuits, curve.n_size * curve.n_each, err));
    return append_rows(state, &curve, err);
}
