/* patch_parts.c - see patch_internal.h: lists the parts, for exact patches and for estimates. */
#include "experiment/patch_internal.h"

#include "base/status_internal.h"
#include "trace/trace_internal.h"

#include <math.h>

bool attn_patch_is_of_source(const struct attn_patching *patch, const struct attn_patch_part *part)
{
    return part->is_of_encoder || (attn_site_layout(patch->site) == ATTN_LAYOUT_KEY &&
                                   patch->frame.config->is_cross[part->layer]);
}

bool attn_patch_has_encoder(const struct attn_patching *patch)
{
    return patch->base->model->encoder && patch->is_by_head && !patch->is_by_row &&
           !patch->queries && attn_input_is_given(&patch->args->corrupted_source);
}

bool attn_patch_has_row(const struct attn_patching *patch, const struct attn_patch_part *part,
                        size_t row)
{
    if (attn_patch_is_of_source(patch, part))
        return !patch->source_rows || patch->source_rows[row] != 0;
    if (patch->places.n > 0)
        return patch->places.is_of_place[part->row * patch->base->text.n + row] != 0;
    if (patch->is_by_row && part->row != row)
        return false;
    return !patch->rows || patch->rows[row] != 0;
}

enum attn_status attn_patch_list_parts(struct attn_patching *patch, struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(patch->base->selection);
    const size_t n_unit =
        patch->site == ATTN_SITE_MLP_POST ? dims->d_mlp : attn_site_n_head(patch->site, dims);
    const size_t n_place = patch->places.n;
    const size_t n_each = n_place > 0 ? n_place : patch->is_by_row ? patch->base->text.n : 1;
    const size_t n_most = dims->n_layer * n_unit;
    const struct attn_dims *encoder = &patch->base->encoder_dims;
    const enum attn_part_trial first = patch->is_estimated ? ATTN_PART_UNTRIED : ATTN_PART_TRIED;
    const size_t n_encoder_unit =
        attn_patch_has_encoder(patch) ? attn_site_n_head(patch->site, encoder) : 0;

    patch->parts = attn_frame_alloc(
        &patch->frame, n_most * n_each + encoder->n_layer * n_encoder_unit, sizeof *patch->parts);
    ATTN_TRY(attn_frame_memory(&patch->frame, err));
    for (size_t i = 0; i < encoder->n_layer * n_encoder_unit; i++)
        patch->parts[patch->n_part++] = (struct attn_patch_part){.is_of_encoder = true,
                                                                 .layer = (int)(i / n_encoder_unit),
                                                                 .unit = i % n_encoder_unit,
                                                                 .trial = first};
    for (size_t i = 0; i < n_most * n_each; i++) {
        const struct attn_patch_part part = {.layer = (int)(i / n_each / n_unit),
                                             .unit = i / n_each % n_unit,
                                             .row = i % n_each,
                                             .trial = first};

        if (attn_site_is_lacking(dims, patch->site, part.layer))
            continue;
        /* a position outside the queries is not a part */
        if (!patch->is_by_row || n_place > 0 || attn_patch_has_row(patch, &part, part.row))
            patch->parts[patch->n_part++] = part;
    }
    return ATTN_OK;
}

enum attn_status attn_patch_check_difference(struct attn_patching *patch, struct attn_error *err)
{
    const double value = patch->source_reply.value, whole = value - patch->base_reply.value;
    const struct attn_answer *answer = &patch->answer;

    /* exact patches may show NaN, but an estimate cannot be divided by NaN */
    patch->can_restore =
        !(fabs(whole) < ATTN_PATCH_SMALLEST_DIFFERENCE) && !(patch->is_estimated && isnan(whole));
    if (patch->can_restore || patch->frame.item)
        return ATTN_OK;
    attn_error_set(err, ATTN_INVALID, "'%s' is %.6g of both %s: there is no difference to restore",
                   attn_answer_metric_name(answer->metric), value,
                   answer->of.text->pixels ? "pictures" : "texts");
    return attn_error_at(ATTN_INVALID, ATTN_STAGE_INPUT, err);
}
