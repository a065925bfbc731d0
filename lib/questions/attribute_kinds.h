/* attribute_kinds.h - the methods of attributions (attribute.h), and what a row of them is. */
#ifndef ATTN_QUESTIONS_ATTRIBUTE_KINDS_H
#define ATTN_QUESTIONS_ATTRIBUTE_KINDS_H

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
 * cell of the picture in a prompt. X(ID, number, name) */
#define ATTN_ATTRIBUTE_BY_MAP(X)                                                                   \
    X(PART, 0, "part") /* with `score`: as PAIR */                                                 \
    X(TOKEN, 1, "token")                                                                           \
    X(PAIR, 2, "pair")                                                                             \
    X(QUERY, 3, "query")                                                                           \
    X(KEY, 4, "key")                                                                               \
    X(CELL, 5, "cell")

enum attn_attribute_by {
#define ATTN_ATTRIBUTE_BY_ENUM(id, number, ...) ATTN_ATTRIBUTE_BY_##id = (number),
    ATTN_ATTRIBUTE_BY_MAP(ATTN_ATTRIBUTE_BY_ENUM)
#undef ATTN_ATTRIBUTE_BY_ENUM
        ATTN_N_ATTRIBUTE_BY = 0 ATTN_ATTRIBUTE_BY_MAP(ATTN_COUNT)
};

#endif
