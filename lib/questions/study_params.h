/* study_params.h - the parameters of a study: the file of its items, how their rows are combined to
 * one table, and the file of their rows. All are fields of struct attn_items_args. */
#ifndef ATTN_QUESTIONS_STUDY_PARAMS_H
#define ATTN_QUESTIONS_STUDY_PARAMS_H

#include "questions/question.h"
#include "questions/study.h"

/* The parameters of items and their table; of items that have rows but no table; and those that
 * follow in both cases. */
extern const struct attn_param_list attn_study_params, attn_listing_params, attn_restart_params;

/* These parameters as questions for attn_question_find: those of items with their table, and those
 * of items without. */
extern const struct attn_question attn_question_items, attn_question_listing;

#endif
