/* intervention_internal.h - what intervention.h declares for the library alone. */
#ifndef ATTN_RUN_INTERVENTION_INTERNAL_H
#define ATTN_RUN_INTERVENTION_INTERNAL_H

#include "run/intervention.h"

/* What messages call them. */
const char *attn_knockout_name(const struct attn_knockout *knockout);
const char *attn_patch_name(const struct attn_patch *patch);
const char *attn_steering_name(const struct attn_steering *steering);

/* The tensor that a patch or a steering changes, of one head or of all. Borrows from it. */
struct attn_edit_place {
    enum attn_site site;
    int layer, head;
    const char *positions; /* or NULL */
    const char *name;      /* what messages call it */
    const char *field;     /* what they begin with, "patches" */
};

struct attn_edit_place attn_patch_place(const struct attn_patch *patch);
struct attn_edit_place attn_steering_place(const struct attn_steering *steering);

/* Heads of the whole tensor: key/value heads of k and v, 1 where there are none. */
size_t attn_edit_place_n_head(const struct attn_edit_place *place,
                              const struct attn_config *config);

/* Whether a model with CONFIG has the layer and the head. ATTN_INVALID, without a stage. */
enum attn_status attn_edit_place_check(const struct attn_edit_place *place,
                                       const struct attn_config *config, struct attn_error *err);

#endif
