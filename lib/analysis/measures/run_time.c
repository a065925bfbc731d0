/* run_time.c - estimates how long runs take before they are made. */
#include "run/run_internal.h"

#include "base/status_internal.h"
#include "base/text/number.h"
#include "catalog/cost.h"
#include "model/model_internal.h"

#include <math.h>
#include <stdio.h>

static double count_multiply_adds(const struct attn_run *run)
{
    struct attn_cost cost;

    if (attn_cost_find(run->model, run->text.n, run->source.n, &cost, NULL) != ATTN_OK)
        return (double)INFINITY;
    return (double)cost.projections + (double)cost.matrices + (double)cost.mlp;
}

enum { MINUTE = 60, HOUR = 3600, DAY = 24 * HOUR, TIME_SIZE = 32 };

/* The time is estimated by the number of operations at the rate of a slow core, so that it tends to
 * be too high. rate: multiply-adds per second of one thread. softmax: multiply-adds that take as
 * long as the softmax of one pair. */
static const double rate = 16e9, softmax = 32;

static double seconds_of(const struct attn_run *run, const struct attn_work *work)
{
    return ((double)work->multiply_adds + softmax * (double)work->n_pair) /
           (rate * attn_host_n_thread(run->host));
}

/* Returns the work of the tower on all pictures in the text of RUN. */
static struct attn_work tower_work(const struct attn_run *run)
{
    const struct attn_before *before = &run->before;
    struct attn_work work = {0};

    for (size_t i = 0; before->own && i < before->n; i++) {
        const struct attn_image_grid *grid = &before->own[i].grid;
        const struct attn_work one =
            attn_cost_work(before->model, grid->n_row * grid->n_col, 0, NULL);

        work.multiply_adds += one.multiply_adds;
        work.n_pair += one.n_pair;
    }
    return work;
}

/* Estimates the time of N runs, each of WORK; the tower runs once. */
static double find_seconds(const struct attn_run *run, size_t n,
                           const struct attn_attention *layers, struct attn_work *work)
{
    const struct attn_work tower = tower_work(run);

    *work = attn_cost_work(run->model, run->text.n, run->source.n, layers);
    return (double)n * seconds_of(run, work) + seconds_of(run, &tower);
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

static enum attn_status check_time(const struct attn_run *run, size_t n, struct attn_error *err)
{
    const struct attn_request *request = &run->request;
    const size_t n_token = run->text.n > run->source.n ? run->text.n : run->source.n;
    char runs[ATTN_QUANTITY_SIZE + 16] = "a run", count[ATTN_QUANTITY_SIZE],
                                   work_text[ATTN_QUANTITY_SIZE], tower_text[ATTN_QUANTITY_SIZE],
                                   tower[2 * ATTN_QUANTITY_SIZE + 64] = "", time[TIME_SIZE],
                                   line[256];
    struct attn_work work;
    double seconds;

    if (find_seconds(run, n, NULL, &work) < MINUTE)
        return ATTN_OK;
    seconds = find_seconds(run, n, run->attention.layers, &work);
    if (seconds < MINUTE)
        return ATTN_OK;
    if (n > 1)
        snprintf(runs, sizeof runs, "%s runs", attn_quantity_count(n, count));
    attn_quantity_operations(work.multiply_adds, work_text);
    if (run->text.seen.n_picture > 0) {
        const size_t n_picture = run->text.seen.n_picture;

        attn_quantity_operations(tower_work(run).multiply_adds, tower_text);
        snprintf(tower, sizeof tower, " and %s for %zu picture%s", tower_text, n_picture,
                 n_picture == 1 ? "" : "s");
    }
    snprintf(line, sizeof line, "%s of %s tokens, %s multiply-adds%s%s, may take about %s", runs,
             attn_quantity_count(n_token, count), work_text, n > 1 ? " each" : "", tower,
             write_time(seconds, time));
    if (request->max_input == 0 && seconds > request->max_seconds) {
        attn_refuse(err, ATTN_STAGE_INPUT, "%s, which needs `max_input`", line);
        return attn_error_hint(err, "`max_input %zu`", n_token);
    }
    attn_note(request->on_note, request->user, ATTN_NOTE_TIME, "%s", line);
    return ATTN_OK;
}

const struct attn_estimate attn_estimate_of_cost = {count_multiply_adds, check_time};
