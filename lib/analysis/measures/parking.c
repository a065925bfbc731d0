/* parking.c - see parking.h. */
#include "measures/parking.h"

#include "base/status_internal.h"

/* Finds parks, and holds what the receiver wants (attn_trace_fn). */
static enum attn_status on_event(void *user, const struct attn_trace_event *event,
                                 struct attn_error *err)
{
    const struct attn_parking *parking = user;
    struct attn_parks *parks = parking->parks[event->at.stack == ATTN_STACK_ENCODER];

    if (parks)
        attn_parks_add(parks, event);
    return parking->kept.selection ? attn_trace_hand_on(&parking->kept, event, err) : ATTN_OK;
}

/* Selects the patterns and the residual streams of all heads, and what TO has beside them. */
static enum attn_status select_all(const struct attn_selection *to, struct attn_selection *all,
                                   struct attn_error *err)
{
    const bool has_encoder = attn_selection_dims(all)->has_pairs;
    struct attn_site_set sites = ATTN_SITES(ATTN_SITE_PATTERN, ATTN_SITE_RESID_PRE);
    struct attn_site_set of_encoder = {{0}};

    if (!to || attn_selection_takes_rows(to))
        attn_selection_take_rows(all);
    attn_selection_clear_sites(all);
    if (to)
        sites = attn_sites_join(sites, attn_selection_sites_of(to, ATTN_STACK_ONLY));
    if (!has_encoder)
        return attn_selection_add_sites(all, ATTN_STACK_ONLY, sites, err);
    ATTN_TRY(attn_selection_add_sites(all, ATTN_STACK_DECODER, sites, err));
    ATTN_TRY(attn_selection_add_sites(all, ATTN_STACK_CROSS, sites, err));
    if (to)
        of_encoder = attn_selection_sites_of(to, ATTN_STACK_ENCODER);
    if (attn_sites_have(of_encoder, ATTN_SITE_PATTERN))
        attn_sites_add(&of_encoder, ATTN_SITE_RESID_PRE);
    return attn_sites_are_empty(of_encoder)
               ? ATTN_OK
               : attn_selection_add_sites(all, ATTN_STACK_ENCODER, of_encoder, err);
}

enum attn_status attn_parking_begin(const struct attn_dims *dims,
                                    const struct attn_metric_settings settings[2],
                                    const struct attn_trace *to, bool is_held,
                                    struct attn_parking *parking, struct attn_error *err)
{
    struct attn_selection *all;

    *parking = (struct attn_parking){.trace = {.on_event = on_event, .user = parking}};
    ATTN_TRY(attn_selection_create(dims, &parking->all, err));
    parking->trace.selection = all = parking->all;
    ATTN_TRY(select_all(to ? to->selection : NULL, all, err));
    ATTN_TRY(attn_parks_create(&settings[0], all, &parking->parks[0], err));
    if (!to)
        return ATTN_OK;
    if (attn_sites_have(attn_selection_sites_of(all, ATTN_STACK_ENCODER), ATTN_SITE_PATTERN)) {
        ATTN_TRY(attn_selection_copy_stack(all, ATTN_STACK_ENCODER, &parking->encoder, err));
        ATTN_TRY(attn_parks_create(&settings[1], parking->encoder, &parking->parks[1], err));
    }
    parking->kept = *to;
    if (!is_held)
        return ATTN_OK;
    ATTN_TRY(attn_held_create(ATTN_PARKING_HELD, &parking->held, err));
    parking->kept.on_event = attn_held_add;
    parking->kept.user = parking->held;
    return ATTN_OK;
}

void attn_parking_find(struct attn_parking *parking, struct attn_parks *parks[2])
{
    for (int i = 0; i < 2; i++) {
        parks[i] = parking->parks[i];
        parking->parks[i] = NULL;
        if (parks[i])
            attn_parks_find(parks[i]);
    }
}

void attn_parking_release(struct attn_parking *parking)
{
    for (int i = 0; i < 2; i++)
        attn_parks_free(parking->parks[i]);
    attn_held_free(parking->held);
    attn_selection_free(parking->encoder);
    attn_selection_free(parking->all);
    *parking = (struct attn_parking){0};
}
