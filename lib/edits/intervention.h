/*
 * intervention.h - what is changed in a run by its words and by arrays of files, as values:
 * knockouts, patches and steering. Everything else that can be changed is an edit (trace/edit.h).
 *
 * A command line writes them as texts, which these functions read:
 *
 *     struct attn_knockout knockout;
 *     attn_knockout_parse("it>cat@2.*", &knockout, &err);
 *     request.edits.knockouts = &knockout, request.edits.n_knockout = 1;
 *     ... attn_run_request(host, &request, &result, &err) ...
 *     attn_knockout_release(&knockout);
 *
 * A program may as well fill the fields: what it fills is borrowed until the request is served.
 */
#ifndef ATTN_EDITS_INTERVENTION_H
#define ATTN_EDITS_INTERVENTION_H

#include "edits/request_edits.h"
#include "formats/ndarray.h"
#include "model/model.h"
#include "trace/location.h"

/* Some queries do not look at some keys: their scores become minus infinity before the softmax
 * (attention knockout, Geva et al. 2304.14767). Initialize with = {0}. */
struct attn_knockout {
    const char *queries, *keys; /* positions, by number or word (request.h); in layers that attend
                                   to a source keys are those of the source */
    const char *heads;          /* as in trace/selection.h; NULL: all */
    const char *name;           /* its name in messages; NULL: its queries */
    char *text;                 /* owns the texts of a parsed one; or NULL */
    const void *later[4];       /* NULL: room for fields of later versions */
};

/* Parses QUERIES>KEYS or QUERIES>KEYS@HEADS. ATTN_INVALID at ATTN_STAGE_OPTIONS for other texts.
 * *knockout is untouched on failure. */
ATTN_API enum attn_status attn_knockout_parse(const char *text, struct attn_knockout *knockout,
                                              struct attn_error *err);
ATTN_API void attn_knockout_release(struct attn_knockout *knockout); /* {0} is allowed */

/* Replaces a tensor by that of another run: all of it, one head, or some positions. Initialize with
 * ATTN_PATCH_DEFAULT. */
struct attn_patch {
    struct attn_location at; /* of a site of a layer that is not derived; key/value head for k and
                                v; head ATTN_ALL_HEADS: all */
    const char *positions;   /* by number or word (request.h); NULL: all */
    struct attn_ndarray values; /* the site of the layer, whole: as many positions as the text has,
                                   and all heads: [T, n], [T, H, n] or [H, T, S] */
    const char *name;           /* its name in messages; NULL: its site */
    char *text;                 /* as of a knockout */
    const void *later[4];       /* NULL: room for fields of later versions */
};

#define ATTN_PATCH_DEFAULT ((struct attn_patch){.at = {.head = ATTN_ALL_HEADS}})

/* Reads SITE:LAYER[.HEAD][@POSITIONS]=FILE.npz, "z:2.5@-1=clean.npz", and the array of FILE that
 * has the archive name of the site (run --npz, or numpy.savez). ATTN_INVALID at the stage of
 * options for what is no patch, or of a layer or head that MODEL lacks, which may be NULL; failures
 * of the file are at that of the input. *patch is untouched on failure. */
ATTN_API enum attn_status attn_patch_read(const char *text, const struct attn_model *model,
                                          struct attn_patch *patch, struct attn_error *err);
ATTN_API void attn_patch_release(struct attn_patch *patch); /* {0} is allowed */

/* Adds a vector to a tensor (activation addition, Turner et al. 2308.10248), or multiplies a tensor
 * by a factor. Initialize with ATTN_STEERING_DEFAULT. */
struct attn_steering {
    struct attn_location at; /* of a site of a layer that is not derived; key/value head for k and
                                v; head ATTN_ALL_HEADS, if the site has no heads or all are
                                multiplied */
    const char
        *positions; /* by number or word (request.h); NULL: all positions, generated ones too */
    struct attn_ndarray
        values; /* the addend: [n] or [1, n] at each position, or [P, n] a row for each position in
                   order; rank 0: no addend, the tensor is multiplied */
    float factor;         /* by which */
    const char *name;     /* what messages call it; NULL: its site */
    char *text;           /* as of a knockout */
    const void *later[4]; /* NULL: room for fields of later versions */
};

#define ATTN_STEERING_DEFAULT ((struct attn_steering){.at = {.head = ATTN_ALL_HEADS}, .factor = 1})

/* Reads SITE:LAYER[.HEAD][@POSITIONS]=FILE.npy[*FACTOR], "resid_pre:2@-1=v.npy*1.5": the values are
 * those of FILE times FACTOR. Fails as attn_patch_read does. *steering is untouched on failure. */
ATTN_API enum attn_status attn_steering_read(const char *text, const struct attn_model *model,
                                             struct attn_steering *steering,
                                             struct attn_error *err);

/* Reads SITE:LAYER[.HEAD][@POSITIONS]=FACTOR, "z:2.5=0.5". Likewise. */
ATTN_API enum attn_status attn_rescale_parse(const char *text, const struct attn_model *model,
                                             struct attn_steering *steering,
                                             struct attn_error *err);
ATTN_API void attn_steering_release(struct attn_steering *steering); /* {0} is allowed */

#endif
