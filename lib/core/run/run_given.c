/* run_given.c - what a request gives: its checks, and the options of its outputs. */
#include "run/run_internal.h"

#include "base/text/given.h"
#include "tensors/view.h"

ATTN_DEFAULTS(attn_request, .size = sizeof(struct attn_request), .outputs = {.precision = -1})

/* Checks that lists are given if their counts are not 0, that enums are in range, and that no part
 * of REQUEST uses fields of later versions. */
static enum attn_status check_given(const struct attn_request *request, struct attn_error *err)
{
    const struct attn_request_reading *reading = &request->reading;
    const struct attn_request_outputs *outputs = &request->outputs;
    const struct attn_request_predict *predict = &request->predict;
    const struct attn_attention_change *change = request->attention.change;
    bool is_right =
        ATTN_IS_KNOWN(request->input.later, "input", err) &&
        ATTN_IS_KNOWN(request->source.later, "source", err) &&
        ATTN_IS_KNOWN(reading->later, "reading", err) &&
        ATTN_IS_KNOWN(request->attention.later, "attention", err) &&
        (!change || ATTN_IS_KNOWN(change->later, "change", err)) &&
        ATTN_IS_KNOWN(request->selection.later, "selection", err) &&
        ATTN_IS_KNOWN(request->maps.later, "maps", err) &&
        ATTN_IS_KNOWN(request->chat.later, "chat", err) &&
        ATTN_IS_KNOWN(predict->later, "predict", err) &&
        (!predict->more || ATTN_IS_KNOWN(predict->more->later, "predict", err)) &&
        attn_places_check(reading->places, err) == ATTN_OK &&
        ATTN_IS_KNOWN(outputs->later, "outputs", err) &&
        attn_is_choice(reading->special, ATTN_SPECIAL_TEXT + 1, "special", err) &&
        attn_is_choice(reading->special_tokens, ATTN_SPECIAL_TOKENS_BOS + 1, "special_tokens",
                       err) &&
        attn_is_choice(reading->image_tiles, ATTN_IMAGE_TILES_OFF + 1, "image_tiles", err) &&
        attn_is_choice(request->maps.neutral_by, ATTN_NEUTRAL_RATIO + 1, "neutral_by", err) &&
        attn_is_given(outputs->n == 0 || outputs->items, "outputs", err) &&
        attn_is_given(outputs->n_option == 0 || outputs->options, "options", err) &&
        attn_is_given(predict->n_next == 0 || predict->next, "next", err) &&
        attn_is_given(predict->n_next_ids == 0 || predict->next_ids, "next_ids", err) &&
        attn_is_given(predict->n_label == 0 || predict->labels, "labels", err);

    for (size_t i = 0; is_right && i < predict->n_next; i++)
        is_right = attn_is_given(predict->next[i], "next", err);
    for (size_t i = 0; is_right && i < predict->n_next_ids; i++)
        is_right =
            attn_is_given(predict->next_ids[i].ids && predict->next_ids[i].name, "next_ids", err) &&
            ATTN_IS_KNOWN(predict->next_ids[i].later, "next_ids", err);
    for (size_t i = 0; is_right && i < predict->n_label; i++)
        is_right = attn_is_given(predict->labels[i], "labels", err);
    return is_right ? attn_edits_check_given(&request->edits, err) : ATTN_INVALID;
}

/* Copies the picture options, whose struct may be shorter in the caller's version. */
static enum attn_status read_picture(struct attn_run *run, struct attn_error *err)
{
    if (!run->request.outputs.picture)
        return ATTN_OK;
    if (!attn_picture_settings)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "options of pictures need a reader, which is not linked");
    const enum attn_status status =
        attn_picture_settings->copy(run->request.outputs.picture, &run->look, err);

    run->request.outputs.picture = run->look;
    return attn_error_at(status, ATTN_STAGE_OPTIONS, err);
}

enum attn_status attn_run_read_given(struct attn_run *run, struct attn_error *err)
{
    ATTN_TRY(check_given(&run->request, err));
    return read_picture(run, err);
}
