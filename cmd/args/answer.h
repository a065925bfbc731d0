/* answer.h - the next token that an experiment asks about, the metric, and random choices for
 * comparison. */
#ifndef CMD_ANSWER_ARGS_H
#define CMD_ANSWER_ARGS_H

#include "cmd/line/options.h"

#include "attn.h"

/* Options that fill a struct attn_answer_args: --target; --foil; --at; these and --metric. */
extern const struct option_group target_options, foil_options, at_options, answer_options;

/* --grad, which is of a struct attn_request. */
extern const struct option_group gradient_options;

/* Whether any of these options is given. */
bool answer_is_given(const struct attn_answer_args *args);

/* Refuses a token that has no part in the metric. */
enum attn_status answer_check(const struct attn_answer_args *args, struct attn_error *err);

#endif
