/* page_labels.c - see page_internal.h. */
#include "page/page_internal.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "pictures/grid.h"
#include "tables/text_table.h"
#include "tensors/labels_json.h"

#include <stdio.h>
#include <string.h>

/* The tokens on one side of a matrix: of the text, or of a source; or the words that they form. */
struct side {
    const char *prefix;        /* prefix of the JSON keys */
    const char *const *tokens; /* [n]; NULL: no tokens */
    const size_t *sizes;       /* [n] */
    size_t n;
    const struct attn_token_texts *texts, *labels;
    /* the run that the tokens belong to; NULL: tokens of its source */
    const struct attn_labels *run;
    bool has_blanks;      /* blanks are part of the tokens */
    const size_t *firsts; /* [n] for words: index of the first token of each; NULL for tokens */
};

/* Writes TEXTS as a list; null if IS_SAME as the previous list. */
static void push_texts(struct attn_json_writer *json, const struct attn_token_texts *texts,
                       bool is_same)
{
    if (!attn_json_begin_list(json, !is_same && texts->n > 0))
        return;
    for (size_t p = 0; p < texts->n; p++) {
        size_t size;
        const char *text = attn_token_text(texts, p, &size);

        attn_json_string(json, text, size);
    }
    attn_json_end(json);
}

/* Returns the text of label I without surrounding blanks; "' '" for a blank. */
static const char *name_of(const struct attn_token_texts *labels, size_t i, size_t *n)
{
    static const char blank[] = "' '";
    const char *text = attn_text_trim(attn_token_text(labels, i, n), n);

    if (*n > 0)
        return text;
    *n = sizeof blank - 1;
    return blank;
}

/* Writes the names of labels, null if equal to the labels; and the beginnings of names that are too
 * long, keyed by index, as figures shorten them. */
static void push_names(struct attn_json_writer *json, const char *key,
                       const struct attn_token_texts *labels)
{
    struct attn_buffer label = {0};
    const struct attn_grid_axis axis = {.n = labels->n, .texts = labels};
    bool is_same = true;
    size_t n, size;

    for (size_t i = 0; i < labels->n; i++) {
        name_of(labels, i, &n);
        attn_token_text(labels, i, &size);
        is_same &= n == size;
    }
    if (attn_json_begin_list(json, !is_same)) {
        for (size_t i = 0; i < labels->n; i++) {
            const char *name = name_of(labels, i, &n);

            attn_json_string(json, name, n);
        }
        attn_json_end(json);
    }
    attn_json_begin(attn_json_key(json, key), '{');
    for (size_t i = 0; i < labels->n; i++) {
        const char *name = name_of(labels, i, &n);
        char place[24];

        label.size = 0;
        attn_grid_append_label(&axis, i, &label);
        snprintf(place, sizeof place, "%zu", i);
        if (n != label.size || memcmp(name, label.data, n) != 0)
            attn_json_string(attn_json_key(json, place), label.data, label.size);
    }
    attn_json_end(json);
    json->out->has_failed |= label.has_failed;
    attn_buffer_release(&label);
}

/* Returns what precedes a token: 0: nothing, 1: a blank, 2: a line break. */
static int gap_before(const struct side *side, size_t i)
{
    const struct attn_labels *run = side->run;

    if (i == 0)
        return 0;
    if ((run && run->texts && run->texts[i] == 2 && run->texts[i - 1] != 2) ||
        (side->sizes[i - 1] > 0 && side->tokens[i - 1][side->sizes[i - 1] - 1] == '\n'))
        return 2;
    if (run && run->begin)
        return run->begin[i] > run->end[i - 1];
    return !side->has_blanks && !(run && run->ids);
}

/* Returns true if any token begins or ends with a blank, or there are fewer than two tokens. */
static bool has_blanks(const char *const *tokens, const size_t *sizes, size_t n)
{
    bool found = n < 2;

    for (size_t i = 0; i < n && !found; i++)
        found = sizes[i] > 0 && (memchr(" \n\t\r", tokens[i][0], 4) ||
                                 memchr(" \n\t\r", tokens[i][sizes[i] - 1], 4));
    return found;
}

/* Begins a member of the open object; its key has the prefix of SIDE. */
static struct attn_json_writer *push_side_key(struct attn_json_writer *json,
                                              const struct side *side, const char *name)
{
    char key[32];

    snprintf(key, sizeof key, "%s%s", side->prefix, name);
    return side->firsts ? attn_json_key(json, key) : attn_page_push_key(json, key);
}

/* Writes the tokens, their texts in tables and for readers, their names in maps, and the gaps
 * before them. Each list is null or empty if it adds nothing new. */
static void push_side(struct attn_json_writer *json, const struct side *side,
                      const struct side *base)
{
    size_t n_byte = 0; /* lower bound: escaping makes bytes longer */
    bool has_gap = false;
    char key[32];

    for (size_t p = 0; p < side->texts->n; p++)
        n_byte += side->sizes[p];
    attn_json_append_tokens(attn_json_value(push_side_key(json, side, "tokens")), side->tokens,
                            side->sizes, side->texts->n);
    push_texts(push_side_key(json, side, "texts"), side->texts, side->texts->bytes.size == n_byte);
    n_byte = side->texts->bytes.size;
    push_texts(push_side_key(json, side, "labels"), side->labels,
               n_byte == side->labels->bytes.size &&
                   (n_byte == 0 ||
                    memcmp(side->texts->bytes.data, side->labels->bytes.data, n_byte) == 0));
    snprintf(key, sizeof key, "%sshort", side->prefix);
    push_names(push_side_key(json, side, "names"), key, side->labels);
    for (size_t p = 0; side->tokens && p < side->n; p++)
        has_gap |= gap_before(base, side->firsts ? side->firsts[p] : p) > 0;
    if (attn_json_begin_list(push_side_key(json, side, "gaps"), has_gap)) {
        for (size_t p = 0; p < side->n; p++)
            attn_json_integer(json, gap_before(base, side->firsts ? side->firsts[p] : p));
        attn_json_end(json);
    }
}

/* Finds the first token of each word. WORDS [n] is the word of each token. The caller frees
 * *FIRSTS. */
static enum attn_status find_firsts(const size_t *words, size_t n, size_t **firsts,
                                    struct attn_error *err)
{
    ATTN_TRY(ATTN_ALLOC(*firsts, words[n - 1] + 1, err));
    for (size_t i = n; i-- > 0;)
        (*firsts)[words[i]] = i;
    return ATTN_OK;
}

/* Writes the words that the tokens of BASE form. WORDS is the word of each token. */
static enum attn_status push_words(struct attn_json_writer *json, const struct side *base,
                                   const size_t *words, const char *piece, struct attn_error *err)
{
    struct attn_joined_tokens joined = {.piece = piece};
    struct attn_token_texts texts[2] = {0};
    size_t *firsts = NULL;
    enum attn_status status =
        attn_joined_tokens_init(&joined, words, base->n, base->tokens, base->sizes, err);

    if (status == ATTN_OK)
        status = find_firsts(words, base->n, &firsts, err);
    if (status == ATTN_OK)
        status = attn_token_texts_of(&texts[0], joined.texts, joined.sizes, joined.n, err);
    if (status == ATTN_OK)
        status = attn_token_labels_of(&texts[1], joined.texts, joined.sizes, joined.n, err);
    if (status == ATTN_OK) {
        const struct side side = {.prefix = base->prefix,
                                  .tokens = joined.texts,
                                  .sizes = joined.sizes,
                                  .n = joined.n,
                                  .texts = &texts[0],
                                  .labels = &texts[1],
                                  .firsts = firsts};

        push_side(json, &side, base);
        attn_json_begin(push_side_key(json, &side, "firsts"), '[');
        for (size_t w = 0; w < side.n; w++)
            attn_json_size(json, firsts[w]);
        attn_json_end(json);
    }
    attn_joined_tokens_release(&joined);
    attn_token_texts_release(texts, 2);
    attn_free(firsts);
    return status;
}

/* Returns true if rows and columns can be words: all rows are present, and some word has several
 * tokens. */
static bool has_words(const struct attn_page *page, const struct side sides[2])
{
    const struct attn_labels *labels = &page->base.labels;
    const size_t *words[] = {labels->words, labels->source_words};
    bool is_joined = false;

    for (int i = 0; i < 2; i++)
        is_joined |= words[i] && sides[i].tokens && words[i][sides[i].n - 1] + 1 < sides[i].n;
    for (size_t i = 0; i < page->heads.n && is_joined; i++) {
        const struct attn_page_head *head = &page->heads.items[i];

        is_joined &= head->is_source || head->is_encoder ? words[1] && sides[1].tokens
                                                         : head->n_row == sides[0].n;
    }
    return is_joined && words[0] && sides[0].tokens && labels->ids &&
           page->base.n_query == page->base.n_position && !page->picture;
}

enum attn_status attn_page_push_tokens(struct attn_json_writer *json, const struct attn_page *page,
                                       struct attn_error *err)
{
    const struct attn_labels *labels = &page->base.labels;
    const struct side sides[] = {
        {.prefix = "",
         .tokens = labels->tokens,
         .sizes = labels->token_sizes,
         .n = page->texts[0].n,
         .texts = &page->texts[0],
         .labels = &page->names[0],
         .run = labels,
         .has_blanks = has_blanks(labels->tokens, labels->token_sizes, page->texts[0].n)},
        {.prefix = "source_",
         .tokens = labels->source_tokens,
         .sizes = labels->source_token_sizes,
         .n = page->texts[1].n,
         .texts = &page->texts[1],
         .labels = &page->names[1],
         .has_blanks =
             has_blanks(labels->source_tokens, labels->source_token_sizes, page->texts[1].n)}};

    for (int i = 0; i < 2; i++)
        push_side(json, &sides[i], &sides[i]);
    if (!has_words(page, sides)) {
        attn_json_null(attn_page_push_key(json, "merged"));
        return ATTN_OK;
    }
    attn_json_begin(attn_page_push_key(json, "merged"), '{');
    ATTN_TRY(push_words(json, &sides[0], labels->words, labels->piece, err));
    if (labels->source_words && sides[1].tokens)
        ATTN_TRY(push_words(json, &sides[1], labels->source_words, NULL, err));
    attn_json_end(json);
    return ATTN_OK;
}
