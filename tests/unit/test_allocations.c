/*
 * test_allocations.c - every allocation of a whole run fails once, in each way of writing: the run
 * ends with ATTN_NO_MEMORY, nothing leaks (AddressSanitizer looks at the end of each test), no file
 * is cut short, and the next run gives what the first gave.
 */
#include "attn.h"
#include "tensors/writer.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/folder.h"
#include "tests/support/parts.h"
#include "tests/support/picture.h"
#include "tests/support/suite.h"
#include "tool.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    N_FROM = 50,
    N_FILE_MAX = 64,
    N_SPARED_MAX = 100, /* steps in which PCRE2 compiles, 9 of 10.42, 66 of 10.46, whose patterns
                           hold ranges; it does without */
};

/* Where the model is once the working directory is an empty one. */
static char model_path[4096];

struct job {
    const char *format; /* its name, and that of what it writes: a file, or a directory */
    const char *text;   /* NULL for a model without vocabulary: the ids 0, 1, 2 */
    int n_thread;
};

/* Everything that a run holds; zero is nothing. */
struct parts {
    struct attn_model *model;
    struct attn_tokenizer *tokenizer;
    struct attn_encoding encoding;
    const int32_t *ids; /* [n] */
    size_t n;
    struct attn_selection *selection;
    struct attn_writer *writer;
    struct attn_pool *pool;
    struct attn_session *session;
    struct attn_labels run;
    struct attn_trace trace;
};

static enum attn_status pass_on(void *user, const struct attn_trace_event *event,
                                struct attn_error *err)
{
    return attn_writer_event(user, event, err);
}

static enum attn_status read_text(struct parts *parts, const struct attn_source *source,
                                  const char *text, struct attn_error *err)
{
    static const int32_t ids[] = {0, 1, 2};
    enum attn_status status;

    parts->ids = ids;
    parts->n = 3;
    if (!text)
        return ATTN_OK;
    status = attn_tokenizer_open(source, &parts->tokenizer, err);
    if (status == ATTN_OK)
        status = attn_tokenizer_encode(parts->tokenizer, text, strlen(text), &ATTN_ENCODE_DEFAULT,
                                       &parts->encoding, err);
    parts->ids = parts->encoding.ids;
    parts->n = parts->encoding.n;
    return status;
}

static enum attn_status open_parts(struct parts *parts, const struct job *job,
                                   struct attn_error *err)
{
    const struct attn_source source = {.directory = model_path};
    struct attn_dims dims;
    enum attn_status status =
        attn_model_open(&source, &ATTN_MODEL_OPTIONS_DEFAULT, &parts->model, err);

    if (status == ATTN_OK)
        status = read_text(parts, &source, job->text, err);
    if (status != ATTN_OK)
        return status;
    dims = attn_config_dims(attn_model_config(parts->model), parts->n);
    status = attn_selection_create(&dims, &parts->selection, err);
    if (status == ATTN_OK)
        status = attn_selection_set_heads(parts->selection, "0", err);
    return status;
}

static enum attn_status write_tensors(struct parts *parts, const struct job *job,
                                      struct attn_error *err)
{
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_writer_options writer_options = ATTN_WRITER_OPTIONS_DEFAULT;
    enum attn_status status;

    parts->run.selection = parts->selection;
    parts->run.model = attn_model_name(parts->model);
    parts->run.ids = parts->ids;
    status = attn_pool_create(job->n_thread, &parts->pool, err);
    writer_options.pool = parts->pool;
    if (status == ATTN_OK)
        status = attn_writer_open(attn_format_find(job->format),
                                  &(struct attn_writer_target){.path = job->format}, &parts->run,
                                  &writer_options, &parts->writer, err);
    if (status != ATTN_OK)
        return status;
    parts->trace = (struct attn_trace){
        .selection = parts->selection, .on_event = pass_on, .user = parts->writer};
    options.n_max = parts->n;
    options.trace = &parts->trace;
    options.pool = parts->pool;
    options.has_logits = attn_model_config(parts->model)->output != ATTN_OUTPUT_NONE;
    status = attn_session_create(parts->model, &options, &parts->session, err);
    if (status == ATTN_OK)
        status = attn_session_feed(parts->session, parts->ids, parts->n, err);
    if (status == ATTN_OK)
        status = attn_writer_finish(parts->writer, err);
    return status;
}

static enum attn_status perform(const struct job *job, struct attn_error *err)
{
    struct parts parts = {0};
    enum attn_status status = open_parts(&parts, job, err);

    if (status == ATTN_OK)
        status = write_tensors(&parts, job, err);
    attn_session_free(parts.session);
    attn_writer_free(parts.writer);
    attn_pool_free(parts.pool);
    attn_selection_free(parts.selection);
    attn_encoding_release(&parts.encoding);
    attn_tokenizer_free(parts.tokenizer);
    attn_model_free(parts.model);
    return status;
}

/* --- what was written ----------------------------------------------------------------------- */

struct written {
    char path[512];
    char *bytes; /* owned */
    size_t size;
};

static struct written files[N_FILE_MAX];
static size_t n_file;

static bool is_folder(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static void keep(const char *path)
{
    struct written *file = &files[n_file++];
    const struct attn_part part = attn_part_read(path);

    ck_assert_uint_lt(n_file, N_FILE_MAX);
    snprintf(file->path, sizeof file->path, "%s", path);
    file->bytes = (char *)part.bytes;
    file->size = part.size;
}

/* The file is one of those that the good run wrote, and the same. Removes it. */
static void check_and_remove(const char *path)
{
    for (size_t i = 0; i < n_file; i++)
        if (strcmp(files[i].path, path) == 0) {
            attn_folder_assert(path, files[i].bytes, files[i].size);
            ck_assert_int_eq(remove(path), 0);
            return;
        }
    ck_abort_msg("'%s' was left", path);
}

/* Calls VISIT for the file PATH, or for each in the directory PATH; returns how many there are. */
static size_t visit_files(const char *path, void (*visit)(const char *path))
{
    DIR *entries = is_folder(path) ? opendir(path) : NULL;
    struct dirent *entry;
    size_t n = 0;

    if (!entries) {
        if (access(path, F_OK) != 0)
            return 0;
        visit(path);
        return 1;
    }
    while ((entry = readdir(entries))) {
        char inner[512];

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        ck_assert_int_lt(snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name), sizeof inner);
        visit(inner);
        n++;
    }
    closedir(entries);
    return n;
}

/* Everything in the working directory is a whole file of the good run; empties it. */
static size_t take_stock(const char *path)
{
    size_t n = visit_files(path, check_and_remove);

    if (is_folder(path))
        ck_assert_int_eq(rmdir(path), 0);
    ck_assert_uint_eq(attn_folder_count(), 0); /* no temporary file either */
    return n;
}

/* --- the tests ------------------------------------------------------------------------------ */

/* Returns whether the run could do without. */
static bool run_failing(const struct job *job, long n, void (*begin)(long n))
{
    struct attn_error err = {0};
    enum attn_status status;
    size_t n_written;

    begin(n);
    status = perform(job, &err);
    attn_alloc_fail_off();
    n_written = take_stock(job->format);
    if (status == ATTN_OK) {
        ck_assert_msg(n_written == n_file, "%s: allocation %ld: ended well, wrote %zu of %zu files",
                      job->format, n, n_written, n_file);
        return true;
    }
    ck_assert_msg(status == ATTN_NO_MEMORY, "%s: allocation %ld: status %d, '%s'", job->format, n,
                  (int)status, err.message);
    ck_assert(err.message[0] != '\0');
    return false;
}

static void run_well(const struct job *job)
{
    struct attn_error err = {0};

    ck_assert_msg(perform(job, &err) == ATTN_OK, "%s", err.message);
    ck_assert_uint_eq(take_stock(job->format), n_file);
}

static void enter(const char *model)
{
    ck_assert_ptr_nonnull(realpath(model, model_path));
    attn_folder_enter();
}

static void leave(void)
{
    for (size_t i = 0; i < n_file; i++)
        free(files[i].bytes);
    n_file = 0;
    attn_folder_leave();
}

static void fail_each_allocation(const struct job *job)
{
    struct attn_error err = {0};
    long n_allocation, n_spared = 0;

    attn_alloc_fail_off();
    ck_assert_msg(perform(job, &err) == ATTN_OK, "%s", err.message);
    n_allocation = attn_alloc_count();
    visit_files(job->format, keep);
    take_stock(job->format);
    ck_assert_int_gt(n_allocation, N_FROM);

    for (long n = 0; n < n_allocation; n += (long)attn_one_of(3))
        n_spared += run_failing(job, n, attn_alloc_fail_at);
    ck_assert_int_le(n_spared, N_SPARED_MAX);
    run_well(job);
    for (long i = 0; i < N_FROM; i++)
        ck_assert(!run_failing(job, i * n_allocation / N_FROM, attn_alloc_fail_from));
    run_well(job);
}

static void fail_in_all_formats(const char *model, const char *text, int n_thread)
{
    const bool can_draw = attn_can_draw();

    enter(model);
    for (size_t i = 0; i < attn_n_format(); i++) {
        const struct attn_format *format = attn_format_at(i);

        if (!format->tensors || (attn_is_drawn(format) && !can_draw))
            continue;
        fail_each_allocation(&(struct job){format->name, text, n_thread});
        for (size_t k = 0; k < n_file; k++)
            free(files[k].bytes);
        n_file = 0;
    }
    leave();
}

START_TEST(every_allocation_of_a_run_over_words_may_fail)
{
    fail_in_all_formats("models/life-is-short", "Life is short, eat dessert first", 1);
}
END_TEST

START_TEST(every_allocation_of_a_run_over_bytes_may_fail)
{
    fail_in_all_formats("models/tiny-gpt2", "The keys", 2);
}
END_TEST

START_TEST(every_allocation_of_a_run_over_shards_may_fail)
{
    fail_in_all_formats("tests/fixtures/gpt2-sharded", NULL, 1);
}
END_TEST

/* Two tables of rotary positions, windows, and a fused matrix that is taken apart. */
START_TEST(every_allocation_of_a_run_of_another_family_may_fail)
{
    fail_in_all_formats("tests/fixtures/family-gemma3-text", NULL, 1);
    fail_in_all_formats("tests/fixtures/family-gpt-neox-parallel", NULL, 2);
}
END_TEST

ATTN_SUITE("allocations", every_allocation_of_a_run_over_words_may_fail,
           every_allocation_of_a_run_over_bytes_may_fail,
           every_allocation_of_a_run_over_shards_may_fail,
           every_allocation_of_a_run_of_another_family_may_fail)
