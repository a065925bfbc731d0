/* figure_title.c - the titles of figures: a rule for each kind that has a number in hand makes the
 * sentence that says it. Nowhere else is one made. A word that is written from right to left stands
 * between U+2068 and U+2069, so that it turns nothing else about; a mark is named with the word
 * before it. */
#include "figures/figure_internal.h"

#include "base/text/escape.h"
#include "figures/table_axis.h"
#include "measures/head_mix.h"
#include "measures/metric.h"
#include "pictures/figure_rows.h"
#include "tables/table_internal.h"
#include "tables/text_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef void (*title_fn)(const struct attn_figure_pen *pen, struct attn_buffer *out);

/* --- Words and numbers ------------------------------------------------------------------------ */

static void append_quoted(struct attn_buffer *out, const char *text, size_t n)
{
    const char *word = attn_text_trim(text, &n);
    const char isolate[] = {'\xe2', '\x81', '\xa8', '\0'}, end[] = {'\xe2', '\x81', '\xa9', '\0'};
    const bool is_turned = attn_text_is_right_to_left(word, n);

    attn_buffer_append_format(out, "'%s", is_turned ? isolate : "");
    if (n > 0 && memmem(word, n, "\xe2\x81", 2)) /* an isolate of the text itself would stay */
        attn_escape_append(out, word, n);
    else
        attn_buffer_append(out, word, n);
    attn_buffer_append_format(out, "%s'", is_turned ? end : "");
}

static void append_word(struct attn_buffer *out, const struct attn_grid_axis *axis, size_t i)
{
    struct attn_buffer word = {0};
    size_t n, n_before = 0;
    const char *text = attn_grid_text(axis, i, &n), *before = text;

    if (i > 0 && attn_metric_is_punctuation(text, n))
        before = attn_grid_text(axis, i - 1, &n_before);
    attn_buffer_append(&word, before, n_before);
    attn_buffer_append(&word, text, n);
    append_quoted(out, word.data, word.size);
    out->has_failed |= word.has_failed;
    attn_buffer_release(&word);
}

static void append_cell(struct attn_buffer *out, struct attn_cell word)
{
    append_quoted(out, word.text, word.type == ATTN_VALUE_TEXT ? word.size : 0);
}

static void append_percent(struct attn_buffer *out, const char *before, double share)
{
    attn_buffer_append_string(out, before);
    attn_figure_append_signed(out, 100 * share, 0);
    attn_buffer_append_string(out, " %");
}

static void append_head(struct attn_buffer *out, const char *before, const struct attn_location *at)
{
    attn_buffer_append_string(out, before);
    attn_grid_append_layer(out, at);
    attn_buffer_append_format(out, ".%d", at->head);
}

/* --- Rules ------------------------------------------------------------------------------------ */

/* Returns the largest weight in ROW of MATRIX on a key that is none of PARKS, which may be NULL,
 * and stores its key; 0: the row has none. */
static double find_look(const struct attn_level_matrix *matrix, size_t row, const bool *parks,
                        size_t *key)
{
    double most = 0;
    float value;

    for (size_t k = 0; matrix->cells && k < matrix->n_cell_column; k++)
        if ((!parks || !parks[k]) && attn_level_cell(matrix, row, k, &value) == ATTN_CELL_VALUE &&
            (double)value > most) {
            most = (double)value;
            *key = k;
        }
    return most;
}

/* "Head 2.5: 'cabinet' looks at 'keys', 79 %", of the last query. */
static void name_look(const struct attn_figure_pen *pen, struct attn_buffer *out)
{
    const struct attn_grid *grid = pen->content->grid;
    const struct attn_level_matrix *matrix = grid->matrices;
    const struct attn_grid_axis keys = attn_grid_columns(grid, matrix);
    const struct attn_grid_axis queries = attn_grid_rows(grid, matrix);
    size_t key = 0;
    double most;

    if (grid->n != 1 || !grid->is_share || grid->backdrop || matrix->at.layer < 0 ||
        matrix->at.head < 0 || matrix->k > 1 || !keys.texts || !queries.texts)
        return;
    most = find_look(matrix, matrix->n_row - 1, NULL, &key);
    if (most <= 0)
        return;
    append_head(out, "Head ", &matrix->at);
    attn_buffer_append_string(out, ": ");
    append_word(out, &queries, matrix->n_row - 1);
    attn_buffer_append_string(out, " looks at ");
    append_word(out, &keys, key);
    append_percent(out, ", ", most);
}

/* "Head 24.4 matters most for the next token, KL 0.14: it looks at 'Mary', 81 %". */
static void name_effect(const struct attn_figure_pen *pen, struct attn_buffer *out)
{
    const struct attn_grid *grid = pen->content->grid;
    const struct attn_level_matrix *matrix = grid->matrices;
    const struct attn_grid_axis keys = attn_grid_columns(grid, matrix);
    const bool *parks = grid->run->labels.parks;
    double largest = 0, most;
    size_t h = 0, key = 0;

    for (size_t i = 0; i < matrix->n_row; i++) {
        const double effect = attn_first_head_effect(pen->options->effects, &grid->heads[i].at);

        h = effect > largest ? i : h;
        largest = effect > largest ? effect : largest;
    }
    most = find_look(matrix, h, parks && keys.n <= grid->run->n_position ? parks : NULL, &key);
    if (largest <= 0 || most <= 0 || !keys.texts)
        return;
    append_head(out, "Head ", &grid->heads[h].at);
    attn_buffer_append_format(out, " matters most for the next token, KL %.2f: it looks at ",
                              largest);
    append_word(out, &keys, key);
    append_percent(out, ", ", most);
}

/* Returns the layer of the head that PART, "23.3", names; -1: it names no head. */
static long layer_of(struct attn_cell part)
{
    return memchr(part.text, '.', part.size) ? strtol(part.text, NULL, 10) : -1;
}

/* Parts that a title names together. */
struct named_parts {
    struct attn_cell first; /* the name of the first */
    long layer;             /* of heads; -1: MLPs, embedding or other heads */
    size_t n;
    double writes;
    int sides; /* 1: the foil changes more in all, 2: the target; 0: in some each, or unknown */
};

enum { MOST_NAMED = 11, MOST_IN_TITLE = 3 };

/* Lists the groups of the answer TABLE: heads of one layer with one sign, and other parts. Returns
 * how many. */
static size_t group_parts(const struct attn_table *table, struct named_parts groups[MOST_NAMED])
{
    size_t n = 0;

    for (size_t row = 0; row < attn_table_n_row(table) && n < MOST_NAMED; row++) {
        const struct attn_cell part = attn_table_role_cell(table, row, ATTN_ROLE_WRITER);
        const struct attn_cell target =
            attn_table_cell(table, row, attn_table_find(table, "writes_target"));
        const struct attn_cell foil =
            attn_table_cell(table, row, attn_table_find(table, "writes_foil"));
        const double writes = attn_table_cell(table, row, attn_table_find(table, "writes")).real;
        const int sides = layer_of(part) < 0 || target.type != ATTN_VALUE_REAL ? 0
                          : fabs(foil.real) > fabs(target.real)                ? 1
                                                                               : 2;
        size_t i = 0;

        if (writes == 0)
            continue;
        while (i < n && (layer_of(part) < 0 || groups[i].layer != layer_of(part) ||
                         (groups[i].writes < 0) != (writes < 0)))
            i++;
        if (i == n)
            groups[n++] = (struct named_parts){part, layer_of(part), 0, 0, sides};
        groups[i].n++;
        groups[i].writes += writes;
        groups[i].sides = groups[i].sides == sides ? sides : 0;
    }
    return n;
}

/* Compares by descending magnitude (qsort). */
static int by_writes(const void *a, const void *b)
{
    const double x = fabs(((const struct named_parts *)a)->writes),
                 y = fabs(((const struct named_parts *)b)->writes);

    return (x < y) - (x > y);
}

/* Appends the subject, "4 heads of layer 23", "Head 23.3", "MLPs", at the begin of a sentence. */
static void append_parts(struct attn_buffer *out, const struct named_parts *parts, bool is_first)
{
    const bool is_other = parts->layer < 0 && *parts->first.text != 'M';

    if (parts->n > 1)
        attn_buffer_append_format(out, "%zu heads of layer %ld", parts->n, parts->layer);
    else if (is_first && parts->layer >= 0)
        attn_buffer_append_format(out, "Head %.*s", (int)parts->first.size, parts->first.text);
    else
        attn_buffer_append_format(out, "%s%.*s",
                                  !is_other  ? ""
                                  : is_first ? "The "
                                             : "the ",
                                  (int)parts->first.size, parts->first.text);
}

/* Appends what PARTS do: "lowers 'John' by 2.9", "write 5.0", "takes 2.8 back". */
static void append_deed(const struct attn_table *table, const struct named_parts *parts,
                        struct attn_buffer *out)
{
    const bool is_one = parts->n == 1 && (parts->layer >= 0 || *parts->first.text == 'e');
    const bool is_against = parts->writes < 0;
    const char *deed = parts->sides == 0                   ? (is_against ? " take" : " write")
                       : (parts->sides == 1) == is_against ? " raise"
                                                           : " lower";
    const struct attn_cell word = attn_table_fact(table, parts->sides == 1 ? "foil" : "target");

    if (parts->sides == 2 && !is_against)
        deed = " write";
    attn_buffer_append_format(out, "%s%s ", deed, is_one ? "s" : "");
    if (parts->sides > 0) {
        append_cell(out, word);
        attn_buffer_append_string(out, parts->sides == 2 && !is_against ? ", " : " by ");
    }
    attn_buffer_append_format(out, "%.1f", fabs(parts->writes));
}

/* "4 heads of layer 23 write 5.0 of 6.1, MLPs 4.5; the other heads take 2.8 back": the largest
 * groups. A head lowers the foil where that side of it is the larger one, or writes the target. */
static void name_answer(const struct attn_figure_pen *pen, struct attn_buffer *out)
{
    const struct attn_table *table = pen->content->table;
    const struct attn_cell target = attn_table_fact(table, "target");
    const struct attn_cell foil = attn_table_fact(table, "foil");
    const double sum = attn_table_fact(table, "sum").real;
    struct named_parts groups[MOST_NAMED];
    size_t n = group_parts(table, groups);

    if (target.size == 0 || n == 0)
        return;
    if (fabs(sum) < 1) {
        append_cell(out, target);
        if (foil.size > 0) {
            attn_buffer_append_string(out, " and ");
            append_cell(out, foil);
        }
        attn_buffer_append_format(out, ": %.1f %s", fabs(sum),
                                  foil.size > 0 ? "apart"
                                  : sum < 0     ? "below the mean logit"
                                                : "above the mean logit");
        return;
    }
    qsort(groups, n, sizeof *groups, by_writes);
    n = n < MOST_IN_TITLE ? n : MOST_IN_TITLE;
    for (size_t i = 0; i < n; i++) {
        const struct named_parts *parts = &groups[i], *before = &groups[i - (i > 0)];
        const bool is_plain = i > 0 && parts->sides == 0 && before->sides == 0 &&
                              (parts->writes < 0) == (before->writes < 0);

        attn_buffer_append_string(out, i == 0 ? "" : is_plain ? ", " : "; ");
        append_parts(out, parts, i == 0);
        if (is_plain)
            attn_buffer_append_format(out, " %.1f", fabs(parts->writes));
        else
            append_deed(table, parts, out);
        if (i == 0)
            attn_buffer_append_format(out, " of %s%.1f", sum < 0 ? "\xe2\x88\x92" : "", fabs(sum));
        if (parts->sides == 0 && parts->writes < 0)
            attn_buffer_append_string(out, i == 0 ? " from it" : " back");
    }
}

/* "15 edges carry 109 % of the answer", if the circuit was run. */
static void name_circuit(const struct attn_figure_pen *pen, struct attn_buffer *out)
{
    const struct attn_cell share = attn_table_fact(pen->content->table, "faithfulness");

    if (share.type != ATTN_VALUE_REAL)
        return;
    attn_buffer_append_format(out, "%zu edges", attn_table_n_row(pen->content->table));
    append_percent(out, " carry ", share.real);
    attn_buffer_append_string(out, " of the answer");
}

const char *attn_figure_groups_word(const struct attn_figure_pen *pen)
{
    return strcmp(attn_table_column(pen->content->table, 0)->name, "id") == 0 ? "items" : "groups";
}

/* Returns the column of the largest magnitude in ROW of MATRIX; SIZE_MAX: none has a number. */
static size_t find_largest(const struct attn_level_matrix *matrix, size_t row)
{
    size_t found = SIZE_MAX;
    float most = 0, value;

    for (size_t c = 0; c < matrix->n_column; c++)
        if (attn_level_cell(matrix, row, c, &value) == ATTN_CELL_VALUE &&
            (found == SIZE_MAX || fabsf(value) > most)) {
            found = c;
            most = fabsf(value);
        }
    return found;
}

/* "'cabinet' looks at 'keys', 79 %; in the other text at 'key', 70 %". */
static void name_pair(const struct attn_figure_pen *pen, struct attn_buffer *out)
{
    const struct attn_table *table = pen->content->table;
    const size_t values = attn_table_view_find(table, pen->content->of->view.values);
    size_t rows[2] = {SIZE_MAX, SIZE_MAX}, query = SIZE_MAX;

    for (size_t i = 0; i < attn_table_n_row(table); i++) {
        const struct attn_cell part = attn_table_role_cell(table, i, ATTN_ROLE_PART);
        const struct attn_cell key = attn_table_role_cell(table, i, ATTN_ROLE_KEY);
        size_t *row = &rows[attn_cell_word(&part, "b") == 0];

        if (key.type != ATTN_VALUE_INTEGER)
            continue;
        if (*row == SIZE_MAX ||
            attn_table_number(table, i, values) > attn_table_number(table, *row, values))
            *row = i;
        if (query == SIZE_MAX &&
            key.integer == attn_table_role_cell(table, i, ATTN_ROLE_QUERY).integer)
            query = i;
    }
    if (rows[0] == SIZE_MAX || rows[1] == SIZE_MAX || query == SIZE_MAX)
        return;
    append_cell(out, attn_table_role_cell(table, query, ATTN_ROLE_TOKEN));
    for (int i = 0; i < 2; i++) {
        attn_buffer_append_string(out, i == 0 ? " looks at " : "; in the other text at ");
        append_cell(out, attn_table_role_cell(table, rows[i], ATTN_ROLE_TOKEN));
        append_percent(out, ", ", (double)attn_table_number(table, rows[i], values));
    }
}

/* "Head 2.5: -1.62, the largest", or of a token in its place; of a life "Head 2.5 from 'keys'". */
static void name_largest(const struct attn_figure_pen *pen, struct attn_buffer *out)
{
    const struct attn_table_picture *of = pen->content->of;
    const enum attn_figure kind = pen->content->kind;
    const bool is_life = kind == ATTN_FIGURE_LIFE, is_of_tokens = kind == ATTN_FIGURE_TOKENS;
    const struct attn_table *table = is_life ? of->life : pen->content->table;
    const size_t values = is_life ? attn_table_next_value(table, SIZE_MAX)
                                  : attn_table_view_find(table, of->view.values);
    const int digits = pen->content->grid->digits;
    struct attn_location at, largest = {0};
    struct attn_cell token = attn_cell_missing();
    double most = 0;

    if (of->n_label > 0 || values == SIZE_MAX || (of->view.traits & ATTN_VIEW_SPANS) != 0)
        return;
    for (size_t i = 0; i < attn_table_n_row(table); i++) {
        const double value = (double)attn_table_number(table, i, values);
        const struct attn_cell text = attn_table_role_cell(table, i, ATTN_ROLE_TOKEN);

        if (!(fabs(value) > fabs(most)) || attn_table_total(table, i) != SIZE_MAX ||
            !(is_of_tokens ? text.type == ATTN_VALUE_TEXT : attn_table_read_head(table, i, &at)))
            continue;
        most = value;
        token = text;
        largest = is_of_tokens ? largest : at;
    }
    if (most == 0)
        return;
    if (!is_of_tokens)
        append_head(out, "Head ", &largest);
    attn_buffer_append_string(out, is_life ? " from " : "");
    if (is_life || is_of_tokens)
        append_cell(out, token);
    attn_buffer_append_string(out, ": ");
    attn_figure_append_signed(out, most, digits > 0 ? digits : 2);
    attn_buffer_append_string(out, ", the largest");
}

/* "Feature 275: head 5 writes 6.3 of 6.8 from 'keys'", of the largest part of a number above 0. */
static void name_feature(const struct attn_figure_pen *pen, struct attn_buffer *out)
{
    const struct attn_table *table = pen->content->table;
    const size_t values = attn_table_view_find(table, pen->content->of->view.values);
    const int digits = pen->content->grid->digits > 0 ? pen->content->grid->digits : 2;
    struct attn_cell feature, head, key, token;
    double whole = 0, most = 0;
    size_t best = 0;

    for (size_t i = 0; i < attn_table_n_row(table); i++) {
        const double value = (double)attn_table_number(table, i, values);

        if (attn_table_total(table, i) < SIZE_MAX)
            whole = value; /* the last is that of the model */
        else if (value > most)
            most = value, best = i;
    }
    if (whole <= 0 || most <= 0)
        return;
    feature = attn_table_cell(table, best, attn_table_find(table, "feature"));
    head = attn_table_role_cell(table, best, ATTN_ROLE_HEAD);
    key = attn_table_role_cell(table, best, ATTN_ROLE_KEY);
    token = attn_table_cell(table, best, attn_table_find(table, "key_token"));
    attn_buffer_append_format(out, "Feature %lld: ", (long long)feature.integer);
    if (head.type == ATTN_VALUE_INTEGER)
        attn_buffer_append_format(out, "head %lld writes ", (long long)head.integer);
    attn_figure_append_signed(out, most, digits);
    attn_buffer_append_string(out, most <= whole ? " of " : "");
    if (most <= whole)
        attn_figure_append_signed(out, whole, digits);
    if (key.type == ATTN_VALUE_INTEGER)
        attn_buffer_append_string(out, token.type == ATTN_VALUE_TEXT ? " from " : " from key ");
    if (token.type == ATTN_VALUE_TEXT)
        append_cell(out, token);
    else if (key.type == ATTN_VALUE_INTEGER)
        attn_buffer_append_integer(out, key.integer);
}

/* The rules for a run, and for a table that is not of the parts of a feature. */
static const title_fn rules[ATTN_N_FIGURE][2] = {
    [ATTN_FIGURE_MATRIX] = {name_look, name_largest}, [ATTN_FIGURE_ARCS] = {name_look, NULL},
    [ATTN_FIGURE_UNDER] = {name_effect, NULL},        [ATTN_FIGURE_GRID] = {NULL, name_largest},
    [ATTN_FIGURE_BARS] = {NULL, name_largest},        [ATTN_FIGURE_TOKENS] = {NULL, name_largest},
    [ATTN_FIGURE_CIRCUIT] = {NULL, name_circuit},     [ATTN_FIGURE_LIFE] = {NULL, name_largest},
    [ATTN_FIGURE_PAIR] = {NULL, name_pair},           [ATTN_FIGURE_ANSWER] = {NULL, name_answer},
};

void attn_figure_find_title(struct attn_figure_pen *pen)
{
    const struct attn_figure_content *content = pen->content;
    const bool is_of_feature = attn_table_find(content->table, "feature") < SIZE_MAX &&
                               attn_table_find_role(content->table, ATTN_ROLE_PART) < SIZE_MAX;
    const title_fn rule = is_of_feature ? name_feature : rules[content->kind][!content->grid->run];

    pen->finding.size = 0;
    if (rule && !content->grid->parts && (content->grid->run || content->table))
        rule(pen, &pen->finding);
}

void attn_figure_name_strip(struct attn_figure_pen *pen, size_t part)
{
    const struct attn_grid *grid = pen->content->grid;
    const struct attn_level_matrix *matrix = grid->matrices;
    const struct attn_grid_axis names = attn_grid_columns(grid, matrix);
    const char *metric = pen->content->of->metric;
    size_t n_won = 0, n;
    const char *name = attn_grid_text(&names, part, &n);

    for (size_t g = 0; g < matrix->n_row; g++)
        n_won += find_largest(matrix, g) == part;
    pen->finding.size = 0;
    attn_buffer_append_format(
        &pen->finding, "%s%.*s %s in %zu of %zu %s",
        attn_table_find_role(pen->content->table, ATTN_ROLE_HEAD) < SIZE_MAX ? "Head " : "", (int)n,
        name,
        (metric && strcmp(metric, "kl") == 0) || strcmp(grid->name, "kl") == 0
            ? "changes the prediction most"
            : "has the largest magnitude",
        n_won, matrix->n_row, attn_figure_groups_word(pen));
}
