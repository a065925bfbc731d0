/*
 * layer_attention.h - the attention of each layer of a run: the model's own, changed by what the
 * command line says.
 */
#ifndef CMD_LAYER_ATTENTION_H
#define CMD_LAYER_ATTENTION_H

#include "attention_args.h"

#include "attn.h"

/* Initialize with = {0}; end with layer_attention_release. */
struct layer_attention {
    struct attn_attention *layers; /* [n_layer] owned; settled for the text */
    unsigned char *cells;          /* of the mask file, owned; NULL without one */
};

/*
 * Finds it for a text of N tokens and a source of N_SOURCE rows. A mask file is for the layers that
 * attend to the text, or when there are none, for all. Reports what does not go together or does
 * not fit the model; returns an exit code.
 */
int layer_attention_find(const struct attention_args *args, const struct attn_config *config,
                         size_t n, size_t n_source, struct layer_attention *attention);
void layer_attention_release(struct layer_attention *attention);

/* Whether tokens can be fed after the text, for --next. Reports and returns an exit code. */
int layer_attention_check_next(const struct layer_attention *attention,
                               const struct attn_config *config);

#endif
