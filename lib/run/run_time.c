/* run_time.c - estimates how long a run takes before it starts (run_internal.h): the number of
 * operations at the rate of a slow core, so that the estimate tends to be too high. */
#include "base/number.h"
#include "base/status_internal.h"
#include "inspect/cost.h"
#include "run/run_internal.h"

#include <stdio.h>

enum { MINUTE = 60, HOUR = 3600, DAY = 24 * HOUR, TIME_SIZE = 32 };

/* rate: multiply-adds per second of one thread. softmax: multiply-adds that take as long as the
 * softmax of one pair. */
static const double rate = 16e9, softmax = 32;

static double find_seconds(const struct attn_run *run, const struct attn_attention *layers,
                           struct attn_work *work)
{
    *work = attn_cost_work(run->model, run->text.n, run->source.n, layers);
    return ((double)work->multiply_adds + softmax * (double)work->n_pair) /
           (rate * attn_host_n_thread(run->host));
}

/* Writes a time as "3 min" or "2.5 h". Returns TEXT. */
static const char *write_time(double seconds, char text[TIME_SIZE])
{
    if (seconds < 2 * HOUR)
        snprintf(text, TIME_SIZE, "%.0f min", seconds / MINUTE);
    else if (seconds < 2 * DAY)
        snprintf(text, TIME_SIZE, "%.1f h", seconds / HOUR);
    else
        snprintf(text, TIME_SIZE, "%.0f days", seconds / DAY);
    return text;
}

enum attn_status attn_run_check_time(const struct attn_run *run, size_t n, struct attn_error *err)
{
    const struct attn_request *request = &run->request;
    const size_t n_token = run->text.n > run->source.n ? run->text.n : run->source.n;
    char runs[ATTN_QUANTITY_SIZE + 16] = "a run", count[ATTN_QUANTITY_SIZE],
                                   work_text[ATTN_QUANTITY_SIZE], time[TIME_SIZE], line[256];
    struct attn_work work;
    double seconds;

    if (request->max_input > 0 && n_token > request->max_input)
        return attn_refuse(err, ATTN_STAGE_INPUT,
                           "the %s has %zu tokens, `max_input` takes at most %zu",
                           n_token == run->text.n ? "text" : "source", n_token, request->max_input);
    if (request->max_seconds <= 0 || (double)n * find_seconds(run, NULL, &work) < MINUTE)
        return ATTN_OK;
    seconds = (double)n * find_seconds(run, run->attention.layers, &work);
    if (seconds < MINUTE)
        return ATTN_OK;
    if (n > 1)
        snprintf(runs, sizeof runs, "%s runs", attn_quantity_count(n, count));
    attn_quantity_operations(work.multiply_adds, work_text);
    snprintf(line, sizeof line, "%s of %s tokens, %s multiply-adds%s, may take about %s", runs,
             attn_quantity_count(n_token, count), work_text, n > 1 ? " each" : "",
             write_time(seconds, time));
    if (request->max_input == 0 && seconds > request->max_seconds) {
        attn_refuse(err, ATTN_STAGE_INPUT, "%s, which needs `max_input`", line);
        return attn_error_hint(err, "`max_input %zu`", n_token);
    }
    attn_note(request->on_note, request->user, ATTN_NOTE_TIME, "%s", line);
    return ATTN_OK;
}
