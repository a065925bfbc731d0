/*
 * tokenizer_class.h - the classes of tokenizers in transformers. The class is known before a
 * vocabulary is opened: `tokenizer_class` of tokenizer_config.json or config.json, else the default
 * class of the model type. It specifies which files are read, how a text is split, and which tokens
 * stand around a text or a pair.
 *
 * One table has all classes. A class without a row is refused, because its tokens would be wrong.
 */
#pragma once

#include "base/source.h"
#include "base/status.h"
#include "formats/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct attn_class;
struct attn_tokenizer;

/* The files of a class, and how they are read. */
enum attn_class_form {
    ATTN_CLASS_BYTES,   /* vocab.json and merges.txt: byte-level BPE */
    ATTN_CLASS_WORDS,   /* vocab.txt: WordPiece */
    ATTN_CLASS_LETTERS, /* vocab.txt: the letters of proteins */
    ATTN_CLASS_PIECES,  /* a model of SentencePiece, of type unigram */
    ATTN_CLASS_MERGES,  /* a model of SentencePiece, of type BPE */
    ATTN_CLASS_MARIAN,  /* source.spm, target.spm and vocab.json */
    ATTN_CLASS_REFUSED, /* no rule; transformers can convert its files to tokenizer.json */
    ATTN_CLASS_SLOW     /* no rule, and no form that tokenizer.json can express */
};

enum attn_class_trait {
    ATTN_CLASS_NFC = 1,           /* texts are converted to normal form C */
    ATTN_CLASS_DIGITS = 2,        /* each digit is a piece */
    ATTN_CLASS_SUFFIX = 4,        /* lower case, single spaces, matches alone, and a suffix */
    ATTN_CLASS_PREFIXED = 8,      /* `add_prefix_space` is true by default */
    ATTN_CLASS_TRIMS = 16,        /* ranges exclude white space */
    ATTN_CLASS_WIDE_MASK = 32,    /* a mask token that is a string includes the space to its left */
    ATTN_CLASS_OWN_SPACE = 64,    /* `add_prefix_space` takes precedence over tokenizer.json */
    ATTN_CLASS_PIECE_ROLES = 128, /* tokens with roles are pieces; no key changes spaces */
    ATTN_CLASS_BY_WORDS = 4096,   /* pieces are chosen as those of tokenizer.json, word by word */
    ATTN_CLASS_BASIC = 2048,      /* ideographs are apart unless `do_basic_tokenize` is false */
    /* Beside tokenizer.json: */
    ATTN_CLASS_BARE = 256,       /* its tokens of texts are left out */
    ATTN_CLASS_BEGINS = 512,     /* transformers 4 takes `add_bos_token` (true), `add_eos_token` */
    ATTN_CLASS_FILE_ENDS = 1024, /* its tokens of texts are kept */
    ATTN_CLASS_FILE_MASK = 8192  /* the flags of its mask token are kept */
};

/* The roles of tokens, in the order in which transformers adds them. */
enum {
    BOS_ROLE,
    EOS_ROLE,
    UNK_ROLE,
    SEP_ROLE,
    PAD_ROLE,
    CLS_ROLE,
    MASK_ROLE,
    QUESTION_ROLE,
    ATTN_CLASS_N_ROLE
};

/* A role of a token, such as the mask token. */
struct attn_token_role {
    /* Its key in tokenizer_config.json and special_tokens_map.json: "mask_token". */
    const char *key;
    const char *token; /* the default token if no file names one: "[MASK]"; or NULL */
    bool is_needed;    /* the vocabulary must have it, and null in a file is ignored */
    bool is_wide;      /* as a string without flags, it includes the white space to its left */
    int32_t id;        /* result; -1: there is no such token; -2: null in a file */
};

/* One row: classes that read the same files by the same rules. */
struct attn_class_row {
    const char *names; /* separated by spaces, without "Tokenizer" */
    enum attn_class_form form;
    const char *tokens[ATTN_CLASS_N_ROLE]; /* default of each role; NULL: the role has none */
    /* The tokens around a text A and a pair A, B, separated by spaces: a role ("cls"), a key
     * ("lang"), or a token of the vocabulary. ":1" sets the type; "bos?" is added if
     * `add_bos_token` is set, "bos!" unless it is false; "bos~" as "bos?", with a note. PAIR is
     * NULL if pairs are refused. */
    const char *single, *pair;
    const char *types; /* model types with this class by default, separated by spaces */
    /* A model of SentencePiece: its file, the tokens before its pieces from N_SKIP on, which take
     * the place of those before, and the tokens after them. Without FRONT, pieces have their
     * numbers. */
    const char *file, *front, *back;
    int n_skip;
    const char *language; /* default of `src_lang`, the token "lang"; NULL: it is Whisper's */
    const char *split;    /* the pattern that splits texts, for bytes; NULL: GPT-2's */
    unsigned traits;      /* enum attn_class_trait */
};

/* What reads vocabularies other than tokenizer.json and vocab.json. */
struct attn_vocabulary_reader {
    const struct attn_class_row *classes; /* [n_class]: further classes of tokenizers */
    size_t n_class;
    /* Returns the row by which the files of SOURCE are read if no file names a class; NULL:
     * vocab.json of any kind. */
    const struct attn_class_row *(*guess)(const struct attn_source *source);
    /* Reads TOKENIZER from the files of SOURCE by ROW, whose form is not ATTN_CLASS_BYTES. */
    enum attn_status (*read)(struct attn_tokenizer *tokenizer, const struct attn_source *source,
                             const struct attn_class *found, const struct attn_class_row *row,
                             struct attn_error *err);
    /* Sets *lowers if the files of SOURCE want each text in lower case. */
    enum attn_status (*read_lowers)(const struct attn_source *source, bool *lowers,
                                    struct attn_error *err);
};

extern const struct attn_vocabulary_reader *const attn_vocabularies; /* NULL: none. lib/parts.c */

/* The class of a tokenizer. Initialize with = {0}; end with attn_class_release. */
struct attn_class {
    const struct attn_class_row *row; /* NULL: the files decide how they are read */
    struct attn_json *config;         /* owns; tokenizer_config.json, or NULL */
    struct attn_json *model;          /* owns; config.json, or NULL */
    const struct attn_json *file;     /* borrows; the file that has NAME */
    const char *key, *name; /* borrows; the key and value that decide the class, or NULL */
    bool is_class;          /* NAME is a class, not a model type */
};

/* Finds the class of SOURCE. A row is set only if the class is known. */
enum attn_status attn_class_find(struct attn_class *found, const struct attn_source *source,
                                 struct attn_error *err);
void attn_class_release(struct attn_class *found);

/* Refuses a class that has no rule, and code of its own. The hint depends on the files of SOURCE:
 * transformers makes tokenizer.json of those of the class, and an empty one without them. */
enum attn_status attn_class_check(const struct attn_class *found, const struct attn_source *source,
                                  struct attn_error *err);

/* Sets *LOWERS to the default of `do_lower_case` for vocab.txt. Only BERT's classes have a rule
 * that lowers, and a class without a row, such as PreTrainedTokenizerFast, has that of the model's
 * type.
 */
enum attn_status attn_class_get_lowers(const struct attn_class *found, bool *lowers,
                                       struct attn_error *err);

/* Returns the row of the class NAME, such as "Bert", which must exist; NULL: that of vocabularies
 * without a class. */
const struct attn_class_row *attn_class_row(const char *name);

/* Whether tokenizer_config.json names code for the tokenizer. */
bool attn_class_has_code(const struct attn_class *found);

/* Whether transformers makes the tokenizer anew, for `tokenizer_file` is null, and its mask token
 * does not take the space to its left then. */
bool attn_class_is_made_anew(const struct attn_class *found);

/* Whether tokenizer_config.json has KEY, and it is not null. */
bool attn_class_has(const struct attn_class *found, const char *key);

/* Gets KEY of tokenizer_config.json, if it is there. */
enum attn_status attn_class_get_bool(const struct attn_class *found, const char *key, bool *value,
                                     struct attn_error *err);

/* Fills ROLES with the roles of ROW. Those around each text are needed. */
void attn_class_get_roles(const struct attn_class_row *row,
                          struct attn_token_role roles[ATTN_CLASS_N_ROLE]);

/* Sets the tokens around texts of TOKENIZER, whose vocabulary is complete, by ROW and the keys of
 * FOUND. ROLES have their ids. */
enum attn_status attn_class_add_ends(const struct attn_class *found,
                                     const struct attn_class_row *row,
                                     const struct attn_token_role roles[ATTN_CLASS_N_ROLE],
                                     struct attn_tokenizer *tokenizer, struct attn_error *err);
