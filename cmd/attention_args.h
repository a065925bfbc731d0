/*
 * attention_args.h - which attention is computed: --attention, --mask and what belongs to them.
 *
 *     struct attention_args attention = ATTENTION_ARGS_DEFAULT;
 *     attention_check(&attention);                  // before anything is opened
 *     attention_apply(&attention, &layer);          // what was given, and nothing else
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

/* Changes what was given, and only that, of checked ARGS; a mask file's matrix is the caller's to
 * read. */
void attention_apply(const struct attention_args *args, struct attn_attention *attention);

/* Whether the parts of ATTENTION go together. Reports and returns an exit code. */
int attention_confirm(const struct attn_attention *attention, bool is_cross);

/*
 * Whether ATTENTION has the sites that LIST names; globs mean those that there are. NULL, for the
 * default ones, only notes what is left out, unless IS_QUIET. Reports and returns an exit code.
 */
int attention_check_sites(const struct attn_attention *attention, const char *list, bool is_quiet);

/*
 * Unless the kind is full, notes how many pairs of a query and a key it computes, of how many that
 * the mask leaves: in LAYERS [dims->n_layer], which are settled. IS_SOURCE_ORDERED: causal masks
 * count in layers that attend to a source, too.
 */
void attention_note_pairs(const struct attn_attention *layers, const struct attn_dims *dims,
                          bool is_source_ordered);

/* The table for --attention help. */
void attention_kinds_print(struct attn_sink *out);

#endif
