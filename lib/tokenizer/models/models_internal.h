/* models_internal.h - the models of tokenizers, for the files of this room. */
#ifndef ATTN_TOKENIZER_MODELS_MODELS_INTERNAL_H
#define ATTN_TOKENIZER_MODELS_MODELS_INTERNAL_H

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
 * Byte pair encoding (Sennrich et al. 2016): merges replace pairs of tokens in the order of the
 * library tokenizers; the stage that encodes pieces is the last of most tokenizers.
 *
 *     attn_bpe_begin(&work, n, err);                         // n tokens, one a byte or character
 *     for (i = 0; i < n; i++) work.symbols[i].id = ...;
 *     attn_bpe_merge(&work, n, merges);
 *     for (i = 0; i < n; i = work.symbols[i].next) ...       // the merged tokens
 */

/* --- The merges ------------------------------------------------------------------------------- */

/* A pair that is not merged. */
#define ATTN_NO_RANK UINT32_MAX

/* Initialize with = {0}; end with attn_merges_release. */
struct attn_merges {
    uint64_t *pairs;  /* owns; [mask + 1] left << 32 | right, UINT64_MAX where free */
    uint32_t *ranks;  /* after them; [mask + 1] of the pair in the same slot */
    int32_t *merged;  /* after these; [n] the token that a merge makes, by rank */
    uint32_t *orders; /* owns; [n] by rank, ascending: of merges of one order the leftmost is first;
                         NULL: each rank is an order */
    size_t n;
    size_t mask;   /* slots - 1, slots a power of two and at least 2 n */
    uint64_t seed; /* seed of the hashes */
};

/* The three tokens of a merge. */
struct attn_merge {
    int32_t left, right, merged;
};

/* The keys of the two tokens that it merges. Borrows. */
struct attn_merge_keys {
    const char *left, *right;
    size_t n_left, n_right; /* bytes */
};

/* Makes room for N merges, at most INT32_MAX; NAME is the file's. Call once. */
enum attn_status attn_merges_allocate(struct attn_merges *merges, size_t n, const char *name,
                                      struct attn_error *err);

/* Gives MERGE the next rank, for which there is room. Returns false if its pair has a rank already;
 * that rank stays, or is replaced by the next if IS_LAST_WINNER. */
bool attn_merges_add(struct attn_merges *merges, const struct attn_merge *merge,
                     bool is_last_winner);

/* Looks up the tokens of KEYS and their merged token, -1 if VOCABULARY lacks one. MERGE holds the
 * previous merge: most files have the tokens in the order of the merges, so the token after its own
 * is tried first. JOINED is scratch. */
enum attn_status attn_merges_find(const struct attn_vocabulary *vocabulary,
                                  const struct attn_merge_keys *keys, struct attn_buffer *joined,
                                  struct attn_merge *merge, struct attn_error *err);

/* Reads merges.txt: an optional first line `#version...`, then one merge a line, two tokens with
 * one space between. VOCABULARY must have both tokens and the merged token. */
enum attn_status attn_merges_read(struct attn_merges *merges, const struct attn_file *file,
                                  const struct attn_vocabulary *vocabulary, struct attn_error *err);
void attn_merges_release(struct attn_merges *merges);

static inline uint64_t attn_merges_pair(int32_t left, int32_t right)
{
    return (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
}

/* The rank of a pair, lowest first, or ATTN_NO_RANK. */
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

/* A token of the piece. Its index is that of its first part, so it stays when the token grows. */
struct attn_bpe_symbol {
    int32_t id;
    uint32_t rank;           /* rank of the pair it makes with the next one, or ATTN_NO_RANK */
    uint32_t previous, next; /* indices; `next` of the last is n */
};

/* Scratch, reused for many pieces. Initialize with = {0}; end with attn_bpe_release. */
struct attn_bpe_work {
    struct attn_bpe_symbol *symbols; /* owns */
    uint64_t *heap;                  /* owns; candidates, rank << 32 | index of the left symbol */
    size_t capacity;                 /* tokens of a piece that there is room for */
    size_t n_heap;
    const volatile sig_atomic_t *cancel; /* not 0: merging ends early; NULL: never */
};

/* Makes room for a piece of N tokens; 4 Gi or more are ATTN_UNSUPPORTED. */
enum attn_status attn_bpe_begin(struct attn_bpe_work *work, size_t n, struct attn_error *err);

/* Merges the N tokens of `symbols`; false when it was canceled, and some are not merged. */
bool attn_bpe_merge(struct attn_bpe_work *work, size_t n, const struct attn_merges *merges);

void attn_bpe_release(struct attn_bpe_work *work);

/* --- The stage -------------------------------------------------------------------------------- */

enum { ATTN_BPE_SUFFIX_MAX = 16 }; /* bytes; CLIP's "</w>" has 4 */

/*
 * The merged parts are characters, or bytes in a byte-level vocabulary, whose keys are in GPT-2's
 * alphabet (vocabulary.h). A part that the vocabulary lacks becomes, in this order: the tokens
 * <0xHH> of its bytes if `has_byte_fallback` and all of them exist; the token `unk`; an error if
 * `needs_all`; else it is dropped.
 *
 * Initialize with = {0}, and set the fields down to `n_unk`; merges, widths and
 * attn_bpe_model_finish come before encoding. End with attn_bpe_model_release.
 */
struct attn_bpe_model {
    const struct attn_vocabulary *vocabulary; /* borrows */
    struct attn_merges merges;
    const bool *is_foreign; /* borrows; by id: added tokens that the model does not know, or NULL */
    bool is_by_byte;        /* a byte-level vocabulary */
    bool takes_whole_pieces; /* a piece that is a token is that token before any merge */
    bool has_byte_fallback;
    bool fuses_unk;       /* neighbouring unknown parts make one `unk` */
    bool needs_all;       /* a part without a token is an error */
    bool spells_after;    /* characters without a token are merged, and spelled when left over */
    uint32_t *characters; /* owns; [n_character] those that are parts of tokens, ascending */
    size_t n_character;
    char *unk; /* owns; [n_unk] the key for unknown parts; NULL: none */
    size_t n_unk;
    char *suffix;          /* owns; [n_suffix] comes after the last part of a piece; NULL: none */
    size_t n_suffix;       /* at most ATTN_BPE_SUFFIX_MAX */
    int32_t byte_ids[256]; /* of single bytes, or of the characters below 128; -1: none */
    int32_t fallback_ids[256]; /* of <0xHH>, or -1 */
    bool has_places;           /* a part is not always one byte: where it lies must be kept */
    int32_t unk_id;            /* of `unk`, -1 when the vocabulary lacks it */
    uint32_t *widths; /* owns; [n_vocab] bytes of a piece that a token merged from it covers */
    struct attn_alphabet alphabet;
};

/* Finds the tokens that the rest is made of; the vocabulary is there by now. */
void attn_bpe_model_finish(struct attn_bpe_model *model);
/* The token KEY of the model, or the character of that number among `characters` with the number of
 * tokens added to it; -1 when it is neither. */
int32_t attn_bpe_model_symbol(const struct attn_bpe_model *model, const char *key, size_t size);

void attn_bpe_model_release(struct attn_bpe_model *model);

/* The stage; its data is a struct attn_bpe_model, which it borrows. */
extern const struct attn_text_stage_kind attn_bpe_stage;

/* --- Unigram ---------------------------------------------------------------------------------- */

/* The unigram language model of SentencePiece (Kudo 2018) splits a piece into the tokens whose
 * scores have the highest sum, in double; a tie goes to the split whose last token begins earliest.
 * A character that is not a token may be unknown, at the lowest score minus 10; unknown neighbours
 * make one token. */

/* Initialize with = {0}, set the first ones; attn_unigram_model_finish before it encodes. End with
 * attn_unigram_model_release. */
struct attn_unigram_model {
    const struct attn_vocabulary *vocabulary; /* borrows */
    const bool *is_foreign; /* borrows; by id: added tokens that the model does not know, or NULL */
    double *scores;         /* owns; [n] by id */
    size_t n, capacity;
    int32_t unk_id; /* or -1: unknown characters are errors */
    /* Of a file of SentencePiece: `vocabulary` has its pieces that texts are made of, and the
     * tokens have their ids in `ids`, by their keys, others `ids_unk`; sums are float32. */
    const struct attn_vocabulary *ids; /* borrows; NULL: `vocabulary` */
    int32_t ids_unk;
    /* Unknown text becomes the tokens <0xHH> of its bytes, if all of them exist. */
    bool has_byte_fallback;
    double unk_score;
    size_t n_longest;          /* bytes of the longest key */
    int32_t fallback_ids[256]; /* of <0xHH>, or -1 */
};

/* Reads a score, a number of JSON, as the library tokenizers does: its last bit may differ from the
 * nearest double, which decides between equal sums. False if it is infinite. */
bool attn_unigram_parse_score(const char *text, size_t size, double *score);

/* Computes the other fields; the vocabulary is complete by now. */
void attn_unigram_model_finish(struct attn_unigram_model *model);
void attn_unigram_model_release(struct attn_unigram_model *model);

/* The stage; its data is a struct attn_unigram_model, which it borrows. */
extern const struct attn_text_stage_kind attn_unigram_stage;

/* --- WordPiece -------------------------------------------------------------------------------- */

/* The model of BERT (Wu et al. 2016) splits a word into the longest tokens from its beginning on;
 * tokens after the first have a prefix, "##". A word without such a split, or that is too long, is
 * one unknown token. */

/* Initialize with = {0}, set the first ones; attn_wordpiece_model_finish before it encodes. End
 * with attn_wordpiece_model_release. */
struct attn_wordpiece_model {
    const struct attn_vocabulary *vocabulary; /* borrows */
    const bool *is_foreign; /* borrows; by id: added tokens that the model does not know, or NULL */
    char *prefix;           /* owns; [n_prefix] and a NUL, of tokens after the first; NULL: none */
    size_t n_prefix;
    char *unk; /* owns; [n_unk] the key for unknown words */
    size_t n_unk;
    size_t max_character; /* characters of a word; longer words are unknown */
    size_t n_longest;     /* bytes of the longest key */
    int32_t unk_id;       /* of `unk`, -1 when the vocabulary lacks it */
};

/* Finds the tokens that the rest is made of; the vocabulary is there by now. */
void attn_wordpiece_model_finish(struct attn_wordpiece_model *model);
void attn_wordpiece_model_release(struct attn_wordpiece_model *model);

/* The stage; its data is a struct attn_wordpiece_model, which it borrows. */
extern const struct attn_text_stage_kind attn_wordpiece_stage;

#endif
