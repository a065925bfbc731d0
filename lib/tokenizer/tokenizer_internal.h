/* tokenizer_internal.h - the parts of a tokenizer, for the files that open one, and how stages
 * append tokens to an encoding. */
#ifndef ATTN_TOKENIZER_TOKENIZER_INTERNAL_H
#define ATTN_TOKENIZER_TOKENIZER_INTERNAL_H

#include "base/file.h"
#include "base/note.h"
#include "base/thread.h"
#include "formats/gguf.h"
#include "formats/json.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/models/models_internal.h"
#include "tokenizer/pipeline.h"
#include "tokenizer/stages/stages_internal.h"
#include "tokenizer/tokenizer.h"

#include <stdatomic.h>

struct attn_tokenizer;

/* --- Parts of a tokenizer --------------------------------------------------------------------- */

/*
 * The settings in config.json for a tokenizer of vocab.json (tokenizer_files.c):
 *
 *     "tokenizer": {"type": "word", "drop": ",.", "unk": "<unk>"}
 *
 * All of it may be absent. `type` is "word", "char" or "bpe"; `drop` are characters that are not
 * part of words; `unk` is the token of unknown words. The last two are not for BPE.
 */
struct attn_settings {
    bool has_kind;
    enum attn_tokenizer_kind kind;
    uint32_t *drop; /* owns; [n_drop] code points */
    size_t n_drop;
    char *unk;    /* owns; NULL if absent */
    size_t n_unk; /* bytes of that in tokenizer.json */
    bool is_roberta;
    bool lowers, strips_accents; /* of BertNormalizer, if `has_bert` */
    bool has_bert;
};

struct attn_word_rule {
    bool is_by_character; /* every character is a word, white space too */
    const uint32_t *drop; /* borrows; [n_drop] code points that are no part of any word */
    size_t n_drop;
};

struct attn_word_level {
    const struct attn_vocabulary *vocabulary; /* borrows; keys are words */
    const bool *is_foreign; /* borrows; by id: added tokens that the model does not know, or NULL */
    struct attn_word_rule rule; /* borrows */
    int32_t unk;                /* id of unknown words, or -1: they are errors */
};

/* The stages that encode the words of a slice, and a slice that is a word (words.c); their data is
 * a borrowed struct attn_word_level. */
extern const struct attn_text_stage_kind attn_word_stage, attn_whole_word_stage;

/* The text of each single token (tokenizer_tokens.c). Initialize with = {0}; release. */
struct attn_decoded {
    char *bytes;   /* owns; length of a token at `begin`, or where its key begins among the keys */
    size_t *begin; /* owns; [n_vocab + 1] in `bytes`; NULL: computed on demand */
    uint32_t *sizes;              /* owns; [n_vocab] of those that are found */
    atomic_bool *is_block_found;  /* owns; by id / BLOCK_SIZE */
    struct attn_monitor *monitor; /* owns; the thread that finds a block is inside */
};

/* Data that only encoding needs, the merges and the index of the keys: one thread reads it when the
 * first text is encoded, while others wait, so that a run of ids does not need it. */
struct attn_unread {
    struct attn_monitor *monitor; /* owns; the thread that reads is inside */
    atomic_bool is_over;          /* it was read, or failed; the fields below do not change then */
    struct attn_error failure;    /* why it cannot */
    /* Reads the merges; NULL: no merges. */
    enum attn_status (*read)(struct attn_tokenizer *tokenizer, struct attn_error *err);
    struct attn_tokenizer *tokenizer;    /* its own */
    const volatile sig_atomic_t *cancel; /* flag of the reading thread; not 0: reading ends early */
    struct attn_file file;               /* owns; has the merges; empty once read */
    const char *merges;            /* [n_merges_byte] in `file`, of tokenizer.json: the list */
    size_t n_merges_byte, n_merge; /* n_merge: its elements */
    char *path;                    /* owns; path of the vocabulary, for messages */
    bool has_prefix;               /* beside merges.txt: a space goes before a text */
    attn_note_fn on_note;          /* gets notes, on the thread that encodes first; or NULL */
    void *user;
};

/* The functions that open a tokenizer set up the vocabulary with all tokens, the added tokens, the
 * model that the last stage borrows, the stages, the post-processing, and the decoder.
 * attn_decoded_prepare makes the rest. */
struct attn_tokenizer {
    enum attn_tokenizer_kind kind;
    struct attn_settings settings;
    struct attn_vocabulary vocabulary;
    struct attn_added added;
    bool *is_foreign; /* owns; by id: added tokens that the model does not know; NULL: none */
    struct attn_bpe_model bpe;             /* ATTN_TOKENIZER_BPE */
    struct attn_wordpiece_model wordpiece; /* ATTN_TOKENIZER_WORDPIECE */
    struct attn_unigram_model unigram;     /* ATTN_TOKENIZER_UNIGRAM */
    struct attn_vocabulary pieces,
        users;                     /* of that, from a file of SentencePiece; those of users */
    struct attn_tokenizer *target; /* owns; of target texts; NULL: the same */
    struct attn_word_level words;  /* the other kinds */
    struct attn_pipeline pipeline;
    struct attn_post_process post;
    struct attn_decode_steps decoder;
    bool skips_unknown_ids; /* when decoding; otherwise they are errors */
    bool keeps_bytes;       /* decoding joins the bytes of the tokens as they are */
    bool *is_added;         /* owns; by id */
    bool *is_special;       /* owns; by id */
    bool *is_wide;          /* owns; by id: an added token that takes white space beside it */
    struct attn_decoded decoded;
    char *mask_text;        /* owns; the mask token that the files name; NULL: they name none, or
                               attn_tokenizer_read_mask was not called */
    int32_t mask_id;        /* of that */
    char *note;             /* owns; a note about the vocabulary (tokenizer_files.c), or NULL */
    struct attn_gguf *gguf; /* owns; the file whose metadata it is read from, or NULL */
    struct attn_unread *unread; /* owns; NULL: everything is read when the tokenizer is opened */
    const char *detail;         /* which files were read, or NULL; not owned */
};

/* --- Opening one ------------------------------------------------------------------------------ */

/* As attn_tokenizer_open, but reads the data that only encoding needs, mostly merges, when the
 * first text is encoded: decoding reads no merges. Faults in that data make encoding fail then, at
 * ATTN_STAGE_MODEL; ON_NOTE, which may be NULL, gets notes about it on the thread that encodes.
 * Blobs of SOURCE are borrowed until the tokenizer is closed. */
enum attn_status attn_tokenizer_open_lazily(const struct attn_source *source, attn_note_fn on_note,
                                            void *user, struct attn_tokenizer **out,
                                            struct attn_error *err);

/* A note about the vocabulary that is not a failure, as a line to report; or NULL. Borrowed. */
const char *attn_tokenizer_note(const struct attn_tokenizer *tokenizer);

/* The same for details, such as a vocab.json that was not read beside tokenizer.json. */
const char *attn_tokenizer_detail(const struct attn_tokenizer *tokenizer);

/* Sets up TOKENIZER, which is zeroed, from tokenizer.json of SOURCE, the file of the library
 * tokenizers: its parts become stages. A part that is not known is refused by name. */
enum attn_status attn_tokenizer_json_read(struct attn_tokenizer *tokenizer,
                                          const struct attn_source *source, struct attn_error *err);

/* The same from the metadata of a GGUF file. */
enum attn_status attn_tokenizer_gguf_read(struct attn_tokenizer *tokenizer,
                                          const struct attn_source *source, struct attn_error *err);

/* The same from vocab.json and the files beside it: byte-level BPE, words, characters. */
enum attn_status attn_tokenizer_files_read(struct attn_tokenizer *tokenizer,
                                           const struct attn_source *source,
                                           struct attn_error *err);

/* The same from vocab.txt of BERT. */
enum attn_status attn_tokenizer_bert_read(struct attn_tokenizer *tokenizer,
                                          const struct attn_source *source, struct attn_error *err);

/* The same from SentencePiece's files: source.spm, target.spm and vocab.json, or spiece.model. */
enum attn_status attn_tokenizer_spm_read(struct attn_tokenizer *tokenizer,
                                         const struct attn_source *source, struct attn_error *err);

/* Whether one of Marian's two is there: the other is missing then, and vocab.json no vocabulary. */
bool attn_tokenizer_spm_is_marian(const struct attn_source *source);

/* A token with a role: its key in tokenizer_config.json and special_tokens_map.json. */
struct attn_token_role {
    const char *key;   /* "mask_token" */
    const char *token; /* the default if no file names one: "[MASK]"; or NULL */
    bool is_needed;    /* a vocabulary without it is refused, and null in a file is no answer */
    int32_t id;        /* out; -1: absent */
};

/* Appends the tokens of the files beside a vocabulary, and those with ROLES [n], to the tokens that
 * TOKENIZER finds in texts (tokenizer_added.c). CONFIG is tokenizer_config.json or NULL. Adds new
 * ones to its vocabulary, which must be finished and indexed, and must not change afterwards. */
enum attn_status attn_tokenizer_read_added(struct attn_tokenizer *tokenizer,
                                           const struct attn_source *source,
                                           const struct attn_json *config,
                                           struct attn_token_role *roles, size_t n,
                                           struct attn_error *err);

/* Finds the mask token, where the files of SOURCE name one that is in the vocabulary, which is
 * complete. Only encoders ask for it. */
enum attn_status attn_tokenizer_read_mask(struct attn_tokenizer *tokenizer,
                                          const struct attn_source *source, struct attn_error *err);

/* The parts of tokenizer.json beside the model. */
enum attn_tokenizer_role {
    ATTN_ROLE_NORMALIZER,     /* adds stages */
    ATTN_ROLE_PRE_TOKENIZER,  /* adds stages, and sets whether the model is by byte */
    ATTN_ROLE_DECODER,        /* adds steps */
    ATTN_ROLE_POST_PROCESSOR, /* fills `post` */
};
enum { ATTN_TOKENIZER_N_ROLE = ATTN_ROLE_POST_PROCESSOR + 1 };

/* Reads a part from TEXT [size], its value in the file; NULL if it is missing. */
enum attn_status attn_tokenizer_read_part(struct attn_tokenizer *tokenizer,
                                          enum attn_tokenizer_role role, const char *text,
                                          size_t size, struct attn_error *err);

/* Marks the added tokens, when all tokens are there. */
enum attn_status attn_tokenizer_mark(struct attn_tokenizer *tokenizer, struct attn_error *err);

/* Gives TOKENIZER an unread part, with the path of its vocabulary. */
enum attn_status attn_tokenizer_add_unread(struct attn_tokenizer *tokenizer, const char *path,
                                           struct attn_error *err);

/* The `type` of KIND: "word". */
const char *attn_tokenizer_kind_name(enum attn_tokenizer_kind kind);

/* --- Its tokens ------------------------------------------------------------------------------- */

/* Makes BYTES, of TOKENIZER itself, ready: its vocabulary, added tokens and decoder are there. */
enum attn_status attn_decoded_prepare(struct attn_decoded *decoded,
                                      const struct attn_tokenizer *tokenizer,
                                      struct attn_error *err);
void attn_decoded_release(struct attn_decoded *decoded);

/* The bytes of token ID, which the vocabulary has. Borrowed. Any thread may ask. */
const char *attn_decoded_find(const struct attn_tokenizer *tokenizer, int32_t id, size_t *size);

/* Whether ID is the token that encoding uses for unknown text: [UNK]. */
bool attn_tokenizer_is_unknown(const struct attn_tokenizer *tokenizer, int32_t id);

/* The key of token ID as the files have it, or NULL. Borrowed. */
const char *attn_tokenizer_key(const struct attn_tokenizer *tokenizer, int32_t id, size_t *size);

/* Makes room for NEED tokens in all. On failure the encoding is as before. */
enum attn_status attn_encoding_reserve(struct attn_encoding *encoding, size_t need,
                                       struct attn_error *err);

/* Appends token ID with the bytes BEGIN..END of the text. */
static inline enum attn_status attn_encoding_push(struct attn_encoding *encoding, int32_t id,
                                                  size_t begin, size_t end, struct attn_error *err)
{
    if (encoding->n == encoding->capacity)
        ATTN_TRY(attn_encoding_reserve(encoding, encoding->n + 1, err));
    encoding->ids[encoding->n] = id;
    encoding->begin[encoding->n] = begin;
    encoding->end[encoding->n] = end;
    encoding->n++;
    return ATTN_OK;
}

#endif
