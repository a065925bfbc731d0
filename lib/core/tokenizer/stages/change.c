/* change.c - stages that change a text. */
#include "tokenizer/stages/stages_internal.h"

#include "base/memory.h"
#include "base/text/utf8.h"
#include "tokenizer/unicode/unicode_internal.h"
#include "tokenizer/vocabulary.h"

#include <string.h>

/* Reads the character at AT of TEXT and returns its size. Malformed bytes count as characters. */
static size_t next_character(const char *text, size_t size, size_t at, uint32_t *code_point)
{
    size_t length = attn_utf8_decode(text + at, size - at, code_point);

    if (length > 0)
        return length;
    *code_point = UINT32_MAX;
    return 1;
}

static enum attn_status run_invalid(struct attn_walk *walk, size_t at, struct attn_slice slice,
                                    struct attn_error *err)
{
    static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */
    const char *text = attn_slice_text(slice);
    const size_t size = attn_slice_size(slice);
    struct attn_layer *layer = walk->scratch[at];

    if (walk->options->invalid != ATTN_INVALID_TEXT_REPLACE)
        return attn_walk_next(walk, at, slice, err);
    attn_layer_begin(layer, slice);
    for (size_t i = 0; i < size;) {
        size_t n_valid = attn_utf8_valid_length(text + i, size - i);
        uint32_t n_bad;

        attn_layer_keep(layer, i, n_valid);
        i += n_valid;
        if (i == size)
            break;
        (void)attn_utf8_decode(text + i, size - i, &n_bad);
        attn_layer_put(layer, replacement, sizeof replacement - 1, i, n_bad);
        i += n_bad;
    }
    return attn_walk_next_layer(walk, at, layer, err);
}

const struct attn_text_stage_kind attn_change_invalid = {.run = run_invalid, .makes_layer = true};

static enum attn_status run_form(enum attn_normal_form form, struct attn_walk *walk, size_t at,
                                 struct attn_slice slice, struct attn_error *err)
{
    struct attn_layer *layer = walk->scratch[at];

    if (attn_normal_form_is_given(form, attn_slice_text(slice), attn_slice_size(slice)))
        return attn_walk_next(walk, at, slice, err);
    attn_layer_begin(layer, slice);
    ATTN_TRY(attn_normal_form_apply(form, layer, attn_slice_size(slice), err));
    return attn_walk_next_layer(walk, at, layer, err);
}

/* X(FORM, form) */
#define FORM_MAP(X) X(NFC, nfc) X(NFD, nfd) X(NFKC, nfkc) X(NFKD, nfkd)
#define FORM_STAGE(FORM, form)                                                                     \
    static enum attn_status run_##form(struct attn_walk *walk, size_t at, struct attn_slice slice, \
                                       struct attn_error *err)                                     \
    {                                                                                              \
        return run_form(ATTN_##FORM, walk, at, slice, err);                                        \
    }                                                                                              \
    const struct attn_text_stage_kind attn_change_##form = {.run = run_##form, .makes_layer = true};
FORM_MAP(FORM_STAGE)

static enum attn_status run_lowercase(struct attn_walk *walk, size_t at, struct attn_slice slice,
                                      struct attn_error *err)
{
    const char *text = attn_slice_text(slice);
    const size_t size = attn_slice_size(slice);
    struct attn_layer *layer = walk->scratch[at];
    size_t kept = 0;

    attn_layer_begin(layer, slice);
    for (size_t i = 0, length; i < size; i += length) {
        uint32_t code_point, lower[2];
        char out[8];
        size_t n;

        length = next_character(text, size, i, &code_point);
        n = attn_lowercase(code_point, lower);
        if (n == 1 && lower[0] == code_point)
            continue;
        attn_layer_keep(layer, kept, i - kept);
        kept = i + length;
        for (size_t k = 0; k < n; k++)
            attn_layer_put(layer, out, attn_utf8_encode(lower[k], out), i, length);
    }
    if (kept == 0)
        return attn_walk_next(walk, at, slice, err);
    attn_layer_keep(layer, kept, size - kept);
    return attn_walk_next_layer(walk, at, layer, err);
}

const struct attn_text_stage_kind attn_change_lowercase = {.run = run_lowercase,
                                                           .makes_layer = true};

static enum attn_status run_alphabet(struct attn_walk *walk, size_t at, struct attn_slice slice,
                                     struct attn_error *err)
{
    const char *text = attn_slice_text(slice);
    const size_t size = attn_slice_size(slice);
    struct attn_layer *layer = walk->scratch[at];
    struct attn_alphabet alphabet;

    attn_alphabet_init(&alphabet);
    attn_layer_begin(layer, slice);
    for (size_t i = 0; i < size; i++) {
        char out[2];

        attn_layer_put(layer, out, attn_alphabet_from_bytes(&alphabet, text + i, 1, out), i, 1);
    }
    return attn_walk_next_layer(walk, at, layer, err);
}

const struct attn_text_stage_kind attn_change_alphabet = {.run = run_alphabet, .makes_layer = true};

struct strip {
    bool is_left, is_right;
};

static enum attn_status run_strip(struct attn_walk *walk, size_t at, struct attn_slice slice,
                                  struct attn_error *err)
{
    const struct strip *strip = walk->pipeline->stages[at].data;
    const char *text = slice.layer->text;
    uint32_t code_point;

    while (strip->is_left && slice.begin < slice.end) {
        size_t length = next_character(text, slice.end, slice.begin, &code_point);

        if (!attn_utf8_is_white_space(code_point))
            break;
        slice.begin += length;
    }
    while (strip->is_right && slice.begin < slice.end) {
        size_t last = slice.end - 1;

        while (last > slice.begin && ((unsigned char)text[last] & 0xc0) == 0x80)
            last--;
        (void)next_character(text, slice.end, last, &code_point);
        if (!attn_utf8_is_white_space(code_point))
            break;
        slice.end = last;
    }
    return attn_walk_next(walk, at, slice, err);
}

static const struct attn_text_stage_kind strip_kind = {.run = run_strip, .free = attn_free};

enum attn_status attn_change_add_strip(struct attn_pipeline *pipeline, bool is_left, bool is_right,
                                       struct attn_error *err)
{
    struct strip *strip = attn_alloc(1, sizeof *strip, err);

    if (strip)
        *strip = (struct strip){is_left, is_right};
    return attn_pipeline_add(pipeline, &strip_kind, strip, err);
}

struct replace {
    size_t n_pattern, n_content;
    size_t last;  /* offset of the last character of the pattern: the content corresponds to that
                     character */
    char bytes[]; /* pattern, then content */
};

static enum attn_status run_replace(struct attn_walk *walk, size_t at, struct attn_slice slice,
                                    struct attn_error *err)
{
    const struct replace *replace = walk->pipeline->stages[at].data;
    const char *text = attn_slice_text(slice), *found;
    const size_t size = attn_slice_size(slice), n = replace->n_pattern;
    struct attn_layer *layer = walk->scratch[at];
    size_t kept = 0;

    attn_layer_begin(layer, slice);
    for (size_t i = 0; i + n <= size; i++) {
        found = memchr(text + i, replace->bytes[0], size - n + 1 - i);
        if (!found)
            break;
        i = (size_t)(found - text);
        if (memcmp(found, replace->bytes, n) != 0)
            continue;
        attn_layer_keep(layer, kept, i - kept);
        if (replace->n_content > 0)
            attn_layer_put(layer, replace->bytes + n, replace->n_content, i + replace->last,
                           n - replace->last);
        kept = i + n;
        i = kept - 1;
    }
    if (kept == 0)
        return attn_walk_next(walk, at, slice, err);
    attn_layer_keep(layer, kept, size - kept);
    return attn_walk_next_layer(walk, at, layer, err);
}

static const struct attn_text_stage_kind replace_kind = {
    .run = run_replace, .free = attn_free, .makes_layer = true};

enum attn_status attn_change_add_replace(struct attn_pipeline *pipeline, const char *pattern,
                                         const char *content, struct attn_error *err)
{
    const size_t n_pattern = strlen(pattern), n_content = strlen(content);
    struct replace *replace;

    ATTN_TRY(ATTN_NEW(replace, attn_alloc(1, sizeof *replace + n_pattern + n_content, err)));
    replace->n_pattern = n_pattern;
    replace->n_content = n_content;
    replace->last = n_pattern - 1;
    while (replace->last > 0 && ((unsigned char)pattern[replace->last] & 0xc0) == 0x80)
        replace->last--;
    memcpy(replace->bytes, pattern, n_pattern);
    memcpy(replace->bytes + n_pattern, content, n_content);
    return attn_pipeline_add(pipeline, &replace_kind, replace, err);
}

struct replace_matches {
    struct attn_regex *pattern; /* owns */
    size_t n_content;
    char content[];
};

/* Replaces FOUND in TEXT by the content, which corresponds to the last matched character or, for an
 * empty match, to the character before it. */
static void replace_match(const struct replace_matches *replace, struct attn_layer *layer,
                          const char *text, const struct attn_match_range *found)
{
    size_t last = found->end;

    if (replace->n_content == 0)
        return;
    while (last > 0 && ((unsigned char)text[--last] & 0xc0) == 0x80)
        continue;
    attn_layer_put(layer, replace->content, replace->n_content, last, found->end - last);
}

static enum attn_status run_replace_matches(struct attn_walk *walk, size_t at,
                                            struct attn_slice slice, struct attn_error *err)
{
    const struct replace_matches *replace = walk->pipeline->stages[at].data;
    struct attn_match_scratch *scratch = walk->scratch[at];
    const char *text = attn_slice_text(slice);
    const size_t size = attn_slice_size(slice);
    size_t kept = 0, from = 0, last = SIZE_MAX; /* last: end of the previous match */
    bool is_changed = false;

    if (!attn_match_scratch_begin(scratch, walk, slice))
        return attn_walk_next(walk, at, slice, err);
    while (from <= size) {
        struct attn_match_range found;
        uint32_t code_point;

        ATTN_TRY(attn_match_find(scratch->match, text, size, from, &found, err));
        if (found.begin > size)
            break;
        from = found.end;
        if (found.begin == found.end) /* an empty match: continue with the next character */
            from += from < size ? next_character(text, size, from, &code_point) : 1;
        if (found.begin == found.end && found.begin == last)
            continue;
        last = found.end;
        is_changed = true;
        attn_layer_keep(&scratch->layer, kept, found.begin - kept);
        replace_match(replace, &scratch->layer, text, &found);
        kept = found.end;
    }
    if (!is_changed)
        return attn_walk_next(walk, at, slice, err);
    attn_layer_keep(&scratch->layer, kept, size - kept);
    return attn_walk_next_layer(walk, at, &scratch->layer, err);
}

static enum attn_status begin_matches(const void *data, size_t n, void **out,
                                      struct attn_error *err)
{
    const struct replace_matches *replace = data;

    return attn_match_scratch_create(replace->pattern, n, out, err);
}

static void free_matches(void *data)
{
    struct replace_matches *replace = data;

    attn_regex_free(replace->pattern);
    attn_free(replace);
}

static const struct attn_text_stage_kind matches_kind = {.run = run_replace_matches,
                                                         .begin = begin_matches,
                                                         .end = attn_match_scratch_free,
                                                         .free = free_matches};

enum attn_status attn_change_add_replace_matches(struct attn_pipeline *pipeline,
                                                 struct attn_regex *pattern, const char *content,
                                                 struct attn_error *err)
{
    const size_t n_content = strlen(content);
    struct replace_matches *replace = attn_alloc(1, sizeof *replace + n_content, err);

    if (!replace) {
        attn_regex_free(pattern);
        return ATTN_NO_MEMORY;
    }
    replace->pattern = pattern;
    replace->n_content = n_content;
    memcpy(replace->content, content, n_content);
    return attn_pipeline_add(pipeline, &matches_kind, replace, err);
}

struct prefix {
    enum attn_prefix when;
    size_t size;
    char text[];
};

/* Whether SLICE begins with the first character of the original text. A slice may be a single byte
 * of it. */
static bool is_at_start(struct attn_slice slice)
{
    const struct attn_layer *given = slice.layer;
    size_t at = attn_layer_origin(slice.layer, slice.begin);

    while (given->under)
        given = given->under;
    while (at > 0 && at < given->size && ((unsigned char)given->text[at] & 0xc0) == 0x80)
        at--;
    return at == 0;
}

static bool is_wanted(const struct prefix *prefix, const struct attn_walk *walk,
                      struct attn_slice slice)
{
    const bool continues = walk->options->place == ATTN_TEXT_CONTINUES;

    if (continues && prefix->when != ATTN_PREFIX_OF_WORD)
        return false;
    if (prefix->when == ATTN_PREFIX_ALWAYS)
        return true;
    if (prefix->size <= attn_slice_size(slice) &&
        memcmp(attn_slice_text(slice), prefix->text, prefix->size) == 0)
        return false;
    if (prefix->when == ATTN_PREFIX_OF_WORD)
        return !(continues && is_at_start(slice));
    return prefix->when == ATTN_PREFIX_UNLESS_THERE || is_at_start(slice);
}

static enum attn_status run_prefix(struct attn_walk *walk, size_t at, struct attn_slice slice,
                                   struct attn_error *err)
{
    const struct prefix *prefix = walk->pipeline->stages[at].data;
    const char *text = attn_slice_text(slice);
    const size_t size = attn_slice_size(slice);
    struct attn_layer *layer = walk->scratch[at];
    uint32_t code_point;
    size_t length;

    if (!is_wanted(prefix, walk, slice))
        return attn_walk_next(walk, at, slice, err);
    length = next_character(text, size, 0, &code_point);
    attn_layer_begin(layer, slice);
    attn_layer_put(layer, prefix->text, prefix->size, 0, length);
    attn_layer_put(layer, text, length, 0, length);
    attn_layer_keep(layer, length, size - length);
    return attn_walk_next_layer(walk, at, layer, err);
}

static const struct attn_text_stage_kind prefix_kind = {
    .run = run_prefix, .free = attn_free, .makes_layer = true};

enum attn_status attn_change_add_prefix(struct attn_pipeline *pipeline, const char *text,
                                        enum attn_prefix when, struct attn_error *err)
{
    const size_t size = strlen(text);
    struct prefix *prefix;

    ATTN_TRY(ATTN_NEW(prefix, attn_alloc(1, sizeof *prefix + size, err)));
    prefix->when = when;
    prefix->size = size;
    memcpy(prefix->text, text, size);
    return attn_pipeline_add(pipeline, &prefix_kind, prefix, err);
}

/* --- BERT's normalizer ------------------------------------------------------------------------ */

/* What happens to the characters of a class. */
enum change { LEFT_OUT, BLANK, SET_APART };

/* Appends the replacement of the character at AT of the slice, which has LENGTH bytes. */
static void put(struct attn_layer *layer, enum change change, size_t at, size_t length)
{
    if (change == LEFT_OUT)
        return;
    attn_layer_put(layer, " ", 1, at, length);
    if (change == BLANK)
        return;
    attn_layer_put(layer, layer->under->text + layer->base + at, length, at, length);
    attn_layer_put(layer, " ", 1, at, length);
}

static enum attn_status run_change(struct attn_walk *walk, size_t at, struct attn_slice slice,
                                   enum attn_character_class character_class, enum change change,
                                   struct attn_error *err)
{
    struct attn_layer *layer = walk->scratch[at];
    const char *text = attn_slice_text(slice);
    const size_t size = attn_slice_size(slice);
    size_t kept = 0;
    bool is_changed = false;

    attn_layer_begin(layer, slice);
    for (size_t i = 0, length; i < size; i += length) {
        uint32_t code_point;

        length = attn_utf8_decode(text + i, size - i, &code_point);
        if (length == 0 || text[i] == ' ' || !attn_character_is(code_point, character_class)) {
            length = length > 0 ? length : 1;
            continue;
        }
        attn_layer_keep(layer, kept, i - kept);
        put(layer, change, i, length);
        kept = i + length;
        is_changed = true;
    }
    if (!is_changed)
        return attn_walk_next(walk, at, slice, err);
    attn_layer_keep(layer, kept, size - kept);
    return attn_walk_next_layer(walk, at, layer, err);
}

#define STAGE(linkage, name, character_class, change)                                              \
    static enum attn_status run_##name(struct attn_walk *walk, size_t at, struct attn_slice slice, \
                                       struct attn_error *err)                                     \
    {                                                                                              \
        return run_change(walk, at, slice, character_class, change, err);                          \
    }                                                                                              \
    linkage struct attn_text_stage_kind attn_change_##name = {.run = run_##name,                   \
                                                              .makes_layer = true}

STAGE(static const, clean, ATTN_CLASS_CONTROL, LEFT_OUT);
STAGE(static const, blank, ATTN_CLASS_WHITE_SPACE, BLANK);
STAGE(static const, set_apart, ATTN_CLASS_IDEOGRAPH, SET_APART);
STAGE(static const, strip_accents, ATTN_CLASS_ACCENT, LEFT_OUT);
STAGE(const, strip_marks, ATTN_CLASS_MARK, LEFT_OUT);
STAGE(const, nmt_clean, ATTN_CLASS_NMT_CONTROL, LEFT_OUT);
STAGE(const, nmt_blank, ATTN_CLASS_NMT_BLANK, BLANK);

enum attn_status attn_change_add_words(struct attn_pipeline *pipeline,
                                       const struct attn_word_normalizer *normalizer,
                                       struct attn_error *err)
{
    const struct {
        bool is_wanted;
        const struct attn_text_stage_kind *kind;
    } steps[] = {
        {normalizer->cleans, &attn_change_clean},
        {normalizer->cleans, &attn_change_blank},
        {normalizer->sets_apart, &attn_change_set_apart},
        {normalizer->strips_accents, &attn_change_nfd},
        {normalizer->strips_accents, &attn_change_strip_accents},
        {normalizer->lowers, &attn_change_lowercase},
    };

    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (steps[i].is_wanted)
            ATTN_TRY(attn_pipeline_add(pipeline, steps[i].kind, NULL, err));
    return ATTN_OK;
}
