/*
 * progress.h - how far long work has come: one line on standard error, where that is a terminal,
 * redrawn five times a second and taken away when the work is over.
 *
 *     progress_begin(args->is_quiet);
 *     ... progress_show("runs", 53, 144) whenever something is done, on one thread ...
 *     progress_clear();
 *
 * Nothing is drawn in the first second. What prints on standard error clears the line before.
 */
#ifndef CMD_PROGRESS_H
#define CMD_PROGRESS_H

#include "attn.h"

#include <stdbool.h>
#include <stdint.h>

/* Begins the work. Nothing is drawn if IS_QUIET, without a terminal, or on one that cannot return
 * to the start of a line. */
void progress_begin(bool is_quiet);

/* Draws "37 % (53 of 144 runs), 4 s left" when it is time to. */
void progress_show(const char *unit, uint64_t done, uint64_t total);

/* Whether it is time to note how long all takes, where nothing is drawn: once, if SHARE of the
 * work, 0..1, took three seconds, and all is to take more than a minute. */
bool progress_is_long(double share);

/* For other lines: whether it is time to draw one; draws it, cut to the width of the terminal. */
bool progress_is_due(void);
void progress_draw(const char *format, ...) ATTN_PRINTF(1, 2);

/* Seconds since the work began. */
double progress_seconds(void);

/* Writes "4 s", "2 min 5 s", "3 h 10 min", and returns TEXT. */
enum { PROGRESS_TIME_SIZE = 32 };
char *progress_time(double seconds, char text[PROGRESS_TIME_SIZE]);

/* Erases the line; the next one is drawn when it is time to. */
void progress_clear(void);

#endif
