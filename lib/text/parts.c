/* parts.c - see parts.h. */
#include "text/parts.h"

#include "base/escape.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "formats/json.h"
#include "text/stages/change.h"
#include "text/stages/split.h"

#include <stdio.h>
#include <string.h>

static const char file_name[] = "tokenizer.json"; /* in messages */

/* One part, or one of a list of them. */
struct part {
    struct attn_tokenizer *tokenizer;
    const char *role; /* "normalizer" */
    const char *type; /* "NFC" */
    const struct attn_json *json;
    const struct attn_node *node;
};

/* What becomes of a type. */
struct part_row {
    const char *type;
    enum attn_status (*read)(const struct part *part, struct attn_error *err);
};

/* --- Members ---------------------------------------------------------------------------------- */

/* What NODE is, in words. */
static struct attn_quote describe(const struct attn_node *node)
{
    bool is_true;
    double number;
    struct attn_quote quote;

    if (!node)
        return attn_quote_string("missing");
    if (attn_node_string(node))
        return attn_quote_string(attn_node_string(node));
    if (attn_node_is_bool(node, &is_true))
        return attn_quote_string(is_true ? "true" : "false");
    if (!attn_node_double(node, &number))
        return attn_quote_string(attn_node_is_object(node)  ? "an object"
                                 : attn_node_is_array(node) ? "a list"
                                                            : "null");
    snprintf(quote.text, sizeof quote.text, "%.15g", number);
    return quote;
}

static enum attn_status refuse(const struct part *part, const char *key, const char *expected,
                               struct attn_error *err)
{
    (void)attn_error_set(err, ATTN_FORMAT, "'%s' of '%s' %s in '%s' is %s, expected %s", key,
                         part->role, part->type, file_name,
                         describe(attn_node_find(part->node, key)).text, expected);
    return ATTN_FORMAT;
}

static enum attn_status get_bool(const struct part *part, const char *key, bool *value,
                                 struct attn_error *err)
{
    const struct attn_node *node = attn_node_find(part->node, key);

    if (!node || !attn_node_is_bool(node, value))
        return refuse(part, key, "true or false", err);
    return ATTN_OK;
}

static enum attn_status get_string(const struct part *part, const char *key, const char **value,
                                   struct attn_error *err)
{
    const struct attn_node *node = attn_node_find(part->node, key);

    *value = node ? attn_node_string(node) : NULL;
    return *value ? ATTN_OK : refuse(part, key, "a string", err);
}

/* A string of one character. */
static enum attn_status get_character(const struct part *part, const char *key, const char **value,
                                      struct attn_error *err)
{
    enum attn_status status = get_string(part, key, value, err);
    uint32_t code_point;

    if (status != ATTN_OK)
        return status;
    if (**value == '\0' || attn_utf8_decode(*value, strlen(*value), &code_point) != strlen(*value))
        return refuse(part, key, "one character", err);
    return ATTN_OK;
}

static enum attn_status get_count(const struct part *part, const char *key, size_t *value,
                                  struct attn_error *err)
{
    const struct attn_node *node = attn_node_find(part->node, key);
    int64_t number;

    if (!node || !attn_node_int(node, &number) || number < 0)
        return refuse(part, key, "a number from 0", err);
    *value = (size_t)number;
    return ATTN_OK;
}

/* The value of `pattern`: {"String": ...}, or {"Regex": ...}. */
static enum attn_status get_pattern(const struct part *part, const char **text, bool *is_regex,
                                    struct attn_error *err)
{
    static const char expected[] = "{\"String\": ...} or {\"Regex\": ...}";
    const struct attn_node *pattern = attn_node_find(part->node, "pattern");
    const struct attn_node *value =
        pattern && attn_node_is_object(pattern) ? attn_node_first(pattern) : NULL;

    if (!value || attn_node_next(value) || !(*text = attn_node_string(value)) || **text == '\0')
        return refuse(part, "pattern", expected, err);
    *is_regex = strcmp(attn_node_key(value), "Regex") == 0;
    if (!*is_regex && strcmp(attn_node_key(value), "String") != 0)
        return refuse(part, "pattern", expected, err);
    return ATTN_OK;
}

static enum attn_status refuse_value(const struct part *part, const char *key, const char *value,
                                     struct attn_error *err)
{
    (void)attn_error_set(err, ATTN_UNSUPPORTED, "'%s' %s of '%s' %s in '%s' is not supported", key,
                         value, part->role, part->type, file_name);
    return ATTN_UNSUPPORTED;
}

/* --- Types ------------------------------------------------------------------------------------ */

static enum attn_status read_rows(const struct part *part, const struct part_row *rows,
                                  struct attn_error *err)
{
    struct part typed = *part;
    const struct attn_node *type =
        attn_node_is_object(part->node) ? attn_node_find(part->node, "type") : NULL;

    if (!attn_node_is_object(part->node))
        return attn_error_set(err, ATTN_FORMAT, "'%s' in '%s' is not an object", part->role,
                              file_name);
    typed.type = type ? attn_node_string(type) : NULL;
    if (!typed.type)
        return attn_error_set(err, ATTN_FORMAT, "'%s' in '%s' has no 'type'", part->role,
                              file_name);
    for (const struct part_row *row = rows; row->type; row++)
        if (strcmp(typed.type, row->type) == 0) {
            typed.type = row->type;
            return row->read(&typed, err);
        }
    return attn_error_set(err, ATTN_UNSUPPORTED, "'%s' of type '%s' in '%s' is not supported",
                          part->role, attn_quote_string(typed.type).text, file_name);
}

/* Reads the elements of list KEY by ROWS. */
static enum attn_status read_sequence(const struct part *part, const char *key,
                                      const struct part_row *rows, struct attn_error *err)
{
    const struct attn_node *list = attn_node_find(part->node, key);
    enum attn_status status = ATTN_OK;

    if (!list || !attn_node_is_array(list))
        return refuse(part, key, "a list", err);
    for (const struct attn_node *node = attn_node_first(list); node && status == ATTN_OK;
         node = attn_node_next(node)) {
        struct part element = *part;

        element.node = node;
        status = read_rows(&element, rows, err);
    }
    return status;
}

/* Reads TEXT [size], the part ROLE, by ROWS. */
static enum attn_status read_part(struct attn_tokenizer *tokenizer, const char *role,
                                  const char *text, size_t size, const struct part_row *rows,
                                  struct attn_error *err)
{
    char name[64];
    struct attn_file file = {.data = (const unsigned char *)text, .size = size, .path = name};
    struct attn_json *json = NULL;
    struct part part = {.tokenizer = tokenizer, .role = role};
    enum attn_status status;

    if (text[0] != '{')
        return attn_error_set(err, ATTN_FORMAT, "'%s' in '%s' is not an object", role, file_name);
    /* Quoted in messages: 'normalizer' in 'tokenizer.json' has the key ... */
    snprintf(name, sizeof name, "%s' in '%s", role, file_name);
    status = attn_json_parse(&file, &json, err);
    if (status == ATTN_OK) {
        part.json = json;
        part.node = attn_json_root(json);
        status = read_rows(&part, rows, err);
    }
    attn_json_free(json);
    return status;
}

static enum attn_status add_stage(const struct part *part, const struct attn_stage_kind *kind,
                                  void *data, struct attn_error *err)
{
    return attn_stages_add(&part->tokenizer->stages, kind, data, err);
}

/* --- Normalizers ------------------------------------------------------------------------------ */

static enum attn_status read_nfc(const struct part *part, struct attn_error *err)
{
    return add_stage(part, &attn_change_nfc, NULL, err);
}

static enum attn_status read_lowercase(const struct part *part, struct attn_error *err)
{
    return add_stage(part, &attn_change_lowercase, NULL, err);
}

static enum attn_status read_prepend(const struct part *part, struct attn_error *err)
{
    const char *text = NULL;
    enum attn_status status = get_string(part, "prepend", &text, err);

    if (status != ATTN_OK || *text == '\0')
        return status;
    return add_stage(part, &attn_change_prefix,
                     attn_change_prefix_create(text, strlen(text), ATTN_PREFIX_ALWAYS, err), err);
}

static enum attn_status read_replace(const struct part *part, struct attn_error *err)
{
    const char *pattern = NULL, *content = NULL;
    bool is_regex = false;

    ATTN_TRY(get_pattern(part, &pattern, &is_regex, err));
    ATTN_TRY(get_string(part, "content", &content, err));
    if (is_regex)
        ATTN_TRY(refuse_value(part, "Regex", "pattern", err));
    return add_stage(
        part, &attn_change_replace,
        attn_change_replace_create(pattern, strlen(pattern), content, strlen(content), err), err);
}

static enum attn_status read_strip(const struct part *part, struct attn_error *err)
{
    bool is_left = false, is_right = false;

    ATTN_TRY(get_bool(part, "strip_left", &is_left, err));
    ATTN_TRY(get_bool(part, "strip_right", &is_right, err));
    return add_stage(part, &attn_change_strip, attn_change_strip_create(is_left, is_right, err),
                     err);
}

static enum attn_status read_normalizers(const struct part *part, struct attn_error *err);

static const struct part_row normalizers[] = {
    {"NFC", read_nfc},
    {"Prepend", read_prepend},
    {"Replace", read_replace},
    {"Sequence", read_normalizers},
    {"Lowercase", read_lowercase},
    {"Strip", read_strip},
    {NULL, NULL},
};

static enum attn_status read_normalizers(const struct part *part, struct attn_error *err)
{
    return read_sequence(part, "normalizers", normalizers, err);
}

enum attn_status attn_parts_read_normalizer(struct attn_tokenizer *tokenizer, const char *text,
                                            size_t size, struct attn_error *err)
{
    return text ? read_part(tokenizer, "normalizer", text, size, normalizers, err) : ATTN_OK;
}

/* --- Pre-tokenizers --------------------------------------------------------------------------- */

/* Adds a stage of KIND that splits by TEXT. */
static enum attn_status add_pattern(const struct part *part, const struct attn_stage_kind *kind,
                                    const char *text, bool is_regex, struct attn_error *err)
{
    struct attn_pattern *pattern = NULL;
    enum attn_status status =
        is_regex ? attn_pattern_create(text, strlen(text), file_name, &pattern, err)
                 : attn_pattern_create_literal(text, strlen(text), file_name, &pattern, err);

    return status == ATTN_OK ? add_stage(part, kind, pattern, err) : status;
}

/* GPT-2's three steps in one: a space in front, its pattern, its alphabet. */
static enum attn_status read_byte_level(const struct part *part, struct attn_error *err)
{
    bool has_prefix = false, trims = false, has_pattern = true;

    ATTN_TRY(get_bool(part, "add_prefix_space", &has_prefix, err));
    ATTN_TRY(get_bool(part, "trim_offsets", &trims, err));
    if (attn_node_find(part->node, "use_regex"))
        ATTN_TRY(get_bool(part, "use_regex", &has_pattern, err));
    if (has_prefix)
        ATTN_TRY(add_stage(part, &attn_change_prefix,
                           attn_change_prefix_create(" ", 1, ATTN_PREFIX_UNLESS_THERE, err), err));
    if (has_pattern)
        ATTN_TRY(add_pattern(part, &attn_split_isolated, ATTN_GPT2_PATTERN, true, err));
    return add_stage(part, &attn_change_alphabet, NULL, err);
}

static enum attn_status read_split(const struct part *part, struct attn_error *err)
{
    const char *text = NULL, *behavior = NULL;
    bool is_regex = false, is_inverted = false;
    enum attn_status status = get_pattern(part, &text, &is_regex, err);

    if (status == ATTN_OK)
        status = get_string(part, "behavior", &behavior, err);
    if (status == ATTN_OK)
        status = get_bool(part, "invert", &is_inverted, err);
    if (status != ATTN_OK)
        return status;
    if (is_inverted)
        return refuse_value(part, "invert", "true", err);
    if (strcmp(behavior, "Isolated") == 0)
        return add_pattern(part, &attn_split_isolated, text, is_regex, err);
    if (strcmp(behavior, "MergedWithPrevious") == 0)
        return add_pattern(part, &attn_split_behind, text, is_regex, err);
    return refuse_value(part, "behavior", attn_quote_string(behavior).text, err);
}

static enum attn_status read_digits(const struct part *part, struct attn_error *err)
{
    bool is_individual = false;

    ATTN_TRY(get_bool(part, "individual_digits", &is_individual, err));
    return add_pattern(part, &attn_split_isolated, is_individual ? "\\p{N}" : "\\p{N}+", true, err);
}

/* Reads `prepend_scheme`, or `add_prefix_space` of old files; both must agree. */
static enum attn_status get_scheme(const struct part *part, const char **scheme,
                                   struct attn_error *err)
{
    static const char *const schemes[] = {"never", "always", "first"};
    const bool is_old = attn_node_find(part->node, "add_prefix_space");
    bool has_prefix = true;
    enum attn_status status =
        is_old ? get_bool(part, "add_prefix_space", &has_prefix, err) : ATTN_OK;

    *scheme = has_prefix ? "always" : "never";
    if (status == ATTN_OK && attn_node_find(part->node, "prepend_scheme"))
        status = get_string(part, "prepend_scheme", scheme, err);
    if (status != ATTN_OK)
        return status;
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
        if (strcmp(*scheme, schemes[i]) == 0 && (!is_old || has_prefix == (i > 0)))
            return ATTN_OK;
    return refuse(part, "prepend_scheme", "\"always\", \"first\" or \"never\"", err);
}

static enum attn_status read_metaspace(const struct part *part, struct attn_error *err)
{
    const char *replacement = NULL, *scheme = NULL;
    bool splits = true;
    enum attn_prefix when = ATTN_PREFIX_UNLESS_THERE;
    enum attn_status status = get_character(part, "replacement", &replacement, err);

    if (status == ATTN_OK)
        status = get_scheme(part, &scheme, err);
    if (status == ATTN_OK && attn_node_find(part->node, "split"))
        status = get_bool(part, "split", &splits, err);
    if (status == ATTN_OK && strcmp(replacement, " ") != 0)
        status = add_stage(
            part, &attn_change_replace,
            attn_change_replace_create(" ", 1, replacement, strlen(replacement), err), err);
    if (status == ATTN_OK && strcmp(scheme, "first") == 0)
        when = ATTN_PREFIX_AT_START_OF_TEXT;
    if (status == ATTN_OK && strcmp(scheme, "never") != 0)
        status =
            add_stage(part, &attn_change_prefix,
                      attn_change_prefix_create(replacement, strlen(replacement), when, err), err);
    if (status == ATTN_OK && splits)
        status = add_pattern(part, &attn_split_before, replacement, false, err);
    return status;
}

static enum attn_status read_pre_tokenizers(const struct part *part, struct attn_error *err);

static const struct part_row pre_tokenizers[] = {
    {"ByteLevel", read_byte_level},    {"Split", read_split},
    {"Digits", read_digits},           {"Metaspace", read_metaspace},
    {"Sequence", read_pre_tokenizers}, {NULL, NULL},
};

static enum attn_status read_pre_tokenizers(const struct part *part, struct attn_error *err)
{
    return read_sequence(part, "pretokenizers", pre_tokenizers, err);
}

enum attn_status attn_parts_read_pre_tokenizer(struct attn_tokenizer *tokenizer, const char *text,
                                               size_t size, struct attn_error *err)
{
    struct attn_stages *stages = &tokenizer->stages;
    const size_t n = stages->n;
    enum attn_status status =
        text ? read_part(tokenizer, "pre_tokenizer", text, size, pre_tokenizers, err) : ATTN_OK;

    /* When nothing looks at the alphabet but the model, the model reads bytes: the same tokens. */
    if (status == ATTN_OK && stages->n > n &&
        stages->list[stages->n - 1].kind == &attn_change_alphabet) {
        stages->n--;
        tokenizer->bpe.is_by_byte = true;
    }
    return status;
}

/* --- Decoders --------------------------------------------------------------------------------- */

static enum attn_status add_step(const struct part *part, struct attn_decode_step step,
                                 struct attn_error *err)
{
    return attn_decode_add(&part->tokenizer->decoder, step, NULL, NULL, err);
}

/* Its settings are those of the pre-tokenizer and say nothing here, but they must be there. */
static enum attn_status read_byte_level_decoder(const struct part *part, struct attn_error *err)
{
    bool ignored;

    ATTN_TRY(get_bool(part, "add_prefix_space", &ignored, err));
    ATTN_TRY(get_bool(part, "trim_offsets", &ignored, err));
    if (attn_node_find(part->node, "use_regex"))
        ATTN_TRY(get_bool(part, "use_regex", &ignored, err));
    return add_step(part, (struct attn_decode_step){.run = attn_decode_byte_level}, err);
}

static enum attn_status read_replace_decoder(const struct part *part, struct attn_error *err)
{
    struct attn_decode_step step = {.run = attn_decode_replace};
    const char *pattern = NULL, *content = NULL;
    bool is_regex = false;

    ATTN_TRY(get_pattern(part, &pattern, &is_regex, err));
    ATTN_TRY(get_string(part, "content", &content, err));
    if (is_regex)
        ATTN_TRY(refuse_value(part, "Regex", "pattern", err));
    step.n_a = strlen(pattern);
    step.n_b = strlen(content);
    return attn_decode_add(&part->tokenizer->decoder, step, pattern, content, err);
}

static enum attn_status read_byte_fallback(const struct part *part, struct attn_error *err)
{
    return add_step(part, (struct attn_decode_step){.run = attn_decode_byte_fallback}, err);
}

static enum attn_status read_fuse(const struct part *part, struct attn_error *err)
{
    return add_step(part, (struct attn_decode_step){.run = attn_decode_fuse}, err);
}

static enum attn_status read_strip_decoder(const struct part *part, struct attn_error *err)
{
    struct attn_decode_step step = {.run = attn_decode_strip};
    const char *content = NULL;

    ATTN_TRY(get_character(part, "content", &content, err));
    ATTN_TRY(get_count(part, "start", &step.start, err));
    ATTN_TRY(get_count(part, "stop", &step.stop, err));
    step.n_a = strlen(content);
    return attn_decode_add(&part->tokenizer->decoder, step, content, NULL, err);
}

static enum attn_status read_metaspace_decoder(const struct part *part, struct attn_error *err)
{
    struct attn_decode_step step = {.run = attn_decode_metaspace};
    const char *replacement = NULL, *scheme = NULL;
    bool splits;

    ATTN_TRY(get_character(part, "replacement", &replacement, err));
    ATTN_TRY(get_scheme(part, &scheme, err));
    if (attn_node_find(part->node, "split"))
        ATTN_TRY(get_bool(part, "split", &splits, err));
    step.n_a = strlen(replacement);
    step.start = strcmp(scheme, "never") != 0;
    return attn_decode_add(&part->tokenizer->decoder, step, replacement, NULL, err);
}

static enum attn_status read_decoders(const struct part *part, struct attn_error *err);

static const struct part_row decoders[] = {
    {"ByteLevel", read_byte_level_decoder},
    {"Replace", read_replace_decoder},
    {"ByteFallback", read_byte_fallback},
    {"Fuse", read_fuse},
    {"Strip", read_strip_decoder},
    {"Metaspace", read_metaspace_decoder},
    {"Sequence", read_decoders},
    {NULL, NULL},
};

static enum attn_status read_decoders(const struct part *part, struct attn_error *err)
{
    return read_sequence(part, "decoders", decoders, err);
}

enum attn_status attn_parts_read_decoder(struct attn_tokenizer *tokenizer, const char *text,
                                         size_t size, struct attn_error *err)
{
    const struct attn_decode_step join = {.run = attn_decode_join, .n_a = 1};

    if (!text)
        return attn_decode_add(&tokenizer->decoder, join, " ", NULL, err);
    return read_part(tokenizer, "decoder", text, size, decoders, err);
}

/* --- Post-processors -------------------------------------------------------------------------- */

static void set_trimming(const struct part *part, bool trims, bool has_prefix)
{
    struct attn_post_process *post = &part->tokenizer->post;

    post->has_prefix = trims ? has_prefix : post->has_prefix;
    post->trims = post->trims || trims;
}

static enum attn_status read_trimming(const struct part *part, struct attn_error *err)
{
    bool has_prefix = false, trims = false, ignored;
    enum attn_status status = get_bool(part, "add_prefix_space", &has_prefix, err);

    if (status == ATTN_OK)
        status = get_bool(part, "trim_offsets", &trims, err);
    if (status == ATTN_OK && attn_node_find(part->node, "use_regex"))
        status = get_bool(part, "use_regex", &ignored, err);
    set_trimming(part, trims, has_prefix);
    return status;
}

static enum attn_status add_special(const struct part *part, bool is_front,
                                    const struct attn_node *id, struct attn_error *err)
{
    int64_t number;

    if (!attn_node_int(id, &number) || number < 0 || number > INT32_MAX ||
        !attn_vocabulary_has(&part->tokenizer->vocabulary, (int32_t)number))
        return attn_error_set(err, ATTN_FORMAT,
                              "'%s' %s in '%s' adds a token by an id that no token has", part->role,
                              part->type, file_name);
    return attn_post_process_add(&part->tokenizer->post, is_front, (int32_t)number, err);
}

/* Adds the ids that `special_tokens` has for NAME. */
static enum attn_status add_named(const struct part *part, bool is_front, const char *name,
                                  struct attn_error *err)
{
    const struct attn_node *all = attn_node_find(part->node, "special_tokens");
    const struct attn_node *token = all ? attn_node_find(all, name) : NULL;
    const struct attn_node *ids =
        token && attn_node_is_object(token) ? attn_node_find(token, "ids") : NULL;
    enum attn_status status = ATTN_OK;

    if (!ids || !attn_node_is_array(ids))
        return attn_error_set(err, ATTN_FORMAT,
                              "'%s' %s in '%s' has no ids for '%s' in 'special_tokens'", part->role,
                              part->type, file_name, attn_quote_string(name).text);
    for (const struct attn_node *id = attn_node_first(ids); id && status == ATTN_OK;
         id = attn_node_next(id))
        status = add_special(part, is_front, id, err);
    return status;
}

/* The only member of PIECE, its key and the "id" in it; false when it is not such an object. */
static bool find_piece(const struct attn_node *piece, const char **kind, const char **id)
{
    const struct attn_node *member = attn_node_is_object(piece) ? attn_node_first(piece) : NULL;
    const struct attn_node *name =
        member && attn_node_is_object(member) ? attn_node_find(member, "id") : NULL;

    if (!name || attn_node_next(member))
        return false;
    *kind = attn_node_key(member);
    *id = attn_node_string(name);
    return *id && (strcmp(*kind, "Sequence") == 0 || strcmp(*kind, "SpecialToken") == 0);
}

/* Adds what stands before the text in PIECES, or behind it. The front is added from its end. */
static enum attn_status add_pieces(const struct part *part, const struct attn_node *pieces,
                                   bool is_front, struct attn_error *err)
{
    const char *names[ATTN_STAGE_MAX];
    size_t n = 0;
    bool is_behind = false;
    enum attn_status status = ATTN_OK;

    for (const struct attn_node *piece = attn_node_first(pieces); piece;
         piece = attn_node_next(piece)) {
        const char *kind, *id;

        if (!find_piece(piece, &kind, &id))
            return refuse(part, "single", "a list of tokens and the sequence A", err);
        if (strcmp(kind, "Sequence") == 0) {
            if (is_behind || strcmp(id, "A") != 0)
                return refuse_value(part, "single", "with other sequences than one A", err);
            is_behind = true;
        } else if (is_behind != is_front) {
            if (n == ATTN_STAGE_MAX)
                return refuse_value(part, "single", "with so many tokens", err);
            names[n++] = id;
        }
    }
    if (!is_behind)
        return refuse_value(part, "single", "without the sequence A", err);
    for (size_t i = 0; i < n && status == ATTN_OK; i++)
        status = add_named(part, is_front, names[is_front ? n - 1 - i : i], err);
    return status;
}

static enum attn_status read_template(const struct part *part, struct attn_error *err)
{
    const struct attn_node *single = attn_node_find(part->node, "single");
    const struct attn_node *tokens = attn_node_find(part->node, "special_tokens");
    const struct attn_node *pair = attn_node_find(part->node, "pair");
    enum attn_status status;

    if (!single || !attn_node_is_array(single))
        return refuse(part, "single", "a list", err);
    if (!pair || !attn_node_is_array(pair))
        return refuse(part, "pair", "a list", err);
    if (!tokens || !attn_node_is_object(tokens))
        return refuse(part, "special_tokens", "an object", err);
    status = add_pieces(part, single, true, err);
    return status == ATTN_OK ? add_pieces(part, single, false, err) : status;
}

/* Adds the token KEY, ["<s>", 1]. */
static enum attn_status add_pair(const struct part *part, const char *key, bool is_front,
                                 struct attn_error *err)
{
    const struct attn_node *list = attn_node_find(part->node, key);
    const struct attn_node *token = list && attn_node_is_array(list) ? attn_node_first(list) : NULL;
    const struct attn_node *id = token ? attn_node_next(token) : NULL;

    if (!id || !attn_node_string(token) || attn_node_next(id))
        return refuse(part, key, "a list of a token and its id", err);
    return add_special(part, is_front, id, err);
}

static enum attn_status read_bert(const struct part *part, struct attn_error *err)
{
    ATTN_TRY(add_pair(part, "cls", true, err));
    return add_pair(part, "sep", false, err);
}

static enum attn_status read_roberta(const struct part *part, struct attn_error *err)
{
    bool has_prefix = true, trims = true;
    enum attn_status status = read_bert(part, err);

    if (status == ATTN_OK && attn_node_find(part->node, "trim_offsets"))
        status = get_bool(part, "trim_offsets", &trims, err);
    if (status == ATTN_OK && attn_node_find(part->node, "add_prefix_space"))
        status = get_bool(part, "add_prefix_space", &has_prefix, err);
    set_trimming(part, trims, has_prefix);
    return status;
}

static enum attn_status read_post_processors(const struct part *part, struct attn_error *err);

static const struct part_row post_processors[] = {
    {"ByteLevel", read_trimming},       {"TemplateProcessing", read_template},
    {"BertProcessing", read_bert},      {"RobertaProcessing", read_roberta},
    {"Sequence", read_post_processors}, {NULL, NULL},
};

static enum attn_status read_post_processors(const struct part *part, struct attn_error *err)
{
    return read_sequence(part, "processors", post_processors, err);
}

enum attn_status attn_parts_read_post_processor(struct attn_tokenizer *tokenizer, const char *text,
                                                size_t size, struct attn_error *err)
{
    return text ? read_part(tokenizer, "post_processor", text, size, post_processors, err)
                : ATTN_OK;
}
