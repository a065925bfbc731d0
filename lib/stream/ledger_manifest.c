/* ledger_manifest.c - the manifest: see ledger_internal.h. Each member has its own line, so that
 * those with the identity can be compared as text. */
#include "stream/ledger_internal.h"

#include "base/escape.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status_internal.h"
#include "base/version.h"
#include "formats/json_writer.h"
#include "kernels/kernels.h"
#include "run/host_internal.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* What follows the name of an output on its line. */
#define EXTENT_BYTES ", \"bytes\": "
#define EXTENT_DIGEST ", \"sha256\": \""

/* The last member, before and after the digest. */
#define DIGEST_BEGIN ",\n\"manifest_sha256\": \""
#define DIGEST_END "\"\n}\n"

enum { EXIT_FAILED = 6 }; /* exit code of attn-cli if too many records failed */

/* --- Writing --------------------------------------------------------------------------------- */

/* Begins a member on a new line. */
static void put_key(struct attn_json_writer *json, const char *name)
{
    attn_json_line(json);
    attn_json_key(json, name);
}

static void put_text(struct attn_json_writer *json, const char *name, const char *value)
{
    put_key(json, name);
    attn_json_text(json, value);
}

enum { KEY_SIZE = 32 };

/* Writes the key with the number of results into KEY, "records" or "items", and returns it. */
static const char *units_key(const struct attn_ledger *ledger, char key[KEY_SIZE])
{
    snprintf(key, KEY_SIZE, "%ss", ledger->unit);
    return key;
}

static void put_count(struct attn_json_writer *json, const char *name, uint64_t value)
{
    put_key(json, name);
    attn_json_size(json, value);
}

/* Writes a member whose value is JSON text. */
static void put_json(struct attn_json_writer *json, const char *name, const char *value)
{
    put_key(json, name);
    attn_buffer_append_string(attn_json_value(json), value);
}

/* Writes the identity of the results, the input that was read, and the counts. */
static void put_input(struct attn_json_writer *json, struct attn_ledger *ledger,
                      const struct attn_host *host)
{
    const struct attn_ledger_done *done = &ledger->done;
    char units[KEY_SIZE];

    put_text(json, "attn-cli", ATTN_VERSION);
    put_json(json, "model_files", ledger->identity.model);
    put_json(json, "options", ledger->identity.options);
    put_json(json, "input", ledger->identity.input);
    put_text(json, "model", attn_model_name(attn_host_model(host)));
    put_key(json, "command");
    attn_json_begin(json, '[');
    for (size_t i = 0; i < ledger->options->n_command; i++)
        attn_json_text(json, ledger->options->command[i]);
    attn_json_end(json);
    put_text(json, "input_path", ledger->input_name);
    put_key(json, "input_range");
    attn_json_begin(json, '[');
    attn_json_size(json, ledger->input_begin);
    attn_json_size(json, ledger->input_end);
    attn_json_end(json);
    put_text(json, "input_sha256", done->input);
    if (done->n_line_before > 0)
        put_count(json, "input_lines_before", done->n_line_before);
    put_count(json, units_key(ledger, units), done->n_record);
    if (ledger->has_tokens)
        put_count(json, "tokens", done->n_token);
    put_key(json, "failed");
    attn_json_begin(json, '{');
    for (int i = ATTN_RECORD_FAILURE_NONE + 1; i < ATTN_N_RECORD_FAILURE; i++) {
        if (done->failures[i] == 0)
            continue;
        attn_json_key(json, attn_record_failure_code(i));
        attn_json_size(json, done->failures[i]);
    }
    attn_json_end(json);
    if (ledger->state.size > 0)
        put_text(json, "state", attn_buffer_string(&ledger->state));
}

static void put_outputs(struct attn_json_writer *json, const struct attn_ledger *ledger)
{
    struct attn_records_part part;

    put_key(json, "outputs");
    attn_json_begin(json, '[');
    for (size_t i = 0; attn_records_part(ledger->records, i, &part); i++) {
        if (!part.target)
            continue;
        attn_json_line(json);
        attn_json_begin(json, '{');
        attn_json_key(json, "path");
        attn_json_text(json, part.target);
        attn_json_key(json, "bytes");
        attn_json_size(json, ledger->extents[i].size);
        attn_json_key(json, "sha256");
        attn_json_text(json, ledger->extents[i].hex);
        attn_json_end(json);
    }
    attn_json_end(json);
}

static void put_circumstances(struct attn_json_writer *json, const struct attn_ledger *ledger,
                              const struct attn_host *host)
{
    const enum attn_isa most = host->options.isa, here = attn_isa_detect();
    char time[32];
    struct tm parts;

    gmtime_r(&ledger->started, &parts);
    strftime(time, sizeof time, "%Y-%m-%dT%H:%M:%SZ", &parts);
    put_text(json, "isa", attn_isa_name(most < here ? most : here));
    put_count(json, "threads", (uint64_t)attn_host_n_thread(host));
    put_text(json, "started", time);
    put_key(json, "seconds");
    attn_buffer_append_format(attn_json_value(json), "%.3f",
                              1e-3 * (double)ledger->done.milliseconds);
    put_count(json, "restarts", ledger->done.n_restart);
    put_count(json, "exit", ledger->has_failed ? EXIT_FAILED : 0);
}

enum attn_status attn_ledger_manifest_write(struct attn_ledger *ledger,
                                            const struct attn_host *host, struct attn_error *err)
{
    struct attn_buffer text = {0};
    struct attn_json_writer json = {.out = &text};
    char hex[ATTN_DIGEST_HEX_SIZE];
    struct attn_sink *sink = NULL;
    enum attn_status status;

    attn_json_begin(&json, '{');
    put_input(&json, ledger, host);
    put_outputs(&json, ledger);
    put_circumstances(&json, ledger, host);
    attn_digest_bytes(text.data, text.size, hex);
    put_text(&json, "manifest_sha256", hex);
    attn_json_line(&json);
    attn_json_end(&json);
    attn_buffer_append_char(&text, '\n');
    status = attn_buffer_check(&text, err);
    if (status == ATTN_OK)
        status = attn_sink_create_file(ledger->manifest_path.data, &sink, err);
    if (status == ATTN_OK) {
        if (ledger->options->is_synced)
            attn_sink_sync(sink);
        attn_sink_write(sink, text.data, text.size);
        status = attn_sink_commit(sink, err);
    }
    attn_sink_free(sink);
    attn_buffer_release(&text);
    return status;
}

/* --- Reading --------------------------------------------------------------------------------- */

/* Returns the value of the member NAME, which begins a line of TEXT; NULL if it is missing. */
static const char *find_member(const char *text, const char *name)
{
    char wanted[64];
    const int size = snprintf(wanted, sizeof wanted, "\"%s\": ", name);

    for (const char *line = strchr(text, '\n'); line; line = strchr(line, '\n'))
        if (strncmp(++line, wanted, (size_t)size) == 0)
            return line + size;
    return NULL;
}

/* Returns true if the member NAME of TEXT equals VALUE. */
static bool has_member(const char *text, const char *name, const char *value)
{
    const char *found = find_member(text, name);
    const size_t size = strlen(value);

    return found && strncmp(found, value, size) == 0 && found[size] == ',' &&
           found[size + 1] == '\n';
}

static bool read_number(const char *text, const char *name, uint64_t *number)
{
    const char *found = find_member(text, name);

    return found && attn_parse_uint(found, strcspn(found, ",]\n"), number);
}

static bool read_hex(const char *text, char hex[ATTN_DIGEST_HEX_SIZE])
{
    const size_t size = strcspn(text, "\"");

    snprintf(hex, ATTN_DIGEST_HEX_SIZE, "%.*s", (int)size, text);
    return size == ATTN_DIGEST_HEX_SIZE - 1;
}

/* Returns the end of the last occurrence of WANTED in LINE [size]; NULL if there is none. */
static const char *find_last(const char *line, size_t size, const char *wanted)
{
    const size_t n = strlen(wanted);

    for (size_t at = size; at >= n; at--)
        if (memcmp(line + at - n, wanted, n) == 0)
            return line + at;
    return NULL;
}

/* Reads the list of outputs, one per line. *IS_GOOD is false if it is malformed. */
static enum attn_status read_outputs(const char *text, struct attn_ledger_made *made, bool *is_good,
                                     struct attn_error *err)
{
    const char *line = find_member(text, "outputs");
    size_t capacity = 0;

    *is_good = line;
    while (*is_good && (line = strchr(line, '\n')) && line[1] == '{') {
        const size_t size = strcspn(++line, "\n");
        const char *bytes = find_last(line, size, EXTENT_BYTES);
        const char *hex = find_last(line, size, EXTENT_DIGEST);
        struct attn_ledger_extent *output;

        ATTN_TRY(
            attn_grow(&made->outputs, &capacity, made->n_output + 1, sizeof *made->outputs, err));
        output = &made->outputs[made->n_output];
        *is_good = bytes && hex && attn_parse_uint(bytes, strcspn(bytes, ","), &output->size) &&
                   read_hex(hex, output->hex);
        made->n_output += *is_good;
    }
    return ATTN_OK;
}

/* Restores the state of the sinks. */
static void read_state(const char *text, struct attn_ledger *ledger)
{
    const char *state = find_member(text, "state");

    attn_buffer_reset(&ledger->state);
    if (state) /* plain characters between quotes */
        attn_buffer_append(&ledger->state, state + 1, strcspn(state + 1, "\""));
}

/* Reads counts and the digest of the input. Returns false if TEXT is malformed. */
static bool read_members(const char *text, const char *units, struct attn_ledger_made *made)
{
    const char *range = find_member(text, "input_range");
    const char *comma = range ? strchr(range, ',') : NULL;
    const char *hex = find_member(text, "input_sha256"), *failed = find_member(text, "failed");
    const char *end = failed ? strchr(failed, '}') : NULL;
    uint64_t exit_code = 0, n = 0;

    if (!comma || !hex || !attn_parse_uint(range + 1, (size_t)(comma - range) - 1, &made->begin) ||
        !attn_parse_uint(comma + 2, strcspn(comma + 2, "]"), &made->end) ||
        !read_hex(hex + 1, made->input) || !read_number(text, units, &made->n_record) ||
        !read_number(text, "exit", &exit_code))
        return false;
    made->has_failed = exit_code != 0;
    /* sums failures over all codes: {"empty": 1, "too_long": 2} */
    while (end && (failed = memchr(failed, ':', (size_t)(end - failed)))) {
        failed += 2;
        made->n_failed += attn_parse_uint(failed, strcspn(failed, ",}"), &n) ? n : 0;
    }
    if (!read_number(text, "input_lines_before", &made->n_line_before))
        made->n_line_before = 0;
    return true;
}

void attn_ledger_made_release(struct attn_ledger_made *made)
{
    attn_free(made->outputs);
    *made = (struct attn_ledger_made){0};
}

/* Reads the TEXT [size] of the manifest, which is null-terminated. */
static enum attn_status read_text(struct attn_ledger *ledger, const char *text, size_t size,
                                  struct attn_ledger_made *made, struct attn_error *err)
{
    const struct attn_ledger_identity *identity = &ledger->identity;
    const char *path = ledger->manifest_path.data;
    enum { TAIL = sizeof DIGEST_BEGIN - 1 + ATTN_DIGEST_HEX_SIZE - 1 + sizeof DIGEST_END - 1 };
    const char *other = !has_member(text, "attn-cli", "\"" ATTN_VERSION "\"")
                            ? "another version of attn-cli"
                        : !has_member(text, "model_files", identity->model) ? "another model"
                        : !has_member(text, "options", identity->options)   ? "other options"
                        : !has_member(text, "input", identity->input)       ? "another input"
                                                                            : NULL;
    char hex[ATTN_DIGEST_HEX_SIZE], expected[TAIL + 1], units[KEY_SIZE];
    bool is_good = false;

    if (other)
        return attn_ledger_report_other(path, other,
                                        "without `is_resumed` the results are replaced", err);
    if (size >= TAIL) { /* it ends with the digest of the text before */
        attn_digest_bytes(text, size - TAIL, hex);
        snprintf(expected, sizeof expected, DIGEST_BEGIN "%s" DIGEST_END, hex);
        is_good = memcmp(text + size - TAIL, expected, TAIL) == 0 &&
                  read_members(text, units_key(ledger, units), made);
        read_state(text, ledger);
    }
    if (is_good)
        ATTN_TRY(read_outputs(text, made, &is_good, err));
    if (is_good)
        return ATTN_OK;
    attn_error_set(err, ATTN_INVALID, "'%s' is not as it was written, expected it unchanged",
                   attn_quote_string(path).text);
    attn_error_hint(err, "remove '%s' to compute all anew", attn_quote_string(path).text);
    return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
}

/* Appends the manifest PATH to TEXT. Returns its text; NULL if it cannot be read. */
static const char *read_file(const char *path, struct attn_buffer *text)
{
    struct attn_file file;

    if (attn_file_open_regular(path, ATTN_READ, &file, NULL) != ATTN_OK)
        return NULL;
    attn_buffer_append(text, file.data, file.size);
    attn_file_release(&file);
    return attn_buffer_string(text);
}

bool attn_ledger_manifest_is_of(const char *path, const char *input)
{
    struct attn_buffer text = {0};
    const char *found = read_file(path, &text);
    const bool is_same = !found || has_member(found, "input", input);

    attn_buffer_release(&text);
    return is_same;
}

enum attn_status attn_ledger_manifest_read(struct attn_ledger *ledger,
                                           struct attn_ledger_made *made, struct attn_error *err)
{
    struct attn_buffer text = {0};
    const char *content = read_file(ledger->manifest_path.data, &text);
    enum attn_status status;

    if (!content && !text.has_failed)
        return ATTN_OK;
    status = attn_buffer_check(&text, err);
    if (status == ATTN_OK)
        status = read_text(ledger, content, text.size, made, err);
    made->is_there = status == ATTN_OK;
    attn_buffer_release(&text);
    return status;
}

/* --- Comparing ------------------------------------------------------------------------------- */

/* Sets the error that OUTPUT differs from the manifest PATH. WHAT describes the difference. */
static enum attn_status report_output(const char *output, const char *path, const char *what,
                                      struct attn_error *err)
{
    attn_error_set(err, ATTN_INVALID, "'%s' %s, expected the file recorded in '%s'",
                   attn_quote_string(output).text, what, attn_quote_string(path).text);
    attn_error_hint(err, "remove '%s' to compute all anew", attn_quote_string(path).text);
    return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
}

/* Compares the size of OUTPUT with EXTENT; with STOP, compares its digest instead. */
static enum attn_status compare_output(const char *output, const char *path,
                                       const struct attn_ledger_extent *extent,
                                       const struct attn_stop *stop, struct attn_error *err)
{
    char what[80], found[ATTN_QUANTITY_SIZE], expected[ATTN_QUANTITY_SIZE];
    char hex[ATTN_DIGEST_HEX_SIZE];
    struct stat info;
    uint64_t size;

    if (stop) {
        ATTN_TRY(
            attn_error_at(attn_digest_file(output, stop, &size, hex, err), ATTN_STAGE_OUTPUT, err));
        return strcmp(hex, extent->hex) == 0 ? ATTN_OK
                                             : report_output(output, path, "has other bytes", err);
    }
    if (stat(output, &info) != 0)
        return report_output(output, path, "cannot be found", err);
    if ((uint64_t)info.st_size == extent->size)
        return ATTN_OK;
    snprintf(what, sizeof what, "has %s bytes and not %s",
             attn_quantity_count((uint64_t)info.st_size, found),
             attn_quantity_count(extent->size, expected));
    return report_output(output, path, what, err);
}

enum attn_status attn_ledger_manifest_compare(const struct attn_ledger *ledger,
                                              const struct attn_ledger_made *made,
                                              struct attn_error *err)
{
    const struct attn_stop stop = {.cancel = ledger->cancel};
    const char *path = ledger->manifest_path.data;
    struct attn_records_part part;
    size_t n_output = 0;

    for (size_t i = 0; attn_records_part(ledger->records, i, &part); i++)
        n_output += part.target != NULL;
    if (n_output != made->n_output)
        return attn_ledger_report_other(path, "other outputs",
                                        "without `is_resumed` the results are replaced", err);
    for (int pass = 0; pass < 2; pass++) { /* first compares all sizes, then all bytes */
        size_t n = 0;

        for (size_t i = 0; attn_records_part(ledger->records, i, &part); i++) {
            const struct attn_ledger_extent *extent = &made->outputs[n];

            if (!part.target)
                continue;
            n++;
            ATTN_TRY(compare_output(part.target, path, extent, pass == 0 ? NULL : &stop, err));
        }
    }
    return ATTN_OK;
}

enum attn_status attn_ledger_report_other(const char *path, const char *what, const char *remedy,
                                          struct attn_error *err)
{
    attn_error_set(err, ATTN_INVALID, "'%s' is of a run with %s, expected the same",
                   attn_quote_string(path).text, what);
    attn_error_hint(err, "%s", remedy);
    return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
}
