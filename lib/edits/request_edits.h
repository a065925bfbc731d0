/* request_edits.h - the edits of a request (run/request.h). */
#ifndef ATTN_EDITS_REQUEST_EDITS_H
#define ATTN_EDITS_REQUEST_EDITS_H

#include "trace/edit.h"

struct attn_intervention; /* edits/intervention.h */

/* The edits of a request. All of them apply, and none replaces another: ablations, which are texts,
 * are edits like the structs. Edits of the same numbers apply in the order of the fields, those of
 * a list in its order; of interventions first knockouts, then patches. */
struct attn_request_edits {
    /* "2.5,mean:1.*,uniform:0.3": heads whose z becomes 0, or its mean over the text, which is
     * found first, or whose weights become uniform. Zeros and uniform weights apply first, means
     * after `items`. */
    const char *ablate;
    const struct attn_edit *items;                 /* [n] */
    const struct attn_intervention *interventions; /* [n_intervention] */
    size_t n, n_intervention;
    const void *later[4];
};

#endif
