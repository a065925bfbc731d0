/* tokenizer_internal.h - the parts of a tokenizer, for the files that open one, and functions with
 * which stages append tokens to an encoding. */
#pragma once

#include "base/file.h"
#include "base/note.h"
#include "base/os/thread.h"
#include "base/status_internal.h"
#include "base/text/fixed_text.h"
#include "formats/bundle.h"
#include "formats/json.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/models/models_internal.h"
#include "tokenizer/pipeline.h"
#include "tokenizer/stages/stages_internal.h"
#include "tokenizer/tokenizer_class.h"
#include "tokenizer/tokenizer_extra.h"

#include <stdatomic.h>

struct attn_tokenizer;

/* --- Parts of a tokenizer --------------------------------------------------------------------- */

/*
 * The settings in config.json for a tokenizer of vocab.json (tokenizer_files.c):
 *
 *     "tokenizer": {"type": "word", "drop": ",.", "unk": "<unk>", "bos": "<s>"}
 *
 * All are optional. `type` is "word", "char" or "bpe"; `drop` lists characters that are not part of
 * words; `unk` is the token for unknown words, `bos` the one in front of each text. BPE has only
 * `type`.
 */
struct attn_settings {
    bool has_kind;
    enum attn_tokenizer_kind kind;
    uint32_t *drop; /* owns; [n_drop] code points */
    size_t n_drop;
    char *unk;                      /* owns; NULL if absent */
    size_t n_unk;                   /* size of `unk` */
    char *bos;                      /* owns; the token in front of each text, for words and
                                       characters; or NULL */
    const struct attn_class *found; /* borrows; the class beside tokenizer.json, while it is read */
    bool has_words;                 /* tokenizer.json has a BertNormalizer */
};

struct attn_word_rule {
    bool is_by_character; /* each character is a word, also white space */
    const uint32_t *drop; /* borrows; [n_drop] code points that are not part of words */
    size_t n_drop;
};

struct attn_word_level {
    const struct attn_vocabulary *vocabulary; /* borrows; keys are words */
    const bool *is_foreign;     /* borrows; by id: added tokens that are not the model's; or NULL */
    struct attn_word_rule rule; /* borrows */
    int32_t unk;                /* id for unknown words; -1: they are errors */
};

/* The stages that encode the words of a slice, and a slice that is one word (words.c). Their data
 * is a borrowed struct attn_word_level. */
extern const struct attn_text_stage_kind attn_word_stage, attn_whole_word_stage;

/* The text of each single token (tokenizer_tokens.c). Initialize with = {0}; end with
 * attn_decoded_release. */
struct attn_decoded {
    char *bytes; /* owns; the text of a token is at begin[id], or if that is NULL, at the offset of
                    its key among the keys */
    size_t *begin; /* owns; [n_vocab + 1] offsets in `bytes`; NULL: texts are computed on demand */
    uint32_t *sizes;              /* owns; [n_vocab] sizes of the texts computed so far */
    atomic_bool *is_block_found;  /* owns; by id / BLOCK_SIZE */
    struct attn_monitor *monitor; /* owns; held while a block is computed */
};

/* Data that only encoding needs: the merges and the index of the keys. It is read when the first
 * text is encoded, by one thread, while others wait, so that a run of ids does not read it. */
struct attn_unread {
    struct attn_monitor *monitor; /* owns; held while the data is read */
    atomic_bool is_over; /* reading has ended, with success or not; the fields below do not change
                            after that */
    struct attn_error failure; /* the reason if it failed */
    /* Reads the merges; NULL: no merges. */
    enum attn_status (*read)(struct attn_tokenizer *tokenizer, struct attn_error *err);
    struct attn_tokenizer *tokenizer; /* the tokenizer that this belongs to */
    /* Flag of the reading thread; if it becomes not 0, reading ends early. */
    const volatile sig_atomic_t *cancel;
    struct attn_file file; /* owns; contains the merges; empty after they were read */
    const char *merges;    /* [n_merges_byte] the list of merges in `file`, for tokenizer.json */
    size_t n_merges_byte, n_merge;    /* n_merge: number of its elements */
    char *path;                       /* owns; path of the vocabulary, for messages */
    const struct attn_class_row *row; /* for merges.txt: the class */
    bool has_prefix;                  /* for merges.txt: a space is inserted before a text */
    attn_note_fn on_note; /* receives notes, on the thread that encodes first; or NULL */
    void *user;
};

/* A tokenizer. The functions that open one set up the vocabulary with all tokens, the added tokens,
 * the model (borrowed by the last stage), the stages, the post-processing, and the decoder.
 * attn_decoded_prepare sets up the rest. */
/* The template for conversations that the files have, and the tokens that it may name. */
struct attn_chat_template {
    const char *place; /* the file or key that has one, or NULL; constant */
    char *text;        /* [size] owns; or NULL */
    size_t size;
    struct attn_buffer tokens; /* owns; a JSON object: {"bos_token": "<s>"} */
    int32_t start;             /* 1 + the id of the start token, `bos_token_id`; 0: none is named */
};

struct attn_tokenizer {
    enum attn_tokenizer_kind kind;
    char name[ATTN_QUOTE_SIZE + 2]; /* of the model, in quotes, for messages; or "" */
    struct attn_settings settings;
    struct attn_vocabulary vocabulary;
    struct attn_added added;
    struct attn_added absent; /* tokens of the class that the vocabulary lacks: only contents */
    bool *is_foreign; /* owns; by id: added tokens that are not the model's; NULL: there are none */
    struct attn_bpe_model bpe;             /* ATTN_TOKENIZER_BPE */
    struct attn_wordpiece_model wordpiece; /* ATTN_TOKENIZER_WORDPIECE */
    struct attn_unigram_model unigram;     /* ATTN_TOKENIZER_UNIGRAM */
    struct attn_vocabulary pieces,
        users; /* for unigram from a SentencePiece file: its pieces, and its user-defined ones */
    struct attn_tokenizer *target; /* owns; the tokenizer for target texts; NULL: this one */
    struct attn_word_level words;  /* for the other kinds */
    struct attn_pipeline pipeline;
    struct attn_post_process post;
    struct attn_decode_steps decoder;
    bool skips_unknown_ids; /* when decoding; otherwise unknown ids are errors */
    bool keeps_bytes;       /* decoding joins the bytes of the tokens unchanged */
    bool *is_added;         /* owns; by id */
    bool *is_special;       /* owns; by id */
    bool *is_wide;          /* owns; by id: added tokens that include white space next to them */
    struct attn_decoded decoded;
    char *mask_text; /* owns; the mask token that the files name; NULL: no file names one, or
                        attn_tokenizer_read_mask was not called */
    int32_t mask_id; /* id of the mask token */
    char *note;      /* owns; a note about the vocabulary (tokenizer_files.c), or NULL */
    struct attn_bundle *bundle; /* owns; the file whose metadata contains the tokenizer, or NULL */
    struct attn_unread *unread; /* owns; NULL: all data is read when the tokenizer is opened */
    bool is_foreign_file;       /* a file of another program became its files (opener.h) */
    const char *detail;         /* tells which files were read, or NULL; not owned */
    struct attn_chat_template chat;
};

/* --- Opening ---------------------------------------------------------------------------------- */

/* Opens a tokenizer like attn_tokenizer_open, but reads the data that only encoding needs, mostly
 * merges, when the first text is encoded, so that decoding does not read it. Errors in that data
 * are then errors of encoding, with the stage ATTN_STAGE_MODEL; ON_NOTE, which may be NULL,
 * receives notes about it on the thread that encodes. Blobs of SOURCE are borrowed until the
 * tokenizer is freed. */
enum attn_status attn_tokenizer_open_lazily(const struct attn_source *source, attn_note_fn on_note,
                                            void *user, struct attn_tokenizer **out,
                                            struct attn_error *err);

/* Returns the chat template: the form in which the model was trained on conversations. Its `place`
 * is NULL without one. */
const struct attn_chat_template *attn_tokenizer_chat(const struct attn_tokenizer *tokenizer);

/* Returns a note about the vocabulary, a line to report; or NULL. Borrowed. */
const char *attn_tokenizer_note(const struct attn_tokenizer *tokenizer);

/* Returns a detail, such as a vocab.json that was ignored because of tokenizer.json; or NULL.
 * Borrowed. */
const char *attn_tokenizer_detail(const struct attn_tokenizer *tokenizer);

enum attn_status attn_tokenizer_add_note(struct attn_tokenizer *tokenizer, struct attn_error *err,
                                         const char *format, ...) ATTN_PRINTF(3, 4);

/* Reads TOKENIZER, which is zeroed, from tokenizer.json of SOURCE, the file of the library
 * tokenizers. Its parts become stages; unknown parts are refused by name. */
enum attn_status attn_tokenizer_json_read(struct attn_tokenizer *tokenizer,
                                          const struct attn_source *source,
                                          const struct attn_class *found, struct attn_error *err);

/* Reads TOKENIZER from vocab.json and related files: byte-level BPE, words, characters. */
enum attn_status attn_tokenizer_files_read(struct attn_tokenizer *tokenizer,
                                           const struct attn_source *source,
                                           const struct attn_class *found, struct attn_error *err);

/* Adds the tokens of other files, and those with ROLES [ATTN_CLASS_N_ROLE], to the tokens that
 * TOKENIZER finds in texts (tokenizer_added.c). CONFIG is tokenizer_config.json or NULL. Adds new
 * tokens to the vocabulary, which must be finished and indexed, and must not change afterwards.
 * IS_BESIDE: the files are beside tokenizer.json; their tokens follow its own, and their flags
 * replace its flags. */
enum attn_status attn_tokenizer_read_added(struct attn_tokenizer *tokenizer,
                                           const struct attn_source *source,
                                           const struct attn_json *config, bool is_beside,
                                           struct attn_token_role *roles, struct attn_error *err);

/* Apply keys of tokenizer_config.json to parts of tokenizer.json (tokenizer_beside.c). The first
 * two get the VALUE of `add_prefix_space` in a part, which may be ByteLevel (IS_BYTES) and the
 * whole pre-tokenizer (IS_WHOLE); and the settings of BertNormalizer. The third compares the rest;
 * ROLES have their ids, and HAS_POST says whether the file has a post-processor. */
enum attn_status attn_beside_prefix(struct attn_tokenizer *tokenizer, bool is_whole, bool is_bytes,
                                    bool *value, struct attn_error *err);
enum attn_status attn_beside_words(struct attn_tokenizer *tokenizer,
                                   struct attn_word_normalizer *normalizer, struct attn_error *err);
enum attn_status attn_beside_finish(struct attn_tokenizer *tokenizer, bool has_post,
                                    const struct attn_token_role *roles, struct attn_error *err);

/* Sets the mask token, if the files of SOURCE name one that is in the vocabulary, which must be
 * complete. Called for encoders only. */
enum attn_status attn_tokenizer_read_mask(struct attn_tokenizer *tokenizer,
                                          const struct attn_source *source, struct attn_error *err);

/* The parts of tokenizer.json other than the model. */
enum attn_tokenizer_role {
    ATTN_ROLE_NORMALIZER,     /* adds stages */
    ATTN_ROLE_PRE_TOKENIZER,  /* adds stages, and sets whether the model reads bytes */
    ATTN_ROLE_DECODER,        /* adds steps */
    ATTN_ROLE_POST_PROCESSOR, /* fills `post` */
};
enum { ATTN_TOKENIZER_N_ROLE = ATTN_ROLE_POST_PROCESSOR + 1 };

/* Reads a part from TEXT [size], its value in the file. TEXT is NULL if the part is missing. */
enum attn_status attn_tokenizer_read_part(struct attn_tokenizer *tokenizer,
                                          enum attn_tokenizer_role role, const char *text,
                                          size_t size, struct attn_error *err);

/* Marks the added tokens. The vocabulary must be complete. */
enum attn_status attn_tokenizer_mark(struct attn_tokenizer *tokenizer, struct attn_error *err);

/* Adds a struct attn_unread to TOKENIZER. PATH is that of the vocabulary. */
enum attn_status attn_tokenizer_add_unread(struct attn_tokenizer *tokenizer, const char *path,
                                           struct attn_error *err);

/* Returns the name of KIND as in `type`: "word". */
const char *attn_tokenizer_kind_name(enum attn_tokenizer_kind kind);

/* --- Tokens ----------------------------------------------------------------------------------- */

/* Prepares DECODED, which belongs to TOKENIZER. The vocabulary, added tokens and decoder must be
 * complete. */
enum attn_status attn_decoded_prepare(struct attn_decoded *decoded,
                                      const struct attn_tokenizer *tokenizer,
                                      struct attn_error *err);
void attn_decoded_release(struct attn_decoded *decoded);

/* Returns the bytes of token ID, which must be in the vocabulary. Borrowed. May be called from any
 * thread. */
const char *attn_decoded_find(const struct attn_tokenizer *tokenizer, int32_t id, size_t *size);

/* Whether ID is the token that encoding uses for unknown text: [UNK]. */
bool attn_tokenizer_is_unknown(const struct attn_tokenizer *tokenizer, int32_t id);

/* Returns the key of token ID as in the files, or NULL. Borrowed. */
const char *attn_tokenizer_key(const struct attn_tokenizer *tokenizer, int32_t id, size_t *size);

/* Notes that the text of ENCODING begins or ends with a token that the tokenizer added, too, and
 * that at least half of its tokens are unknown. */
void attn_encoding_note(const struct attn_encoding *encoding,
                        const struct attn_tokenizer *tokenizer, struct attn_notes notes);

/* Allocates memory for NEED tokens in total. On failure the encoding is unchanged. */
enum attn_status attn_encoding_reserve(struct attn_encoding *encoding, size_t need,
                                       struct attn_error *err);

/* Appends token ID, which has the bytes BEGIN to END-1 of the text. */
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

/* Returns the tokenizer for target texts, borrowed from TOKENIZER: for Marian that of target.spm,
 * else TOKENIZER itself. */
const struct attn_tokenizer *attn_tokenizer_target(const struct attn_tokenizer *tokenizer);
