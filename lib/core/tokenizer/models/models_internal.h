/* models_internal.h - the models of tokenizers: BPE, unigram and WordPiece. */
#pragma once

#include "base/hash.h"
#include "base/status.h"
#include "tokenizer/pipeline.h"
#include "tokenizer/vocabulary.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- BPE -------------------------------------------------------------------------------------- */

/*
 * Byte pair encoding (Sennrich et al. 2016). Merges replace pairs of tokens in the order of the
 * library tokenizers. Its stage, which encodes pieces, is the last one of most tokenizers.
 *
 *     attn_bpe_begin(&work, n, err);  // n tokens, one for each byte or character
 *     for (i = 0; i < n; i++) work.symbols[i].id = ...;
 *     attn_bpe_merge(&work, n, merges);
 *     for (i = 0; i < n; i = work.symbols[i].next) ...  // the merged tokens
 */

/* --- The merges ------------------------------------------------------------------------------- */

/* The rank of a pair that is not merged. */
#define ATTN_NO_RANK UINT32_MAX

/* Initialize with = {0}; end with attn_merges_release. */
struct attn_merges {
    /* Owns; [mask + 1] hash table of left << 32 | right; UINT64_MAX: the slot is free. */
    uint64_t *pairs;
    uint32_t *ranks;  /* [mask + 1] ranks of the pairs in these slots, in the same memory */
    int32_t *merged;  /* [n] the token that each merge makes, by rank, in the same memory */
    uint32_t *orders; /* owns; [n] the order of each rank, ascending: of merges with equal order,
                         the leftmost is done first; NULL: the order is the rank */
    size_t n;
    size_t mask;   /* number of slots - 1; the number is a power of two and at least 2 n */
    uint64_t seed; /* seed of the hashes */
};

/* The three tokens of a merge. */
struct attn_merge {
    int32_t left, right, merged;
};

/* The keys of the two tokens that a merge joins. Borrows. */
struct attn_merge_keys {
    const char *left, *right;
    size_t n_left, n_right; /* bytes */
    size_t n_skip;          /* first bytes of the right one that the merged token does not have */
};

/* Allocates memory for N merges, at most INT32_MAX. NAME is the file's, for messages. Call it once.
 */
enum attn_status attn_merges_allocate(struct attn_merges *merges, size_t n, const char *name,
                                      struct attn_error *err);

/* Gives MERGE the next rank. There must be memory for it. Returns false if the pair already has a
 * rank, which stays, or is replaced by the new one if IS_LAST_WINNER. */
bool attn_merges_add(struct attn_merges *merges, const struct attn_merge *merge,
                     bool is_last_winner);

/* Looks up the tokens of KEYS and the token that they make; -1 if VOCABULARY lacks one. On entry
 * MERGE contains the previous merge: most files list tokens in the order of the merges, so the
 * token after the previous one is tried first. JOINED is scratch. */
enum attn_status attn_merges_find(const struct attn_vocabulary *vocabulary,
                                  const struct attn_merge_keys *keys, struct attn_buffer *joined,
                                  struct attn_merge *merge, struct attn_error *err);

/* Reads merges.txt: an optional first line `#version...`, then one merge per line, two tokens
 * separated by one space. VOCABULARY must have both tokens and the merged token. */
enum attn_status attn_merges_read(struct attn_merges *merges, const struct attn_file *file,
                                  const struct attn_vocabulary *vocabulary, struct attn_error *err);
void attn_merges_release(struct attn_merges *merges);

static inline uint64_t attn_merges_pair(int32_t left, int32_t right)
{
    return (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
}

/* Returns the rank of a pair, which is low for early merges, or ATTN_NO_RANK. */
static inline uint32_t attn_merges_rank(const struct attn_merges *merges, int32_t left,
                                        int32_t right)
{
    uint64_t pair = attn_merges_pair(left, right);
    size_t slot = (size_t)attn_hash_mix(pair ^ merges->seed) & merges->mask;

    while (merges->pairs[slot] != pair) {
        if (merges->pairs[slot] == UINT64_MAX)
            return ATTN_NO_RANK;
        slot = (slot + 1) & merges->mask;
    }
    return merges->ranks[slot];
}

/* --- Merging ---------------------------------------------------------------------------------- */

/* A token of the piece while it is merged. Its index is that of its first part, and does not change
 * when it grows. */
struct attn_bpe_symbol {
    int32_t id;
    uint32_t rank; /* rank of the pair that it forms with the next symbol, or ATTN_NO_RANK */
    uint32_t previous, next; /* indices; `next` of the last symbol is n */
};

/* Scratch memory for merging, reused for many pieces. Initialize with = {0}; end with
 * attn_bpe_release. */
struct attn_bpe_work {
    struct attn_bpe_symbol *symbols; /* owns */
    uint64_t *heap;                  /* owns; candidates, rank << 32 | index of the left symbol */
    size_t capacity;                 /* maximum number of tokens of a piece */
    size_t n_heap;
    /* If it becomes not 0, merging ends early; NULL: cannot be canceled. */
    const volatile sig_atomic_t *cancel;
};

/* Allocates memory for a piece of N tokens. Returns ATTN_UNSUPPORTED for 4 Gi tokens or more. */
enum attn_status attn_bpe_begin(struct attn_bpe_work *work, size_t n, struct attn_error *err);

/* Merges the N tokens of `symbols`. Returns false if it was canceled, so that some pairs are not
 * merged. */
bool attn_bpe_merge(struct attn_bpe_work *work, size_t n, const struct attn_merges *merges);

void attn_bpe_release(struct attn_bpe_work *work);

/* --- The stage -------------------------------------------------------------------------------- */

enum { ATTN_BPE_SUFFIX_MAX = 16 }; /* bytes; CLIP's "</w>" has 4 */

/*
 * A BPE model. The parts that it merges are characters, or bytes in a byte-level vocabulary, whose
 * keys are written in GPT-2's alphabet (vocabulary.h). A part that is not in the vocabulary becomes
 * the first of these that applies: the tokens <0xHH> of its bytes if `has_byte_fallback` and all of
 * them exist; the token `unk`; an error if `needs_all`; else it is dropped.
 *
 * Initialize with = {0}, and set the fields down to `n_prefix`. Set merges and widths and call
 * attn_bpe_model_finish before encoding. End with attn_bpe_model_release.
 */
struct attn_bpe_model {
    const struct attn_vocabulary *vocabulary; /* borrows */
    struct attn_merges merges;
    const bool *is_foreign;  /* borrows; by id: added tokens that are not the model's; or NULL */
    bool is_by_byte;         /* a byte-level vocabulary */
    bool takes_whole_pieces; /* a piece that is a token becomes that token, without merging */
    bool has_byte_fallback;
    bool fuses_unk;       /* adjacent unknown parts become one `unk` */
    bool needs_all;       /* a part without a token is an error */
    bool spells_after;    /* characters without a token take part in merging; those that remain are
                             replaced by byte tokens */
    uint32_t *characters; /* owns; [n_character] characters that occur in tokens but are not tokens,
                             ascending */
    size_t n_character;
    char *unk; /* owns; [n_unk] the key of the token for unknown parts; NULL: no such token */
    size_t n_unk;
    char *suffix;    /* owns; [n_suffix] is appended to the last part of a piece; NULL: no suffix */
    size_t n_suffix; /* at most ATTN_BPE_SUFFIX_MAX */
    char *prefix;    /* owns; [n_prefix] before each part but the first; NULL: no prefix */
    size_t n_prefix; /* at most ATTN_BPE_SUFFIX_MAX */
    /* Tokens of single bytes, or of the characters below 128; -1: no token. */
    int32_t byte_ids[256];
    int32_t fallback_ids[256]; /* tokens <0xHH>; -1: no token */
    bool has_places;  /* a part may differ from one byte, so that its place in the piece must be
                         stored */
    int32_t unk_id;   /* id of `unk`; -1 if the vocabulary lacks it */
    uint32_t *widths; /* owns; [n_vocab] number of bytes of a piece that each token covers */
    struct attn_alphabet alphabet;
};

/* Sets the fields below `n_prefix`. The vocabulary must be complete. */
void attn_bpe_model_finish(struct attn_bpe_model *model);
/* Returns the token KEY of the model; for a character of `characters`, its index plus the number of
 * tokens; -1 if it is neither. */
int32_t attn_bpe_model_symbol(const struct attn_bpe_model *model, const char *key, size_t size);

void attn_bpe_model_release(struct attn_bpe_model *model);

/* The stage; its data is a struct attn_bpe_model, which it borrows. */
extern const struct attn_text_stage_kind attn_bpe_stage;

/* --- Unigram ---------------------------------------------------------------------------------- */

/* The unigram language model of SentencePiece (Kudo 2018). It splits a piece into the tokens whose
 * scores have the highest sum, in double precision; of equal sums, the split whose last token
 * begins earliest wins. A character that is not a token may be unknown, with the lowest score
 * minus 10. Adjacent unknown characters become one token. */

/* Initialize with = {0}, set the fields down to `has_byte_fallback`, and call
 * attn_unigram_model_finish before encoding. End with attn_unigram_model_release. */
struct attn_unigram_model {
    const struct attn_vocabulary *vocabulary; /* borrows */
    const bool *is_foreign; /* borrows; by id: added tokens that are not the model's; or NULL */
    double *scores;         /* owns; [n] by id */
    size_t n, capacity;
    int32_t unk_id; /* -1: unknown characters are errors */
    /* For a SentencePiece file: `vocabulary` contains the pieces that texts are split into. The id
     * of a piece is that of its key in `ids`, or `ids_unk` if it is not there. Sums are float32. */
    const struct attn_vocabulary *ids; /* borrows; NULL: `vocabulary` */
    int32_t ids_unk;
    /* Unknown text becomes the tokens <0xHH> of its bytes, if all of them exist. */
    bool has_byte_fallback;
    double unk_score;
    size_t n_longest;          /* bytes of the longest key */
    int32_t fallback_ids[256]; /* tokens <0xHH>; -1: no token */
};

/* Parses a score, a JSON number, as the library tokenizers does: the last bit may differ from the
 * nearest double, which matters for equal sums. Returns false if it is infinite. */
bool attn_unigram_parse_score(const char *text, size_t size, double *score);

/* Computes the other fields. The vocabulary must be complete. */
void attn_unigram_model_finish(struct attn_unigram_model *model);
void attn_unigram_model_release(struct attn_unigram_model *model);

/* The stage; its data is a struct attn_unigram_model, which it borrows. */
extern const struct attn_text_stage_kind attn_unigram_stage;

/* --- WordPiece -------------------------------------------------------------------------------- */

/* The model of BERT (Wu et al. 2016). It splits a word into the longest possible tokens from its
 * beginning on; tokens after the first have the prefix "##". A word that cannot be split so, or is
 * too long, becomes one unknown token. */

/* Initialize with = {0}, set the fields down to `max_character`, and call
 * attn_wordpiece_model_finish before encoding. End with attn_wordpiece_model_release. */
struct attn_wordpiece_model {
    const struct attn_vocabulary *vocabulary; /* borrows */
    const bool *is_foreign; /* borrows; by id: added tokens that are not the model's; or NULL */
    char *prefix; /* owns; [n_prefix] and a NUL; the prefix of tokens after the first; NULL: no
                     prefix */
    size_t n_prefix;
    char *unk; /* owns; [n_unk] the key of the token for unknown words */
    size_t n_unk;
    size_t max_character; /* maximum number of characters of a word; longer words are unknown */
    size_t n_longest;     /* bytes of the longest key */
    int32_t unk_id;       /* id of `unk`; -1 if the vocabulary lacks it */
};

/* Sets the other fields. The vocabulary must be complete. */
void attn_wordpiece_model_finish(struct attn_wordpiece_model *model);
void attn_wordpiece_model_release(struct attn_wordpiece_model *model);

/* The stage; its data is a struct attn_wordpiece_model, which it borrows. */
extern const struct attn_text_stage_kind attn_wordpiece_stage;
