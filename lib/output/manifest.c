/* manifest.c - see manifest.h. */
#include "output/manifest.h"

#include "base/escape.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/target.h"
#include "base/version.h"
#include "formats/json.h"
#include "output/labels_json.h"

#include <string.h>

/* --- Names of files ------------------------------------------------------------------------ */

void attn_file_names_append(struct attn_file_names *names, const char *name)
{
    attn_buffer_append(&names->text, name, strlen(name) + 1);
    names->n++;
}

const char *attn_file_names_next(const struct attn_file_names *names, const char *name)
{
    const char *next = name ? name + strlen(name) + 1 : names->text.data;

    return names->n > 0 && next < names->text.data + names->text.size ? next : NULL;
}

void attn_file_names_release(struct attn_file_names *names)
{
    attn_buffer_release(&names->text);
    names->n = 0;
}

/* --- Runs ---------------------------------------------------------------------------------- */

static void free_run(struct attn_manifest_run *run)
{
    attn_free(run->format);
    attn_buffer_release(&run->facts);
    attn_file_names_release(&run->files);
    attn_free(run);
}

/* A run of FORMAT at the end of the list; NULL on failure, with err set. */
static struct attn_manifest_run *append_run(struct attn_manifest *manifest, const char *format,
                                            struct attn_error *err)
{
    void *runs = manifest->runs;
    const enum attn_status status =
        attn_grow(&runs, &manifest->capacity, manifest->n + 1, sizeof *manifest->runs, err);
    struct attn_manifest_run *run;

    manifest->runs = runs;
    run = status == ATTN_OK ? attn_alloc(1, sizeof *run, err) : NULL;
    if (!run)
        return NULL;
    run->format = attn_strndup(format, strlen(format), err);
    if (run->format)
        return manifest->runs[manifest->n++] = run;
    free_run(run);
    return NULL;
}

void attn_manifest_drop_empty(struct attn_manifest *manifest)
{
    size_t n = 0;

    for (size_t i = 0; i < manifest->n; i++) {
        if (manifest->runs[i]->files.n > 0 || manifest->runs[i]->is_current)
            manifest->runs[n++] = manifest->runs[i];
        else
            free_run(manifest->runs[i]);
    }
    manifest->n = n;
}

void attn_manifest_release(struct attn_manifest *manifest)
{
    for (size_t i = 0; i < manifest->n; i++)
        free_run(manifest->runs[i]);
    attn_free(manifest->runs);
    *manifest = (struct attn_manifest){0};
}

/* --- Facts --------------------------------------------------------------------------------- */

/* Begins the object of RUN, up to the value of its options. */
static struct attn_json_writer *begin_facts(struct attn_manifest_run *run, const char *version,
                                            const char *model)
{
    run->json = (struct attn_json_writer){.out = &run->facts};
    attn_json_begin(&run->json, '{');
    attn_json_key(&run->json, "format");
    attn_json_text(&run->json, run->format);
    attn_json_key(&run->json, "version");
    attn_json_text(&run->json, version);
    attn_json_key(&run->json, "model");
    attn_json_text(&run->json, model);
    attn_json_key(&run->json, "options");
    return &run->json;
}

enum attn_status attn_manifest_add(struct attn_manifest *manifest, const struct attn_format *format,
                                   const struct attn_labels *labels, struct attn_manifest_run **run,
                                   struct attn_error *err)
{
    struct attn_manifest_run *added = append_run(manifest, format->name, err);

    if (!added)
        return ATTN_NO_MEMORY;
    added->is_current = true;
    attn_json_append_options(attn_json_value(begin_facts(added, ATTN_VERSION, labels->model)),
                             labels);
    *run = added;
    return attn_buffer_check(&added->facts, err);
}

/* --- Reading ------------------------------------------------------------------------------- */

static enum attn_status refuse(const struct attn_json *json, const char *what,
                               struct attn_error *err)
{
    return attn_error_set(err, ATTN_FORMAT, "'%s' %s, expected the list of what was written here",
                          attn_quote_string(attn_json_name(json)).text, what);
}

/* The name of a file in the same directory, and no other, that is not hidden. */
static bool is_plain_name(const char *name)
{
    return name && *name != '\0' && *name != '.' && !strchr(name, '/') &&
           strcmp(name, ATTN_MANIFEST_NAME) != 0;
}

/* The facts again as they were written. */
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
        attn_json_key(facts, attn_node_key(option));
        attn_json_text(facts, attn_node_string(option));
    }
    attn_json_end(facts);
    facts->comma = NULL;
    return attn_buffer_check(&run->facts, err);
}

static enum attn_status read_run(struct attn_manifest *manifest, const struct attn_json *json,
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
    run = append_run(manifest, attn_node_string(format), err);
    if (!run)
        return ATTN_NO_MEMORY;
    ATTN_TRY(read_facts(run, json, node, err));
    for (const struct attn_node *file = attn_node_first(files); file; file = attn_node_next(file)) {
        if (!is_plain_name(attn_node_string(file)))
            return refuse(json, "names a file that is not one in its directory", err);
        attn_file_names_append(&run->files, attn_node_string(file));
    }
    return attn_buffer_check(&run->files.text, err);
}

static enum attn_status read_runs(struct attn_manifest *manifest, const struct attn_json *json,
                                  struct attn_error *err)
{
    const struct attn_node *runs = attn_node_find(attn_json_root(json), "runs");

    if (!runs || !attn_node_is_array(runs))
        return refuse(json, "has no 'runs'", err);
    for (const struct attn_node *node = attn_node_first(runs); node; node = attn_node_next(node))
        ATTN_TRY(read_run(manifest, json, node, err));
    return ATTN_OK;
}

static enum attn_status read_target(struct attn_manifest *manifest,
                                    const struct attn_target *target, struct attn_error *err)
{
    struct attn_file file = {0};
    struct attn_json *json = NULL;
    enum attn_status status;

    if (target->info.st_size > ATTN_MANIFEST_MAX)
        return attn_error_set(err, ATTN_FORMAT, "'%s' has %lld bytes, expected at most %d",
                              attn_quote_string(target->path).text, (long long)target->info.st_size,
                              ATTN_MANIFEST_MAX);
    ATTN_TRY(attn_file_open_regular(target->path, ATTN_READ, &file, err));
    status = attn_json_parse(&file, &json, err);
    if (status == ATTN_OK)
        status = read_runs(manifest, json, err);
    attn_json_free(json);
    attn_file_close(&file);
    return status;
}

enum attn_status attn_manifest_read(struct attn_manifest *manifest, const char *directory,
                                    struct attn_error *err)
{
    struct attn_target target;
    enum attn_status status = ATTN_OK;

    ATTN_TRY(attn_target_find_in(directory, ATTN_MANIFEST_NAME, &target, err));
    if (target.exists)
        status = read_target(manifest, &target, err);
    attn_target_release(&target);
    if (status == ATTN_FORMAT)
        attn_error_hint(err, "choose another directory, or move that file away");
    return status;
}

/* --- Writing ------------------------------------------------------------------------------- */

static void append_run_text(struct attn_buffer *text, const struct attn_manifest_run *run)
{
    struct attn_json_writer json = run->json; /* it goes on where the facts end */
    const char *name = NULL;

    json.out = text;
    attn_buffer_append(text, run->facts.data, run->facts.size);
    attn_json_line(&json);
    attn_json_key(&json, "files");
    attn_json_begin(&json, '[');
    while ((name = attn_file_names_next(&run->files, name)))
        attn_json_text(&json, name);
    attn_json_end(&json);
    attn_json_end(&json);
}

static void append_text(struct attn_buffer *text, const struct attn_manifest *manifest)
{
    struct attn_json_writer json = {.out = text};

    attn_json_begin(&json, '{');
    attn_json_line(&json);
    attn_json_key(&json, "runs");
    attn_json_begin(&json, '[');
    for (size_t i = 0; i < manifest->n; i++) {
        attn_json_line(&json);
        append_run_text(attn_json_value(&json), manifest->runs[i]);
    }
    attn_json_line(&json);
    attn_json_end(&json);
    attn_json_line(&json);
    attn_json_end(&json);
    attn_buffer_append_char(text, '\n');
}

/* *SINK is for the caller to free. */
static enum attn_status write_text(const struct attn_buffer *text, const char *directory,
                                   bool is_synced, struct attn_sink **sink, struct attn_error *err)
{
    ATTN_TRY(attn_buffer_check(text, err));
    if (text->size > ATTN_MANIFEST_MAX)
        return attn_error_set(err, ATTN_INVALID, "'%s/%s' would have %zu bytes, it may have %d",
                              attn_quote_string(directory).text, ATTN_MANIFEST_NAME, text->size,
                              ATTN_MANIFEST_MAX);
    ATTN_TRY(attn_sink_create_file_in(directory, ATTN_MANIFEST_NAME, sink, err));
    if (is_synced)
        attn_sink_sync(*sink);
    attn_sink_write(*sink, text->data, text->size);
    return attn_sink_commit(*sink, err);
}

enum attn_status attn_manifest_write(const struct attn_manifest *manifest, const char *directory,
                                     bool is_synced, struct attn_error *err)
{
    struct attn_buffer text = {0};
    struct attn_sink *sink = NULL;
    enum attn_status status;

    append_text(&text, manifest);
    status = write_text(&text, directory, is_synced, &sink, err);
    attn_sink_free(sink);
    attn_buffer_release(&text);
    return status;
}
