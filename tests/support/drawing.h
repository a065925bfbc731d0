/*
 * drawing.h - whether PNG and PDF can be tested here: cairo and pango, which draw them, are optional.
 */
#ifndef ATTN_TESTS_DRAWING_H
#define ATTN_TESTS_DRAWING_H

#include <stdbool.h>

#include "output/format.h"

/* Whether cairo and pango are there. Prints that the test that runs skips PNG and PDF if not. */
bool attn_can_draw(void);

/* Whether cairo and pango draw FORMAT: those are PNG and PDF. */
bool attn_is_drawn(const struct attn_format *format);

#endif
