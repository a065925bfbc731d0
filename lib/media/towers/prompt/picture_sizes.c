/* picture_sizes.c - see picture_sizes.h. Divisions are in double, as in Python: the result of `w /
 * (w / h)` may be just below h. */
#include "towers/prompt/picture_sizes.h"

#include <math.h>

enum { MOST = 4096 };

static size_t ceil_to(size_t n, size_t factor)
{
    return (n + factor - 1) / factor * factor;
}

/* Sets the longer side of SIZE to EDGE and the shorter one in proportion, rounded down. */
static struct attn_picture_size set_longer(struct attn_picture_size size, size_t edge)
{
    const double ratio = (double)size.width / (double)size.height;

    if (size.width >= size.height)
        return (struct attn_picture_size){(size_t)((double)edge / ratio), edge};
    return (struct attn_picture_size){edge, (size_t)((double)edge * ratio)};
}

struct attn_picture_size attn_picture_scale(struct attn_picture_size size, size_t edge)
{
    const bool is_wide = size.width >= size.height;
    size_t *shorter;

    size = set_longer(size, edge);
    shorter = is_wide ? &size.height : &size.width;
    *shorter += *shorter % 2;
    *shorter += *shorter == 0;
    if (size.width > MOST || size.height > MOST)
        size = set_longer(size, MOST);
    size.height += size.height == 0;
    size.width += size.width == 0;
    return size;
}

struct attn_picture_size attn_picture_fill_tiles(struct attn_picture_size size, size_t tile)
{
    const bool is_wide = size.width >= size.height;

    size = set_longer(size, ceil_to(is_wide ? size.width : size.height, tile));
    size.height = ceil_to(size.height, tile);
    size.width = ceil_to(size.width, tile);
    return size;
}

struct attn_picture_size attn_picture_choose_grid(struct attn_picture_size size, size_t tile,
                                                  size_t least, size_t most)
{
    const double ratio = (double)size.width / (double)size.height;
    const double n_pixel = (double)size.width * (double)size.height;
    struct attn_picture_size best = {1, 1};
    double nearest = HUGE_VAL;

    for (size_t n = least; n <= most; n++)
        for (size_t width = 1; width <= n; width++) {
            const size_t height = n / width;
            const double off = fabs(ratio - (double)width / (double)height);

            if (height * width != n ||
                (off >= nearest &&
                 (off > nearest || n_pixel <= 0.5 * (double)tile * (double)tile * (double)n)))
                continue;
            nearest = off;
            best = (struct attn_picture_size){height, width};
        }
    return best;
}

struct attn_picture_size attn_picture_best_grid(struct attn_picture_size size, size_t tile,
                                                const unsigned char (*grids)[2], size_t n)
{
    struct attn_picture_size best = {0, 0};
    double most = 0, least = HUGE_VAL;

    for (size_t i = 0; i < n; i++) {
        const double height = (double)(grids[i][0] * tile), width = (double)(grids[i][1] * tile);
        const double scale = fmin(width / (double)size.width, height / (double)size.height);
        const double kept =
            fmin(floor((double)size.width * scale) * floor((double)size.height * scale),
                 (double)size.width * (double)size.height);

        if (kept < most || (kept == most && width * height - kept >= least))
            continue;
        most = kept;
        least = width * height - kept;
        best = (struct attn_picture_size){grids[i][0], grids[i][1]};
    }
    return best;
}

struct attn_picture_size attn_picture_fit(struct attn_picture_size size,
                                          struct attn_picture_size room)
{
    const double across = (double)room.width / (double)size.width;
    const double down = (double)room.height / (double)size.height;

    if (across < down)
        room.height = (size_t)fmin(ceil((double)size.height * across), (double)room.height);
    else
        room.width = (size_t)fmin(ceil((double)size.width * down), (double)room.width);
    return room;
}

static size_t round_to(size_t n, size_t factor)
{
    const size_t quotient = n / factor, rest = n % factor;

    return (quotient + (2 * rest > factor || (2 * rest == factor && quotient % 2 == 1))) * factor;
}

struct attn_picture_size attn_picture_round(struct attn_picture_size size,
                                            const struct attn_picture_limits *limits)
{
    const size_t factor = limits->factor;
    const double height = (double)size.height, width = (double)size.width, f = (double)factor;
    struct attn_picture_size rounded = {round_to(size.height, factor),
                                        round_to(size.width, factor)};
    const double n = (double)rounded.height * (double)rounded.width;

    if (n > limits->max_pixels) {
        const double shrink = sqrt(height * width / limits->max_pixels);

        rounded.height = (size_t)floor(height / shrink / f) * factor;
        rounded.width = (size_t)floor(width / shrink / f) * factor;
        rounded.height += rounded.height == 0 ? factor : 0;
        rounded.width += rounded.width == 0 ? factor : 0;
    } else if (n < limits->min_pixels) {
        const double grow = sqrt(limits->min_pixels / (height * width));

        rounded.height = (size_t)ceil(height * grow / f) * factor;
        rounded.width = (size_t)ceil(width * grow / f) * factor;
    }
    return rounded;
}

struct attn_picture_size attn_picture_reduce(struct attn_picture_size size, size_t edge,
                                             size_t factor)
{
    const double height = (double)size.height, width = (double)size.width;
    const double ratio = fmax(height, width) / (double)edge;

    if (ratio > 1) {
        size.height = (size_t)floor(height / ratio);
        size.width = (size_t)floor(width / ratio);
    }
    return (struct attn_picture_size){ceil_to(size.height, factor), ceil_to(size.width, factor)};
}
