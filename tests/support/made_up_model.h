/*
 * made_up_model.h - models in memory, of every combination of parts that a block may have, also of
 * those that no family has yet.
 *
 *     for (size_t i = 0; i < ATTN_N_MADE_UP_MODEL; i++) {
 *         struct attn_model *model = attn_made_up_model(i, name);
 *         if (model == NULL)
 *             continue;    // parts that do not go together
 *         ...
 *         attn_model_free(model);
 *     }
 */
#pragma once

#include "attn.h"

enum {
    ATTN_N_MADE_UP_MODEL = 5 * 5 * 5 * 3 * 4,
    ATTN_MADE_UP_SOURCE = 3, /* rows of a source for those with cross-attention */
    ATTN_MADE_UP_NAME_SIZE = 96
};

/*
 * Model number NUMBER, with 3 layers and 7 tokens; NULL when its parts do not go together (the same
 * rules as in model/config.c). Its weights are random numbers of a table, the same each time. NAME
 * says its parts.
 */
struct attn_model *attn_made_up_model(size_t number, char name[ATTN_MADE_UP_NAME_SIZE]);
