/* answer.c - see answer.h. */
#include "cmd/args/answer.h"

#include "cmd/line/report.h"
#include "tool.h"

#include <string.h>

static const struct option target_rows[] = {
    OPTION_TEXT("target", "TEXT", struct answer_args, target,
                "the next token that the question is about, usually with its space: ' are'"),
    OPTION_NUMBER("target-id", "ID", struct answer_args, target_id, 0, INT32_MAX,
                  "the same by its id"),
};

const struct option_group target_options =
    OPTION_GROUP_WITH(OPTION_SHAPES_GRADIENTS | OPTION_NOT_COMPARED, "Answer", target_rows);

static const struct option foil_rows[] = {
    OPTION_TEXT("foil", "TEXT", struct answer_args, foil,
                "the token that the target is compared with: ' is'"),
    OPTION_NUMBER("foil-id", "ID", struct answer_args, foil_id, 0, INT32_MAX, "the same by its id"),
};

const struct option_group foil_options =
    OPTION_GROUP_WITH(OPTION_SHAPES_GRADIENTS, "Answer", foil_rows);

static const struct option at_rows[] = {
    OPTION_TEXT("at", "POS", struct answer_args, at,
                "the position that the target follows, a number or a word of the text; default: "
                "-1, the last. For an encoder, the position of the target; default: the mask"),
};

const struct option_group at_options =
    OPTION_GROUP_WITH(OPTION_SHAPES_GRADIENTS, "Answer", at_rows);

static const struct option metric_rows[] = {
    OPTION_CHOICE("metric", METRICS, struct answer_args, metric,
                  "what is measured: logit_diff, the target's logit minus the foil's; log_prob, "
                  "ln p(target); its logit or its probability. auto (default) is logit_diff with "
                  "a foil, log_prob without. kl, KL(p before || p after), and ce, the mean of "
                  "-ln p over the text's own tokens, need no target"),
};

static const struct option_group metric_options =
    OPTION_GROUP_WITH(OPTION_SHAPES_GRADIENTS, "Answer", metric_rows);

static const struct option_part parts[] = {
    {&target_options, 0},
    {&foil_options, 0},
    {&at_options, 0},
    {&metric_options, 0},
};

const struct option_group answer_options = {OPTION_PARTS(parts)};

static const struct option gradient_rows[] = {
    OPTION_FLAG("grad", struct gradient_args, is_beside,
                "with each tensor of --sites its gradient: how fast the metric changes with each "
                "of its numbers; pattern_grad beside pattern"),
};

const struct option_group gradient_options =
    OPTION_GROUP_WITH(OPTION_SHAPES_GRADIENTS, "Answer", gradient_rows);

bool answer_is_given(const struct answer_args *args)
{
    return args->target || args->target_id >= 0 || args->foil || args->foil_id >= 0 || args->at ||
           args->metric != ATTN_ANSWER_AUTO;
}

struct attn_answer_args answer_of(const struct answer_args *args, struct answer_ids *ids)
{
    *ids = (struct answer_ids){(int32_t)args->target_id, (int32_t)args->foil_id};
    return (struct attn_answer_args){
        .metric = (enum attn_answer_metric)args->metric,
        .target = args->target,
        .foil = args->foil,
        .target_id = args->target_id >= 0 ? &ids->target : NULL,
        .foil_id = args->foil_id >= 0 ? &ids->foil : NULL,
        .at = args->at,
    };
}

/* The metric, resolving `auto`. */
static int metric_of(const struct answer_args *args)
{
    const bool has_foil = args->foil || args->foil_id >= 0;

    return args->metric != ATTN_ANSWER_AUTO ? args->metric
           : has_foil                       ? ATTN_ANSWER_LOGIT_DIFF
                                            : ATTN_ANSWER_LOG_PROB;
}

/* The name of the metric: "logit_diff". */
static const char *answer_metric(const struct answer_args *args)
{
    static const char *const names[ATTN_N_ANSWER_METRIC] = {[ATTN_ANSWER_LOGIT_DIFF] = "logit_diff",
                                                            [ATTN_ANSWER_LOG_PROB] = "log_prob",
                                                            [ATTN_ANSWER_LOGIT] = "logit",
                                                            [ATTN_ANSWER_PROB] = "prob",
                                                            [ATTN_ANSWER_KL] = "kl",
                                                            [ATTN_ANSWER_CE] = "ce"};

    return names[metric_of(args)];
}

enum attn_status answer_check(const struct answer_args *args, struct attn_error *err)
{
    const int metric = metric_of(args);
    const char *option = args->foil             ? "foil"
                         : args->foil_id >= 0   ? "foil-id"
                         : args->target         ? "target"
                         : args->target_id >= 0 ? "target-id"
                                                : NULL;
    const bool is_foil = option && option[0] == 'f';

    if (!option || metric == ATTN_ANSWER_LOGIT_DIFF ||
        (!is_foil && metric != ATTN_ANSWER_KL && metric != ATTN_ANSWER_CE))
        return ATTN_OK;
    return refuse(err, is_foil ? "--metric logit_diff compares it" : NULL,
                  "--%s has no effect on --metric %s", option, answer_metric(args));
}

/* --- Random choices beside it ----------------------------------------------------------------- */

static const struct option control_rows[] = {
    OPTION_AT(TEXT, "control", "N[:SEED]", 0,
              "add the mean effect of N random choices of as many heads, and its standard "
              "deviation"),
};

const struct option_group control_options = OPTION_GROUP("Control", control_rows);

enum attn_status control_read(const char *text, size_t *n, uint64_t *seed, struct attn_error *err)
{
    return seeded_parse(text, 1, n, seed)
               ? ATTN_OK
               : refuse(err, NULL, "'--control' is '%s', expected N or N:SEED, N from 1", text);
}
