/*
 * intervention.h - changes to a run that name heads, words of the text or arrays of files:
 * ablations, knockouts, patches, steering, projecting and rescaling. All other changes are edits
 * (trace/edit.h).
 *
 *     const int64_t three[] = {3};
 *     struct attn_intervention both[] = {ATTN_INTERVENTION_DEFAULT, ATTN_INTERVENTION_DEFAULT};
 *     both[0].op = ATTN_EDIT_ZERO; // head 2.5
 *     both[0].at = (struct attn_location){.site = ATTN_SITE_Z, .layer = 2, .head = 5};
 *     both[1].op = ATTN_EDIT_REPLACE; // an MLP at position 3, by that of another run [9, 128]
 *     both[1].at = (struct attn_location){ATTN_STACK_ONLY, 3, ATTN_ALL_HEADS, ATTN_SITE_MLP_OUT};
 *     both[1].positions = (struct attn_number_list){.items = three, .n = 1};
 *     both[1].values = (struct attn_ndarray){.rank = 2, .shape = {9, 128}, .data = values};
 *     request.edits.interventions = both, request.edits.n_intervention = 2;
 *     attn_run_request(host, &request, &result, &err);
 *
 * What the fields point to is borrowed until the request is served. edits/edit_texts.h reads them
 * from texts, as a command line has them.
 */
#ifndef ATTN_EDITS_INTERVENTION_H
#define ATTN_EDITS_INTERVENTION_H

#include "formats/ndarray.h"
#include "model/model.h"
#include "trace/edit.h"
#include "trace/lists.h"
#include "trace/location.h"

/* One change of a tensor. Initialize with ATTN_INTERVENTION_DEFAULT. */
struct attn_intervention {
    /* ZERO, MEAN, UNIFORM, an ablation: the tensor becomes 0, or its mean over the text, which is
     * found first; or the weights of heads become equal. MASK, a knockout: some queries do not look
     * at some keys; their scores become minus infinity before the softmax (Geva et al. 2304.14767).
     * REPLACE, a patch: the tensor gets the values of another run. ADD, steering: a vector is added
     * (Turner et al. 2308.10248). PROJECT: the part along a vector is taken out or set
     * (trace/edit.h). SCALE: the tensor is multiplied by a factor. Lists that an operation does not
     * use are refused.
     */
    enum attn_edit_op op;
    /* Not of a knockout: which tensor; its site is in a layer, but for ZERO and MEAN, and not
     * derived; for k and v the head is a key/value head; head ATTN_ALL_HEADS: the site has no
     * heads, or all heads are changed. UNIFORM ignores the site. */
    struct attn_location at;
    /* ADD, PROJECT, SCALE: the layers, instead of that of `at`. Not given: that layer alone. */
    struct attn_number_list layers;
    /* The rows, which of a knockout are queries. Not given: all; generated ones too, if all get the
     * same vector or factor. An ablation has none. */
    struct attn_number_list positions;
    /* MASK: the keys, which are positions of the source in layers that attend to one. */
    struct attn_number_list keys;
    /* MASK: which heads; not given: all. An ablation: z, or the weights, of these heads instead of
     * `at`. */
    struct attn_head_list heads;
    /* REPLACE: the whole tensor, with all positions of the text and all heads: [T, n], [T, H, n] or
     * [H, T, S]. ADD, PROJECT: [n] or [1, n] for each position, or [P, n] with a row for each named
     * position in order. */
    struct attn_ndarray values;
    /* ADD, PROJECT at resid_post: values [n_vector, n] are a vector for each of these layers, which
     * `layers` "all" names, too; NULL: values are those of every layer. */
    const int64_t *vector_layers;
    size_t n_vector;
    float factor, offset; /* of SCALE and PROJECT; of PROJECT */
    const char *name;     /* its name in messages; NULL: its site, or the queries of a knockout */
    char *text;           /* owns the text that was read, or NULL */
    int64_t *made_layers; /* owns the layers that were read, or NULL */
    /* Of a feature: PROJECT: computes the new rows, instead of the projection; its user data are
     * the values, which begin with a vector; and a note about it for each run, or "". Else NULL. */
    attn_edit_fn function;
    const char *remark;
    const void *later[2]; /* NULL: room for fields of later versions */
};

/* Sets INTERVENTION [size bytes] to the defaults, and returns it. */
ATTN_API struct attn_intervention *attn_intervention_init(struct attn_intervention *intervention,
                                                          size_t size);
#define ATTN_INTERVENTION_DEFAULT ATTN_DEFAULT_OF(attn_intervention)

#endif
