/* page_labels.c - see page_internal.h. */
#include "page/page_internal.h"

#include "pictures/grid.h"
#include "tables/text_table.h"
#include "tensors/labels_json.h"

#include <stdio.h>
#include <string.h>

/* The tokens on one side of a matrix: of the text, or of a source. */
struct side {
    const char *prefix;        /* prefix of the JSON keys */
    const char *const *tokens; /* [n]; NULL: no tokens */
    const size_t *sizes;       /* [n] */
    const struct attn_token_texts *texts, *labels;
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

/* Begins a member of the open object; its key has the prefix of SIDE. */
static struct attn_json_writer *push_side_key(struct attn_json_writer *json,
                                              const struct side *side, const char *name)
{
    char key[32];

    snprintf(key, sizeof key, "%s%s", side->prefix, name);
    return attn_page_push_key(json, key);
}

/* Writes the tokens, their texts in tables and for readers, and their names in maps. Each list is
 * null or empty if it adds nothing new. */
static void push_side(struct attn_json_writer *json, const struct side *side)
{
    size_t n_byte = 0; /* lower bound: escaping makes bytes longer */
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
}

void attn_page_push_tokens(struct attn_json_writer *json, const struct attn_page *page)
{
    const struct attn_labels *labels = &page->base.labels;
    const struct side sides[] = {{.prefix = "",
                                  .tokens = labels->tokens,
                                  .sizes = labels->token_sizes,
                                  .texts = &page->texts[0],
                                  .labels = &page->names[0]},
                                 {.prefix = "source_",
                                  .tokens = labels->source_tokens,
                                  .sizes = labels->source_token_sizes,
                                  .texts = &page->texts[1],
                                  .labels = &page->names[1]}};

    for (int i = 0; i < 2; i++)
        push_side(json, &sides[i]);
}
