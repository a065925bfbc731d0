/* directory.c - see directory.h: first the manifest, then the directory that contains it. */
#include "tensors/directory.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/os/os.h"
#include "base/sink_internal.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "base/text/path.h"
#include "base/version.h"
#include "formats/json.h"
#include "tensors/labels_json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MANIFEST_NAME "run.json"

enum { MANIFEST_MAX = 16 * 1024 * 1024 }; /* maximum bytes; a larger manifest is an error */

struct manifest {
    struct attn_manifest_run **runs; /* [n] owns; sorted from oldest to newest */
    size_t n, capacity;
};

struct attn_directory {
    char *path;               /* owns */
    const char *title;        /* borrowed; what the files are called in messages */
    struct attn_os_info info; /* identifies the directory */
    struct manifest manifest;
    struct attn_file_names others; /* names of files in this directory that other outputs write */
    bool is_new;                   /* this process created the directory */
    bool had_manifest;             /* a manifest existed before */
    bool has_manifest;             /* this process wrote the manifest, and nothing changed since */
    bool wrote_manifest;           /* this process wrote the manifest */
    bool has_files;                /* a file was committed */
};

/* --- Names of files ------------------------------------------------------------------------ */

void attn_file_names_append(struct attn_file_names *names, const char *name)
{
    attn_buffer_append(&names->text, name, strlen(name) + 1);
    names->n++;
}

/* Returns the name after NAME, the first one for NULL; NULL after the last. */
static const char *next_name(const struct attn_file_names *names, const char *name)
{
    const char *next = name ? name + strlen(name) + 1 : names->text.data;

    return names->n > 0 && next < names->text.data + names->text.size ? next : NULL;
}

static void release_names(struct attn_file_names *names)
{
    attn_buffer_release(&names->text);
    names->n = 0;
}

/* --- Runs of a manifest ---------------------------------------------------------------------- */

static void free_run(struct attn_manifest_run *run)
{
    attn_free(run->format);
    attn_buffer_release(&run->facts);
    release_names(&run->files);
    attn_free(run);
}

/* Appends a run of FORMAT to the list; NULL on failure, with ERR set. */
static struct attn_manifest_run *append_run(struct manifest *manifest, const char *format,
                                            struct attn_error *err)
{
    struct attn_manifest_run *run;

    if (ATTN_GROW(manifest->runs, manifest->capacity, manifest->n + 1, err) != ATTN_OK ||
        ATTN_ALLOC(run, 1, err) != ATTN_OK)
        return NULL;
    run->format = attn_strndup(format, strlen(format), err);
    if (run->format)
        return manifest->runs[manifest->n++] = run;
    free_run(run);
    return NULL;
}

/* --- Facts --------------------------------------------------------------------------------- */

/* Begins the JSON object of RUN, up to the value of `options`. */
static struct attn_json_writer *begin_facts(struct attn_manifest_run *run, const char *version,
                                            const char *model)
{
    run->json = (struct attn_json_writer){.out = &run->facts};
    attn_json_begin(&run->json, '{');
    attn_json_text(attn_json_key(&run->json, "format"), run->format);
    attn_json_text(attn_json_key(&run->json, "version"), version);
    attn_json_text(attn_json_key(&run->json, "model"), model);
    return attn_json_key(&run->json, "options");
}

/* --- Reading ------------------------------------------------------------------------------- */

static enum attn_status refuse(const struct attn_json *json, const char *what,
                               struct attn_error *err)
{
    return attn_error_set(err, ATTN_FORMAT,
                          "'%s' %s, expected the list of files that were written here",
                          attn_quote_string(attn_json_name(json)).text, what);
}

/* Recreates the facts of a run from the manifest. */
static enum attn_status read_facts(struct attn_manifest_run *run, const struct attn_json *json,
                                   const struct attn_node *node, struct attn_error *err)
{
    const struct attn_node *model = attn_node_find(node, "model");
    const struct attn_node *version = attn_node_find(node, "version");
    const struct attn_node *options = attn_node_find(node, "options"), *option;
    struct attn_json_writer *facts;

    if (!version || !attn_node_string(version) || !options || !attn_node_is_object(options) ||
        !model || (!attn_node_string(model) && !attn_node_is_null(model)))
        return refuse(json, "has a run without version, model or options", err);
    facts = begin_facts(run, attn_node_string(version), attn_node_string(model));
    facts->comma = ",";
    attn_json_begin(facts, '{');
    for (option = attn_node_first(options); option; option = attn_node_next(option)) {
        if (!attn_node_string(option))
            return refuse(json, "has an option whose value is no text", err);
        attn_json_text(attn_json_key(facts, attn_node_key(option)), attn_node_string(option));
    }
    attn_json_end(facts);
    facts->comma = NULL;
    return attn_buffer_check(&run->facts, err);
}

static enum attn_status read_run(struct manifest *manifest, const struct attn_json *json,
                                 const struct attn_node *node, struct attn_error *err)
{
    const struct attn_node *format, *files;
    struct attn_manifest_run *run;

    if (!attn_node_is_object(node))
        return refuse(json, "has a run that is no object", err);
    format = attn_node_find(node, "format");
    files = attn_node_find(node, "files");
    if (!format || !attn_node_string(format) || !files || !attn_node_is_array(files))
        return refuse(json, "has a run without format or files", err);
    ATTN_TRY(ATTN_NEW(run, append_run(manifest, attn_node_string(format), err)));
    ATTN_TRY(read_facts(run, json, node, err));
    for (const struct attn_node *file = attn_node_first(files); file; file = attn_node_next(file)) {
        const char *name = attn_node_string(file);

        /* must be a file in the same directory, not hidden, and not the manifest */
        if (!name || *name == '\0' || *name == '.' || attn_os_last_slash(name) ||
            strcmp(name, MANIFEST_NAME) == 0)
            return refuse(json, "names a file that is not one in its directory", err);
        attn_file_names_append(&run->files, name);
    }
    return attn_buffer_check(&run->files.text, err);
}

/* Reads the runs of a manifest. *JSON must be NULL; the caller frees it. */
static enum attn_status read_runs(struct manifest *manifest, const struct attn_file *file,
                                  struct attn_json **json, struct attn_error *err)
{
    const struct attn_node *runs;

    ATTN_TRY(attn_json_parse(file, json, err));
    runs = attn_node_find(attn_json_root(*json), "runs");
    if (!runs || !attn_node_is_array(runs))
        return refuse(*json, "has no 'runs'", err);
    for (const struct attn_node *node = attn_node_first(runs); node; node = attn_node_next(node))
        ATTN_TRY(read_run(manifest, *json, node, err));
    return ATTN_OK;
}

static enum attn_status read_manifest(struct manifest *manifest, const char *directory,
                                      struct attn_error *err)
{
    struct attn_target target;
    struct attn_file file = {0};
    struct attn_json *json = NULL;
    enum attn_status status = ATTN_OK;

    ATTN_TRY(attn_target_find_in(directory, MANIFEST_NAME, &target, err));
    if (target.exists)
        status = attn_file_read_regular(target.path, MANIFEST_MAX, &file, err);
    if (target.exists && status == ATTN_OK)
        status = read_runs(manifest, &file, &json, err);
    attn_json_free(json);
    attn_file_release(&file);
    attn_target_release(&target);
    if (status == ATTN_FORMAT)
        attn_error_hint(err, "choose another directory, or move that file away");
    return status;
}

/* --- Writing ------------------------------------------------------------------------------- */

static void append_text(struct attn_buffer *text, const struct manifest *manifest)
{
    struct attn_json_writer json = {.out = text};

    attn_json_begin(&json, '{');
    attn_json_line(&json);
    attn_json_head(&json, ATTN_DOCUMENT_MANIFEST);
    attn_json_line(&json);
    attn_json_begin(attn_json_key(&json, "runs"), '[');
    for (size_t i = 0; i < manifest->n; i++) {
        const struct attn_manifest_run *run = manifest->runs[i];
        struct attn_json_writer of_run = run->json; /* continues after the facts */
        const char *name = NULL;

        attn_json_line(&json);
        attn_buffer_append(attn_json_value(&json), run->facts.data, run->facts.size);
        of_run.out = text;
        attn_json_line(&of_run);
        attn_json_begin(attn_json_key(&of_run, "files"), '[');
        while ((name = next_name(&run->files, name)))
            attn_json_text(&of_run, name);
        attn_json_end(&of_run);
        attn_json_end(&of_run);
    }
    attn_json_line(&json);
    attn_json_end(&json);
    attn_json_line(&json);
    attn_json_end(&json);
    attn_buffer_append_char(text, '\n');
}

/* Writes the manifest. TEXT and *SINK must be empty; the caller releases them. */
static enum attn_status save(const struct attn_directory *directory, struct attn_buffer *text,
                             struct attn_sink **sink, struct attn_error *err)
{
    append_text(text, &directory->manifest);
    ATTN_TRY(attn_buffer_check(text, err));
    if (text->size > MANIFEST_MAX)
        return attn_error_set(err, ATTN_INVALID, "'%s/%s' would have %zu bytes, it may have %d",
                              attn_quote_string(directory->path).text, MANIFEST_NAME, text->size,
                              MANIFEST_MAX);
    ATTN_TRY(attn_sink_create_file_in(directory->path, MANIFEST_NAME, sink, err));
    attn_sink_write(*sink, text->data, text->size);
    return attn_sink_commit(*sink, err);
}

/* --- Opening ------------------------------------------------------------------------------- */

/* Creates the directory if it is missing, and sets its info. */
static enum attn_status enter(struct attn_directory *directory, struct attn_error *err)
{
    const char *path = directory->path;

    directory->is_new = attn_os_make_folder(path) == 0;
    if (!directory->is_new && errno != EEXIST)
        return attn_error_errno(err, "make directory", path, errno);
    if (attn_os_stat(path, &directory->info) != 0)
        return attn_error_errno(err, "open directory", path, errno);
    if (directory->info.kind != ATTN_OS_FOLDER)
        return attn_error_set(err, ATTN_IO, "'%s' is a file, expected a directory for %s files",
                              attn_quote_string(path).text, directory->title);
    return ATTN_OK;
}

enum attn_status attn_directory_open(const char *path, const char *title,
                                     struct attn_directory **directory, struct attn_error *err)
{
    struct attn_directory *d;

    ATTN_TRY(ATTN_ALLOC(d, 1, err));
    d->title = title;
    d->path = attn_strndup(path, strlen(path), err);
    ATTN_RETURN_MADE(d->path ? enter(d, err) : ATTN_NO_MEMORY, directory, d, attn_directory_free);
}

int attn_directory_compare(const struct attn_directory *a, const struct attn_directory *b)
{
    if (a->info.device != b->info.device)
        return a->info.device < b->info.device ? -1 : 1;
    return (a->info.number > b->info.number) - (a->info.number < b->info.number);
}

/* Returns true if PATH is the directory. */
static bool is_at(const struct attn_directory *directory, const char *path)
{
    struct attn_os_info info;

    return attn_os_stat(path, &info) == 0 && info.device == directory->info.device &&
           info.number == directory->info.number;
}

static enum attn_status path_of(const struct attn_directory *directory, const char *name,
                                struct attn_buffer *path, struct attn_error *err)
{
    attn_buffer_append_format(path, "%s/%s", directory->path, name);
    attn_buffer_string(path);
    return attn_buffer_check(path, err);
}

enum attn_status attn_directory_read(struct attn_directory *directory, struct attn_error *err)
{
    ATTN_TRY(read_manifest(&directory->manifest, directory->path, err));
    directory->had_manifest = directory->manifest.n > 0;
    return ATTN_OK;
}

/* --- Files --------------------------------------------------------------------------------- */

enum attn_status attn_directory_begin(struct attn_directory *directory,
                                      const struct attn_format *format,
                                      const struct attn_labels *labels,
                                      struct attn_manifest_run **run, struct attn_error *err)
{
    struct attn_manifest_run *added = append_run(&directory->manifest, format->name, err);

    directory->has_manifest = false;
    if (!added)
        return ATTN_NO_MEMORY;
    added->is_current = true;
    attn_json_append_options(attn_json_value(begin_facts(added, ATTN_VERSION, labels->model)),
                             labels);
    *run = added;
    return attn_buffer_check(&added->facts, err);
}

static enum attn_status refuse_other(const struct attn_directory *directory, const char *name,
                                     struct attn_error *err)
{
    return attn_refuse(err, ATTN_STAGE_OPTIONS,
                       "'%s' in '%s' is given as a file, and is one of the %s files there, too",
                       attn_quote_string(name).text, attn_quote_string(directory->path).text,
                       directory->title);
}

enum attn_status attn_directory_keep_off(struct attn_directory *directory, const char *path,
                                         struct attn_error *err)
{
    const char *slash = attn_os_last_slash(path), *name = slash ? slash + 1 : path;
    char *parent =
        slash ? attn_strndup(path, (size_t)(slash - path) + 1, err) : attn_strndup(".", 1, err);
    bool is_here;

    if (!parent)
        return ATTN_NO_MEMORY;
    is_here = is_at(directory, parent);
    attn_free(parent);
    if (!is_here)
        return ATTN_OK;
    if (strcmp(name, MANIFEST_NAME) == 0)
        return refuse_other(directory, name, err);
    attn_file_names_append(&directory->others, name);
    return attn_buffer_check(&directory->others.text, err);
}

/* Writes the manifest, unless one of its files has the name of another output. */
static enum attn_status write_manifest(struct attn_directory *directory, struct attn_error *err)
{
    struct attn_buffer text = {0};
    struct attn_sink *sink = NULL;
    const char *other = NULL;
    enum attn_status status;

    directory->has_manifest = false;
    while ((other = next_name(&directory->others, other)))
        for (size_t i = 0; i < directory->manifest.n; i++) {
            const struct attn_file_names *files = &directory->manifest.runs[i]->files;
            const char *name = NULL;

            while ((name = next_name(files, name)))
                if (strcmp(name, other) == 0)
                    return refuse_other(directory, name, err);
        }
    status = save(directory, &text, &sink, err);
    attn_sink_free(sink);
    attn_buffer_release(&text);
    directory->has_manifest = status == ATTN_OK;
    directory->wrote_manifest |= status == ATTN_OK;
    return status;
}

enum attn_status attn_directory_create_file(struct attn_directory *directory, const char *name,
                                            struct attn_sink **sink, struct attn_error *err)
{
    if (!directory->has_manifest)
        ATTN_TRY(write_manifest(directory, err));
    return attn_sink_create_file_in(directory->path, name, sink, err);
}

enum attn_status attn_directory_commit_file(struct attn_directory *directory,
                                            struct attn_sink *sink, struct attn_error *err)
{
    enum attn_status status = attn_sink_commit(sink, err);

    attn_sink_free(sink);
    directory->has_files |= status == ATTN_OK;
    return status;
}

/* --- Files of earlier runs ----------------------------------------------------------------- */

/* The names of a run's files, sorted for lookup. */
struct sorted_names {
    const char **items; /* [n] owns */
    size_t n;
};

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Removes a regular file of an earlier run, if its name ends like files of FORMAT. */
static enum attn_status remove_file(const struct attn_directory *directory,
                                    const struct attn_format *format, const char *name,
                                    struct attn_error *err)
{
    const size_t size = strlen(name), n = strlen(format->suffix);
    struct attn_buffer path = {0};
    enum attn_status status;
    struct attn_os_info info;

    if (size <= n || strcmp(name + size - n, format->suffix) != 0)
        return ATTN_OK;
    status = path_of(directory, name, &path, err);
    if (status == ATTN_OK && attn_os_stat_link(path.data, &info) == 0 &&
        info.kind == ATTN_OS_FILE && attn_os_remove(path.data) != 0 && errno != ENOENT)
        status = attn_error_errno(err, "remove", path.data, errno);
    attn_buffer_release(&path);
    return status;
}

/* Removes the names of an EARLIER run, together with the files that were not written again. */
static enum attn_status supersede(const struct attn_directory *directory,
                                  struct attn_manifest_run *earlier,
                                  const struct sorted_names *written, struct attn_error *err)
{
    const struct attn_format *format = attn_format_find(earlier->format);
    struct attn_file_names old = earlier->files;
    enum attn_status status = ATTN_OK;
    const char *name = NULL;

    earlier->files = (struct attn_file_names){0};
    while ((name = next_name(&old, name))) {
        if (bsearch(&name, written->items, written->n, sizeof *written->items, compare_names))
            continue;
        ATTN_THEN(status, remove_file(directory, format, name, err));
        if (status != ATTN_OK)
            attn_file_names_append(&earlier->files, name);
    }
    release_names(&old);
    return status == ATTN_OK ? attn_buffer_check(&earlier->files.text, err) : status;
}

/* Supersedes all earlier runs of RUN's format. WRITTEN must be empty; the caller releases it. */
static enum attn_status supersede_all(struct attn_directory *directory,
                                      const struct attn_manifest_run *run,
                                      struct sorted_names *written, struct attn_error *err)
{
    const char *name = NULL;

    ATTN_TRY(ATTN_ALLOC(written->items, run->files.n, err));
    while ((name = next_name(&run->files, name)))
        written->items[written->n++] = name;
    qsort(written->items, written->n, sizeof *written->items, compare_names);
    for (size_t i = 0; i < directory->manifest.n; i++) {
        struct attn_manifest_run *earlier = directory->manifest.runs[i];

        if (earlier->is_current || strcmp(earlier->format, run->format) != 0)
            continue;
        directory->has_manifest = false;
        ATTN_TRY(supersede(directory, earlier, written, err));
    }
    return ATTN_OK;
}

enum attn_status attn_directory_finish(struct attn_directory *directory,
                                       const struct attn_manifest_run *run, struct attn_error *err)
{
    struct manifest *manifest = &directory->manifest;
    struct sorted_names written = {0};
    const enum attn_status status = supersede_all(directory, run, &written, err);
    size_t n = 0;

    attn_free(written.items);
    for (size_t i = 0; i < manifest->n; i++) /* drops runs that have no files left */
        if (manifest->runs[i]->files.n > 0 || manifest->runs[i]->is_current)
            manifest->runs[n++] = manifest->runs[i];
        else
            free_run(manifest->runs[i]);
    manifest->n = n;
    ATTN_TRY(status);
    if (!directory->has_manifest)
        ATTN_TRY(write_manifest(directory, err));
    return ATTN_OK;
}

/* --- The end ------------------------------------------------------------------------------- */

void attn_directory_free(struct attn_directory *directory)
{
    struct attn_buffer path = {0};

    if (!directory)
        return;
    if (directory->path && !directory->has_files) {
        /* leaves the directory as it was before, or removes it if it did not exist */
        if (directory->wrote_manifest && !directory->had_manifest &&
            path_of(directory, MANIFEST_NAME, &path, NULL) == ATTN_OK)
            attn_os_remove(path.data);
        if (directory->is_new)
            attn_os_remove_folder(directory->path); /* fails if it is not empty, as intended */
    }
    for (size_t i = 0; i < directory->manifest.n; i++)
        free_run(directory->manifest.runs[i]);
    attn_free(directory->manifest.runs);
    release_names(&directory->others);
    attn_free(directory->path);
    attn_buffer_release(&path);
    attn_free(directory);
}
