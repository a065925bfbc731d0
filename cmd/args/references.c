/* references.c - see references.h. */
#include "cmd/args/references.h"

#include "cmd/line/report.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>

static const struct option reference_rows[] = {
    OPTION_AT(TEXT, "reference", "FILE", 0,
              "a file of texts, one per line: --with mean takes the mean over all of them, "
              "--with resample the rows of one"),
};

const struct option_group reference_options = OPTION_GROUP("Ablation", reference_rows);

static size_t count_lines(const struct text *text)
{
    size_t n = 1;
    for (size_t i = 0; i < text->size; i++)
        n += text->data[i] == '\n';
    return n;
}

enum attn_status references_read(const char *path, struct references *references,
                                 struct attn_error *err)
{
    const struct prompt_args args = {.file = path};
    const char *at, *end;

    ATTN_TRY(prompt_read(&args, &references->text, err));
    at = references->text.data;
    end = at + references->text.size;
    references->items = calloc(count_lines(&references->text), sizeof *references->items);
    if (!references->items)
        return attn_error_no_memory(err);
    while (at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        line_end = line_end ? line_end : end;
        if (line_end > at) {
            struct attn_input *item = &references->items[references->n++];
            item->text = at;
            item->n_text = (size_t)(line_end - at);
        }
        at = line_end + 1;
    }
    if (references->n == 0)
        return problem(err, ATTN_STAGE_INPUT, NULL, "'%s' holds no text", path);
    return ATTN_OK;
}

void references_release(struct references *references)
{
    text_release(&references->text);
    free(references->items);
    *references = (struct references){0};
}
