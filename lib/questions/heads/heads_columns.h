/* heads_columns.h - the columns of `heads`, one for each measure and those beside them. Apart from
 * heads_internal.h, so that a new measure makes few objects again. */
#pragma once

#include "heads/heads_internal.h"
#include "measures/measure_rows.h"

/* The columns, in the order documented in heads.h: measures, then the type, then the optional
 * ones. */
enum {
    ATTN_HEAD_STACK,
    ATTN_HEAD_LAYER,
    ATTN_HEAD_HEAD,
    ATTN_HEAD_KV_HEAD,
#define OF_MEASURE(id, number, ...) ATTN_HEAD_OF_##id,
    ATTN_MEASURE_MAP(OF_MEASURE)
#undef OF_MEASURE
        ATTN_HEAD_TYPE,
    ATTN_HEAD_MUL, /* with a given pattern */
    ATTN_HEAD_ABS,
    ATTN_HEAD_SINK_MASS, /* with n_near */
    ATTN_HEAD_DISTANT,
    ATTN_HEAD_RETRIEVAL, /* with is_needle */
    ATTN_HEAD_NEEDLE_MASS,
    ATTN_HEAD_N_RETRIEVAL,
    ATTN_HEAD_DIRECT, /* with effects */
    ATTN_HEAD_ABLATED,
    ATTN_HEAD_PATCHED,
    ATTN_HEAD_PATCHED_SHARE,
    ATTN_HEAD_WEIGHT, /* with from and to */
    ATTN_HEAD_PERCENTILE,
    ATTN_HEAD_CHANGE,
    ATTN_HEAD_BOTTOM_ROW, /* with is_localized */
    ATTN_HEAD_KEPT,
    ATTN_HEAD_RANK,
    ATTN_HEAD_SELECTED,
    ATTN_HEAD_MOST, /* the class with the largest share of the weight that is not parked */
    ATTN_HEAD_SHARE,
    ATTN_HEAD_PARK,
    ATTN_HEAD_REST, /* with has_shares, for each class of enum attn_mix_class */
    ATTN_HEAD_RIGHT = ATTN_HEAD_REST + ATTN_N_MIX_CLASS, /* over items */
    ATTN_HEAD_ROW_TYPE,
    ATTN_N_HEAD_COLUMN
};

extern const struct attn_column attn_head_columns[ATTN_N_HEAD_COLUMN];
extern const int attn_head_column_of[ATTN_N_MEASURE]; /* the column of each measure */
