/* dictionary_encode.c - see dictionary_internal.h. The encoder is multiplied in blocks of features,
 * of which each row keeps the largest. */
#include "foreign/dictionary_internal.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "kernels/linear.h"
#include "model/elements.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PRODUCTS = 1 << 20, LEAST_BLOCK = 64, MOST_BLOCK = 4096 }; /* numbers; features */

/* Returns a_i. ROW [d] is scratch. */
static double scale_of(const struct attn_dictionary *dictionary, size_t i, double *row)
{
    double sum = 0;

    if (!dictionary->is_scaled)
        return 1;
    attn_matrix_rows(&dictionary->decoder, i, 1, row);
    for (size_t j = 0; j < dictionary->d; j++)
        sum += row[j] * row[j];
    return sqrt(sum);
}

static struct attn_sae_feature rule_of(const struct attn_dictionary *dictionary, size_t i)
{
    return (struct attn_sae_feature){
        .kind = dictionary->kind,
        .bias = dictionary->bias[i],
        .threshold = dictionary->threshold ? dictionary->threshold[i] : 0,
        .gain = dictionary->gain ? dictionary->gain[i] : 0,
        .gated = dictionary->gated ? dictionary->gated[i] : 0,
    };
}

struct attn_sae_feature attn_dictionary_feature(const struct attn_dictionary *dictionary, size_t i,
                                                double *column, float *direction)
{
    const double scale = scale_of(dictionary, i, column);
    struct attn_sae_feature feature = rule_of(dictionary, i);

    if (direction)
        attn_matrix_rows(&dictionary->decoder, i, 1, column);
    for (size_t j = 0; j < dictionary->d && direction; j++)
        direction[j] = (float)(column[j] / (scale > 0 ? scale : 1));
    attn_matrix_column(&dictionary->encoder, i, column);
    feature.constant = (double)feature.bias;
    for (size_t j = 0; j < dictionary->d; j++) {
        feature.constant -= dictionary->is_centered ? (double)dictionary->shift[j] * column[j] : 0;
        column[j] *= scale;
    }
    feature.constant *= scale;
    feature.column = column;
    return feature;
}

double attn_feature_pre(const struct attn_sae_feature *feature, const float *x, size_t d)
{
    double pre = feature->constant;

    for (size_t j = 0; j < d; j++)
        pre += feature->column[j] * (double)x[j];
    return pre;
}

float attn_feature_activate(const struct attn_sae_feature *feature, float pre)
{
    if (!(pre > 0) || !(pre > feature->threshold))
        return 0;
    return feature->kind == ATTN_DICTIONARY_GATED
               ? fmaxf(feature->gain * (pre - feature->bias) + feature->gated, 0)
               : pre;
}

enum attn_status attn_dictionary_refuse(const struct attn_dictionary *dictionary, size_t i,
                                        struct attn_error *err)
{
    attn_error_set(err, ATTN_FORMAT, "feature %zu of '%s' gives a number that is not finite", i,
                   attn_quote_string(dictionary->path).text);
    return attn_error_at(ATTN_FORMAT, ATTN_STAGE_MODEL, err);
}

static int by_activation(const void *a, const void *b)
{
    const struct attn_firing *x = a, *y = b;

    return x->activation != y->activation
               ? (x->activation < y->activation) - (x->activation > y->activation)
               : (x->feature > y->feature) - (x->feature < y->feature);
}

enum attn_status attn_firings_add(struct attn_firings *row, size_t most, struct attn_firing firing,
                                  struct attn_error *err)
{
    size_t at = row->n;

    if (row->n == most && most > 0 && firing.activation <= row->items[most - 1].activation)
        return ATTN_OK;
    if (row->n < most || most == 0)
        ATTN_TRY(ATTN_GROW(row->items, row->capacity, ++row->n, err));
    else
        at--;
    for (; most > 0 && at > 0 && row->items[at - 1].activation < firing.activation; at--)
        row->items[at] = row->items[at - 1];
    row->items[at] = firing;
    return ATTN_OK;
}

void attn_firings_sort(struct attn_firings *row)
{
    if (row->n > 0)
        qsort(row->items, row->n, sizeof *row->items, by_activation);
}

/* Adds the features whose products are in BLOCK, and their SCALES, to row number ROW. */
static enum attn_status add_block(const struct attn_dictionary *dictionary,
                                  const struct attn_linear_args *block, const double *scales,
                                  size_t row, const struct attn_encoded *of, struct attn_error *err)
{
    const size_t most = dictionary->kind == ATTN_DICTIONARY_TOPK ? dictionary->k : of->most;
    const float *pre = block->y + row * block->ldy;

    for (size_t i = block->first_col; i < block->last_col; i++, pre++, scales++) {
        const struct attn_sae_feature rule = rule_of(dictionary, i);
        struct attn_firing firing = {.feature = i};

        if (!isfinite(*pre))
            return attn_dictionary_refuse(dictionary, i, err);
        firing.activation = attn_feature_activate(&rule, (float)((double)*pre * *scales));
        firing.weight = (float)((double)firing.activation / *scales);
        if (firing.activation > 0)
            ATTN_TRY(attn_firings_add(&of->rows[row], most, firing, err));
    }
    return ATTN_OK;
}

enum attn_status attn_dictionary_encode(const struct attn_dictionary *dictionary,
                                        const struct attn_encoded *of, struct attn_error *err)
{
    const size_t n = dictionary->n, d = dictionary->d;
    const size_t fit = PRODUCTS / (of->n_row > 0 ? of->n_row : 1) / LEAST_BLOCK * LEAST_BLOCK;
    const size_t most = fit < LEAST_BLOCK ? LEAST_BLOCK : fit < MOST_BLOCK ? fit : MOST_BLOCK;
    const struct attn_linear map = {
        .weight = dictionary->encoder,
        .bias = {.data = dictionary->bias, .dtype = ATTN_DTYPE_F32, .n = n, .group = n}};
    const struct attn_gemm_engine engine = attn_gemm_engine_start(
        ATTN_GEMM_AUTO, ATTN_ISA_BEST, (double)of->n_row * (double)d * (double)n);
    struct attn_linear_args args = {
        .linear = &map, .engine = &engine, .x = of->x, .ldx = d, .n_row = of->n_row};
    double *scales = attn_alloc_uninitialized(most + d, sizeof *scales, err);
    enum attn_status status = scales ? ATTN_OK : ATTN_NO_MEMORY;

    args.y = attn_alloc_large(of->n_row * most, sizeof *args.y, err);
    status = args.y ? status : ATTN_NO_MEMORY;
    for (size_t k = 0; dictionary->is_centered && k < of->n_row * d; k++)
        of->x[k] -= dictionary->shift[k % d];
    for (; status == ATTN_OK && args.first_col < n; args.first_col = args.last_col) {
        args.ldy = n - args.first_col < most ? n - args.first_col : most;
        args.last_col = args.first_col + args.ldy;
        status = attn_linear_run_alone(&args, 1, of->pool, err);
        for (size_t i = args.first_col; i < args.last_col; i++)
            scales[i - args.first_col] = scale_of(dictionary, i, scales + most);
        for (size_t row = 0; status == ATTN_OK && row < of->n_row; row++)
            status = add_block(dictionary, &args, scales, row, of, err);
    }
    attn_free(args.y);
    attn_free(scales);
    for (size_t row = 0; row < of->n_row; row++) {
        attn_firings_sort(&of->rows[row]);
        if (of->most > 0 && of->rows[row].n > of->most) /* the K of topk are more */
            of->rows[row].n = of->most;
    }
    return attn_error_at(status, ATTN_STAGE_MODEL, err);
}

void attn_dictionary_decode(const struct attn_dictionary *dictionary,
                            const struct attn_firings *row, double *x)
{
    for (size_t j = 0; j < dictionary->d; j++)
        x[j] = (double)dictionary->shift[j];
    for (size_t i = 0; i < row->n; i++)
        attn_matrix_add_rows(&dictionary->decoder, row->items[i].feature, 1, &row->items[i].weight,
                             x);
}
