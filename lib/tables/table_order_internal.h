/* table_order_internal.h - the command-line parameters of struct attn_table_order. */
#ifndef ATTN_TABLES_TABLE_ORDER_INTERNAL_H
#define ATTN_TABLES_TABLE_ORDER_INTERNAL_H

#include "params/param.h"
#include "tables/table_order.h"

/* The parameters `sort` and `limit` of a struct that begins with a struct attn_table_order; the
 * arguments are their help texts. */
#define ATTN_TABLE_ORDER_PARAMS(sort_help, limit_help)                                             \
    ATTN_PARAM(TEXT, "sort", "COLUMN[:up|down]", struct attn_table_order, sort, sort_help),        \
        ATTN_PARAM(COUNT, "limit", "N", struct attn_table_order, n_most, limit_help,               \
                   .most = INT32_MAX)

/* The parameters with help texts that fit any table. */
extern const struct attn_param_list attn_table_order_params;

#endif
