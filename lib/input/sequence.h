/* sequence.h - a sequence on its way into a model: the tokens of a text, ids or embeddings, and the
 * rows that cross-attention looks at. For the files of this layer. */
#ifndef ATTN_INPUT_SEQUENCE_H
#define ATTN_INPUT_SEQUENCE_H

#include "forward/session.h"
#include "image/pixels.h"
#include "input/input.h"
#include "model/embedding.h"

/* The bytes of each token. Initialize with = {0}; end with attn_token_bytes_release. */
struct attn_token_bytes {
    const char **bytes; /* [n] owns the array; its texts are the tokenizer's, or `made` */
    size_t *sizes;      /* [n] owns */
    char (*made)[16];   /* [n] owns; texts of ids that the vocabulary lacks: "[50257]" */
};

enum attn_status attn_token_bytes_find(const struct attn_tokenizer *tokenizer, const int32_t *ids,
                                       size_t n, struct attn_token_bytes *tokens,
                                       struct attn_error *err);
void attn_token_bytes_release(struct attn_token_bytes *tokens);

/* Initialize with = {0}; end with attn_sequence_release. */
struct attn_sequence {
    const struct attn_input *input; /* that is read, and what messages call it: "text", "source"; */
    const char *role;               /* both are set before, and borrowed */
    size_t n;                       /* tokens or rows; 0: there is none */
    const int32_t *ids;             /* [n], of the encoding or the input; NULL for rows */
    const int32_t *types;           /* [n], of ids: the input's, or `made_types`; NULL: all are 0 */
    int32_t *made_types;            /* owns; those that the tokenizer gives, or NULL */
    const int32_t *key_mask;        /* [n] the input's: 0 where a key is masked; NULL: all are 1 */
    const float *rows;              /* [n, d]: the input's, or `embedded`; NULL for ids */
    const char *name;              /* of the array that gave the rows; NULL: the model makes them */
    struct attn_encoding encoding; /* of a text */
    float *embedded;               /* owns; the embeddings of a source that is a text, or the final
                                      rows of an encoder */
    const float *fed; /* [n, d] what an encoder reads instead of ids: the input's, or `heard` */
    float *heard;     /* owns; of sound */
    struct attn_pool *pool; /* set before a source is read, for an encoder; or NULL */
    enum attn_gemm gemm;    /* likewise: how the convolutions of sound are multiplied */
    enum attn_isa isa;      /* likewise: the best instructions that they may use */
    bool is_later; /* likewise set before: the caller runs the encoder and fills `embedded` */
    const struct attn_pixels *pixels; /* of a picture: the input's, or `made`; NULL: it is none */
    struct attn_pixels made;          /* owns; of a picture that was read */
    struct attn_image_grid grid;      /* of a picture: where its patches are */
    struct attn_token_bytes tokens;   /* of ids, where there is a tokenizer; of
                                            a picture what its positions are called */
    size_t *words; /* [n] owns; the numbers of the words of its tokens (attn_words_find), or NULL */
    char *prompted; /* owns; the text after a prompt of `n_prompt` bytes, or NULL */
    size_t n_prompt;
    const volatile sig_atomic_t *cancel;  /* set before a text is read; NULL: nothing can cancel */
    const struct attn_places *places;     /* borrowed; names of positions, or NULL */
    const struct attn_sequence *words_of; /* borrowed; in whose words and places positions are
                                             looked up, as long as this one; NULL: in its own */
    bool is_in_second;  /* words are looked for in the second of two texts alone */
    bool has_residues;  /* a token may be named K17, by its letter and its position */
    bool is_word_level; /* white space lies between tokens, and is in none of them */
};

/* Whether INPUT gives a sequence, and whether that needs a tokenizer. */
bool attn_input_is_given(const struct attn_input *input);
bool attn_input_is_text(const struct attn_input *input);

/* Reads INPUT, the sequence that a run begins with: 1 to n_ctx positions. TOKENIZER may be NULL
 * unless the input is a text. Errors without a stage are those of ATTN_STAGE_INPUT, here and
 * below. */
enum attn_status attn_sequence_read(const struct attn_request_reading *reading,
                                    const struct attn_input *input, const struct attn_model *model,
                                    const struct attn_tokenizer *tokenizer,
                                    struct attn_sequence *sequence, struct attn_error *err);

/* Puts the prompt of MODEL that READING names, if it does, in front of INPUT, a text: SEQUENCE owns
 * the whole. To be called before it is read. */
enum attn_status attn_sequence_put_prompt(const struct attn_request_reading *reading,
                                          const struct attn_model *model, struct attn_input *input,
                                          struct attn_sequence *sequence, struct attn_error *err);

/* Gives SEQUENCE, whose ids are read, the types and the key mask that INPUT or the tokenizer has
 * for it. */
enum attn_status attn_sequence_take_parts(const struct attn_input *input,
                                          const struct attn_model *model,
                                          struct attn_sequence *sequence, struct attn_error *err);

/* Says that SEQUENCE, which is read of INPUT, has more tokens than the MOST that MODEL takes, or
 * where MODEL is NULL, than the caller allows. */
enum attn_status attn_sequence_refuse_length(const struct attn_sequence *sequence,
                                             const struct attn_input *input, const char *model,
                                             size_t most, struct attn_error *err);

/* Whether POSITION belongs to the second of two texts, or to the only one: not to tokens that the
 * tokenizer added. Of ids by their types; all of them where there are none. */
bool attn_sequence_is_answering(const struct attn_sequence *sequence, size_t position);

/* Feeds SEQUENCE to a session that was fed nothing. */
enum attn_status attn_sequence_feed(const struct attn_sequence *sequence,
                                    struct attn_session *session, struct attn_error *err);

/* SEQUENCE as rows that embeddings are added to. Borrows from it. */
struct attn_embedding_rows attn_sequence_rows(const struct attn_sequence *sequence,
                                              const struct attn_model *model);

/* Its embeddings X [n, d_embed]; of pictures [CLS] and registers, then the patches. */
enum attn_status attn_sequence_embed(const struct attn_sequence *sequence,
                                     const struct attn_model *model, float *x,
                                     struct attn_error *err);

/* The tokens of INPUT's text, however many. */
enum attn_status attn_sequence_encode(const struct attn_request_reading *reading,
                                      const struct attn_input *input,
                                      const struct attn_tokenizer *tokenizer,
                                      struct attn_sequence *sequence, struct attn_error *err);

/* Makes the tokens of a text those of a target, where MODEL has an encoder: the start token comes
 * first; the end token stays last if KEEPS_END. READING may leave special tokens out. */
enum attn_status attn_sequence_begin_target(const struct attn_request_reading *reading,
                                            const struct attn_model *model, bool keeps_end,
                                            struct attn_sequence *sequence, struct attn_error *err);

/* Whether MODEL needs a source, and takes the one that is given. Stage ATTN_STAGE_OPTIONS. */
enum attn_status attn_source_check(const struct attn_input *source, const struct attn_model *model,
                                   struct attn_error *err);

/* Reads SOURCE as rows [n, d_source], if it is given. */
enum attn_status attn_source_read(const struct attn_request_reading *reading,
                                  const struct attn_input *source, const struct attn_model *model,
                                  const struct attn_tokenizer *tokenizer,
                                  struct attn_sequence *sequence, struct attn_error *err);

void attn_sequence_release(struct attn_sequence *sequence);

/*
 * Which tokens make a word: what merging words joins.
 *
 * A word begins where a token's text begins with white space, or after white space. Tokens that are
 * white space alone and special tokens are words of their own. What follows without a space, `.`
 * after `table` or the next Chinese character, belongs to the word before it. Tokens of word-level
 * vocabularies have white space between them; of WordPiece each token without "##" begins a word.
 * Line feeds and the like are white space.
 */

/* Numbers the words of SEQUENCE, whose tokens have texts, from 0: *words [n] is the caller's
 * (attn_free), ascending by 0 or 1. TOKENIZER, which says which tokens are special, may be NULL. */
enum attn_status attn_words_find(const struct attn_sequence *sequence,
                                 const struct attn_tokenizer *tokenizer, size_t **words,
                                 struct attn_error *err);

/* The same of labels: each is white space, or begins or ends with it, or goes on with the word
 * before it. */
enum attn_status attn_words_of_labels(const struct attn_label_list *labels, size_t **words,
                                      struct attn_error *err);

/* Selects all tokens of each word of which SELECTION has one. */
enum attn_status attn_words_widen(const size_t *words, struct attn_selection *selection,
                                  struct attn_error *err);

#endif
