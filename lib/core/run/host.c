#include "run/host_internal.h"

#include "base/memory.h"
#include "base/os/os.h"
#include "base/os/thread.h"
#include "base/status_internal.h"
#include "base/text/given.h"
#include "formats/bundle.h"
#include "input/reader.h"
#include "model/model_internal.h"
#include "tensors/format_internal.h"
#include "tokenizer/tokenizer_internal.h"

#include <string.h>

ATTN_DEFAULTS(attn_host_options, .size = sizeof(struct attn_host_options), .isa = ATTN_ISA_BEST)

/* Opens the tokenizer of SOURCE. If that fails, the reason is kept for requests that need a
 * tokenizer. */
static enum attn_status open_tokenizer(struct attn_host *host, const struct attn_source *source,
                                       struct attn_error *err)
{
    const size_t n_row = attn_model_config(host->model)->n_token;
    enum attn_status status;

    if (attn_model_config(host->model)->image.patch_height > 0) {
        attn_error_set(&host->tokenizer_failure, ATTN_INVALID,
                       "'%s' reads pictures, and has no tokens",
                       attn_quote_string(attn_model_name(host->model)).text);
        return ATTN_OK;
    }
    status = attn_tokenizer_open_lazily(source, host->options.on_note, host->options.user,
                                        &host->tokenizer, &host->tokenizer_failure);
    if (status == ATTN_OK && attn_model_config(host->model)->is_encoder) {
        status = attn_tokenizer_read_mask(host->tokenizer, source, &host->tokenizer_failure);
        if (status != ATTN_OK) {
            attn_tokenizer_free(host->tokenizer);
            host->tokenizer = NULL;
        }
    }
    if (status != ATTN_OK)
        return status == ATTN_NO_MEMORY ? attn_error_no_memory(err) : ATTN_OK;
    if (host->tokenizer->is_foreign_file && attn_tokenizer_n_vocab(host->tokenizer) < n_row)
        attn_note(host->options.on_note, host->options.user, ATTN_NOTE_TOKENIZER,
                  "the tokenizer has %zu tokens, and the model %zu: it may be another model's",
                  attn_tokenizer_n_vocab(host->tokenizer), n_row);
    if (attn_tokenizer_n_vocab(host->tokenizer) <= n_row)
        return ATTN_OK;
    /* A token without a row in the embedding would fail only when a text happens to contain it. */
    return attn_error_set(
        err, ATTN_FORMAT,
        "the vocabulary of '%s' has %zu tokens, expected at most %zu, the rows of its embedding",
        attn_quote_string(attn_model_name(host->model)).text,
        attn_tokenizer_n_vocab(host->tokenizer), n_row);
}

static bool has_file(const struct attn_host *host, const struct attn_os_info *info)
{
    for (size_t i = 0; i < host->parts.n; i++) {
        const struct attn_model_part *part = &host->parts.items[i];

        if (part->is_there && part->device == info->device && part->inode == info->number)
            return true;
    }
    return false;
}

enum attn_status attn_host_check_outputs(const struct attn_host *host,
                                         const struct attn_output *items, size_t n,
                                         struct attn_error *err)
{
    if (!attn_is_given(host, "host", err) || (n > 0 && !attn_is_given(items, "items", err)))
        return ATTN_INVALID;
    for (size_t i = 0; i < n; i++) {
        struct attn_os_info info;

        if (!attn_is_given(items[i].format, "format", err))
            return ATTN_INVALID;
        if (items[i].path && attn_os_stat(items[i].path, &info) == 0 && has_file(host, &info))
            return attn_refuse(err, ATTN_STAGE_OPTIONS,
                               "'`%s` %s' is a file of the model, expected another one",
                               items[i].format->name, attn_quote_string(items[i].path).text);
    }
    return ATTN_OK;
}

/* --- The other tower of a directory that has two ---------------------------------------------- */

/* Replaces *text by a copy that KEPT owns. *text may be NULL. */
static enum attn_status keep(struct attn_kept_source *kept, const char **text,
                             struct attn_error *err)
{
    return *text ? ATTN_NEW(*text, attn_store_copy(&kept->store, *text, strlen(*text), err))
                 : ATTN_OK;
}

/* Whether the files of HOST's model have another tower, or a decoder beside one. */
static bool has_other(const struct attn_host *host)
{
    return host->model && (attn_model_config(host->model)->has_two_towers || host->model->tower ||
                           host->model->whole);
}

/* Copies SOURCE, if HOST's other tower may be opened from it later. The model of HOST is open. */
static enum attn_status keep_source(struct attn_host *host, const struct attn_source *source,
                                    struct attn_error *err)
{
    struct attn_kept_source *kept = &host->kept;
    const size_t n = source->n_override;

    if (!has_other(host) || host->first)
        return ATTN_OK;
    ATTN_TRY(attn_monitor_create(1, &host->lock, err));
    kept->source = *source;
    ATTN_TRY(ATTN_STORE_ALLOC(&kept->store, kept->overrides, n, err));
    kept->source.overrides = kept->overrides;
    ATTN_TRY(keep(kept, &kept->source.directory, err));
    ATTN_TRY(keep(kept, &kept->source.name, err));
    ATTN_TRY(keep(kept, &kept->source.fetch, err));
    for (size_t i = 0; i < n; i++) {
        kept->overrides[i] = source->overrides[i];
        ATTN_TRY(keep(kept, &kept->overrides[i].name, err));
        ATTN_TRY(keep(kept, &kept->overrides[i].path, err));
    }
    return ATTN_OK;
}

/* Opens the model of SOURCE and its tokenizer. HOST has its options and its pool already. */
static enum attn_status open_source(struct attn_host *host, const struct attn_source *source,
                                    struct attn_error *err)
{
    struct attn_model_options options = ATTN_MODEL_OPTIONS_DEFAULT;

    options.tower = host->options.tower;
    options.load = host->options.load;
    options.reuse = host->options.reuse;
    options.compute = host->options.compute;
    options.isa = host->options.isa;
    options.pool = host->pool;
    options.on_note = host->options.on_note;
    options.user = host->options.user;
    ATTN_TRY(attn_model_open(source, &options, &host->model, err));
    ATTN_TRY(attn_tensor_files_make(host->model->st, host->pool, err));
    if (host->options.tower == ATTN_TOWER_OF_INPUT)
        host->options.tower =
            attn_model_config(host->model)->has_two_towers ? ATTN_TOWER_IMAGE : ATTN_TOWER_TEXT;
    attn_model_start_engine(host->model, host->options.gemm, host->options.isa);
    ATTN_TRY(open_tokenizer(host, source, err));
    ATTN_TRY(keep_source(host, source, err));
    if (attn_image_input)
        ATTN_TRY(attn_image_input->open(host, source, err));
    return attn_model_parts_find(source, host->model, &host->parts, err);
}

static enum attn_status open_all(struct attn_host *host, const struct attn_source *source,
                                 struct attn_error *err)
{
    ATTN_TRY(attn_pool_create(host->options.n_thread, &host->pool, err));
    if (host->options.reuse)
        ATTN_TRY(ATTN_NEW(host->spare, attn_spare_create(err)));
    return source ? open_source(host, source, err) : ATTN_OK;
}

enum attn_status attn_host_create(const struct attn_source *source,
                                  const struct attn_host_options *given, struct attn_host **host,
                                  struct attn_error *err)
{
    ATTN_NEED(err, host);
    struct attn_host_options options = ATTN_HOST_OPTIONS_DEFAULT;
    enum attn_status status;
    struct attn_host *made;

    ATTN_TRY(attn_error_at(attn_options_read(given, &options, err), ATTN_STAGE_OPTIONS, err));
    if (!attn_is_choice(options.load, ATTN_READ + 1, "load", err) ||
        !attn_is_choice(options.compute, ATTN_N_COMPUTE, "compute", err) ||
        !attn_is_choice(options.gemm, ATTN_GEMM_PORTABLE + 1, "gemm", err) ||
        !attn_is_choice(options.isa, ATTN_ISA_BEST + 1, "isa", err) ||
        !attn_is_choice(options.tower, ATTN_TOWER_OF_INPUT + 1, "tower", err))
        return ATTN_INVALID;
    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->options = options;
    status = open_all(made, source, err);
    if (status == ATTN_OK && options.compute == ATTN_COMPUTE_BF16 &&
        !attn_gemm_has_bf16(options.gemm, options.isa))
        attn_note(options.on_note, options.user, ATTN_NOTE_SLOW_BF16,
                  "`compute` bf16 is slower than f32 here: no instructions for bfloat16 are used");
    ATTN_RETURN_MADE(attn_error_at(status, ATTN_STAGE_MODEL, err), host, made, attn_host_free);
}

void attn_host_free(struct attn_host *host)
{
    if (!host)
        return;
    attn_host_free(host->other);
    attn_monitor_free(host->lock);
    attn_store_release(&host->kept.store);
    attn_model_free(host->model);
    if (!host->is_labelled) {
        attn_tokenizer_free(host->tokenizer);
        if (host->pictures)
            attn_image_input->close(host->pictures);
    }
    if (!host->first)
        attn_pool_free(host->pool);
    attn_spare_drop(host->spare);
    attn_model_parts_release(&host->parts);
    attn_free(host);
}

int attn_host_n_thread(const struct attn_host *host)
{
    return attn_pool_n_thread(host->pool);
}

const struct attn_model *attn_host_model(const struct attn_host *host)
{
    return host ? host->model : NULL;
}

/* Opens the other tower of HOST, which uses the same threads. */
static enum attn_status open_other(struct attn_host *host, struct attn_error *err)
{
    struct attn_host *made;
    enum attn_status status;

    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->options = host->options;
    made->options.tower =
        host->options.tower == ATTN_TOWER_TEXT ? ATTN_TOWER_IMAGE : ATTN_TOWER_TEXT;
    made->pool = host->pool;
    made->first = host;
    status = open_source(made, &host->kept.source, err);
    ATTN_RETURN_MADE(attn_error_at(status, ATTN_STAGE_MODEL, err), &host->other, made,
                     attn_host_free);
}

enum attn_status attn_host_tower(struct attn_host *host, enum attn_tower tower,
                                 struct attn_host **found, struct attn_error *err)
{
    if (!attn_is_given(host, "host", err) || !attn_is_given(found, "found", err) ||
        !attn_is_choice(tower, ATTN_TOWER_IMAGE + 1, "tower", err))
        return ATTN_INVALID;
    enum attn_status status = ATTN_OK;

    *found = host;
    if (!has_other(host) || host->options.tower == tower)
        return ATTN_OK;
    if (!host->first) {
        attn_monitor_enter(host->lock);
        status = host->other ? ATTN_OK : open_other(host, err);
        attn_monitor_leave(host->lock);
    }
    if (status == ATTN_OK)
        *found = host->first ? host->first : host->other;
    return status;
}

enum attn_status attn_host_tokenizer(const struct attn_host *host,
                                     const struct attn_tokenizer **tokenizer,
                                     struct attn_error *err)
{
    ATTN_TRY(attn_host_source_tokenizer(host, tokenizer, err));
    *tokenizer = attn_tokenizer_target(*tokenizer);
    return ATTN_OK;
}

enum attn_status attn_host_source_tokenizer(const struct attn_host *host,
                                            const struct attn_tokenizer **tokenizer,
                                            struct attn_error *err)
{
    ATTN_NEED(err, host, tokenizer);
    const struct attn_error *failure = &host->tokenizer_failure;

    *tokenizer = host->tokenizer;
    if (host->tokenizer)
        return ATTN_OK;
    if (!host->model)
        return attn_error_set(err, ATTN_INVALID, "the host has no model, and so no tokenizer");
    return attn_error_at(attn_error_copy(err, failure), ATTN_STAGE_MODEL, err);
}

struct attn_pool *attn_host_pool(const struct attn_host *host, double multiply_adds)
{
    /* 16e6 take one core about 1 ms; starting and joining a thread takes 0.1 ms, and 10 ms if all
     * cores are busy. */
    const double few = 16e6;

    return host->options.n_thread == 0 && multiply_adds < few ? NULL : host->pool;
}

const struct attn_host_options *attn_host_opened_with(const struct attn_host *host)
{
    return &host->options;
}

enum attn_status attn_host_check_model(const struct attn_host *host, struct attn_error *err)
{
    if (host->model)
        return ATTN_OK;
    return attn_refuse(err, ATTN_STAGE_MODEL, "a text needs a model, and the host has none");
}

enum attn_status attn_host_check_canceled(const struct attn_host *host, struct attn_error *err)
{
    if (!attn_is_canceled(host->options.cancel))
        return ATTN_OK;
    return attn_error_set(err, ATTN_CANCELED, "%s", attn_status_text(ATTN_CANCELED));
}

bool attn_host_owns_address(const struct attn_host *host, const void *address)
{
    return attn_model_owns_address(host->model, address) ||
           (host->other && attn_model_owns_address(host->other->model, address)) ||
           (host->first && attn_model_owns_address(host->first->model, address));
}
