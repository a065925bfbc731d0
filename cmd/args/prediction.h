/* prediction.h - what a language model expects next: --top and --next. */
#ifndef CMD_PREDICTION_H
#define CMD_PREDICTION_H

#include "cmd/args/outputs.h"
#include "cmd/line/options.h"

#include "attn.h"

struct prediction_args {
    int64_t top; /* most probable tokens to print; 0: none */
    struct text_list next;
};

/* Options that fill a struct prediction_args. */
extern const struct option_group prediction_options;

/* Prints the predictions of RESULT, a line each, unless standard output IS_STANDARD_USED, and
 * writes them to the outputs of ARGS that hold tables. */
enum attn_status prediction_write(const struct attn_result *result, const struct output_args *args,
                                  bool is_standard_used, struct attn_sink *out,
                                  struct attn_error *err);

#endif
