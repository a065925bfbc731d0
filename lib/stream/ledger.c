/* ledger.c - names, checkpoints and the end of a ledger: see ledger_internal.h. */
#include "stream/ledger_internal.h"

#include "base/clock.h"
#include "base/escape.h"
#include "base/given.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/path.h"
#include "base/sink_internal.h"
#include "base/status_internal.h"
#include "run/host_internal.h"
#include "tensors/format_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const double checkpoint_seconds = 1;

/* --- Names ------------------------------------------------------------------------------------ */

/* Returns true if PATH is a pipe or a device. */
static bool is_stream(const char *path)
{
    struct stat info;

    return strncmp(path, "/dev/std", 8) == 0 || strncmp(path, "/dev/fd/", 8) == 0 ||
           (stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode));
}

void attn_ledger_append_path(struct attn_buffer *out, const char *path, size_t shard,
                             size_t n_shard)
{
    size_t n;
    const char *last = attn_path_last(path, &n), *end = last + n, *dot = end;

    for (const char *at = end; at > last + 1 && dot == end;)
        if (*--at == '.')
            dot = at;
    if (n_shard == 0 || is_stream(path)) /* drops the / at the end of a folder */
        attn_buffer_append(out, path, (size_t)(end - path));
    else
        attn_buffer_append_format(out, "%.*s-%05zu-of-%05zu%.*s", (int)(dot - path), path, shard,
                                  n_shard, (int)(end - dot), dot);
}

const char *attn_ledger_field(const struct attn_ledger *ledger, size_t i)
{
    return i > 0 ? ledger->outputs[i].format : ledger->field;
}

/* Names the files beside the first output. */
static enum attn_status name_files(struct attn_ledger *ledger, struct attn_error *err)
{
    const char *name = ledger->name = ledger->outputs[0].path;

    attn_buffer_append_format(&ledger->journal_path, "%s.journal", name);
    attn_buffer_append_format(&ledger->manifest_path, "%s.run.json", name);
    if (!attn_buffer_string(&ledger->journal_path) || !attn_buffer_string(&ledger->manifest_path))
        return attn_error_no_memory(err);
    ATTN_TRY(attn_path_check_plain(ledger->manifest_path.data, err));
    if (!ledger->has_kept)
        return ATTN_OK;
    attn_buffer_append_format(&ledger->kept_path, "%s.state", name);
    if (!attn_buffer_string(&ledger->kept_path))
        return attn_error_no_memory(err);
    ledger->outputs[ledger->n_output++] =
        (struct attn_records_item){.format = "state", .path = ledger->kept_path.data};
    return attn_path_check_plain(ledger->kept_path.data, err);
}

/* Sets the options of the identity. Skips files that cannot be read, which are reported later, and
 * FIFOs, whose reading blocks. */
static enum attn_status describe_options(struct attn_ledger *ledger, struct attn_error *err)
{
    const char *asked = ledger->options->asked ? ledger->options->asked : "{}";
    const char *const *files = ledger->options->files;
    const struct attn_stop stop = {.cancel = ledger->cancel};
    struct attn_buffer *out = &ledger->asked;
    char hex[ATTN_DIGEST_HEX_SIZE];
    struct stat info;
    uint64_t size;
    size_t n_known = 0;

    attn_buffer_append(out, asked, strlen(asked) - (*asked != '\0'));
    for (size_t i = 0; i < ledger->options->n_file; i++) {
        if (stat(files[i], &info) != 0 || !S_ISREG(info.st_mode) ||
            attn_digest_file(files[i], &stop, &size, hex, NULL) != ATTN_OK)
            continue;
        if (n_known++ == 0)
            attn_buffer_append_string(out, out->size > 1 ? ",\"files\":[" : "\"files\":[");
        else
            attn_buffer_append_char(out, ',');
        attn_buffer_append_format(out, "\"%s\"", hex);
    }
    attn_buffer_append_string(out, n_known > 0 ? "]}" : "}");
    ledger->identity.options = attn_buffer_string(out);
    return attn_buffer_check(out, err);
}

/* Notes the first other shard whose manifest is of an input of another SIZE. */
static void note_shards(const struct attn_ledger *ledger, const uint64_t *size)
{
    bool is_same = true;

    for (size_t i = 0; ledger->name && is_same && i < ledger->n_shard; i++) {
        struct attn_buffer other = {0};

        attn_ledger_append_path(&other, ledger->whole, i, ledger->n_shard);
        attn_buffer_append_string(&other, ".run.json");
        is_same = i == ledger->shard || !attn_buffer_string(&other) ||
                  attn_ledger_manifest_is_of(other.data, size);
        if (!is_same)
            attn_note(ledger->notes.on_note, ledger->notes.user, ATTN_NOTE_OTHER_SHARD,
                      "'%s' is of another input: these shards are not parts of one file",
                      attn_quote_string(other.data).text);
        attn_buffer_release(&other);
    }
}

static enum attn_status describe_input(struct attn_ledger *ledger, const uint64_t *size,
                                       struct attn_error *err)
{
    if (size)
        attn_buffer_append_format(&ledger->input_size, "{\"bytes\":%" PRIu64 "}", *size);
    else
        attn_buffer_append_string(&ledger->input_size, "{\"bytes\":null}");
    ledger->identity.input = attn_buffer_string(&ledger->input_size);
    return attn_buffer_check(&ledger->input_size, err);
}

enum attn_status attn_ledger_name(struct attn_ledger *ledger,
                                  const struct attn_records_item *outputs, size_t n,
                                  const uint64_t *input_size, struct attn_error *err)
{
    ledger->started = time(NULL);
    ledger->whole = outputs[0].path;
    ATTN_TRY(ATTN_ALLOC(ledger->outputs, n + 1, err));
    ATTN_TRY(ATTN_ALLOC(ledger->paths, n + 1, err));
    attn_digest_bytes("", 0, ledger->done.input);
    ledger->n_output = n;
    for (size_t i = 0; i < n; i++) {
        struct attn_records_item *output = &ledger->outputs[i];
        struct attn_buffer *path = &ledger->paths[i];

        *output = outputs[i];
        if (!attn_is_given(output->format, "format", err) ||
            !attn_is_given(output->path || output->sink, "path", err))
            return ATTN_INVALID;
        if (!output->path)
            continue;
        attn_ledger_append_path(path, output->path, ledger->shard, ledger->n_shard);
        output->path = attn_buffer_string(path);
        ATTN_TRY(attn_buffer_check(path, err));
    }
    if (outputs[0].path && !is_stream(ledger->outputs[0].path))
        ATTN_TRY(attn_error_at(name_files(ledger, err), ATTN_STAGE_OUTPUT, err));
    if (ledger->options->is_resumed && !ledger->name) {
        attn_error_set(err, ATTN_INVALID,
                       "`is_resumed` goes on with a file, and '%s' is a pipe or a device",
                       attn_quote_string(outputs[0].path ? outputs[0].path : "the sink").text);
        attn_error_of(ATTN_INVALID, attn_ledger_field(ledger, 0), err);
        return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
    }
    if (ledger->name && !attn_is_given(ledger->options->source, "source", err))
        return ATTN_INVALID;
    ATTN_TRY(describe_options(ledger, err));
    ATTN_TRY(describe_input(ledger, input_size, err));
    note_shards(ledger, input_size);
    return ATTN_OK;
}

/* --- Beginning, or resuming ------------------------------------------------------------------- */

enum attn_status attn_ledger_open(struct attn_ledger *ledger, const struct attn_records_form *form,
                                  struct attn_host *host, struct attn_error *err)
{
    for (size_t i = 0; i < ledger->n_output; i++) {
        const struct attn_format named = {.name = attn_ledger_field(ledger, i)};
        const struct attn_output output = {.format = &named, .path = ledger->outputs[i].path};

        if (output.path)
            ATTN_TRY(attn_host_check_outputs(host, &output, 1, err));
    }
    ATTN_TRY(attn_records_open(ledger->outputs, ledger->n_output, form, ledger->options->is_resumed,
                               &ledger->records, err));
    if (!ledger->name)
        return ATTN_OK;
    ATTN_TRY(attn_model_files_start(ledger->options->source, attn_host_model(host), ledger->cancel,
                                    &ledger->model, err));
    ATTN_TRY(
        attn_error_at(attn_ledger_parts_open(ledger->records, ledger->cancel, &ledger->parts, err),
                      ATTN_STAGE_OUTPUT, err));
    ledger->n_file = attn_ledger_parts_n(ledger->parts);
    ledger->extents = attn_alloc(ledger->n_file, sizeof *ledger->extents, err);
    return ledger->extents ? ATTN_OK : ATTN_NO_MEMORY;
}

static bool is_empty(const struct attn_records *records)
{
    struct attn_records_part part;

    for (size_t i = 0; attn_records_part(records, i, &part); i++)
        if (part.size > 0)
            return false;
    return true;
}

enum attn_status attn_ledger_find(struct attn_ledger *ledger, struct attn_error *err)
{
    ATTN_TRY(attn_model_files_wait(ledger->model, &ledger->identity.model, err));
    if (is_empty(ledger->records) && access(ledger->name, F_OK) == 0)
        ATTN_TRY(attn_ledger_manifest_read(ledger, err));
    if (!ledger->is_whole) {
        ATTN_TRY(attn_error_at(attn_ledger_journal_resume(ledger, err), ATTN_STAGE_OUTPUT, err));
        attn_ledger_parts_rewind(ledger->parts);
        if (ledger->journal < 0) {
            ledger->done = (struct attn_ledger_done){0};
            attn_digest_bytes("", 0, ledger->done.input);
        }
        ledger->milliseconds_before = ledger->done.milliseconds;
    }
    for (int i = ATTN_RECORD_FAILURE_NONE + 1; i < ATTN_N_RECORD_FAILURE; i++)
        ledger->n_failed += ledger->done.failures[i];
    return ledger->is_whole ? attn_ledger_manifest_compare(ledger, err) : ATTN_OK;
}

enum attn_status attn_ledger_cut(struct attn_ledger *ledger, struct attn_error *err)
{
    const struct attn_quote name = attn_quote_string(ledger->name);
    const bool is_resumed = ledger->journal >= 0;
    uint64_t *sizes = attn_alloc(ledger->n_file, sizeof *sizes, err), size;
    char count[ATTN_QUANTITY_SIZE];
    enum attn_status status;
    const char *damaged;

    if (!sizes)
        return ATTN_NO_MEMORY;
    for (size_t i = 0; i < ledger->n_file; i++)
        sizes[i] = ledger->extents[i].size;
    status = attn_records_begin(ledger->records, (size_t)ledger->done.n_record,
                                is_resumed ? sizes : NULL, ledger->n_file, err);
    attn_free(sizes);
    ATTN_TRY(status);
    ledger->n_checked = is_resumed ? ledger->done.n_record : 0;
    ledger->done.n_restart += is_resumed;
    damaged = attn_ledger_parts_damaged(ledger->parts, &size);
    if (damaged)
        attn_note(ledger->notes.on_note, ledger->notes.user, ATTN_NOTE_DAMAGED,
                  "the first %s bytes of '%s' are not those that were written: %s",
                  attn_quantity_count(size, count), attn_quote_string(damaged).text,
                  is_resumed ? "an earlier checkpoint is taken" : "all is computed anew");
    if (is_resumed)
        attn_note(ledger->notes.on_note, ledger->notes.user, ATTN_NOTE_CONTINUED,
                  "'%s' continues at %s %s", name.text, ledger->unit,
                  attn_quantity_count(ledger->done.n_record, count));
    return ATTN_OK;
}

/* --- Checkpoints ------------------------------------------------------------------------------ */

double attn_ledger_seconds(const struct attn_ledger *ledger)
{
    return ledger->begun > 0 ? attn_clock_seconds() - ledger->begun : 0;
}

/* Updates the time and the state. *IS_READY is false if there can be no checkpoint yet. */
static enum attn_status measure(struct attn_ledger *ledger, bool *is_ready, struct attn_error *err)
{
    ledger->done.milliseconds =
        ledger->milliseconds_before + (uint64_t)(1e3 * attn_ledger_seconds(ledger));
    if (ledger->has_read)
        attn_digest_hex(&ledger->read, ledger->done.input);
    attn_buffer_reset(&ledger->state);
    *is_ready = attn_records_save(ledger->records, &ledger->state);
    return attn_buffer_check(&ledger->state, err);
}

/* Flushes the outputs, and appends a checkpoint to the journal if the digests of the model's files
 * are known. */
static enum attn_status checkpoint(struct attn_ledger *ledger, struct attn_error *err)
{
    bool is_ready;

    ATTN_TRY(attn_records_flush(ledger->records, ledger->options->is_synced, err));
    ATTN_TRY(measure(ledger, &is_ready, err));
    if (!ledger->name || !is_ready || ledger->done.n_record == ledger->n_checked ||
        (ledger->journal < 0 && !attn_model_files_are_ready(ledger->model)))
        return ATTN_OK; /* nothing can be resumed without the digests of the model's files */
    if (ledger->journal < 0)
        ATTN_TRY(attn_model_files_wait(ledger->model, &ledger->identity.model, err));
    ATTN_TRY(
        attn_ledger_parts_measure(ledger->parts, ledger->records, false, ledger->extents, err));
    ATTN_TRY(attn_ledger_journal_append(ledger, err));
    ledger->n_checked = ledger->done.n_record;
    return ATTN_OK;
}

enum attn_status attn_ledger_write(struct attn_ledger *ledger,
                                   const struct attn_item_result *result, struct attn_error *err)
{
    const struct attn_item *item = result->item;
    struct attn_ledger_done *done = &ledger->done;
    double seconds;

    ATTN_TRY(attn_records_write(ledger->records, result, err));
    if (ledger->skips_lines) {
        done->begin = item->begin;
        done->crc = item->crc;
        done->n_line_before = item->number - done->n_record;
    }
    done->n_record++;
    done->end = item->end;
    ledger->read = *item->read;
    ledger->has_read = true;
    done->n_token += result->n_token;
    done->failures[result->failure]++;
    ledger->n_failed += result->failure != ATTN_RECORD_FAILURE_NONE;
    seconds = attn_ledger_seconds(ledger);
    if (!ledger->name || seconds - ledger->checked < checkpoint_seconds)
        return result->is_followed ? ATTN_OK : attn_records_flush(ledger->records, false, err);
    ledger->checked = seconds;
    return checkpoint(ledger, err);
}

/* --- The end ---------------------------------------------------------------------------------- */

enum attn_status attn_ledger_finish(struct attn_ledger *ledger, const struct attn_host *host,
                                    struct attn_error *err)
{
    bool is_ready;

    if (ledger->n_checked > 0)
        ATTN_TRY(checkpoint(ledger, err));
    ledger->is_finishing = true;
    ATTN_TRY(attn_records_finish(ledger->records, ledger->options->is_synced, err));
    if (ledger->name) {
        ATTN_TRY(measure(ledger, &is_ready, err));
        ATTN_TRY(attn_model_files_wait(ledger->model, &ledger->identity.model, err));
        ATTN_TRY(
            attn_ledger_parts_measure(ledger->parts, ledger->records, true, ledger->extents, err));
        ATTN_TRY(attn_ledger_manifest_write(ledger, host, err));
    }
    ATTN_TRY(attn_records_commit(ledger->records, err));
    if (ledger->name)
        unlink(ledger->journal_path.data);
    return ATTN_OK;
}

/* Removes the parts, from which nothing could be resumed. */
static void remove_parts(const struct attn_ledger *ledger)
{
    struct attn_records_part part;

    for (size_t i = 0; attn_records_part(ledger->records, i, &part); i++)
        unlink(part.path);
    if (ledger->name)
        unlink(ledger->journal_path.data);
}

void attn_ledger_remove_empty(const struct attn_ledger *ledger)
{
    if (ledger->records && is_empty(ledger->records))
        remove_parts(ledger);
}

bool attn_ledger_keep(struct attn_ledger *ledger, const struct attn_error *err)
{
    const bool is_output =
        !err || (err->stage == ATTN_STAGE_OUTPUT && err->status != ATTN_NO_MEMORY);
    const char *model;

    if (ledger->records && attn_records_is_abandoned(ledger->records))
        return false;
    if (ledger->done.n_record > 0 && !ledger->is_finishing && !is_output &&
        !(ledger->options->is_spoiled && ledger->options->is_spoiled(ledger->options->user))) {
        /* without the digests of the model's files nothing can be resumed, so they are awaited
         * unless canceled */
        if (ledger->model)
            attn_model_files_wait(ledger->model, &model, NULL);
        checkpoint(ledger, NULL);
    }
    if (ledger->n_checked == 0)
        remove_parts(ledger);
    return ledger->n_checked > 0;
}

void attn_ledger_release(struct attn_ledger *ledger)
{
    if (ledger->journal >= 0)
        close(ledger->journal);
    attn_ledger_parts_free(ledger->parts);
    attn_free(ledger->extents);
    attn_model_files_free(ledger->model);
    attn_records_free(ledger->records);
    for (size_t i = 0; ledger->paths && i < ledger->n_output; i++)
        attn_buffer_release(&ledger->paths[i]);
    attn_free(ledger->paths);
    attn_free(ledger->outputs);
    attn_buffer_release(&ledger->state);
    attn_buffer_release(&ledger->journal_path);
    attn_buffer_release(&ledger->manifest_path);
    attn_buffer_release(&ledger->kept_path);
    attn_buffer_release(&ledger->asked);
    attn_buffer_release(&ledger->input_size);
}
