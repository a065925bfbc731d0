/* differences.h - how a model differs from GPT-2, in words for readers. */
#ifndef ATTN_MODEL_DIFFERENCES_H
#define ATTN_MODEL_DIFFERENCES_H

#include "base/table.h"
#include "model/config.h"

/* Appends a row of two texts to TABLE for each difference of CONFIG, in the order of the equations:
 * the part of the model ("norms"), and what it does. */
enum attn_status attn_differences_append(const struct attn_config *config, struct attn_table *table,
                                         struct attn_error *err);

#endif
