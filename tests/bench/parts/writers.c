/* writers.c - every writer on the patterns of one layer of the model, beside plain writes of as
 * many bytes, in the current folder. */
#include "tests/bench/parts/parts.h"

#include "base/memory.h"
#include "base/os/clock.h"
#include "base/sink.h"
#include "model/config_fields.h"
#include "tensors/format_internal.h"
#include "tensors/writer.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MAX_TOKENS = 1024,
    AT_ONCE = 4 << 20,    /* bytes, as many as a matrix of so many tokens has */
    PLAIN_FROM = 64 << 20 /* bytes of memory that plain writes come from: more than caches hold */
};

struct files {
    struct attn_bench *bench;
    struct attn_selection *selection;
    const struct attn_format *format;
    size_t n_head, n_token;
    float *patterns; /* [n_head, n_token, n_token]; no writer finds the next one in a cache */
    char path[64];
    size_t n_byte; /* bytes that are written */
};

/* Adds up, or removes, the files in FOLDER; or PATH itself when it is a file. */
static size_t visit_files(const char *path, bool is_removed)
{
    struct stat info;
    size_t n_byte = 0;
    DIR *folder = opendir(path);

    if (!folder) {
        if (stat(path, &info) == 0)
            n_byte = (size_t)info.st_size;
        if (is_removed)
            unlink(path);
        return n_byte;
    }
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (fstatat(dirfd(folder), entry->d_name, &info, 0) != 0 || !S_ISREG(info.st_mode))
            continue;
        n_byte += (size_t)info.st_size;
        if (is_removed)
            unlinkat(dirfd(folder), entry->d_name, 0);
    }
    closedir(folder);
    if (is_removed)
        rmdir(path);
    return n_byte;
}

static enum attn_status write_events(struct files *files, struct attn_writer *writer,
                                     struct attn_error *err)
{
    for (size_t head = 0; head < files->n_head; head++) {
        const struct attn_trace_event event = {.at.site = ATTN_SITE_PATTERN,
                                               .at.head = (int)head,
                                               .n_row = files->n_token,
                                               .n_col = files->n_token,
                                               .ld = files->n_token,
                                               .data = files->patterns +
                                                       head * files->n_token * files->n_token,
                                               .is_causal = true};

        ATTN_TRY(attn_writer_event(writer, &event, err));
    }
    return attn_writer_finish(writer, err);
}

static enum attn_status run_writer(void *context, struct attn_error *err)
{
    struct files *files = context;
    const struct attn_labels run = {.selection = files->selection, .model = "bench"};
    struct attn_writer_options options = ATTN_WRITER_OPTIONS_DEFAULT;
    struct attn_writer *writer;
    enum attn_status status;

    options.pool = files->bench->options->pool;
    ATTN_TRY(attn_writer_open(files->format, &(struct attn_writer_target){.path = files->path},
                              &run, &options, &writer, err));
    status = write_events(files, writer, err);
    attn_writer_free(writer);
    return status;
}

/* To replace files costs more than to write new ones: each round begins without. */
static enum attn_status remove_files(void *context, struct attn_error *err)
{
    struct files *files = context;

    (void)err;
    visit_files(files->path, true);
    return ATTN_OK;
}

/* Seconds that write(2) takes for as many bytes, into one file. */
static double write_plainly(void *context)
{
    const struct files *files = context;
    const struct attn_bench *bench = files->bench;
    char path[sizeof files->path + 8];
    size_t left = files->n_byte;
    double begun, seconds;
    int file;

    snprintf(path, sizeof path, "%s.plain", files->path);
    remove_files(context, NULL);
    begun = attn_clock_seconds();
    file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    while (file >= 0 && left > 0) {
        const char *bytes = (const char *)bench->memory + left % PLAIN_FROM;
        const ssize_t n = write(file, bytes, left < AT_ONCE ? left : AT_ONCE);

        if (n <= 0)
            break;
        left -= (size_t)n;
    }
    if (file >= 0)
        close(file);
    seconds = attn_clock_seconds() - begun;
    unlink(path);
    return left > 0 ? 0 : seconds;
}

static enum attn_status measure_format(struct files *files, struct attn_error *err)
{
    struct attn_bench *bench = files->bench;
    struct attn_bench_part part = {
        .limit = write_plainly, .prepare = remove_files, .run = run_writer, .context = files};

    snprintf(files->path, sizeof files->path, "attn-bench.%ld-%s", (long)getpid(),
             files->format->name);
    snprintf(part.name, sizeof part.name, "%s, %zu heads, %zu tokens", files->format->name,
             files->n_head, files->n_token);
    ATTN_TRY(run_writer(files, err));
    files->n_byte = visit_files(files->path, false);
    part.n_byte = (double)files->n_byte;
    return attn_bench_measure(bench, &part, err);
}

static enum attn_status measure_formats(struct files *files, struct attn_error *err)
{
    const struct attn_bench *bench = files->bench;
    const size_t n_head = files->n_head, n_token = files->n_token;
    const struct attn_dims dims = {.n_layer = 1,
                                   .n_head = n_head,
                                   .n_kv_head = n_head,
                                   .n_position = n_token,
                                   .sites = ATTN_SITES(ATTN_SITE_PATTERN)};

    ATTN_TRY(attn_selection_create(&dims, &files->selection, err));
    files->patterns = attn_alloc(n_token * n_token, n_head * sizeof *files->patterns, err);
    if (!files->patterns)
        return ATTN_NO_MEMORY;
    for (size_t i = 0; i < n_head * n_token; i++) { /* rows as a softmax gives them */
        float *row = files->patterns + i * n_token;

        memcpy(row, bench->random + i * n_token % (bench->n_random - n_token),
               n_token * sizeof *row);
        bench->gemm.kernels->softmax(row, i % n_token + 1, n_token, 4);
    }
    for (size_t i = 0; i < attn_n_format(); i++) {
        enum attn_status status;

        files->format = attn_format_at(i);
        if (!files->format->argument || !files->format->tensors || files->format->is_picture)
            continue;
        status = measure_format(files, err);
        visit_files(files->path, true);
        ATTN_TRY(status);
    }
    return ATTN_OK;
}

enum attn_status bench_write(struct attn_bench *bench, struct attn_error *err)
{
    const size_t n_ctx = bench->config->n_ctx;
    struct files files = {.bench = bench,
                          .n_head = bench->config->n_head,
                          .n_token = n_ctx < MAX_TOKENS ? n_ctx : MAX_TOKENS};
    enum attn_status status;

    status = measure_formats(&files, err);
    attn_selection_free(files.selection);
    attn_free(files.patterns);
    return status;
}
