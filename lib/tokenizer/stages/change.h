/*
 * change.h - stages that change a text: each makes a layer over its slice, or passes the slice on
 * if it has nothing to change.
 *
 * A stage without data is a kind; other stages have a function that adds them.
 */
#ifndef ATTN_TOKENIZER_STAGES_CHANGE_H
#define ATTN_TOKENIZER_STAGES_CHANGE_H

#include "tokenizer/pipeline.h"
#include "tokenizer/regex.h"

/* U+FFFD for each maximal subpart of malformed UTF-8. No data. */
extern const struct attn_text_stage_kind attn_change_invalid;

/* Unicode's normal forms (normal_form.h). No data. */
extern const struct attn_text_stage_kind attn_change_nfc, attn_change_nfd, attn_change_nfkc,
    attn_change_nfkd;

/* The lower case of each character by itself: the sigma at the end of a word is like any other. No
 * data. */
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
 * of a text that continues another only the first gets none. */
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

#endif
