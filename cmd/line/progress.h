/*
 * progress.h - shows the progress of long work in one line on standard error, if that is a
 * terminal. The line is redrawn five times a second and erased when the work is finished.
 *
 *     progress_begin(args->is_quiet);
 *     left = progress_left("runs", 53, 144); // whenever something is done, on one thread
 *     progress_show("runs", 53, 144, left);
 *     progress_clear();
 *
 * Nothing is drawn in the first second. Functions that print on standard error erase the line
 * first.
 */
#pragma once

#include "attn.h"

#include <stdbool.h>
#include <stdint.h>

/* Begins the work. Nothing is drawn if IS_QUIET, if standard error is not a terminal, or if the
 * terminal cannot return to the start of a line. */
void progress_begin(bool is_quiet);

/* Returns how many seconds the rest will take, as those since the first call with this UNIT; NaN
 * in that call. A count that falls begins again. UNIT is a constant. */
double progress_left(const char *unit, uint64_t done, uint64_t total);

/* Draws a line such as "37 % (53 of 144 runs), 4 s left" if a fifth of a second has passed. UNIT
 * "": only the share is shown. */
void progress_show(const char *unit, uint64_t done, uint64_t total, double left);

/* For work whose progress is not drawn: returns true if a note on the total time is due. That is
 * when the work took three seconds and will take, with the seconds LEFT, more than a minute, and
 * then once a minute. *is_first: it is the first note. */
bool progress_is_long(double left, bool *is_first);

/* Returns the seconds since the work began. */
double progress_seconds(void);

/* Writes a time to TEXT, such as "4 s", "2 min 5 s" or "3 h 10 min", and returns TEXT. */
enum { PROGRESS_TIME_SIZE = 32 };
char *progress_time(double seconds, char text[PROGRESS_TIME_SIZE]);

/* Erases the line. It is drawn again when the time comes. */
void progress_clear(void);
