/* prediction.h - what a language model expects next: --top and --next. */
#ifndef CMD_PREDICTION_H
#define CMD_PREDICTION_H

#include "options.h"

#include "attn.h"

struct prediction_args {
    int64_t top; /* most probable tokens to print; 0: none */
    struct text_list next;
};

/* Options that fill a struct prediction_args. */
extern const struct option_group prediction_options;

/* Prints the predictions of RESULT, a line each. Reports and returns an exit code. */
int prediction_print(const struct attn_result *result, struct attn_sink *out);

#endif
