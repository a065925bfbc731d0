/* grid.c - see grid.h. */
#include "grid/grid.h"

#include "base/elementary.h"
#include "base/escape.h"
#include "base/path.h"
#include "trace/model_stack.h"
#include "writers/output.h"

#include <math.h>
#include <string.h>

/* --- Words ------------------------------------------------------------------------------------ */

void attn_grid_append_model(const char *model, struct attn_buffer *out)
{
    size_t size;
    const char *name = model ? attn_path_last(model, &size) : NULL;

    if (name)
        attn_escape_append(out, name, size);
}

void attn_grid_append_title(const struct attn_grid *grid, struct attn_buffer *out)
{
    if (grid->title) {
        attn_buffer_append_string(out, grid->title);
        return;
    }
    attn_grid_append_model(grid->model, out);
    attn_buffer_append_format(out, "%s%s", grid->model ? ": " : "", grid->name);
}

void attn_grid_append_subtitle(const struct attn_grid *grid, struct attn_buffer *out)
{
    if (grid->title) /* else the title names the model */
        attn_grid_append_model(grid->model, out);
    attn_buffer_append_string(out, grid->title && grid->model ? "; " : "");
    if (grid->scale.span != ATTN_SPAN_UNIT && grid->scale.span != ATTN_SPAN_MATRIX) {
        attn_color_scale_append(&grid->scale, out); /* the legend shows the others */
        attn_buffer_append_string(out, "; ");
    }
    if (grid->note)
        attn_buffer_append_format(out, "%s; ", grid->note);
}

void attn_grid_append_sentence(const struct attn_grid *grid, int i, struct attn_buffer *out)
{
    const struct attn_figure_text *text = &grid->texts[i];

    if (text->name)
        attn_buffer_append_format(out, "%s: ", text->name);
    attn_escape_append(out, text->text, text->n);
}

void attn_grid_append_layer(struct attn_buffer *out, const struct attn_location *at)
{
    attn_buffer_append_format(out, "%s%s%d", attn_model_stack_name(at->stack),
                              at->stack != ATTN_STACK_ONLY ? " " : "", at->layer);
}

/* --- Numbers ---------------------------------------------------------------------------------- */

size_t attn_grid_number(const struct attn_grid *grid, float value, char text[ATTN_FIXED_TEXT_SIZE])
{
    const size_t n = attn_float_text_fixed(value, grid->digits, text);

    if (text[0] != '-' || strspn(text + 1, "0.") < n - 1)
        return n;
    memmove(text, text + 1, n - 1); /* -0.0 */
    return n - 1;
}

const char *attn_grid_cell_text(const struct attn_grid *grid, size_t i, size_t *n)
{
    const char *text = attn_token_text(grid->cells, i, n);

    for (; *n > 1 && *text == ' '; --*n)
        text++;
    return text;
}

bool attn_grid_is_map(const struct attn_grid *grid)
{
    const struct attn_backdrop *backdrop = grid->backdrop;

    return backdrop &&
           grid->matrix.n_column == backdrop->n_front + backdrop->n_row * backdrop->n_col;
}

/* The largest of 1, 2, 2.5 and 5 times a power of ten that is not above SIZE. */
static double round_down(double size)
{
    static const double steps[] = {5, 2.5, 2, 1};
    const double power = attn_pow(10, floor(attn_log10(size)));

    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (steps[i] * power <= size * (1 + 1e-9))
            return steps[i] * power;
    return power;
}

size_t attn_round_ticks(double low, double high, double ticks[ATTN_MOST_TICKS])
{
    const double step = high > low ? round_down((high - low) / 3) : 0;
    double first;
    size_t n = 0;

    if (!(step > 0) || !isfinite(high - low))
        return 0;
    first = ceil(low / step - 1e-9);
    while (n < ATTN_MOST_TICKS && (first + (double)n) * step <= high + 1e-9 * step) {
        ticks[n] = (first + (double)n) * step + 0.0; /* no -0 */
        n++;
    }
    return n;
}

size_t attn_grid_ticks(const struct attn_color_scale *scale, struct attn_color_range range,
                       double ticks[ATTN_MOST_TICKS])
{
    const bool is_unit = range.high == 1 && (range.low == 0 || range.low == -1);
    size_t n;

    if (scale->curve == ATTN_CURVE_LINEAR)
        return attn_round_ticks(range.low, range.high, ticks);
    n = attn_color_ticks(scale, range, ticks);
    for (size_t i = 0; !is_unit && i < n; i++)
        if (ticks[i] != 0)
            ticks[i] = copysign(round_down(fabs(ticks[i])), ticks[i]);
    return n;
}
