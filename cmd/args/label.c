/* label.c - see label.h. */
#include "cmd/args/label.h"

#include "cmd/line/command.h"
#include "cmd/line/report.h"

#include <stdlib.h>
#include <string.h>

static const struct option label_rows[] = {
    {.name = "query-labels",
     .argument = "FILE",
     .heading = "Input",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct label_args, queries),
     .help = "names of the queries, one per line; default: numbers"},
    {.name = "key-labels",
     .argument = "FILE",
     .heading = "Input",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct label_args, keys),
     .help = "names of the keys, one per line"},
};

const struct option_group label_options = OPTION_GROUP(label_rows);

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

static int read_labels(const char *path, struct label_file *file, struct attn_label_list *list)
{
    const struct prompt_args args = {.file = path, .is_raw = true};
    if (!path)
        return EXIT_DONE;
    int code = prompt_read(&args, &file->text);
    if (code != EXIT_DONE)
        return code;
    size_t n = count_lines(&file->text);
    file->items = calloc(n + 1, sizeof *file->items);
    file->sizes = calloc(n + 1, sizeof *file->sizes);
    if (!file->items || !file->sizes)
        return report_no_memory();
    split_lines(file);
    *list = (struct attn_label_list){file->items, file->sizes, n, path};
    return EXIT_DONE;
}

int label_files_read(const struct label_args *args, struct label_files *files,
                     struct attn_request *request)
{
    int code = read_labels(args->queries, &files->queries, &request->reading.queries);
    return code == EXIT_DONE ? read_labels(args->keys, &files->keys, &request->reading.keys) : code;
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
