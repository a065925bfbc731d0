/* texts.c - see texts.h. */
#include "run/texts.h"

#include "base/escape.h"
#include "base/file.h"
#include "base/memory.h"
#include "formats/json.h"

#include <stdio.h>
#include <string.h>

struct attn_texts {
    struct attn_file file;    /* the texts of lines lie in it */
    struct attn_input *items; /* [n] owns */
    void **owned;             /* [n] each owns: a text or the ids of a line of JSON, or NULL */
    size_t n;
};

/* One line of the file, from 1. */
struct line {
    const char *text;
    size_t size, number;
};

static enum attn_status report_line(const struct attn_texts *texts, const struct line *line,
                                    struct attn_error *err)
{
    return attn_error_set(err, ATTN_FORMAT,
                          "line %zu of '%s' is no object with 'text', a string, or 'ids', a list "
                          "of integers",
                          line->number, attn_quote_string(texts->file.path).text);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static enum attn_status take_text(struct attn_texts *texts, const char *text,
                                  struct attn_error *err)
{
    struct attn_input *item = &texts->items[texts->n];

    item->n_text = strlen(text);
    item->text = texts->owned[texts->n] = attn_strndup(text, item->n_text, err);
    return item->text != NULL ? ATTN_OK : ATTN_NO_MEMORY;
}

static enum attn_status take_ids(struct attn_texts *texts, const struct attn_node *list,
                                 const struct line *line, struct attn_error *err)
{
    struct attn_input *item = &texts->items[texts->n];
    int32_t *ids;
    size_t n = 0;

    for (const struct attn_node *node = attn_node_first(list); node != NULL;
         node = attn_node_next(node))
        n++;
    ids = texts->owned[texts->n] = attn_alloc(n, sizeof *ids, err);
    if (ids == NULL)
        return ATTN_NO_MEMORY;
    item->ids = ids;
    for (const struct attn_node *node = attn_node_first(list); node != NULL;
         node = attn_node_next(node)) {
        int64_t id;

        if (!attn_node_int(node, &id) || id < 0 || id > INT32_MAX)
            return report_line(texts, line, err);
        ids[item->n_id++] = (int32_t)id;
    }
    return ATTN_OK;
}

static enum attn_status read_json(struct attn_texts *texts, const struct line *line,
                                  struct attn_error *err)
{
    static const char *const names[] = {"ids", NULL};
    char path[ATTN_QUOTE_SIZE + 32];
    const struct attn_file file = {.data = (const unsigned char *)line->text,
                                   .size = line->size,
                                   .storage = ATTN_FILE_BORROWED,
                                   .descriptor = -1,
                                   .path = path};
    const struct attn_node *text, *ids;
    struct attn_json *json = NULL;
    enum attn_status status;

    snprintf(path, sizeof path, "%s:%zu", attn_quote_string(texts->file.path).text, line->number);
    status = attn_json_parse_named(&file, names, &json, err);
    if (status != ATTN_OK)
        return status;
    text = attn_node_find(attn_json_root(json), "text");
    ids = attn_node_find(attn_json_root(json), "ids");
    if (text != NULL && attn_node_string(text) != NULL && ids == NULL)
        status = take_text(texts, attn_node_string(text), err);
    else if (ids != NULL && attn_node_is_array(ids) && text == NULL)
        status = take_ids(texts, ids, line, err);
    else
        status = report_line(texts, line, err);
    attn_json_free(json);
    return status;
}

/* --- Lines ------------------------------------------------------------------------------------ */

static void read_line(struct attn_texts *texts, const struct line *line)
{
    const bool has_return = line->size > 0 && line->text[line->size - 1] == '\r';

    texts->items[texts->n].text = line->text;
    texts->items[texts->n].n_text = line->size - has_return;
}

static enum attn_status read_lines(struct attn_texts *texts, enum attn_texts_form form,
                                   struct attn_error *err)
{
    const char *at = (const char *)texts->file.data, *end = at + texts->file.size;
    struct line line = {.number = 0};
    enum attn_status status = ATTN_OK;

    while (status == ATTN_OK && at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));

        line_end = line_end != NULL ? line_end : end;
        line = (struct line){at, (size_t)(line_end - at), line.number + 1};
        if (form == ATTN_TEXTS_LINES)
            read_line(texts, &line);
        else
            status = read_json(texts, &line, err);
        texts->n++; /* what was taken of a line that failed is freed with it */
        at = line_end + 1;
    }
    return status;
}

static enum attn_status allocate(struct attn_texts *texts, struct attn_error *err)
{
    size_t n = 1;

    for (size_t i = 0; i < texts->file.size; i++)
        n += texts->file.data[i] == '\n';
    texts->items = attn_alloc(n, sizeof *texts->items, err);
    texts->owned = attn_alloc(n, sizeof *texts->owned, err);
    return texts->items != NULL && texts->owned != NULL ? ATTN_OK : ATTN_NO_MEMORY;
}

enum attn_status attn_texts_read(const char *path, enum attn_texts_form form,
                                 struct attn_texts **texts, struct attn_error *err)
{
    struct attn_texts *made = attn_alloc(1, sizeof *made, err);
    enum attn_status status;

    if (made == NULL)
        return ATTN_NO_MEMORY;
    status = attn_file_open(path, ATTN_READ, &made->file, err);
    if (status == ATTN_OK)
        status = allocate(made, err);
    if (status == ATTN_OK)
        status = read_lines(made, form, err);
    if (status == ATTN_OK && made->n == 0)
        status = attn_error_set(err, ATTN_INVALID, "'%s' has no lines, expected a text a line",
                                attn_quote_string(path).text);
    if (status == ATTN_OK)
        *texts = made;
    else
        attn_texts_free(made);
    return attn_error_at(status, ATTN_STAGE_INPUT, err);
}

void attn_texts_free(struct attn_texts *texts)
{
    if (texts == NULL)
        return;
    for (size_t i = 0; texts->owned != NULL && i < texts->n; i++)
        attn_free(texts->owned[i]);
    attn_free(texts->owned);
    attn_free(texts->items);
    attn_file_close(&texts->file);
    attn_free(texts);
}

const struct attn_input *attn_texts_items(const struct attn_texts *texts, size_t *n)
{
    *n = texts->n;
    return texts->items;
}
