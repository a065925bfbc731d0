/*
 * edit_texts.h - the interventions of a request as texts, and the files that they name.
 *
 *     struct attn_edit_texts texts = {.ablate = "2.5", .patches = (const char *[]){"z:2.5=a.npz"},
 *                                     .n_patch = 1};
 *     attn_edit_texts_read(&texts, attn_host_model(host), &request.edits, &err);
 *     ... attn_run_request(host, &request, &result, &err) ...
 *     attn_edit_texts_release(&texts);
 */
#ifndef ATTN_EDITS_EDIT_TEXTS_H
#define ATTN_EDITS_EDIT_TEXTS_H

#include "edits/intervention.h"

/* The interventions of a request as texts, which are borrowed. NULL: not given. */
struct attn_edit_texts {
    /* "2.5,mean:1.*,uniform:0.3,mlp_out:2": ATTN_EDIT_ZERO, MEAN or UNIFORM of heads, or the first
     * two of SITE:LAYER[.HEAD], or of SITE outside the layers. */
    const char *ablate;
    /* [n_knockout] ATTN_EDIT_MASK: QUERIES>KEYS[@HEADS], "it>cat@2.*" */
    const char *const *knockouts;
    /* [n_patch] ATTN_EDIT_REPLACE: SITE:LAYER[.HEAD][@POSITIONS]=FILE.npz, "z:2.5@-1=clean.npz".
     * The array of the file (of `run --npz`, or numpy.savez) is that with the archive name of the
     * site. */
    const char *const *patches;
    /* [n_steer] ATTN_EDIT_ADD: SITE:LAYERS[.HEAD][@POSITIONS]=FILE[*FACTOR],
     * "resid_pre:2@-1=v.npy*1.5". FILE may be a control vector of llama.cpp, in GGUF. */
    const char *const *steers;
    /* [n_project] ATTN_EDIT_PROJECT: SITE:LAYERS[.HEAD][@POSITIONS]=FILE[*FACTOR[+OFFSET]],
     * "resid_post:all=v.npy", "resid_post:3=v.npy*1-4" */
    const char *const *projects;
    /* [n_rescale] ATTN_EDIT_SCALE: SITE:LAYERS[.HEAD][@POSITIONS]=FACTOR, "z:2.5=0.5" */
    const char *const *rescales;
    size_t n_knockout, n_patch, n_steer, n_project, n_rescale;

    /* The values read from these texts: owned. */
    struct attn_intervention *interventions; /* [n_intervention] */
    size_t n_intervention;
};

/* Reads the texts, and the files that they name, into EDITS, which borrows from TEXTS. MODEL may be
 * NULL: then nothing is checked against a model. ATTN_INVALID at ATTN_STAGE_OPTIONS if a text has
 * another form or MODEL lacks the layer or the head; a file that cannot be read fails at
 * ATTN_STAGE_INPUT. Frees what TEXTS
 * had read before. Release TEXTS also after a failure. */
ATTN_API enum attn_status attn_edit_texts_read(struct attn_edit_texts *texts,
                                               const struct attn_model *model,
                                               struct attn_request_edits *edits,
                                               struct attn_error *err);

/* Frees the edits. {0} is allowed. */
ATTN_API void attn_edit_texts_release(struct attn_edit_texts *texts);

#endif
