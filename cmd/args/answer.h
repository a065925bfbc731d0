/* answer.h - options for the token that an experiment asks about, for the metric, and for random
 * choices to compare with. */
#ifndef CMD_ANSWER_ARGS_H
#define CMD_ANSWER_ARGS_H

#include "cmd/line/options.h"

#include "attn.h"

/* The options of struct attn_answer_args: --target; --foil; --at; all of these and --metric. */
extern const struct option_group target_options, foil_options, at_options, answer_options;

/* --grad, an option of struct attn_request. */
extern const struct option_group gradient_options;

/* Returns true if any of these options is given. */
bool answer_is_given(const struct attn_answer_args *args);

/* Refuses a token that the metric does not use. */
enum attn_status answer_check(const struct attn_answer_args *args, struct attn_error *err);

#endif
