/*
 * bpe_model.h - the stage that encodes pieces by byte pair encoding (bpe.h): the last of most
 * tokenizers.
 *
 * The parts that are merged are characters, or bytes in a byte-level vocabulary, whose keys are
 * written in GPT-2's alphabet (vocabulary.h). For a part that the vocabulary lacks there are, in
 * this order: the tokens <0xHH> of its bytes when `has_byte_fallback` and all of them are there;
 * the token `unk`; an error when `needs_all`; nothing, it is dropped.
 */
#ifndef ATTN_TEXT_BPE_MODEL_H
#define ATTN_TEXT_BPE_MODEL_H

#include "text/bpe.h"
#include "text/pipeline.h"
#include "text/vocabulary.h"

/* Initialize with = {0}, set those down to `n_unk`. Before it encodes it takes merges, widths, and
 * attn_bpe_model_finish. End with attn_bpe_model_release. */
struct attn_bpe_model {
    const struct attn_vocabulary *vocabulary; /* borrows */
    struct attn_merges merges;
    bool *is_foreign; /* owns; by id: added tokens that the model does not know; NULL: none */
    bool is_by_byte;  /* a byte-level vocabulary */
    bool takes_whole_pieces; /* a piece that is a token is that token before any merge */
    bool has_byte_fallback;
    bool fuses_unk; /* neighbouring unknown parts make one `unk` */
    bool needs_all; /* a part without a token is an error */
    bool
        spells_after; /* characters without a token are merged, too, and spelled when they are left */
    uint32_t *characters; /* owns; [n_character] those that are parts of tokens, ascending */
    size_t n_character;
    char *unk; /* owns; [n_unk] the key for unknown parts; NULL: none */
    size_t n_unk;
    int32_t byte_ids[256];     /* of single bytes, or of the characters below 128; -1: none */
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

#endif
