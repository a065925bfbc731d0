/* questions_internal.h - the questions and their experiments. For the files of this layer. */
#ifndef ATTN_EXPERIMENT_QUESTIONS_INTERNAL_H
#define ATTN_EXPERIMENT_QUESTIONS_INTERNAL_H

#include "study/frame.h"

extern const struct attn_question attn_question_ablate, attn_question_align,
    attn_question_attribute, attn_question_diff, attn_question_generate, attn_question_heads,
    attn_question_lens, attn_question_patch, attn_question_score, attn_question_similarity;

extern const struct attn_experiment attn_ablate_experiment, attn_align_experiment,
    attn_diff_experiment, attn_lens_experiment, attn_patch_experiment, attn_similarity_experiment,
    attn_survey_experiment;

/* The experiment of the arguments GIVEN: of the method of a struct attn_attribute_args, and of the
 * study of a struct attn_score_args. */
const struct attn_experiment *attn_attribute_experiment(const void *given);
const struct attn_experiment *attn_score_experiment(const void *given);

#endif
