/* colormap.c - see colormap.h. */
#include "encode/colormap_internal.h"

#include "encode/colormap_tables.h"

#include <math.h>
#include <string.h>

/* The colours of a map on one ground. */
struct ramp {
    const uint32_t *colors;  /* [ATTN_N_COLOR] 0xRRGGBB */
    const uint8_t *terminal; /* [ATTN_N_COLOR] */
};

struct attn_colormap {
    const char *name, *help;
    bool is_diverging;
    struct ramp light, dark;
};

static const struct attn_colormap maps[] = {
    {"blues",
     "paper to dark blue; the default of files",
     false,
     {blues_colors, blues_terminal},
     {blues_colors, blues_terminal}},
    {"viridis",
     "dark violet to yellow; the default of terminals and dark pages",
     false,
     {viridis_colors, viridis_terminal},
     {viridis_colors, viridis_terminal}},
    {"cividis",
     "dark blue to yellow, the same for eyes with any colour deficiency",
     false,
     {cividis_colors, cividis_terminal},
     {cividis_colors, cividis_terminal}},
    {"magma",
     "black over red to pale yellow",
     false,
     {magma_colors, magma_terminal},
     {magma_colors, magma_terminal}},
    {"greys",
     "paper to black",
     false,
     {greys_colors, greys_terminal},
     {greys_colors, greys_terminal}},
    {"diverging",
     "blue below 0, orange above; the default of numbers that may be negative",
     true,
     {diverging_colors, diverging_terminal},
     {diverging_dark_colors, diverging_dark_terminal}},
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
    return theme == ATTN_THEME_DARK ? &map->dark : &map->light;
}

static struct attn_rgb rgb_of(uint32_t color)
{
    return (struct attn_rgb){(uint8_t)(color >> 16), (uint8_t)(color >> 8), (uint8_t)color};
}

struct attn_rgb attn_colormap_color(const struct attn_colormap *map, enum attn_theme theme,
                                    int level)
{
    if (!map)
        return (struct attn_rgb){0};
    level = level < 0 ? 0 : level > 255 ? 255 : level;
    return rgb_of(ramp_of(map, theme)->colors[level]);
}

int attn_colormap_terminal(const struct attn_colormap *map, enum attn_theme theme, int level)
{
    return ramp_of(map, theme)->terminal[level];
}

/* 16 to 231 are a cube of 6 x 6 x 6, the rest are greys; so xterm has them, and all others. */
struct attn_rgb attn_terminal_color(int index)
{
    static const uint8_t steps[] = {0, 95, 135, 175, 215, 255};
    const int grey = 8 + 10 * (index - 232), place = index - 16;

    if (index >= 232)
        return (struct attn_rgb){(uint8_t)grey, (uint8_t)grey, (uint8_t)grey};
    return (struct attn_rgb){steps[place / 36], steps[place / 6 % 6], steps[place % 6]};
}

/* --- Text ------------------------------------------------------------------------------------ */

/* The share of light of one channel: sRGB without its curve. */
static double linear(uint8_t channel)
{
    const double c = channel / 255.0;

    return c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
}

bool attn_rgb_takes_black(struct attn_rgb color)
{
    return 0.2126 * linear(color.r) + 0.7152 * linear(color.g) + 0.0722 * linear(color.b) > 0.179;
}

/* --- Cells without a value ------------------------------------------------------------------- */

/* Ground and hatch by theme and kind. A value has neither. */
static const struct {
    uint32_t ground, hatch;
} looks[][2] = {
    [ATTN_CELL_VALUE] = {{0xffffff, 0xffffff}, {0x000000, 0x000000}},
    [ATTN_CELL_MASKED] = {{0xc8c8c8, 0xa8a8a8}, {0x202020, 0x3c3c3c}},
    [ATTN_CELL_HIDDEN] = {{0xffffff, 0x8c8c8c}, {0x000000, 0x707070}},
    [ATTN_CELL_NOT_FINITE] = {{0xffffff, 0xd01c1c}, {0x000000, 0xff5a4a}},
};

struct attn_rgb attn_cell_color(enum attn_cell_kind kind, enum attn_theme theme)
{
    return rgb_of(looks[kind][theme].ground);
}

struct attn_rgb attn_cell_hatch_color(enum attn_cell_kind kind, enum attn_theme theme)
{
    return rgb_of(looks[kind][theme].hatch);
}
