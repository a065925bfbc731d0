/* fold_resamples.c - see fold_internal.h: the rows of one group or of the difference of two, and
 * their intervals by resampling. */
#include "means/fold_internal.h"

#include "base/memory.h"
#include "base/random.h"
#include "base/text/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- Samples ---------------------------------------------------------------------------------- */

enum attn_status attn_fold_sample_begin(const struct attn_fold *fold, size_t number,
                                        struct attn_fold_sample *sample, struct attn_error *err)
{
    const bool is_difference = number >= fold->n_group;
    const struct attn_fold_group *own =
        &fold->groups[is_difference ? number - fold->n_group + 1 : number];

    sample->groups[0] = own;
    sample->groups[1] = is_difference ? fold->groups : NULL;
    for (int side = 1; side >= 0; side--) {
        const struct attn_fold_group *group = sample->groups[side];

        ATTN_TRY(ATTN_STORE_ALLOC(&sample->store, sample->rows[side],
                                  fold->n_row * fold->form.n_column, err));
        ATTN_TRY(
            ATTN_STORE_ALLOC(&sample->store, sample->units[side], group ? group->n_unit : 0, err));
        for (size_t i = 0; group && i < group->n_unit; i++) {
            const struct attn_fold_cluster *cluster = group->clusters ? &group->clusters[i] : NULL;
            const struct attn_fold_group *other = side == 0 && cluster ? sample->groups[1] : NULL;
            const size_t known =
                other ? attn_fold_cluster_find(other, cluster->hash, cluster->text, cluster->size)
                      : 0;

            sample->units[side][i] = other && known < other->n_unit ? known : sample->n_unit++;
        }
    }
    ATTN_TRY(ATTN_STORE_ALLOC(&sample->store, sample->weights, sample->n_unit, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&sample->store, sample->residuals, sample->n_unit, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&sample->store, sample->more, fold->n_more, err));
    return ATTN_STORE_ALLOC(&sample->store, sample->sums,
                            2 * (fold->n_row * fold->n_mean + fold->n_kept), err);
}

/* --- Rows ------------------------------------------------------------------------------------- */

size_t attn_fold_count_bounded(const struct attn_fold *fold)
{
    size_t n = 0;

    for (size_t i = 0; i < fold->n_column; i++)
        n += fold->columns[i].has_bounds;
    return n;
}

/* Fills the rows of group number SIDE of SAMPLE, and the numbers beside them, with the means of a
 * resample, which is given by the weights. */
static void resample_rows(const struct attn_fold *fold, const struct attn_fold_sample *sample,
                          int side)
{
    const struct attn_fold_group *group = sample->groups[side];
    const size_t n_value = fold->n_row * fold->n_mean + fold->n_kept;
    double *sums = sample->sums, *counts = sums + n_value;
    size_t at = 0;

    memset(sums, 0, 2 * n_value * sizeof *sums);
    for (size_t i = 0; i < group->n_unit; i++) {
        const double *value = group->values + i * fold->n_value;
        const double weight = (double)sample->weights[sample->units[side][i]];

        for (size_t k = 0; weight > 0 && k < n_value; k++, value += group->clusters ? 2 : 1) {
            sums[k] += isnan(*value) ? 0 : weight * *value;
            counts[k] += group->clusters ? weight * value[1] : isnan(*value) ? 0 : weight;
        }
    }
    for (size_t i = 0; i < fold->n_row * fold->n_column; i++) {
        const struct attn_fold_column *column = &fold->columns[i % fold->n_column];

        if (column->role != ATTN_FOLD_MEAN)
            continue;
        sample->rows[side][i / fold->n_column * fold->form.n_column + column->place] =
            counts[at] > 0 ? attn_cell_real(sums[at] / counts[at]) : attn_cell_missing();
        at++;
    }
    for (size_t i = 0; i < fold->n_kept; i++)
        sample->more[i] = sums[at + i] / counts[at + i];
}

/* Computes the derived columns of ROWS. MORE [n_more] are the means of a resample of GROUP beside
 * its rows; NULL: ROWS are those of the group itself. */
static enum attn_status derive_group(const struct attn_fold *fold,
                                     const struct attn_fold_group *group, struct attn_cell *rows,
                                     const double *more, struct attn_error *err)
{
    const struct attn_fold_means means = {.rows = rows,
                                          .n_row = fold->n_row,
                                          .more = more ? more : group->more,
                                          .n_more = fold->n_more,
                                          .n_item = group->n,
                                          .is_resample = more != NULL,
                                          .is_paired = fold->pairing.of.label != NULL};

    return fold->form.derive ? fold->form.derive(fold->form.args, &means, err) : ATTN_OK;
}

/* Fills ROWS [n_row, n_column of the form] with the means, sums and keys of GROUP. */
static void fill_group(const struct attn_fold *fold, const struct attn_fold_group *group,
                       struct attn_cell *rows)
{
    for (size_t i = 0; i < fold->n_row * fold->n_column; i++) {
        const struct attn_fold_column *column = &fold->columns[i % fold->n_column];
        const struct attn_moments *moments = &group->moments[i];
        const size_t row = i / fold->n_column;
        struct attn_cell *cell = &rows[row * fold->form.n_column + column->place];

        *cell = attn_cell_missing();
        if (column->role == ATTN_FOLD_KEY && !fold->differs[i])
            *cell = attn_table_cell(fold->first, row, i % fold->n_column);
        else if (column->role == ATTN_FOLD_COUNT && moments->n > 0)
            *cell = attn_cell_integer((int64_t)moments->mean);
        else if ((column->role == ATTN_FOLD_MEAN || column->role == ATTN_FOLD_WEIGHTED) &&
                 moments->n > 0)
            *cell = attn_cell_real(moments->mean);
    }
}

/* Fills the rows of SAMPLE. Call it once for the items themselves before calling it for
 * resamples. */
static enum attn_status find_rows(const struct attn_fold *fold,
                                  const struct attn_fold_sample *sample, bool is_resample,
                                  struct attn_error *err)
{
    struct attn_cell *rows = sample->rows[0], *others = sample->rows[1];

    for (int side = 0; side < 2 && sample->groups[side]; side++) {
        if (is_resample)
            resample_rows(fold, sample, side);
        else
            fill_group(fold, sample->groups[side], sample->rows[side]);
        if (!is_resample || attn_fold_has_any(fold, ATTN_TRAIT_BOUNDED))
            ATTN_TRY(derive_group(fold, sample->groups[side], sample->rows[side],
                                  is_resample ? sample->more : NULL, err));
    }
    for (size_t i = 0; sample->groups[1] && i < fold->n_row * fold->n_column; i++) {
        const struct attn_fold_column *column = &fold->columns[i % fold->n_column];
        const size_t at = i / fold->n_column * fold->form.n_column + column->place;
        const bool is_kept = column->role != ATTN_FOLD_DERIVED ||
                             attn_fold_has_trait(fold, column->place, ATTN_TRAIT_BOUNDED);

        if (column->role == ATTN_FOLD_KEY)
            continue;
        rows[at] = is_kept && rows[at].type == ATTN_VALUE_REAL && others[at].type == rows[at].type
                       ? attn_cell_real(rows[at].real - others[at].real)
                       : attn_cell_missing();
    }
    return ATTN_OK;
}

/* --- Intervals -------------------------------------------------------------------------------- */

/* Draws as many units as there are, with replacement. The two groups are drawn separately, the
 * second one first; if they share clusters, they are drawn together. */
static void draw(const struct attn_fold_sample *sample, struct attn_random *random)
{
    const size_t n_other = sample->groups[1] ? sample->groups[1]->n_unit : 0;
    const size_t n = sample->n_unit == n_other + sample->groups[0]->n_unit ? n_other : 0;

    memset(sample->weights, 0, sample->n_unit * sizeof *sample->weights);
    for (size_t i = 0; i < sample->n_unit; i++)
        if (i < n)
            sample->weights[attn_random_u32(random) % n]++;
        else
            sample->weights[n + attn_random_u32(random) % (sample->n_unit - n)]++;
}

/* Computes the bounded columns for every resample of SAMPLE. */
static enum attn_status resample(const struct attn_fold *fold,
                                 const struct attn_fold_sample *sample, struct attn_error *err)
{
    const struct attn_fold_bounds *bounds = &sample->bounds;
    struct attn_random random;

    attn_random_seed(&random, fold->study->seed);
    for (size_t r = 0; r < bounds->n_resample; r++) {
        const struct attn_cell *rows = sample->rows[0];
        size_t cell = 0;

        draw(sample, &random);
        ATTN_TRY(find_rows(fold, sample, true, err));
        for (size_t i = 0; i < fold->n_row * fold->n_column; i++) {
            const struct attn_fold_column *column = &fold->columns[i % fold->n_column];

            if (column->has_bounds)
                bounds->numbers[cell++ * bounds->n_resample + r] = attn_fold_number_of(
                    &rows[i / fold->n_column * fold->form.n_column + column->place]);
        }
    }
    return ATTN_OK;
}

static int by_number(const void *a, const void *b)
{
    return attn_compare_numbers(*(const double *)a, *(const double *)b);
}

enum attn_status attn_fold_sample_compute(const struct attn_fold *fold,
                                          struct attn_fold_sample *sample, struct attn_error *err)
{
    struct attn_fold_bounds *bounds = &sample->bounds;
    const size_t n = fold->study->n_bootstrap;

    bounds->tail = (100 - (fold->study->interval > 0 ? fold->study->interval : 95)) / 200;
    bounds->n_resample = n;
    bounds->n_cell = n > 0 ? fold->n_row * attn_fold_count_bounded(fold) : 0;
    ATTN_TRY(
        ATTN_STORE_ALLOC(&sample->store, bounds->numbers, attn_size_mul(bounds->n_cell, n), err));
    ATTN_TRY(find_rows(fold, sample, false, err));
    if (bounds->n_cell > 0) {
        ATTN_TRY(resample(fold, sample, err));
        ATTN_TRY(find_rows(fold, sample, false, err));
    }
    for (size_t i = 0; i < bounds->n_cell; i++)
        qsort(bounds->numbers + i * n, n, sizeof *bounds->numbers, by_number);
    return ATTN_OK;
}

/* Returns quantile Q of SORTED [n] with linear interpolation, as numpy does. */
static struct attn_cell quantile(const double *sorted, size_t n, double q)
{
    const double at = q * (double)(n - 1), t = at - floor(at);
    const size_t below = (size_t)at, above = below + 1 < n ? below + 1 : below;
    const double a = sorted[below], b = sorted[above];

    if (isnan(sorted[n - 1]))
        return attn_cell_missing();
    return attn_cell_real(t < 0.5 ? a + (b - a) * t : b - (b - a) * (1 - t));
}

void attn_fold_sample_bounds(const struct attn_fold_sample *sample, size_t number,
                             struct attn_cell cells[2])
{
    const struct attn_fold_bounds *bounds = &sample->bounds;
    const double *sorted = bounds->numbers + number * bounds->n_resample;

    cells[0] = quantile(sorted, bounds->n_resample, bounds->tail);
    cells[1] = quantile(sorted, bounds->n_resample, 1 - bounds->tail);
}
