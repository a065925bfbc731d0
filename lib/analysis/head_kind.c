/* head_kind.c - see head_kind.h. */
#include "analysis/head_kind.h"

#include <math.h>

static const struct attn_head_kind kinds[] = {
#define KIND_ROW(id, kind_letter, kind_hue, kind_words)                                            \
    {.measure = ATTN_MEASURE_##id,                                                                 \
     .letter = (kind_letter),                                                                      \
     .hue = (kind_hue),                                                                            \
     .words = (kind_words)},
    ATTN_HEAD_KIND_MAP(KIND_ROW)
#undef KIND_ROW
};

const struct attn_head_kind *attn_head_kind_at(size_t i)
{
    return &kinds[i];
}

attn_measure_set attn_head_kind_measures(void)
{
    attn_measure_set set = ATTN_MEASURE_BIT(ATTN_MEASURE_N_INDUCTION);

    for (size_t i = 0; i < ATTN_N_HEAD_KIND; i++)
        set |= ATTN_MEASURE_BIT(kinds[i].measure);
    return set;
}

const struct attn_head_kind *attn_head_kind_of(const double *values, double *weight)
{
    const bool has_induction =
        values[ATTN_MEASURE_N_INDUCTION] >= 2 && values[ATTN_MEASURE_INDUCTION] >= 0.3;
    const struct attn_head_kind *kind = NULL;

    *weight = 0;
    for (size_t i = 0; i < ATTN_N_HEAD_KIND; i++) {
        const double value = values[kinds[i].measure];

        if (isnan(value) || (kinds[i].measure == ATTN_MEASURE_INDUCTION && !has_induction))
            continue;
        if (!kind || value > *weight) {
            kind = &kinds[i];
            *weight = value;
        }
    }
    return kind;
}
