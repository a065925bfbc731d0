/* rope_config.h - the rotary positions of a layer, as in its config. */
#ifndef ATTN_MODEL_ROPE_CONFIG_H
#define ATTN_MODEL_ROPE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

/* How frequencies are changed for longer texts. X(ID, number, word): word is the value of
 * `rope_type`. */
#define ATTN_ROPE_MAP(X)                                                                           \
    X(DEFAULT, 0, "default")                                                                       \
    X(LINEAR, 1, "linear")                                                                         \
    X(LLAMA3, 2, "llama3")                                                                         \
    X(YARN, 3, "yarn")                 /* Peng et al. 2309.00071 */                                \
    X(DYNAMIC, 4, "dynamic")           /* theta grows with texts of more than n_original */        \
    X(LONGROPE, 5, "longrope")         /* Ding et al. 2402.13753 */                                \
    X(PROPORTIONAL, 6, "proportional") /* the pairs from n_pair on stand still */

enum attn_rope_type {
#define ATTN_ROPE_ENUM(id, number, word) ATTN_ROPE_##id = (number),
    ATTN_ROPE_MAP(ATTN_ROPE_ENUM)
#undef ATTN_ROPE_ENUM
};

/* Rotary positions of a layer (Su et al. 2104.09864). Component i of a head is rotated with i +
 * R/2, for i < R/2, or 2i with 2i + 1, by the angle position * theta^(-2i/R). The type of scaling
 * changes these frequencies. Fields that a type does not use are 0. */
struct attn_rope {
    enum attn_rope_type type;
    size_t d_rotary; /* R: number of components of a head that are rotated, the first ones; even. 0:
                        the layer has no rotary positions */
    double theta;    /* above 0 */
    double factor;   /* for linear, llama3, yarn, dynamic and proportional; above 0 */
    double low_freq_factor;  /* for llama3 */
    double high_freq_factor; /* for llama3; above low_freq_factor */
    double n_original;       /* for llama3, yarn and longrope: original_max_position_embeddings; for
                                dynamic: max_position_embeddings */
    double beta_fast, beta_slow; /* for yarn */
    bool is_truncated;           /* for yarn: its bounds are rounded to whole components */
    size_t n_pair;               /* for proportional */
    bool turns_neighbours;       /* component 2i is rotated with 2i + 1 */
    double attention_factor;     /* for yarn and longrope: factor of cosines and sines */
    const float *divisors;       /* [R/2] frequencies are divided by these; NULL: by 1 */
    const float *long_divisors;  /* [R/2] for longrope: replaces `divisors` for all tokens of a text
                                    of more than n_original tokens */
    /* [R/2] frequencies from the file, instead of those of theta; or NULL. */
    const float *frequencies;
    /* Rotated queries are multiplied by 1 + query_growth ln(1 + floor(position / n_original)). */
    double query_growth;
    double long_attention_factor; /* replaces attention_factor where long_divisors apply; 0: it does
                                     not */
    /* Numbers of frequencies that turn by the first, second and third number of a position (struct
     * attn_position_numbers); all 0: all turn by the first. */
    size_t sections[3];
    /* The sections alternate: the frequencies 1, 4, ... are of the second number, and 2, 5, ... of
     * the third, as many as their sections have; all others are of the first. */
    bool is_interleaved;
    bool is_axial;       /* the second and the third section have equal frequencies */
    bool is_alternating; /* the second section has the frequencies 0, 2, ..., the third 1, 3, ... */
    bool is_centred; /* of patches: the angle is 2 pi (2 (i + 1/2) / n - 1) times the frequency, for
                        row or column i of n; positions before the patches are not rotated */
};

#endif
