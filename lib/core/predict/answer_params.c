/* answer_params.c - the parameters of a question: target, foil, position and metric
 * (answer_internal.h). */
#include "predict/answer_internal.h"

static const struct attn_param targets[] = {
    ATTN_PARAM(TEXT, "target", "TEXT", struct attn_answer_args, target,
               "the next token that the question is about, usually with its space: ' are'",
               .keys = "target", .traits = ATTN_PARAM_SHAPES_GRADIENTS),
    ATTN_PARAM(ID, "target_id", "ID", struct attn_answer_args, target_id, "the same by its id",
               .of = "target", .prefix = "ids:", .keys = "target",
               .traits = ATTN_PARAM_SHAPES_GRADIENTS),
};
const struct attn_param_list attn_target_params = ATTN_PARAM_LIST("Answer", targets);

static const struct attn_param foils[] = {
    ATTN_PARAM(TEXT, "foil", "TEXT", struct attn_answer_args, foil,
               "the token that the target is compared with: ' is'; '' is the mean of all logits",
               .keys = "foil", .traits = ATTN_PARAM_SHAPES_GRADIENTS),
    ATTN_PARAM(ID, "foil_id", "ID", struct attn_answer_args, foil_id, "the same by its id",
               .of = "foil", .prefix = "ids:", .keys = "foil",
               .traits = ATTN_PARAM_SHAPES_GRADIENTS),
};
const struct attn_param_list attn_foil_params = ATTN_PARAM_LIST("Answer", foils);

static const struct attn_param places[] = {
    ATTN_PARAM(LIST, "at", "POS", struct attn_answer_args, at,
               "the position that the target follows, a number or a word of the text; default: "
               "-1, the last. For an encoder, the position of the target; default: the mask",
               .second = offsetof(struct attn_answer_args, at.n), .keys = "at",
               .traits = ATTN_PARAM_SHAPES_GRADIENTS),
};
const struct attn_param_list attn_at_params = ATTN_PARAM_LIST("Answer", places);

/* Other names of metrics of one token. */
#define OF_TOKEN                                                                                   \
    "logit_difference=logit_diff|logprob=log_prob|log_probability=log_prob|logits=logit|"          \
    "probability=prob"
#define WORD(id, number, name, ...) "|" name
static const struct attn_param metrics[] = {
    ATTN_PARAM(CHOICE, "metric", NULL, struct attn_answer_args, metric,
               "what is measured: logit_diff, the target's logit minus the foil's; log_prob, "
               "ln p(target); its logit or its probability. auto (default) is logit_diff with "
               "a foil, log_prob without. kl, KL(p before || p after), and ce, the mean of "
               "-ln p over the text's own tokens, need no target",
               .words = &(ATTN_ANSWER_METRIC_MAP(WORD))[1],
               .meant = OF_TOKEN "|kl_div=kl|kl_divergence=kl|cross_entropy=ce|loss=ce|nll=ce",
               .traits = ATTN_PARAM_SHAPES_GRADIENTS),
};
#undef WORD
const struct attn_param_list attn_metric_params = ATTN_PARAM_LIST("Answer", metrics);

/* What a single run has: nothing that KL could compare it with, and of ce the gradients alone. */
static const int of_run[] = {ATTN_ANSWER_AUTO,  ATTN_ANSWER_LOGIT_DIFF, ATTN_ANSWER_LOG_PROB,
                             ATTN_ANSWER_LOGIT, ATTN_ANSWER_PROB,       ATTN_ANSWER_CE};
static const struct attn_param run_metrics[] = {
    ATTN_PARAM(CHOICE, "metric", NULL, struct attn_answer_args, metric,
               "what is measured: logit_diff, the target's logit minus the foil's; log_prob, "
               "ln p(target); its logit or its probability. auto (default) is logit_diff with "
               "a foil, log_prob without. ce, the mean of -ln p over the text's own tokens, "
               "needs no target, and is for gradients",
               .words = "auto|logit_diff|log_prob|logit|prob|ce", .values = of_run,
               .meant = OF_TOKEN, .traits = ATTN_PARAM_SHAPES_GRADIENTS),
};
const struct attn_param_list attn_run_metric_params = ATTN_PARAM_LIST("Answer", run_metrics);
