/*
 * intervention.h - three kinds of changes to a run that name words of the text or arrays of files:
 * knockouts, patches and steering. All other changes are edits (trace/edit.h).
 *
 * A command line writes them as texts, which these functions read:
 *
 *     struct attn_knockout knockout;
 *     attn_knockout_parse("it>cat@2.*", &knockout, &err);
 *     request.edits.knockouts = &knockout, request.edits.n_knockout = 1;
 *     ... attn_run_request(host, &request, &result, &err) ...
 *     attn_knockout_release(&knockout);
 *
 * A program may also fill the fields itself: it lends what they point to until the request is
 * served.
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
    /* Positions, as numbers or words (request.h); in layers that attend to a source the keys are
     * positions of the source. */
    const char *queries, *keys;
    const char *heads; /* as in trace/selection.h; NULL: all */
    const char *name;  /* its name in messages; NULL: its queries */
    char *text; /* owns the text that attn_knockout_parse copied; NULL: the fields were filled by
                   hand */
    const void *later[4]; /* NULL: room for fields of later versions */
};

/* Parses QUERIES>KEYS or QUERIES>KEYS@HEADS. Other texts: ATTN_INVALID at ATTN_STAGE_OPTIONS.
 * *knockout is unchanged on failure. */
ATTN_API enum attn_status attn_knockout_parse(const char *text, struct attn_knockout *knockout,
                                              struct attn_error *err);
ATTN_API void attn_knockout_release(struct attn_knockout *knockout); /* {0} is allowed */

/* Replaces a tensor by the values of another run: all of it, one head, or some positions.
 * Initialize with ATTN_PATCH_DEFAULT. */
struct attn_patch {
    struct attn_location at;    /* which tensor; its site is in a layer and not derived; for k and v
                                   the head is a key/value head; head ATTN_ALL_HEADS: all */
    const char *positions;      /* as numbers or words (request.h); NULL: all */
    struct attn_ndarray values; /* the whole tensor, with all positions of the text and all heads:
                                   [T, n], [T, H, n] or [H, T, S] */
    const char *name;           /* its name in messages; NULL: its site */
    char *text;                 /* owns the text that attn_patch_read copied; or NULL */
    const void *later[4];       /* NULL: room for fields of later versions */
};

#define ATTN_PATCH_DEFAULT ((struct attn_patch){.at = {.head = ATTN_ALL_HEADS}})

/* Reads SITE:LAYER[.HEAD][@POSITIONS]=FILE.npz, such as "z:2.5@-1=clean.npz", and the array of FILE
 * (of `run --npz`, or numpy.savez) whose name is the archive name of the site. MODEL may be NULL.
 * ATTN_INVALID at ATTN_STAGE_OPTIONS if TEXT is no patch or MODEL lacks the layer or the head; a
 * file that cannot be read fails at ATTN_STAGE_INPUT. *patch is unchanged on failure. */
ATTN_API enum attn_status attn_patch_read(const char *text, const struct attn_model *model,
                                          struct attn_patch *patch, struct attn_error *err);
ATTN_API void attn_patch_release(struct attn_patch *patch); /* {0} is allowed */

/* Adds a vector to a tensor (activation addition, Turner et al. 2308.10248), or multiplies a tensor
 * by a factor. Initialize with ATTN_STEERING_DEFAULT. */
struct attn_steering {
    /* Which tensor; its site is in a layer and not derived; for k and v the head is a key/value
     * head; head ATTN_ALL_HEADS: the site has no heads, or all are multiplied. */
    struct attn_location at;
    /* As numbers or words (request.h); NULL: all positions, generated ones too. */
    const char *positions;
    /* The addend: [n] or [1, n] for each position, or [P, n] with a row for each named position in
     * order; rank 0: no addend, the tensor is multiplied. */
    struct attn_ndarray values;
    float factor;         /* the factor of a multiplication */
    const char *name;     /* its name in messages; NULL: its site */
    char *text;           /* owns the text that was read; or NULL */
    const void *later[4]; /* NULL: room for fields of later versions */
};

#define ATTN_STEERING_DEFAULT ((struct attn_steering){.at = {.head = ATTN_ALL_HEADS}, .factor = 1})

/* Reads SITE:LAYER[.HEAD][@POSITIONS]=FILE.npy[*FACTOR], such as "resid_pre:2@-1=v.npy*1.5". The
 * addend is the array of FILE times FACTOR. Fails as attn_patch_read does. *steering is unchanged
 * on failure. */
ATTN_API enum attn_status attn_steering_read(const char *text, const struct attn_model *model,
                                             struct attn_steering *steering,
                                             struct attn_error *err);

/* Reads SITE:LAYER[.HEAD][@POSITIONS]=FACTOR, such as "z:2.5=0.5". Fails as attn_patch_read does,
 * except that there is no file. */
ATTN_API enum attn_status attn_rescale_parse(const char *text, const struct attn_model *model,
                                             struct attn_steering *steering,
                                             struct attn_error *err);
ATTN_API void attn_steering_release(struct attn_steering *steering); /* {0} is allowed */

#endif
