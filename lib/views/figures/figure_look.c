/* figure_look.c - what makes an answer: the heads that write most of it are plates above the words
 * at which they look, in the rows of their layers; MLPs, the embedding and all other heads are
 * plates at the right. A plate has its name and what it writes, in logits, and a head says how hard
 * it looks, in the hue of its kind. From each plate a ribbon goes to the box of the answer, as wide
 * as what it writes; ribbons pass the plates between (figure_routes.h). The words of the text are
 * the foot; long texts fold those at which no plate looks. In SVG the answer, plates, ribbons and
 * words have attributes that say what they are (data-part, data-writes ...). */
#include "figures/figure_internal.h"
#include "figures/figure_routes.h"
#include "figures/figure_streams.h"
#include "figures/table_axis.h"

#include "base/memory.h"
#include "base/text/escape.h"
#include "formats/quoting.h"
#include "measures/head_kind.h"
#include "measures/metric.h"
#include "tables/table_internal.h"
#include "tables/text_table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BAR = 5, /* width of the hue of a head */
    PAD = 5, /* in a plate */
    FAR = 16,
    NEAR = 7,       /* between rows, and between those of a layer */
    ABOVE = 30,     /* between the box of the answer and the first row */
    LEFT = 26,      /* width for the numbers of layers */
    WORD = 16,      /* columns of text of a word, */
    SHORT_WORD = 8, /* and of one that is cut */
    NARROW = 390,   /* figures below this width have a third line in plates, */
    COLUMN = 300,   /* and below this, in points, thin ribbons */
};

#define OPACITY 0.72 /* of the color of a ribbon on paper */

#define PIXEL(pen) (0.75 / (pen)->unit) /* of a page, in units */

/* A part that is drawn. `box` comes first: routes pass it. */
struct plate {
    struct attn_route_box box;
    size_t row;              /* of the table */
    int64_t layer, position; /* layer -1: a group; position -1: none */
    double writes;
    bool is_ghost;
    struct attn_route_end end; /* of its ribbon, at the box of the answer */
};

/* A word of the foot, or several that are folded. */
struct word {
    size_t first, n; /* tokens; n 0: all others, at which plates of several words look */
    double width, x; /* x: its middle */
    double weight;   /* what the plates above it write, without signs; 0: none */
};

struct look {
    const struct attn_table *table;
    size_t columns[5]; /* of writes, weight, type, token and unchanged */
    struct attn_cell tokens, ends;
    int64_t at;
    double sum, size;     /* of all that is written, with and without signs */
    struct plate *plates; /* [n] heads, then groups */
    size_t n, n_head;
    struct attn_route_box **boxes; /* [n] those of heads, from below */
    struct word *words;
    size_t n_word;
    double letters, gap; /* font size of the foot, and the space between words */
    double left, right;  /* ends of the foot */
    double group_x, group_width, plate_width, plate_height, line;
    double top, bottom, scale; /* scale: units a logit */
};

enum { WRITES, WEIGHT, TYPE, TOKEN, UNCHANGED };

static struct attn_cell cell_of(const struct look *look, const struct plate *plate, int column)
{
    return attn_table_cell(look->table, plate->row, look->columns[column]);
}

/* Returns the text of token I [*n]. */
static const char *token_of(const struct look *look, size_t i, size_t *n)
{
    const int64_t begin = i > 0 ? look->ends.list[i - 1] : 0;

    *n = (size_t)(look->ends.list[i] - begin);
    return look->tokens.text + begin;
}

/* --- Plates ----------------------------------------------------------------------------------- */

enum { NAME, EFFECT, LOOKS, N_TEXT };

static bool is_narrow(const struct attn_figure_pen *pen)
{
    return pen->room > 0 && pen->room < NARROW;
}

/* Writes text I of PLATE to the scratch buffer. */
static void write_text(struct attn_figure_pen *pen, const struct look *look,
                       const struct plate *plate, int i)
{
    const struct attn_cell part = attn_table_role_cell(look->table, plate->row, ATTN_ROLE_WRITER),
                           weight = cell_of(look, plate, WEIGHT),
                           token = cell_of(look, plate, TOKEN);
    struct attn_buffer *text = &pen->scratch;

    text->size = 0;
    if (i == NAME)
        attn_buffer_append(text, part.text, part.size);
    if (i == EFFECT)
        attn_figure_append_signed(text, plate->writes, 1);
    if (i != LOOKS || weight.type != ATTN_VALUE_REAL)
        return;
    attn_buffer_append_string(text, is_narrow(pen) ? "\xe2\x86\x92 " : "looks ");
    if (look->words[look->n_word - 1].n == 0 && token.type == ATTN_VALUE_TEXT &&
        look->words[look->n_word - 1].x == plate->box.x + plate->box.width / 2)
        attn_table_append_label(text, token.text, token.size, SHORT_WORD);
    attn_buffer_append_format(text, "%.0f %%", 100 * weight.real);
}

static double scratch_width(const struct attn_figure_pen *pen, double size)
{
    return attn_figure_string_width(pen, pen->scratch.data, pen->scratch.size) * size;
}

/* Sets the sizes of plates: all heads are as wide as the widest, and all groups. */
static void size_plates(struct attn_figure_pen *pen, struct look *look)
{
    const double small = pen->letters.tick, name = pen->letters.label * 0.95;
    const double bold = 1.12; /* times as wide, of names */

    look->line = small + 4;
    for (size_t i = 0; i < look->n; i++) {
        const struct plate *plate = &look->plates[i];
        double *widest = plate->layer < 0 ? &look->group_width : &look->plate_width;
        double widths[N_TEXT];

        for (int k = 0; k < N_TEXT; k++) {
            write_text(pen, look, plate, k);
            widths[k] = scratch_width(pen, k == NAME ? bold * name : small);
        }
        if (is_narrow(pen))
            *widest = fmax(*widest, fmax(widths[NAME], fmax(widths[EFFECT], widths[LOOKS])));
        else
            *widest = fmax(*widest, fmax(widths[NAME] + PAD + widths[EFFECT], widths[LOOKS]));
    }
    look->plate_width = ceil(look->plate_width + BAR + 2 * PAD);
    look->group_width = ceil(look->group_width + 2 * PAD);
    look->plate_height = ceil(name + (is_narrow(pen) ? 2 : 1) * look->line + 2 * PAD);
    for (size_t i = 0; i < look->n; i++) {
        struct plate *plate = &look->plates[i];

        plate->box.width = plate->layer < 0 ? look->group_width : look->plate_width;
        plate->box.height =
            plate->layer < 0 && !is_narrow(pen) ? ceil(name + 2 * PAD) : look->plate_height;
        if (plate->layer < 0 && is_narrow(pen))
            plate->box.height -= look->line;
    }
}

/* Reads the parts: the rows of heads, then those of groups. */
static enum attn_status read_parts(struct attn_figure_pen *pen, struct look *look,
                                   struct attn_error *err)
{
    const size_t n = attn_table_n_row(look->table);

    ATTN_TRY(ATTN_FIGURE_ALLOC(pen, look->plates, n, err));
    ATTN_TRY(ATTN_FIGURE_ALLOC(pen, look->boxes, n, err));
    for (size_t row = 0; row < n; row++) {
        const struct attn_cell part = attn_table_role_cell(look->table, row, ATTN_ROLE_WRITER),
                               at = attn_table_role_cell(look->table, row, ATTN_ROLE_POSITION);
        struct plate *plate = &look->plates[look->n];

        *plate = (struct plate){.row = row, .layer = -1, .position = -1};
        plate->writes = cell_of(look, plate, WRITES).real;
        const struct attn_cell before = cell_of(look, plate, UNCHANGED);

        if (before.type == ATTN_VALUE_REAL && plate->writes == 0) {
            plate->is_ghost = before.real != 0;
            plate->writes = before.real;
        }
        look->size += fabs(before.type == ATTN_VALUE_REAL ? before.real : plate->writes);
        if (part.text[0] >= '0' && part.text[0] <= '9') {
            plate->layer = strtol(part.text, NULL, 10);
            plate->position = at.type == ATTN_VALUE_INTEGER ? at.integer : look->at;
            look->n_head++;
        }
        if (plate->layer >= 0 || plate->writes != 0)
            look->n++;
    }
    return ATTN_OK;
}

/* --- The foot --------------------------------------------------------------------------------- */

/* Whether token I occurs elsewhere, so that it has its number. */
static bool is_repeated(const struct look *look, size_t i)
{
    size_t n, m;
    const char *own = token_of(look, i, &n), *text;

    own = attn_text_trim(own, &n);
    if (n < 2 || attn_metric_is_punctuation(own, n))
        return false;
    for (size_t k = 0; k < look->ends.size; k++) {
        text = token_of(look, k, &m);
        text = attn_text_trim(text, &m);
        if (k != i && m == n && memcmp(text, own, n) == 0)
            return true;
    }
    return false;
}

/* Writes WORD to the scratch buffer; a word that occurs twice at which a plate looks has the number
 * of its position. */
static void write_word(struct attn_figure_pen *pen, const struct look *look,
                       const struct word *word, size_t most)
{
    struct attn_buffer *text = &pen->scratch;
    size_t n;
    const char *token;

    text->size = 0;
    if (word->n == 0)
        attn_buffer_append_string(text, "other words");
    else if (word->n > 1)
        attn_buffer_append_string(text, ATTN_ELLIPSIS);
    if (word->n != 1)
        return;
    token = token_of(look, word->first, &n);
    attn_table_append_label(text, token, n, most);
    if (word->weight == 0 || !is_repeated(look, word->first))
        return;
    char digits[24];

    snprintf(digits, sizeof digits, "%zu", word->first);
    for (const char *digit = digits; *digit; digit++) /* subscripts */
        attn_buffer_append_format(text, "\xe2\x82%c", (char)(0x80 + (*digit - '0')));
}

/* Sets the widths of the words, and returns that of the foot. */
static double measure_foot(struct attn_figure_pen *pen, struct look *look, size_t most)
{
    double width = 0;

    for (size_t i = 0; i < look->n_word; i++) {
        write_word(pen, look, &look->words[i], most);
        look->words[i].width =
            scratch_width(pen, look->letters) * (look->words[i].weight > 0 ? 1.1 : 1);
        width += look->words[i].width + (i > 0 ? look->gap : 0);
    }
    return width;
}

/* Folds the words without plates into one for each run of them. */
static void fold_words(struct look *look)
{
    size_t n = 0;

    for (size_t i = 0; i < look->n_word; i++) {
        const struct word word = look->words[i];
        struct word *last = n > 0 ? &look->words[n - 1] : NULL;

        if (last && word.weight == 0 && last->weight == 0)
            last->n += word.n;
        else
            look->words[n++] = word;
    }
    look->n_word = n;
}

/* Makes the word whose plates write least one of the other words. */
static void drop_word(struct look *look)
{
    struct word *least = look->words, *last = &look->words[look->n_word - 1];

    for (struct word *word = look->words; word <= last; word++)
        if (word->n > 0 && (least->n == 0 || word->weight < least->weight) &&
            word->first != (size_t)look->at)
            least = word;
    if (last->n > 0) {
        look->words[look->n_word] = (struct word){.first = SIZE_MAX};
        last = &look->words[look->n_word++];
    }
    last->weight += least->weight;
    memmove(least, least + 1, (size_t)(last - least) * sizeof *least);
    look->n_word--;
    fold_words(look);
}

/* Lays out the foot in WIDTH, of 0 in as much as it takes: in smaller letters, then folded, then
 * with words cut, then with other words. */
static enum attn_status lay_foot(struct attn_figure_pen *pen, struct look *look, double width,
                                 struct attn_error *err)
{
    const double large = pen->letters.word, small = pen->letters.label;
    double taken, x = look->left;
    size_t most = WORD;

    look->n_word = look->ends.size;
    ATTN_TRY(ATTN_FIGURE_ALLOC(pen, look->words, look->n_word + 1, err));
    for (size_t i = 0; i < look->n_word; i++)
        look->words[i] = (struct word){.first = i, .n = 1};
    for (size_t i = 0; i < look->n_head; i++)
        look->words[look->plates[i].position].weight += fabs(look->plates[i].writes);
    look->words[look->at].weight = fmax(look->words[look->at].weight, 1e-9); /* stays */
    look->letters = large;
    look->gap = 0.6 * large;
    taken = measure_foot(pen, look, most);
    if (width > 0 && taken > width) {
        look->letters = fmax(small, large * width / taken);
        look->gap = 0.6 * look->letters;
        taken = measure_foot(pen, look, most);
    }
    if (width > 0 && taken > width) {
        fold_words(look);
        taken = measure_foot(pen, look, most);
    }
    if (width > 0 && taken > width)
        taken = measure_foot(pen, look, most = SHORT_WORD);
    while (width > 0 && taken > width && look->n_word > 3) {
        drop_word(look);
        taken = measure_foot(pen, look, most);
    }
    if (width > taken && look->n_word > 1)
        look->gap += fmin((width - taken) / (double)(look->n_word - 1), 5 * look->gap);
    for (size_t i = 0; i < look->n_word; i++) {
        look->words[i].x = x + look->words[i].width / 2;
        x += look->words[i].width + look->gap;
    }
    look->right = x - look->gap;
    return ATTN_OK;
}

/* Returns the word of POSITION: the last one, of all others, if it is none. */
static const struct word *word_of(const struct look *look, int64_t position)
{
    for (size_t i = 0; i + 1 < look->n_word; i++)
        if ((size_t)position - look->words[i].first < look->words[i].n)
            return &look->words[i];
    return &look->words[look->n_word - 1];
}

/* --- Rows ------------------------------------------------------------------------------------- */

static int by_layer(const void *a, const void *b)
{
    const struct plate *x = a, *y = b;

    if (x->layer != y->layer)
        return x->layer < y->layer ? 1 : -1;
    return (x->row > y->row) - (x->row < y->row);
}

/* Returns the x nearest to WANTED at which a plate fits beside PLATES [n] of the line at Y, at most
 * half a plate away; NaN: none. */
static double find_x(const struct look *look, const struct plate *plates, size_t n, double y,
                     double wanted, double right)
{
    const double width = look->plate_width, gap = 6;
    double best = (double)NAN;

    for (size_t i = 0; i <= 2 * n; i++) {
        const struct plate *beside = &plates[i / 2];
        double x = i == 2 * n ? wanted
                   : i % 2    ? beside->box.x + width + gap
                              : beside->box.x - width - gap;
        bool is_free = x >= look->left && x + width <= right;

        for (size_t k = 0; k < n && is_free; k++)
            is_free = plates[k].box.y != y || fabs(plates[k].box.x - x) > width + gap - 0.5;
        if (is_free && fabs(x - wanted) <= 0.75 * width &&
            (isnan(best) || fabs(x - wanted) < fabs(best - wanted)))
            best = x;
    }
    return best;
}

/* Places the heads in rows below TOP: above their words, or beside those that stand there. */
static void place_heads(struct look *look, double top)
{
    const double right = fmax(look->right, look->left + look->plate_width);
    double y = top;

    qsort(look->plates, look->n_head, sizeof *look->plates, by_layer);
    for (size_t i = 0; i < look->n_head; i++) {
        struct plate *plate = &look->plates[i];
        const double wanted =
            fmax(look->left, fmin(right - look->plate_width,
                                  word_of(look, plate->position)->x - look->plate_width / 2));
        double first = y, x = (double)NAN;

        if (i > 0 && plate[-1].layer != plate->layer)
            first = y += look->plate_height + FAR;
        else
            for (const struct plate *other = look->plates; other < plate; other++)
                first = other->layer == plate->layer ? fmin(first, other->box.y) : first;
        while (isnan(x)) {
            x = find_x(look, look->plates, i, first, wanted, right);
            plate->box.y = first;
            first += look->plate_height + NEAR;
        }
        plate->box.x = x;
        y = fmax(y, plate->box.y);
    }
    look->bottom = y + (look->n_head > 0 ? look->plate_height : 0);
}

/* Places the groups at the right. */
static void place_groups(struct look *look, double top)
{
    double y = top;

    for (struct plate *plate = look->plates + look->n_head; plate < look->plates + look->n;
         plate++) {
        plate->box.x = look->group_x;
        plate->box.y = y;
        y += plate->box.height + NEAR;
    }
    look->bottom = fmax(look->bottom, y + look->line);
}

/* --- Ribbons ---------------------------------------------------------------------------------- */

static double width_of(const struct attn_figure_pen *pen, const struct look *look,
                       const struct plate *plate)
{
    return fmax(0.75 * PIXEL(pen), look->scale * fabs(plate->writes));
}

static int by_x(const void *a, const void *b)
{
    const struct plate *const *x = a, *const *y = b;

    return ((*x)->box.x > (*y)->box.x) - ((*x)->box.x < (*y)->box.x);
}

/* Returns the width of the ribbons of PLATES [n]. */
static double width_of_all(const struct attn_figure_pen *pen, const struct look *look,
                           const struct plate *plates, size_t n)
{
    double width = 0;

    for (size_t i = 0; i < n; i++)
        width += width_of(pen, look, &plates[i]);
    return width;
}

/* Lays the ends of ribbons at the box of the answer side by side, up to RIGHT. */
static enum attn_status spread_ends(struct attn_figure_pen *pen, struct look *look, double right,
                                    struct attn_error *err)
{
    double x = right - width_of_all(pen, look, look->plates, look->n);
    struct plate **order;

    ATTN_TRY(ATTN_FIGURE_ALLOC(pen, order, look->n, err));
    for (size_t i = 0; i < look->n; i++)
        order[i] = &look->plates[i];
    qsort(order, look->n, sizeof *order, by_x);
    for (size_t i = 0; i < look->n; i++) {
        const double own = width_of(pen, look, order[i]);

        order[i]->end = (struct attn_route_end){x + own / 2, look->top, own};
        x += own;
    }
    return ATTN_OK;
}

static void add_ribbon(struct attn_figure_pen *pen, const struct look *look,
                       const struct plate *plate)
{
    const struct attn_cell part = attn_table_role_cell(look->table, plate->row, ATTN_ROLE_WRITER);
    const uint32_t color = attn_rgb_number(
        attn_rgb_mix(attn_streams_color(pen, plate->writes), OPACITY, pen->options->theme));
    const double x = plate->box.x, y = plate->box.y + plate->box.height / 2;

    attn_shapes_set_mark(pen->shapes, "data-part=\"%.*s\"", (int)part.size, part.text);
    if (plate->layer < 0)
        attn_shapes_add_curve(
            pen->shapes, (struct attn_shape_curve){x, y, plate->end.x, y, plate->end.x,
                                                   look->top + 0.6 * (y - look->top), plate->end.x,
                                                   look->top, plate->end.width, color});
    else
        attn_route_add(pen, look->boxes, look->n_head,
                       (double[]){x + plate->box.width / 2, plate->box.y, plate->end.x, look->top},
                       (struct attn_route_pen){plate->end.width, color, NULL});
    attn_shapes_end_mark(pen->shapes);
}

/* --- Drawing ---------------------------------------------------------------------------------- */

/* Appends NAME="VALUE" to the attributes in OUT. */
static void append_text_of(struct attn_buffer *out, const char *name, struct attn_cell value)
{
    attn_buffer_append_format(out, " data-%s=\"", name);
    if (value.type == ATTN_VALUE_REAL)
        attn_buffer_append_format(out, "%.4f", value.real);
    else if (value.type == ATTN_VALUE_INTEGER)
        attn_buffer_append_format(out, "%" PRId64, value.integer);
    else if (value.type == ATTN_VALUE_TEXT)
        attn_markup_append(out, value.text, value.size, true);
    attn_buffer_append_char(out, '"');
}

/* Begins the element of the answer, or of PLATE. */
static void begin_group(struct attn_figure_pen *pen, const struct look *look,
                        const struct plate *plate, const char *kind)
{
    static const struct {
        const char *name, *column;
    } of_plate[] = {{"writes", "writes"},
                    {"writes-target", "writes_target"},
                    {"writes-foil", "writes_foil"},
                    {"missing", "missing"},
                    {"key", "position"},
                    {"weight", "weight"}},
      of_answer[] = {{"at", "position"}, {"target", "target"}, {"foil", "foil"}, {"value", "sum"}};
    const struct attn_table *table = look->table;
    struct attn_buffer *out = &pen->scratch;

    out->size = 0;
    if (plate)
        append_text_of(out, "part", attn_table_role_cell(table, plate->row, ATTN_ROLE_WRITER));
    for (size_t i = 0; plate && i < sizeof of_plate / sizeof *of_plate; i++) {
        const struct attn_cell cell =
            attn_table_cell(table, plate->row, attn_table_find(table, of_plate[i].column));

        if (cell.type != ATTN_VALUE_MISSING)
            append_text_of(out, of_plate[i].name, cell);
    }
    for (size_t i = 0; !plate && i < sizeof of_answer / sizeof *of_answer; i++)
        append_text_of(out, of_answer[i].name, attn_table_fact(table, of_answer[i].column));
    if (kind)
        append_text_of(out, "kind", attn_cell_string(kind));
    if (plate && plate->is_ghost)
        append_text_of(out, "ghost", attn_cell_string("true"));
    attn_shapes_begin_group(pen->shapes, out->data, out->size);
    out->size = 0;
}

/* Adds a dashed frame. */
static void add_dashes(struct attn_figure_pen *pen, const struct attn_route_box *box)
{
    enum { DASH = 4 };
    const double right = box->x + box->width, low = box->y + box->height;
    double x = box->x, y = box->y;

    while (x < right) {
        for (int i = 0; i < 2; i++)
            attn_figure_add_line(pen, (double[]){x, i ? low : box->y},
                                 (double[]){fmin(x + DASH, right), i ? low : box->y}, 1,
                                 pen->faint);
        x += 2 * DASH;
    }
    while (y < low) {
        for (int i = 0; i < 2; i++)
            attn_figure_add_line(pen, (double[]){i ? right : box->x, y},
                                 (double[]){i ? right : box->x, fmin(y + DASH, low)}, 1,
                                 pen->faint);
        y += 2 * DASH;
    }
}

static void add_plate(struct attn_figure_pen *pen, const struct look *look,
                      const struct plate *plate)
{
    const struct attn_route_box *box = &plate->box;
    const struct attn_cell type = cell_of(look, plate, TYPE);
    const struct attn_head_kind *kind =
        type.type == ATTN_VALUE_TEXT ? attn_head_kind_find(type.text, type.size) : NULL;
    const double small = pen->letters.tick, name = 0.95 * pen->letters.label;
    const double left = box->x + (plate->layer < 0 ? 0 : BAR) + PAD, right = box->x + box->width;
    struct attn_shape_text text =
        attn_figure_text(left, box->y + PAD + 0.82 * name, name, pen->ink, ATTN_ANCHOR_START);

    begin_group(pen, look, plate, kind ? kind->name : NULL);
    attn_figure_add_box(pen, box->x, box->y, box->width, box->height, pen->shapes->paper);
    if (kind && !plate->is_ghost)
        attn_figure_add_box(pen, box->x, box->y, BAR, box->height,
                            attn_rgb_number(attn_hue_color(kind->hue, 1, pen->options->theme)));
    if (plate->is_ghost)
        add_dashes(pen, box);
    else
        attn_figure_add_outline(pen, (double[]){box->x, box->y, right, box->y + box->height}, 1,
                                pen->frame);
    text.is_bold = !plate->is_ghost;
    text.color = plate->is_ghost ? pen->faint : pen->ink;
    write_text(pen, look, plate, NAME);
    attn_figure_add_scratch(pen, text);
    text.is_bold = false;
    text.size = small;
    if (is_narrow(pen)) {
        text.y += look->line;
    } else {
        text.x = right - PAD;
        text.anchor = ATTN_ANCHOR_END;
    }
    write_text(pen, look, plate, EFFECT);
    attn_figure_add_scratch(pen, text);
    text.x = left;
    text.anchor = ATTN_ANCHOR_START;
    text.color = pen->faint;
    text.y += look->line + (is_narrow(pen) ? 0 : 1);
    write_text(pen, look, plate, LOOKS);
    attn_figure_add_scratch(pen, text);
    attn_shapes_end_group(pen->shapes);
}

/* Adds the words, with a line below that of the question. */
static void add_foot(struct attn_figure_pen *pen, const struct look *look, double y)
{
    for (size_t i = 0; i < look->n_word; i++) {
        const struct word *word = &look->words[i];
        const bool is_at = word->n == 1 && word->first == (size_t)look->at;
        struct attn_shape_text text =
            attn_figure_text(word->x, y, look->letters, word->weight > 0 ? pen->ink : pen->faint,
                             ATTN_ANCHOR_MIDDLE);

        text.is_bold = word->weight > 0;
        write_word(pen, look, word, look->letters > pen->letters.label ? WORD : SHORT_WORD);
        attn_shapes_set_mark(pen->shapes, word->n == 1 ? "data-word=\"%zu\"" : "data-words=\"%zu\"",
                             word->first);
        attn_figure_add_scratch(pen, text);
        attn_shapes_end_mark(pen->shapes);
        if (is_at)
            attn_figure_add_line(pen, (double[]){word->x - word->width / 2, y + 4},
                                 (double[]){word->x + word->width / 2, y + 4}, 2.5, pen->ink);
    }
}

/* Adds the numbers of layers. */
static void add_layers(struct attn_figure_pen *pen, const struct look *look)
{
    struct attn_shape_text text =
        attn_figure_text(look->left - 4, 0, pen->letters.tick, pen->faint, ATTN_ANCHOR_END);

    for (size_t i = 0; i < look->n_head; i++) {
        const struct plate *plate = &look->plates[i];

        text.y = plate->box.y + plate->box.height / 2 + 0.35 * text.size;
        if (i == 0 || plate[-1].layer != plate->layer)
            attn_shapes_add_number(pen->shapes, &text, (size_t)plate->layer);
    }
    text.y = look->top - 4;
    text.x = look->left - LEFT + 2;
    text.anchor = ATTN_ANCHOR_START;
    if (look->n_head > 0)
        attn_shapes_add_string(pen->shapes, &text, "layer");
}

/* Writes the answer: "Mary instead of John  6.1", "are  14.9 above the mean". */
static void write_answer(struct attn_figure_pen *pen, const struct look *look)
{
    const struct attn_cell target = attn_table_fact(look->table, "target"),
                           foil = attn_table_fact(look->table, "foil");
    struct attn_buffer *out = &pen->scratch;
    const size_t most = is_narrow(pen) ? SHORT_WORD : WORD;

    out->size = 0;
    attn_table_append_label(out, target.text, target.size, most);
    if (foil.size > 0) {
        attn_buffer_append_string(out, is_narrow(pen) ? ", not " : " instead of ");
        attn_table_append_label(out, foil.text, foil.size, most);
    }
    attn_buffer_append_string(out, "  ");
    attn_figure_append_signed(out, look->sum, 1);
    if (foil.size == 0)
        attn_buffer_append_string(out, is_narrow(pen) ? "" : " above the mean");
}

/* Returns half the width of the box of the answer. */
static double half_of_answer(struct attn_figure_pen *pen, const struct look *look)
{
    write_answer(pen, look);
    return scratch_width(pen, 0.95 * pen->letters.label) / 2 * 1.1 + 2 * PAD;
}

static void add_answer(struct attn_figure_pen *pen, const struct look *look, double x)
{
    const double size = 0.95 * pen->letters.label, height = look->line + 2 * PAD,
                 half = half_of_answer(pen, look);
    struct attn_shape_text text = attn_figure_text(x, look->top - height / 2 + 0.35 * size, size,
                                                   pen->ink, ATTN_ANCHOR_MIDDLE);

    text.is_bold = true;
    attn_figure_add_box(pen, x - half, look->top - height, 2 * half, height, pen->shapes->paper);
    attn_figure_add_outline(pen, (double[]){x - half, look->top - height, x + half, look->top}, 1.4,
                            pen->ink);
    attn_figure_add_scratch(pen, text);
}

/* Adds "= 6.1 logits" below the groups. */
static void add_sum(struct attn_figure_pen *pen, const struct look *look)
{
    double y = look->top + ABOVE;
    struct attn_shape_text text;

    for (size_t i = look->n_head; i < look->n; i++)
        y = look->plates[i].box.y + look->plates[i].box.height;
    text = attn_figure_text(look->group_x + look->group_width - PAD, y + look->line,
                            pen->letters.tick, pen->ink, ATTN_ANCHOR_END);
    text.is_bold = true;
    pen->scratch.size = 0;
    attn_buffer_append_string(&pen->scratch, "= ");
    attn_figure_append_signed(&pen->scratch, look->sum, 1);
    attn_buffer_append_string(&pen->scratch, is_narrow(pen) ? "" : " logits");
    attn_figure_add_scratch(pen, text);
}

static struct look read_table(const struct attn_table *table)
{
    static const char *const names[] = {"writes", "weight", "type", "token", "unchanged"};
    struct look look = {.table = table,
                        .tokens = attn_table_fact(table, "tokens"),
                        .ends = attn_table_fact(table, "ends"),
                        .at = attn_table_fact(table, "position").integer,
                        .sum = attn_table_fact(table, "sum").real};

    for (int i = 0; i < 5; i++)
        look.columns[i] = attn_table_find(table, names[i]);
    return look;
}

static enum attn_status draw_figure(struct attn_figure_pen *pen, struct attn_error *err)
{
    struct look look = read_table(pen->content->table);
    const double pixels = pen->room > 0 && pen->room * pen->unit < COLUMN ? 1 / 3.0 : 1;
    double box, half, right, lane;

    ATTN_TRY(read_parts(pen, &look, err));
    look.words = &(struct word){.n = 1};
    look.n_word = 1;
    size_plates(pen, &look);
    look.scale = pixels * PIXEL(pen) * fmin(7, look.size > 0 ? 60 / look.size : 7);
    lane = 10 + width_of_all(pen, &look, look.plates + look.n_head, look.n - look.n_head);
    look.left = ATTN_FIGURE_PAD + LEFT;
    right = pen->room > 0 ? pen->room - ATTN_FIGURE_PAD - look.group_width : 0;
    ATTN_TRY(lay_foot(pen, &look, right > 0 ? right - lane - look.left : 0, err));
    look.right = fmax(look.right, look.left + 3 * look.plate_width);
    look.group_x = fmax(look.right + lane, right);
    right = look.group_x + look.group_width;
    half = half_of_answer(pen, &look);
    box = fmin(fmax(look.group_x - half / 2, half + ATTN_FIGURE_PAD), right - half);
    look.top = ceil(attn_figure_add_heading(pen, right + ATTN_FIGURE_PAD)) + look.line + 2 * PAD;
    place_heads(&look, look.top + ABOVE);
    place_groups(&look, look.top + ABOVE);
    pen->shapes->height = ceil(look.bottom + 1.6 * look.letters + ATTN_FIGURE_PAD + FAR / 2.0);
    if (pen->is_measuring)
        return ATTN_OK;
    ATTN_TRY(spread_ends(pen, &look, look.group_x - 3, err));
    for (size_t i = 0; i < look.n_head; i++) /* from below */
        look.boxes[i] = &look.plates[look.n_head - 1 - i].box;
    begin_group(pen, &look, NULL, NULL);
    add_layers(pen, &look);
    for (size_t i = 0; i < look.n; i++)
        if (!look.plates[i].is_ghost)
            add_ribbon(pen, &look, &look.plates[i]);
    for (size_t i = 0; i < look.n; i++)
        add_plate(pen, &look, &look.plates[i]);
    add_answer(pen, &look, box);
    add_sum(pen, &look);
    add_foot(pen, &look, look.bottom + FAR / 2.0 + look.letters);
    attn_shapes_end_group(pen->shapes);
    return ATTN_OK;
}

const attn_figure_fn attn_figure_draw_look = draw_figure;
