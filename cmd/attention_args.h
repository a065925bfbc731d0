/*
 * attention_args.h - which attention is computed: --attention, --mask and what belongs to them.
 *
 *     struct attention_args attention = ATTENTION_ARGS_DEFAULT;
 *     attention_check(&attention);                  // before anything is opened
 *     attention_change(&attention, &change, &mask); // what was given, and nothing else
 */
#ifndef CMD_ATTENTION_ARGS_H
#define CMD_ATTENTION_ARGS_H

#include "options.h"

#include "attn.h"

struct attention_args {
    const char *kind, *mask; /* NULL where not given, as are the negative numbers */
    int masking;             /* enum attn_masking */
    int scale;               /* 0: on, 1: off */
    int similarity;          /* enum attn_similarity */
    int algorithm;           /* enum attn_algorithm */
    double eps, dropout;
    int64_t seed;
};

#define ATTENTION_ARGS_DEFAULT                                                                     \
    {                                                                                              \
        .masking = -1, .scale = -1, .similarity = -1, .algorithm = -1, .eps = -1, .dropout = -1,   \
        .seed = -1                                                                                 \
    }

/* Options that fill a struct attention_args. */
extern const struct option_group attention_options;

/* Whether the parts are well formed and go together, whatever the model. Reports and returns an
 * exit code. */
int attention_check(const struct attention_args *args);

/* The file that --mask names, or NULL. */
const char *attention_mask_file(const struct attention_args *args);

/* What checked ARGS change in the attention of a model. A mask file is read into MASK. Reports and
 * returns an exit code. */
int attention_change(const struct attention_args *args, struct attn_attention_change *change,
                     struct attn_mask_array *mask);

/* Reads the mask in file PATH. Reports and returns an exit code. */
int attention_read_mask(const char *path, struct attn_mask_array *mask);

/* The table for --attention help. */
void attention_kinds_print(struct attn_sink *out);

#endif
