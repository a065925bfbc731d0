/* questions_internal.h - the experiments of questions.h. For the files of this layer. */
#ifndef ATTN_EXPERIMENT_QUESTIONS_INTERNAL_H
#define ATTN_EXPERIMENT_QUESTIONS_INTERNAL_H

#include "study/frame.h"

extern const struct attn_experiment attn_ablate_experiment, attn_align_experiment,
    attn_diff_experiment, attn_lens_experiment, attn_patch_experiment, attn_similarity_experiment,
    attn_survey_experiment;

/* The experiment of the arguments GIVEN: of the method of a struct attn_attribute_args, and of the
 * study of a struct attn_score_args. */
const struct attn_experiment *attn_attribute_experiment(const void *given);
const struct attn_experiment *attn_score_experiment(const void *given);

#endif
