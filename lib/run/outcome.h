/*
 * outcome.h - what a record of many came to, as it is written (output/records.h).
 *
 *     enum attn_status done(void *user, const struct attn_many_result *result,
 *                           struct attn_error *err)
 *     {
 *         const struct attn_outcome outcome = attn_outcome_of(result);
 *         return attn_records_write(user, &outcome, err);
 *     }
 */
#ifndef ATTN_RUN_OUTCOME_H
#define ATTN_RUN_OUTCOME_H

#include "output/records.h"
#include "run/many.h"

/* Borrows from RESULT. */
ATTN_API struct attn_outcome attn_outcome_of(const struct attn_many_result *result);

/* The form of what attn_run_many gives with OPTIONS and a model with the sizes of CONFIG: measures,
 * sizes and predictions. jsonl has ids, measures and, where asked for, predictions. */
ATTN_API struct attn_records_form attn_records_form_of(const struct attn_many_options *options,
                                                       const struct attn_config *config);

#endif
