/*
 * blues.h - the colour map `blues` by its formula, and not by the table that is tested: in OKLab
 * L = 1 - 0.74 t, hue 250 to 265 degrees, chroma 0.155 sin(pi t).
 */
#ifndef ATTN_TESTS_BLUES_H
#define ATTN_TESTS_BLUES_H

#include <stdint.h>

/* The level, 0..255, that has this color 0xRRGGBB; -1: none has. */
int attn_blues_level(uint32_t color);

/* Fails the current test unless COLOR shows WEIGHT, 0..1, on the square root scale. WHAT names the
 * cell. */
void attn_blues_assert(const char *what, uint32_t color, double weight);

#endif
