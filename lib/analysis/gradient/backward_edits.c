/* backward_edits.c - edits of the pass whose gradients are computed. An output that was set passes
 * no gradient, a scale passes it times the scale, a projection passes what it leaves of it, what is
 * added passes it whole. A key that is cut out has the weight 0, and so passes none. Edits of the
 * matrices of heads are applied by attention_backward.c, tile by tile. */
#include "gradient/backward_internal.h"

#include "base/memory.h"
#include "trace/trace_internal.h"

#include <string.h>

enum attn_status attn_backward_take_edits(struct attn_backward *b,
                                          const struct attn_backward_options *options,
                                          struct attn_error *err)
{
    const size_t n = options->n_edit;

    if (n == 0)
        return ATTN_OK;
    ATTN_TRY(ATTN_ALLOC(b->edits, n, err));
    ATTN_TRY(ATTN_ALLOC(b->back_edits, n, err));
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < n; i++)
            if ((options->edits[i].at.site == ATTN_SITE_RESID_PRE) == (pass == 1)) {
                b->edits[b->n_edit++] = options->edits[i];
                b->n_again += pass == 0;
            }
    for (size_t i = n; i-- > 0;) { /* projections are not of any order */
        struct attn_edit edit = options->edits[i];

        if (edit.op == ATTN_EDIT_ADD)
            continue;
        edit.offset = 0;
        if (edit.op != ATTN_EDIT_SCALE && edit.op != ATTN_EDIT_PROJECT)
            edit.op = ATTN_EDIT_ZERO;
        b->back_edits[b->n_back++] = edit;
    }
    return ATTN_OK;
}

/* Applies EDITS [n_edit] to X, a tensor of SITE of LAYER with N_ROW rows. */
static void apply(const struct attn_backward *b, const struct attn_edit *edits, size_t n_edit,
                  const struct attn_location *at, float *x)
{
    const struct attn_dims *dims = &b->f->dims;
    const enum attn_site site = at->site;
    const size_t n_head = attn_site_n_head(site, dims), width = attn_site_width(site, dims);
    const size_t n_row = attn_site_layout(site) == ATTN_LAYOUT_KEY ? attn_backward_n_key(b) : b->n;

    for (size_t head = 0; head < n_head; head++) {
        const struct attn_edit_target target = {
            .at.site = site,
            .at.layer = at->layer,
            .at.head = attn_site_has_heads(site) ? (int)head : ATTN_ALL_HEADS,
            .n_row = n_row,
            .n_col = width,
            .ld = n_head * width,
            .data = x + head * width};

        attn_edits_apply(edits, n_edit, NULL, NULL, &target);
    }
}

/* Returns the site whose gradient GRADIENT is. */
static enum attn_site site_of(enum attn_site gradient)
{
    int site = 0;

    while (!attn_sites_have(attn_sites_gradients_of(ATTN_SITES((enum attn_site)site)), gradient))
        site++;
    return (enum attn_site)site;
}

void attn_edit_back(struct attn_backward *b, enum attn_site site, float *d)
{
    struct attn_location at = {.layer = b->layer};

    if (b->n_back == 0 || site == ATTN_N_SITE || attn_backward_is_over(b))
        return;
    at.site = site_of(site);
    if (attn_edits_touch(b->back_edits, b->n_back, &at))
        apply(b, b->back_edits, b->n_back, &at, d);
}

const float *attn_branch_back(struct attn_backward *b, enum attn_site site)
{
    const struct attn_location at = {.layer = b->layer, .site = site};

    if (attn_backward_is_over(b) || !attn_edits_touch(b->back_edits, b->n_back, &at))
        return b->d;
    memcpy(b->edited, b->d, b->n * b->model->config.d_model * sizeof *b->d);
    apply(b, b->back_edits, b->n_back, &at, b->edited);
    return b->edited;
}

void attn_edit_again(const struct attn_backward *b, enum attn_site site, int layer, float *x)
{
    const struct attn_location at = {.layer = layer, .site = site};

    if (attn_edits_touch(b->edits, b->n_edit, &at))
        apply(b, b->edits, b->n_edit, &at, x);
}
