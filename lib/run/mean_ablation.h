/*
 * mean_ablation.h - edits that put the mean over the positions of a text in the place of a head's
 * context vectors. For the files of this layer.
 */
#ifndef ATTN_RUN_MEAN_ABLATION_H
#define ATTN_RUN_MEAN_ABLATION_H

#include "run/run_internal.h"

/* Runs the text of RUN, which is prepared but for this, without any edits, and appends the edits of
 * the heads that its request names. Errors have a stage. */
enum attn_status attn_run_add_mean_ablation(struct attn_run *run, struct attn_error *err);

#endif
