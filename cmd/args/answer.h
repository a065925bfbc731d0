/* answer.h - checks of the token that an experiment asks about. */
#ifndef CMD_ANSWER_ARGS_H
#define CMD_ANSWER_ARGS_H

#include "attn.h"

/* Returns true if any of these options is given. */
bool answer_is_given(const struct attn_answer_args *args);

/* Refuses a token that the metric does not use. */
enum attn_status answer_check(const struct attn_answer_args *args, struct attn_error *err);

#endif
