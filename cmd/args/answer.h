/* answer.h - the next token that an experiment asks about, the metric, and random choices for
 * comparison. */
#ifndef CMD_ANSWER_ARGS_H
#define CMD_ANSWER_ARGS_H

#include "cmd/line/options.h"

#include "attn.h"

/* Values of --metric, in the order of enum attn_answer_metric. */
#define METRICS "auto|logit_diff|log_prob|logit|prob|kl|ce"

struct answer_args {
    const char *target, *foil;  /* NULL: not given */
    int64_t target_id, foil_id; /* -1: not given */
    const char *at;             /* NULL: the last position */
    int metric;                 /* enum attn_answer_metric */
};

#define ANSWER_ARGS_DEFAULT                                                                        \
    {                                                                                              \
        .target_id = -1, .foil_id = -1                                                             \
    }

/* Options that fill a struct answer_args: --target; --foil; --at; these and --metric. */
extern const struct option_group target_options, foil_options, at_options, answer_options;

/* Of a run. */
struct gradient_args {
    bool is_beside; /* gradients come beside the tensors that are chosen */
};

extern const struct option_group gradient_options; /* fills a struct gradient_args: --grad */

/* Whether any of these options is given. */
bool answer_is_given(const struct answer_args *args);

/* Refuses a token that has no part in the metric. */
enum attn_status answer_check(const struct answer_args *args, struct attn_error *err);

/* The token ids that a struct attn_answer_args points to. */
struct answer_ids {
    int32_t target, foil;
};

/* Converts ARGS to the library's struct, which borrows ARGS and IDS. */
struct attn_answer_args answer_of(const struct answer_args *args, struct answer_ids *ids);

/* --control of commands whose tables hold effects: fills a text. */
extern const struct option_group control_options;

/* Reads that text, or NULL. Without a seed *seed stays. */
enum attn_status control_read(const char *text, size_t *n, uint64_t *seed, struct attn_error *err);

#endif
