/* table_order_internal.h - the parameters of an order, for rooms that show tables. */
#ifndef ATTN_TABLES_TABLE_ORDER_INTERNAL_H
#define ATTN_TABLES_TABLE_ORDER_INTERNAL_H

#include "base/param.h"
#include "tables/table_order.h"

/* `sort` and `limit`, which fill a struct attn_table_order, with the help of each. */
#define ATTN_TABLE_ORDER_PARAMS(sort_help, limit_help)                                             \
    ATTN_PARAM(TEXT, "sort", "COLUMN[:up|down]", struct attn_table_order, sort, sort_help),        \
        ATTN_PARAM(COUNT, "limit", "N", struct attn_table_order, n_most, limit_help,               \
                   .most = INT32_MAX)

/* Of any table. */
extern const struct attn_param_list attn_table_order_params;

#endif
