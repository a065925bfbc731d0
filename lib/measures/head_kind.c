/* head_kind.c - see head_kind.h. */
#include "measures/head_kind.h"

#include <math.h>
#include <string.h>

static const double fewest_rows = 2;

/* clang-format off */
static const struct attn_head_kind kinds[ATTN_N_HEAD_KIND] = {
    [ATTN_HEAD_KIND_PREVIOUS] = {"previous", 'p', 0x0072b2, "the previous token",
                                 ATTN_MEASURE_PREVIOUS, ATTN_N_MEASURE},
    [ATTN_HEAD_KIND_FIRST] = {"first", '1', 0xe69f00, "the first token",
                              ATTN_MEASURE_FIRST, ATTN_N_MEASURE},
    [ATTN_HEAD_KIND_SELF] = {"self", 's', 0x009e73, "the token itself",
                             ATTN_MEASURE_SELF_LATER, ATTN_N_MEASURE},
    [ATTN_HEAD_KIND_DUPLICATE] = {"duplicate", 'd', 0xcc79a7, "earlier places of the token",
                                  ATTN_MEASURE_DUPLICATE, ATTN_MEASURE_N_DUPLICATE},
    [ATTN_HEAD_KIND_INDUCTION] = {"induction", 'i', 0xd55e00, "what followed the token earlier",
                                  ATTN_MEASURE_INDUCTION, ATTN_MEASURE_N_INDUCTION},
    [ATTN_HEAD_KIND_FAR] = {"far", 'f', 0x56b4e9, "other tokens",
                            ATTN_MEASURE_FAR, ATTN_MEASURE_N_FAR},
    [ATTN_HEAD_KIND_MIXED] = {"mixed", 'm', 0x7d8590, "no kind of token in particular",
                              ATTN_N_MEASURE, ATTN_N_MEASURE},
};
/* clang-format on */

const struct attn_head_kind *attn_head_kind_at(size_t i)
{
    return &kinds[i];
}

const struct attn_head_kind *attn_head_kind_find(const char *name, size_t size)
{
    for (size_t i = 0; i < ATTN_N_HEAD_KIND; i++)
        if (strlen(kinds[i].name) == size && memcmp(kinds[i].name, name, size) == 0)
            return &kinds[i];
    return NULL;
}

attn_measure_set attn_head_kind_measures(bool is_of_picture)
{
    attn_measure_set set = ATTN_MEASURE_BIT(ATTN_MEASURE_SELF);

    for (size_t i = 0; i < ATTN_N_HEAD_SCORE; i++)
        set |= ATTN_MEASURE_BIT(kinds[i].score) | ATTN_MEASURE_BIT(kinds[i].rows);
    return set & ATTN_MEASURES_ALL & ~(is_of_picture ? ATTN_MEASURE_BIT(ATTN_MEASURE_PREVIOUS) : 0);
}

const struct attn_head_kind *attn_head_kind_of(const double *values, double threshold,
                                               double *weight)
{
    const struct attn_head_kind *kind = NULL;
    double largest = (double)NAN;

    for (size_t i = 0; i < ATTN_N_HEAD_SCORE; i++) {
        const double score = values[kinds[i].score];
        const bool counts = !isnan(score) && (kinds[i].rows == ATTN_N_MEASURE ||
                                              values[kinds[i].rows] >= fewest_rows);

        largest = counts ? fmax(largest, score) : largest;
        if (!counts || score <= threshold ||
            (kind && (i == ATTN_HEAD_KIND_FAR || score <= values[kind->score])))
            continue;
        kind = &kinds[i];
    }
    *weight = kind ? values[kind->score] : isnan(largest) ? 0 : largest;
    return kind || isnan(largest) ? kind : &kinds[ATTN_HEAD_KIND_MIXED];
}
