/* first_head.c - see first_head.h. */
#include "measures/first_head.h"

#include "tables/table_internal.h"

#include <math.h>

double attn_first_head_rank(double look, double effect)
{
    static const double least = 0.34; /* weight on one word */

    return isnan(effect) ? look : (look >= least) + effect / (1 + effect);
}

double attn_first_head_effect(const struct attn_table *effects, const struct attn_location *at)
{
    for (size_t i = 0; effects && i < attn_table_n_row(effects); i++) {
        const struct attn_cell layer =
            attn_table_cell(effects, i, attn_table_find(effects, "layer"));
        const struct attn_cell head = attn_table_cell(effects, i, attn_table_find(effects, "head"));
        const struct attn_cell kl = attn_table_cell(effects, i, attn_table_find(effects, "kl"));

        if (layer.type == ATTN_VALUE_INTEGER && layer.integer == at->layer &&
            head.type == ATTN_VALUE_INTEGER && head.integer == at->head)
            return kl.type == ATTN_VALUE_REAL ? (double)(float)kl.real : (double)NAN;
    }
    return (double)NAN;
}

double attn_first_head_rank_of(const struct attn_table *effects,
                               const struct attn_head_mixes *mixes, const struct attn_location *at,
                               double *look, size_t *key)
{
    *look = attn_head_mixes_look(mixes, at, key);
    return attn_first_head_rank(*look, attn_first_head_effect(effects, at));
}
