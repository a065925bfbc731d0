/*
 * print.h - standard output, as a sink: a full device is noticed, a closed pipe ends quietly. Of a
 * terminal also its width, its colours, its background and its characters.
 *
 *     print(call->out, "%d\n", 42);
 */
#ifndef CMD_PRINT_H
#define CMD_PRINT_H

#include "extra.h"

#include <stdbool.h>
#include <stddef.h>

struct attn_buffer;

enum attn_status print_open(struct attn_sink **out, struct attn_error *err);

/* For pieces of known, small length; text from outside goes through print_text. */
void print(struct attn_sink *out, const char *format, ...) ATTN_PRINTF(2, 3);

/* A string of any length, as it is. */
void print_text(struct attn_sink *out, const char *text);

/* The printable form of a token (INTERFACE.md "Token text"). */
enum attn_status print_escaped(struct attn_sink *out, const char *text, size_t size,
                               struct attn_error *err);

/* Text of several lines as a terminal should get it: lines, tabs and backslashes as they are, the
 * rest printable. */
enum attn_status print_lines(struct attn_sink *out, const char *text, size_t size,
                             struct attn_error *err);

/* Writes TEXT and empties it. Fails if an earlier append had no memory. */
enum attn_status print_buffer(struct attn_sink *out, struct attn_buffer *text,
                              struct attn_error *err);

/* Writes pending output. Fails if it cannot be written; a closed pipe is no failure. */
enum attn_status print_flush(struct attn_sink *out, struct attn_error *err);

/* Words of --color, in their order. */
enum color_wish { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

/* Columns of the terminal, or else of COLUMNS, or else 80. */
size_t terminal_width(void);

/* The width for text: WISH columns, or for 0 those of a terminal, or 0 if standard output is no
 * terminal. */
size_t terminal_room(size_t wish);

/* Colours to use for WISH. By itself: those of a terminal, unless NO_COLOR is set and not empty or
 * TERM is unset, dumb or linux. 24 bits when COLORTERM is truecolor or 24bit, or TERM ends in
 * -direct, else 256. */
enum attn_color_depth terminal_depth(enum color_wish wish);

/* The theme for text in the colours of DEPTH: that of the last field of COLORFGBG, or of the
 * terminal's answer, or ATTN_THEME_AUTO. It is asked once, and only if standard input and output
 * are a terminal that has colours by TERM. */
enum attn_theme terminal_theme(enum attn_color_depth depth);

/* Whether the locale of characters is UTF-8: LC_ALL, LC_CTYPE, LANG, the first that is set. */
bool terminal_is_utf8(void);

#endif
