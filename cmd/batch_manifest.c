/*
 * batch_manifest.c - see batch_manifest.h. A member stands on a line of its own, so that those which
 * identify the batch are compared as they are.
 */
#include "cmd/batch_manifest.h"

#include "cmd/args/running.h"

#include "tool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Writing ---------------------------------------------------------------------------------- */

/* Appends TEXT as a string of JSON; what is not UTF-8 in it escaped. */
static void append_string(struct attn_buffer *out, const char *text)
{
    const size_t size = strlen(text);
    char *escaped = NULL;
    if (attn_utf8_valid_length(text, size) == size) {
        attn_json_append_string(out, text, size);
    } else if (attn_escape(text, size, &escaped, NULL) == ATTN_OK) {
        attn_json_append_string(out, escaped, strlen(escaped));
        attn_text_free(escaped);
    } else {
        out->has_failed = true;
    }
}

/* Begins a member whose value is JSON already. */
static void append_member(struct attn_buffer *out, const char *name, const char *value)
{
    attn_buffer_append_format(out, ",\n\"%s\": ", name);
    attn_buffer_append_string(out, value);
}

static void append_identity(struct attn_buffer *out, const struct batch_identity *identity)
{
    attn_buffer_append_string(out, "{\n\"attn-cli\": \"" ATTN_VERSION "\"");
    append_member(out, "model_files", identity->model);
    append_member(out, "options", identity->options);
    append_member(out, "input", identity->input);
}

static void append_command(struct attn_buffer *out, const struct batch_manifest *manifest)
{
    append_member(out, "model", "");
    append_string(out, manifest->model);
    append_member(out, "command", "[\"attn-cli\", \"batch\"");
    for (int i = 0; i < manifest->argc; i++) {
        attn_buffer_append_string(out, ", ");
        append_string(out, manifest->argv[i]);
    }
    attn_buffer_append_char(out, ']');
}

static void append_counts(struct attn_buffer *out, const struct batch_checkpoint *done)
{
    const char *between = "";
    attn_buffer_append_format(out, ",\n\"records\": %" PRIu64 ",\n\"tokens\": %" PRIu64,
                              done->n_record, done->n_token);
    append_member(out, "failed", "{");
    for (int i = ATTN_RECORD_FAILURE_NONE + 1; i < ATTN_N_RECORD_FAILURE; i++) {
        if (done->failures[i] == 0)
            continue;
        attn_buffer_append_format(out, "%s\"%s\": %" PRIu64, between, attn_record_failure_code(i),
                                  done->failures[i]);
        between = ", ";
    }
    attn_buffer_append_char(out, '}');
}

static void append_input(struct attn_buffer *out, const struct batch_manifest *manifest,
                         const char *hex)
{
    uint64_t begin, end;
    batch_lines_range(manifest->lines, &begin, &end);
    append_member(out, "input_path", "");
    append_string(out, batch_lines_name(manifest->lines));
    attn_buffer_append_format(out, ",\n\"input_range\": [%" PRIu64 ", %" PRIu64 "]", begin, end);
    attn_buffer_append_format(out, ",\n\"input_sha256\": \"%s\"", hex);
}

static void append_outputs(struct attn_buffer *out, const struct batch_manifest *manifest,
                           const struct batch_digest *digests)
{
    struct attn_records_part part;
    append_member(out, "outputs", "[");
    for (size_t i = 0, n = 0; attn_records_part(manifest->records, i, &part); i++) {
        if (!part.target)
            continue;
        attn_buffer_append_string(out, n++ > 0 ? ",\n{\"path\": " : "\n{\"path\": ");
        append_string(out, part.target);
        attn_buffer_append_format(out, ", \"bytes\": %" PRIu64 ", \"sha256\": \"%s\"}",
                                  digests[i].n_byte, digests[i].hex);
    }
    attn_buffer_append_char(out, ']');
}

static void append_circumstances(struct attn_buffer *out, const struct batch_manifest *manifest)
{
    char time[32];
    struct tm parts;
    gmtime_r(&manifest->started, &parts);
    strftime(time, sizeof(time), "%Y-%m-%dT%H:%M:%SZ", &parts);
    const enum attn_isa most = running_isa(), here = attn_isa_detect();
    append_member(out, "isa", "");
    append_string(out, attn_isa_name(most < here ? most : here));
    attn_buffer_append_format(out, ",\n\"threads\": %d,\n\"started\": \"%s\"", manifest->n_thread,
                              time);
    attn_buffer_append_format(out, ",\n\"seconds\": %.3f,\n\"restarts\": %" PRIu64,
                              1e-3 * (double)manifest->done->milliseconds,
                              manifest->done->n_restart);
    attn_buffer_append_format(out, ",\n\"exit\": %d\n}\n", manifest->exit_code);
}

/* Hashes the parts of the outputs, and the input where it is a file: DIGESTS [n + 1], it is the
 * last. Their PATHS [n] are the caller's to free. */
static enum attn_status hash(const struct batch_manifest *manifest, struct batch_digest *digests,
                             char **paths, size_t n, struct attn_error *err)
{
    struct batch_digests all = {.items = digests, .n = n, .cancel = manifest->cancel};
    struct attn_records_part part;
    for (size_t i = 0; i < n && attn_records_part(manifest->records, i, &part); i++) {
        paths[i] = strdup(part.path);
        if (!paths[i])
            return attn_error_no_memory(err);
        digests[i] = (struct batch_digest){.path = paths[i], .end = BATCH_DIGEST_TO_END};
    }
    if (!manifest->input_digest) {
        digests[n].path = batch_lines_name(manifest->lines);
        batch_lines_range(manifest->lines, &digests[n].begin, &digests[n].end);
        all.n = n + 1;
    }
    batch_digests_start(&all);
    return batch_digests_wait(&all, err);
}

static enum attn_status write_text(const char *path, bool is_synced, const struct attn_buffer *text,
                                   struct attn_error *err)
{
    struct attn_sink *sink = NULL;
    enum attn_status status = attn_buffer_check(text, err);
    if (status == ATTN_OK)
        status = attn_sink_create_file(path, &sink, err);
    if (status != ATTN_OK)
        return status;
    if (is_synced)
        attn_sink_sync(sink);
    attn_sink_write(sink, text->data, text->size);
    status = attn_sink_commit(sink, err);
    attn_sink_free(sink);
    return status;
}

/* Writes it with the DIGESTS [n + 1] of outputs and input. */
static enum attn_status write_manifest(const struct batch_manifest *manifest,
                                       const struct batch_digest *digests, size_t n,
                                       struct attn_error *err)
{
    struct attn_buffer text = {0};
    append_identity(&text, &manifest->identity);
    append_command(&text, manifest);
    append_input(&text, manifest, manifest->input_digest ? manifest->input_digest : digests[n].hex);
    append_counts(&text, manifest->done);
    append_outputs(&text, manifest, digests);
    append_circumstances(&text, manifest);
    const enum attn_status status = write_text(manifest->path, manifest->is_synced, &text, err);
    attn_buffer_release(&text);
    return status;
}

enum attn_status batch_manifest_write(const struct batch_manifest *manifest, struct attn_error *err)
{
    struct attn_records_part part;
    enum attn_status status = ATTN_OK;
    size_t n = 0;
    while (attn_records_part(manifest->records, n, &part))
        n++;
    struct batch_digest *digests = calloc(n + 1, sizeof(*digests));
    char **paths = calloc(n + 1, sizeof(*paths));
    if (!digests || !paths) {
        free(paths);
        free(digests);
        return attn_error_no_memory(err);
    }
    status = hash(manifest, digests, paths, n, err);
    if (status == ATTN_OK)
        status = write_manifest(manifest, digests, n, err);
    for (size_t i = 0; i < n; i++)
        free(paths[i]);
    free(paths);
    free(digests);
    return attn_error_at(status, ATTN_STAGE_OUTPUT, err);
}

/* --- Reading ---------------------------------------------------------------------------------- */

/* The value of the member NAME, which begins a line of TEXT; NULL where there is none. */
static const char *find_member(const char *text, const char *name)
{
    char wanted[64];
    snprintf(wanted, sizeof(wanted), "\n\"%s\": ", name);
    const char *found = strstr(text, wanted);
    return found ? found + strlen(wanted) : NULL;
}

/* Whether the member NAME of TEXT is VALUE. */
static bool has_member(const char *text, const char *name, const char *value)
{
    const char *found = find_member(text, name);
    const size_t size = strlen(value);
    return found && strncmp(found, value, size) == 0 && found[size] == ',' &&
           found[size + 1] == '\n';
}

static const char *find_other(const char *text, const struct batch_identity *identity)
{
    if (!has_member(text, "attn-cli", "\"" ATTN_VERSION "\""))
        return "another version of attn-cli";
    if (!has_member(text, "model_files", identity->model))
        return "another model";
    if (!has_member(text, "options", identity->options))
        return "other options";
    return has_member(text, "input", identity->input) ? NULL : "another input";
}

enum attn_status batch_manifest_read(const char *path, const struct batch_identity *identity,
                                     bool *is_there, int *exit_code, struct attn_error *err)
{
    struct attn_file file;
    struct attn_buffer text = {0};
    enum attn_status status = ATTN_OK;
    int64_t number = 0;
    *is_there = false;
    if (attn_file_open_regular(path, ATTN_READ, &file, NULL) != ATTN_OK)
        return ATTN_OK;
    attn_buffer_append(&text, file.data, file.size);
    attn_file_close(&file);
    const char *content = attn_buffer_string(&text);
    if (!content) {
        status = attn_error_no_memory(err);
    } else {
        const char *other = find_other(content, identity), *found = find_member(content, "exit");
        if (other)
            status =
                batch_report_other(path, other, "without --resume the results are replaced", err);
        *is_there = !other && found && attn_parse_int(found, strcspn(found, "\n"), 0, 255, &number);
        *exit_code = (int)number;
    }
    attn_buffer_release(&text);
    return status;
}
