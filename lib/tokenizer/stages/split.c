/* split.c - stages that split a slice into pieces. */
#include "tokenizer/stages/stages_internal.h"

#include "base/utf8.h"
#include "tokenizer/unicode/unicode_internal.h"

/* --- By a pattern ----------------------------------------------------------------------------- */

/* How matches, and the text between them, are joined into pieces. */
enum split_rule {
    SPLIT_ISOLATED, /* each is a separate piece */
    SPLIT_AFTER,    /* a match is joined to the text before it */
    SPLIT_BEFORE,   /* a match is joined to the text after it */
    SPLIT_REMOVED,  /* text is a piece, and matches are dropped */
    SPLIT_MATCHES   /* matches are pieces, and text is dropped */
};

struct splitter {
    struct attn_walk *walk;
    size_t at; /* index of the stage */
    enum split_rule rule;
    /* The current piece, which was not passed on yet; layer NULL or empty: none. */
    struct attn_slice piece;
    bool is_match; /* whether the previous part was a match */
};

/* Passes on the current piece, and starts a new one with PART. */
static enum attn_status hold(struct splitter *splitter, struct attn_slice part,
                             struct attn_error *err)
{
    const struct attn_slice piece = splitter->piece;

    splitter->piece = part;
    return attn_walk_next(splitter->walk, splitter->at, piece, err);
}

/* Adds the next part: joins it to the current piece, or passes that on first. */
static enum attn_status add_part(struct splitter *splitter, struct attn_slice part, bool is_match,
                                 struct attn_error *err)
{
    const bool was_match = splitter->is_match;

    if ((splitter->rule == SPLIT_REMOVED && is_match) ||
        (splitter->rule == SPLIT_MATCHES && !is_match))
        return ATTN_OK;
    if (splitter->rule != SPLIT_AFTER && splitter->rule != SPLIT_BEFORE)
        return attn_walk_next(splitter->walk, splitter->at, part, err);
    splitter->is_match = is_match;
    /* There is no current piece at the beginning, and after bytes that are not UTF-8. */
    if (!splitter->piece.layer ||
        (splitter->rule == SPLIT_AFTER ? !is_match || was_match : is_match || !was_match))
        return hold(splitter, part, err);
    splitter->piece.end = part.end;
    return ATTN_OK;
}

/* Adds the parts of SLICE, which is valid UTF-8. Matches do not extend beyond it. */
static enum attn_status split_valid(struct splitter *splitter, struct attn_slice slice,
                                    struct attn_error *err)
{
    struct attn_match *match = splitter->walk->scratch[splitter->at];
    const char *text = attn_slice_text(slice);
    const size_t size = attn_slice_size(slice), begin = slice.begin;
    size_t from = 0, done = 0, last = SIZE_MAX; /* last: end of the previous match */
    struct attn_match_range found;

    attn_match_watch(match, splitter->walk->options->cancel);
    while (from < size) {
        ATTN_TRY(attn_match_find(match, text, size, from, &found, err));
        if (found.begin > size)
            break;
        from = found.end;
        if (found.begin == found.end &&
            found.begin == last) { /* an empty match at the end of the previous one: continue with
                                      the next character */
            uint32_t code_point;

            from += from < size ? attn_utf8_decode(text + from, size - from, &code_point) : 1;
            continue;
        }
        last = found.end;
        slice.begin = begin + done;
        slice.end = begin + found.begin;
        if (found.begin > done)
            ATTN_TRY(add_part(splitter, slice, false, err));
        slice.begin = begin + (found.begin > done ? found.begin : done);
        slice.end = begin + found.end;
        ATTN_TRY(add_part(splitter, slice, true, err));
        done = found.end;
    }
    slice.begin = begin + done;
    slice.end = begin + size;
    return done < size ? add_part(splitter, slice, false, err) : ATTN_OK;
}

/* Splits SLICE. Bytes that are not UTF-8 go to the model. */
static enum attn_status run_split(struct attn_walk *walk, size_t at, struct attn_slice slice,
                                  struct attn_error *err)
{
    const struct attn_text_stage_kind *kind = walk->pipeline->stages[at].kind;
    struct splitter splitter = {.walk = walk,
                                .at = at,
                                .rule = kind == &attn_split_isolated  ? SPLIT_ISOLATED
                                        : kind == &attn_split_after   ? SPLIT_AFTER
                                        : kind == &attn_split_before  ? SPLIT_BEFORE
                                        : kind == &attn_split_removed ? SPLIT_REMOVED
                                                                      : SPLIT_MATCHES};
    const struct attn_layer *layer = slice.layer;
    const char *text = layer->text;

    if (walk->is_utf8) {
        ATTN_TRY(split_valid(&splitter, slice, err));
        return hold(&splitter, (struct attn_slice){0}, err);
    }
    for (size_t i = slice.begin; i < slice.end;) {
        size_t bad = i + attn_utf8_valid_length(text + i, slice.end - i), good = bad;
        uint32_t n_bad;

        if (bad > i)
            ATTN_TRY(split_valid(&splitter, (struct attn_slice){layer, i, bad}, err));
        while (good < slice.end && attn_utf8_decode(text + good, slice.end - good, &n_bad) == 0)
            good += n_bad;
        ATTN_TRY(hold(&splitter, (struct attn_slice){0}, err));
        ATTN_TRY(attn_walk_model(walk, (struct attn_slice){layer, bad, good}, err));
        i = good;
    }
    return ATTN_OK;
}

/* --- By characters ---------------------------------------------------------------------------- */

enum split_by { BY_SPACE, BY_PUNCTUATION, BY_SEPARATOR };

static enum attn_status split_characters(struct attn_walk *walk, size_t at, struct attn_slice slice,
                                         enum split_by by, struct attn_error *err)
{
    const char *text = slice.layer->text;
    size_t done = slice.begin;

    for (size_t i = slice.begin, length; i < slice.end; i += length) {
        uint32_t code_point;
        bool is_blank, is_alone;

        length = attn_utf8_decode(text + i, slice.end - i, &code_point);
        if (length == 0) {
            length = 1;
            continue;
        }
        is_blank = attn_utf8_is_white_space(code_point) ||
                   (by == BY_SEPARATOR && code_point >= 0x1c && code_point <= 0x1f);
        is_alone = !is_blank && by == BY_PUNCTUATION &&
                   attn_character_is(code_point, ATTN_CLASS_PUNCTUATION);
        if (!is_blank && !is_alone)
            continue;
        ATTN_TRY(attn_walk_next(walk, at, (struct attn_slice){slice.layer, done, i}, err));
        done = i + length;
        if (is_alone)
            ATTN_TRY(attn_walk_next(walk, at, (struct attn_slice){slice.layer, i, done}, err));
    }
    return attn_walk_next(walk, at, (struct attn_slice){slice.layer, done, slice.end}, err);
}

static enum attn_status run_white_space(struct attn_walk *walk, size_t at, struct attn_slice slice,
                                        struct attn_error *err)
{
    return split_characters(walk, at, slice, BY_SPACE, err);
}

static enum attn_status run_bert(struct attn_walk *walk, size_t at, struct attn_slice slice,
                                 struct attn_error *err)
{
    return split_characters(walk, at, slice, BY_PUNCTUATION, err);
}

/* Splits like str.split of Python, for which U+001C to U+001F are white space. */
static enum attn_status run_letters(struct attn_walk *walk, size_t at, struct attn_slice slice,
                                    struct attn_error *err)
{
    return split_characters(walk, at, slice, BY_SEPARATOR, err);
}

/* --- The kinds -------------------------------------------------------------------------------- */

static enum attn_status begin_match(const void *data, size_t n, void **scratch,
                                    struct attn_error *err)
{
    struct attn_match *match = NULL;
    enum attn_status status = attn_match_create(data, n, &match, err);

    *scratch = match;
    return status;
}

static void end_match(void *scratch)
{
    attn_match_free(scratch);
}

static void free_pattern(void *data)
{
    attn_regex_free(data);
}

#define SPLIT                                                                                      \
    {                                                                                              \
        .run = run_split, .begin = begin_match, .end = end_match, .free = free_pattern             \
    }
const struct attn_text_stage_kind attn_split_isolated = SPLIT;
const struct attn_text_stage_kind attn_split_after = SPLIT;
const struct attn_text_stage_kind attn_split_before = SPLIT;
const struct attn_text_stage_kind attn_split_removed = SPLIT;
const struct attn_text_stage_kind attn_split_matches = SPLIT;
const struct attn_text_stage_kind attn_split_white_space = {.run = run_white_space};
const struct attn_text_stage_kind attn_split_bert = {.run = run_bert};
const struct attn_text_stage_kind attn_split_letters = {.run = run_letters};
