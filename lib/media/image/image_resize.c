/*
 * image_resize.c - see image_file_internal.h.
 *
 * Each pixel of the result is a weighted sum of pixels of the picture: first along rows, then along
 * columns. Both results are rounded to bytes. A filter is widened by as much as the picture
 * shrinks, so that each pixel counts. Weights are integers with 22 bits after the point, made from
 * doubles whose sum is 1. After src/libImaging/Resample.c.
 *
 * The rule is that of Pillow 12.1. Pillow 12.2 resizes the columns of tall pictures first, Pillow
 * 13.0 those of about a third of all sizes (PR #9549), and the results differ by up to 13 of 255.
 */
#include "image/image_file_internal.h"

#include "base/elementary.h"
#include "base/memory.h"
#include "base/status_internal.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

enum { WEIGHT_BITS = 22 };

/* The pixels of a line that one pixel of the result is the sum of, and their weights. */
struct taps {
    size_t first, n;
    const int32_t *weights; /* [n] */
};

/* The weights for all pixels of a line of the result. */
struct line_taps {
    struct taps *taps; /* [n_out] owns */
    int32_t *weights;  /* owns */
};

/* Returns how far a filter reaches from its middle, in pixels of the result. */
static double filter_support(enum attn_image_filter filter)
{
    return filter == ATTN_IMAGE_BILINEAR ? 1 : filter == ATTN_IMAGE_BICUBIC ? 2 : 3;
}

static double sinc(double x)
{
    return x == 0 ? 1 : attn_sin(x * pi) / (x * pi);
}

static double filter_value(enum attn_image_filter filter, double x)
{
    const double a = -0.5, distance = fabs(x);

    if (filter == ATTN_IMAGE_LANCZOS)
        return -3 <= x && x < 3 ? sinc(x) * sinc(x / 3) : 0;
    if (filter == ATTN_IMAGE_BILINEAR)
        return distance < 1 ? 1 - distance : 0;
    if (distance < 1)
        return ((a + 2) * distance - (a + 3)) * distance * distance + 1;
    return distance < 2 ? (((distance - 5) * distance + 8) * distance - 4) * a : 0;
}

/* What is needed to compute the weights of a line. */
struct tap_finding {
    enum attn_image_filter filter;
    size_t n_in;
    double ratio, scale; /* pixels of the line for one of the result; scale is at least 1 */
    double *values;      /* owns; the weights of one pixel before they are rounded */
};

/* Computes TAPS for pixel NUMBER of the result. Its weights are stored at WEIGHTS. */
static void find_taps(const struct tap_finding *finding, size_t number, int32_t *weights,
                      struct taps *taps)
{
    const double center = ((double)number + 0.5) * finding->ratio;
    const double support = filter_support(finding->filter) * finding->scale;
    const double begin = center - support + 0.5, end = center + support + 0.5;
    const size_t stop = end < (double)finding->n_in ? (size_t)end : finding->n_in;
    double *values = finding->values, sum = 0;

    taps->first = begin > 0 ? (size_t)begin : 0;
    taps->n = stop - taps->first;
    taps->weights = weights;
    for (size_t i = 0; i < taps->n; i++) {
        values[i] = filter_value(finding->filter, ((double)(i + taps->first) - center + 0.5) *
                                                      (1.0 / finding->scale));
        sum += values[i];
    }
    for (size_t i = 0; i < taps->n; i++) {
        const double value = (sum != 0 ? values[i] / sum : values[i]) * (1 << WEIGHT_BITS);

        weights[i] = (int32_t)(value < 0 ? value - 0.5 : value + 0.5);
    }
}

/* Computes the weights that make N_OUT pixels from a line of N_IN. */
static enum attn_status make_taps(enum attn_image_filter filter, size_t n_in, size_t n_out,
                                  struct line_taps *line, struct attn_error *err)
{
    const double ratio = (double)n_in / (double)n_out;
    struct tap_finding finding = {filter, n_in, ratio, ratio < 1 ? 1 : ratio, NULL};
    const size_t most = 2 * (size_t)ceil(filter_support(filter) * finding.scale) + 1;
    enum attn_status status = ATTN_NO_MEMORY;

    finding.values = attn_alloc_uninitialized(most, sizeof *finding.values, err);
    line->taps = attn_alloc(n_out, sizeof *line->taps, err);
    line->weights =
        attn_alloc_uninitialized(attn_size_mul(n_out, most), sizeof *line->weights, err);
    if (finding.values && line->taps && line->weights) {
        for (size_t i = 0; i < n_out; i++)
            find_taps(&finding, i, line->weights + i * most, &line->taps[i]);
        status = ATTN_OK;
    }
    attn_free(finding.values);
    return status;
}

/* Returns the weighted sum of the bytes of one channel, which lie STRIDE bytes apart. */
static unsigned char sum_taps(const struct taps *taps, const unsigned char *from, size_t stride)
{
    int32_t sum = 1 << (WEIGHT_BITS - 1);

    for (size_t i = 0; i < taps->n; i++)
        sum += from[i * stride] * taps->weights[i];
    sum >>= WEIGHT_BITS;
    return (unsigned char)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
}

/* Resizes the rows of IMAGE to the width of OUT. */
static void resize_rows(const struct attn_image *image, const struct line_taps *line,
                        const struct attn_image *out)
{
    for (size_t y = 0; y < out->height; y++) {
        const unsigned char *from = image->rgb + y * image->width * 3;
        unsigned char *to = out->rgb + y * out->width * 3;

        for (size_t x = 0; x < out->width; x++, to += 3)
            for (size_t k = 0; k < 3; k++)
                to[k] = sum_taps(&line->taps[x], from + line->taps[x].first * 3 + k, 3);
    }
}

/* Resizes the columns of IMAGE to the height of OUT, one row of the result at a time. */
static void resize_columns(const struct attn_image *image, const struct line_taps *line,
                           const struct attn_image *out)
{
    const size_t stride = image->width * 3;

    for (size_t y = 0; y < out->height; y++) {
        const unsigned char *from = image->rgb + line->taps[y].first * stride;

        for (size_t i = 0; i < stride; i++)
            out->rgb[y * stride + i] = sum_taps(&line->taps[y], from + i, stride);
    }
}

static enum attn_status make_image(size_t height, size_t width, struct attn_image *image,
                                   struct attn_error *err)
{
    const size_t n = attn_size_mul(height, width);

    if (n > ATTN_IMAGE_MAX_PIXELS) {
        attn_error_set(err, ATTN_UNSUPPORTED,
                       "a picture is resized to %zu x %zu pixels, expected at most %zu", width,
                       height, ATTN_IMAGE_MAX_PIXELS);
        return ATTN_UNSUPPORTED;
    }
    ATTN_TRY(attn_image_permit_take(image->permit, n, err));
    image->height = height, image->width = width;
    return ATTN_NEW(image->rgb, attn_alloc_uninitialized(n, 3, err));
}

/* Resizes IMAGE in one direction, the one in which its size differs: rows or columns. */
static enum attn_status resize_lines(const struct attn_image *image, size_t height, size_t width,
                                     enum attn_image_filter filter, struct attn_image *out,
                                     struct attn_error *err)
{
    const bool is_rows = width != image->width;
    struct line_taps line = {0};
    enum attn_status status = make_image(height, width, out, err);

    ATTN_THEN(status, is_rows ? make_taps(filter, image->width, width, &line, err)
                              : make_taps(filter, image->height, height, &line, err));
    if (status == ATTN_OK)
        (is_rows ? resize_rows : resize_columns)(image, &line, out);
    attn_free(line.taps);
    attn_free(line.weights);
    return status;
}

/* Resizes IMAGE. MADE[0] becomes the intermediate image, MADE[1] the result. */
static enum attn_status resize(const struct attn_image *image, size_t height, size_t width,
                               enum attn_image_filter filter, struct attn_image made[2],
                               struct attn_error *err)
{
    if (width != image->width) {
        ATTN_TRY(resize_lines(image, image->height, width, filter, &made[0], err));
        image = &made[0];
    }
    if (height != image->height)
        return resize_lines(image, height, width, filter, &made[1], err);
    ATTN_TRY(make_image(height, width, &made[1], err));
    memcpy(made[1].rgb, image->rgb, height * width * 3);
    return ATTN_OK;
}

enum attn_status attn_image_resize(const struct attn_image *image, size_t height, size_t width,
                                   enum attn_image_filter filter, struct attn_image *resized,
                                   struct attn_error *err)
{
    struct attn_image made[2] = {{.permit = image->permit}, {.permit = image->permit}};
    const enum attn_status status = resize(image, height, width, filter, made, err);

    attn_image_release(&made[0]);
    ATTN_RETURN_FILLED(status, resized, made[1], attn_image_release);
}
