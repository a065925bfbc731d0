/*
 * tokenizer_internal.h - what a tokenizer is made of, for the files that open one, and how stages
 * append tokens to an encoding.
 */
#ifndef ATTN_TEXT_TOKENIZER_INTERNAL_H
#define ATTN_TEXT_TOKENIZER_INTERNAL_H

#include "base/file.h"
#include "base/thread.h"
#include "text/added.h"
#include "text/bpe_model.h"
#include "text/decoded.h"
#include "text/settings.h"
#include "text/stage.h"
#include "text/stages/decode.h"
#include "text/stages/post_process.h"
#include "text/tokenizer.h"
#include "text/word_level.h"

#include <stdatomic.h>

struct attn_tokenizer;

/*
 * What only encoding takes, the merges and the index of the keys: it is read when the first text is
 * encoded, by one thread, while others wait. So a run of ids does without.
 */
struct attn_unread {
    struct attn_monitor *monitor; /* owns; the thread that reads is inside */
    atomic_bool is_over;          /* it was read, or cannot be; what follows does not change then */
    struct attn_error failure;    /* why it cannot */
    enum attn_status (*read)(struct attn_tokenizer *tokenizer, struct attn_error *err);
    struct attn_tokenizer *tokenizer; /* its own */
    struct attn_file file;            /* owns; has the merges; empty once read */
    const char *merges;               /* [n_merges_byte] in `file`, of tokenizer.json: the list */
    size_t n_merges_byte, n_merge;    /* n_merge: its elements */
    char *path;                       /* owns; of the vocabulary, for messages */
    bool has_prefix;                  /* beside merges.txt: a space goes before a text */
    attn_note_fn on_note;             /* told what is odd about it, by who encodes first; or NULL */
    void *user;
};

/*
 * Whoever opens one sets up the vocabulary with all tokens, the added tokens, the model that the last
 * stage borrows, the stages, what is done at the end, and the decoder. attn_tokenizer_finish makes
 * the rest.
 */
struct attn_tokenizer {
    enum attn_tokenizer_kind kind;
    struct attn_settings settings;
    struct attn_vocabulary vocabulary;
    struct attn_added added;
    struct attn_bpe_model bpe;    /* ATTN_TOKENIZER_BPE */
    struct attn_word_level words; /* the other kinds */
    struct attn_stages stages;
    struct attn_post_process post;
    struct attn_decode_steps decoder;
    bool skips_unknown_ids; /* when decoding; otherwise they are errors */
    bool keeps_bytes;       /* decoding joins the bytes of the tokens as they are */
    bool *is_added;         /* owns; by id */
    bool *is_special;       /* owns; by id */
    bool *is_wide;          /* owns; by id: an added token that takes white space beside it */
    struct attn_decoded decoded;
    char *note;                 /* owns; what is odd about the vocabulary (unmade.h), or NULL */
    struct attn_unread *unread; /* owns; NULL: everything is read when the tokenizer is opened */
    const char *detail;         /* which files were read, or NULL; not owned */
};

/* Marks the added tokens, and finds what each token stands for. */
enum attn_status attn_tokenizer_mark(struct attn_tokenizer *tokenizer, struct attn_error *err);
enum attn_status attn_tokenizer_finish(struct attn_tokenizer *tokenizer, struct attn_error *err);

/* Gives TOKENIZER an unread part, with the path of its vocabulary. */
enum attn_status attn_tokenizer_add_unread(struct attn_tokenizer *tokenizer, const char *path,
                                           struct attn_error *err);

/* The key of token ID as the files have it, or NULL. Borrowed. */
const char *attn_tokenizer_key(const struct attn_tokenizer *tokenizer, int32_t id, size_t *size);

/* Makes room for NEED tokens in all. On failure the encoding is as before. */
enum attn_status attn_encoding_reserve(struct attn_encoding *encoding, size_t need,
                                       struct attn_error *err);

/* Appends token ID with the bytes BEGIN..END of the text. */
static inline enum attn_status attn_encoding_push(struct attn_encoding *encoding, int32_t id,
                                                  size_t begin, size_t end, struct attn_error *err)
{
    if (encoding->n == encoding->capacity) {
        enum attn_status status = attn_encoding_reserve(encoding, encoding->n + 1, err);
        if (status != ATTN_OK)
            return status;
    }
    encoding->ids[encoding->n] = id;
    encoding->begin[encoding->n] = begin;
    encoding->end[encoding->n] = end;
    encoding->n++;
    return ATTN_OK;
}

#endif
