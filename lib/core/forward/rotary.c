/* rotary.c - see rotary.h. Frequencies follow transformers' modeling_rope_utils.py: each is a
 * function of theta^(2i/R), rounded in the same order. */
#include "forward/rotary.h"
#include "base/elementary.h"
#include "base/pool_internal.h"

#include <math.h>
#include <string.h>

enum { ROWS_PER_TASK = 16 };

static const double pi = 3.14159265358979323846;

/* Returns theta^t for 0 <= t < 1, computed with square roots, which all processors round alike: t
 * is a sum of powers of 1/2. The error is far below half an ulp of a float. */
static double power(double theta, double t)
{
    double root = theta, product = 1;

    while (t > 0) {
        root = sqrt(root);
        t *= 2;
        if (t >= 1) {
            product *= root;
            t -= 1;
        }
    }
    return product;
}

/* Llama 3's rule: divides low frequencies by the factor, keeps high ones, interpolates between. */
static float stretch_llama3(const struct attn_rope *rope, float frequency)
{
    const float factor = (float)rope->factor, original = (float)rope->n_original;
    const float wavelength = (1.0F / frequency) * (float)(2 * pi);
    const float longest = (float)(rope->n_original / rope->low_freq_factor);
    const float shortest = (float)(rope->n_original / rope->high_freq_factor);
    const float range = (float)(rope->high_freq_factor - rope->low_freq_factor);
    float smooth;

    if (wavelength < shortest)
        return frequency;
    if (wavelength > longest)
        return frequency / factor;
    smooth = ((1.0F / wavelength) * original - (float)rope->low_freq_factor) / range;
    return (1.0F - smooth) * frequency / factor + smooth * frequency;
}

/* Returns the component that makes N_TURN turns over the original context length. */
static double yarn_component(const struct attn_rope *rope, double n_turn)
{
    return (double)rope->d_rotary * attn_log(rope->n_original / (n_turn * 2 * pi)) /
           (2 * attn_log(rope->theta));
}

/* Returns how much component I is interpolated: 0 keeps its frequency, 1 divides by the factor. */
static float yarn_ramp(const struct attn_rope *rope, size_t i)
{
    double low = yarn_component(rope, rope->beta_fast);
    double high = yarn_component(rope, rope->beta_slow);
    float ramp;

    if (rope->is_truncated) {
        low = floor(low);
        high = ceil(high);
    }
    low = fmax(low, 0);
    high = fmin(high, (double)rope->d_rotary - 1);
    if (low == high)
        high += 0.001;
    ramp = ((float)i - (float)low) / (float)(high - low);
    return fminf(fmaxf(ramp, 0), 1);
}

/* Whether a text of N positions is so long that ROPE has other factors for it. */
static bool is_long(const struct attn_rope *rope, size_t n)
{
    return rope->long_divisors && (double)n > rope->n_original;
}

size_t attn_rope_reach(const struct attn_rope *rope, size_t n)
{
    if (rope->type == ATTN_ROPE_DYNAMIC && rope->d_rotary > 2)
        return (double)n > rope->n_original ? n : 0;
    return is_long(rope, n);
}

/* Returns theta for a text of N positions: dynamic NTK stretches that of a longer one. */
static float find_theta(const struct attn_rope *rope, size_t n)
{
    const float r = (float)rope->d_rotary, factor = (float)rope->factor;
    const float stretch = factor * (float)n / (float)rope->n_original - (float)(rope->factor - 1);

    if (rope->type != ATTN_ROPE_DYNAMIC || attn_rope_reach(rope, n) == 0)
        return (float)rope->theta;
    return (float)rope->theta * (float)attn_pow((double)stretch, (double)r / ((double)r - 2));
}

float attn_rope_factor(const struct attn_rope *rope, size_t n)
{
    if (rope->type != ATTN_ROPE_YARN && rope->type != ATTN_ROPE_LONGROPE)
        return 1;
    return (float)(rope->long_attention_factor > 0 && is_long(rope, n) ? rope->long_attention_factor
                                                                       : rope->attention_factor);
}

void attn_rope_find_frequencies(const struct attn_rope *rope, size_t n, float *frequencies)
{
    const float *divisors = is_long(rope, n) ? rope->long_divisors : rope->divisors;
    const double theta = (double)find_theta(rope, n);

    for (size_t i = 0; i < rope->d_rotary / 2; i++) {
        const size_t n_rotary = rope->d_rotary / (rope->is_axial ? 2 : 1),
                     n_row = rope->sections[1];
        const size_t at = !rope->is_alternating ? i : i < n_row ? 2 * i : 2 * (i - n_row) + 1;
        const float t = (float)(2 * at % n_rotary) / (float)n_rotary;
        const float p = (float)power(theta, (double)t);

        frequencies[i] = 1.0F / p;
        if (rope->type == ATTN_ROPE_LINEAR || rope->type == ATTN_ROPE_PROPORTIONAL)
            frequencies[i] /= (float)rope->factor;
        if (rope->type == ATTN_ROPE_PROPORTIONAL && i >= rope->n_pair)
            frequencies[i] = 0;
        if (rope->type == ATTN_ROPE_LLAMA3)
            frequencies[i] = stretch_llama3(rope, frequencies[i]);
        if (rope->type == ATTN_ROPE_YARN) {
            const float kept = 1.0F - yarn_ramp(rope, i);
            const float interpolated = 1.0F / ((float)rope->factor * p);

            frequencies[i] = interpolated * (1.0F - kept) + 1.0F / p * kept;
        }
        if (rope->frequencies)
            frequencies[i] = rope->frequencies[i];
        else if (rope->type == ATTN_ROPE_LONGROPE)
            frequencies[i] = 1.0F / (divisors[i] * p);
        else if (divisors)
            frequencies[i] /= divisors[i];
    }
}

float attn_rope_query_factor(const struct attn_rope *rope, size_t position)
{
    const double n_whole = rope->query_growth > 0 ? floor((double)position / rope->n_original) : 0;

    return n_whole > 0 ? 1 + (float)rope->query_growth * (float)attn_log(1 + n_whole) : 1;
}

size_t attn_position_number(const struct attn_position_numbers *positions, size_t axis,
                            size_t position)
{
    if (!positions->numbers)
        return position;
    return position < positions->n ? (size_t)positions->numbers[axis * positions->n + position]
                                   : (size_t)positions->next + position - positions->n;
}

size_t attn_rope_axis(const struct attn_rope *rope, size_t pair)
{
    size_t axis = rope->is_interleaved ? pair % 3 : 0, end = rope->sections[0];

    if (rope->is_interleaved)
        return axis > 0 && pair < 3 * rope->sections[axis] ? axis : 0;
    while (axis < 2 && pair >= end)
        end += rope->sections[++axis];
    return pair < end ? axis : 0;
}

bool attn_rope_is_same(const struct attn_rope *a, const struct attn_rope *b)
{
    return a->type == b->type && a->d_rotary == b->d_rotary && a->n_pair == b->n_pair &&
           a->theta == b->theta && a->factor == b->factor &&
           a->low_freq_factor == b->low_freq_factor && a->high_freq_factor == b->high_freq_factor &&
           a->n_original == b->n_original && a->beta_fast == b->beta_fast &&
           a->beta_slow == b->beta_slow && a->is_truncated == b->is_truncated &&
           a->attention_factor == b->attention_factor && a->divisors == b->divisors &&
           a->frequencies == b->frequencies && a->turns_neighbours == b->turns_neighbours &&
           a->query_growth == b->query_growth &&
           a->long_attention_factor == b->long_attention_factor &&
           memcmp(a->sections, b->sections, sizeof a->sections) == 0 &&
           a->is_interleaved == b->is_interleaved && a->is_axial == b->is_axial &&
           a->is_alternating == b->is_alternating && a->is_centred == b->is_centred;
}

void attn_rotary_turn(const struct attn_rotary *rotary, const struct attn_kernels *kernels,
                      size_t row, bool is_back, float *x)
{
    const size_t n = rotary->rope->d_rotary / 2;
    const float *cosines = rotary->cosines + row * n, *sines = rotary->sines + row * n;

    if (!rotary->rope->turns_neighbours) {
        (is_back ? kernels->rotate_back : kernels->rotate)(x, cosines, sines, n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const float a = x[2 * i], b = x[2 * i + 1], c = cosines[i],
                    s = is_back ? -sines[i] : sines[i];

        x[2 * i] = a * c - b * s;
        x[2 * i + 1] = b * c + a * s;
    }
}

void attn_rotary_scale_query(const struct attn_rotary *rotary, const struct attn_kernels *kernels,
                             size_t row, size_t n, float *x)
{
    if (rotary->query_factors)
        kernels->scale(x, rotary->query_factors[row], n, x);
}

struct filling {
    const struct attn_rotary *rotary;
    const struct attn_kernels *kernels;
    size_t row0, n_row, n;
};

/* Returns the number by which a patch of DINOv3 at POSITION turns along AXIS. Every operation is
 * rounded to float32. */
static float find_centre(const struct attn_position_numbers *positions, size_t axis,
                         size_t position)
{
    const int32_t *numbers = positions->numbers + axis * positions->n;
    const float centre = ((float)numbers[position] + 0.5F) / (float)(numbers[positions->n - 1] + 1);
    const float from_middle = 2.0F * centre - 1.0F;

    return numbers[position] < 0 ? 0 : 6.283185307179586F * from_middle;
}

static void fill_rows(void *context, size_t task, int worker)
{
    const struct filling *filling = context;
    const struct attn_rotary *rotary = filling->rotary;
    const struct attn_rope *rope = rotary->rope;
    const size_t n = rope->d_rotary / 2, first = task * ROWS_PER_TASK;
    const float factor = attn_rope_factor(rope, filling->n);
    const float *frequencies = rotary->frequencies + (is_long(rope, filling->n) ? n : 0);

    (void)worker;
    for (size_t row = first; row < first + ROWS_PER_TASK && row < filling->n_row; row++) {
        float *angles = rotary->cosines + row * n;
        const size_t first_number =
            attn_position_number(&rotary->positions, 0, filling->row0 + row);
        size_t at = 0;

        for (size_t i = 0; i < n && rope->is_interleaved; i++)
            angles[i] = frequencies[i] * (float)attn_position_number(&rotary->positions,
                                                                     attn_rope_axis(rope, i),
                                                                     filling->row0 + row);
        for (size_t axis = 0; axis < 3 && !rope->is_interleaved; axis++) {
            const size_t n_axis = rope->sections[axis], position = filling->row0 + row;

            filling->kernels->scale(
                frequencies + at,
                rope->is_centred ? find_centre(&rotary->positions, axis, position)
                                 : (float)attn_position_number(&rotary->positions, axis, position),
                n_axis, angles + at);
            at += n_axis;
        }
        if (at == 0 && !rope->is_interleaved)
            filling->kernels->scale(frequencies, (float)first_number, n, angles);
        filling->kernels->turn(angles, n, factor, rotary->cosines + row * n,
                               rotary->sines + row * n);
        if (rotary->query_factors)
            rotary->query_factors[row] = attn_rope_query_factor(rope, first_number);
    }
}

void attn_rotary_fill(const struct attn_rotary *rotary, const struct attn_kernels *kernels,
                      size_t row0, size_t n_row, size_t n, struct attn_pool *pool)
{
    struct filling filling = {rotary, kernels, row0, n_row, n};

    if (rotary->rope->type == ATTN_ROPE_DYNAMIC)
        attn_rope_find_frequencies(rotary->rope, n, rotary->frequencies);
    attn_pool_run(pool, (n_row + ROWS_PER_TASK - 1) / ROWS_PER_TASK, fill_rows, &filling);
}
