/* page_first_view.c - see page_internal.h. */
#include "page/page_internal.h"

#include "base/memory.h"
#include "base/sink_internal.h"
#include "formats/quoting.h"
#include "pictures/colormap_internal.h"
#include "pictures/picture_internal.h"
#include "pictures/png_file.h"

#include <math.h>
#include <string.h>

void attn_page_head_append_name(struct attn_buffer *out, const struct attn_page_head *head,
                                const struct attn_labels *labels)
{
    if (head->at.stack != ATTN_STACK_ONLY)
        attn_buffer_append_format(out, "%s layer %d, ", attn_model_stack_name(head->at.stack),
                                  head->at.layer);
    else if (!labels->axes || labels->axes->rank == 4)
        attn_buffer_append_format(out, "%s %d, ", labels->axes ? "batch" : "layer", head->group);
    attn_buffer_append_format(out, "head %d", head->number);
}

/* --- The picture ----------------------------------------------------------------------------- */

enum {
    GAP = 4,         /* pixels between heads */
    USUAL_SIDE = 48, /* approximate pixels of a side of a head */
    MASKED = 0,      /* special entries of the palette; entries in between are colors of weights */
    GROUND = 255,
};

struct picture {
    /* [n_down * n_across] owns; NULL: no head at this place */
    const struct attn_page_head **places;
    size_t n_down, n_across;
    size_t cell, side; /* pixels of a side of a cell, and of a head */
    uint32_t palette[256];
};

/* Arranges the heads: each group is a row, and a head's number is its column. */
static enum attn_status place_heads(struct picture *picture, const struct attn_page_heads *heads,
                                    struct attn_error *err)
{
    size_t side = 1; /* cells of a side of the largest thumbnail */
    int group = -1;

    for (size_t i = 0; i < heads->n; i++) {
        picture->n_down += heads->items[i].group != group;
        group = heads->items[i].group;
        side = heads->items[i].n_thumb_row > side ? heads->items[i].n_thumb_row : side;
        side = heads->items[i].n_thumb_col > side ? heads->items[i].n_thumb_col : side;
        if ((size_t)heads->items[i].number + 1 > picture->n_across)
            picture->n_across = (size_t)heads->items[i].number + 1;
    }
    picture->places =
        attn_alloc(picture->n_down * picture->n_across, sizeof(const struct attn_page_head *), err);
    if (!picture->places)
        return ATTN_NO_MEMORY;
    group = -1;
    for (size_t i = 0, down = 0; i < heads->n; i++) {
        down += group != -1 && heads->items[i].group != group;
        group = heads->items[i].group;
        picture->places[down * picture->n_across + (size_t)heads->items[i].number] =
            &heads->items[i];
    }
    picture->cell = side < USUAL_SIDE ? USUAL_SIDE / side : 1;
    picture->side = side * picture->cell;
    return ATTN_OK;
}

/* Fills the palette. Entries 1 .. 254 are colors of weights, in equal steps of the square root. */
static void fill_palette(struct picture *picture, const struct attn_picture_options *options)
{
    const struct attn_color_scale scale = attn_color_scale_of(ATTN_RANGE_SHARE, false);
    const struct attn_color_range range = attn_color_range(&scale, 0, 1);
    const enum attn_theme theme = options->theme;
    const struct attn_colormap *map =
        attn_picture_colormap(options, &scale, theme == ATTN_THEME_DARK ? "viridis" : "blues");

    picture->palette[MASKED] = attn_cell_look(ATTN_CELL_MASKED, theme).ground;
    picture->palette[GROUND] = theme == ATTN_THEME_DARK ? 0x101317 : 0xffffff;
    for (int i = 1; i < GROUND; i++) {
        const double root = (i - 1) / 253.0;

        picture->palette[i] = attn_rgb_number(
            attn_colormap_color(map, theme, attn_color_level(&scale, range, root * root)));
    }
}

/* Fills one row of pixels (attn_png_row_fn). */
static void fill_row(void *user, size_t y, unsigned char *row)
{
    const struct picture *picture = user;
    const size_t step = picture->side + GAP, down = y / step, r = y % step / picture->cell;

    memset(row, GROUND, picture->n_across * step - GAP);
    for (size_t i = 0; i < picture->n_across; i++) {
        const struct attn_page_head *head = picture->places[down * picture->n_across + i];

        if (!head || y % step >= picture->side || r >= head->n_thumb_row)
            continue;
        for (size_t x = 0; x < head->n_thumb_col * picture->cell; x++) {
            const unsigned level = head->thumb[r * head->n_thumb_col + x / picture->cell];

            row[i * step + x] = (unsigned char)(level == 0 ? MASKED : 1 + (level - 1) * 253 / 254);
        }
    }
}

/* --- The table ------------------------------------------------------------------------------- */

/* Appends the heading of a row or a column. */
static void append_label(struct attn_buffer *out, const struct attn_token_texts *texts,
                         size_t position)
{
    size_t size;
    const char *text = attn_token_text(texts, position, &size);

    attn_buffer_append_format(out, "<th>%zu %s", position, size > 0 ? "<bdi>" : "");
    attn_markup_append(out, text, size, true);
    attn_buffer_append_string(out, size > 0 ? "</bdi></th>" : "</th>");
}

static void append_table(const struct attn_page *page, struct attn_buffer *out)
{
    const struct attn_page_head *head = &page->heads.items[page->start];
    const int n_digit = page->n_byte == 2 ? 4 : 2;

    attn_buffer_append_string(out, "<table class=\"plain\">\n<caption>");
    attn_page_head_append_name(out, head, &page->base.labels);
    attn_buffer_append_string(out, ": queries down, keys across</caption>\n<tr><td></td>");
    for (size_t c = 0; c < head->n_column; c++)
        append_label(out, &page->names[head->is_source || head->is_encoder], c);
    attn_buffer_append_string(out, "</tr>\n");
    for (size_t r = 0; r < head->n_row; r++) {
        attn_buffer_append_string(out, "<tr>");
        append_label(out, &page->names[head->is_encoder],
                     head->is_encoder ? r : page->base.queries[r]);
        for (size_t c = 0; c < head->n_column; c++) {
            const float w = page->best[r * head->n_column + c];

            if (isnan(w))
                attn_buffer_append_string(out, "<td></td>");
            else if (isinf(w))
                attn_buffer_append_string(out, "<td>!!</td>");
            else
                attn_buffer_append_format(out, "<td>%.*f</td>", n_digit, (double)w);
        }
        attn_buffer_append_string(out, "</tr>\n");
    }
    attn_buffer_append_string(out, "</table>\n");
}

/* Appends the text above the picture. */
static void append_words(const struct attn_page *page, struct attn_buffer *out)
{
    attn_buffer_append_string(
        out, "<p>The weights of all heads: of each queries down and keys across, the darker the "
             "larger on light ground. With a script they can be looked at one by one.");
    if (page->heads.n_whole < page->heads.n) {
        attn_buffer_append_char(out, ' ');
        attn_page_heads_append_pooled(&page->heads, out);
        attn_buffer_append_char(out, '.');
    }
    attn_buffer_append_string(out, "</p>\n");
}

void attn_page_head_append_place(struct attn_buffer *out, const struct attn_page_head *head)
{
    struct attn_location at = {head->at.stack, head->at.layer, head->number, head->at.site};

    if (at.stack == ATTN_STACK_ONLY)
        at.layer = head->group;
    attn_buffer_append_string(out, attn_location_name(&at).text);
}

/* Writes the whole view. PICTURE must be empty; the caller releases it. */
static enum attn_status make_view(struct picture *picture, const struct attn_page *page,
                                  struct attn_buffer *out, struct attn_error *err)
{
    struct attn_png_image image = {
        .palette = picture->palette, .n_color = 256, .fill_row = fill_row, .user = picture};

    ATTN_TRY(place_heads(picture, &page->heads, err));
    fill_palette(picture, page->base.options.picture);
    image.width = picture->n_across * (picture->side + GAP) - GAP;
    image.height = picture->n_down * (picture->side + GAP) - GAP;
    append_words(page, out);
    attn_buffer_append_string(out, "<p><img alt=\"The weights of all heads as a picture\" "
                                   "src=\"data:image/png;base64,");
    ATTN_TRY(attn_png_append_base64(&image, out, err));
    attn_buffer_append_string(out, "\"></p>\n");
    if (page->has_best)
        append_table(page, out);
    return attn_buffer_check(out, err);
}

enum attn_status attn_page_first_view_write(const struct attn_page *page, struct attn_error *err)
{
    struct picture picture = {0};
    struct attn_buffer text = {0};
    const enum attn_status status = make_view(&picture, page, &text, err);

    if (status == ATTN_OK)
        attn_sink_write(page->base.sink, text.data, text.size);
    attn_free(picture.places);
    attn_buffer_release(&text);
    return status;
}
