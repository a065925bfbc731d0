/* clang-format off */
/*
 * site.h - the tensors that can be watched and edited, named as the interpretability field names
 * them. Within one layer they come in this order.
 *
 * Shapes use   T  positions     S  positions seen, keys     H  query heads     G  key/value heads
 *              D  d_model       E  d_head     Ev  d_value   F  d_mlp           V  n_vocab
 *             Do  d_out: D, but in a model of one map     De  d_embed: D, but where it is narrow
 *            Hv  H*Ev                                  taps  tokens that a convolution reads
 *            Hm  heads of a layer without attention    dk, dv  widths of their keys and values
 *          y, x  rows and columns of cells    P  cells of all pictures    N  pictures of h x w
 *             M  d_projected     N  experts    K  chosen experts     L  d_pooled
 *             C  positions but the first and the last
 */
/* clang-format on */
#ifndef ATTN_TRACE_SITE_H
#define ATTN_TRACE_SITE_H

#include "base/status.h"
#include "tables/table.h"
#include "trace/dims.h"
#include "trace/gradient_site.h"
#include "trace/output_site.h"

#include <limits.h>

/* The layout of a site's tensor. */
enum attn_site_layout {
    ATTN_LAYOUT_VECTOR = 0, /* [T, n]: one vector for each position */
    ATTN_LAYOUT_QUERY = 1,  /* [T, H, n]: one vector for each position and query head */
    ATTN_LAYOUT_KEY = 2,    /* [S, G, n]: one vector for each key and key/value head */
    ATTN_LAYOUT_MATRIX = 3, /* [H, T, S]: a row for each head and query, a column for each key */
    ATTN_LAYOUT_RANK = 4,   /* [H, T, R]: the same, with a column for each projected key */
    ATTN_LAYOUT_PAIRS = 5,  /* [T, S]: a row for each query, a column for each key; no heads */
    ATTN_LAYOUT_HEADS = 6,  /* [H, T] or [H, S]: one number for each head and position */
};

/*
 * X(ID, name, archive name, scope, layout, shape). The archive name is TransformerLens's; for sites
 * of a layer "blocks.L." goes in front.
 * embed is the token embedding before positions are added, for pictures the embedding of the
 * patches; resid_pre is the block's input, resid_mid lies between attention and MLP, resid_post is
 * the block's output. Where positions are rotary, rot_q and rot_k are q and k after their norms, if
 * the model has them, and after rotation: the factors of the scores. qk is q.k, or rot_q.rot_k,
 * before scale, soft cap and mask, attn_scores after them (-inf where masked), pattern the softmax,
 * z pattern times values. c2p and p2c are what DeBERTa adds to qk after its scale: q times the
 * place of the key, k times that of the query. pattern_dropped is the pattern after dropout, from
 * which z is then computed; pattern_lowrank is over the R projected keys. attn_out is z after the
 * output projection, the norm after it and layer scale. sink is the weight of a head's sink, 1 less
 * the sum of its row of the pattern. mlp_pre and mlp_post are before and after the activation; a
 * gated MLP multiplies by mlp_pre_linear after it, and mlp_post is the product. A layer with
 * experts has none of the three: router_logits are the scores of the experts, expert_weights the
 * factors of their outputs, 0 for those that were not chosen, expert_indices the chosen ones, the
 * largest score first, and shared_out the output of the shared expert. In Gemma 4 each layer has a
 * per_layer_input for each token, and adds per_layer_out, made of it, to the stream.
 * Layers without attention (forward/mixer.c) have mixer_q, mixer_k and mixer_v as they are used,
 * mixer_z, which is their inner output, and mixer_out in place of attn_out. mixer_z is the product
 * of mixing with mixer_v; a short convolution has the band of this matrix that is not 0, by channel
 * and distance. mixing_norm is how long the piece is that each token adds to mixer_z. mixer_gate,
 * and gate of attention, are before their activation; decay and beta multiply the state and input.
 * Where norms come after the sums, resid_mid and resid_post are the sums, normalized_resid_mid is
 * the input of the MLP, to which its output is added, and normalized_resid_post is the block's
 * output, conv_out in layer 0 of DeBERTa v2. contacts is the probability that residues of a protein
 * touch (sites/contacts.h), from position 1 on.
 * For a picture in a prompt, image_features are the rows that the connector makes from its cells,
 * as they lie in the stream, and pixel_values the input of the tower. picture_map is the mean of
 * the rows of the pattern, for the cells of the whole picture, picture_map_tiles for those of all
 * tiles (towers/maps/picture_maps.h). deepstack are further rows for the cells, which are added at
 * the end of the first layers and are in resid_post. attn_picture_dims has the sizes of these five.
 * A session has no sites of scope DERIVED (sites/derived.h), which are computed from others at the
 * end of a layer, or of the last one (DERIVED_OF_MODEL), and cannot be edited; received is the sum
 * of the pattern over the chosen queries, for each key (sites/received.c). The same holds for
 * gradients (gradient/gradient.h), which come after all layers, from the last to the first.
 */
#define ATTN_SITE_MAP(X)                                                                           \
    X(EMBED, 0, "embed", "hook_embed", MODEL, VECTOR, "T De")                                      \
    X(RESID_PRE, 1, "resid_pre", "hook_resid_pre", LAYER, VECTOR, "T D")                           \
    X(Q, 2, "q", "attn.hook_q", LAYER, QUERY, "T H E")                                             \
    X(K, 3, "k", "attn.hook_k", LAYER, KEY, "S G E")                                               \
    X(V, 4, "v", "attn.hook_v", LAYER, KEY, "S G Ev")                                              \
    X(GATE, 85, "gate", "attn.hook_gate", LAYER, VECTOR, "T Hv")                                   \
    X(ROT_Q, 5, "rot_q", "attn.hook_rot_q", LAYER, QUERY, "T H E")                                 \
    X(ROT_K, 6, "rot_k", "attn.hook_rot_k", LAYER, KEY, "S G E")                                   \
    X(C2P, 88, "c2p", "attn.hook_c2p", LAYER, MATRIX, "H T S")                                     \
    X(P2C, 89, "p2c", "attn.hook_p2c", LAYER, MATRIX, "H T S")                                     \
    X(QK, 7, "qk", "attn.hook_qk", LAYER, MATRIX, "H T S")                                         \
    X(ATTN_SCORES, 8, "attn_scores", "attn.hook_attn_scores", LAYER, MATRIX, "H T S")              \
    X(PATTERN, 9, "pattern", "attn.hook_pattern", LAYER, MATRIX, "H T S")                          \
    X(PATTERN_DROPPED, 10, "pattern_dropped", "attn.hook_pattern_dropped", LAYER, MATRIX, "H T S") \
    X(PATTERN_LOWRANK, 11, "pattern_lowrank", "attn.hook_pattern_lowrank", LAYER, RANK, "H T R")   \
    X(Z, 12, "z", "attn.hook_z", LAYER, QUERY, "T H Ev")                                           \
    X(SINK, 62, "sink", "attn.hook_sink", LAYER, HEADS, "H T")                                     \
    X(ATTN_OUT, 13, "attn_out", "hook_attn_out", LAYER, VECTOR, "T Do")                            \
    X(MIXER_V, 74, "mixer_v", "mixer.hook_mixer_v", LAYER, VECTOR, "T Hm dv")                      \
    X(MIXER_Q, 75, "mixer_q", "mixer.hook_mixer_q", LAYER, VECTOR, "T Hm dk")                      \
    X(MIXER_K, 76, "mixer_k", "mixer.hook_mixer_k", LAYER, VECTOR, "T Hm dk")                      \
    X(MIXER_GATE, 79, "mixer_gate", "mixer.hook_mixer_gate", LAYER, VECTOR, "T Hm dv")             \
    X(DECAY, 80, "decay", "mixer.hook_decay", LAYER, VECTOR, "T Hm")                               \
    X(BETA, 81, "beta", "mixer.hook_beta", LAYER, VECTOR, "T Hm")                                  \
    X(MIXING, 82, "mixing", "mixer.hook_mixing", LAYER, MATRIX, "Hm T S")                          \
    X(MIXING_BAND, 83, "mixing_band", "mixer.hook_mixing_band", LAYER, RANK, "D T taps")           \
    X(MIXING_NORM, 84, "mixing_norm", "mixer.hook_mixing_norm", LAYER, MATRIX, "Hm T S")           \
    X(MIXER_Z, 77, "mixer_z", "mixer.hook_mixer_z", LAYER, VECTOR, "T Hm dv")                      \
    X(MIXER_OUT, 78, "mixer_out", "hook_mixer_out", LAYER, VECTOR, "T D")                          \
    X(RESID_MID, 14, "resid_mid", "hook_resid_mid", LAYER, VECTOR, "T D")                          \
    X(NORMALIZED_RESID_MID, 47, "normalized_resid_mid", "hook_normalized_resid_mid", LAYER,        \
      VECTOR, "T D")                                                                               \
    X(MLP_PRE, 15, "mlp_pre", "mlp.hook_pre", LAYER, VECTOR, "T F")                                \
    X(MLP_PRE_LINEAR, 16, "mlp_pre_linear", "mlp.hook_pre_linear", LAYER, VECTOR, "T F")           \
    X(MLP_POST, 17, "mlp_post", "mlp.hook_post", LAYER, VECTOR, "T F")                             \
    X(ROUTER_LOGITS, 63, "router_logits", "mlp.hook_router_logits", LAYER, VECTOR, "T Ne")         \
    X(EXPERT_WEIGHTS, 64, "expert_weights", "mlp.hook_expert_weights", LAYER, VECTOR, "T Ne")      \
    X(EXPERT_INDICES, 65, "expert_indices", "mlp.hook_expert_indices", LAYER, VECTOR, "T K")       \
    X(SHARED_OUT, 66, "shared_out", "mlp.hook_shared_out", LAYER, VECTOR, "T D")                   \
    X(MLP_OUT, 18, "mlp_out", "hook_mlp_out", LAYER, VECTOR, "T D")                                \
    X(LAYER_INPUT, 91, "per_layer_input", "hook_per_layer_input", LAYER, VECTOR, "T Dp")           \
    X(LAYER_OUT, 92, "per_layer_out", "hook_per_layer_out", LAYER, VECTOR, "T D")                  \
    X(RESID_POST, 19, "resid_post", "hook_resid_post", LAYER, VECTOR, "T D")                       \
    X(NORMALIZED_RESID_POST, 48, "normalized_resid_post", "hook_normalized_resid_post", LAYER,     \
      VECTOR, "T D")                                                                               \
    X(CONV_OUT, 90, "conv_out", "hook_conv_out", LAYER, VECTOR, "T D")                             \
    X(ROLLOUT, 20, "rollout", "hook_rollout", DERIVED, PAIRS, "T S")                               \
    X(WEIGHTED_PATTERN, 21, "weighted_pattern", "attn.hook_weighted_pattern", DERIVED, MATRIX,     \
      "H T S")                                                                                     \
    X(VALUE_ZEROING, 22, "value_zeroing", "hook_value_zeroing", DERIVED, PAIRS, "T S")             \
    X(RECEIVED, 100, "received", "hook_received", DERIVED, HEADS, "H S")                           \
    X(PATTERN_X_GRAD, 25, "pattern_x_grad", "attn.hook_pattern_x_grad", DERIVED, MATRIX, "H T S")  \
    X(RELEVANCE, 26, "relevance", "hook_relevance", DERIVED, PAIRS, "T S")                         \
    X(RELEVANCE_NORM, 61, "relevance_norm", "hook_relevance_norm", DERIVED, PAIRS, "T S")          \
    X(PICTURE_MAP, 68, "picture_map", "attn.hook_picture_map", DERIVED, RANK, "H y x")             \
    X(PICTURE_MAP_TILES, 69, "picture_map_tiles", "attn.hook_picture_map_tiles", DERIVED, RANK,    \
      "H y x")                                                                                     \
    X(DEEPSTACK, 86, "deepstack", "hook_deepstack", DERIVED, VECTOR, "P D")                        \
    X(IMAGE_FEATURES, 70, "image_features", "image_features", DERIVED_OF_MODEL, VECTOR, "P D")     \
    X(PIXEL_VALUES, 71, "pixel_values", "pixel_values", DERIVED_OF_MODEL, VECTOR, "N 3 h w")       \
    X(CONTACTS, 67, "contacts", "contacts", DERIVED_OF_MODEL, PAIRS, "C C")                        \
    ATTN_OUTPUT_SITE_MAP(X)                                                                        \
    ATTN_GRADIENT_SITE_MAP(ATTN_GRADIENT_SITE, X)

enum attn_site {
#define ATTN_SITE_ENUM(id, number, ...) ATTN_SITE_##id = (number),
    ATTN_SITE_MAP(ATTN_SITE_ENUM)
#undef ATTN_SITE_ENUM
        ATTN_N_SITE = 0 ATTN_SITE_MAP(ATTN_COUNT)
};

enum {
    ATTN_NO_LAYER = -1,        /* the layer of sites outside the layers */
    ATTN_ALL_LAYERS = INT_MIN, /* every layer */
    ATTN_ALL_HEADS = -1,       /* every head; also the head of sites without heads */
};

/* Returns a name such as "pattern"; NULL for an unknown number. Other functions treat an unknown
 * number as a vector named "". */
ATTN_API const char *attn_site_name(enum attn_site site);

/* Reads a list such as "pattern,resid_*,attention" into *sites. An item is a name, an alias
 * (attention = pattern, context = z) or a glob with * and ?, and may begin with a stack such as
 * "cross:". A glob matches derived sites only if it matches no other. ATTN_INVALID for an unknown
 * name (the message lists the known ones) or an empty list. */
ATTN_API enum attn_status attn_sites_parse(const char *list, struct attn_site_set *sites,
                                           struct attn_error *err);

#endif
