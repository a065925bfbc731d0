/* tokenizer_parts.c - the parts of tokenizer.json other than the model. A table for each role lists
 * the supported types, their members, and the functions that add them. Other types are refused by
 * name. */
#include "tokenizer/tokenizer_internal.h"

#include "base/memory.h"
#include "base/os/thread.h"
#include "base/text/utf8.h"
#include "formats/json.h"
#include "tokenizer/stages/stages_internal.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const char file_name[] = "tokenizer.json"; /* for messages */

/* The values of the members of all types. */
struct values {
    bool add_prefix_space, trim_offsets, use_regex, individual_digits, strip_left, strip_right;
    bool invert, split, clean_text, handle_chinese_chars, lowercase, cleanup;
    const char *precompiled_charsmap, *prefix;
    const char *prepend, *content, *behavior, *replacement, *prepend_scheme;
    const char *delimiter, *suffix, *pad_token, *word_delimiter_token;
    const char *pattern; /* the text in {"String": ...} or {"Regex": ...} */
    bool is_regex;
    size_t start, stop, length;
};

enum member_type {
    MEMBER_BOOL,
    MEMBER_TEXT,
    MEMBER_CHARACTER, /* a string of one character */
    MEMBER_SCHEME,
    MEMBER_COUNT,
    MEMBER_PATTERN,
    MEMBER_LIST,  /* not stored */
    MEMBER_OBJECT /* not stored */
};

struct member {
    const char *key;
    enum member_type type;
    size_t offset;    /* offset of its value in struct values */
    bool is_optional; /* it may be absent, but null is refused */
};

struct part;

/* One supported type. ADD appends its stage or step; plain types need only `stage` or `step`. */
struct part_row {
    const char *type;
    enum attn_status (*add)(const struct part *part, struct attn_error *err);
    struct member members[5]; /* in the order in which they are checked; ends with NULL */
    const struct attn_text_stage_kind *stage;
    attn_decode_fn step;
};

/* A part, or an element of a list of parts. */
struct part {
    struct attn_tokenizer *tokenizer;
    const char *role;            /* "normalizer" */
    const struct part_row *rows; /* the types of the role; ends with NULL */
    const struct part_row *row;  /* the type of this part */
    const struct attn_node *node;
    bool is_whole; /* it is not an element of a list */
    struct values values;
};

/* --- Members ---------------------------------------------------------------------------------- */

static enum attn_status refuse_member(const struct part *part, const char *key,
                                      const char *expected, struct attn_error *err)
{
    const struct attn_node *node = attn_node_find(part->node, key);
    const char *text = node ? attn_node_string(node) : "missing";
    struct attn_quote found;
    bool is_true;
    double number;

    if (text)
        found = attn_quote_string(text);
    else if (attn_node_is_bool(node, &is_true))
        found = attn_quote_string(is_true ? "true" : "false");
    else if (attn_node_double(node, &number))
        snprintf(found.text, sizeof found.text, "%.15g", number);
    else
        found = attn_quote_string(attn_node_is_object(node)  ? "an object"
                                  : attn_node_is_array(node) ? "a list"
                                                             : "null");
    return attn_error_set(err, ATTN_FORMAT, "'%s' of '%s' %s in '%s' is %s, expected %s", key,
                          part->role, part->row->type, file_name, found.text, expected);
}

static enum attn_status refuse_value(const struct part *part, const char *key, const char *value,
                                     struct attn_error *err)
{
    return attn_error_set(err, ATTN_UNSUPPORTED, "'%s' %s of '%s' %s in '%s' is not supported", key,
                          value, part->role, part->row->type, file_name);
}

/* Reads PATTERN, {"String": TEXT} or {"Regex": TEXT}, into VALUES. Returns false if it has another
 * form. */
static bool read_pattern(struct values *values, const struct attn_node *pattern)
{
    const struct attn_node *value =
        pattern && attn_node_is_object(pattern) ? attn_node_first(pattern) : NULL;

    values->pattern = value && !attn_node_next(value) ? attn_node_string(value) : NULL;
    if (!values->pattern || *values->pattern == '\0')
        return false;
    values->is_regex = strcmp(attn_node_key(value), "Regex") == 0;
    return values->is_regex || strcmp(attn_node_key(value), "String") == 0;
}

/* Whether SCHEME is a valid prepend_scheme that agrees with `add_prefix_space`, the key of older
 * files. */
static bool is_scheme(const struct part *part, const char *scheme)
{
    static const char *const schemes[] = {"never", "always", "first"};
    const bool is_old = attn_node_find(part->node, "add_prefix_space");

    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
        if (strcmp(scheme, schemes[i]) == 0)
            return !is_old || part->values.add_prefix_space == (i > 0);
    return false;
}

/* Stores the value NODE of MEMBER; NULL means that it is missing. False if its type is wrong. */
static bool store(struct part *part, const struct member *member, const struct attn_node *node)
{
    void *to = (char *)&part->values + member->offset;
    const char *text = node ? attn_node_string(node) : NULL;
    uint32_t code_point;
    int64_t number;

    switch (member->type) {
    case MEMBER_BOOL:
        return node && attn_node_is_bool(node, to);
    case MEMBER_COUNT:
        if (!node || !attn_node_int(node, &number) || number < 0)
            return false;
        *(size_t *)to = (size_t)number;
        return true;
    case MEMBER_PATTERN:
        return read_pattern(&part->values, node);
    case MEMBER_LIST:
        return node && attn_node_is_array(node);
    case MEMBER_OBJECT:
        return node && attn_node_is_object(node);
    case MEMBER_TEXT:
    case MEMBER_CHARACTER:
    case MEMBER_SCHEME:
        break;
    }
    *(const char **)to = text;
    if (!text || member->type == MEMBER_TEXT)
        return text;
    if (member->type == MEMBER_SCHEME)
        return is_scheme(part, text);
    return *text != '\0' && attn_utf8_decode(text, strlen(text), &code_point) == strlen(text);
}

static enum attn_status read_members(struct part *part, struct attn_error *err)
{
    static const char *const expected[] = {
        [MEMBER_BOOL] = "true or false",
        [MEMBER_TEXT] = "a string",
        [MEMBER_CHARACTER] = "one character",
        [MEMBER_SCHEME] = "\"always\", \"first\" or \"never\"",
        [MEMBER_COUNT] = "a number from 0",
        [MEMBER_PATTERN] = "{\"String\": ...} or {\"Regex\": ...}",
        [MEMBER_LIST] = "a list",
        [MEMBER_OBJECT] = "an object",
    };

    part->values = (struct values){.add_prefix_space = true,
                                   .trim_offsets = true,
                                   .use_regex = true,
                                   .split = true,
                                   .behavior = "Isolated"};
    for (const struct member *member = part->row->members; member->key; member++) {
        const struct attn_node *node = attn_node_find(part->node, member->key);
        const bool is_text = node && attn_node_string(node);
        const bool is_of_text = member->type == MEMBER_CHARACTER || member->type == MEMBER_SCHEME;

        if ((node || !member->is_optional) && !store(part, member, node))
            return refuse_member(part, member->key,
                                 expected[is_of_text && !is_text ? MEMBER_TEXT : member->type],
                                 err);
    }
    if (!part->values.prepend_scheme)
        part->values.prepend_scheme = part->values.add_prefix_space ? "always" : "never";
    return ATTN_OK;
}

/* --- Types ------------------------------------------------------------------------------------ */

/* Reads NODE, a part with the same role as PART. */
static enum attn_status read_typed(const struct part *part, const struct attn_node *node,
                                   struct attn_error *err)
{
    struct part typed = {.tokenizer = part->tokenizer,
                         .role = part->role,
                         .rows = part->rows,
                         .row = part->rows,
                         .is_whole = !part->row,
                         .node = node};
    const struct attn_node *found;
    const char *type;

    if (!attn_node_is_object(node))
        return attn_error_set(err, ATTN_FORMAT, "'%s' in '%s' is not an object", part->role,
                              file_name);
    found = attn_node_find(node, "type");
    type = found ? attn_node_string(found) : NULL;
    if (!type)
        return attn_error_set(err, ATTN_FORMAT, "'%s' in '%s' has no 'type'", part->role,
                              file_name);
    while (typed.row->type && strcmp(type, typed.row->type) != 0)
        typed.row++;
    if (!typed.row->type)
        return attn_error_set(err, ATTN_UNSUPPORTED, "'%s' of type '%s' in '%s' is not supported",
                              part->role, attn_quote_string(type).text, file_name);
    ATTN_TRY(read_members(&typed, err));
    return typed.row->add(&typed, err);
}

/* Adds the elements of a sequence, which are in a list, its only member. */
static enum attn_status add_sequence(const struct part *part, struct attn_error *err)
{
    const struct attn_node *list = attn_node_find(part->node, part->row->members[0].key);

    for (const struct attn_node *node = attn_node_first(list); node; node = attn_node_next(node))
        ATTN_TRY(read_typed(part, node, err));
    return ATTN_OK;
}

/* Adds the stage of the row, which has no data. */
static enum attn_status add_plain(const struct part *part, struct attn_error *err)
{
    return attn_pipeline_add(&part->tokenizer->pipeline, part->row->stage, NULL, err);
}

#define MEMBER(name, of_type, may_lack)                                                            \
    {                                                                                              \
        .key = #name, .type = (of_type), .offset = offsetof(struct values, name),                  \
        .is_optional = (may_lack)                                                                  \
    }
#define BOOL(name) MEMBER(name, MEMBER_BOOL, false)
#define OPTIONAL_BOOL(name) MEMBER(name, MEMBER_BOOL, true)
#define TEXT(name) MEMBER(name, MEMBER_TEXT, false)
#define CHARACTER(name) MEMBER(name, MEMBER_CHARACTER, false)
#define COUNT(name) MEMBER(name, MEMBER_COUNT, false)
#define PATTERN MEMBER(pattern, MEMBER_PATTERN, false)
#define SCHEME MEMBER(prepend_scheme, MEMBER_SCHEME, true)
#define SEQUENCE(list)                                                                             \
    {                                                                                              \
        "Sequence", add_sequence, .members = { {list, MEMBER_LIST, 0, false} }                     \
    }

/* --- Normalizers ------------------------------------------------------------------------------ */

static enum attn_status add_prepend(const struct part *part, struct attn_error *err)
{
    const char *text = part->values.prepend;

    return *text == '\0'
               ? ATTN_OK
               : attn_change_add_prefix(&part->tokenizer->pipeline, text, ATTN_PREFIX_ALWAYS, err);
}

static enum attn_status add_replace(const struct part *part, struct attn_error *err)
{
    const struct values *values = &part->values;

    struct attn_regex *pattern = NULL;

    if (!values->is_regex)
        return attn_change_add_replace(&part->tokenizer->pipeline, values->pattern, values->content,
                                       err);
    ATTN_TRY(attn_regex_create(values->pattern, strlen(values->pattern), file_name, false, &pattern,
                               err));
    return attn_change_add_replace_matches(&part->tokenizer->pipeline, pattern, values->content,
                                           err);
}

static enum attn_status add_strip(const struct part *part, struct attn_error *err)
{
    return attn_change_add_strip(&part->tokenizer->pipeline, part->values.strip_left,
                                 part->values.strip_right, err);
}

/* Adds the steps of BERT's normalizer, each of which may be switched off. */
static enum attn_status add_bert_normalizer(const struct part *part, struct attn_error *err)
{
    const struct attn_node *accents = attn_node_find(part->node, "strip_accents");
    struct attn_word_normalizer normalizer = {.cleans = part->values.clean_text,
                                              .sets_apart = part->values.handle_chinese_chars,
                                              .strips_accents = part->values.lowercase,
                                              .lowers = part->values.lowercase};

    if (accents && !attn_node_is_null(accents) &&
        !attn_node_is_bool(accents, &normalizer.strips_accents))
        return refuse_member(part, "strip_accents", "true, false or null", err);
    part->tokenizer->settings.has_words = true;
    ATTN_TRY(attn_beside_words(part->tokenizer, &normalizer, err));
    return attn_change_add_words(&part->tokenizer->pipeline, &normalizer, err);
}

static enum attn_status add_charsmap(const struct part *part, struct attn_error *err)
{
    const char *text = part->values.precompiled_charsmap;

    return attn_charsmap_add(&part->tokenizer->pipeline, NULL, text, strlen(text), file_name, err);
}

static enum attn_status add_nmt(const struct part *part, struct attn_error *err)
{
    struct attn_pipeline *pipeline = &part->tokenizer->pipeline;

    ATTN_TRY(attn_pipeline_add(pipeline, &attn_change_nmt_clean, NULL, err));
    return attn_pipeline_add(pipeline, &attn_change_nmt_blank, NULL, err);
}

static const struct part_row normalizers[] = {
    {"NFC", add_plain, .stage = &attn_change_nfc},
    {"NFD", add_plain, .stage = &attn_change_nfd},
    {"NFKC", add_plain, .stage = &attn_change_nfkc},
    {"NFKD", add_plain, .stage = &attn_change_nfkd},
    {"Lowercase", add_plain, .stage = &attn_change_lowercase},
    {"ByteLevel", add_plain, .stage = &attn_change_alphabet},
    {"Nmt", .add = add_nmt},
    {"StripAccents", add_plain, .stage = &attn_change_strip_marks},
    {"BertNormalizer", add_bert_normalizer,
     .members = {BOOL(clean_text), BOOL(handle_chinese_chars), BOOL(lowercase)}},
    {"Precompiled", add_charsmap, .members = {TEXT(precompiled_charsmap)}},
    {"Prepend", add_prepend, .members = {TEXT(prepend)}},
    {"Replace", add_replace, .members = {PATTERN, TEXT(content)}},
    {"Strip", add_strip, .members = {BOOL(strip_left), BOOL(strip_right)}},
    SEQUENCE("normalizers"),
    {.type = NULL},
};

/* --- Pre-tokenizers --------------------------------------------------------------------------- */

/* Adds a stage that splits texts by the pattern TEXT. */
static enum attn_status add_pattern(const struct part *part, enum attn_split_behavior behavior,
                                    const char *text, bool is_regex, struct attn_error *err)
{
    struct attn_split split = {.behavior = behavior, .is_inverted = part->values.invert};

    ATTN_TRY(attn_regex_create(text, strlen(text), file_name, !is_regex, &split.pattern, err));
    return attn_split_add(&part->tokenizer->pipeline, split, err);
}

/* Adds the three steps of GPT-2: a space in front, its pattern, its alphabet. */
static enum attn_status add_byte_level(const struct part *part, struct attn_error *err)
{
    struct attn_pipeline *pipeline = &part->tokenizer->pipeline;
    bool has_prefix = part->values.add_prefix_space;

    ATTN_TRY(attn_beside_prefix(part->tokenizer, part->is_whole, true, &has_prefix, err));
    if (has_prefix)
        ATTN_TRY(attn_change_add_prefix(pipeline, " ", ATTN_PREFIX_UNLESS_THERE, err));
    if (part->values.use_regex)
        ATTN_TRY(add_pattern(part, ATTN_SPLIT_ISOLATED, ATTN_BYTES_REGEX, true, err));
    return attn_pipeline_add(pipeline, &attn_change_alphabet, NULL, err);
}

/* Adds the split by a pattern, or without one by punctuation. */
static enum attn_status add_split(const struct part *part, struct attn_error *err)
{
    static const char *const names[] = {
        [ATTN_SPLIT_REMOVED] = "Removed",
        [ATTN_SPLIT_ISOLATED] = "Isolated",
        [ATTN_SPLIT_CONTIGUOUS] = "Contiguous",
        [ATTN_SPLIT_MERGED_WITH_PREVIOUS] = "MergedWithPrevious",
        [ATTN_SPLIT_MERGED_WITH_NEXT] = "MergedWithNext",
    };
    const struct values *values = &part->values;
    struct attn_split split = {.character_class = ATTN_CLASS_PUNCTUATION};
    size_t i = 0;

    while (i < sizeof names / sizeof *names && strcmp(values->behavior, names[i]) != 0)
        i++;
    if (i == sizeof names / sizeof *names)
        return refuse_value(part, "behavior", attn_quote_string(values->behavior).text, err);
    if (values->pattern)
        return add_pattern(part, (enum attn_split_behavior)i, values->pattern, values->is_regex,
                           err);
    split.behavior = (enum attn_split_behavior)i;
    return attn_split_add(&part->tokenizer->pipeline, split, err);
}

static enum attn_status add_delimiter(const struct part *part, struct attn_error *err)
{
    return add_pattern(part, ATTN_SPLIT_REMOVED, part->values.delimiter, false, err);
}

static enum attn_status add_white_space(const struct part *part, struct attn_error *err)
{
    return attn_split_add(&part->tokenizer->pipeline,
                          (struct attn_split){.character_class = ATTN_CLASS_WHITE_SPACE}, err);
}

static enum attn_status add_bert_split(const struct part *part, struct attn_error *err)
{
    return attn_split_add_words(&part->tokenizer->pipeline, err);
}

static enum attn_status add_fixed_length(const struct part *part, struct attn_error *err)
{
    char pattern[48];

    if (part->values.length == 0)
        return refuse_member(part, "length", "a number from 1", err);
    snprintf(pattern, sizeof pattern, "(?:[^\\n]|\\n){1,%zu}", part->values.length);
    return add_pattern(part, ATTN_SPLIT_ISOLATED, pattern, true, err);
}

static enum attn_status add_digits(const struct part *part, struct attn_error *err)
{
    return add_pattern(part, ATTN_SPLIT_ISOLATED,
                       part->values.individual_digits ? ATTN_NUMBER_REGEX : ATTN_NUMBER_REGEX "+",
                       true, err);
}

/* Adds the pattern of words. The library's letters are \w and the joiners U+200C and U+200D. */
static enum attn_status add_whitespace(const struct part *part, struct attn_error *err)
{
#define LETTER "\\w\xe2\x80\x8c\xe2\x80\x8d"
    struct part inverted = *part;

    inverted.values.invert = true;
    return add_pattern(&inverted, ATTN_SPLIT_REMOVED, "[" LETTER "]+|[^\\s" LETTER "]+", true, err);
#undef LETTER
}

static enum attn_status add_metaspace(const struct part *part, struct attn_error *err)
{
    struct attn_pipeline *pipeline = &part->tokenizer->pipeline;
    const char *replacement = part->values.replacement, *scheme = part->values.prepend_scheme;
    const bool has_words = attn_split_is_by_space(pipeline);
    const enum attn_prefix when = strcmp(scheme, "first") == 0 ? ATTN_PREFIX_AT_START_OF_TEXT
                                  : has_words                  ? ATTN_PREFIX_OF_WORD
                                                               : ATTN_PREFIX_UNLESS_THERE;

    bool has_prefix = strcmp(scheme, "never") != 0;

    ATTN_TRY(attn_beside_prefix(part->tokenizer, part->is_whole, false, &has_prefix, err));
    if (strcmp(replacement, " ") != 0)
        ATTN_TRY(attn_change_add_replace(pipeline, " ", replacement, err));
    if (has_prefix)
        ATTN_TRY(attn_change_add_prefix(pipeline, replacement, when, err));
    return part->values.split
               ? add_pattern(part, ATTN_SPLIT_MERGED_WITH_NEXT, replacement, false, err)
               : ATTN_OK;
}

static const struct part_row pre_tokenizers[] = {
    {"ByteLevel", add_byte_level,
     .members = {BOOL(add_prefix_space), BOOL(trim_offsets), OPTIONAL_BOOL(use_regex)}},
    {"Split", add_split, .members = {PATTERN, TEXT(behavior), BOOL(invert)}},
    {"Punctuation", add_split, .members = {MEMBER(behavior, MEMBER_TEXT, true)}},
    {"CharDelimiterSplit", add_delimiter, .members = {CHARACTER(delimiter)}},
    {"FixedLength", add_fixed_length, .members = {COUNT(length)}},
    {"BertPreTokenizer", .add = add_bert_split},
    {"Whitespace", .add = add_whitespace},
    {"WhitespaceSplit", .add = add_white_space},
    {"UnicodeScripts", add_plain, .stage = &attn_split_scripts},
    {"Digits", add_digits, .members = {BOOL(individual_digits)}},
    {"Metaspace", add_metaspace,
     .members = {CHARACTER(replacement), OPTIONAL_BOOL(add_prefix_space), SCHEME,
                 OPTIONAL_BOOL(split)}},
    SEQUENCE("pretokenizers"),
    {.type = NULL},
};

/* --- Decoders --------------------------------------------------------------------------------- */

/* Adds the step of the row. Depending on the type, it searches for the pattern, the replacement or
 * the content. */
static enum attn_status add_step(const struct part *part, struct attn_error *err)
{
    const struct values *values = &part->values;
    const char *a = values->pattern       ? values->pattern
                    : values->replacement ? values->replacement
                                          : values->content;
    const char *b = values->pattern ? values->content : values->replacement ? " " : NULL;
    struct attn_decode_step step = {.run = part->row->step,
                                    .n_a = a ? strlen(a) : 0,
                                    .n_b = b ? strlen(b) : 0,
                                    .start = values->start,
                                    .stop = values->stop};

    if (values->is_regex)
        return refuse_value(part, "Regex", "pattern", err);
    if (values->replacement)
        step.start = strcmp(values->prepend_scheme, "never") != 0;
    return attn_decode_add(&part->tokenizer->decoder, step, a, b, err);
}

static enum attn_status add_wordpiece(const struct part *part, struct attn_error *err)
{
    const struct attn_decode_step step = {.run = attn_decode_wordpiece,
                                          .n_a = strlen(part->values.prefix),
                                          .start = part->values.cleanup};

    return attn_decode_add(&part->tokenizer->decoder, step, part->values.prefix, NULL, err);
}

static enum attn_status add_bpe_decoder(const struct part *part, struct attn_error *err)
{
    const char *suffix = part->values.suffix;
    const struct attn_decode_step step = {
        .run = attn_decode_replace, .n_a = strlen(suffix), .n_b = 1, .stop = 1};

    return *suffix == '\0' ? refuse_member(part, "suffix", "a string that is not empty", err)
                           : attn_decode_add(&part->tokenizer->decoder, step, suffix, " ", err);
}

/* Adds the steps of CTC: repeated tokens and the padding are dropped, the rest is cleaned up. */
static enum attn_status add_ctc(const struct part *part, struct attn_error *err)
{
    struct attn_decode_steps *decoder = &part->tokenizer->decoder;
    const char *pad = part->values.pad_token, *delimiter = part->values.word_delimiter_token;

    if (*pad == '\0' || *delimiter == '\0')
        return refuse_member(part, *pad == '\0' ? "pad_token" : "word_delimiter_token",
                             "a string that is not empty", err);
    ATTN_TRY(attn_decode_add(decoder, (struct attn_decode_step){.run = attn_decode_distinct}, NULL,
                             NULL, err));
    ATTN_TRY(attn_decode_add(
        decoder, (struct attn_decode_step){.run = attn_decode_replace, .n_a = strlen(pad)}, pad,
        NULL, err));
    if (!part->values.cleanup)
        return ATTN_OK;
    ATTN_TRY(attn_decode_add(decoder,
                             (struct attn_decode_step){.run = attn_decode_wordpiece, .start = 1},
                             "", NULL, err)); /* each token begins with "": none gets a space */
    return attn_decode_add(
        decoder,
        (struct attn_decode_step){.run = attn_decode_replace, .n_a = strlen(delimiter), .n_b = 1},
        delimiter, " ", err);
}

static const struct part_row decoders[] = {
    /* The settings repeat those of the pre-tokenizer and have no effect here, but they are
       required. */
    {"ByteLevel", add_step,
     .members = {BOOL(add_prefix_space), BOOL(trim_offsets), OPTIONAL_BOOL(use_regex)},
     .step = attn_decode_byte_level},
    {"Replace", add_step, .members = {PATTERN, TEXT(content)}, .step = attn_decode_replace},
    {"ByteFallback", add_step, .step = attn_decode_byte_fallback},
    {"Fuse", add_step, .step = attn_decode_join},
    {"Strip", add_step, .members = {CHARACTER(content), COUNT(start), COUNT(stop)},
     .step = attn_decode_strip},
    {"Metaspace", add_step,
     .members = {CHARACTER(replacement), OPTIONAL_BOOL(add_prefix_space), SCHEME,
                 OPTIONAL_BOOL(split)},
     .step = attn_decode_replace},
    {"WordPiece", add_wordpiece, .members = {TEXT(prefix), BOOL(cleanup)}},
    {"BPEDecoder", add_bpe_decoder, .members = {TEXT(suffix)}},
    {"CTC", add_ctc, .members = {TEXT(pad_token), TEXT(word_delimiter_token), BOOL(cleanup)}},
    SEQUENCE("decoders"),
    {.type = NULL},
};

/* --- Post-processors -------------------------------------------------------------------------- */

static enum attn_status add_trimming(const struct part *part, struct attn_error *err)
{
    struct attn_post_process *post = &part->tokenizer->post;

    (void)err;
    if (part->values.trim_offsets)
        post->has_prefix = part->values.add_prefix_space;
    post->trims = post->trims || part->values.trim_offsets;
    return ATTN_OK;
}

/* Appends the special token whose id is NODE, with TYPE, to TO. */
static enum attn_status append_special(const struct part *part, const struct attn_node *node,
                                       uint8_t type, struct attn_template *to,
                                       struct attn_error *err)
{
    int64_t id;

    if (!attn_node_int(node, &id) || id < 0 || id > INT32_MAX ||
        !attn_vocabulary_has(&part->tokenizer->vocabulary, (int32_t)id))
        return attn_error_set(err, ATTN_FORMAT,
                              "'%s' %s in '%s' adds a token by an id that no token has", part->role,
                              part->row->type, file_name);
    return attn_template_append(to, (struct attn_template_item){(int32_t)id, type}, err);
}

/* Appends the ids that `special_tokens` gives for NAME. */
static enum attn_status append_named(const struct part *part, const char *name, uint8_t type,
                                     struct attn_template *to, struct attn_error *err)
{
    const struct attn_node *token =
        attn_node_find(attn_node_find(part->node, "special_tokens"), name);
    const struct attn_node *ids =
        token && attn_node_is_object(token) ? attn_node_find(token, "ids") : NULL;

    if (!ids || !attn_node_is_array(ids))
        return attn_error_set(err, ATTN_FORMAT,
                              "'%s' %s in '%s' has no ids for '%s' in 'special_tokens'", part->role,
                              part->row->type, file_name, attn_quote_string(name).text);
    for (const struct attn_node *id = attn_node_first(ids); id; id = attn_node_next(id))
        ATTN_TRY(append_special(part, id, type, to, err));
    return ATTN_OK;
}

/* Appends PIECE of the list KEY: {"Sequence" or "SpecialToken": {"id": "A", "type_id": 0}}. */
static enum attn_status append_piece(const struct part *part, const char *key,
                                     const struct attn_node *piece, struct attn_template *to,
                                     struct attn_error *err)
{
    const struct attn_node *member = attn_node_is_object(piece) ? attn_node_first(piece) : NULL;
    const bool is_whole = member && attn_node_is_object(member) && !attn_node_next(member);
    const struct attn_node *name = is_whole ? attn_node_find(member, "id") : NULL;
    const struct attn_node *type = is_whole ? attn_node_find(member, "type_id") : NULL;
    const char *id = name ? attn_node_string(name) : NULL;
    const bool is_text = id && strcmp(attn_node_key(member), "Sequence") == 0;
    struct attn_template_item item = {ATTN_TEMPLATE_TEXT, 0};
    int64_t number = 0;

    if (!id || (!is_text && strcmp(attn_node_key(member), "SpecialToken") != 0))
        return refuse_member(part, key, "a list of tokens and the sequence A", err);
    if (type && (!attn_node_int(type, &number) || number < 0 || number > UINT8_MAX))
        return refuse_value(part, key, "with a 'type_id' that is no number from 0 to 255", err);
    item.type = (uint8_t)number;
    if (!is_text)
        return append_named(part, id, item.type, to, err);
    if (strcmp(id, "B") == 0)
        item.id = ATTN_TEMPLATE_PAIR;
    else if (strcmp(id, "A") != 0)
        return refuse_value(part, key, "with other sequences than A and B", err);
    return attn_template_append(to, item, err);
}

/* Reads the template KEY, which must have one A and N_PAIR times B. */
static enum attn_status read_template(const struct part *part, const char *key, size_t n_pair,
                                      struct attn_template *out, struct attn_error *err)
{
    const struct attn_node *list = attn_node_find(part->node, key);
    size_t n[2] = {0, 0};

    for (const struct attn_node *piece = attn_node_first(list); piece;
         piece = attn_node_next(piece))
        ATTN_TRY(append_piece(part, key, piece, out, err));
    for (size_t i = 0; i < out->n; i++)
        if (out->items[i].id < 0)
            n[out->items[i].id == ATTN_TEMPLATE_PAIR]++;
    if (n[0] == 0)
        return refuse_value(part, key, "without the sequence A", err);
    if (n[0] != 1 || n[1] != n_pair)
        return refuse_value(part, key,
                            n_pair > 0 ? "with other sequences than one A and one B"
                                       : "with other sequences than one A",
                            err);
    return ATTN_OK;
}

static enum attn_status add_template(const struct part *part, struct attn_error *err)
{
    struct attn_template single = {.n = 0}, pair = {.n = 0};

    ATTN_TRY(read_template(part, "single", 0, &single, err));
    if (attn_node_first(attn_node_find(part->node, "pair")))
        ATTN_TRY(read_template(part, "pair", 1, &pair, err));
    return attn_post_process_take(&part->tokenizer->post, &single, &pair, err);
}

/* Reads the id of `cls` or `sep`, which have the form ["<s>", 1]. */
static enum attn_status find_end(const struct part *part, const char *key,
                                 struct attn_template *out, struct attn_error *err)
{
    const struct attn_node *list = attn_node_find(part->node, key);
    const struct attn_node *token = list && attn_node_is_array(list) ? attn_node_first(list) : NULL;
    const struct attn_node *id = token ? attn_node_next(token) : NULL;

    if (!id || !attn_node_string(token) || attn_node_next(id))
        return refuse_member(part, key, "a list of a token and its id", err);
    return append_special(part, id, 0, out, err);
}

/* Adds the tokens `cls` and `sep` around a text. */
static enum attn_status add_ends(const struct part *part, bool is_twice, struct attn_error *err)
{
    struct attn_template ends = {.n = 0};

    ATTN_TRY(find_end(part, "cls", &ends, err));
    ATTN_TRY(find_end(part, "sep", &ends, err));
    return attn_post_process_set_ends(&part->tokenizer->post, ends.items[0].id, ends.items[1].id,
                                      is_twice, err);
}

static enum attn_status add_bert(const struct part *part, struct attn_error *err)
{
    return add_ends(part, false, err);
}

static enum attn_status add_roberta(const struct part *part, struct attn_error *err)
{
    ATTN_TRY(add_ends(part, true, err));
    return add_trimming(part, err);
}

static const struct part_row post_processors[] = {
    {"ByteLevel", add_trimming,
     .members = {BOOL(add_prefix_space), BOOL(trim_offsets), OPTIONAL_BOOL(use_regex)}},
    {"TemplateProcessing", add_template,
     .members = {{"single", MEMBER_LIST, 0, false},
                 {"pair", MEMBER_LIST, 0, false},
                 {"special_tokens", MEMBER_OBJECT, 0, false}}},
    {"BertProcessing", .add = add_bert},
    {"RobertaProcessing", add_roberta,
     .members = {OPTIONAL_BOOL(trim_offsets), OPTIONAL_BOOL(add_prefix_space)}},
    SEQUENCE("processors"),
    {.type = NULL},
};

/* --- All roles -------------------------------------------------------------------------------- */

static const struct {
    const char *role;
    const struct part_row *rows;
} roles[] = {
    [ATTN_ROLE_NORMALIZER] = {"normalizer", normalizers},
    [ATTN_ROLE_PRE_TOKENIZER] = {"pre_tokenizer", pre_tokenizers},
    [ATTN_ROLE_DECODER] = {"decoder", decoders},
    [ATTN_ROLE_POST_PROCESSOR] = {"post_processor", post_processors},
};

/* Reads TEXT [size], the part with the role ROLE. */
static enum attn_status read_text(struct attn_tokenizer *tokenizer, enum attn_tokenizer_role role,
                                  const char *text, size_t size, struct attn_error *err)
{
    char name[64];
    struct attn_file file = {.data = (const unsigned char *)text, .size = size, .path = name};
    const struct part part = {
        .tokenizer = tokenizer, .role = roles[role].role, .rows = roles[role].rows};
    struct attn_json *json = NULL;
    enum attn_status status;

    if (text[0] != '{')
        return attn_error_set(err, ATTN_FORMAT, "'%s' in '%s' is not an object", part.role,
                              file_name);
    /* In messages this becomes: 'normalizer' in 'tokenizer.json' has the key ... */
    snprintf(name, sizeof name, "%s' in '%s", part.role, file_name);
    ATTN_TRY(attn_json_parse(&file, &json, err));
    status = read_typed(&part, attn_json_root(json), err);
    attn_json_free(json);
    return status;
}

enum attn_status attn_tokenizer_read_part(struct attn_tokenizer *tokenizer,
                                          enum attn_tokenizer_role role, const char *text,
                                          size_t size, struct attn_error *err)
{
    const struct attn_decode_step join = {.run = attn_decode_join, .n_a = 1};
    struct attn_pipeline *pipeline = &tokenizer->pipeline;
    const size_t n = pipeline->n;

    if (!text && role == ATTN_ROLE_DECODER)
        return attn_decode_add(&tokenizer->decoder, join, " ", NULL, err);
    if (role == ATTN_ROLE_POST_PROCESSOR)
        tokenizer->post.takes_pair = true;
    if (text)
        ATTN_TRY(read_text(tokenizer, role, text, size, err));
    /* If only the model reads GPT-2's alphabet, the stage is dropped and the model reads bytes,
     * which gives the same tokens. */
    if (role == ATTN_ROLE_PRE_TOKENIZER && pipeline->n > n &&
        tokenizer->kind == ATTN_TOKENIZER_BPE &&
        pipeline->stages[pipeline->n - 1].kind == &attn_change_alphabet) {
        pipeline->n--;
        tokenizer->bpe.is_by_byte = true;
    }
    return ATTN_OK;
}

/* --- Shared by all readers of tokenizer files ------------------------------------------------- */

enum attn_status attn_tokenizer_add_unread(struct attn_tokenizer *tokenizer, const char *path,
                                           struct attn_error *err)
{
    struct attn_unread *unread;

    ATTN_TRY(ATTN_ALLOC(unread, 1, err));
    tokenizer->unread = unread;
    atomic_init(&unread->is_over, false);
    unread->tokenizer = tokenizer;
    ATTN_TRY(attn_monitor_create(1, &unread->monitor, err));
    return ATTN_NEW(unread->path, attn_strndup(path, strlen(path), err));
}

enum attn_status attn_tokenizer_mark(struct attn_tokenizer *tokenizer, struct attn_error *err)
{
    const size_t n = tokenizer->vocabulary.n;

    ATTN_TRY(ATTN_ALLOC(tokenizer->is_added, n, err));
    ATTN_TRY(ATTN_ALLOC(tokenizer->is_special, n, err));
    ATTN_TRY(ATTN_ALLOC(tokenizer->is_wide, n, err));
    for (size_t i = 0; i < tokenizer->added.n; i++) {
        const struct attn_added_token *token = &tokenizer->added.tokens[i];

        if (tokenizer->is_added[token->id])
            return attn_error_set(
                err, ATTN_FORMAT, "the added token '%s' is there twice",
                attn_quote(tokenizer->added.contents.data + token->begin, token->size).text);
        tokenizer->is_added[token->id] = true;
        tokenizer->is_special[token->id] = token->is_special;
        tokenizer->is_wide[token->id] = token->strips_left || token->strips_right;
    }
    return ATTN_OK;
}

const char *attn_tokenizer_kind_name(enum attn_tokenizer_kind kind)
{
    static const char *const names[] = {[ATTN_TOKENIZER_WORD] = "word",
                                        [ATTN_TOKENIZER_CHARACTER] = "char",
                                        [ATTN_TOKENIZER_BPE] = "bpe",
                                        [ATTN_TOKENIZER_WORDPIECE] = "wordpiece",
                                        [ATTN_TOKENIZER_UNIGRAM] = "unigram"};

    return names[kind];
}
