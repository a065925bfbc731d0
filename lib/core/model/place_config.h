/* place_config.h - the places of DeBERTa: rows for the distance of a query from a key, whose
 * products with both are added to scores; and its convolution. */
#ifndef ATTN_MODEL_PLACE_CONFIG_H
#define ATTN_MODEL_PLACE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

struct attn_place_config {
    size_t n;        /* rows of the table; 0: no places */
    size_t n_bucket; /* distances above half of it are put into as many buckets by their logarithm;
                        0: each distance has a place of its own */
    size_t farthest; /* for these buckets */
    bool has_c2p;    /* queries times places of keys */
    bool has_p2c;    /* keys times places of queries */
    bool has_own_maps;   /* places have maps of their own, not those of queries and keys */
    bool has_norm;       /* the table is normalized */
    size_t n_conv;       /* width of the convolution beside layer 0; 0: none */
    size_t n_conv_group; /* a component reads those of its group alone; divides d_model */
    const char *conv_act_fn;
};

#endif
