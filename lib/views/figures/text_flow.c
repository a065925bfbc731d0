/* text_flow.c - see text_flow.h. */
#include "figures/text_flow.h"

#include "tables/text_table.h"

#include <math.h>
#include <string.h>

#define MARGIN ((double)ATTN_FLOW_MARGIN)

bool attn_flow_has_query(const struct attn_figure_pen *pen, const struct attn_text_flow *flow)
{
    const struct attn_writer *run = pen->content->grid->run;

    return run && attn_writer_has_own_keys(run, &flow->matrix->at);
}

const char *attn_flow_token(struct attn_figure_pen *pen, const struct attn_text_flow *flow,
                            size_t i, size_t *n)
{
    return flow->keys.texts ? attn_token_text(flow->keys.texts, i, n)
                            : attn_figure_label(pen, &flow->keys, i, n);
}

/* Returns true if key I and the one before are apart, though no token has the white space between.
 */
static bool is_apart(const struct attn_figure_pen *pen, const struct attn_text_flow *flow, size_t i)
{
    const struct attn_writer *run = pen->content->grid->run;
    const bool *joins = run ? pen->content->grid->tokens[0].joins : NULL;
    size_t key = attn_grid_position(&flow->keys, i);
    size_t before = attn_grid_position(&flow->keys, i - 1);

    if (key == ATTN_GRID_NO_POSITION || before == ATTN_GRID_NO_POSITION)
        return true;
    while (joins && joins[key] && key > before + 1) /* to the first piece of a character */
        key--;
    while (joins && before + 1 < key && joins[before + 1]) /* and the last of the other */
        before++;
    return attn_flow_has_query(pen, flow) && run->labels.begin &&
           run->labels.begin[key] > run->labels.end[before];
}

/* Returns true if the first letter of the text belongs to a script that is written from right to
 * left. */
static bool is_leftwards(struct attn_figure_pen *pen, const struct attn_text_flow *flow)
{
    for (size_t i = 0; i < flow->keys.n; i++) {
        size_t n;
        const char *text = attn_flow_token(pen, flow, i, &n);

        if (attn_grid_position(&flow->keys, i) == ATTN_GRID_NO_POSITION ||
            (n > 0 && (*text == '<' || *text == '\\')))
            continue;
        if (attn_text_is_right_to_left(text, n))
            return true;
        for (size_t k = 0; k < n; k++)
            if (((text[k] | 0x20) >= 'a' && (text[k] | 0x20) <= 'z') || (text[k] & 0x80) != 0)
                return false;
    }
    return false;
}

/* Returns the place of the last token as it is drawn. */
static struct attn_flow_spot shown(const struct attn_text_flow *flow)
{
    struct attn_flow_spot spot = flow->spot;

    if (flow->is_leftwards)
        spot.x = ATTN_FIGURE_PAD + flow->end - spot.x - spot.width;
    spot.word = spot.x + MARGIN + (flow->is_leftwards ? 0 : spot.blank);
    return spot;
}

struct attn_flow_spot attn_flow_next(struct attn_figure_pen *pen, struct attn_text_flow *flow,
                                     size_t i)
{
    size_t n;
    const char *text = attn_flow_token(pen, flow, i, &n);
    struct attn_flow_spot *spot = &flow->spot;
    const size_t n_column = attn_text_width(text, n);
    /* a combining mark that stands alone is drawn on a circle, as wide as two columns */
    const double width =
        (n > 0 && n_column == 0 ? attn_figure_text_width(2, pen->letters.word)
                                : pen->letters.word * attn_figure_string_width(pen, text, n)) +
        2 * MARGIN;

    size_t n_blank = 0;
    double blank;

    while (flow->hangs_blanks && n_blank + 1 < n && text[n_blank] == ' ')
        n_blank++;
    blank = pen->letters.word * attn_figure_string_width(pen, text, n_blank);
    spot->x += spot->width + 2;
    /* white space between this token and the previous one that belongs to neither of them */
    if (i > 0 && (!flow->keys.texts || is_apart(pen, flow, i)))
        spot->x += attn_figure_text_width(1, pen->letters.word) - 2;
    if (i == 0) {
        *spot = (struct attn_flow_spot){.x = ATTN_FIGURE_PAD - blank, .y = flow->top};
    } else if (flow->is_broken || attn_grid_begins(&flow->keys, i) ||
               spot->x + width > flow->right) {
        spot->y += flow->line;
        spot->x = ATTN_FIGURE_PAD - blank;
    }
    spot->width = width;
    spot->blank = blank;
    spot->n_blank = n_blank;
    flow->is_broken = n >= 2 && memcmp(text + n - 2, "\\n", 2) == 0;
    return shown(flow);
}

double attn_flow_measure(struct attn_figure_pen *pen, struct attn_text_flow *flow)
{
    double right = ATTN_FIGURE_PAD;

    flow->right = ATTN_FIGURE_PAD + attn_figure_text_width(ATTN_FLOW_COLUMNS, pen->letters.word);
    if (pen->room > 0)
        flow->right = fmax(ATTN_FIGURE_PAD + 100, pen->room - ATTN_FIGURE_PAD);
    for (size_t i = 0; i < flow->matrix->n_column; i++) {
        attn_flow_next(pen, flow, i);
        right = fmax(right, flow->spot.x + flow->spot.width);
    }
    flow->end = right;
    return right;
}

enum attn_status attn_flow_open(struct attn_figure_pen *pen, double line, size_t most,
                                struct attn_text_flow *flow, struct attn_error *err)
{
    const struct attn_grid *grid = pen->content->grid;

    ATTN_TRY(attn_figure_check_keys(pen, err));
    ATTN_TRY(attn_figure_fold(pen, most, err));
    *flow = (struct attn_text_flow){.matrix = attn_figure_matrix(pen, 0), .line = line};
    ATTN_TRY(
        attn_figure_name_query(pen, grid->run ? grid->run->n_query : flow->matrix->n_row, err));
    pen->has_text = false;
    flow->keys = attn_figure_columns(pen, flow->matrix);
    flow->is_leftwards = is_leftwards(pen, flow);
    return ATTN_OK;
}
