/* written.c - see written.h. */
#include "tests/support/written.h"

#include "tests/support/alloc_fail.h"
#include "tests/support/assert.h"
#include "tests/support/folder.h"
#include "tests/support/suite.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct attn_candidate top[] = {
    {.id = 4, .token = "\xe7\x8c\xab\"", .token_size = 4, .prob = 0.75},
    {.id = 9, .prob = 0.125},
};
static struct attn_next next[] = {{.text = " are", .log_prob = -1.5}};
static const struct attn_predictions predictions = {
    .top = top, .n_top = 2, .next = next, .n_next = 1};

/* Plays the run, tells predictions, finishes and frees WRITER. */
static enum attn_status play(const struct attn_made_up_run *made, struct attn_writer *writer,
                             struct attn_way way, struct attn_error *err)
{
    enum attn_status status = way.step > 0
                                  ? attn_made_up_run_play_steps(made, writer, way.step, err)
                                  : attn_made_up_run_play(made, writer, way.n_row, err);

    if (status == ATTN_OK)
        status = attn_writer_predictions(writer, &predictions, err);
    if (status == ATTN_OK)
        status = attn_writer_finish(writer, err);
    attn_writer_free(writer);
    return status;
}

static void append(struct attn_part *part, const void *more, size_t size)
{
    part->bytes = realloc(part->bytes, part->size + size + 1);
    ck_assert_ptr_nonnull(part->bytes);
    memcpy(part->bytes + part->size, more, size);
    part->size += size;
    part->bytes[part->size] = '\0';
}

/* Removes the file or directory PATH; appends the files of a directory to PART, or NULL. Fails the
 * current test if one is temporary. */
static void take(const char *path, struct attn_part *part)
{
    struct dirent **entries;
    const int n = scandir(path, &entries, NULL, alphasort);

    for (int i = 0; i < n; i++) {
        char file[300], line[300];

        ck_assert_ptr_null(strstr(entries[i]->d_name, ".attn-"));
        snprintf(file, sizeof file, "%s/%s", path, entries[i]->d_name);
        if (part && entries[i]->d_name[0] != '.') {
            struct attn_part more = attn_part_read(file);

            snprintf(line, sizeof line, "=== %s\n", entries[i]->d_name);
            append(part, line, strlen(line));
            append(part, more.bytes, more.size);
            free(more.bytes);
        }
        unlink(file);
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
    remove(path);
}

void attn_written_remove(const char *path)
{
    take(path, NULL);
}

enum attn_status attn_written_to(const struct attn_made_up_run *made, const char *format,
                                 const struct attn_writer_options *options, const char *path,
                                 struct attn_way way, struct attn_error *err)
{
    struct attn_writer *writer;
    enum attn_status status = attn_writer_open(
        attn_format_find(format), &(struct attn_writer_target){.path = path}, &made->run,
        options ? options : &ATTN_WRITER_OPTIONS_DEFAULT, &writer, err);

    return status == ATTN_OK ? play(made, writer, way, err) : status;
}

/* Writes into a memory sink, or as a stream into a file that has no name. */
static void write_sink(const struct attn_made_up_run *made, const char *format,
                       const struct attn_writer_options *options, struct attn_way way,
                       struct attn_part *part, struct attn_error *err)
{
    FILE *file = tmpfile();
    struct attn_writer *writer;
    struct attn_sink *sink;
    enum attn_status status = way.is_stream
                                  ? attn_sink_create_descriptor(fileno(file), "stream", &sink, err)
                                  : attn_sink_create_memory(&sink, err);

    ck_assert_int_eq(status, ATTN_OK);
    status =
        attn_writer_create_sink(attn_format_find(format), sink, &made->run,
                                options ? options : &ATTN_WRITER_OPTIONS_DEFAULT, &writer, err);
    if (status == ATTN_OK)
        status = play(made, writer, way, err);
    if (status == ATTN_OK && way.is_stream) {
        ck_assert_int_eq(attn_sink_commit(sink, err), ATTN_OK);
        part->size = (size_t)lseek(fileno(file), 0, SEEK_END);
        part->bytes = calloc(part->size + 1, 1);
        ck_assert_int_eq(pread(fileno(file), part->bytes, part->size, 0), (ssize_t)part->size);
    } else if (status == ATTN_OK) {
        size_t size;
        const void *bytes = attn_sink_bytes(sink, &size);

        append(part, bytes, size);
    }
    attn_sink_free(sink);
    fclose(file);
}

struct attn_part attn_written(const struct attn_made_up_run *made, const char *form,
                              const struct attn_writer_options *options, struct attn_way way,
                              struct attn_error *err)
{
    struct attn_part part = {0};
    char format[20];

    snprintf(format, sizeof format, "%.*s", (int)strcspn(form, "/"), form);
    if (!strchr(form, '/'))
        write_sink(made, format, options, way, &part, err);
    else if (attn_written_to(made, format, options, "written", way, err) == ATTN_OK)
        take("written", &part);
    return part;
}

void attn_written_fails_whole(const struct attn_made_up_run *made, const char *format,
                              const char *path)
{
    enum attn_status status = ATTN_NO_MEMORY;

    for (long n = 0; status != ATTN_OK; n += (long)attn_one_of(3)) {
        struct attn_error err = {0};
        struct stat info;

        attn_alloc_fail_at(n);
        status = attn_written_to(made, format, NULL, path, (struct attn_way){.n_row = 2}, &err);
        attn_alloc_fail_off();
        ck_assert_msg(status == ATTN_OK || status == ATTN_NO_MEMORY, "%s", err.message);
        ck_assert(status == ATTN_OK || stat(path, &info) != 0 || S_ISDIR(info.st_mode));
        take(path, NULL);
        ck_assert_uint_eq(attn_folder_count(), 0);
        ck_assert_int_lt(n, 2000);
    }
}
