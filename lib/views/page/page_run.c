#include "page/page_internal.h"

#include "base/text/escape.h"
#include "base/text/path.h"
#include "formats/quoting.h"
#include "pictures/colormap_internal.h"
#include "pictures/picture_internal.h"
#include "pictures/png_file.h"
#include "tensors/labels_internal.h"
#include "tensors/labels_json.h"
#include "tensors/view.h"
#include "towers/maps/picture_maps.h"
#include "towers/prompt/picture_prompt.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- Colors --------------------------------------------------------------------------------- */

/* Writes the color maps of both themes, of signed numbers if PAGE may have some, and the chosen
 * one, if it is another: 256 colors each; diverging maps once per theme. */
static void push_colormaps(struct attn_json_writer *json, const struct attn_page *page)
{
    const struct attn_picture_options *options = page->base.options.picture;
    const char *usual =
        page->has_question || page->vectors.are_there || page->picture || options->live
            ? "blues viridis diverging"
            : "blues viridis";
    static const char *const endings[] = {[ATTN_THEME_LIGHT] = "", [ATTN_THEME_DARK] = "-dark"};
    struct attn_buffer *out;

    attn_json_begin(attn_page_push_key(json, "colormaps"), '{');
    json->comma = ",\n";
    for (size_t i = 0; i < attn_n_colormap(); i++) {
        const struct attn_colormap *map = attn_colormap_at(i);
        const int last = attn_colormap_is_diverging(map) ? ATTN_THEME_DARK : ATTN_THEME_LIGHT;

        if (map != options->colormap && !strstr(usual, attn_colormap_name(map)))
            continue;
        for (int theme = ATTN_THEME_LIGHT; theme <= last; theme++) {
            unsigned char bytes[ATTN_N_COLOR][3];
            char name[64];

            for (int level = 0; level < ATTN_N_COLOR; level++)
                attn_png_put_color(bytes[level],
                                   attn_rgb_number(attn_colormap_color(map, theme, level)));
            snprintf(name, sizeof name, "%s%s", attn_colormap_name(map), endings[theme]);
            out = attn_json_value(attn_json_key(json, name));
            attn_buffer_append_char(out, '"');
            attn_base64_append(out, bytes, sizeof bytes);
            attn_buffer_append_char(out, '"');
        }
    }
    json->comma = ",";
    attn_json_end(json);
}

/* Writes background and hatch of each kind of cell without a value, in both themes. */
static void push_cells(struct attn_json_writer *json)
{
    static const struct {
        const char *name;
        enum attn_cell_kind kind;
    } kinds[] = {{"masked", ATTN_CELL_MASKED},
                 {"hidden", ATTN_CELL_HIDDEN},
                 {"not_finite", ATTN_CELL_NOT_FINITE}};
    static const char *const themes[] = {[ATTN_THEME_LIGHT] = "light", [ATTN_THEME_DARK] = "dark"};

    attn_json_begin(attn_page_push_key(json, "nothing"), '{');
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        attn_json_begin(attn_json_key(json, kinds[i].name), '{');
        for (int theme = ATTN_THEME_LIGHT; theme <= ATTN_THEME_DARK; theme++) {
            const struct attn_cell_look look = attn_cell_look(kinds[i].kind, theme);

            attn_json_begin(attn_json_key(json, themes[theme]), '[');
            attn_buffer_append_format(attn_json_value(json), "\"#%06x\",\"#%06x\"", look.ground,
                                      look.hatch);
            attn_json_end(json);
        }
        attn_json_end(json);
    }
    attn_json_end(json);
}

void attn_page_push_colors(struct attn_json_writer *json, const struct attn_page *page)
{
    push_cells(json);
    push_colormaps(json, page);
}

/* Writes the options of the initial look: color map, scale, theme, views. */
static void push_look(struct attn_json_writer *json, const struct attn_page *page)
{
    const struct attn_picture_options *given = page->base.options.picture;
    /* default options, for the run below a question */
    struct attn_picture_options patterns = ATTN_PICTURE_OPTIONS_DEFAULT;
    const struct attn_picture_options *picture = page->has_question ? &patterns : given;
    const struct attn_backdrop *backdrop = page->picture;
    const char *figure = attn_figure_name(given->figure);

    if (page->has_question)
        figure = backdrop && backdrop->is_in_text ? "tokens" : "matrix";
    else if (given->figure == ATTN_FIGURE_DEFAULT || given->figure == ATTN_FIGURE_PATCHES)
        figure = backdrop && page->heads.n == 1 ? "tokens" : NULL;
    attn_json_text(attn_page_push_key(json, "colormap"),
                   picture->colormap ? attn_colormap_name(picture->colormap) : NULL);
    attn_json_text(attn_page_push_key(json, "span"), backdrop ? "patches" : "unit");
    attn_page_push_scale(json);
    attn_json_text(attn_page_push_key(json, "figure"), figure);
    attn_json_bool(attn_page_push_key(json, "hides_first"), attn_view_hides(attn_view_of(picture)));
    if (attn_json_begin_list(attn_page_push_key(json, "hidden"),
                             picture->hides == ATTN_HIDDEN_PARKS)) {
        for (size_t i = 0; i < page->base.n_position; i++)
            if (page->base.labels.parks[i])
                attn_json_size(json, i);
        attn_json_end(json);
    }
    attn_json_bool(attn_page_push_key(json, "renormalizes"), picture->renormalizes);
}

/* --- The run --------------------------------------------------------------------------------- */

/* Writes the first tokens of words, or null; and the positions of the rows, or null if all
 * positions have rows. */
static void push_positions(struct attn_json_writer *json, const struct attn_writer *writer)
{
    if (attn_json_begin_list(attn_page_push_key(json, "words"), writer->labels.words)) {
        for (size_t i = 0; i < writer->n_position; i++)
            if (i == 0 || writer->labels.words[i] > writer->labels.words[i - 1])
                attn_json_size(json, i);
        attn_json_end(json);
    }
    if (attn_json_begin_list(attn_page_push_key(json, "queries"),
                             writer->n_query < writer->n_position)) {
        for (size_t i = 0; i < writer->n_query; i++)
            attn_json_size(json, writer->queries[i]);
        attn_json_end(json);
    }
}

/* Writes the positions on which heads park weight, or null without a model. */
static void push_parks(struct attn_json_writer *json, const struct attn_page *page)
{
    struct attn_head_mixes *const *mixes = page->base.options.mixes;

    if (attn_json_begin_list(attn_page_push_key(json, "parks"),
                             mixes && mixes[0] && !page->base.options.picture->merges_words)) {
        for (size_t i = 0; i < page->base.n_position; i++)
            if (attn_head_mixes_is_park(mixes[0], i))
                attn_json_size(json, i);
        attn_json_end(json);
    }
}

/* Writes TOKENS [n] as the member NAME, and the labels that differ from them, keyed by position, as
 * the member OTHERS. */
static void push_tokens(struct attn_json_writer *json, const char *name, const char *others,
                        const char *const *tokens, const size_t *sizes,
                        const struct attn_token_texts *labels)
{
    attn_json_append_tokens(attn_json_value(attn_page_push_key(json, name)), tokens, sizes,
                            labels->n);
    attn_json_begin(attn_page_push_key(json, others), '{');
    for (size_t i = 0; i < labels->n; i++) {
        size_t n;
        const char *label = attn_token_text(labels, i, &n);
        char place[24];

        snprintf(place, sizeof place, "%zu", i);
        if (n != sizes[i] || memcmp(label, tokens[i], n) != 0)
            attn_json_string(attn_json_key(json, place), label, n);
    }
    attn_json_end(json);
}

void attn_page_push_run(struct attn_page *page)
{
    struct attn_json_writer *json = &page->json;
    const struct attn_labels *labels = &page->base.labels;
    size_t n_model = 0;
    const char *model = labels->model ? attn_path_last(labels->model, &n_model) : NULL;

    attn_json_string(attn_page_push_key(json, "model"), model, n_model);
    attn_json_string(attn_page_push_key(json, "title"), page->title.data ? page->title.data : "",
                     page->title.size);
    attn_json_string(attn_page_push_key(json, "heading"),
                     page->heading.size > page->title.size ? page->heading.data : NULL,
                     page->heading.size);
    attn_json_string(attn_page_push_key(json, "text"), labels->tokens ? page->text.data : NULL,
                     page->text.size);
    attn_json_begin(attn_page_push_key(json, "options"), '{');
    for (size_t i = 0; i < labels->n_option; i++) {
        size_t n_value;
        const char *value = attn_path_last(labels->options[i].value, &n_value);

        attn_json_string(attn_json_key(json, labels->options[i].name), value, n_value);
    }
    attn_json_end(json);
    attn_json_append_ids(attn_json_value(attn_page_push_key(json, "ids")), labels,
                         page->base.n_position);
    push_tokens(json, "tokens", "labels", labels->tokens, labels->token_sizes, &page->names[0]);
    if (labels->source_tokens)
        push_tokens(json, "source_tokens", "source_labels", labels->source_tokens,
                    labels->source_token_sizes, &page->names[1]);
    push_positions(json, &page->base);
    push_look(json, page);
    attn_page_push_kinds(attn_page_push_key(json, "kinds"), page->base.options.picture->live);
    attn_json_text(attn_page_push_key(json, "grouping"), !labels->axes             ? "layer"
                                                         : labels->axes->rank == 4 ? "batch"
                                                                                   : "none");
    attn_json_begin(attn_page_push_key(json, "tensors"), '{');
}

/* --- Tensors --------------------------------------------------------------------------------- */

void attn_page_begin_tensor(struct attn_page *page, const struct attn_location *at,
                            const char *form)
{
    const struct attn_extent extent = attn_writer_extent(&page->base, at);
    struct attn_json_writer *json = &page->json;
    struct attn_location *open = &page->tensor;
    char name[ATTN_SITE_ARCHIVE_NAME_SIZE];

    if (page->has_tensor && open->stack == at->stack && open->layer == at->layer &&
        open->site == at->site)
        return;
    attn_page_end_tensor(page);
    page->has_tensor = true;
    *open = *at;
    attn_location_archive_name(at, name);
    attn_json_begin(attn_page_push_key(json, name), '{');
    attn_json_text(attn_json_key(json, "site"), attn_site_name(at->site));
    if (at->stack != ATTN_STACK_ONLY)
        attn_json_text(attn_json_key(json, "stack"), attn_model_stack_name(at->stack));
    attn_json_integer(attn_json_key(json, "layer"), at->layer);
    attn_json_begin(attn_json_key(json, "shape"), '[');
    attn_json_size(json, extent.n_head);
    attn_json_size(json, extent.n_row);
    attn_json_size(json, extent.n_col);
    attn_json_end(json);
    attn_json_text(attn_json_key(json, "form"), form);
    attn_json_begin(attn_json_key(json, "data"), '{');
}

void attn_page_end_tensor(struct attn_page *page)
{
    if (page->has_tensor) {
        attn_json_end(&page->json);
        attn_json_end(&page->json);
    }
    page->has_tensor = false;
}

void attn_page_key_head(struct attn_page *page, int head)
{
    char key[16];

    snprintf(key, sizeof key, "%d", head);
    attn_json_key(&page->json, key);
}

void attn_page_begin_block(struct attn_page *page)
{
    attn_buffer_append_char(attn_json_value(&page->json), '"');
    attn_page_data_begin(page->data, &page->pending);
}

void attn_page_end_block(struct attn_page *page)
{
    attn_page_data_end(page->data);
    attn_buffer_append_char(&page->pending, '"');
}

/* --- Heads ----------------------------------------------------------------------------------- */

/* The columns of the table of heads, after its measures. */
static const char *const columns[] = {"layer",      "head", "kind",    "strength",
                                      "park",       "bar",  "stack",   "is_source",
                                      "is_encoder", "step", "outside", "not_finite"};

static const enum attn_measure measures[] = {
#define MEASURE_ROW(id) ATTN_MEASURE_##id,
    ATTN_PAGE_MEASURE_MAP(MEASURE_ROW)
#undef MEASURE_ROW
};

enum { N_COLUMN = sizeof columns / sizeof *columns };
enum { N_MEASURE = sizeof measures / sizeof *measures };

/* Writes a row, which ends with the last column that has a value. */
static void push_head(struct attn_json_writer *json, const struct attn_page_head *head,
                      bool has_bars)
{
    static const char nothing[] = ",null";
    const size_t n = strlen(nothing);
    const double none = (double)NAN;
    const struct attn_head_type *type = &head->type, *bar = has_bars && type->kind ? type : NULL;
    struct attn_buffer *out = json->out;

    for (size_t i = 0; i < N_MEASURE; i++)
        attn_page_push_number(json, 6, head->values[measures[i]]);
    attn_json_integer(json, head->group);
    attn_json_integer(json, head->number);
    attn_page_push_number(json, 2, type->kind ? (double)(type->kind - attn_head_kind_at(0)) : none);
    attn_page_push_number(json, 3, bar ? type->weight : none);
    attn_page_push_number(json, 3, bar ? type->park : none);
    attn_page_push_bar(json, bar);
    attn_json_text(json, head->at.stack != ATTN_STACK_ONLY ? attn_model_stack_name(head->at.stack)
                                                           : NULL);
    attn_page_push_number(json, 1, head->is_source ? 1 : none);
    attn_page_push_number(json, 1, head->is_encoder ? 1 : none);
    attn_page_push_number(json, 9, head->is_pooled ? (double)head->step : none);
    attn_page_push_number(json, 9, head->n_outside > 0 ? (double)head->n_outside : none);
    if (attn_json_begin_list(json, head->not_finite.size > 0)) {
        attn_buffer_append(attn_json_value(json), head->not_finite.data, head->not_finite.size);
        attn_json_end(json);
    }
    while (out->size > n && memcmp(out->data + out->size - n, nothing, n) == 0)
        out->size -= n;
    out->has_failed |= head->not_finite.has_failed;
}

/* Writes the table of heads; only a live page shows their bars. */
static void push_heads(struct attn_page *page)
{
    struct attn_json_writer *json = &page->json;

    attn_json_begin(attn_page_push_key(json, "heads"), '{');
    attn_json_begin(attn_json_key(json, "columns"), '[');
    for (size_t i = 0; i < N_MEASURE; i++)
        attn_json_text(json, attn_measure_name(measures[i]));
    for (size_t c = 0; c < N_COLUMN; c++)
        attn_json_text(json, columns[c]);
    attn_json_end(json);
    attn_json_begin(attn_json_key(json, "rows"), '[');
    for (size_t i = 0; i < page->heads.n; i++) {
        attn_json_line(json);
        attn_json_begin(json, '[');
        push_head(json, &page->heads.items[i], page->base.options.picture->live);
        attn_json_end(json);
    }
    attn_json_end(json);
    attn_json_end(json);
}

/* Returns the position of the row that is shown first: for a picture the first query, otherwise the
 * mask token or the last query that the tokenizer did not add. */
static size_t first_query(const struct attn_page *page)
{
    const struct attn_writer *writer = &page->base;
    const size_t *mask = writer->labels.mask;

    if (page->picture)
        return page->picture->is_in_text && writer->query_rank[page->picture->usual] != SIZE_MAX
                   ? page->picture->usual
                   : writer->queries[0];
    if (mask && writer->query_rank[*mask] != SIZE_MAX)
        return *mask;
    for (size_t i = writer->n_query; i-- > 0;) /* [SEP] parks, and it is no word */
        if (writer->queries[i] + writer->labels.n_back < writer->n_position)
            return writer->queries[i];
    return writer->queries[writer->n_query - 1];
}

void attn_page_push_findings(struct attn_page *page)
{
    struct attn_json_writer *json = &page->json;
    struct attn_buffer words = {0};

    push_parks(json, page);
    attn_json_size(attn_page_push_key(json, "start"), page->start);
    attn_json_size(attn_page_push_key(json, "query"), first_query(page));
    attn_page_heads_append_pooled(&page->heads, &words);
    if (words.size > 0)
        attn_json_buffer(attn_page_push_key(json, "pooled"), &words);
    push_heads(page);
    if (page->predictions.size > 0)
        attn_buffer_append(attn_json_value(attn_page_push_key(json, "predictions")),
                           page->predictions.data, page->predictions.size);
}

/* Writes a row of the table of predictions. The label is the printable token, null if it is the
 * token. */
static void push_top(struct attn_json_writer *json, const struct attn_candidate *top)
{
    struct attn_buffer label = {0};

    if (!top->token)
        attn_buffer_append_format(&label, "id %d", (int)top->id);
    else if (top->token_size == 1 && top->token[0] == ' ')
        attn_buffer_append_string(&label, "blank");
    else
        attn_escape_append(&label, top->token, top->token_size);
    attn_json_line(json);
    attn_json_begin(json, '[');
    attn_json_size(json, top->position);
    attn_json_integer(json, top->id);
    attn_json_string(json, top->token, top->token_size);
    if (label.size > top->token_size)
        attn_json_buffer(json, &label);
    else
        attn_json_null(json);
    attn_page_push_number(json, 6, top->prob);
    attn_json_end(json);
    attn_buffer_release(&label);
}

void attn_page_append_predictions(struct attn_buffer *out,
                                  const struct attn_predictions *predictions)
{
    struct attn_json_writer json = {.out = out, .comma = ",", .colon = ":"};

    attn_json_begin(&json, '{');
    attn_json_bool(attn_json_key(&json, "is_in_place"), predictions->is_in_place);
    attn_json_text(attn_json_key(&json, predictions->are_of_whole ? "heading" : "words"),
                   predictions->is_in_place && !predictions->are_of_whole ? "expected at position"
                   : !predictions->are_of_whole ? "expected after position"
                   : !predictions->are_values   ? "labels by probability"
                   : predictions->has_labels    ? "labels by cosine"
                                                : "labels by value");
    attn_buffer_append_string(attn_json_value(attn_json_key(&json, "columns")),
                              "[\"position\",\"id\",\"token\",\"label\",\"prob\"]");
    attn_json_begin(attn_json_key(&json, "rows"), '[');
    for (size_t i = 0; i < predictions->n_top; i++)
        push_top(&json, &predictions->top[i]);
    attn_json_end(&json);
    attn_json_end(&json);
}

/* --- The picture ----------------------------------------------------------------------------- */

/* Returns true if switches of the page can undo changes of its maps: a neutral question, or sinks.
 */
static bool has_maps(const struct attn_page *page)
{
    const struct attn_labels *labels = &page->base.labels;

    return page->picture && page->picture->is_in_text && labels->maps && *labels->maps &&
           (page->picture->neutral || attn_picture_maps_drops_sinks(*labels->maps));
}

/* Adds the cells of LAYER. */
static void add_cells(const struct attn_page *page, const struct attn_location *at,
                      enum attn_map_layer layer)
{
    const struct attn_picture_maps *maps = *page->base.labels.maps;
    const struct attn_picture_dims *dims = attn_picture_maps_dims(maps, 0);
    const size_t n =
        (size_t)dims->n_row * dims->n_col * (layer == ATTN_MAP_TILES ? dims->n - 1 : 1);
    unsigned char *out = n > 0 ? attn_page_data_reserve(page->data, n * sizeof(float)) : NULL;

    for (size_t i = 0; out && i < n; i++) {
        const struct attn_map_choice choice = {.layer = layer};
        const float weight = (float)attn_picture_maps_neutral(maps, at, choice, i);
        const float value = attn_picture_maps_is_sink(maps, at, choice, i) ? -weight : weight;
        uint32_t bits;

        memcpy(&bits, &value, sizeof bits);
        for (size_t k = 0; k < sizeof bits; k++)
            out[i * sizeof bits + k] = (unsigned char)(bits >> 8 * k);
    }
}

/* Writes the member `maps`: for each head the weights of the neutral question on the cells of the
 * tiles, then of the whole picture, as float32, least byte first. A sink has a minus sign. */
static void push_maps(struct attn_page *page)
{
    attn_page_push_key(&page->json, "maps");
    attn_page_begin_block(page);
    for (size_t i = 0; i < page->heads.n; i++) {
        add_cells(page, &page->heads.items[i].at, ATTN_MAP_TILES);
        add_cells(page, &page->heads.items[i].at, ATTN_MAP_WHOLE);
    }
    attn_page_end_block(page);
}

/* Writes the positions of each region of a text with a picture: of the picture only the first cell
 * of each tile, unless tiles are joined. */
static void push_regions(struct attn_json_writer *json, const struct attn_page *page)
{
    const struct attn_labels *labels = &page->base.labels;
    const struct attn_picture_dims *picture = &attn_selection_dims(labels->selection)->picture;
    const struct attn_prompt_image *image = attn_labels_prompt(labels)->images;
    const size_t n_tile = image->joined.side > 0 ? 0 : image->n_picture - 1;

    if (has_maps(page)) {
        attn_json_text(attn_json_key(json, "neutral"), page->picture->neutral);
        attn_json_bool(attn_json_key(json, "is_ratio"), page->picture->is_ratio);
        attn_json_bool(attn_json_key(json, "drops_sinks"),
                       attn_picture_maps_drops_sinks(*labels->maps));
    }
    attn_json_size(attn_json_key(json, "tile_cols"), image->tile_cols);
    for (int region = 0; region < ATTN_N_REGION; region++) {
        const bool is_picture = region == ATTN_REGION_PICTURE;
        const size_t step = is_picture ? (size_t)picture->n_row * picture->n_col : 1;
        size_t n = 0, most = is_picture ? step * n_tile : SIZE_MAX;

        attn_json_begin(
            attn_json_key(json, is_picture ? "tiles" : attn_region_name((enum attn_region)region)),
            '[');
        for (size_t i = 0; i < page->base.n_position && n < most; i++)
            if (labels->region[i] == region && n++ % step == 0)
                attn_json_size(json, i);
        attn_json_end(json);
    }
}

/* Copies one row of pixels (attn_png_row_fn). */
static void fill_row(void *user, size_t y, unsigned char *row)
{
    const struct attn_backdrop *const *backdrop = user;

    memcpy(row, (*backdrop)->rgb + y * (*backdrop)->stride * 3, (*backdrop)->width * 3);
}

enum attn_status attn_page_push_picture(struct attn_page *page, struct attn_error *err)
{
    const struct attn_backdrop *backdrop = page->picture;
    const struct attn_png_image image = {.width = backdrop->width,
                                         .height = backdrop->height,
                                         .fill_row = fill_row,
                                         .user = &backdrop};
    struct attn_json_writer *json = &page->json;
    struct attn_buffer png = {0};
    enum attn_status status = attn_png_append_base64(&image, &png, err);

    if (has_maps(page))
        push_maps(page);
    attn_json_begin(attn_page_push_key(json, "picture"), '{');
    attn_json_size(attn_json_key(json, "n_front"), backdrop->n_front);
    attn_json_size(attn_json_key(json, "n_row"), backdrop->n_row);
    attn_json_size(attn_json_key(json, "n_col"), backdrop->n_col);
    attn_json_size(attn_json_key(json, "width"), backdrop->width);
    attn_json_size(attn_json_key(json, "height"), backdrop->height);
    if (backdrop->is_in_text)
        push_regions(json, page);
    attn_json_buffer(attn_json_key(json, "png"), &png);
    attn_json_end(json);
    return status;
}

/* --- Vectors ---------------------------------------------------------------------------------- */

static const double most_numbers = 8e6; /* maximum numbers on a page, 4 bytes each */

/* Returns true if all vectors of a row are selected in the layer of AT; adds the count of their
 * numbers to *N. */
static bool count_layer(const struct attn_writer *writer, struct attn_page_vectors *vectors,
                        struct attn_location at, double *n)
{
    const enum attn_site sites[] = {vectors->query, vectors->key, ATTN_SITE_ATTN_SCORES,
                                    ATTN_SITE_V};

    for (size_t i = 0; i < sizeof sites / sizeof *sites; i++) {
        struct attn_extent extent;

        at.site = sites[i];
        if (!attn_selection_wants(writer->labels.selection, &at))
            return false;
        extent = attn_writer_extent(writer, &at);
        vectors->widest = extent.n_col > vectors->widest ? extent.n_col : vectors->widest;
        *n += (double)extent.n_row * (double)extent.n_head * (double)extent.n_col;
    }
    return true;
}

enum attn_status attn_page_vectors_init(struct attn_page_vectors *vectors,
                                        const struct attn_writer *writer, struct attn_error *err)
{
    const struct attn_selection *selection = writer->labels.selection;
    const struct attn_dims *dims = attn_selection_dims(selection);
    double n = 0;

    vectors->query = attn_site_of_scores(dims, ATTN_LAYOUT_QUERY);
    vectors->key = attn_site_of_scores(dims, ATTN_LAYOUT_KEY);
    if (writer->labels.axes || attn_sites_have(dims->sites, ATTN_SITE_SINK) ||
        writer->options.picture->live) /* the reader may type another text */
        return ATTN_OK;
    for (struct attn_selection_walk walk = {0}; attn_selection_next(selection, &walk);)
        if (walk.at.site == ATTN_SITE_PATTERN && !count_layer(writer, vectors, walk.at, &n))
            return ATTN_OK;
    vectors->are_there = n <= most_numbers;
    if (!vectors->are_there)
        attn_note(writer->options.on_note, writer->options.user, ATTN_NOTE_PAGE_OMITS,
                  "the page leaves out q, k, v and the scores, which are more than "
                  "8 million numbers");
    return ATTN_ALLOC(vectors->row, vectors->widest, err);
}

enum attn_status attn_page_vectors_take(struct attn_page *page,
                                        const struct attn_trace_event *event,
                                        const struct attn_place *place, struct attn_error *err)
{
    const struct attn_page_vectors *vectors = &page->vectors;
    const enum attn_site site = event->at.site;
    const size_t n = place->extent.n_col;

    if (!vectors->are_there || (site != vectors->query && site != vectors->key &&
                                site != ATTN_SITE_ATTN_SCORES && site != ATTN_SITE_V))
        return ATTN_OK;
    for (size_t r = 0; r < event->n_row; r++) {
        unsigned char *to;

        if (place->row + r == 0) {
            attn_page_begin_tensor(page, &event->at, "float32");
            attn_page_key_head(page, event->at.head);
            attn_page_begin_block(page);
        }
        attn_event_copy_row(event, r, vectors->row, n);
        to = attn_page_data_reserve(page->data, n * sizeof *vectors->row);
        if (to)
            memcpy(to, vectors->row, n * sizeof *vectors->row);
        if (place->row + r + 1 == place->extent.n_row)
            attn_page_end_block(page);
        ATTN_TRY(attn_page_data_flush(page->data, err));
    }
    return ATTN_OK;
}

void attn_page_vectors_push(struct attn_page *page)
{
    const struct attn_dims *dims = attn_selection_dims(page->base.labels.selection);
    struct attn_json_writer *json = &page->json;

    attn_json_begin(attn_page_push_key(json, "vectors"), '{');
    attn_json_text(attn_json_key(json, "query"), attn_site_name(page->vectors.query));
    attn_json_text(attn_json_key(json, "key"), attn_site_name(page->vectors.key));
    attn_json_size(attn_json_key(json, "n_head"), dims->n_head);
    attn_json_size(attn_json_key(json, "n_kv_head"), dims->n_kv_head);
    attn_json_end(json);
}
