#include "diff/pair.h"

#include "base/memory.h"
#include "base/os/os.h"
#include "base/status_internal.h"
#include "base/text/given.h"
#include "base/text/path.h"
#include "frame/asked.h"
#include "frame/drawn.h"
#include "means/rows.h"
#include "pictures/table_view.h"
#include "predict/prediction.h"
#include "run/prepared_extra.h"
#include "tables/table_internal.h"
#include "trace/trace_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PART, QUERY, KEY, TOKEN, WEIGHT, PROB, DIFFERS, N_COLUMN };
enum { MAP_PART, MAP_QUERY, MAP_KEY, MAP_TOKEN, MAP_WEIGHT, N_MAP_COLUMN };
enum { N_NEXT = 5, MOST_MAPPED = 512 };

static const struct attn_column columns[N_COLUMN] = {
    [PART] = ATTN_COLUMN_PART(NULL),
    [QUERY] = ATTN_COLUMN_OF(QUERY, "query", INTEGER),
    [KEY] = ATTN_COLUMN_OF(KEY, "key", INTEGER),
    [TOKEN] = ATTN_COLUMN_OF(TOKEN, "token", TEXT),
    [WEIGHT] = ATTN_COLUMN_QUANTITY("weight", 4, NULL, SHARE, "weight"),
    [PROB] = ATTN_COLUMN_QUANTITY("prob", 4, NULL, SHARE, "probability"),
    [DIFFERS] = {.name = "differs", .type = ATTN_VALUE_BOOLEAN},
};

const struct attn_table_view attn_pair_view = {
    ATTN_VIEW_OF(KEY, KEY, WEIGHT), .figure = ATTN_FIGURE_PAIR, .texts = ATTN_ROLE_TOKEN};

static const struct attn_column map_columns[] = {
    [MAP_PART] = ATTN_COLUMN_PART(NULL),
    [MAP_QUERY] = ATTN_COLUMN_OF(QUERY, "query", INTEGER),
    [MAP_KEY] = ATTN_COLUMN_OF(KEY, "key", INTEGER),
    [MAP_TOKEN] = ATTN_COLUMN_OF(TOKEN, "token", TEXT),
    [MAP_WEIGHT] = ATTN_COLUMN_QUANTITY("weight", 6, NULL, SIGNED, "weight"),
};

const struct attn_table_view attn_pair_map_view = {
    ATTN_VIEW_OF(QUERY, KEY, MAP_WEIGHT), .traits = ATTN_VIEW_TOKENS | ATTN_VIEW_DIFFERENCE};

/* One of the two runs. */
struct side {
    struct attn_run *run; /* owns */
    bool is_map;
    float *rows;             /* [1 or, of a map, text.n, text.n] owns; NaN: masked, not selected */
    struct attn_location at; /* of the head */
    bool *is_common;         /* [text.n] owns; whether the other text has the token, too */
    size_t query;
    struct attn_result result; /* owns */
};

/* Keeps the rows of the one head, or the one row (attn_trace_fn). */
static enum attn_status on_rows(void *user, const struct attn_trace_event *event,
                                struct attn_error *err)
{
    struct side *side = user;
    const struct attn_dims *dims = attn_selection_dims(attn_run_selection(side->run));
    const char *figure = side->is_map ? "matrix" : "pair";
    const size_t n = attn_asked_n(side->run), n_row = side->is_map ? n : 1;
    struct attn_cells cells;

    if (attn_stack_is_encoder(event->at.stack) || attn_location_is_cross(dims, &event->at))
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "the head has keys of the source, and '`figure %s`' compares those of "
                           "each text",
                           figure);
    if (side->rows ? !side->is_map || attn_location_compare(&side->at, &event->at) != 0
                   : event->n_row > n_row) {
        attn_refuse(err, ATTN_STAGE_OPTIONS, "several %s are selected, '`figure %s`' shows one",
                    side->is_map ? "heads" : "rows", figure);
        return attn_error_hint(
            err, side->is_map ? "choose one: `heads 2.5`"
                              : "choose one head and one query: `heads 2.5` `queries -1`");
    }
    if (!side->rows) {
        ATTN_TRY(ATTN_ALLOC(side->rows, attn_size_mul(n_row, n), err));
        for (size_t i = 0; i < n_row * n; i++)
            side->rows[i] = NAN;
        side->at = event->at;
        side->query = event->row0;
    }
    for (size_t r = 0; r < event->n_row; r++)
        for (struct attn_row row = attn_event_row(event, r); attn_row_next(&row, &cells);)
            memcpy(side->rows + (side->is_map ? event->row0 + r : 0) * n + cells.first,
                   cells.values, cells.n * sizeof *cells.values);
    return ATTN_OK;
}

/* Runs SIDE and keeps one row of a head, with what comes next; or with IS_MAP its rows. */
static enum attn_status run_side(struct attn_host *host, const struct attn_request *given,
                                 bool is_map, struct side *side, struct attn_error *err)
{
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_trace trace = {.on_event = on_rows, .user = side};

    side->is_map = is_map;
    ATTN_TRY(attn_options_read(given, &request, err));
    request.selection.sites = "pattern";
    if (!is_map && !attn_number_list_is_given(&request.selection.queries))
        request.selection.queries.text = "-1";
    request.predict.top =
        !is_map && attn_predicts_next(attn_model_config(attn_host_model(host))) ? SIZE_MAX : 0;
    ATTN_TRY(attn_run_open(host, NULL, &request, &side->run, err));
    if (is_map && attn_asked_n(side->run) > MOST_MAPPED)
        return attn_refuse(err, ATTN_STAGE_INPUT,
                           "a text has %zu tokens, and '`figure matrix`' compares at most %d",
                           attn_asked_n(side->run), MOST_MAPPED);
    trace.selection = attn_run_selection(side->run);
    return attn_run_perform(side->run, &trace, &side->result, err);
}

/* Returns true if tokens A of X and B of Y are the same. */
static bool is_same(const struct attn_labels *x, size_t a, const struct attn_labels *y, size_t b)
{
    if (!x->tokens || !y->tokens)
        return x->ids[a] == y->ids[b];
    return x->token_sizes[a] == y->token_sizes[b] &&
           memcmp(x->tokens[a], y->tokens[b], x->token_sizes[a]) == 0;
}

/* Finds a longest common subsequence of the tokens of SIDES, by dynamic programming from their
 * ends. LONGEST [n_b + 1]: its lengths in the tokens from a and b on; SKIPS: a bit for each a and
 * b, set if b has no partner. */
static void find_common(struct side sides[2], uint32_t *longest, uint8_t *skips)
{
    const struct attn_labels *x = attn_run_labels(sides[0].run);
    const struct attn_labels *y = attn_run_labels(sides[1].run);
    const size_t n_a = attn_asked_n(sides[0].run), n_b = attn_asked_n(sides[1].run);

    for (size_t a = n_a; a-- > 0;) {
        uint32_t after_both = 0;

        for (size_t b = n_b; b-- > 0;) {
            const uint32_t after_a = longest[b];

            if (is_same(x, a, y, b)) {
                longest[b] = after_both + 1;
            } else if (longest[b + 1] > after_a) {
                longest[b] = longest[b + 1];
                skips[(a * n_b + b) / 8] |= (uint8_t)(1 << (a * n_b + b) % 8);
            }
            after_both = after_a;
        }
    }
    for (size_t a = 0, b = 0; a < n_a && b < n_b;) {
        if (is_same(x, a, y, b))
            sides[0].is_common[a++] = sides[1].is_common[b++] = true;
        else if (skips[(a * n_b + b) / 8] >> (a * n_b + b) % 8 & 1)
            b++;
        else
            a++;
    }
}

/* Returns TOKEN [size], or ID of a model without a vocabulary, written to ROOM. */
static struct attn_cell token_cell(const char *token, size_t size, int32_t id, char room[16])
{
    snprintf(room, 16, "%" PRId32, id);
    return token ? attn_cell_text(token, size) : attn_cell_string(room);
}

/* Returns true if token ID is one of the N_NEXT most probable next tokens. */
static bool is_first(const struct attn_predictions *predictions, int32_t id)
{
    size_t i = 0;

    while (i < predictions->n_top && i < N_NEXT && predictions->top[i].id != id)
        i++;
    return i < predictions->n_top && i < N_NEXT;
}

/* Returns weight AT of SIDE; 0 if it is masked. */
static float weight_at(const struct side *side, size_t at)
{
    return isnan(side->rows[at]) ? 0 : side->rows[at];
}

/* Appends the rows of SIDES[I]: its tokens, and the next tokens that are among the first of either
 * side. */
static enum attn_status append_side(const struct side sides[2], size_t i, struct attn_table *table,
                                    struct attn_error *err)
{
    const struct side *side = &sides[i];
    const struct attn_labels *labels = attn_run_labels(side->run);
    const size_t n = attn_asked_n(side->run);
    const struct attn_predictions *others = &sides[1 - i].result.predictions;

    for (size_t k = 0; k < n + side->result.predictions.n_top; k++) {
        const struct attn_candidate *next = &side->result.predictions.top[k < n ? 0 : k - n];
        const bool is_of_other = k >= n && is_first(others, next->id);
        const bool differs = k >= n ? !is_of_other || k >= n + N_NEXT : !side->is_common[k];
        char room[16];
        struct attn_cell cells[N_COLUMN] = {[PART] = attn_cell_string(i == 0 ? "a" : "b"),
                                            [QUERY] = attn_cell_integer((int64_t)side->query)};

        if (k < n) {
            cells[KEY] = attn_cell_integer((int64_t)k);
            cells[TOKEN] =
                token_cell(labels->tokens ? labels->tokens[k] : NULL,
                           labels->tokens ? labels->token_sizes[k] : 0, labels->ids[k], room);
            cells[WEIGHT] = attn_cell_real((double)weight_at(side, k));
        } else {
            cells[TOKEN] = token_cell(next->token, next->token_size, (int32_t)next->id, room);
            cells[PROB] = attn_cell_real(next->prob);
        }
        cells[DIFFERS] = attn_cell_boolean(differs);
        if (k < n + N_NEXT || is_of_other)
            ATTN_TRY(attn_table_append(table, cells, N_COLUMN, err));
    }
    return ATTN_OK;
}

static enum attn_status make(struct side sides[2], struct attn_table *table, struct attn_error *err)
{
    const size_t n_a = attn_asked_n(sides[0].run), n_b = attn_asked_n(sides[1].run);
    uint32_t *longest = NULL;
    uint8_t *skips = NULL;
    enum attn_status status;

    for (size_t i = 0; i < 2; i++) {
        if (!attn_run_labels(sides[i].run)->ids)
            return attn_refuse(err, ATTN_STAGE_OPTIONS, "'`figure pair`' shows texts");
        ATTN_TRY(ATTN_ALLOC(sides[i].is_common, attn_asked_n(sides[i].run), err));
    }
    status = ATTN_ALLOC(longest, n_b + 1, err);
    ATTN_THEN(status, ATTN_ALLOC(skips, attn_size_mul(n_a, n_b) / 8 + 1, err));
    if (status == ATTN_OK)
        find_common(sides, longest, skips);
    for (size_t i = 0; i < 2 && status == ATTN_OK; i++)
        status = append_side(sides, i, table, err);
    attn_free(longest);
    attn_free(skips);
    return status;
}

/* Appends the rows of map PART: that of a side, or 2 for their difference. */
static enum attn_status append_map(const struct side sides[2], size_t part,
                                   struct attn_table *table, struct attn_error *err)
{
    static const char *const names[] = {"a", "b", "b - a"};
    const struct side *side = &sides[part < 2 ? part : 1];
    const struct attn_labels *labels = attn_run_labels(side->run);
    const size_t n = attn_asked_n(side->run);

    for (size_t at = 0; at < n * n; at++) {
        const bool is_masked = isnan(side->rows[at]) && (part < 2 || isnan(sides[0].rows[at]));
        const double weight =
            part < 2 ? (double)weight_at(side, at)
                     : (double)weight_at(&sides[1], at) - (double)weight_at(&sides[0], at);
        struct attn_cell cells[N_MAP_COLUMN] = {[MAP_PART] = attn_cell_string(names[part]),
                                                [MAP_QUERY] = attn_cell_integer((int64_t)(at / n)),
                                                [MAP_KEY] = attn_cell_integer((int64_t)(at % n)),
                                                [MAP_WEIGHT] = attn_cell_real(weight)};

        if (labels->tokens)
            cells[MAP_TOKEN] = attn_cell_text(labels->tokens[at % n], labels->token_sizes[at % n]);
        if (!is_masked)
            ATTN_TRY(attn_table_append(table, cells, N_MAP_COLUMN, err));
    }
    return ATTN_OK;
}

static enum attn_status make_maps(struct side sides[2], struct attn_table *table,
                                  struct attn_error *err)
{
    const size_t n_a = attn_asked_n(sides[0].run), n_b = attn_asked_n(sides[1].run);

    if (n_a != n_b) {
        attn_refuse(err, ATTN_STAGE_INPUT,
                    "the texts have %zu and %zu tokens, and '`figure matrix`' compares them "
                    "cell by cell, expected as many",
                    n_a, n_b);
        return attn_error_hint(err, "`figure pair` shows texts of different lengths");
    }
    for (size_t part = 0; part < 3; part++)
        ATTN_TRY(append_map(sides, part, table, err));
    return ATTN_OK;
}

/* Runs both sides, and makes the table of a row or, with IS_MAP, of maps. */
static enum attn_status compare(struct attn_host *host, const struct attn_request *request,
                                const struct attn_diff_args *args, bool is_map,
                                struct attn_table **table, struct attn_error *err)
{
    struct side sides[2] = {{0}};
    struct attn_table *made = NULL;
    enum attn_status status;

    ATTN_NEED(err, host, request, args, table);
    status = run_side(host, request, is_map, &sides[0], err);
    ATTN_THEN(status, run_side(args->host ? args->host : host,
                               args->request ? args->request : request, is_map, &sides[1], err));
    ATTN_THEN(status, is_map ? attn_table_create("maps", map_columns, N_MAP_COLUMN, &made, err)
                             : attn_table_create("pair", columns, N_COLUMN, &made, err));
    ATTN_THEN(status, is_map ? make_maps(sides, made, err) : make(sides, made, err));
    for (size_t i = 0; i < 2; i++) {
        attn_run_free(sides[i].run);
        attn_free(sides[i].rows);
        attn_free(sides[i].is_common);
        attn_result_release(&sides[i].result);
    }
    ATTN_RETURN_MADE(status, table, made, attn_table_free);
}

enum attn_status attn_pair(struct attn_host *host, const struct attn_request *request,
                           const struct attn_diff_args *args, struct attn_table **table,
                           struct attn_error *err)
{
    return compare(host, request, args, false, table, err);
}

enum attn_status attn_pair_maps(struct attn_host *host, const struct attn_request *request,
                                const struct attn_diff_args *args, struct attn_table **table,
                                struct attn_error *err)
{
    return compare(host, request, args, true, table, err);
}

/* Moves *LAST to the part of PATH before it, and returns by how many bytes. */
static size_t lengthen(const char *path, const char **last)
{
    const char *from = *last;

    for ((*last)--; *last > path && !attn_os_is_slash((*last)[-1]);)
        (*last)--;
    return (size_t)(from - *last);
}

void attn_pair_name_models(const struct attn_host *host, const struct attn_diff_args *args,
                           struct attn_table_picture *picture, char *room, size_t size)
{
    const struct attn_model *other = args && args->host ? attn_host_model(args->host) : NULL;
    const char *last, *other_last;
    size_t n, n_other;

    if (picture)
        picture->model = attn_model_name(attn_host_model(host));
    if (!other || !picture || !room)
        return;
    last = attn_path_last(picture->model, &n);
    other_last = attn_path_last(attn_model_name(other), &n_other);
    while (n == n_other && memcmp(last, other_last, n) == 0 && last > picture->model &&
           other_last > attn_model_name(other)) {
        n += lengthen(picture->model, &last);
        n_other += lengthen(attn_model_name(other), &other_last);
    }
    if (n == n_other && memcmp(last, other_last, n) == 0)
        return;
    snprintf(room, size,
             picture->view.figure == ATTN_FIGURE_PAIR      ? "above %.*s, below %.*s"
             : picture->view.traits & ATTN_VIEW_DIFFERENCE ? "a: %.*s, b: %.*s"
                                                           : "%.*s and %.*s",
             (int)n, last, (int)n_other, other_last);
    picture->model = room;
    picture->has_models = true;
}
