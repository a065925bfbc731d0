/* split.c - see split.h. */
#include "text/stages/split.h"

#include "base/utf8.h"

/* Told of each part of a slice in order: a match, or what lies between two. */
struct splitter {
    struct attn_walk *walk;
    size_t at;               /* of the stage */
    struct attn_slice piece; /* that is not handed on yet; empty: none */
    bool is_match;           /* whether the part before was one */
    enum attn_status (*part)(struct splitter *splitter, struct attn_slice part, bool is_match,
                             struct attn_error *err);
};

static enum attn_status isolate(struct splitter *splitter, struct attn_slice part, bool is_match,
                                struct attn_error *err)
{
    (void)is_match;
    return attn_walk_next(splitter->walk, splitter->at, part, err);
}

/* Hands on the piece that was held, and holds PART. */
static enum attn_status hold(struct splitter *splitter, struct attn_slice part,
                             struct attn_error *err)
{
    const struct attn_slice piece = splitter->piece;

    splitter->piece = part;
    return attn_walk_next(splitter->walk, splitter->at, piece, err);
}

static enum attn_status end_piece(struct splitter *splitter, struct attn_slice part, bool is_match,
                                  struct attn_error *err)
{
    const bool joins = is_match && !splitter->is_match && splitter->piece.layer;

    splitter->is_match = is_match;
    if (!joins)
        return hold(splitter, part, err);
    splitter->piece.end = part.end;
    return ATTN_OK;
}

/* A match waits for what follows: it joins that unless it is a match too. */
static enum attn_status begin_piece(struct splitter *splitter, struct attn_slice part,
                                    bool is_match, struct attn_error *err)
{
    const bool joins = splitter->is_match && !is_match;

    splitter->is_match = is_match;
    if (!joins)
        return hold(splitter, part, err);
    splitter->piece.end = part.end;
    return ATTN_OK;
}

/* The parts of SLICE, which is UTF-8. Nothing is matched across its ends. */
struct parts {
    struct splitter *splitter;
    struct attn_slice slice;
    size_t done; /* told of */
};

static enum attn_status tell(struct parts *parts, size_t end, bool is_match, struct attn_error *err)
{
    const struct attn_slice part = {parts->slice.layer, parts->slice.begin + parts->done,
                                    parts->slice.begin + end};

    parts->done = end;
    return parts->splitter->part(parts->splitter, part, is_match, err);
}

static size_t character_length(const char *text, size_t size, size_t at)
{
    uint32_t code_point;

    return at < size ? attn_utf8_decode(text + at, size - at, &code_point) : 1;
}

static enum attn_status split_valid(struct splitter *splitter, struct attn_slice slice,
                                    struct attn_error *err)
{
    struct attn_match *match = splitter->walk->scratch[splitter->at];
    struct parts parts = {splitter, slice, 0};
    const char *text = attn_slice_text(slice);
    const size_t size = attn_slice_size(slice);
    size_t from = 0, last = SIZE_MAX; /* end of the match before */
    struct attn_found found;
    enum attn_status status = ATTN_OK;

    attn_match_watch(match, splitter->walk->options->cancel);
    while (status == ATTN_OK && from < size) {
        status = attn_match_find(match, text, size, from, &found, err);
        if (status != ATTN_OK || found.begin > size)
            break;
        from = found.end;
        if (found.begin == found.end &&
            found.begin == last) { /* empty, where a match ended: look further on */
            from += character_length(text, size, from);
            continue;
        }
        last = found.end;
        if (found.begin > parts.done)
            status = tell(&parts, found.begin, false, err);
        if (status == ATTN_OK)
            status = tell(&parts, found.end, true, err);
    }
    if (status == ATTN_OK && parts.done < size)
        status = tell(&parts, size, false, err);
    return status;
}

/* Tells of the parts of SLICE; bytes that are not UTF-8 go to the model. */
static enum attn_status split(struct splitter *splitter, struct attn_slice slice,
                              struct attn_error *err)
{
    const char *text = slice.layer->text;
    enum attn_status status = ATTN_OK;

    if (splitter->walk->is_utf8)
        return split_valid(splitter, slice, err);
    for (size_t at = slice.begin; at < slice.end && status == ATTN_OK;) {
        size_t bad = at + attn_utf8_valid_length(text + at, slice.end - at), good = bad;
        uint32_t n_bad;

        if (bad > at)
            status = split_valid(splitter, (struct attn_slice){slice.layer, at, bad}, err);
        while (good < slice.end && attn_utf8_decode(text + good, slice.end - good, &n_bad) == 0)
            good += n_bad;
        if (status == ATTN_OK)
            status = hold(splitter, (struct attn_slice){0}, err);
        if (status == ATTN_OK)
            status =
                attn_walk_model(splitter->walk, (struct attn_slice){slice.layer, bad, good}, err);
        at = good;
    }
    return status;
}

static enum attn_status run_isolated(struct attn_walk *walk, size_t at, struct attn_slice slice,
                                     struct attn_error *err)
{
    struct splitter splitter = {.walk = walk, .at = at, .part = isolate};

    return split(&splitter, slice, err);
}

static enum attn_status run_after(struct attn_walk *walk, size_t at, struct attn_slice slice,
                                  struct attn_error *err)
{
    struct splitter splitter = {.walk = walk, .at = at, .part = end_piece};

    ATTN_TRY(split(&splitter, slice, err));
    return hold(&splitter, (struct attn_slice){0}, err);
}

static enum attn_status run_before(struct attn_walk *walk, size_t at, struct attn_slice slice,
                                   struct attn_error *err)
{
    struct splitter splitter = {.walk = walk, .at = at, .part = begin_piece};

    ATTN_TRY(split(&splitter, slice, err));
    return hold(&splitter, (struct attn_slice){0}, err);
}

/* --- The rows --------------------------------------------------------------------------------- */

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
    attn_pattern_free(data);
}

const struct attn_text_stage_kind attn_split_isolated = {run_isolated, begin_match, end_match,
                                                         free_pattern};
const struct attn_text_stage_kind attn_split_after = {run_after, begin_match, end_match,
                                                      free_pattern};
const struct attn_text_stage_kind attn_split_before = {run_before, begin_match, end_match,
                                                       free_pattern};
