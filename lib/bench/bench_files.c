/* bench_files.c - every writer on the same patterns, beside plain writes of the same number of
 * bytes. */
#include "bench/bench_state.h"

#include "base/memory.h"
#include "base/sink.h"
#include "output/output.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { N_HEAD = 12, N_TOKEN = 256 };

struct files {
    struct attn_bench *bench;
    struct attn_selection *selection;
    enum attn_output_format format;
    float *pattern; /* [N_TOKEN, N_TOKEN] */
    char path[4096];
    size_t n_byte; /* of what is written */
};

static const char *const format_names[] = {
#define FORMAT_NAME(id, text) [ATTN_OUTPUT_##id] = (text),
    ATTN_FORMAT_MAP(FORMAT_NAME)
#undef FORMAT_NAME
};

/* Adds up, or removes, the files in FOLDER; or PATH itself when it is a file. */
static size_t visit_files(const char *path, bool is_removed)
{
    struct stat info;
    size_t n_byte = 0;
    DIR *folder = opendir(path);

    if (folder == NULL) {
        if (stat(path, &info) == 0)
            n_byte = (size_t)info.st_size;
        if (is_removed)
            unlink(path);
        return n_byte;
    }
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
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
    enum attn_status status = ATTN_OK;

    for (int head = 0; status == ATTN_OK && head < N_HEAD; head++) {
        const struct attn_trace_event event = {.site = ATTN_SITE_PATTERN,
                                               .head = head,
                                               .n_row = N_TOKEN,
                                               .n_col = N_TOKEN,
                                               .ld = N_TOKEN,
                                               .data = files->pattern,
                                               .is_causal = true};

        status = attn_writer_event(writer, &event, err);
    }
    return status == ATTN_OK ? attn_writer_finish(writer, err) : status;
}

static enum attn_status run_writer(void *context, struct attn_error *err)
{
    struct files *files = context;
    const struct attn_run run = {.selection = files->selection, .model = "bench"};
    struct attn_writer *writer;
    enum attn_status status = attn_writer_create(files->format, files->path, &run,
                                                 &ATTN_WRITER_OPTIONS_DEFAULT, &writer, err);

    if (status != ATTN_OK)
        return status;
    status = write_events(files, writer, err);
    attn_writer_free(writer);
    return status;
}

/* Seconds that write(2) takes for as many bytes, into one file. */
static double write_plainly(void *context)
{
    const struct files *files = context;
    const struct attn_bench *bench = files->bench;
    char path[sizeof files->path + 8];
    const double begun = attn_bench_now();
    size_t left = files->n_byte;
    int file;

    snprintf(path, sizeof path, "%s.plain", files->path);
    file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    while (file >= 0 && left > 0) {
        const size_t most = bench->n_memory * sizeof *bench->memory;
        const ssize_t n = write(file, bench->memory, left < most ? left : most);

        if (n <= 0)
            break;
        left -= (size_t)n;
    }
    if (file >= 0)
        close(file);
    unlink(path);
    return left > 0 ? 0 : attn_bench_now() - begun;
}

/* Rows as a softmax gives them. */
static void fill(struct files *files)
{
    for (size_t i = 0; i < N_TOKEN; i++) {
        float *row = files->pattern + i * N_TOKEN;

        memcpy(row, files->bench->random + i * N_TOKEN, N_TOKEN * sizeof *row);
        files->bench->gemm.kernels->softmax(row, i + 1, N_TOKEN, 4);
    }
}

static enum attn_status measure_format(struct files *files, struct attn_error *err)
{
    struct attn_bench *bench = files->bench;
    char name[ATTN_BENCH_NAME_SIZE];
    struct attn_bench_part part = {
        .part = "write", .name = name, .limit = write_plainly, .run = run_writer, .context = files};
    enum attn_status status;

    snprintf(files->path, sizeof files->path, "%s/attn-bench.%ld.%s", bench->options->directory,
             (long)getpid(), format_names[files->format]);
    snprintf(name, sizeof name, "%s, %d heads, %d tokens", format_names[files->format], N_HEAD,
             N_TOKEN);
    status = run_writer(files, err);
    files->n_byte = visit_files(files->path, false);
    part.n_byte = (double)files->n_byte;
    if (status == ATTN_OK)
        status = attn_bench_measure(bench, &part, err);
    visit_files(files->path, true);
    return status;
}

enum attn_status attn_bench_write(struct attn_bench *bench, struct attn_error *err)
{
    const struct attn_dims dims = {.n_layer = 1,
                                   .n_head = N_HEAD,
                                   .n_kv_head = N_HEAD,
                                   .n_position = N_TOKEN,
                                   .sites = ATTN_SITE_BIT(ATTN_SITE_PATTERN)};
    struct files files = {.bench = bench};
    enum attn_status status;

    if (bench->options->directory == NULL)
        return ATTN_OK;
    status = attn_selection_create(&dims, &files.selection, err);
    files.pattern = attn_alloc((size_t)N_TOKEN * N_TOKEN, sizeof *files.pattern, err);
    if (status == ATTN_OK && files.pattern == NULL)
        status = ATTN_NO_MEMORY;
    if (status == ATTN_OK)
        fill(&files);
    for (int format = ATTN_OUTPUT_CSV; status == ATTN_OK && format <= ATTN_OUTPUT_JSON; format++) {
        files.format = (enum attn_output_format)format;
        status = measure_format(&files, err);
    }
    attn_selection_free(files.selection);
    attn_free(files.pattern);
    return status;
}
