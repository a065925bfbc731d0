/* sequence.h - the sequences that a model reads: the tokens of a text, ids or embeddings, and the
 * rows for cross-attention. For the files of this layer. */
#pragma once

#include "base/status_internal.h"
#include "formats/ndarray.h"
#include "forward/session_internal.h"
#include "input/input.h"
#include "input/input_extra.h"
#include "input/reader.h"
#include "input/seen.h"
#include "model/embedding.h"

/* The bytes of each token. */
struct attn_token_bytes {
    const char **bytes; /* [n] the texts belong to the tokenizer or to `made` */
    size_t *sizes;      /* [n] */
    char (*made)[16];   /* [n] texts for ids that the vocabulary lacks: "[50257]" */
};

/* Initialize with = {0}; end with attn_sequence_release. */
struct attn_sequence {
    /* The input that is read, and its name in messages: "text" or "source". */
    const struct attn_input *input;
    const char *role;         /* both are set before, and borrowed */
    struct attn_store *store; /* owns; has the arrays that are made, but `made_mask` */
    size_t n;                 /* tokens or rows; 0 without a sequence */
    size_t n_given;           /* tokens before a continuation; 0 without one */
    const int32_t *ids;       /* [n], of the encoding or the input; NULL for rows */
    const int32_t *types;     /* [n] types of ids: of the input, or `made_types`; NULL: all 0 */
    int32_t *made_types;      /* types from the tokenizer, or NULL */
    const int32_t *key_mask;  /* [n] of the input, or `made_mask`; 0 masks a key; NULL: all are 1 */
    int32_t *made_mask;       /* owns; 2 for the tokens of a prompt that is not pooled, or NULL */
    const float *rows;        /* [n, d] rows of the input, or `embedded`; NULL for ids */
    const char *name; /* the array of the rows, for messages; NULL: the model computes them */
    struct attn_encoding encoding; /* of a text: its tokens and their offsets */
    float *embedded;               /* the embeddings of a source that is a text, or the rows
                                      that are made before the decoder runs (before.h) */
    /* [n, d] the rows that an encoder reads instead of ids: from the input, or in `heard`. */
    const float *fed;
    float *heard;           /* rows made from sound */
    struct attn_pool *pool; /* set before a source is read, for an encoder; or NULL */
    enum attn_gemm gemm;    /* set before; how the convolutions over sound are multiplied */
    enum attn_isa isa;      /* set before; the best instruction set to use for them */
    const struct attn_reader *reader; /* what read it, if it is more than ids and rows; or NULL */
    /* The pixels of a picture, from the input or in `made`; NULL for other inputs. */
    const struct attn_pixels *pixels;
    struct attn_pixels *made; /* the pixels, if they were read from a file; owns what they have */
    struct attn_image_grid grid;     /* of a picture: the grid of its patches */
    struct attn_picture_prompt seen; /* the picture in a text */
    /* Borrowed; of a picture for a tower: the numbers of its positions; {0}: as in the model. */
    struct attn_position_numbers numbers;
    struct attn_token_bytes tokens; /* the texts of the tokens, if there is a tokenizer; for a
                                       picture, the names of its positions */
    size_t *words;                  /* [n] the word number of each token (run/choice.c), or NULL */
    /* The text after a prompt of `n_prompt` bytes, or with a picture, or that of a conversation,
     * which its owner keeps; or NULL. */
    char *prompted;
    size_t n_prompt;
    /* Set before it is encoded: bytes of the text whose special tokens are plain text, or {0}. */
    size_t plain[2];
    /* Set before a text is read; NULL: reading cannot be canceled. */
    const volatile sig_atomic_t *cancel;
    const struct attn_places *places;      /* borrowed; names of positions, or NULL */
    const struct attn_talk_span *messages; /* [n_message] borrowed; of a conversation, in bytes */
    size_t n_message;
    /* Borrowed; another sequence of the same length, in whose words and places positions are looked
     * up; NULL: this one. */
    const struct attn_sequence *words_of;
    bool is_in_second; /* words are searched only in the second of two texts */
    const struct attn_token_letters *letters; /* by which tokens can be named: K17; or NULL */
    bool is_word_level; /* the tokenizer splits words at white space, which no token contains */
};

/* Moves the key mask of INPUT to SOURCE, whose keys it applies to if SOURCE is given. */
void attn_input_give_key_mask(struct attn_input *input, struct attn_input *source);

/* Whether ARRAY holds samples: its rank is 1. Then shape[1] is the number of channels of which they
 * are the mean, which is beyond its rank. */
static inline bool attn_ndarray_is_sound(const struct attn_ndarray *array)
{
    return array && array->rank == 1;
}

/* Whether INPUT has a picture, alone or beside a text. */
static inline bool attn_input_is_picture(const struct attn_input *input)
{
    return input->image || input->pixels;
}

/* Gives INPUT the picture in the file PATH alone. */
static inline void attn_input_set_image(struct attn_input *input, const char *path)
{
    input->image = path;
    input->pixels = NULL;
    input->images = NULL;
    input->n_image = 0;
}

/* Reads INPUT, the sequence of a run, with 1 to n_ctx positions. A continuation becomes a part of
 * its text. TOKENIZER may be NULL unless the input is a text. Errors without a stage belong to
 * ATTN_STAGE_INPUT, here and below. */
enum attn_status attn_sequence_read(const struct attn_request_reading *reading,
                                    struct attn_input *input, const struct attn_model *model,
                                    const struct attn_tokenizer *tokenizer,
                                    struct attn_sequence *sequence, struct attn_error *err);

/* Checks the ids of SEQUENCE, whose number it limits to 1 to n_ctx, and completes it with the parts
 * of INPUT and the texts of its tokens. */
enum attn_status attn_sequence_finish(const struct attn_request_reading *reading,
                                      const struct attn_input *input,
                                      const struct attn_model *model,
                                      const struct attn_tokenizer *tokenizer,
                                      struct attn_sequence *sequence, struct attn_error *err);

/* Puts the prompt of MODEL that READING names, or its default one, if any, in front of the text
 * INPUT, unless SEQUENCE is a conversation. SEQUENCE owns the result. Call before reading. */
enum attn_status attn_sequence_put_prompt(const struct attn_request_reading *reading,
                                          const struct attn_model *model, struct attn_input *input,
                                          struct attn_sequence *sequence, struct attn_error *err);

/* Checks that SEQUENCE, read from INPUT, has tokens, and at most MOST: the limit of MODEL, or if
 * MODEL is NULL, of the caller. */
enum attn_status attn_sequence_check_length(const struct attn_sequence *sequence,
                                            const struct attn_input *input, const char *model,
                                            size_t most, struct attn_error *err);

/* Whether POSITION may hold an answer: a token of the second of two texts, or of the only text,
 * that the tokenizer did not add. For ids, their types tell the two texts apart; without types, the
 * answer is true. */
bool attn_sequence_is_answering(const struct attn_sequence *sequence, size_t position);

/* Finds the texts of the tokens of SEQUENCE, which has ids. */
enum attn_status attn_sequence_find_tokens(const struct attn_tokenizer *tokenizer,
                                           struct attn_sequence *sequence, struct attn_error *err);

/* Describes the rows of SEQUENCE to which the model adds its embeddings of positions and types.
 * Borrows from it. */
struct attn_embedding_rows attn_sequence_rows(const struct attn_sequence *sequence);

/* Returns the rows that are added to the stream of MODEL after its first layers (DeepStack). They
 * follow the rows of SEQUENCE, which owns them. */
static inline struct attn_added_rows attn_sequence_added(const struct attn_sequence *sequence,
                                                         const struct attn_model *model)
{
    const size_t n_layer = attn_model_config(model)->vision.n_deep, n = sequence->n;

    if (sequence->seen.n_picture == 0 || n_layer == 0)
        return (struct attn_added_rows){0};
    return (struct attn_added_rows){sequence->rows + n * attn_model_config(model)->d_model, n_layer,
                                    n};
}

/* Whether position AT has a row of an image in the text: a cell, or the end of a line. */
static inline bool attn_sequence_is_seen(const struct attn_sequence *sequence, size_t at)
{
    return at < sequence->seen.n_prompt && sequence->ids[at] == sequence->seen.image_id;
}

/* Returns the first such position from AT on; n if there is none. */
static inline size_t attn_sequence_next_seen(const struct attn_sequence *sequence, size_t at)
{
    while (at < sequence->n && !attn_sequence_is_seen(sequence, at))
        at++;
    return at;
}

/* Computes the embeddings X [n, d_embed] of SEQUENCE. For pictures these are [CLS] and the
 * registers, then the patches. */
enum attn_status attn_sequence_embed(const struct attn_sequence *sequence,
                                     const struct attn_model *model, float *x,
                                     struct attn_error *err);

/* Tokenizes the text of INPUT into SEQUENCE. The length is not limited. */
enum attn_status attn_sequence_encode(const struct attn_request_reading *reading,
                                      const struct attn_input *input,
                                      const struct attn_tokenizer *tokenizer,
                                      struct attn_sequence *sequence, struct attn_error *err);

/* Turns the tokens of a text into the target of a model with an encoder: puts the start token
 * first, and keeps the end token last if KEEPS_END. READING may omit special tokens. Does nothing
 * if MODEL has no encoder. */
enum attn_status attn_sequence_begin_target(const struct attn_request_reading *reading,
                                            const struct attn_model *model, bool keeps_end,
                                            struct attn_sequence *sequence, struct attn_error *err);

/* Checks that SOURCE is given if and only if MODEL needs one, and has a form that MODEL accepts.
 * Stage ATTN_STAGE_OPTIONS. */
enum attn_status attn_source_check(const struct attn_input *source, const struct attn_model *model,
                                   struct attn_error *err);

/* Reads SOURCE, if it is given, into SEQUENCE as rows [n, d_source]. */
enum attn_status attn_source_read(const struct attn_request_reading *reading,
                                  const struct attn_input *source, const struct attn_model *model,
                                  const struct attn_tokenizer *tokenizer,
                                  struct attn_sequence *sequence, struct attn_error *err);

/* Notes what is odd about the tokens of SEQUENCE, see attn_encoding_note. */
void attn_sequence_note(const struct attn_sequence *sequence,
                        const struct attn_tokenizer *tokenizer, struct attn_notes notes);

void attn_sequence_release(struct attn_sequence *sequence);

/* Appends tokens of padding up to n_ctx to ENCODING, a text of SigLIP, whose vector is that of the
 * last token; the texts of other models of CONFIG are unchanged. */
enum attn_status attn_encoding_pad(const struct attn_config *config, struct attn_encoding *encoding,
                                   struct attn_error *err);
