/* stages_internal.h - the stages of tokenizers, for the files of this room. */
#ifndef ATTN_TOKENIZER_STAGES_STAGES_INTERNAL_H
#define ATTN_TOKENIZER_STAGES_STAGES_INTERNAL_H

#include "base/buffer.h"
#include "tokenizer/pipeline.h"
#include "tokenizer/regex.h"
#include "tokenizer/tokenizer.h"

#include <stdbool.h>
#include <stddef.h>

/* --- Stages that change a text ---------------------------------------------------------------- */

/* Each makes a layer over its slice, or passes the slice on if it has nothing to change. A stage
 * without data is a kind; other stages have a function that adds them. */

/* U+FFFD for each maximal subpart of malformed UTF-8. No data. */
extern const struct attn_text_stage_kind attn_change_invalid;

/* Unicode's normal forms. No data. */
extern const struct attn_text_stage_kind attn_change_nfc, attn_change_nfd, attn_change_nfkc,
    attn_change_nfkd;

/* The lower case of each character by itself, also of a final sigma. No data. */
extern const struct attn_text_stage_kind attn_change_lowercase;

/* Every byte becomes the character of GPT-2's alphabet that stands for it. No data. */
extern const struct attn_text_stage_kind attn_change_alphabet;

/* White space goes from the begin, the end, or both. */
enum attn_status attn_change_add_strip(struct attn_pipeline *pipeline, bool is_left, bool is_right,
                                       struct attn_error *err);

/* Each PATTERN, which is not empty, becomes CONTENT, from left to right. */
enum attn_status attn_change_add_replace(struct attn_pipeline *pipeline, const char *pattern,
                                         const char *content, struct attn_error *err);

/* The same for each match of PATTERN, which the stage owns, also after a failure. */
enum attn_status attn_change_add_replace_matches(struct attn_pipeline *pipeline,
                                                 struct attn_regex *pattern, const char *content,
                                                 struct attn_error *err);

/* When text is put in front of a slice. The last is for slices that are words between white space:
 * if a text continues another, only its first word gets none. */
enum attn_prefix {
    ATTN_PREFIX_ALWAYS,
    ATTN_PREFIX_UNLESS_THERE,     /* unless the slice begins with the text */
    ATTN_PREFIX_AT_START_OF_TEXT, /* the same, and only where the whole text begins */
    ATTN_PREFIX_OF_WORD,          /* unless the slice begins with the text */
};

/* Puts TEXT in front, unless the whole text continues another, but see above. Like the first
 * character of the slice, it stands for that character. */
enum attn_status attn_change_add_prefix(struct attn_pipeline *pipeline, const char *text,
                                        enum attn_prefix when, struct attn_error *err);

/* --- BERT ------------------------------------------------------------------------------------- */

/* Which steps are taken. */
struct attn_bert_normalizer {
    bool cleans;     /* controls are left out, white space becomes spaces */
    bool sets_apart; /* spaces around ideographs */
    bool strips_accents;
    bool lowers;
};

/* Adds the stages of the normalizer, in its order. */
enum attn_status attn_bert_add_normalizer(struct attn_pipeline *pipeline,
                                          const struct attn_bert_normalizer *normalizer,
                                          struct attn_error *err);

/* Controls are left out. */
extern const struct attn_text_stage_kind attn_bert_clean;

/* Each white space becomes a space. */
extern const struct attn_text_stage_kind attn_bert_blank;

/* A space is put on each side of ideographs. */
extern const struct attn_text_stage_kind attn_bert_set_apart;

/* Accents are left out: after the normal form D that leaves letters without them. */
extern const struct attn_text_stage_kind attn_bert_strip_accents;

/* Marks of all kinds are left out. */
extern const struct attn_text_stage_kind attn_bert_strip_marks;

/* --- Charsmaps -------------------------------------------------------------------------------- */

/* As in the library tokenizers (`Precompiled`). A charsmap maps characters to replacements: a trie,
 * and the strings that it leads to. The text is processed in grapheme clusters. A cluster of less
 * than 6 bytes that begins with a prefix in the trie is replaced whole by the replacement of its
 * shortest such prefix, so marks after it are lost; in other clusters each character is replaced.
 * SentencePiece itself takes the longest prefix and continues after it. */

/* The normalizer of a model file of SentencePiece: the longest prefix in the charsmap is replaced,
 * and the text goes on after it. */
struct attn_sentence_rule {
    const struct attn_vocabulary *users; /* borrows; tokens that stay as they are; or NULL */
    size_t n_longest;                    /* bytes of the longest of them; 0: none */
    const char *space;                   /* borrows; what a space becomes: U+2581 */
    bool has_prefix;                     /* a space goes in front, unless a text continues */
    bool drops_spaces;                   /* at both ends, and after another space */
};

/* Adds a stage of the charsmap in TEXT [size], base64: the bytes of the trie (u32), the trie, and
 * strings that end with NUL; or with a RULE that normalizer, whose charsmap is bytes, or none where
 * SIZE is 0. ATTN_FORMAT, naming NAME, for malformed base64, wrong sizes, a trie with offsets out
 * of range, and strings that are not UTF-8. */
enum attn_status attn_charsmap_add(struct attn_pipeline *pipeline,
                                   const struct attn_sentence_rule *rule, const char *text,
                                   size_t size, const char *name, struct attn_error *err);

/* --- Texts that are rewritten character by character ------------------------------------------ */

/* The library does not record the origin of a new character. Each carries `change`: the number of
 * characters that it adds (1: inserted) or removes (-n: n after it were deleted). The way back
 * counts along, so it is the same even where that is wrong, as when marks have changed places. */

/* The state of the way back. Set the first four; `before` begins the character before `at`. */
struct attn_rewrite {
    struct attn_layer *layer;
    const char *text; /* [size] of the slice that the layer is made of */
    size_t size, at, before;
};

/* Appends CODE_POINT to the layer. */
void attn_rewrite_put(struct attn_rewrite *rewrite, uint32_t code_point, int change);

/* The scratch of a stage that changes a text where a pattern matches. */
struct attn_match_scratch {
    struct attn_layer layer;
    struct attn_match *match;
};

/* Makes the scratch of PATTERN for texts of N bytes; the function that frees it; and the begin of a
 * walk over SLICE, which returns false if the slice is not UTF-8 and so passed on as it is. */
enum attn_status attn_match_scratch_create(const struct attn_regex *pattern, size_t n, void **out,
                                           struct attn_error *err);
void attn_match_scratch_free(void *data);
bool attn_match_scratch_begin(struct attn_match_scratch *scratch, const struct attn_walk *walk,
                              struct attn_slice slice);

/* --- Splits ----------------------------------------------------------------------------------- */

/* Each match is a piece, and so is the text between two matches (Isolated). The data is a struct
 * attn_regex, which the stage owns. Malformed bytes are separate pieces, which go to the model. */
extern const struct attn_text_stage_kind attn_split_isolated;

/* A match ends the piece before it, and after another match is a piece (MergedWithPrevious). */
extern const struct attn_text_stage_kind attn_split_after;

/* The same from right to left: a match begins the piece after it (MergedWithNext). */
extern const struct attn_text_stage_kind attn_split_before;

/* The text between two matches is a piece; the matches are left out (Removed). */
extern const struct attn_text_stage_kind attn_split_removed;

/* Each match is a piece; the text between two matches is left out (Removed, inverted). */
extern const struct attn_text_stage_kind attn_split_matches;

/* The text between white space is a piece. No data. */
extern const struct attn_text_stage_kind attn_split_white_space;

/* The same, and each punctuation character is one by itself, as BERT has it. No
 * data. */
extern const struct attn_text_stage_kind attn_split_bert;
extern const struct attn_text_stage_kind attn_split_letters;

/* --- Decoding --------------------------------------------------------------------------------- */

/*
 * A list of steps, each of which changes a list of strings. At the end the strings are joined.
 *
 *     attn_decode_add(&decoder, (struct attn_decode_step){attn_decode_join}, NULL, NULL, &err);
 *     attn_strings_append(&strings, token, size);    // of each id
 *     attn_decode_run(&decoder, &strings, &err);
 */

/* Strings one after another. Initialize with = {0}; end with attn_strings_release. */
struct attn_strings {
    struct attn_buffer bytes;
    size_t *ends; /* owns; [n] where in `bytes` each one ends */
    size_t n, capacity;
    size_t n_left;    /* bytes that a step may still put here where it replaces something */
    bool has_failed;  /* an allocation failed */
    bool is_too_long; /* there were no bytes left */
};

void attn_strings_append(struct attn_strings *strings, const char *text, size_t size);
void attn_strings_release(struct attn_strings *strings);

/* ATTN_OK, or the first failure of an append or a step. */
enum attn_status attn_strings_check(const struct attn_strings *strings, struct attn_error *err);

struct attn_decode_step;

/* Appends the result of the step for IN to OUT, which is empty. */
typedef void (*attn_decode_fn)(const struct attn_decode_step *step, const struct attn_strings *in,
                               struct attn_strings *out);

struct attn_decode_step {
    attn_decode_fn run;
    char *a; /* owns; [n_a], or NULL: the text to search */
    size_t n_a;
    char *b; /* owns; [n_b], or NULL: the replacement */
    size_t n_b;
    size_t start, stop; /* at most so many at the ends */
};

enum { ATTN_DECODE_MAX = 32 }; /* steps; published tokenizers have at most four */

/* Initialize with = {0}: strings are joined as they are. End with attn_decode_release. */
struct attn_decode_steps {
    struct attn_decode_step steps[ATTN_DECODE_MAX];
    size_t n;
};

/* Appends STEP with copies of A [step.n_a] and B [step.n_b], which may be NULL. */
enum attn_status attn_decode_add(struct attn_decode_steps *decoder, struct attn_decode_step step,
                                 const char *a, const char *b, struct attn_error *err);
void attn_decode_release(struct attn_decode_steps *decoder);

/* Applies STEP to STRINGS; what it puts in is at most `n_left` bytes, and is taken from that. */
void attn_decode_run_step(const struct attn_decode_step *step, struct attn_strings *strings);

/* Runs all steps over STRINGS; each may put in as much as a stage (pipeline.h). */
enum attn_status attn_decode_run(const struct attn_decode_steps *decoder,
                                 struct attn_strings *strings, struct attn_error *err);

/* --- The steps -------------------------------------------------------------------------------- */

/* Each A becomes B; in the first string it is left out, unless START is 0. */
void attn_decode_replace(const struct attn_decode_step *step, const struct attn_strings *in,
                         struct attn_strings *out);
/* Neighbours <0xHH> become the characters of these bytes; if they are not UTF-8, U+FFFD each. */
void attn_decode_byte_fallback(const struct attn_decode_step *step, const struct attn_strings *in,
                               struct attn_strings *out);
/* At most START times A goes from the begin of each string, at most STOP times from its end. */
void attn_decode_strip(const struct attn_decode_step *step, const struct attn_strings *in,
                       struct attn_strings *out);
/* GPT-2's alphabet becomes bytes, all in one string; malformed UTF-8 in it becomes U+FFFD. */
void attn_decode_byte_level(const struct attn_decode_step *step, const struct attn_strings *in,
                            struct attn_strings *out);
/* Puts a space before each string but the first, unless it begins with A, which is dropped. If
 * START is not 0, each string then loses the space before . ? ! , n't 'm 's 've 're, and both
 * beside '. */
void attn_decode_wordpiece(const struct attn_decode_step *step, const struct attn_strings *in,
                           struct attn_strings *out);
/* Joins all strings; malformed UTF-8 in the result becomes U+FFFD. */
void attn_decode_valid(const struct attn_decode_step *step, const struct attn_strings *in,
                       struct attn_strings *out);
/* One string of all, with A, if there is one, between. */
void attn_decode_join(const struct attn_decode_step *step, const struct attn_strings *in,
                      struct attn_strings *out);

/* One string, as Marian joins them: A is a list of special tokens, each with a NUL after it, around
 * which the text is in runs. A run loses at most START spaces at its begin; a special token gets
 * one after it; the text loses those at both ends. */
void attn_decode_runs(const struct attn_decode_step *step, const struct attn_strings *in,
                      struct attn_strings *out);

/* The byte that TEXT, "<0x0A>", names, or -1. */
int attn_decode_named_byte(const char *text, size_t size);

/* --- Special tokens --------------------------------------------------------------------------- */

/* The last step over the tokens of a text: adds special tokens around them, and between two texts;
 * sets the type of each token; trims white space off ranges. */

/* An item of a template: an added token, or the tokens of a text. */
enum { ATTN_TEMPLATE_TEXT = -1, ATTN_TEMPLATE_PAIR = -2 };

struct attn_template_item {
    int32_t id;   /* or one of these */
    uint8_t type; /* type of the tokens */
};

enum { ATTN_TEMPLATE_MAX = 66 }; /* items; published tokenizers have at most seven */

struct attn_template {
    struct attn_template_item items[ATTN_TEMPLATE_MAX];
    size_t n; /* 0: the tokens of the text, or of both texts, with the types 0 and 1 */
};

/* Initialize with = {0}: no tokens are added, and pairs are not supported. */
struct attn_post_process {
    struct attn_template single, pair;
    bool takes_pair;
    bool trims;      /* white space off the ranges of the text's tokens */
    bool has_prefix; /* a space was put in front of the text: it has no place to be trimmed */
};

/* Appends ITEM; ATTN_UNSUPPORTED when there are too many. */
enum attn_status attn_template_append(struct attn_template *to, struct attn_template_item item,
                                      struct attn_error *err);

/* Replaces the single text's template by OUTER, whose text stands for the old template. */
enum attn_status attn_post_process_wrap(struct attn_post_process *post,
                                        const struct attn_template *outer, struct attn_error *err);

/* Adds the template of one text, as above, and of two texts, which cannot be combined. */
enum attn_status attn_post_process_take(struct attn_post_process *post,
                                        const struct attn_template *single,
                                        const struct attn_template *pair, struct attn_error *err);

/* The same with CLS before and SEP after a text, and between two as BERT or RoBERTa has it. */
enum attn_status attn_post_process_set_ends(struct attn_post_process *post, int32_t cls,
                                            int32_t sep, bool is_roberta, struct attn_error *err);

/* The template of one text, or of two. */
const struct attn_template *attn_post_process_template(const struct attn_post_process *post,
                                                       bool is_pair);

/* Trims the range of each token of TEXT, in ENCODING from FIRST on, by as many characters at both
 * ends as its key has white space there, in GPT-2's alphabet or itself; an added token that strips
 * keeps the white space that it took. */
void attn_post_process_trim(const struct attn_post_process *post,
                            const struct attn_tokenizer *tokenizer, const char *text, size_t first,
                            struct attn_encoding *encoding);

#endif
