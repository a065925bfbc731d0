/* ledger_text.c - what a checkpoint and a manifest hold: see ledger_internal.h. One writer and one
 * reader for both. The text is an object of JSON whose last member is the SHA-256 of all before it,
 * so a text that is incomplete or was changed is refused. */
#include "stream/ledger_internal.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/version.h"
#include "formats/json.h"
#include "formats/json_writer.h"
#include "kernels/kernels.h"
#include "run/host_internal.h"

#include <stdio.h>
#include <string.h>

/* What ends a text, before and after the digest; in a line of the journal without white space. */
#define SEAL_BEGIN ",\n\"manifest_sha256\": \""
#define SEAL_END "\"\n}\n"

enum {
    EXIT_FAILED = 6, /* exit code of attn-cli if too many records failed */
    KEY_SIZE = 32,
    SEAL_SIZE = sizeof SEAL_BEGIN SEAL_END - 1 + ATTN_DIGEST_HEX_SIZE - 1,
    N_SPACE = 3 /* the white space in it */
};

/* Writes what ends TEXT [size] to SEAL. */
static void make_seal(const char *text, size_t size, enum attn_ledger_form form,
                      char seal[SEAL_SIZE + 1])
{
    char hex[ATTN_DIGEST_HEX_SIZE];

    attn_digest_bytes(text, size, hex);
    if (form == ATTN_LEDGER_MANIFEST)
        snprintf(seal, SEAL_SIZE + 1, SEAL_BEGIN "%s" SEAL_END, hex);
    else
        snprintf(seal, SEAL_SIZE + 1, ",\"manifest_sha256\":\"%s\"}\n", hex);
}

/* Writes the key with the number of results into KEY, "records" or "items", and returns it. */
static const char *units_key(const struct attn_ledger *ledger, char key[KEY_SIZE])
{
    snprintf(key, KEY_SIZE, "%ss", ledger->unit);
    return key;
}

/* --- Writing ---------------------------------------------------------------------------------- */

/* Begins a member, in a manifest on a new line. */
static struct attn_json_writer *put(struct attn_json_writer *json, const char *name)
{
    if (!json->comma)
        attn_json_line(json);
    return attn_json_key(json, name);
}

enum { N_IDENTITY = 4 };

/* Begins the text, and writes the first N members of the identity. */
static struct attn_json_writer put_identity(const struct attn_ledger *ledger,
                                            enum attn_ledger_form form, int n,
                                            struct attn_buffer *out)
{
    const struct attn_ledger_identity *identity = &ledger->identity;
    const char *const members[N_IDENTITY][2] = {{"attn-cli", "\"" ATTN_VERSION "\""},
                                                {"model_files", identity->model},
                                                {"options", identity->options},
                                                {"input", identity->input}};
    const bool is_line = form != ATTN_LEDGER_MANIFEST;
    struct attn_json_writer json = {
        .out = out, .comma = is_line ? "," : NULL, .colon = is_line ? ":" : NULL};

    attn_json_begin(&json, '{');
    for (int i = 0; i < n; i++)
        attn_buffer_append_string(attn_json_value(put(&json, members[i][0])), members[i][1]);
    return json;
}

/* Writes what the results were made of. */
static void put_source(struct attn_json_writer *json, const struct attn_ledger *ledger,
                       const struct attn_host *host)
{
    attn_json_text(put(json, "model"), attn_model_name(attn_host_model(host)));
    attn_json_begin(put(json, "command"), '[');
    for (size_t i = 0; i < ledger->options->n_command; i++)
        attn_json_text(json, ledger->options->command[i]);
    attn_json_end(json);
    attn_json_text(put(json, "input_path"), ledger->input_name);
}

/* Writes the input that was read, the counts and the state. */
static void put_done(struct attn_json_writer *json, const struct attn_ledger *ledger, bool is_whole)
{
    const struct attn_ledger_done *done = &ledger->done;
    char units[KEY_SIZE];

    attn_json_begin(put(json, "input_range"), '[');
    attn_json_size(json, is_whole ? ledger->input_begin : done->begin);
    attn_json_size(json, is_whole ? ledger->input_end : done->end);
    attn_json_end(json);
    if (!is_whole)
        attn_json_size(put(json, "crc"), done->crc);
    attn_json_text(put(json, "input_sha256"), done->input);
    if (done->n_line_before > 0)
        attn_json_size(put(json, "input_lines_before"), done->n_line_before);
    attn_json_size(put(json, units_key(ledger, units)), done->n_record);
    if (ledger->has_tokens)
        attn_json_size(put(json, "tokens"), done->n_token);
    attn_json_begin(put(json, "failed"), '{');
    for (int i = ATTN_RECORD_FAILURE_NONE + 1; i < ATTN_N_RECORD_FAILURE; i++)
        if (done->failures[i] > 0)
            attn_json_size(attn_json_key(json, attn_record_failure_code(i)), done->failures[i]);
    attn_json_end(json);
    if (ledger->state.size > 0)
        attn_json_string(put(json, "state"), ledger->state.data, ledger->state.size);
}

/* Writes the files: those with a final name if IS_WHOLE, otherwise all parts. */
static void put_outputs(struct attn_json_writer *json, const struct attn_ledger *ledger,
                        bool is_whole)
{
    struct attn_records_part part;

    attn_json_begin(put(json, "outputs"), '[');
    for (size_t i = 0; attn_records_part(ledger->records, i, &part); i++) {
        if (is_whole && !part.target)
            continue;
        if (is_whole)
            attn_json_line(json);
        attn_json_begin(json, '{');
        attn_json_text(attn_json_key(json, "path"), is_whole ? part.target : part.path);
        attn_json_size(attn_json_key(json, "bytes"), ledger->extents[i].size);
        attn_json_text(attn_json_key(json, "sha256"), ledger->extents[i].hex);
        attn_json_end(json);
    }
    attn_json_end(json);
}

static void put_machine(struct attn_json_writer *json, const struct attn_ledger *ledger,
                        const struct attn_host *host)
{
    const enum attn_isa most = host->options.isa, here = attn_isa_detect();
    char time[32];
    struct tm parts;

    gmtime_r(&ledger->started, &parts);
    strftime(time, sizeof time, "%Y-%m-%dT%H:%M:%SZ", &parts);
    attn_json_text(put(json, "isa"), attn_isa_name(most < here ? most : here));
    attn_json_size(put(json, "threads"), (uint64_t)attn_host_n_thread(host));
    attn_json_text(put(json, "started"), time);
}

void attn_ledger_text_append(const struct attn_ledger *ledger, enum attn_ledger_form form,
                             const struct attn_host *host, struct attn_buffer *out)
{
    const bool is_whole = form == ATTN_LEDGER_MANIFEST;
    struct attn_json_writer json =
        put_identity(ledger, form, form == ATTN_LEDGER_LINE ? 0 : N_IDENTITY, out);
    char seal[SEAL_SIZE + 1];

    if (is_whole)
        put_source(&json, ledger, host);
    put_done(&json, ledger, is_whole);
    put_outputs(&json, ledger, is_whole);
    if (is_whole)
        put_machine(&json, ledger, host);
    attn_buffer_append_format(attn_json_value(put(&json, "seconds")), "%.3f",
                              1e-3 * (double)ledger->done.milliseconds);
    attn_json_size(put(&json, "restarts"), ledger->done.n_restart);
    if (is_whole)
        attn_json_size(put(&json, "exit"), ledger->has_failed ? EXIT_FAILED : 0);
    make_seal(out->data, out->size, form, seal);
    attn_buffer_append_string(out, seal);
}

/* --- Reading ---------------------------------------------------------------------------------- */

/* Reads member KEY of OBJECT, a number from 0. Returns false if it is something else, or missing if
 * IS_NEEDED; otherwise a missing one is 0. */
static bool read_count(const struct attn_node *object, const char *key, bool is_needed,
                       uint64_t *count)
{
    const struct attn_node *node = attn_node_find(object, key);
    int64_t value = 0;

    if (node ? !attn_node_int(node, &value) || value < 0 : is_needed)
        return false;
    *count = (uint64_t)value;
    return true;
}

/* Reads member KEY of OBJECT, a digest. */
static bool read_hex(const struct attn_node *object, const char *key,
                     char hex[ATTN_DIGEST_HEX_SIZE])
{
    const struct attn_node *node = attn_node_find(object, key);
    const char *text = node ? attn_node_string(node) : NULL;

    snprintf(hex, ATTN_DIGEST_HEX_SIZE, "%s", text ? text : "");
    return text && strlen(text) == ATTN_DIGEST_HEX_SIZE - 1;
}

/* Reads the counts of failures. */
static bool read_failures(const struct attn_node *root, struct attn_ledger_done *done)
{
    const struct attn_node *failed = attn_node_find(root, "failed");
    bool is_good = failed && attn_node_is_object(failed);

    for (int i = ATTN_RECORD_FAILURE_NONE + 1; is_good && i < ATTN_N_RECORD_FAILURE; i++)
        is_good = read_count(failed, attn_record_failure_code(i), false, &done->failures[i]);
    return is_good;
}

/* Reads the range of the input and the counts. */
static bool read_done(const struct attn_node *root, enum attn_ledger_form form,
                      struct attn_ledger *ledger)
{
    const struct attn_node *range = attn_node_find(root, "input_range");
    const struct attn_node *begin = range ? attn_node_first(range) : NULL;
    const struct attn_node *end = begin ? attn_node_next(begin) : NULL;
    const struct attn_node *seconds = attn_node_find(root, "seconds");
    const struct attn_node *state = attn_node_find(root, "state");
    struct attn_ledger_done *done = &ledger->done;
    int64_t numbers[2];
    double time;
    char units[KEY_SIZE];
    uint64_t exit_code;

    if (!end || !attn_node_int(begin, &numbers[0]) || !attn_node_int(end, &numbers[1]) ||
        numbers[0] < 0 || numbers[1] < 0 || !seconds || !attn_node_double(seconds, &time) ||
        !(time >= 0 && time < 1e12) || (state && !attn_node_string(state)) ||
        !read_count(root, "crc", form != ATTN_LEDGER_MANIFEST, &done->crc) ||
        !read_hex(root, "input_sha256", done->input) ||
        !read_count(root, "input_lines_before", false, &done->n_line_before) ||
        !read_count(root, units_key(ledger, units), true, &done->n_record) ||
        !read_count(root, "tokens", false, &done->n_token) || !read_failures(root, done) ||
        !read_count(root, "restarts", true, &done->n_restart) ||
        !read_count(root, "exit", form == ATTN_LEDGER_MANIFEST, &exit_code))
        return false;
    done->begin = (uint64_t)numbers[0];
    done->end = (uint64_t)numbers[1];
    done->milliseconds = (uint64_t)(1e3 * time + 0.5);
    ledger->has_failed = exit_code != 0;
    attn_buffer_reset(&ledger->state);
    if (state)
        attn_buffer_append_string(&ledger->state, attn_node_string(state));
    return true;
}

/* Reads the sizes and digests of the files, of which N are expected. Returns false for a malformed
 * list; *OTHER is set if it has another number of files. */
static bool read_outputs(const struct attn_node *root, struct attn_ledger *ledger, size_t n,
                         const char **other)
{
    const struct attn_node *outputs = attn_node_find(root, "outputs"), *node;
    size_t i = 0;

    if (!outputs || !attn_node_is_array(outputs))
        return false;
    for (node = attn_node_first(outputs); node; node = attn_node_next(node), i++) {
        struct attn_ledger_extent extent;

        if (!read_count(node, "bytes", true, &extent.size) || !read_hex(node, "sha256", extent.hex))
            return false;
        if (i < n)
            ledger->extents[i] = extent;
    }
    if (i != n)
        *other = "other outputs";
    return true;
}

/* Sets *OTHER to what differs from the identity that TEXT [size] begins with, or to NULL. */
static enum attn_status compare_identity(const struct attn_ledger *ledger,
                                         enum attn_ledger_form form, const char *text, size_t size,
                                         const char **other, struct attn_error *err)
{
    static const char *const names[N_IDENTITY] = {"another version of attn-cli", "another model",
                                                  "other options", "another input"};
    enum attn_status status = ATTN_OK;

    *other = NULL;
    for (int i = 0; status == ATTN_OK && !*other && i < N_IDENTITY; i++) {
        struct attn_buffer wanted = {0};

        put_identity(ledger, form, i + 1, &wanted);
        status = attn_buffer_check(&wanted, err);
        if (status == ATTN_OK &&
            (size < wanted.size || memcmp(text, wanted.data, wanted.size) != 0))
            *other = names[i];
        attn_buffer_release(&wanted);
    }
    return status;
}

/* The number of files that a text lists. */
static size_t count_outputs(const struct attn_ledger *ledger, enum attn_ledger_form form)
{
    struct attn_records_part part;
    size_t n = 0;

    for (size_t i = 0; attn_records_part(ledger->records, i, &part); i++)
        n += part.target != NULL;
    return form == ATTN_LEDGER_MANIFEST ? n : ledger->n_file;
}

enum attn_status attn_ledger_text_read(struct attn_ledger *ledger, enum attn_ledger_form form,
                                       const char *text, size_t size, const char **other,
                                       struct attn_error *err)
{
    const size_t n_seal = SEAL_SIZE - (form == ATTN_LEDGER_MANIFEST ? 0 : N_SPACE);
    char name[] = "ledger", seal[SEAL_SIZE + 1] = "";
    const struct attn_file file = {.path = name, .data = (const unsigned char *)text, .size = size};
    struct attn_json *json;
    enum attn_status status;
    bool is_good;

    if (size >= n_seal)
        make_seal(text, size - n_seal, form, seal);
    is_good = *seal && memcmp(text + size - n_seal, seal, n_seal) == 0;
    *other = NULL;
    if (form == ATTN_LEDGER_MANIFEST || (form == ATTN_LEDGER_FIRST && is_good))
        ATTN_TRY(compare_identity(ledger, form, text, size, other, err));
    if (*other || !is_good)
        return *other ? ATTN_OK : ATTN_FORMAT;
    status = attn_json_parse(&file, &json, NULL);
    if (status == ATTN_NO_MEMORY)
        return attn_error_no_memory(err);
    if (status != ATTN_OK)
        return ATTN_FORMAT;
    is_good = read_done(attn_json_root(json), form, ledger) &&
              read_outputs(attn_json_root(json), ledger, count_outputs(ledger, form), other);
    attn_json_free(json);
    return is_good ? attn_buffer_check(&ledger->state, err) : ATTN_FORMAT;
}
