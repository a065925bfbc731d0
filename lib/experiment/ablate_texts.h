/* ablate_texts.h - whether a part matters in many texts, on the average. For ablate.c. */
#ifndef ATTN_EXPERIMENT_ABLATE_TEXTS_H
#define ATTN_EXPERIMENT_ABLATE_TEXTS_H

#include "experiment/ablate.h"

/* attn_ablate of args->texts, one after the other. Likewise. */
enum attn_status attn_ablate_texts(struct attn_host *host, const struct attn_request *given,
                                   const struct attn_ablate_args *args, struct attn_table **table,
                                   struct attn_ablate_sum *sum, struct attn_error *err);

#endif
