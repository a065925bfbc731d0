/* request_edits.h - the edits of a request (run/request.h). */
#ifndef ATTN_EDITS_REQUEST_EDITS_H
#define ATTN_EDITS_REQUEST_EDITS_H

#include "trace/edit.h"

/* Declared in edits/intervention.h. */
struct attn_knockout;
struct attn_patch;
struct attn_steering;

/* The edits of a request, in the order in which they apply. */
struct attn_request_edits {
    const char *ablate;            /* heads whose z becomes 0 */
    const char *ablate_pattern;    /* heads whose pattern becomes 0 */
    const struct attn_edit *items; /* [n] */
    const char *ablate_mean; /* heads whose z becomes its mean over the text; a run without edits
                                finds it first */
    const struct attn_knockout *knockouts; /* [n_knockout] */
    const struct attn_patch *patches;      /* [n_patch] */
    size_t n, n_knockout, n_patch;
    const struct attn_steering *steerings; /* [n_steering] */
    size_t n_steering;
    const void *later[2];
};

#endif
