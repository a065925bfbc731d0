/* added.c - see added.h. */
#include "text/added.h"

#include "base/escape.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "text/pattern.h"
#include "text/token_search.h"
#include "text/tokenizer_internal.h"

enum attn_status attn_added_append(struct attn_added *added, struct attn_added_token token,
                                   const char *content, size_t size, struct attn_error *err)
{
    void *tokens = added->tokens;
    enum attn_status status =
        attn_grow(&tokens, &added->capacity, added->n + 1, sizeof *added->tokens, err);

    added->tokens = tokens;
    if (status != ATTN_OK)
        return status;
    token.begin = added->contents.size;
    token.size = size;
    attn_buffer_append(&added->contents, content, size);
    added->tokens[added->n++] = token;
    return attn_buffer_check(&added->contents, err);
}

void attn_added_release(struct attn_added *added)
{
    attn_buffer_release(&added->contents);
    attn_free(added->tokens);
    *added = (struct attn_added){0};
}

/* --- The stage -------------------------------------------------------------------------------- */

/* The \w of Rust, which has no numbers but digits and letters, and has ZERO WIDTH (NON-)JOINER. */
static const char word_pattern[] =
    "[\\p{L}\\p{M}\\p{Nl}\\p{Nd}\\p{Pc}\\x{200c}\\x{200d}\\x{24b6}-\\x{24e9}\\x{1f130}-\\x{1f149}"
    "\\x{1f150}-\\x{1f169}\\x{1f170}-\\x{1f189}]";

struct added_stage {
    const struct attn_added *added; /* borrows */
    size_t *indices;                /* owns; [n] the tokens of this stage */
    size_t n;
    struct attn_search search;   /* its words are those of `indices` */
    struct attn_pattern *letter; /* owns; NULL when no token asks for it */
};

struct added_scratch {
    struct attn_search_hits hits;
    struct attn_match *letter; /* owns, or NULL */
};

static void free_stage(void *data)
{
    struct added_stage *stage = data;

    attn_search_release(&stage->search);
    attn_pattern_free(stage->letter);
    attn_free(stage->indices);
    attn_free(stage);
}

static void end_scratch(void *data)
{
    struct added_scratch *scratch = data;

    attn_free(scratch->hits.list);
    attn_match_free(scratch->letter);
    attn_free(scratch);
}

static enum attn_status begin_scratch(const void *data, size_t n, void **out,
                                      struct attn_error *err)
{
    const struct added_stage *stage = data;
    struct added_scratch *scratch = attn_alloc(1, sizeof *scratch, err);

    *out = scratch;
    if (!scratch)
        return ATTN_NO_MEMORY;
    return stage->letter ? attn_match_create(stage->letter, n, &scratch->letter, err) : ATTN_OK;
}

/* Where the character before AT begins, not before BEGIN. */
static size_t step_back(const char *text, size_t begin, size_t at)
{
    do
        at--;
    while (at > begin && ((unsigned char)text[at] & 0xc0) == 0x80);
    return at;
}

/* Whether the character at AT < END is one of a word. */
static enum attn_status find_is_letter(struct added_scratch *scratch, const char *text, size_t at,
                                       size_t end, bool *is_letter, struct attn_error *err)
{
    uint32_t code_point;
    size_t length = attn_utf8_decode(text + at, end - at, &code_point);
    struct attn_found found;
    enum attn_status status;

    *is_letter = false;
    if (length == 0)
        return ATTN_OK;
    status = attn_match_find(scratch->letter, text + at, length, 0, &found, err);
    *is_letter = status == ATTN_OK && found.begin == 0;
    return status;
}

/* Whether no letter stands on either side of BEGIN..END. */
static enum attn_status find_is_alone(struct added_scratch *scratch, struct attn_slice slice,
                                      size_t begin, size_t end, bool *is_alone,
                                      struct attn_error *err)
{
    const char *text = slice.layer->text;
    bool is_left = false, is_right = false;
    enum attn_status status = ATTN_OK;

    if (begin > slice.begin)
        status = find_is_letter(scratch, text, step_back(text, slice.begin, begin), begin, &is_left,
                                err);
    if (status == ATTN_OK && end < slice.end)
        status = find_is_letter(scratch, text, end, slice.end, &is_right, err);
    *is_alone = !is_left && !is_right;
    return status;
}

/* Where the white space begins that ends at END, not before BEGIN. */
static size_t strip_left(const char *text, size_t begin, size_t end)
{
    while (end > begin) {
        size_t at = step_back(text, begin, end);
        uint32_t code_point;

        if (attn_utf8_decode(text + at, end - at, &code_point) == 0 ||
            !attn_utf8_is_white_space(code_point))
            break;
        end = at;
    }
    return end;
}

/* Where the white space ends that begins at BEGIN. */
static size_t strip_right(const char *text, size_t begin, size_t end)
{
    while (begin < end) {
        uint32_t code_point;
        size_t length = attn_utf8_decode(text + begin, end - begin, &code_point);

        if (length == 0 || !attn_utf8_is_white_space(code_point))
            break;
        begin += length;
    }
    return begin;
}

static enum attn_status run(struct attn_walk *walk, size_t at, struct attn_slice slice,
                            struct attn_error *err)
{
    const struct added_stage *stage = walk->stages->list[at].data;
    struct added_scratch *scratch = walk->scratch[at];
    const char *text = slice.layer->text;
    size_t done = slice.begin; /* handed on */
    size_t next = slice.begin; /* where the search goes on */
    enum attn_status status = attn_search_find(&stage->search, attn_slice_text(slice),
                                               attn_slice_size(slice), &scratch->hits, err);

    /* A stage behind finds no added tokens of this one, so the list of hits stays. */
    for (size_t i = scratch->hits.n; status == ATTN_OK && i-- > 0;) {
        const struct attn_search_hit hit = scratch->hits.list[i];
        const size_t index = stage->indices[hit.word];
        const struct attn_added_token *token = &stage->added->tokens[index];
        size_t begin = slice.begin + hit.at, end = begin + stage->search.sizes[hit.word];
        bool is_wanted = !(token->is_special && walk->options->special == ATTN_SPECIAL_TEXT);

        if (begin < next)
            continue;
        next = end;
        if (is_wanted && token->is_single_word)
            status = find_is_alone(scratch, slice, begin, end, &is_wanted, err);
        if (status != ATTN_OK || !is_wanted)
            continue;
        /* A token may begin in white space that the one before took: it is there all the same, but
         * does not take what is taken. */
        if (token->strips_left)
            begin = begin < done ? done : strip_left(text, done, begin);
        if (token->strips_right)
            end = strip_right(text, end, slice.end);
        if (done < begin)
            status = attn_walk_next(walk, at, (struct attn_slice){slice.layer, done, begin}, err);
        if (status == ATTN_OK && begin < end)
            status = attn_encoding_push(walk->encoding, token->id, begin, end, err);
        done = end;
    }
    if (status == ATTN_OK && done < slice.end)
        status = attn_walk_next(walk, at, (struct attn_slice){slice.layer, done, slice.end}, err);
    return status;
}

static const struct attn_stage_kind kind = {run, begin_scratch, end_scratch, free_stage};

/* --- Building it ------------------------------------------------------------------------------ */

/* A stage behind the normalizers that takes down what they make of a content. */
static enum attn_status run_taking_down(struct attn_walk *walk, size_t at, struct attn_slice slice,
                                        struct attn_error *err)
{
    struct attn_buffer *out = walk->stages->list[at].data;

    attn_buffer_append(out, attn_slice_text(slice), attn_slice_size(slice));
    return attn_buffer_check(out, err);
}

static const struct attn_stage_kind taking_down = {.run = run_taking_down};

/* Appends to OUT what the last N of STAGES make of CONTENT [size]. */
static enum attn_status normalize(const struct attn_stages *stages, size_t n, const char *content,
                                  size_t size, struct attn_buffer *out, struct attn_error *err)
{
    const struct attn_encode_options options = ATTN_ENCODE_DEFAULT;
    struct attn_encoding encoding = {0};
    struct attn_stages normalizers = {.n = n};

    for (size_t i = 0; i < n; i++)
        normalizers.list[i] = stages->list[stages->n - n + i];
    normalizers.list[normalizers.n++] = (struct attn_stage){&taking_down, out};
    return attn_stages_encode(&normalizers, content, size, &options, &encoding, err);
}

/* Appends what is searched for token I of ADDED to OUT. */
static enum attn_status append_word(const struct attn_stages *stages, size_t n_normalizer,
                                    const struct attn_added *added, size_t i,
                                    struct attn_buffer *out, struct attn_error *err)
{
    const char *content = attn_added_content(added, i);
    const size_t size = added->tokens[i].size, before = out->size;
    enum attn_status status = normalize(stages, n_normalizer, content, size, out, err);

    if (status == ATTN_OK && out->size == before)
        return attn_error_set(err, ATTN_FORMAT,
                              "the added token '%s' is empty when it is normalized",
                              attn_quote(content, size).text);
    return status;
}

/* Collects the words of the tokens of STAGE. BYTES holds them. */
static enum attn_status build_search(struct added_stage *stage, const struct attn_stages *stages,
                                     size_t n_normalizer, struct attn_buffer *bytes,
                                     struct attn_error *err)
{
    struct attn_search_word *words = attn_alloc(stage->n, sizeof *words, err);
    enum attn_status status = words ? ATTN_OK : ATTN_NO_MEMORY;
    const char *text;

    for (size_t i = 0; status == ATTN_OK && i < stage->n; i++) {
        const size_t before = bytes->size;

        status = append_word(stages, n_normalizer, stage->added, stage->indices[i], bytes, err);
        if (status == ATTN_OK)
            words[i].size = bytes->size - before;
    }
    text = bytes->data;
    for (size_t i = 0; status == ATTN_OK && i < stage->n; i++) {
        words[i].text = text;
        text += words[i].size;
    }
    if (status == ATTN_OK)
        status = attn_search_build(&stage->search, words, stage->n, err);
    attn_free(words);
    return status;
}

/* Chooses the tokens of STAGE, special ones first: of equal words the last is found. */
static enum attn_status choose(struct added_stage *stage, bool is_normalized,
                               struct attn_error *err)
{
    const struct attn_added *added = stage->added;
    bool needs_letters = false;

    stage->indices = attn_alloc_uninitialized(added->n, sizeof *stage->indices, err);
    if (!stage->indices)
        return ATTN_NO_MEMORY;
    for (int is_special = 1; is_special >= 0; is_special--)
        for (size_t i = 0; i < added->n; i++) {
            if (added->tokens[i].is_normalized != is_normalized ||
                added->tokens[i].is_special != is_special)
                continue;
            stage->indices[stage->n++] = i;
            needs_letters = needs_letters || added->tokens[i].is_single_word;
        }
    if (!needs_letters)
        return ATTN_OK;
    return attn_pattern_create(word_pattern, sizeof word_pattern - 1, "tokenizer.json",
                               &stage->letter, err);
}

enum attn_status attn_added_add_stage(struct attn_stages *stages, const struct attn_added *added,
                                      bool is_normalized, size_t n_normalizer,
                                      struct attn_error *err)
{
    struct attn_buffer bytes = {0};
    struct added_stage *stage = attn_alloc(1, sizeof *stage, err);
    enum attn_status status;

    if (!stage)
        return ATTN_NO_MEMORY;
    stage->added = added;
    status = choose(stage, is_normalized, err);
    if (status == ATTN_OK && stage->n > 0)
        status = build_search(stage, stages, is_normalized ? n_normalizer : 0, &bytes, err);
    attn_buffer_release(&bytes);
    if (status != ATTN_OK || stage->n == 0) {
        free_stage(stage);
        return status;
    }
    return attn_stages_add(stages, &kind, stage, err);
}
