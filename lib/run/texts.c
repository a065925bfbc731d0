/* texts.c - see texts.h. */
#include "run/texts.h"

#include "base/escape.h"
#include "base/file.h"
#include "base/given.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "run/record_internal.h"

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

/* --- JSON ------------------------------------------------------------------------------------ */

/* A copy of the SIZE bytes at DATA, which the texts own. */
static void *keep(struct attn_texts *texts, const void *data, size_t size, struct attn_error *err)
{
    void *copy = attn_alloc(size, 1, err);

    if (copy && size > 0)
        memcpy(copy, data, size);
    return texts->owned[texts->n] = copy;
}

static enum attn_status read_json(struct attn_texts *texts, const struct line *line,
                                  struct attn_record_store *store, struct attn_error *err)
{
    struct attn_input *item = &texts->items[texts->n];
    struct attn_record record = {.number = texts->n};
    enum attn_status status = attn_record_read(line->text, line->size, NULL, store, &record, err);

    if (status != ATTN_OK)
        return status;
    if (record.failure != ATTN_RECORD_FAILURE_NONE)
        return attn_error_set(err, ATTN_FORMAT, "line %zu of '%s': %s", line->number,
                              attn_quote_string(texts->file.path).text, record.err.message);
    item->n_text = record.input.n_text;
    item->n_id = record.input.n_id;
    if (record.input.image)
        item->image = keep(texts, record.input.image, strlen(record.input.image) + 1, err);
    else if (record.input.text)
        item->text = keep(texts, record.input.text, item->n_text, err);
    else
        item->ids = keep(texts, record.input.ids, item->n_id * sizeof *item->ids, err);
    return texts->owned[texts->n] ? ATTN_OK : ATTN_NO_MEMORY;
}

/* --- Lines ----------------------------------------------------------------------------------- */

static enum attn_status read_lines(struct attn_texts *texts, enum attn_texts_form form,
                                   struct attn_error *err)
{
    const char *at = (const char *)texts->file.data, *end = at + texts->file.size;
    struct line line = {.number = 0};
    struct attn_record_store store = {.ids = NULL};
    enum attn_status status = ATTN_OK;

    while (status == ATTN_OK && at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));

        line_end = line_end ? line_end : end;
        line = (struct line){at, (size_t)(line_end - at), line.number + 1};
        if (form == ATTN_TEXTS_JSON_LINES)
            status = read_json(texts, &line, &store, err);
        else
            texts->items[texts->n] = (struct attn_input){
                .text = at, .n_text = line.size - (line.size > 0 && line_end[-1] == '\r')};
        texts->n++; /* what was taken of a line that failed is freed with it */
        at = line_end + 1;
    }
    attn_record_store_release(&store);
    return status;
}

static enum attn_status read_file(const char *path, enum attn_texts_form form,
                                  struct attn_texts *texts, struct attn_error *err)
{
    size_t n = 1;

    ATTN_TRY(attn_file_open(path, ATTN_READ, &texts->file, err));
    for (size_t i = 0; i < texts->file.size; i++)
        n += texts->file.data[i] == '\n';
    texts->items = attn_alloc(n, sizeof *texts->items, err);
    texts->owned = attn_alloc(n, sizeof *texts->owned, err);
    if (!texts->items || !texts->owned)
        return ATTN_NO_MEMORY;
    ATTN_TRY(read_lines(texts, form, err));
    return texts->n > 0
               ? ATTN_OK
               : attn_error_set(err, ATTN_INVALID, "'%s' has no lines, expected one text per line",
                                attn_quote_string(path).text);
}

enum attn_status attn_texts_read(const char *path, enum attn_texts_form form,
                                 struct attn_texts **texts, struct attn_error *err)
{
    if (!attn_is_given(path, "path", err) || !attn_is_given(texts, "texts", err) ||
        !attn_is_choice(form, ATTN_TEXTS_LINES + 1, "form", err))
        return ATTN_INVALID;
    struct attn_texts *made = attn_alloc(1, sizeof *made, err);
    enum attn_status status;

    if (!made)
        return ATTN_NO_MEMORY;
    status = read_file(path, form, made, err);
    if (status == ATTN_OK)
        *texts = made;
    else
        attn_texts_free(made);
    return attn_error_at(status, ATTN_STAGE_INPUT, err);
}

void attn_texts_free(struct attn_texts *texts)
{
    if (!texts)
        return;
    for (size_t i = 0; texts->owned && i < texts->n; i++)
        attn_free(texts->owned[i]);
    attn_free(texts->owned);
    attn_free(texts->items);
    attn_file_release(&texts->file);
    attn_free(texts);
}

const struct attn_input *attn_texts_items(const struct attn_texts *texts, size_t *n)
{
    *n = texts ? texts->n : 0;
    return texts ? texts->items : NULL;
}
