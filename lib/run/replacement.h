/*
 * replacement.h - edits that put what another run wrote in the place of a tensor: a patch by hand.
 * For the files of this layer.
 *
 * A patch is written SITE:LAYER[.HEAD][@POSITIONS]=FILE.npz: 'z:2.5@-1=clean.npz'. FILE holds the
 * site of the layer under its archive name, whole: as many positions as the text has, and all heads
 * (run --npz, or numpy.savez).
 */
#ifndef ATTN_RUN_REPLACEMENT_H
#define ATTN_RUN_REPLACEMENT_H

#include "run/run_internal.h"

/* Reads the arrays of the request's patches, and appends their edits to those of RUN, which is
 * prepared but for them. ATTN_INVALID at the stage of options for what is no patch; failures of
 * files and their shapes are at that of the input. */
enum attn_status attn_run_add_patches(struct attn_run *run, struct attn_error *err);

/* Frees the arrays. */
void attn_run_free_patches(struct attn_run *run);

#endif
