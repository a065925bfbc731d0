/* collect_internal.h - the columns of what collect.h writes. Not installed. */
#pragma once

#include "frame/collect.h"
#include "tables/table.h"

/* Creates an empty table with all columns that rows of items can have, run.items; or with those of
 * the format tidy, run.tidy, which are some of them. */
enum attn_status attn_collect_table(bool is_tidy, struct attn_table **table,
                                    struct attn_error *err);
