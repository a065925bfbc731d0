/* host_tower.c - the other tower of a directory that has two, opened when it is asked for. */
#include "host/host_internal.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/thread.h"

#include <string.h>

/* Copies *TEXT, which may be NULL. KEPT has room for it. */
static enum attn_status keep(struct attn_kept_source *kept, const char **text,
                             struct attn_error *err)
{
    char *copy;

    if (!*text)
        return ATTN_OK;
    copy = attn_strndup(*text, strlen(*text), err);
    if (!copy)
        return ATTN_NO_MEMORY;
    kept->texts[kept->n_text++] = copy;
    *text = copy;
    return ATTN_OK;
}

enum attn_status attn_host_keep_source(struct attn_host *host, const struct attn_source *source,
                                       struct attn_error *err)
{
    struct attn_kept_source *kept = &host->kept;
    const size_t n = source->n_override;

    if (!attn_model_config(host->model)->has_two_towers || host->is_later)
        return ATTN_OK;
    ATTN_TRY(attn_monitor_create(1, &host->lock, err));
    kept->source = *source;
    kept->overrides = attn_alloc(n, sizeof *kept->overrides, err);
    kept->texts = attn_alloc(3 + 2 * n, sizeof *kept->texts, err);
    if (!kept->overrides || !kept->texts)
        return ATTN_NO_MEMORY;
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

void attn_host_release_tower(struct attn_host *host)
{
    if (!host->is_later)
        attn_host_free(host->other);
    attn_monitor_free(host->lock);
    for (size_t i = 0; i < host->kept.n_text; i++)
        attn_free(host->kept.texts[i]);
    attn_free(host->kept.texts);
    attn_free(host->kept.overrides);
}

bool attn_host_owns_address(const struct attn_host *host, const void *address)
{
    return attn_model_owns_address(host->model, address) ||
           (host->other && attn_model_owns_address(host->other->model, address));
}

enum attn_status attn_host_open_other(struct attn_host *host, struct attn_error *err)
{
    struct attn_host *made = attn_alloc(1, sizeof *made, err);
    enum attn_status status;

    if (!made)
        return ATTN_NO_MEMORY;
    made->options = host->options;
    made->options.tower =
        host->options.tower == ATTN_TOWER_TEXT ? ATTN_TOWER_IMAGE : ATTN_TOWER_TEXT;
    made->pool = host->pool;
    made->is_later = true;
    made->other = host;
    status = attn_host_open_source(made, &host->kept.source, err);
    if (status == ATTN_OK)
        host->other = made;
    else
        attn_host_free(made);
    return attn_error_at(status, ATTN_STAGE_MODEL, err);
}
