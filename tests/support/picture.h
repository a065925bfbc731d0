/*
 * picture.h - PNG files read back: what is written is judged by another reader than its writer.
 *
 *     struct attn_picture picture;
 *     attn_picture_read(bytes, size, &picture);      // fails the test when it is no good file
 *     uint32_t color = picture.pixels[y * picture.width + x];      // 0xRRGGBB
 *     attn_picture_release(&picture);
 *
 * And whether PNG and PDF can be tested here: cairo and pango, which draw them, are optional.
 */
#pragma once

#include "tensors/format_internal.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct attn_picture {
    size_t width, height;
    uint32_t *pixels; /* [height * width] 0xRRGGBB */
    char *texts;      /* NAME=VALUE of each text, one a line */
    char *chunks;     /* the names of all chunks in order, separated by blanks */
};

/* 8-bit RGB or palette, without filters. Checks the order of chunks and each CRC. */
void attn_picture_read(const void *bytes, size_t size, struct attn_picture *picture);

void attn_picture_release(struct attn_picture *picture);

/*
 * The color map `blues` by its formula, and not by the table that is tested: in OKLab
 * L = 1 - 0.74 t, hue 250 to 265 degrees, chroma 0.155 sin(pi t).
 */

/* The level, 0..255, that has this color 0xRRGGBB; -1: none has. */
int attn_blues_level(uint32_t color);

/* Fails the current test unless COLOR shows WEIGHT, 0..1, on the square root scale. WHAT names the
 * cell. */
void attn_blues_assert(const char *what, uint32_t color, double weight);

/* Whether cairo and pango are there. Prints that the test that runs skips PNG and PDF if not. */
bool attn_can_draw(void);

/* Whether cairo and pango draw FORMAT: those are PNG and PDF. */
bool attn_is_drawn(const struct attn_format *format);
