/* answer_internal.h - the token that is asked about, found in a run. For the files of this layer
 * and above. */
#ifndef ATTN_RUN_ANSWER_INTERNAL_H
#define ATTN_RUN_ANSWER_INTERNAL_H

#include "base/status.h"
#include "run/answer.h"
#include "run/spaces.h"

struct attn_run;

/* What is asked for, found in a run. */
struct attn_answer {
    enum attn_answer_metric metric; /* not AUTO */
    bool has_target, has_foil;
    int32_t target, foil;
    bool has_place;  /* `at` was given */
    size_t position; /* that, or the last */
    const struct attn_run *run;
    struct attn_spaces spaces; /* of target and foil */
};

const char *attn_answer_metric_name(enum attn_answer_metric metric);

/* Finds what ARGS mean. ATTN_INVALID, at the stage of options, for a text of several tokens, a
 * metric without the target that it needs, a foil without a target, a place that is none. */
enum attn_status attn_answer_find(const struct attn_run *run, const struct attn_answer_args *args,
                                  struct attn_answer *answer, struct attn_error *err);

/* Its metric, one that needs a target, of the LOGITS at the position; TOTAL is ln sum exp of
 * them. */
double attn_answer_value(const struct attn_answer *answer, const float *logits, double total);

/* Its derivative by the logits after position ROW, of any metric but kl: sets those of D [n_vocab],
 * which is 0, that are not. LOGITS are read but for logit and logit_diff. */
void attn_answer_differentiate(const struct attn_answer *answer, size_t row, const float *logits,
                               float *d);

#endif
