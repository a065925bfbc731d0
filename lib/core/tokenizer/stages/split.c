/* split.c - stages that split a slice into pieces. */
#include "tokenizer/stages/stages_internal.h"

#include "base/memory.h"
#include "base/text/utf8.h"
#include "tokenizer/unicode/unicode_internal.h"

struct splitter {
    struct attn_walk *walk;
    size_t at; /* index of the stage */
    const struct attn_split *split;
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

/* Whether a part is joined to the part before it. */
static bool joins(enum attn_split_behavior behavior, bool was_match, bool is_match)
{
    switch (behavior) {
    case ATTN_SPLIT_CONTIGUOUS:
        return is_match == was_match;
    case ATTN_SPLIT_MERGED_WITH_PREVIOUS:
        return is_match && !was_match;
    case ATTN_SPLIT_MERGED_WITH_NEXT:
        return !is_match && was_match;
    case ATTN_SPLIT_ISOLATED:
    case ATTN_SPLIT_REMOVED:
        break;
    }
    return false;
}

/* Adds the next part: joins it to the current piece, or passes that on first. */
static enum attn_status add_part(struct splitter *splitter, struct attn_slice part, bool is_found,
                                 struct attn_error *err)
{
    const enum attn_split_behavior behavior = splitter->split->behavior;
    const bool was_match = splitter->is_match, is_match = is_found != splitter->split->is_inverted;

    if (behavior == ATTN_SPLIT_REMOVED && is_match)
        return ATTN_OK;
    splitter->is_match = is_match;
    /* There is no current piece at the beginning, and after bytes that are not UTF-8. */
    if (!splitter->piece.layer || !joins(behavior, was_match, is_match))
        return hold(splitter, part, err);
    splitter->piece.end = part.end;
    return ATTN_OK;
}

/* Finds the first match in TEXT [size] at or after FROM. If there is none, found->begin is more
 * than SIZE. */
static enum attn_status find(const struct splitter *splitter, const char *text, size_t size,
                             size_t from, struct attn_match_range *found, struct attn_error *err)
{
    const struct attn_split *split = splitter->split;

    if (split->pattern)
        return attn_match_find(splitter->walk->scratch[splitter->at], text, size, from, found, err);
    found->begin = size + 1;
    for (size_t i = from, length; i < size && found->begin > size; i += length) {
        uint32_t code_point;

        length = attn_utf8_decode(text + i, size - i, &code_point);
        if (length > 0 && attn_character_is(code_point, split->character_class))
            *found = (struct attn_match_range){i, i + length};
        length = length > 0 ? length : 1;
    }
    return ATTN_OK;
}

/* Adds the parts of SLICE, which is valid UTF-8 if there is a pattern. Matches do not extend beyond
 * it. */
static enum attn_status split_valid(struct splitter *splitter, struct attn_slice slice,
                                    struct attn_error *err)
{
    const char *text = attn_slice_text(slice);
    const size_t size = attn_slice_size(slice), begin = slice.begin;
    size_t from = 0, done = 0, last = SIZE_MAX; /* last: end of the previous match */
    struct attn_match_range found;

    if (splitter->split->pattern)
        attn_match_watch(splitter->walk->scratch[splitter->at], splitter->walk->options->cancel);
    while (from < size) {
        ATTN_TRY(find(splitter, text, size, from, &found, err));
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
    const struct attn_split *split = walk->pipeline->stages[at].data;
    struct splitter splitter = {.walk = walk, .at = at, .split = split};
    const struct attn_layer *layer = slice.layer;
    const char *text = layer->text;

    if (walk->is_utf8 || !split->pattern) {
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

/* Splits SLICE where the script changes. A character that belongs to any script is part of the
 * piece before it; at the beginning it is dropped. Bytes that are not UTF-8 are a script. */
static enum attn_status run_scripts(struct attn_walk *walk, size_t at, struct attn_slice slice,
                                    struct attn_error *err)
{
    const char *text = slice.layer->text;
    struct attn_slice piece = {slice.layer, slice.end, slice.end};
    uint32_t last = 0;

    for (size_t i = slice.begin, length; i < slice.end; i += length) {
        uint32_t code_point, script;

        length = attn_utf8_decode(text + i, slice.end - i, &code_point);
        script = length > 0 ? attn_character_script(code_point) : UINT32_MAX;
        length += length == 0;
        if (script == 0 || script == last)
            continue;
        piece.end = i;
        if (last != 0)
            ATTN_TRY(attn_walk_next(walk, at, piece, err));
        piece.begin = i;
        last = script;
    }
    piece.end = slice.end;
    return attn_walk_next(walk, at, piece, err);
}

const struct attn_text_stage_kind attn_split_scripts = {.run = run_scripts};

static enum attn_status begin_match(const void *data, size_t n, void **scratch,
                                    struct attn_error *err)
{
    const struct attn_split *split = data;
    struct attn_match *match = NULL;
    enum attn_status status =
        split->pattern ? attn_match_create(split->pattern, n, &match, err) : ATTN_OK;

    *scratch = match;
    return status;
}

static void end_match(void *scratch)
{
    attn_match_free(scratch);
}

static void free_split(void *data)
{
    struct attn_split *split = data;

    attn_regex_free(split->pattern);
    attn_free(split);
}

static const struct attn_text_stage_kind split_kind = {
    .run = run_split, .begin = begin_match, .end = end_match, .free = free_split};

enum attn_status attn_split_add(struct attn_pipeline *pipeline, struct attn_split split,
                                struct attn_error *err)
{
    struct attn_split *made = attn_alloc(1, sizeof *made, err);

    if (made)
        *made = split;
    else
        attn_regex_free(split.pattern);
    return attn_pipeline_add(pipeline, &split_kind, made, err);
}

enum attn_status attn_split_add_words(struct attn_pipeline *pipeline, struct attn_error *err)
{
    ATTN_TRY(attn_split_add(pipeline,
                            (struct attn_split){.character_class = ATTN_CLASS_WHITE_SPACE}, err));
    return attn_split_add(
        pipeline,
        (struct attn_split){ATTN_SPLIT_ISOLATED, .character_class = ATTN_CLASS_PUNCTUATION}, err);
}

bool attn_split_is_by_space(const struct attn_pipeline *pipeline)
{
    const struct attn_text_stage *last = pipeline->stages + (pipeline->n > 0 ? pipeline->n - 1 : 0);
    const struct attn_split *split = last->data;

    return last->kind == &split_kind && !split->pattern &&
           split->character_class == ATTN_CLASS_WHITE_SPACE;
}
