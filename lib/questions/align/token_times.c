/* token_times.c - see align_extra.h. */
#include "align/align_internal.h"

#include "align/align_extra.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/fixed_text.h"
#include "base/text/given.h"
#include "machine/rows.h"

#include <math.h>
#include <stdint.h>

enum { USUAL_MEDIAN = 7 }; /* frames of the median filter */

static const double frame_seconds = 0.02;

/* The last step of a path: to the next token and the next frame, to the next token, or to the next
 * frame. */
enum step { BOTH, TOKEN, FRAME };

/* Matrices [n, n_frame]. */
struct times {
    size_t n, n_frame;        /* tokens and frames */
    struct attn_store *store; /* owns; has the arrays */
    size_t first, n_row;      /* the tokens are rows FIRST to FIRST + N of N_ROW rows */
    double *head;             /* [n_row, n_frame] the standardized weights of one head */
    size_t n_median;          /* frames of the median */
    double *sorted;           /* [n_median] */
    double *mean;             /* mean over heads of the smoothed weights */
    float *costs;             /* cost of the best path to each cell */
    unsigned char *steps;     /* enum step: last step of that path */
};

/* Copies the weights of a head and standardizes each column over the tokens. A column whose weights
 * are equal within float32 precision becomes 0. */
static void standardize(struct times *times, const float *weights)
{
    const size_t n_cell = times->n_row * times->n_frame;

    for (size_t f = 0; f < times->n_frame; f++) {
        double mean = 0, square = 0, d;

        for (size_t i = f; i < n_cell; i += times->n_frame)
            mean += (double)weights[i] / (double)times->n_row;
        for (size_t i = f; i < n_cell; i += times->n_frame)
            d = (double)weights[i] - mean, square += d * d / (double)times->n_row;
        for (size_t i = f; i < n_cell; i += times->n_frame)
            times->head[i] =
                square > 1e-12 * mean * mean ? ((double)weights[i] - mean) / sqrt(square) : 0;
    }
}

/* Returns the median of ROW [n_frame] around AT; the row is reflected at its ends. */
static double median(const struct times *times, const double *row, size_t at)
{
    const size_t n = times->n_frame, half = times->n_median / 2;
    double *sorted = times->sorted;

    if (n <= half)
        return row[at];
    for (size_t k = 0; k < times->n_median; k++) {
        const size_t from = at + k < half ? half - at - k : at + k - half;
        const double value = row[from < n ? from : 2 * (n - 1) - from];
        size_t i = k;

        for (; i > 0 && sorted[i - 1] > value; i--)
            sorted[i] = sorted[i - 1];
        sorted[i] = value;
    }
    return sorted[half];
}

/* Computes costs and steps. Ties and rounding are as in openai-whisper. */
static void warp(struct times *times)
{
    const size_t n_frame = times->n_frame;

    for (size_t i = 0; i < times->n * n_frame; i++) {
        const float *last = times->costs + i;
        const bool has_token = i >= n_frame, has_frame = i % n_frame > 0;
        const float token = has_token ? *(last - n_frame) : INFINITY;
        const float frame = has_frame ? last[-1] : INFINITY;
        const float both = has_token && has_frame ? *(last - n_frame - 1) : i ? INFINITY : 0;
        const enum step step = both < token && both < frame    ? BOTH
                               : token < both && token < frame ? TOKEN
                                                               : FRAME;

        times->steps[i] = (unsigned char)step;
        times->costs[i] = (float)((double)(step == BOTH    ? both
                                           : step == TOKEN ? token
                                                           : frame) -
                                  times->mean[i]);
    }
}

/* Traces the path backwards to find where each token begins, and appends the rows. */
static enum attn_status append_rows(const struct times *times, struct attn_table *table,
                                    struct attn_error *err)
{
    const size_t n = times->n, n_frame = times->n_frame;
    size_t *begins = NULL; /* [n + 1] */
    enum attn_status status = ATTN_ALLOC(begins, n + 1, err);

    ATTN_TRY(status);
    begins[n] = n_frame;
    for (size_t i = n, f = n_frame - 1; i-- > 0;) {
        while (f > 0 && times->steps[i * n_frame + f] == FRAME)
            f--;
        begins[i] = f;
        f -= f > 0 && times->steps[i * n_frame + f] == BOTH;
    }
    for (size_t i = 0; i < n && status == ATTN_OK; i++)
        status = attn_table_append(
            table,
            (struct attn_cell[]){attn_cell_integer((int64_t)i),
                                 attn_cell_integer((int64_t)begins[i]),
                                 attn_cell_real((double)begins[i] * frame_seconds),
                                 attn_cell_real((double)begins[i + 1] * frame_seconds)},
            4, err);
    attn_free(begins);
    return status;
}

static enum attn_status find(struct times *times, const float *weights, size_t n_head,
                             struct attn_table *table, struct attn_error *err)
{
    const size_t n_cell = attn_size_mul(times->n, times->n_frame);
    const size_t n_all = attn_size_mul(times->n_row, times->n_frame);

    ATTN_TRY(ATTN_STORE_ALLOC(&times->store, times->sorted, times->n_median, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&times->store, times->head, n_all, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&times->store, times->mean, n_cell, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&times->store, times->costs, n_cell, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&times->store, times->steps, n_cell, err));
    for (size_t h = 0; h < n_head; h++) {
        const double *head = times->head + times->first * times->n_frame;

        standardize(times, weights + h * n_all);
        for (size_t i = 0, f = 0; i < n_cell; i++, f = i % times->n_frame)
            times->mean[i] += median(times, head + i - f, f) / (double)n_head;
    }
    warp(times);
    return append_rows(times, table, err);
}

enum attn_status attn_token_times(const struct attn_ndarray *weights, struct attn_table **table,
                                  struct attn_error *err)
{
    const struct attn_times_form form = {.n = SIZE_MAX, .n_median = USUAL_MEDIAN};

    return attn_token_times_of(weights, &form, table, err);
}

enum attn_status attn_token_times_of(const struct attn_ndarray *weights,
                                     const struct attn_times_form *form, struct attn_table **table,
                                     struct attn_error *err)
{
    static const struct attn_column columns[] = {
        ATTN_COLUMN("token", INTEGER), ATTN_COLUMN("frame", INTEGER),
        ATTN_COLUMN_REAL("begin", 2, "s", POSITIVE), ATTN_COLUMN_REAL("end", 2, "s", POSITIVE)};
    struct attn_table *made = NULL;
    struct times times = {0};
    enum attn_status status;

    ATTN_NEED(err, weights, table);
    if (weights->rank != 2 && weights->rank != 3)
        return attn_error_set(err, ATTN_INVALID, "`weights` has %d axes, expected [H, T, S]",
                              weights->rank);
    times.n_row = weights->shape[weights->rank - 2];
    times.n = form->n < SIZE_MAX ? form->n : times.n_row;
    times.first = form->first;
    times.n_median = form->n_median;
    times.n_frame = weights->shape[weights->rank - 1];
    const size_t n_head = weights->rank == 3 ? weights->shape[0] : 1;

    for (size_t i = 0; i < n_head * times.n_row * times.n_frame; i++)
        if (!isfinite(weights->data[i]))
            return attn_error_set(err, ATTN_INVALID, "'%s' has %g at element %zu",
                                  attn_quote_string(weights->name ? weights->name : "weights").text,
                                  (double)weights->data[i], i);
    ATTN_TRY(attn_table_create("times", columns, sizeof columns / sizeof *columns, &made, err));
    status = find(&times, weights->data, n_head, made, err);
    attn_store_release(&times.store);
    ATTN_RETURN_MADE(status, table, made, attn_table_free);
}
