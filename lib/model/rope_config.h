/* rope_config.h - the rotary positions of a layer, as its config has them. */
#ifndef ATTN_MODEL_ROPE_CONFIG_H
#define ATTN_MODEL_ROPE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

/* How frequencies are stretched for longer texts. X(ID, word): the value of `rope_type`. */
#define ATTN_ROPE_MAP(X)                                                                           \
    X(DEFAULT, 0, "default")                                                                       \
    X(LINEAR, 1, "linear")                                                                         \
    X(LLAMA3, 2, "llama3")                                                                         \
    X(YARN, 3, "yarn")         /* Peng et al. 2309.00071 */                                        \
    X(DYNAMIC, 4, "dynamic")   /* up to n_ctx positions it is as the default */                    \
    X(LONGROPE, 5, "longrope") /* Ding et al. 2402.13753 */

enum attn_rope_type {
#define ATTN_ROPE_ENUM(id, number, word) ATTN_ROPE_##id = (number),
    ATTN_ROPE_MAP(ATTN_ROPE_ENUM)
#undef ATTN_ROPE_ENUM
};

/* Rotary positions of a layer (Su et al. 2104.09864): component i of a head turns with i + R/2, i <
 * R/2, or 2i with 2i + 1, by the angle position * theta^(-2i/R); the scaling changes these
 * frequencies. Fields that a type does not read are 0. */
struct attn_rope {
    enum attn_rope_type type;
    size_t d_rotary;         /* R: components of a head that are turned, the first ones; even.
                                0: the layer turns no positions */
    double theta;            /* above 0 */
    double factor;           /* of linear, llama3 and yarn, above 0 */
    double low_freq_factor;  /* of llama3 */
    double high_freq_factor; /* of llama3, above low_freq_factor */
    double n_original;       /* of llama3, yarn and longrope: original_max_position_embeddings */
    double beta_fast, beta_slow; /* of yarn */
    bool is_truncated;           /* of yarn: its bounds are rounded to whole components */
    bool turns_neighbours;       /* 2i turns with 2i + 1 */
    double attention_factor;     /* of yarn and longrope: cosines and sines are multiplied by it */
    const float *divisors;       /* [R/2] frequencies are divided by these; NULL: by nothing */
    const float *long_divisors;  /* [R/2] of longrope: instead of them for all tokens of a text of
                                    more than n_original */
    const float *frequencies;    /* [R/2] that the file has, instead of theta; or NULL */
};

#endif
