/* blues.c - see blues.h. */
#include "tests/support/blues.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

static const double pi = 3.14159265358979323846;

/* A linear component of sRGB as 0..255. */
static uint32_t encoded(double c)
{
    c = fmin(1, fmax(0, c));
    return (uint32_t)lround(255 * (c <= 0.0031308 ? 12.92 * c : 1.055 * pow(c, 1 / 2.4) - 0.055));
}

/* Ottosson 2020, https://bottosson.github.io/posts/oklab */
static uint32_t color_at(double t)
{
    const double lightness = 1 - 0.74 * t, chroma = 0.155 * sin(pi * t);
    const double hue = (250 + 15 * t) * pi / 180, a = chroma * cos(hue), b = chroma * sin(hue);
    const double l = pow(lightness + 0.3963377774 * a + 0.2158037573 * b, 3);
    const double m = pow(lightness - 0.1055613458 * a - 0.0638541728 * b, 3);
    const double s = pow(lightness - 0.0894841775 * a - 1.2914855480 * b, 3);

    return encoded(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s) << 16 |
           encoded(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s) << 8 |
           encoded(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s);
}

static int distance(uint32_t a, uint32_t b)
{
    return abs((int)(a >> 16) - (int)(b >> 16)) + abs((int)(a >> 8 & 255) - (int)(b >> 8 & 255)) +
           abs((int)(a & 255) - (int)(b & 255));
}

/* Roundings of other mathematics may differ by one. */
int attn_blues_level(uint32_t color)
{
    for (int level = 0; level < 256; level++)
        if (distance(color_at(level / 255.0), color) == 0)
            return level;
    for (int level = 0; level < 256; level++)
        if (distance(color_at(level / 255.0), color) <= 1)
            return level;
    return -1;
}

void attn_blues_assert(const char *what, uint32_t color, double weight)
{
    const int level = attn_blues_level(color);

    ck_assert_msg(level >= 0, "%s: #%06x is no color of the map", what, color);
    ck_assert_msg(fabs(level - 255 * sqrt(weight)) <= 1, "%s: #%06x is level %d, %g is %g", what,
                  color, level, weight, 255 * sqrt(weight));
}
