#include "pictures/colormap_internal.h"

#include "base/buffer.h"
#include "base/elementary.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The colors of a map for one theme, as in the embedded table (colormap_tables.S). */
struct ramp {
    uint32_t colors[ATTN_N_COLOR]; /* 0xRRGGBB of each level */
    /* of each level, the nearest color of a terminal with 256 colors, 16 to 255 */
    uint8_t terminal[ATTN_N_COLOR];
};
extern const struct ramp attn_colormap_ramps[];
enum { BLUES, VIRIDIS, CIVIDIS, MAGMA, GREYS, DIVERGING, DIVERGING_DARK };

struct attn_colormap {
    const char *name, *help;
    bool is_diverging;
    const struct ramp *light, *dark;
};

#define MAP(name, is_diverging, light, dark, help)                                                 \
    {                                                                                              \
        name, help, is_diverging, attn_colormap_ramps + (light), attn_colormap_ramps + (dark)      \
    }

static const struct attn_colormap maps[] = {
    MAP("blues", false, BLUES, BLUES,
        "paper to dark blue; the default of files and light terminals"),
    MAP("viridis", false, VIRIDIS, VIRIDIS,
        "dark violet to yellow; the default of dark terminals and pages"),
    MAP("cividis", false, CIVIDIS, CIVIDIS,
        "dark blue to yellow, the same for eyes with any color deficiency"),
    MAP("magma", false, MAGMA, MAGMA, "black over red to pale yellow"),
    MAP("greys", false, GREYS, GREYS, "paper to black"),
    MAP("diverging", true, DIVERGING, DIVERGING_DARK,
        "blue below 0, orange above; the default of numbers that may be negative"),
};

enum { N_MAP = sizeof maps / sizeof *maps };

const struct attn_colormap *attn_colormap_find(const char *name)
{
    for (size_t i = 0; name && i < N_MAP; i++)
        if (strcmp(maps[i].name, name) == 0)
            return &maps[i];
    return NULL;
}

size_t attn_n_colormap(void)
{
    return N_MAP;
}

const struct attn_colormap *attn_colormap_at(size_t i)
{
    return i < N_MAP ? &maps[i] : NULL;
}

const char *attn_colormap_name(const struct attn_colormap *map)
{
    return map ? map->name : NULL;
}

const char *attn_colormap_help(const struct attn_colormap *map)
{
    return map ? map->help : NULL;
}

bool attn_colormap_is_diverging(const struct attn_colormap *map)
{
    return map && map->is_diverging;
}

static const struct ramp *ramp_of(const struct attn_colormap *map, enum attn_theme theme)
{
    return theme == ATTN_THEME_DARK ? map->dark : map->light;
}

struct attn_rgb attn_colormap_color(const struct attn_colormap *map, enum attn_theme theme,
                                    int level)
{
    uint32_t color;

    if (!map)
        return (struct attn_rgb){0};
    color = ramp_of(map, theme)->colors[level < 0 ? 0 : level > 255 ? 255 : level];
    return (struct attn_rgb){(uint8_t)(color >> 16), (uint8_t)(color >> 8), (uint8_t)color};
}

int attn_colormap_terminal(const struct attn_colormap *map, enum attn_theme theme, int level)
{
    return ramp_of(map, theme)->terminal[level];
}

/* Colors 16 to 231 of a terminal are a cube of 6 x 6 x 6 colors, the rest are greys, as in
 * xterm. */
struct attn_rgb attn_terminal_color(int index)
{
    static const uint8_t steps[] = {0, 95, 135, 175, 215, 255};
    const int grey = 8 + 10 * (index - 232), place = index - 16;

    if (index >= 232)
        return (struct attn_rgb){(uint8_t)grey, (uint8_t)grey, (uint8_t)grey};
    return (struct attn_rgb){steps[place / 36], steps[place / 6 % 6], steps[place % 6]};
}

/* Returns the linear intensity, 0 to 1, of one sRGB channel. */
static double linear(uint8_t channel)
{
    const double c = channel / 255.0;

    return c <= 0.04045 ? c / 12.92 : attn_pow((c + 0.055) / 1.055, 2.4);
}

bool attn_rgb_takes_black(struct attn_rgb color)
{
    return 0.2126 * linear(color.r) + 0.7152 * linear(color.g) + 0.0722 * linear(color.b) > 0.179;
}

struct attn_rgb attn_rgb_mix(uint32_t hue, double share, enum attn_theme theme)
{
    const double ground = theme == ATTN_THEME_DARK ? 0 : 255;
    uint8_t channels[3];

    for (int i = 0; i < 3; i++) {
        const double channel = hue >> (16 - 8 * i) & 255;

        channels[i] = (uint8_t)lround(ground + share * (channel - ground));
    }
    return (struct attn_rgb){channels[0], channels[1], channels[2]};
}

struct attn_rgb attn_hue_color(uint32_t hue, double place, enum attn_theme theme)
{
    const double least = 0.15; /* so that the hue of the smallest number is visible */

    return attn_rgb_mix(hue, least + (1 - least) * place, theme);
}

struct attn_cell_look attn_cell_look(enum attn_cell_kind kind, enum attn_theme theme)
{
    static const struct attn_cell_look looks[][2] = {
        [ATTN_CELL_VALUE] = {{0xffffff, 0xffffff}, {0x000000, 0x000000}},
        [ATTN_CELL_MASKED] = {{0xc8c8c8, 0xa8a8a8}, {0x202020, 0x3c3c3c}},
        [ATTN_CELL_HIDDEN] = {{0xffffff, 0x8c8c8c}, {0x000000, 0x707070}},
        [ATTN_CELL_NOT_FINITE] = {{0xffffff, 0xd01c1c}, {0x000000, 0xff5a4a}},
    };

    return looks[kind][theme == ATTN_THEME_DARK];
}

/* The place of a number is where its value on the curve lies between the curve's values at the ends
 * of the range. */

/* ticks between THOUSAND and LARGE are written as integers */
enum { THOUSAND = 1000, LARGE = 1000000 };

struct attn_color_scale attn_color_scale_of(enum attn_value_range range, bool is_difference)
{
    const bool is_share = range == ATTN_RANGE_SHARE;

    return (struct attn_color_scale){.curve = is_share ? ATTN_CURVE_SQRT : ATTN_CURVE_LINEAR,
                                     .span = is_share ? ATTN_SPAN_UNIT : ATTN_SPAN_MATRIX,
                                     .is_signed = is_difference || range == ATTN_RANGE_SIGNED};
}

/* Returns true if numbers from LEAST to MOST are hardly below 0. */
static bool is_above_zero(double least, double most)
{
    return least > -0.05 * most;
}

struct attn_color_scale attn_color_scale_of_column(const struct attn_column *column, double least,
                                                   double most)
{
    const bool begins_at_zero =
        (column->traits & ATTN_TRAIT_RESTORED) != 0 && is_above_zero(least, most);
    struct attn_color_scale scale =
        attn_color_scale_of(begins_at_zero ? ATTN_RANGE_POSITIVE : column->range, false);

    if ((column->traits & ATTN_TRAIT_LINEAR) != 0)
        scale.curve = ATTN_CURVE_LINEAR;
    if ((column->traits & ATTN_TRAIT_SURPRISAL) != 0) {
        scale.span = ATTN_SPAN_FIXED;
        scale.low = 0;
        scale.high = 16 * (strcmp(column->unit, "bits") == 0 ? 1 : attn_log(2));
    }
    return scale;
}

struct attn_color_range attn_color_range(const struct attn_color_scale *scale, double least,
                                         double most)
{
    const double size = fmax(fabs(least), fabs(most));

    if (scale->span == ATTN_SPAN_FIXED)
        return (struct attn_color_range){scale->low, scale->high};
    if (scale->span == ATTN_SPAN_UNIT || !(least <= most))
        return (struct attn_color_range){scale->is_signed ? -1 : 0, 1};
    if (scale->is_signed && size > 0)
        return (struct attn_color_range){-size, size};
    if (is_above_zero(least, most))
        return (struct attn_color_range){0, most};
    if (fmin(least, 0) < most)
        return (struct attn_color_range){least, most};
    return (struct attn_color_range){scale->is_signed ? -1 : fmin(least, 0),
                                     fmin(least, 0) < 0 ? 0 : 1}; /* there is no number above 0 */
}

static double curve_of(const struct attn_color_scale *scale, double value)
{
    return scale->curve == ATTN_CURVE_SQRT ? copysign(sqrt(fabs(value)), value) : value;
}

double attn_color_place(const struct attn_color_scale *scale, struct attn_color_range range,
                        double value)
{
    const double low = curve_of(scale, range.low);
    const double high = curve_of(scale, range.high);
    const double place = (curve_of(scale, value) - low) / (high - low);

    return high > low ? fmin(fmax(place, 0), 1) : value > range.low;
}

int attn_color_level(const struct attn_color_scale *scale, struct attn_color_range range,
                     double value)
{
    return (int)lround(255 * attn_color_place(scale, range, value));
}

size_t attn_color_ticks(const struct attn_color_scale *scale, struct attn_color_range range,
                        double ticks[ATTN_MOST_TICKS])
{
    /* ticks of the upper half, as fractions of its length, without 0 */
    static const double of_sqrt[] = {.01, .04, .1, .25, .5, 1};
    static const double of_linear[] = {.25, .5, .75, 1};
    const bool is_sqrt = scale->curve == ATTN_CURVE_SQRT;
    const double *shares = is_sqrt ? of_sqrt : of_linear;
    const size_t n_share = is_sqrt ? 6 : 4;
    const bool is_signed = range.low == -range.high;
    const double low = is_signed ? 0 : range.low;
    size_t n = 0;

    for (size_t i = n_share; is_signed && i-- > 0;)
        if (shares[i] == 1 || i % 2 == 1)
            ticks[n++] = -shares[i] * range.high;
    ticks[n++] = low;
    for (size_t i = 0; i < n_share; i++)
        if (!is_signed || shares[i] == 1 || i % 2 == 1)
            ticks[n++] = low + shares[i] * (range.high - low);
    return n;
}

/* Drops the 0 before the decimal point, and the leading 0 of an exponent. */
size_t attn_color_tick_text(double tick, char text[ATTN_TICK_TEXT_SIZE])
{
    const bool is_small = tick != 0 && fabs(tick) < 1e-3;
    char number[ATTN_TICK_TEXT_SIZE], *exponent, *end;
    size_t n = 0;

    snprintf(number, sizeof number,
             is_small                                       ? "%.2e"
             : fabs(tick) >= THOUSAND && fabs(tick) < LARGE ? "%.0f"
                                                            : "%.3g",
             tick);
    exponent = end = is_small ? strchr(number, 'e') : number;
    while (end > number && (end[-1] == '0' || end[-1] == '.'))
        end--;
    memmove(end, exponent, strlen(exponent) + 1);
    for (const char *at = number; *at; at++) {
        const bool is_in_exponent = n > 1 && text[n - 1] == '-' && text[n - 2] == 'e';

        if (*at != '0' || !is_in_exponent)
            text[n++] = *at;
    }
    text[n] = '\0';
    return n;
}

void attn_color_scale_append(const struct attn_color_scale *scale, struct attn_buffer *out)
{
    attn_buffer_append_string(out, scale->curve == ATTN_CURVE_SQRT ? "square root" : "linear");
    if (scale->span == ATTN_SPAN_MATRIX)
        attn_buffer_append_string(out, ", each matrix to its largest");
    else if (scale->span == ATTN_SPAN_FIXED)
        attn_buffer_append_format(out, ", %g to %g", scale->low, scale->high);
}
