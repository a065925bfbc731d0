/* stack_config.h - the config of a model with an encoder and a decoder, such as T5. */
#ifndef ATTN_MODEL_STACK_CONFIG_H
#define ATTN_MODEL_STACK_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ATTN_CONFIG_N_BAD = 256 };

/* Sinusoidal positions: sines, then cosines, of position / 10000^p. */
enum attn_sines {
    ATTN_SINES_NONE = 0,
    ATTN_SINES_MARIAN = 1, /* p = 2i / d */
    ATTN_SINES_M2M100 = 2  /* p = i / (d / 2 - 1) */
};

struct attn_stack_config {
    /* This is a decoder, whose source is the final rows of its encoder. Layer N of the decoder is
     * two layers in its config: 2N attends to the text and has no MLP, 2N + 1 attends to the
     * source. */
    bool has_encoder;
    bool is_of_decoder; /* this is the encoder of such a decoder */

    /* For both stacks. */
    bool counts_padding;             /* padding tokens of an encoder count as positions */
    enum attn_sines makes_positions; /* sines to use if a file has no learned positions */
    size_t n_mel;    /* rows of the mel array that an encoder of sound reads; 0: it reads tokens */
    size_t n_bucket; /* number of buckets of relative biases, for layers that attend to their own
                        stack; 0: no biases */
    size_t bucket_distance; /* keys at larger distances are in the last bucket */

    /* For the decoder. */
    int32_t start_id;    /* the token that begins its text */
    bool replaces_front; /* start_id replaces the language of the source, which the tokenizer puts
                            in front, because the decoder's text has its own language */
    int32_t forced_begin_id; /* the token that it generates first; -1: any token */
    /* Tokens that it never generates (n_bad_id, from the front) and tokens that it never begins
     * with (n_bad_first_id, from the back). If both together exceed the array, it does not
     * generate. */
    int32_t bad_ids[ATTN_CONFIG_N_BAD];
    size_t n_bad_id, n_bad_first_id;

    /* Settings that generation ignores, with a note. */
    size_t n_beam;      /* number of beams; 0 or 1: no beam search */
    size_t n_no_repeat; /* sequences of this many tokens are never repeated; 0: they may be */
    size_t n_least;     /* minimum number of tokens */

    size_t zero_position;    /* made sines: the row with this number is 0; 0: no such row */
    bool has_bias_in_layers; /* relative biases: each layer has a table of its own */
};

#endif
