/* pixel_feed.c - see pixel_feed.h. */
#include "towers/pixel_feed.h"

#include "base/text/given.h"
#include "forward/forward_internal.h"
#include "towers/image_patches.h"

#include <string.h>

enum attn_status attn_session_feed_pixels(struct attn_session *session, const float *pixels,
                                          size_t height, size_t width, struct attn_error *err)
{
    ATTN_NEED(err, session, pixels);
    struct attn_forward *f = &session->forward;
    const struct attn_image_config *image = &f->model->config.image;
    const struct attn_given_rows rows = {f->embeddings_name, "the picture", pixels,
                                         image->n_channel * height, width};
    const size_t n_in = f->model->weights.patches.weight.n_row;
    struct attn_image_grid grid;
    size_t n;

    ATTN_TRY(attn_model_image_grid(f->model, height, width, &grid, err));
    n = grid.n_front + grid.n_row * grid.n_col;
    if (f->places && n <= f->dims.n_position)
        attn_image_place(&grid, f->places);
    for (size_t i = 0; i < f->n_rotary && f->places; i++)
        f->rotaries[i].positions = (struct attn_position_numbers){f->places, n, 0};
    ATTN_TRY(attn_session_check_feed(session, 0, n, err));
    ATTN_TRY(attn_session_check_rows(f, &rows, err));
    attn_session_begin_feed(session, n, err);
    f->parts[0].grid = grid;
    memset(f->patches, 0, grid.n_front * n_in * sizeof *f->patches);
    attn_image_cut(image, pixels, height, width, f->patches + grid.n_front * n_in);
    return attn_session_run_feed(session);
}
