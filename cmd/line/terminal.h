/*
 * terminal.h - what standard output can show: how wide it is, in which colours, and whether it
 * takes characters beyond ASCII. Nothing is asked of the terminal itself.
 */
#ifndef CMD_TERMINAL_H
#define CMD_TERMINAL_H

#include "extra.h"

#include <stddef.h>

/* Words of --color, in their order. */
enum color_wish { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

/* Columns of the terminal, or else of COLUMNS, or else 80. */
size_t terminal_width(void);

/*
 * Colours to use for WISH. By itself: those of a terminal, unless NO_COLOR is set and not empty or
 * TERM is unset, dumb or linux. 24 bits when COLORTERM is truecolor or 24bit, or TERM ends in
 * -direct, else 256.
 */
enum attn_color_depth terminal_depth(enum color_wish wish);

/* Whether the locale of characters is UTF-8: LC_ALL, LC_CTYPE, LANG, the first that is set. */
bool terminal_is_utf8(void);

#endif
