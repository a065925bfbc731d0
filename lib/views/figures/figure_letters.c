/* figure_letters.c - how wide strings are, numbers, and tokens in cells, cut to a width. */
#include "figures/figure_internal.h"

#include "tables/text_table.h"

#include <math.h>
#include <string.h>

/* Widths of the ASCII characters from the blank on, in hundredths of the font size, for DejaVu
 * Sans, the widest of the usual proportional fonts. */
static const uint8_t widths[] = {
    32, 41, 46, 84, 64, 96, 78, 28, 40,  40, 50, 84, 32, 37, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 34, 34, 84, 84, 84, 54, 100, 69, 69, 70, 78, 64, 58, 78, 76, 30, 30, 66, 56, 87, 75, 79,
    61, 79, 70, 64, 62, 74, 69, 99, 69,  62, 69, 40, 34, 40, 84, 50, 50, 62, 64, 55, 64, 62, 36, 64,
    64, 28, 28, 58, 28, 98, 64, 62, 64,  64, 42, 53, 40, 64, 60, 82, 60, 60, 53, 64, 34, 64, 84};

double attn_figure_string_width(const struct attn_figure_pen *pen, const char *text, size_t n)
{
    const double other = 0.7; /* width of a column of other characters */
    double width = 0;

    if (!pen->is_printed)
        return attn_figure_text_width(attn_text_width(text, n), 1);
    for (size_t i = 0, size; i < n; i += size) {
        const unsigned char c = (unsigned char)text[i];

        for (size = 1; i + size < n && ((unsigned char)text[i + size] & 0xc0) == 0x80;)
            size++;
        width += c >= ' ' && c - ' ' < (int)sizeof widths
                     ? widths[c - ' '] / 100.0
                     : other * (double)attn_text_width(text + i, size);
    }
    return width;
}

/* Returns the name of TEXT [n] if it is a token of blanks in quotes, else TEXT. */
static const char *name_of(const char *text, size_t *n)
{
    static const char *const names[] = {"blank",    "2 blanks", "3 blanks", "4 blanks",
                                        "5 blanks", "6 blanks", "7 blanks", "8 blanks or more"};
    const size_t n_blank = *n > 2 ? *n - 2 : 0;

    if (n_blank == 0 || n_blank > sizeof names / sizeof *names || text[0] != '\'' ||
        text[*n - 1] != '\'' || strspn(text + 1, " ") < n_blank)
        return text;
    *n = strlen(names[n_blank - 1]);
    return names[n_blank - 1];
}

void attn_figure_name_blanks(struct attn_buffer *label)
{
    size_t n = label->size;
    const char *text = name_of(label->data, &n);

    if (text == label->data)
        return;
    label->size = 0;
    attn_buffer_append(label, text, n);
}

const char *attn_figure_word(struct attn_figure_pen *pen, size_t at, size_t *n)
{
    enum { COLUMNS = 10, PRINTED = 8 };
    const double widest = 4.4; /* most words of eight letters */
    const char *text = name_of(attn_grid_cell_text(pen->content->grid, at, n), n);
    struct attn_buffer *word = &pen->scratch;
    size_t n_column = pen->is_printed ? PRINTED : COLUMNS;

    do {
        word->size = 0;
        attn_text_append_cut(word, text, *n, n_column--, ATTN_ELLIPSIS);
    } while (pen->is_printed && n_column > 1 &&
             attn_figure_string_width(pen, word->data, word->size) > widest);
    *n = word->size;
    return word->data;
}

double attn_figure_widest_word(struct attn_figure_pen *pen)
{
    double widest = 0;

    for (size_t i = 0; i < pen->content->grid->cells->n; i++) {
        size_t n;
        const char *word = attn_figure_word(pen, i, &n);

        widest = fmax(widest, word ? attn_figure_string_width(pen, word, n) : 0);
    }
    return widest;
}

size_t attn_figure_write_number(bool is_percent, double value, char text[ATTN_FIGURE_NUMBER])
{
    size_t n = attn_float_text_fixed((float)(is_percent ? round(100 * value) : value),
                                     is_percent ? 0 : 2, text);

    if (is_percent) {
        text[n++] = ' ';
        text[n++] = '%';
    }
    return n;
}

void attn_figure_append_signed(struct attn_buffer *text, double number, int digits)
{
    static const double least[] = {0.5, 0.05, 0.005, 0.0005, 0.00005};

    attn_buffer_append_format(text, "%s%.*f", number <= -least[digits] ? "\xe2\x88\x92" : "",
                              digits, fabs(number));
}
