/* attribute_kinds.h - methods of attributions (attribute.h), baselines, and what a row is. */
#ifndef ATTN_ATTRIBUTE_ATTRIBUTE_KINDS_H
#define ATTN_ATTRIBUTE_ATTRIBUTE_KINDS_H

#include "base/api.h"

/* X(ID, number, name, whether the attributions of tokens have a sum) */
#define ATTN_ATTRIBUTE_METHOD_MAP(X)                                                               \
    X(DLA, 0, "dla", false)                                                                        \
    X(SALIENCY, 1, "saliency", false)                                                              \
    X(GRAD_X_INPUT, 2, "grad_x_input", true)                                                       \
    X(IG, 3, "ig", true)                                                                           \
    X(ATTNLRP, 4, "attnlrp", true)                                                                 \
    X(RELEVANCE, 5, "relevance", false)                                                            \
    X(ATTN_X_GRAD, 6, "attn_x_grad", false)                                                        \
    X(CAUSES, 7, "causes", false)                                                                  \
    X(RELEVANCE_NORM, 8, "relevance_norm", false)                                                  \
    X(RELP, 9, "relp", true)

enum attn_attribute_method {
#define ATTN_ATTRIBUTE_METHOD_ENUM(id, number, ...) ATTN_ATTRIBUTE_##id = (number),
    ATTN_ATTRIBUTE_METHOD_MAP(ATTN_ATTRIBUTE_METHOD_ENUM)
#undef ATTN_ATTRIBUTE_METHOD_ENUM
        ATTN_N_ATTRIBUTE_METHOD = 0 ATTN_ATTRIBUTE_METHOD_MAP(ATTN_COUNT)
};

/* What a row of dla is: a part of the model, or a head and a key that it read from. With `score`, a
 * pair of writers, or one of the query or of the key, summed over the other side. By gradients: a
 * cell of the picture in a prompt, by its row or by its pixels. X(ID, number, name) */
#define ATTN_ATTRIBUTE_BY_MAP(X)                                                                   \
    X(PART, 0, "part") /* with `score`: as PAIR */                                                 \
    X(TOKEN, 1, "token")                                                                           \
    X(PAIR, 2, "pair")                                                                             \
    X(QUERY, 3, "query")                                                                           \
    X(KEY, 4, "key")                                                                               \
    X(CELL, 5, "cell")                                                                             \
    X(PIXEL, 6, "pixel")

enum attn_attribute_by {
#define ATTN_ATTRIBUTE_BY_ENUM(id, number, ...) ATTN_ATTRIBUTE_BY_##id = (number),
    ATTN_ATTRIBUTE_BY_MAP(ATTN_ATTRIBUTE_BY_ENUM)
#undef ATTN_ATTRIBUTE_BY_ENUM
        ATTN_N_ATTRIBUTE_BY = 0 ATTN_ATTRIBUTE_BY_MAP(ATTN_COUNT)
};

enum attn_baseline {
    ATTN_BASELINE_MEAN = 0, /* the mean embedding of the vocabulary, at every position */
    /* refused if nothing is added to the embedding before a norm: without learned positions, norms
     * amplify anything near 0 */
    ATTN_BASELINE_ZERO = 1,
    ATTN_BASELINE_GIVEN = 2, /* the embeddings of another text or picture */
    /* given, if another text or picture is given; otherwise mask for text encoders with a mask
     * token, grey for pictures, and mean for the rest */
    ATTN_BASELINE_AUTO = 3,
    ATTN_BASELINE_MASK = 4, /* the embedding of the tokenizer's mask token at every position */
    ATTN_BASELINE_PAD = 5,  /* the embedding of the padding token, `pad_token_id` of config.json */
    ATTN_BASELINE_GREY = 6, /* for pictures: all pixels are 0 after normalization */
    ATTN_N_BASELINE = 7
};

#endif
