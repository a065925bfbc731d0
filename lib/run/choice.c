/* choice.c - creates a selection from the texts of a request. */
#include "run/run_internal.h"

#include "base/escape.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "trace/trace_internal.h"

#include <string.h>

/* Selects the sites of LIST. Items may name a stack. A glob selects the sites that the model has; a
 * name is an error if the model lacks that site, even if other sites of the list exist. */
static enum attn_status set_sites(struct attn_selection *selection, const char *list,
                                  struct attn_error *err)
{
    const bool has_pairs = attn_selection_dims(selection)->has_pairs;
    enum attn_status status = ATTN_OK;
    struct attn_site_set all, sites;
    char *copy, *rest;

    ATTN_TRY(attn_sites_parse(list, &all, err));
    copy = rest = attn_strndup(list, strlen(list), err);
    if (!copy)
        return ATTN_NO_MEMORY;
    attn_selection_clear_sites(selection);
    for (char *item; status == ATTN_OK && (item = strsep(&rest, ","));) {
        size_t n_stack;
        const enum attn_model_stack stack = attn_model_stack_find(item, &n_stack);

        status = attn_sites_parse(item + n_stack, &sites, err);
        if (status == ATTN_OK && (has_pairs || n_stack > 0 || !strpbrk(item, "*?")))
            status = attn_selection_add_sites(selection, stack, sites, err);
    }
    attn_free(copy);
    return status != ATTN_OK || has_pairs ? status : attn_selection_set_sites(selection, all, err);
}

/* Restricts the heads to those of SPEC, which counts the heads of one batch, in every batch. */
static enum attn_status keep_in_batches(struct attn_selection *selection, const char *spec,
                                        size_t n_batch, struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(selection);
    struct attn_dims one_batch = *dims;
    struct attn_selection *heads;
    enum attn_status status = ATTN_OK;

    one_batch.n_head /= n_batch;
    one_batch.n_kv_head /= n_batch;
    ATTN_TRY(attn_select_heads(spec, &one_batch, &heads, err));
    for (size_t head = 0; status == ATTN_OK && head < dims->n_head; head++)
        if (attn_selection_has_block_head(heads, 0, (int)(head % one_batch.n_head)))
            status = attn_selection_add_block(selection, 0, (int)head, err);
    attn_selection_free(heads);
    return status;
}

/* Removes sites without a selected tensor. Fails if no site is left. */
static enum attn_status narrow(struct attn_selection *selection,
                               const struct attn_request_selection *given, struct attn_error *err)
{
    attn_selection_drop_sites(selection);
    if (!attn_sites_are_empty(attn_selection_sites(selection)))
        return ATTN_OK;
    return attn_error_set(err, ATTN_INVALID,
                          "layers '%s', heads '%s' and the chosen sites have nothing in common",
                          given->layers ? attn_quote_string(given->layers).text : "all",
                          given->heads ? attn_quote_string(given->heads).text : "all");
}

static enum attn_status fill(struct attn_selection *selection,
                             const struct attn_request_selection *given, size_t n_batch,
                             struct attn_error *err)
{
    if (given->sites)
        ATTN_TRY(attn_error_in(set_sites(selection, given->sites, err), "sites", err));
    if (given->layers)
        ATTN_TRY(
            attn_error_in(attn_selection_set_layers(selection, given->layers, err), "layers", err));
    if (given->heads && n_batch > 1)
        ATTN_TRY(
            attn_error_in(keep_in_batches(selection, given->heads, n_batch, err), "heads", err));
    else if (given->heads)
        ATTN_TRY(
            attn_error_in(attn_selection_set_heads(selection, given->heads, err), "heads", err));
    return narrow(selection, given, err);
}

enum attn_status attn_choose_queries(struct attn_selection *selection,
                                     const struct attn_request_selection *given,
                                     struct attn_error *err)
{
    enum attn_status status =
        attn_error_in(attn_selection_set_queries(selection, given->queries, err), "queries", err);

    if (status == ATTN_OK)
        status = narrow(selection, given, err);
    return attn_error_at(status, ATTN_STAGE_OPTIONS, err);
}

enum attn_status attn_choose(const struct attn_request_selection *given,
                             const struct attn_dims *dims, size_t n_batch,
                             struct attn_selection **selection, struct attn_error *err)
{
    struct attn_selection *made;
    enum attn_status status;

    ATTN_TRY(attn_error_at(attn_selection_create(dims, &made, err), ATTN_STAGE_OPTIONS, err));
    status = fill(made, given, n_batch, err);
    if (status == ATTN_OK)
        *selection = made;
    else
        attn_selection_free(made);
    return attn_error_at(status, ATTN_STAGE_OPTIONS, err);
}
