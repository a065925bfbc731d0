/* label.c - see label.h. */
#include "cmd/args/label.h"

#include "tool.h"

#include <stdlib.h>
#include <string.h>

static const struct option label_rows[] = {
    OPTION_TEXT("query-labels", "FILE", struct label_args, queries,
                "names of the queries, one per line; default: numbers"),
    OPTION_TEXT("key-labels", "FILE", struct label_args, keys, "names of the keys, one per line"),
};

const struct option_group label_options = OPTION_GROUP("Input", label_rows);

static size_t count_lines(const struct text *text)
{
    size_t n = 0;
    for (size_t i = 0; i < text->size; i++)
        n += text->data[i] == '\n' || i + 1 == text->size;
    return n;
}

static void split_lines(struct label_file *file)
{
    const char *at = file->text.data, *end = at + file->text.size;
    for (size_t i = 0; at < end; i++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t size = (size_t)((stop ? stop : end) - at);
        file->items[i] = at;
        file->sizes[i] = size > 0 && at[size - 1] == '\r' ? size - 1 : size;
        at += size + 1;
    }
}

static enum attn_status read_labels(const char *path, struct label_file *file,
                                    struct attn_label_list *list, struct attn_error *err)
{
    const struct prompt_args args = {.file = path, .is_raw = true};
    size_t n;

    if (!path)
        return ATTN_OK;
    ATTN_TRY(prompt_read(&args, &file->text, err));
    n = count_lines(&file->text);
    file->items = calloc(n + 1, sizeof *file->items);
    file->sizes = calloc(n + 1, sizeof *file->sizes);
    if (!file->items || !file->sizes)
        return attn_error_no_memory(err);
    split_lines(file);
    *list = (struct attn_label_list){file->items, file->sizes, n, path};
    return ATTN_OK;
}

enum attn_status label_files_read(const struct label_args *args, struct label_files *files,
                                  struct attn_request *request, struct attn_error *err)
{
    ATTN_TRY(read_labels(args->queries, &files->queries, &request->query_labels, err));
    return read_labels(args->keys, &files->keys, &request->key_labels, err);
}

static void release(struct label_file *file)
{
    text_release(&file->text);
    free(file->items);
    free(file->sizes);
}

void label_files_release(struct label_files *files)
{
    release(&files->queries);
    release(&files->keys);
}
