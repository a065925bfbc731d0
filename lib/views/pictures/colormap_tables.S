/*
 * colormap_tables.S - the ramps of colormap.c. tests/tools/make_colormaps.py writes the file.
 */
#include "base/embed.inc"

    embed attn_colormap_ramps, "lib/views/pictures/colormaps.bin"
