#include "run/maker.h"

#include "trace/trace_internal.h"

#include <assert.h>

void attn_makers_extend(const struct attn_model *model, const struct attn_attention *layers,
                        struct attn_dims *dims)
{
    for (const struct attn_maker *const *maker = attn_makers; *maker; maker++)
        if ((*maker)->sites_of)
            attn_sites_extend(&dims->sites, (*maker)->sites_of(model, layers, dims));
}

enum attn_status attn_makers_check(const struct attn_model *model,
                                   const struct attn_attention *layers, struct attn_site_set sites,
                                   struct attn_error *err)
{
    struct attn_site_set missing = attn_sites_common(sites, attn_sites_of_metric());

    for (const struct attn_maker *const *maker = attn_makers; *maker; maker++) {
        const struct attn_site_set own = (*maker)->sites();

        missing = attn_sites_without(missing, own);
        if ((*maker)->check && attn_sites_meet(sites, own))
            ATTN_TRY((*maker)->check(model, layers, sites, err));
    }
    return attn_sites_are_empty(missing)
               ? ATTN_OK
               : attn_error_set(err, ATTN_INVALID, "this program computes no gradients");
}

enum attn_status attn_makers_check_edits(const struct attn_model *model,
                                         const struct attn_edit *edits, size_t n_edit,
                                         struct attn_error *err)
{
    for (const struct attn_maker *const *maker = attn_makers; *maker; maker++)
        if ((*maker)->check_edits)
            ATTN_TRY((*maker)->check_edits(model, edits, n_edit, err));
    return ATTN_OK;
}

bool attn_makers_are_wanted(const struct attn_selection *selection)
{
    for (const struct attn_maker *const *maker = attn_makers; *maker; maker++)
        if (attn_sites_meet(attn_selection_sites(selection), (*maker)->sites()))
            return true;
    return false;
}

enum attn_status attn_makings_begin(struct attn_makings *makings, const struct attn_run *run,
                                    enum attn_model_stack stack, const struct attn_trace **trace,
                                    struct attn_pool *pool, struct attn_error *err)
{
    for (const struct attn_maker *const *maker = attn_makers; *trace && *maker; maker++) {
        struct attn_making *made = NULL;
        const enum attn_status status = (*maker)->begin(run, stack, *trace, pool, &made, err);

        if (made) {
            assert(makings->n < ATTN_MAX_MAKER);
            makings->items[makings->n++] = made;
            *trace = &made->trace;
        }
        ATTN_TRY(status);
    }
    return ATTN_OK;
}

enum attn_status attn_makings_finish(struct attn_makings *makings, struct attn_error *err)
{
    for (; makings->n > 0; makings->n--) { /* the one next to the session first */
        struct attn_making *making = makings->items[makings->n - 1];

        if (making->finish)
            ATTN_TRY(making->finish(making, err));
        making->free(making);
    }
    return ATTN_OK;
}

void attn_makings_release(struct attn_makings *makings)
{
    while (makings->n > 0) {
        struct attn_making *making = makings->items[--makings->n];

        making->free(making);
    }
}

enum attn_status attn_making_see_patterns(const struct attn_selection *selection,
                                          struct attn_site_set made, struct attn_selection **seen,
                                          struct attn_error *err)
{
    const struct attn_location end = attn_dims_end(attn_selection_dims(selection));
    const struct attn_site_set matrices =
        ATTN_SITES(ATTN_SITE_QK, ATTN_SITE_ATTN_SCORES, ATTN_SITE_PATTERN,
                   ATTN_SITE_PATTERN_DROPPED, ATTN_SITE_PATTERN_LOWRANK);
    struct attn_site_set sites;

    ATTN_TRY(attn_selection_see_stream(selection, made, &end, seen, err));
    sites = attn_selection_sites(*seen);
    if (!attn_sites_meet(sites, matrices)) /* a trace with matrices needs the rows head by head */
        attn_selection_take_rows(*seen);
    attn_sites_add(&sites, ATTN_SITE_PATTERN);
    ATTN_TRY(attn_selection_set_sites(*seen, sites, err));
    return attn_selection_set_heads(*seen, "all", err);
}
