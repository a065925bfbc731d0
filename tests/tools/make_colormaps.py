#!/usr/bin/env python3
"""Writes lib/views/pictures/colormaps.bin: 256 colors of each color map, and for each of them the nearest
of the 256 colors of a terminal (struct ramp in lib/views/pictures/colormap.c).

    pip download --no-deps matplotlib && unzip matplotlib-*.whl matplotlib/_cm_listed.py
    tests/tools/make_colormaps.py matplotlib/_cm_listed.py

viridis, cividis and magma are matplotlib's numbers (CC0). The others are formulas in OKLab, whose
lightness L falls or rises evenly with the place t in the map, 0 to 1:

    blues           L = 1 - 0.74 t, hue 250 to 265 degrees, chroma 0.155 sin(pi t)
    greys           L = 1 - 0.9 t
    diverging       with s = |2t - 1|: L = 0.97 - 0.45 s, chroma 0.14 s, hue 255 below, 55 above 0.5
    diverging_dark  L = 0.349 + 0.45 s (0.349 is #3a3a3a), the same hues

Among the terminal's colors the first 16 are left out, which users change. Those that a map comes
nearest to are its steps; a step that does not go on in lightness as the map does is dropped, and
so are two of blues that are hardly told from their neighbours. Each color then takes the nearest
of the steps.
"""
import math
import struct
import sys
import types

MAPS = ["blues", "viridis", "cividis", "magma", "greys", "diverging", "diverging_dark"]
DROPPED = {"blues": {69, 238}}


def linear(c):
    return c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4


def encoded(c):
    return 12.92 * c if c <= 0.0031308 else 1.055 * c ** (1 / 2.4) - 0.055


def oklab_of(rgb):
    """Ottosson 2020, https://bottosson.github.io/posts/oklab"""
    r, g, b = [linear(x / 255) for x in rgb]
    l = (0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b) ** (1 / 3)
    m = (0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b) ** (1 / 3)
    s = (0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b) ** (1 / 3)
    return (
        0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
        1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
        0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s,
    )


def rgb_of(lightness, chroma, hue):
    a = chroma * math.cos(math.radians(hue))
    b = chroma * math.sin(math.radians(hue))
    l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    s = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    color = (
        4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
        -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
        -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s,
    )
    return tuple(round(255 * encoded(min(1, max(0, x)))) for x in color)


def diverging(t, middle, slope):
    s = abs(2 * t - 1)
    return rgb_of(middle + slope * s, 0.14 * s, 255 if t < 0.5 else 55)


FORMULAS = {
    "blues": lambda t: rgb_of(1 - 0.74 * t, 0.155 * math.sin(math.pi * t), 250 + 15 * t),
    "greys": lambda t: rgb_of(1 - 0.9 * t, 0, 0),
    "diverging": lambda t: diverging(t, 0.97, -0.45),
    "diverging_dark": lambda t: diverging(t, 0.349, 0.45),
}


def terminal_color(i):
    if i >= 232:
        return (8 + 10 * (i - 232),) * 3
    cube = (0, 95, 135, 175, 215, 255)
    i -= 16
    return cube[i // 36], cube[i // 6 % 6], cube[i % 6]


TERMINAL = {i: oklab_of(terminal_color(i)) for i in range(16, 256)}


def nearest(color, among):
    return min(among, key=lambda i: (math.dist(color, TERMINAL[i]), i))


def steps_of(colors, dropped):
    """Along colors whose lightness rises, or falls, all the way."""
    sign = 1 if colors[-1][0] > colors[0][0] else -1
    steps = []
    for color in colors:
        i = nearest(color, TERMINAL)
        if i in dropped or i in steps:
            continue
        if not steps or sign * (TERMINAL[i][0] - TERMINAL[steps[-1]][0]) > 0:
            steps.append(i)
    return steps


def to_terminal(name, table):
    colors = [oklab_of(c) for c in table]
    halves = [colors[:128], colors[128:]] if name.startswith("diverging") else [colors]
    found = []
    for half in halves:
        steps = steps_of(half, DROPPED.get(name, ()))
        print(f"{name}: {len(steps)} steps {steps}", file=sys.stderr)
        found += [nearest(c, steps) for c in half]
    return found


def read_matplotlib(path):
    """The file imports a class of its package, which the tables do not need."""
    package = types.ModuleType("matplotlib")
    colors = types.ModuleType("matplotlib.colors")
    colors.ListedColormap = lambda *args, **kwargs: None
    sys.modules.update({"matplotlib": package, "matplotlib.colors": colors})
    source = open(path).read().replace("from .colors", "from matplotlib.colors")
    names = {}
    exec(compile(source.split("\ncmaps")[0], path, "exec"), names)
    return {m: names[f"_{m}_data"] for m in ("viridis", "cividis", "magma")}


def table_of(name, listed):
    if name in FORMULAS:
        return [FORMULAS[name](i / 255) for i in range(256)]
    return [tuple(round(255 * x) for x in c) for c in listed[name]]


def main():
    listed = read_matplotlib(sys.argv[1])
    with open("lib/views/pictures/colormaps.bin", "wb") as file:
        for name in MAPS:
            table = table_of(name, listed)
            file.write(struct.pack("<256I256B", *[r << 16 | g << 8 | b for r, g, b in table],
                                   *to_terminal(name, table)))


main()
