/* answer.c - see answer.h. */
#include "cmd/args/answer.h"

#include "cmd/line/report.h"
#include "tool.h"

#include <string.h>

bool answer_is_given(const struct attn_answer_args *args)
{
    return args->target || args->target_id || args->foil || args->foil_id || args->at ||
           args->metric != ATTN_ANSWER_AUTO;
}

/* Returns the metric; `auto` is replaced by the metric that it stands for. */
static enum attn_answer_metric metric_of(const struct attn_answer_args *args)
{
    const bool has_foil = args->foil || args->foil_id;

    return args->metric != ATTN_ANSWER_AUTO ? args->metric
           : has_foil                       ? ATTN_ANSWER_LOGIT_DIFF
                                            : ATTN_ANSWER_LOG_PROB;
}

/* Returns the name of the metric, such as "logit_diff". */
static const char *answer_metric(const struct attn_answer_args *args)
{
    static const char *const names[ATTN_N_ANSWER_METRIC] = {[ATTN_ANSWER_LOGIT_DIFF] = "logit_diff",
                                                            [ATTN_ANSWER_LOG_PROB] = "log_prob",
                                                            [ATTN_ANSWER_LOGIT] = "logit",
                                                            [ATTN_ANSWER_PROB] = "prob",
                                                            [ATTN_ANSWER_KL] = "kl",
                                                            [ATTN_ANSWER_CE] = "ce"};

    return names[metric_of(args)];
}

enum attn_status answer_check(const struct attn_answer_args *args, struct attn_error *err)
{
    const int metric = metric_of(args);
    const char *option = args->foil        ? "foil"
                         : args->foil_id   ? "foil-id"
                         : args->target    ? "target"
                         : args->target_id ? "target-id"
                                           : NULL;
    const bool is_foil = option && option[0] == 'f';

    if (!option || metric == ATTN_ANSWER_LOGIT_DIFF ||
        (!is_foil && metric != ATTN_ANSWER_KL && metric != ATTN_ANSWER_CE))
        return ATTN_OK;
    return refuse(err, is_foil ? "--metric logit_diff compares it" : NULL,
                  "--%s has no effect on --metric %s", option, answer_metric(args));
}
