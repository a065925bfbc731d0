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
#include <sys/stat.h>

/* The ends of the line of an output. */
#define EXTENT_BYTES ", \"bytes\": "
#define EXTENT_DIGEST ", \"sha256\": \""

/* The last member, around the digest. */
#define DIGEST_BEGIN ",\n\"manifest_sha256\": \""
#define DIGEST_END "\"\n}\n"

/* --- Writing ---------------------------------------------------------------------------------- */

static void append_string(struct attn_buffer *out, const char *text)
{
    attn_json_append_string(out, text, strlen(text));
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

static void append_input(struct attn_buffer *out, const struct batch_manifest *manifest)
{
    uint64_t begin, end;
    batch_lines_range(manifest->lines, &begin, &end);
    append_member(out, "input_path", "");
    append_string(out, batch_lines_name(manifest->lines));
    attn_buffer_append_format(out, ",\n\"input_range\": [%" PRIu64 ", %" PRIu64 "]", begin, end);
    attn_buffer_append_format(out, ",\n\"input_sha256\": \"%s\"", manifest->done->input);
    if (manifest->done->n_line_before > 0)
        attn_buffer_append_format(out, ",\n\"input_lines_before\": %" PRIu64,
                                  manifest->done->n_line_before);
}

static void append_outputs(struct attn_buffer *out, const struct batch_manifest *manifest)
{
    struct attn_records_part part;
    append_member(out, "outputs", "[");
    for (size_t i = 0, n = 0; attn_records_part(manifest->records, i, &part); i++) {
        if (!part.target)
            continue;
        attn_buffer_append_string(out, n++ > 0 ? ",\n{\"path\": " : "\n{\"path\": ");
        append_string(out, part.target);
        attn_buffer_append_format(out, EXTENT_BYTES "%" PRIu64 EXTENT_DIGEST "%s\"}",
                                  manifest->done->extents[i].size, manifest->done->extents[i].hex);
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
    attn_buffer_append_format(out, ",\n\"exit\": %d", manifest->exit_code);
}

/* Appends the member that says what all before it was. */
static void append_digest(struct attn_buffer *out)
{
    char hex[BATCH_DIGEST_HEX_SIZE];
    batch_digest_bytes(out->data, out->size, hex);
    attn_buffer_append_format(out, DIGEST_BEGIN "%s" DIGEST_END, hex);
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

enum attn_status batch_manifest_write(const struct batch_manifest *manifest, struct attn_error *err)
{
    struct attn_buffer text = {0};
    append_identity(&text, &manifest->identity);
    append_command(&text, manifest);
    append_input(&text, manifest);
    append_counts(&text, manifest->done);
    append_outputs(&text, manifest);
    append_circumstances(&text, manifest);
    append_digest(&text);
    const enum attn_status status = write_text(manifest->path, manifest->is_synced, &text, err);
    attn_buffer_release(&text);
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

static enum attn_status report_changed(const char *path, struct attn_error *err)
{
    attn_error_set(err, ATTN_INVALID, "'%s' is not as it was written, expected it unchanged",
                   attn_quote_string(path).text);
    attn_error_hint(err, "remove '%s' to compute all anew", attn_quote_string(path).text);
    return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
}

/* Whether TEXT ends with the digest of what it is. */
static bool is_unchanged(const char *text, size_t size)
{
    enum { TAIL = sizeof(DIGEST_BEGIN) - 1 + BATCH_DIGEST_HEX_SIZE - 1 + sizeof(DIGEST_END) - 1 };
    char hex[BATCH_DIGEST_HEX_SIZE], expected[TAIL + 1];
    if (size < TAIL)
        return false;
    batch_digest_bytes(text, size - TAIL, hex);
    snprintf(expected, sizeof(expected), DIGEST_BEGIN "%s" DIGEST_END, hex);
    return memcmp(text + size - TAIL, expected, TAIL) == 0;
}

static bool read_number(const char *text, const char *name, uint64_t *number)
{
    const char *found = find_member(text, name);
    return found && attn_parse_uint(found, strcspn(found, ",]\n"), number);
}

static bool read_hex(const char *text, char hex[BATCH_DIGEST_HEX_SIZE])
{
    const size_t size = strcspn(text, "\"");
    snprintf(hex, BATCH_DIGEST_HEX_SIZE, "%.*s", (int)size, text);
    return size == BATCH_DIGEST_HEX_SIZE - 1;
}

/* The last occurrence of WANTED in LINE [size]. */
static const char *find_last(const char *line, size_t size, const char *wanted)
{
    const size_t n = strlen(wanted);
    for (size_t at = size; at >= n; at--)
        if (memcmp(line + at - n, wanted, n) == 0)
            return line + at;
    return NULL;
}

/* The list of outputs: a line each. */
static bool read_outputs(const char *text, struct batch_made *made)
{
    const char *line = find_member(text, "outputs");
    bool is_good = line;
    while (is_good && (line = strchr(line, '\n')) && line[1] == '{') {
        const size_t size = strcspn(++line, "\n");
        const char *bytes = find_last(line, size, EXTENT_BYTES);
        const char *hex = find_last(line, size, EXTENT_DIGEST);
        struct batch_extent *more =
            realloc(made->outputs, (made->n_output + 1) * sizeof *made->outputs);
        made->outputs = more ? more : made->outputs;
        is_good = more && bytes && hex &&
                  attn_parse_uint(bytes, strcspn(bytes, ","), &more[made->n_output].size) &&
                  read_hex(hex, more[made->n_output].hex);
        made->n_output += is_good;
    }
    return is_good;
}

static bool read_members(const char *text, struct batch_made *made)
{
    const char *range = find_member(text, "input_range");
    const char *comma = range ? strchr(range, ',') : NULL;
    const char *hex = find_member(text, "input_sha256");
    uint64_t exit_code = 0;
    if (!comma || !hex || !attn_parse_uint(range + 1, (size_t)(comma - range) - 1, &made->begin) ||
        !attn_parse_uint(comma + 2, strcspn(comma + 2, "]"), &made->end) ||
        !read_hex(hex + 1, made->input) || !read_number(text, "records", &made->n_record) ||
        !read_number(text, "exit", &exit_code) || exit_code > 255)
        return false;
    made->exit_code = (int)exit_code;
    if (!read_number(text, "input_lines_before", &made->n_line_before))
        made->n_line_before = 0;
    return read_outputs(text, made);
}

void batch_made_release(struct batch_made *made)
{
    free(made->outputs);
    *made = (struct batch_made){0};
}

enum attn_status batch_manifest_read(const char *path, const struct batch_identity *identity,
                                     struct batch_made *made, struct attn_error *err)
{
    struct attn_file file;
    struct attn_buffer text = {0};
    enum attn_status status = ATTN_OK;
    if (attn_file_open_regular(path, ATTN_READ, &file, NULL) != ATTN_OK)
        return ATTN_OK;
    attn_buffer_append(&text, file.data, file.size);
    attn_file_close(&file);
    const char *content = attn_buffer_string(&text);
    const char *other = content ? find_other(content, identity) : NULL;
    if (!content)
        status = attn_error_no_memory(err);
    else if (other)
        status = batch_report_other(path, other, "without --resume the results are replaced", err);
    else if (!is_unchanged(content, text.size) || !read_members(content, made))
        status = report_changed(path, err);
    made->is_there = status == ATTN_OK;
    attn_buffer_release(&text);
    return status;
}

/* --- Comparing -------------------------------------------------------------------------------- */

/* OUTPUT is not what the manifest PATH says: WHAT is found, and EXPECTED was. */
static enum attn_status report_output(const char *output, const char *path, const char *what,
                                      struct attn_error *err)
{
    attn_error_set(err, ATTN_INVALID, "'%s' %s, expected the file that '%s' tells of",
                   attn_quote_string(output).text, what, attn_quote_string(path).text);
    attn_error_hint(err, "remove '%s' to compute all anew", attn_quote_string(path).text);
    return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
}

/* Whether OUTPUT has the size of EXTENT. */
static enum attn_status compare_size(const char *output, const char *path,
                                     const struct batch_extent *extent, struct attn_error *err)
{
    char what[80], size[ATTN_QUANTITY_SIZE], expected[ATTN_QUANTITY_SIZE];
    struct stat info;
    if (stat(output, &info) != 0)
        return report_output(output, path, "cannot be found", err);
    if ((uint64_t)info.st_size == extent->size)
        return ATTN_OK;
    snprintf(what, sizeof(what), "has %s bytes and not %s",
             attn_quantity_count((uint64_t)info.st_size, size),
             attn_quantity_count(extent->size, expected));
    return report_output(output, path, what, err);
}

/* Whether OUTPUT has the digest of EXTENT. */
static enum attn_status compare_bytes(const char *output, const char *path,
                                      const struct batch_extent *extent,
                                      const volatile sig_atomic_t *cancel, struct attn_error *err)
{
    struct batch_digest digest = {.path = output, .end = BATCH_DIGEST_TO_END};
    const enum attn_status status = batch_digest_file(&digest, cancel, err);
    if (status != ATTN_OK)
        return attn_error_at(status, ATTN_STAGE_OUTPUT, err);
    return strcmp(digest.hex, extent->hex) == 0
               ? ATTN_OK
               : report_output(output, path, "has other bytes", err);
}

/* Looks at the outputs: at their sizes, or at all of them. */
static enum attn_status compare_outputs(const char *path, const struct batch_made *made,
                                        const struct attn_records *records, bool reads,
                                        const volatile sig_atomic_t *cancel, struct attn_error *err)
{
    struct attn_records_part part;
    enum attn_status status = ATTN_OK;
    size_t n = 0;
    for (size_t i = 0; status == ATTN_OK && attn_records_part(records, i, &part); i++) {
        if (!part.target)
            continue;
        if (n == made->n_output)
            return report_output(part.target, path, "is one output more", err);
        const struct batch_extent *extent = &made->outputs[n++];
        status = reads ? compare_bytes(part.target, path, extent, cancel, err)
                       : compare_size(part.target, path, extent, err);
    }
    return status;
}

enum attn_status batch_manifest_compare(const char *path, const struct batch_made *made,
                                        const struct attn_records *records,
                                        const volatile sig_atomic_t *cancel, struct attn_error *err)
{
    const enum attn_status status = compare_outputs(path, made, records, false, cancel, err);
    return status == ATTN_OK ? compare_outputs(path, made, records, true, cancel, err) : status;
}
