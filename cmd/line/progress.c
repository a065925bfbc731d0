/* progress.c - see progress.h. There is one terminal, so the state is global. */
#include "cmd/line/progress.h"

#include "tool.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_SIZE = 512, USUAL_WIDTH = 80, MINUTE = 60, HOUR = 3600 };

static const double first_after = 1, again_after = 0.2, noted_after = 3; /* in seconds */

static struct {
    bool is_wanted;        /* there is a terminal to draw on */
    bool is_quiet;         /* notes are not wanted */
    double noted;          /* clock at the last note; 0 if there was none */
    bool is_drawn;         /* a line is on the screen */
    double begun, redrawn; /* clock in seconds; redrawn is 0 if nothing was drawn */
    /* What is counted, and when and at which number the count began: the time before it, when a
     * model was opened, is not that of the others. */
    const char *unit;
    uint64_t first, done;
    double counted;
} state;

void progress_begin(bool is_quiet)
{
    const char *terminal = getenv("TERM");
    const bool can_go_back = terminal && *terminal && strcmp(terminal, "dumb") != 0;

    progress_clear();
    state.is_wanted = !is_quiet && can_go_back && attn_os_is_terminal(ATTN_OS_ERRORS);
    state.is_quiet = is_quiet;
    state.noted = 0;
    state.begun = attn_clock_seconds();
    state.redrawn = 0;
    state.unit = NULL;
}

double progress_seconds(void)
{
    return attn_clock_seconds() - state.begun;
}

double progress_left(const char *unit, uint64_t done, uint64_t total)
{
    const double time = attn_clock_seconds();

    if (!state.unit || strcmp(state.unit, unit) != 0 || done < state.done) {
        state.unit = unit;
        state.first = done;
        state.counted = time;
    }
    state.done = done;
    return done > state.first && total >= done
               ? (time - state.counted) * (double)(total - done) / (double)(done - state.first)
               : (double)NAN;
}

bool progress_is_long(double left, bool *is_first)
{
    const double time = attn_clock_seconds(), seconds = time - state.begun;

    *is_first = state.noted == 0;
    if (state.is_wanted || state.is_quiet || seconds < noted_after || !(seconds + left >= MINUTE) ||
        (!*is_first && time - state.noted < MINUTE))
        return false;
    state.noted = time;
    return true;
}

char *progress_time(double seconds, char text[PROGRESS_TIME_SIZE])
{
    const uint64_t whole = seconds > 0 ? (uint64_t)(seconds + 0.5) : 0;

    if (whole < MINUTE)
        snprintf(text, PROGRESS_TIME_SIZE, "%" PRIu64 " s", whole);
    else if (whole < HOUR)
        snprintf(text, PROGRESS_TIME_SIZE, "%" PRIu64 " min %" PRIu64 " s", whole / MINUTE,
                 whole % MINUTE);
    else
        snprintf(text, PROGRESS_TIME_SIZE, "%" PRIu64 " h %" PRIu64 " min", whole / HOUR,
                 whole % HOUR / MINUTE);
    return text;
}

void progress_show(const char *unit, uint64_t done, uint64_t total, double left)
{
    const double time = attn_clock_seconds();
    char count[LINE_SIZE] = "", rest[PROGRESS_TIME_SIZE], line[LINE_SIZE];
    size_t columns;

    if (done == 0 || done > total || !state.is_wanted || time - state.begun < first_after ||
        time - state.redrawn < again_after)
        return;
    if (*unit)
        snprintf(count, sizeof count, " (%" PRIu64 " of %" PRIu64 " %s)", done, total, unit);
    snprintf(line, sizeof line, "%.0f %%%s%s%s%s", 100 * (double)done / (double)total, count,
             isnan(left) ? "" : ", ", isnan(left) ? "" : progress_time(left, rest),
             isnan(left) ? "" : " left");
    columns = attn_os_columns(ATTN_OS_ERRORS);
    /* one column is left free: a full line would wrap and could not be erased */
    fprintf(stderr, "\r\033[K%.*s",
            (int)attn_text_fit(line, strlen(line), (columns > 0 ? columns : USUAL_WIDTH) - 1),
            line);
    fflush(stderr);
    state.is_drawn = true;
    state.redrawn = attn_clock_seconds();
}

void progress_clear(void)
{
    if (!state.is_drawn)
        return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    state.is_drawn = false;
}
