/* stages_internal.h - the stages of tokenizers. */
#pragma once

#include "base/buffer.h"
#include "tokenizer/pipeline.h"
#include "tokenizer/regex.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/unicode/unicode_internal.h"

#include <stdbool.h>
#include <stddef.h>

/* --- Stages that change a text ---------------------------------------------------------------- */

/* Each of these makes a layer over its slice, or passes the slice on if nothing changes. A stage
 * without data is a struct attn_text_stage_kind; for others, a function adds them. */

/* Replaces each maximal subpart of malformed UTF-8 by U+FFFD. No data. */
extern const struct attn_text_stage_kind attn_change_invalid;

/* Convert to Unicode's normal forms. No data. */
extern const struct attn_text_stage_kind attn_change_nfc, attn_change_nfd, attn_change_nfkc,
    attn_change_nfkd;

/* Lowercases each character separately, also a final sigma. No data. */
extern const struct attn_text_stage_kind attn_change_lowercase;

/* Replaces each byte by its character in GPT-2's alphabet. No data. */
extern const struct attn_text_stage_kind attn_change_alphabet;

/* Adds a stage that removes white space at the beginning (IS_LEFT), the end (IS_RIGHT), or both. */
enum attn_status attn_change_add_strip(struct attn_pipeline *pipeline, bool is_left, bool is_right,
                                       struct attn_error *err);

/* Adds a stage that replaces each PATTERN, which is not empty, by CONTENT, from left to right. */
enum attn_status attn_change_add_replace(struct attn_pipeline *pipeline, const char *pattern,
                                         const char *content, struct attn_error *err);

/* Adds a stage that replaces each match of the regular expression PATTERN, which the stage owns,
 * also after a failure. */
enum attn_status attn_change_add_replace_matches(struct attn_pipeline *pipeline,
                                                 struct attn_regex *pattern, const char *content,
                                                 struct attn_error *err);

/* When text is inserted in front of a slice. ATTN_PREFIX_OF_WORD is for slices that are words
 * between white space: if the text continues another, only its first word gets no prefix. */
enum attn_prefix {
    ATTN_PREFIX_ALWAYS,
    ATTN_PREFIX_UNLESS_THERE,     /* unless the slice begins with the text */
    ATTN_PREFIX_AT_START_OF_TEXT, /* the same, and only at the beginning of the whole text */
    ATTN_PREFIX_OF_WORD,          /* unless the slice begins with the text */
};

/* Adds a stage that inserts TEXT in front of slices. Does nothing if the whole text continues
 * another, except as described above. The inserted text corresponds to the first character of the
 * slice. */
enum attn_status attn_change_add_prefix(struct attn_pipeline *pipeline, const char *text,
                                        enum attn_prefix when, struct attn_error *err);

/* --- BERT ------------------------------------------------------------------------------------- */

/* The steps of BERT's normalizer to apply. */
struct attn_word_normalizer {
    bool cleans;     /* drops control characters, and replaces white space by spaces */
    bool sets_apart; /* inserts spaces around ideographs */
    bool strips_accents;
    bool lowers;
};

/* Adds the stages of the normalizer, in its order. */
enum attn_status attn_change_add_words(struct attn_pipeline *pipeline,
                                       const struct attn_word_normalizer *normalizer,
                                       struct attn_error *err);

/* Drops marks of all kinds. */
extern const struct attn_text_stage_kind attn_change_strip_marks;

/* The two steps of the normalizer Nmt: drops control characters, replaces white space by spaces. */
extern const struct attn_text_stage_kind attn_change_nmt_clean, attn_change_nmt_blank;

/* --- Charsmaps -------------------------------------------------------------------------------- */

/* As in the library tokenizers (`Precompiled`). A charsmap maps characters to replacements; it is a
 * trie and the strings that it leads to. The text is processed in grapheme clusters. A cluster of
 * less than 6 bytes that begins with a prefix in the trie is replaced as a whole by the replacement
 * of its shortest such prefix, so that marks after it are lost; in other clusters each character is
 * replaced. SentencePiece itself replaces the longest prefix and continues after it. */

/* The rule of the normalizer in a SentencePiece model file: the longest prefix in the charsmap is
 * replaced, and the text continues after it. */
struct attn_sentence_rule {
    const struct attn_vocabulary *users; /* borrows; tokens that are not changed; or NULL */
    size_t n_longest;  /* bytes of the longest of these tokens; 0: there are none */
    const char *space; /* borrows; the replacement of a space: U+2581 */
    bool has_prefix;   /* a space is inserted in front, unless the text continues another */
    bool drops_spaces; /* spaces are dropped at both ends, and after another space */
};

/* Adds a stage for the charsmap in TEXT [size], which is base64: the size of the trie (u32), the
 * trie, and strings that end with NUL. With a RULE, adds SentencePiece's normalizer instead; its
 * charsmap is bytes, and is missing if SIZE is 0. Returns ATTN_FORMAT, naming NAME, for malformed
 * base64, wrong sizes, a trie with offsets out of range, and strings that are not UTF-8. */
enum attn_status attn_charsmap_add(struct attn_pipeline *pipeline,
                                   const struct attn_sentence_rule *rule, const char *text,
                                   size_t size, const char *name, struct attn_error *err);

/* --- Texts that are rewritten character by character ------------------------------------------ */

/* The library does not record which character a new character came from. Each has a `change`
 * instead: the number of characters that it adds (1: it was inserted) or removes (-n: n characters
 * after it were deleted). Mapping back counts these, and so gives the same result as the library
 * even where that is wrong, for example if marks have changed places. */

/* The state of mapping back. Set the first four fields. `before` is where the character before `at`
 * begins. */
struct attn_rewrite {
    struct attn_layer *layer;
    const char *text; /* [size] the slice that the layer is made from */
    size_t size, at, before;
};

/* Appends CODE_POINT to the layer. */
void attn_rewrite_put(struct attn_rewrite *rewrite, uint32_t code_point, int change);

/* The scratch of a stage that changes text where a pattern matches. */
struct attn_match_scratch {
    struct attn_layer layer;
    struct attn_match *match;
};

/* The first allocates the scratch for PATTERN and texts of N bytes, the second frees it. The third
 * starts a walk over SLICE; it returns false if the slice is not UTF-8, which is then passed on
 * unchanged. */
enum attn_status attn_match_scratch_create(const struct attn_regex *pattern, size_t n, void **out,
                                           struct attn_error *err);
void attn_match_scratch_free(void *data);
bool attn_match_scratch_begin(struct attn_match_scratch *scratch, const struct attn_walk *walk,
                              struct attn_slice slice);

/* --- Splits ----------------------------------------------------------------------------------- */

/* What becomes of the matches of a split. MERGED_WITH_PREVIOUS: a match ends the piece before it;
 * if it follows another match, it is a piece. MERGED_WITH_NEXT is the reverse. */
enum attn_split_behavior {
    ATTN_SPLIT_REMOVED,    /* text is a piece, and matches are dropped */
    ATTN_SPLIT_ISOLATED,   /* each is a piece */
    ATTN_SPLIT_CONTIGUOUS, /* matches side by side are one piece */
    ATTN_SPLIT_MERGED_WITH_PREVIOUS,
    ATTN_SPLIT_MERGED_WITH_NEXT
};

struct attn_split {
    enum attn_split_behavior behavior;
    enum attn_character_class character_class; /* without a pattern: each character is a match */
    struct attn_regex *pattern;                /* owns; or NULL */
    bool is_inverted;                          /* the text between matches matches instead */
};

/* Adds a stage for SPLIT, which owns its pattern, also after a failure. With a pattern, malformed
 * bytes become separate pieces, which go to the model. */
enum attn_status attn_split_add(struct attn_pipeline *pipeline, struct attn_split split,
                                struct attn_error *err);

/* Adds the stages of BERT: words between white space, and each punctuation character alone. */
enum attn_status attn_split_add_words(struct attn_pipeline *pipeline, struct attn_error *err);

/* Splits where the script changes. No data. */
extern const struct attn_text_stage_kind attn_split_scripts;

/* Whether the last stage of PIPELINE splits at white space. */
bool attn_split_is_by_space(const struct attn_pipeline *pipeline);

/* --- Decoding --------------------------------------------------------------------------------- */

/*
 * A decoder is a list of steps, each of which changes a list of strings. At the end the strings are
 * joined.
 *
 *     attn_decode_add(&decoder, (struct attn_decode_step){attn_decode_join}, NULL, NULL, &err);
 *     attn_strings_append(&strings, token, size);  // for each id
 *     attn_decode_run(&decoder, &strings, &err);
 */

/* A list of strings. Initialize with = {0}; end with attn_strings_release. */
struct attn_strings {
    struct attn_buffer bytes;
    size_t *ends; /* owns; [n] the end of each string in `bytes` */
    size_t n, capacity;
    size_t n_left;    /* bytes that steps may still insert */
    bool has_failed;  /* an allocation failed */
    bool is_too_long; /* the limit was exceeded */
};

void attn_strings_append(struct attn_strings *strings, const char *text, size_t size);
void attn_strings_release(struct attn_strings *strings);

/* Returns ATTN_OK, or the first failure of an append or a step. */
enum attn_status attn_strings_check(const struct attn_strings *strings, struct attn_error *err);

struct attn_decode_step;

/* Applies the step to IN and appends the result to OUT, which is empty. */
typedef void (*attn_decode_fn)(const struct attn_decode_step *step, const struct attn_strings *in,
                               struct attn_strings *out);

struct attn_decode_step {
    attn_decode_fn run;
    char *a; /* owns; [n_a], or NULL: the text to search */
    size_t n_a;
    char *b; /* owns; [n_b], or NULL: the replacement */
    size_t n_b;
    size_t start, stop; /* maximum numbers of changes at the beginning and at the end */
};

enum { ATTN_DECODE_MAX = 32 }; /* steps; published tokenizers have at most four */

/* Initialize with = {0}: strings are joined unchanged. End with attn_decode_release. */
struct attn_decode_steps {
    struct attn_decode_step steps[ATTN_DECODE_MAX];
    size_t n;
};

/* Appends STEP with copies of A [step.n_a] and B [step.n_b], which may be NULL. */
enum attn_status attn_decode_add(struct attn_decode_steps *decoder, struct attn_decode_step step,
                                 const char *a, const char *b, struct attn_error *err);
void attn_decode_release(struct attn_decode_steps *decoder);

/* Applies STEP to STRINGS. Inserted bytes are limited to `n_left`, and subtracted from it. SPARE is
 * scratch, = {0} at first, which the caller releases. */
void attn_decode_run_step(const struct attn_decode_step *step, struct attn_strings *strings,
                          struct attn_strings *spare);

/* Applies all steps to STRINGS. The limit for inserted bytes is that of a stage (pipeline.h). */
enum attn_status attn_decode_run(const struct attn_decode_steps *decoder,
                                 struct attn_strings *strings, struct attn_error *err);

/* --- The steps -------------------------------------------------------------------------------- */

/* Replaces each text STEP->a in a string by STEP->b. If STEP->start is not 0, drops it instead in
 * the first string; if STEP->stop is not 0, in the last one. */
void attn_decode_replace(const struct attn_decode_step *step, const struct attn_strings *in,
                         struct attn_strings *out);
/* Replaces runs of <0xHH> by the characters of these bytes, or if they are not UTF-8, by one U+FFFD
 * per byte. */
void attn_decode_byte_fallback(const struct attn_decode_step *step, const struct attn_strings *in,
                               struct attn_strings *out);
/* Removes A at most START times from the beginning of each string, and STOP times from its end. */
void attn_decode_strip(const struct attn_decode_step *step, const struct attn_strings *in,
                       struct attn_strings *out);
/* Joins all strings and decodes GPT-2's alphabet to bytes. Malformed UTF-8 becomes U+FFFD. */
void attn_decode_byte_level(const struct attn_decode_step *step, const struct attn_strings *in,
                            struct attn_strings *out);
/* Inserts a space before each string except the first, unless it begins with A, which is dropped.
 * If START is not 0, also removes from each string the spaces before . ? ! , n't 'm 's 've 're, and
 * on both sides of '. */
void attn_decode_wordpiece(const struct attn_decode_step *step, const struct attn_strings *in,
                           struct attn_strings *out);
/* Drops strings that equal the one before. */
void attn_decode_distinct(const struct attn_decode_step *step, const struct attn_strings *in,
                          struct attn_strings *out);
/* Joins all strings; malformed UTF-8 in the result becomes U+FFFD. */
void attn_decode_valid(const struct attn_decode_step *step, const struct attn_strings *in,
                       struct attn_strings *out);
/* Joins all strings into one, with A between them unless it is NULL. */
void attn_decode_join(const struct attn_decode_step *step, const struct attn_strings *in,
                      struct attn_strings *out);

/* Joins all strings into one, as Marian does. A is a list of special tokens, each followed by a
 * NUL; they separate the text into runs. At most START spaces are removed at the beginning of a
 * run, a space is inserted after each special token, and spaces at both ends of the text are
 * removed. */
void attn_decode_runs(const struct attn_decode_step *step, const struct attn_strings *in,
                      struct attn_strings *out);

/* Returns the byte that TEXT names in the form "<0x0A>", or -1. */
int attn_decode_named_byte(const char *text, size_t size);

/* --- Special tokens --------------------------------------------------------------------------- */

/* The last step over the tokens of a text: adds special tokens around them and between two texts,
 * sets the type of each token, and trims white space from byte ranges. */

/* An item of a template: an added token, or the tokens of a text. */
enum { ATTN_TEMPLATE_TEXT = -1, ATTN_TEMPLATE_PAIR = -2 };

struct attn_template_item {
    int32_t id;   /* id of an added token, or one of the constants above */
    uint8_t type; /* type of the tokens */
};

enum { ATTN_TEMPLATE_MAX = 66 }; /* items; published tokenizers have at most seven */

struct attn_template {
    struct attn_template_item items[ATTN_TEMPLATE_MAX];
    size_t n; /* 0: the tokens of the text, or of both texts with the types 0 and 1 */
};

/* Initialize with = {0}: no tokens are added, and pairs are not supported. */
struct attn_post_process {
    struct attn_template single, pair;
    bool takes_pair;
    bool trims;      /* trims white space from the ranges of the text's tokens */
    bool has_prefix; /* a space was inserted in front of the text, which cannot be trimmed */
};

/* Appends ITEM. Returns ATTN_UNSUPPORTED if there are too many items. */
enum attn_status attn_template_append(struct attn_template *to, struct attn_template_item item,
                                      struct attn_error *err);

/* Replaces the template for one text by OUTER, in which the old template takes the place of the
 * text. */
enum attn_status attn_post_process_wrap(struct attn_post_process *post,
                                        const struct attn_template *outer, struct attn_error *err);

/* Adds the templates for one text, as attn_post_process_wrap does, and for two texts. If a template
 * was added before, pairs are not supported. */
enum attn_status attn_post_process_take(struct attn_post_process *post,
                                        const struct attn_template *single,
                                        const struct attn_template *pair, struct attn_error *err);

/* Adds CLS before and SEP after a text, and both between two texts as in BERT or, if IS_TWICE, in
 * RoBERTa. */
enum attn_status attn_post_process_set_ends(struct attn_post_process *post, int32_t cls,
                                            int32_t sep, bool is_twice, struct attn_error *err);

/* Returns the template for one text, or for two if IS_PAIR. */
const struct attn_template *attn_post_process_template(const struct attn_post_process *post,
                                                       bool is_pair);

/* Trims the range of each token of TEXT, in ENCODING from FIRST on, by the number of white space
 * characters at both ends of its key, in GPT-2's alphabet or in the text. An added token that
 * strips white space keeps it. */
void attn_post_process_trim(const struct attn_post_process *post,
                            const struct attn_tokenizer *tokenizer, const char *text, size_t first,
                            struct attn_encoding *encoding);
