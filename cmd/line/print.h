/*
 * print.h - writes to standard output, which is a sink: a full device is an error, a closed pipe is
 * not. Also finds the width, the colors, the background and the character set of a terminal.
 *
 *     print(call->out, "%d\n", 42);
 */
#pragma once

#include "extra.h"

#include <stdbool.h>
#include <stddef.h>

struct attn_buffer;

enum attn_status print_open(struct attn_sink **out, struct attn_error *err);

/* Prints a short formatted text. Texts from outside must be printed with print_text. */
void print(struct attn_sink *out, const char *format, ...) ATTN_PRINTF(2, 3);

/* Prints a string of any length as it is. */
void print_text(struct attn_sink *out, const char *text);

/* Prints a text of several lines for a terminal. Line ends, tabs and backslashes are not changed;
 * other characters are made printable. */
enum attn_status print_lines(struct attn_sink *out, const char *text, size_t size,
                             struct attn_error *err);

/* Writes TEXT and empties it. Fails if an earlier append ran out of memory. */
enum attn_status print_buffer(struct attn_sink *out, struct attn_buffer *text,
                              struct attn_error *err);

/* Writes buffered output. Fails if it cannot be written; a closed pipe is not a failure. */
enum attn_status print_flush(struct attn_sink *out, struct attn_error *err);

/* The values of --color, in their order. */
enum color_wish { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

/* Returns the width of the terminal in columns; without a terminal COLUMNS, or else 80. */
size_t terminal_width(void);

/* Returns the width for text: WISH columns or, if WISH is 0, those of the terminal; 0 if standard
 * output is not a terminal. */
size_t terminal_room(size_t wish);

/* Returns the depth of colors to use for WISH. With COLOR_AUTO, there are colors if standard
 * output is a terminal, unless NO_COLOR is set and not empty, or TERM is unset, dumb or linux. The
 * depth is 24 bits if COLORTERM is truecolor or 24bit, or if TERM ends in -direct; else 256
 * colors. */
enum attn_color_depth terminal_depth(enum color_wish wish);

/* Returns the theme for text in colors of DEPTH: from the last field of COLORFGBG, or from what
 * the terminal answers, or else ATTN_THEME_AUTO. The terminal is asked only once, and only if
 * standard input and output are a terminal whose TERM has colors. */
enum attn_theme terminal_theme(enum attn_color_depth depth);

/* Returns true if the character set of the locale is UTF-8. It is that of LC_ALL, LC_CTYPE or LANG,
 * the first of these that is set. */
bool terminal_is_utf8(void);
