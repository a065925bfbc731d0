/* study_params.h - the parameters of a study: the file of its items, how their rows become one
 * table, and the file of their rows. All are about a struct attn_items_args. */
#ifndef ATTN_STUDY_STUDY_PARAMS_H
#define ATTN_STUDY_STUDY_PARAMS_H

#include "study/question.h"
#include "study/study.h"

/* Items and their table; the same of items that have their own rows and no table; and what both
 * have after these. */
extern const struct attn_param_list attn_study_params, attn_listing_params, attn_restart_params;

/* These as rows of attn_question_find: with the table, and without. */
extern const struct attn_question attn_question_items, attn_question_listing;

#endif
