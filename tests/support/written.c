/* written.c - see written.h. */
#include "tests/support/written.h"

#include "tests/support/alloc_fail.h"
#include "tests/support/assert.h"
#include "tests/support/folder.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct attn_candidate top[] = {
    {.id = 4, .token = "\xe7\x8c\xab\"", .token_size = 4, .probability = 0.75},
    {.id = 9, .probability = 0.125},
};
static struct attn_continuation next[] = {{.text = " are", .log_probability = -1.5}};
static const struct attn_predictions predictions = {
    .top = top, .n_top = 2, .next = next, .n_next = 1};

static enum attn_status play(const struct attn_made_up_run *made, struct attn_writer *writer,
                             size_t n_row, size_t step, struct attn_error *err)
{
    enum attn_status status = step > 0 ? attn_made_up_run_play_steps(made, writer, step, err)
                                       : attn_made_up_run_play(made, writer, n_row, err);

    if (status == ATTN_OK)
        status = attn_writer_predictions(writer, &predictions, err);
    return status == ATTN_OK ? attn_writer_finish(writer, err) : status;
}

static char *text_of(const struct attn_made_up_run *made, const char *format,
                     const struct attn_writer_options *options, size_t n_row, size_t step)
{
    struct attn_error err = {0};
    struct attn_writer *writer;
    struct attn_sink *sink;
    const char *bytes;
    size_t size;
    char *text;

    ck_assert_int_eq(attn_sink_create_memory(&sink, &err), ATTN_OK);
    ck_assert_msg(attn_writer_create_sink(attn_format_find(format), sink, &made->run, options,
                                          &writer, &err) == ATTN_OK,
                  "%s", err.message);
    ck_assert_msg(play(made, writer, n_row, step, &err) == ATTN_OK, "%s", err.message);
    bytes = attn_sink_bytes(sink, &size);
    text = strndup(bytes, size);
    ck_assert_ptr_nonnull(text);
    attn_writer_free(writer);
    attn_sink_free(sink);
    return text;
}

char *attn_written_text(const struct attn_made_up_run *made, const char *format,
                        const struct attn_writer_options *options)
{
    return text_of(made, format, options, SIZE_MAX, 0);
}

char *attn_written_in_parts(const struct attn_made_up_run *made, const char *format, size_t n_row,
                            size_t step)
{
    return text_of(made, format, &ATTN_WRITER_OPTIONS_DEFAULT, n_row, step);
}

void attn_written_to(const struct attn_made_up_run *made, const char *format, const char *path,
                     size_t n_row, size_t step)
{
    struct attn_error err = {0};
    struct attn_writer *writer;

    ck_assert_msg(attn_writer_open(attn_format_find(format),
                                   &(struct attn_writer_target){.path = path}, &made->run,
                                   &ATTN_WRITER_OPTIONS_DEFAULT, &writer, &err) == ATTN_OK,
                  "%s", err.message);
    ck_assert_msg(play(made, writer, n_row, step, &err) == ATTN_OK, "%s", err.message);
    attn_writer_free(writer);
}

enum attn_status attn_written_try(const struct attn_made_up_run *made, const char *format,
                                  const char *path, struct attn_error *err)
{
    struct attn_writer *writer = NULL;
    enum attn_status status =
        attn_writer_open(attn_format_find(format), &(struct attn_writer_target){.path = path},
                         &made->run, &ATTN_WRITER_OPTIONS_DEFAULT, &writer, err);

    if (status == ATTN_OK)
        status = play(made, writer, 2, 0, err);
    attn_writer_free(writer);
    return status;
}

/* Removes PATH, and the files in it when it is a directory, none of which may be temporary. */
static void remove_written(const char *path)
{
    DIR *entries = opendir(path);
    struct dirent *entry;

    while (entries && (entry = readdir(entries))) {
        ck_assert_ptr_null(strstr(entry->d_name, ".attn-"));
        unlinkat(dirfd(entries), entry->d_name, 0);
    }
    if (entries)
        closedir(entries);
    remove(path);
}

void attn_written_fails_whole(const struct attn_made_up_run *made, const char *format,
                              const char *path)
{
    enum attn_status status = ATTN_NO_MEMORY;

    for (long n = 0; status != ATTN_OK; n++) {
        struct attn_error err = {0};
        struct stat info;

        attn_alloc_fail_at(n);
        status = attn_written_try(made, format, path, &err);
        attn_alloc_fail_off();
        ck_assert_msg(status == ATTN_OK || status == ATTN_NO_MEMORY, "%s", err.message);
        ck_assert(status == ATTN_OK || stat(path, &info) != 0 || S_ISDIR(info.st_mode));
        remove_written(path);
        ck_assert_uint_eq(attn_folder_count(), 0);
        ck_assert_int_lt(n, 2000);
    }
}
