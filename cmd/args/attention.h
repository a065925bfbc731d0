/*
 * attention.h - which attention is computed: --attention, --mask and what belongs to them.
 *
 *     struct attention_args attention = ATTENTION_ARGS_DEFAULT;
 *     attention_check(&attention, err);                  // before anything is opened
 *     attention_change(&attention, &change, &mask, err); // what was given, and nothing else
 */
#ifndef CMD_ATTENTION_ARGS_H
#define CMD_ATTENTION_ARGS_H

#include "cmd/line/options.h"

#include "extra.h"

/* Values of --scale, in the order of their words. */
enum scale_choice { SCALE_ON, SCALE_OFF };

/* The options; NULL or -1 if not given. */
struct attention_args {
    const char *kind; /* as attn_attention_parse takes it */
    const char *mask; /* "causal", "none" or a file */
    int masking;      /* enum attn_masking */
    int scale;        /* enum scale_choice */
    int similarity;   /* enum attn_similarity */
    int algorithm;    /* enum attn_algorithm */
    double eps;       /* added to sqrt(d_head) */
    double dropout;   /* share of the weights, 0 <= dropout < 1 */
    int64_t seed;     /* of the dropout */
};

#define ATTENTION_ARGS_DEFAULT                                                                     \
    {                                                                                              \
        .masking = -1, .scale = -1, .similarity = -1, .algorithm = -1, .eps = -1, .dropout = -1,   \
        .seed = -1                                                                                 \
    }

/* Options that fill a struct attention_args. A command that runs token by token has no dropout,
 * whose weights are drawn from a whole sequence. */
extern const struct option_group attention_options, dropout_options;

/* Whether the parts are well formed and go together, whatever the model. */
enum attn_status attention_check(const struct attention_args *args, struct attn_error *err);

/* Converts ARGS, which are checked, to a change of the model's attention. Reads a mask file into
 * MASK. */
enum attn_status attention_change(const struct attention_args *args,
                                  struct attn_attention_change *change,
                                  struct attn_mask_array *mask, struct attn_error *err);

/* The file that --mask names, or NULL. */
const char *attention_mask_file(const struct attention_args *args);

/* Reads the mask in file PATH. */
enum attn_status attention_read_mask(const char *path, struct attn_mask_array *mask,
                                     struct attn_error *err);

/* The table for --attention help. */
void attention_kinds_print(struct attn_sink *out);

#endif
