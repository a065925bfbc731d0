/*
 * intervention.h - changes to a run that name words of the text or arrays of files: knockouts,
 * patches, steering and rescaling. All other changes are edits (trace/edit.h).
 *
 * A command line writes them as texts:
 *
 *     struct attn_intervention knockout;
 *     attn_intervention_read(ATTN_EDIT_MASK, "it>cat@2.*", NULL, &knockout, &err);
 *     request.edits.interventions = &knockout, request.edits.n_intervention = 1;
 *     ... attn_run_request(host, &request, &result, &err) ...
 *     attn_intervention_release(&knockout);
 *
 * A program may also fill the fields itself: it lends what they point to until the request is
 * served.
 */
#ifndef ATTN_EDITS_INTERVENTION_H
#define ATTN_EDITS_INTERVENTION_H

#include "formats/ndarray.h"
#include "model/model.h"
#include "trace/edit.h"
#include "trace/location.h"

/* One change of a tensor. Initialize with ATTN_INTERVENTION_DEFAULT. */
struct attn_intervention {
    /* MASK, a knockout: some queries do not look at some keys; their scores become minus infinity
     * before the softmax (Geva et al. 2304.14767). REPLACE, a patch: the tensor gets the values of
     * another run. ADD, steering: a vector is added (Turner et al. 2308.10248). SCALE: the tensor
     * is multiplied by a factor. */
    enum attn_edit_op op;
    /* Not of a knockout: which tensor; its site is in a layer and not derived; for k and v the head
     * is a key/value head; head ATTN_ALL_HEADS: the site has no heads, or all heads are replaced or
     * multiplied. */
    struct attn_location at;
    /* The rows, which of a knockout are queries: as numbers or words (request.h). NULL: all;
     * generated ones too, if a vector is added or all are multiplied. */
    const char *positions;
    /* MASK: the keys, which are positions of the source in layers that attend to one. */
    const char *keys;
    const char *heads; /* MASK: a list as in trace/selection.h; NULL: all */
    /* REPLACE: the whole tensor, with all positions of the text and all heads: [T, n], [T, H, n] or
     * [H, T, S]. ADD: [n] or [1, n] for each position, or [P, n] with a row for each named position
     * in order. */
    struct attn_ndarray values;
    float factor;         /* SCALE */
    const char *name;     /* its name in messages; NULL: its site, or the queries of a knockout */
    char *text;           /* owns the text that was read; or NULL */
    const void *later[4]; /* NULL: room for fields of later versions */
};

#define ATTN_INTERVENTION_DEFAULT                                                                  \
    ((struct attn_intervention){.at = {.head = ATTN_ALL_HEADS}, .factor = 1})

/* Reads TEXT, which OP says how to read:
 *
 *     MASK     QUERIES>KEYS[@HEADS], "it>cat@2.*"
 *     REPLACE  SITE:LAYER[.HEAD][@POSITIONS]=FILE.npz, "z:2.5@-1=clean.npz"
 *     ADD      SITE:LAYER[.HEAD][@POSITIONS]=FILE.npy[*FACTOR], "resid_pre:2@-1=v.npy*1.5"
 *     SCALE    SITE:LAYER[.HEAD][@POSITIONS]=FACTOR, "z:2.5=0.5"
 *
 * The array of FILE.npz (of `run --npz`, or numpy.savez) is the one whose name is the archive name
 * of the site; that of FILE.npy is multiplied by FACTOR. MODEL may be NULL. ATTN_INVALID at
 * ATTN_STAGE_OPTIONS if TEXT has another form or MODEL lacks the layer or the head; a file that
 * cannot be read fails at ATTN_STAGE_INPUT. *intervention is unchanged on failure. */
ATTN_API enum attn_status attn_intervention_read(enum attn_edit_op op, const char *text,
                                                 const struct attn_model *model,
                                                 struct attn_intervention *intervention,
                                                 struct attn_error *err);
ATTN_API void
attn_intervention_release(struct attn_intervention *intervention); /* {0} is allowed */

#endif
