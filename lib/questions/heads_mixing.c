/*
 * heads_mixing.c - `heads` of layers without attention. Their readers get rows of |mixing|, or of
 * mixing_norm, divided by their sum, as rows of a pattern. Rows of zeros have no weights and are
 * left out. Readers see a selection whose heads are those of mixing: layers without them lack the
 * pattern.
 */
#include "base/memory.h"
#include "model/config_internal.h"
#include "questions/heads_internal.h"
#include "trace/places_internal.h"
#include "trace/trace_internal.h"

#include <math.h>

/* The rows of a head that are not 0. */
struct rows {
    double negative; /* the sum of their shares below 0 */
    size_t n;
};

struct attn_heads_mixing {
    struct attn_selection *selection; /* owns */
    struct rows *rows;                /* [parts.n] */
    float *weights;                   /* [T] the row at hand */
};

static enum attn_status select_heads(const struct attn_heads_run *heads,
                                     struct attn_site_set *lacking, struct attn_selection *to,
                                     struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(to);

    ATTN_TRY(attn_selection_set_sites(to, ATTN_SITES(ATTN_SITE_PATTERN, ATTN_SITE_RESID_PRE), err));
    for (size_t layer = 0; layer < dims->n_layer; layer++)
        attn_sites_add(&lacking[layer], ATTN_SITE_PATTERN);
    for (size_t i = 0; i < heads->parts.n; i++) {
        lacking[attn_location_index(&heads->parts.items[i].at)] = (struct attn_site_set){{0}};
        ATTN_TRY(attn_selection_add_head(to, &heads->parts.items[i].at, err));
    }
    return ATTN_OK;
}

enum attn_status attn_heads_mixing_begin(struct attn_heads_run *heads, struct attn_error *err)
{
    struct attn_frame *frame = &heads->frame;
    struct attn_dims dims = *attn_selection_dims(frame->run->selection);
    struct attn_heads_mixing *mixing;
    struct attn_site_set *lacking;

    if (heads->site == ATTN_SITE_PATTERN)
        return ATTN_OK;
    heads->mixing = mixing = attn_frame_alloc(frame, 1, sizeof *mixing);
    ATTN_TRY(attn_frame_memory(frame, err));
    lacking = attn_frame_alloc(frame, dims.n_layer, sizeof *lacking);
    mixing->rows = attn_frame_alloc(frame, heads->parts.n, sizeof *mixing->rows);
    mixing->weights = attn_frame_alloc(frame, dims.n_position, sizeof *mixing->weights);
    ATTN_TRY(attn_frame_memory(frame, err));
    dims.n_head = dims.mixer->n_head;
    dims.n_kv_head = dims.mixer->n_key_head;
    dims.mixer = NULL;
    dims.lacking = lacking;
    attn_sites_add(&dims.sites, ATTN_SITE_PATTERN);
    ATTN_TRY(attn_selection_create(&dims, &mixing->selection, err));
    return select_heads(heads, lacking, mixing->selection, err);
}

void attn_heads_mixing_free(struct attn_heads_mixing *mixing)
{
    if (mixing)
        attn_selection_free(mixing->selection);
}

const struct attn_selection *attn_heads_selection(const struct attn_heads_run *heads)
{
    return heads->mixing ? heads->mixing->selection : heads->frame.run->selection;
}

enum attn_status attn_heads_mixing_event(void *user, const struct attn_trace_event *event,
                                         struct attn_error *err)
{
    const struct attn_heads_run *heads = user;
    const struct attn_heads_mixing *mixing = heads->mixing;
    struct attn_trace_event row = *event;

    if (event->at.site != heads->site)
        return heads->of_view(user, event, err);
    row.at.site = ATTN_SITE_PATTERN;
    row.n_row = 1;
    row.data = mixing->weights;
    for (size_t r = 0; r < event->n_row; r++) {
        const float *cells = event->data + r * event->ld;
        struct rows *rows = &mixing->rows[attn_parts_find(&heads->parts, &row.at)];
        double sum = 0, below = 0;

        for (size_t key = 0; key < event->n_col; key++) {
            sum += fabs((double)cells[key]);
            below += cells[key] < 0 ? fabs((double)cells[key]) : 0;
        }
        if (!(sum > 0))
            continue;
        for (size_t key = 0; key < event->n_col; key++)
            mixing->weights[key] = (float)(fabs((double)cells[key]) / sum);
        rows->negative += below / sum;
        rows->n++;
        row.row0 = event->row0 + r;
        ATTN_TRY(heads->of_view(user, &row, err));
    }
    return ATTN_OK;
}

double attn_heads_negative(const struct attn_heads_run *heads, size_t i)
{
    return heads->mixing && heads->mixing->rows[i].n > 0
               ? heads->mixing->rows[i].negative / (double)heads->mixing->rows[i].n
               : (double)NAN;
}
