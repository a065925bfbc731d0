/* patch_parts.c - see patch_internal.h: lists the parts, for exact patches and for estimates. */
#include "circuit/patch_internal.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "trace/trace_internal.h"

#include <math.h>

bool attn_patch_is_of_source(const struct attn_patching *patch, const struct attn_patch_part *part)
{
    return part->of.at.stack == ATTN_STACK_ENCODER ||
           (attn_site_layout(patch->site) == ATTN_LAYOUT_KEY &&
            attn_location_is_cross(attn_selection_dims(patch->base->selection), &part->of.at));
}

bool attn_patch_is_to_noise(const struct attn_patch_args *args)
{
    return args->direction == ATTN_PATCH_DIRECTION_AUTO
               ? args->path != NULL
               : args->direction == ATTN_PATCH_DIRECTION_NOISE;
}

size_t attn_patch_unit(const struct attn_patch_part *part)
{
    return part->of.neuron >= 0    ? (size_t)part->of.neuron
           : part->of.at.head >= 0 ? (size_t)part->of.at.head
                                   : 0;
}

bool attn_patch_has_encoder(const struct attn_patching *patch)
{
    return patch->base->model->encoder && patch->is_by_head && !patch->is_by_row &&
           !attn_number_list_is_given(&patch->queries) &&
           attn_input_is_given(&patch->args->corrupted_source);
}

bool attn_patch_has_row(const struct attn_patching *patch, const struct attn_patch_part *part,
                        size_t row)
{
    if (attn_patch_is_of_source(patch, part))
        return !patch->source_rows || patch->source_rows[row] != 0;
    if (patch->places.n > 0)
        return patch->places.is_of_place[part->of.row * patch->base->text.n + row] != 0;
    if (patch->is_by_row && part->of.row != row)
        return false;
    return !patch->rows || patch->rows[row] != 0;
}

enum attn_status attn_patch_list_parts(struct attn_patching *patch, struct attn_error *err)
{
    const struct attn_location *of = attn_patch_has_encoder(patch)
                                         ? ATTN_ALL_OF(ONLY, patch->site)
                                         : ATTN_ALL_OF(DECODER, patch->site);
    const size_t n_row = patch->places.n > 0 ? patch->places.n
                         : patch->is_by_row  ? patch->base->text.n
                                             : 0;
    struct attn_parts listed = {.n = 0};
    struct attn_selection *selection;
    enum attn_status status;

    ATTN_TRY(attn_selection_create(attn_selection_dims(patch->base->selection), &selection, err));
    status = attn_selection_set_sites(selection, ATTN_SITES(patch->site), err);
    if (status == ATTN_OK)
        status = attn_error_in(attn_selection_choose_heads(
                                   selection, &(struct attn_head_list){.text = patch->heads}, err),
                               "heads", err);
    status = attn_error_at(status, ATTN_STAGE_OPTIONS, err);
    ATTN_THEN(status, attn_parts_list(selection, of, n_row, &listed, err));
    patch->parts = attn_frame_alloc(&patch->frame, listed.n, sizeof *patch->parts);
    ATTN_THEN(status, attn_frame_memory(&patch->frame, err));
    for (size_t i = 0; status == ATTN_OK && i < listed.n; i++) {
        const struct attn_patch_part part = {.of = listed.items[i],
                                             .trial = patch->is_estimated ? ATTN_PART_UNTRIED
                                                                          : ATTN_PART_TRIED};

        /* a position outside the queries is not a part */
        if (!patch->is_by_row || patch->places.n > 0 ||
            attn_patch_has_row(patch, &part, part.of.row))
            patch->parts[patch->n_part++] = part;
    }
    attn_selection_free(selection);
    attn_free(listed.items);
    if (status == ATTN_OK && patch->n_part == 0 && patch->heads)
        status = attn_refuse(err, ATTN_STAGE_OPTIONS,
                             "'%s' names heads of the encoder, and both runs have the same source",
                             attn_quote_string(patch->heads).text);
    return status;
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
