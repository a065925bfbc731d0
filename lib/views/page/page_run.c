/* page_run.c - see page_internal.h. */
#include "page/page_internal.h"

#include "base/escape.h"
#include "base/path.h"
#include "base/version.h"
#include "formats/json_writer.h"
#include "formats/quoting.h"
#include "pictures/colormap_internal.h"
#include "pictures/picture_internal.h"
#include "pictures/png_file.h"
#include "tables/table_writer.h"
#include "tensors/labels_internal.h"
#include "tensors/labels_json.h"
#include "tensors/view.h"
#include "towers/picture_maps.h"
#include "towers/picture_prompt.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The JSON object of the run. Each member begins a line; values have no blanks. */
struct run_json {
    const struct attn_page *page;
    struct attn_buffer text;
    struct attn_json_writer json; /* writes to `text` */
};

/* --- Pieces ---------------------------------------------------------------------------------- */

static struct attn_json_writer *push_key(struct run_json *to, const char *name)
{
    return attn_page_push_key(&to->json, name);
}

/* --- Colors --------------------------------------------------------------------------------- */

/* Writes the color maps of both themes and of signed numbers, and ASKED, if it is another: 256
 * colors each; diverging maps once per theme. */
static void push_colormaps(struct attn_json_writer *json, const struct attn_colormap *asked)
{
    static const char usual[] = "blues viridis diverging";
    static const char *const endings[] = {[ATTN_THEME_LIGHT] = "", [ATTN_THEME_DARK] = "-dark"};
    struct attn_buffer *out;

    attn_json_begin(attn_page_push_key(json, "colormaps"), '{');
    json->comma = ",\n";
    for (size_t i = 0; i < attn_n_colormap(); i++) {
        const struct attn_colormap *map = attn_colormap_at(i);
        const int last = attn_colormap_is_diverging(map) ? ATTN_THEME_DARK : ATTN_THEME_LIGHT;

        if (map != asked && !strstr(usual, attn_colormap_name(map)))
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

void attn_page_push_colors(struct attn_json_writer *json, const struct attn_colormap *asked)
{
    push_cells(json);
    push_colormaps(json, asked);
}

/* Writes the options of the initial look: color map, scale, theme, views. */
static void push_look(struct run_json *to)
{
    const struct attn_picture_options *given = to->page->base.options.picture;
    /* default options, for the run below a question */
    struct attn_picture_options patterns = ATTN_PICTURE_OPTIONS_DEFAULT;
    const struct attn_picture_options *picture = to->page->has_question ? &patterns : given;
    const struct attn_backdrop *backdrop = to->page->picture;
    const char *figure = attn_figure_name(given->figure);

    patterns.theme = given->theme;
    if (to->page->has_question)
        figure = backdrop && backdrop->is_in_text ? "tokens" : "matrix";
    else if (given->figure == ATTN_FIGURE_DEFAULT || given->figure == ATTN_FIGURE_PATCHES)
        figure = backdrop && to->page->heads.n == 1 ? "tokens" : NULL;
    attn_json_text(push_key(to, "colormap"),
                   picture->colormap ? attn_colormap_name(picture->colormap) : NULL);
    attn_json_text(push_key(to, "theme"), picture->theme == ATTN_THEME_DARK ? "dark" : NULL);
    attn_json_text(push_key(to, "span"), to->page->picture ? "patches" : "unit");
    attn_page_push_scale(&to->json);
    attn_json_text(push_key(to, "figure"), figure);
    attn_json_bool(push_key(to, "hides_first"), attn_view_hides(attn_view_of(picture)));
    if (attn_json_begin_list(push_key(to, "hidden"), picture->hides == ATTN_HIDDEN_SINKS)) {
        for (size_t i = 0; i < to->page->base.n_position; i++)
            if (to->page->base.labels.parks[i])
                attn_json_size(&to->json, i);
        attn_json_end(&to->json);
    }
    attn_json_bool(push_key(to, "renormalizes"), picture->renormalizes);
}

/* --- The run --------------------------------------------------------------------------------- */

/* Writes the first tokens of words, or null; and the positions of the rows, or null if all
 * positions have rows. */
static void push_positions(struct run_json *to)
{
    const struct attn_writer *writer = &to->page->base;

    if (attn_json_begin_list(push_key(to, "words"), writer->labels.words)) {
        for (size_t i = 0; i < writer->n_position; i++)
            if (i == 0 || writer->labels.words[i] > writer->labels.words[i - 1])
                attn_json_size(&to->json, i);
        attn_json_end(&to->json);
    }
    if (attn_json_begin_list(push_key(to, "queries"), writer->n_query < writer->n_position)) {
        for (size_t i = 0; i < writer->n_query; i++)
            attn_json_size(&to->json, writer->queries[i]);
        attn_json_end(&to->json);
    }
}

/* Writes the positions on which heads park weight, or null without a model. */
static void push_parks(struct run_json *to)
{
    struct attn_head_mixes *const *mixes = to->page->base.options.mixes;

    if (attn_json_begin_list(push_key(to, "parks"),
                             mixes && mixes[0] && !to->page->base.options.picture->merges_words)) {
        for (size_t i = 0; i < to->page->base.n_position; i++)
            if (attn_head_mixes_is_park(mixes[0], i))
                attn_json_size(&to->json, i);
        attn_json_end(&to->json);
    }
}

static void push_labels(struct run_json *to)
{
    const struct attn_page *page = to->page;
    const struct attn_labels *labels = &page->base.labels;
    size_t n_model = 0;
    const char *model = labels->model ? attn_path_last(labels->model, &n_model) : NULL;

    attn_json_integer(push_key(to, "schema"), ATTN_JSON_SCHEMA);
    attn_json_text(push_key(to, "version"), ATTN_VERSION);
    attn_json_string(push_key(to, "model"), model, n_model);
    attn_json_string(push_key(to, "title"), page->title.data ? page->title.data : "",
                     page->title.size);
    attn_json_string(push_key(to, "heading"),
                     page->heading.size > page->title.size ? page->heading.data : NULL,
                     page->heading.size);
    attn_json_string(push_key(to, "text"), labels->tokens ? page->text.data : NULL,
                     page->text.size);
    attn_json_text(push_key(to, "site"), "pattern");
    attn_json_begin(push_key(to, "options"), '{');
    for (size_t i = 0; i < labels->n_option; i++) {
        size_t n_value;
        const char *value = attn_path_last(labels->options[i].value, &n_value);

        attn_json_string(attn_json_key(&to->json, labels->options[i].name), value, n_value);
    }
    attn_json_end(&to->json);
    attn_json_append_ids(attn_json_value(push_key(to, "ids")), labels, page->base.n_position);
    push_positions(to);
    push_parks(to);
    push_look(to);
    push_key(to, "predictions");
    if (page->predictions.size > 0)
        attn_buffer_append(attn_json_value(&to->json), page->predictions.data,
                           page->predictions.size);
    else
        attn_json_null(&to->json);
}

static const struct {
    enum attn_measure measure;
    const char *words, *unit;
} measures[] = {
#define MEASURE_ROW(id, words, unit) {ATTN_MEASURE_##id, words, unit},
    ATTN_PAGE_MEASURE_MAP(MEASURE_ROW)
#undef MEASURE_ROW
};

enum { N_MEASURE = sizeof measures / sizeof *measures };

/* Returns true if layers have two kinds of attention, to the text and to a source, but stacks have
 * no names. */
static bool has_kinds(const struct attn_page *page)
{
    bool is_there[2] = {false, false};

    for (size_t i = 0; i < page->heads.n; i++)
        is_there[page->heads.items[i].is_source] = true;
    return is_there[0] && is_there[1] && page->heads.items[0].at.stack == ATTN_STACK_ONLY;
}

static const char *kind_of(const struct attn_page_head *head, bool has_kind)
{
    return !has_kind ? "" : head->is_source ? "cross" : "self";
}

static void push_head(struct attn_json_writer *json, const struct attn_page *page,
                      const struct attn_page_head *head, const char *kind)
{
    struct attn_buffer text = {0};
    char group[32];

    attn_json_begin(json, '{');
    attn_json_text(attn_json_key(json, "id"), head->id);
    attn_page_head_append_place(&text, head);
    attn_json_buffer(attn_json_key(json, "at"), &text);
    attn_page_head_append_name(&text, head, &page->base.labels);
    attn_buffer_append_string(&text, *kind ? " (" : "");
    attn_buffer_append_format(&text, "%s%s", kind, *kind ? ")" : "");
    attn_json_buffer(attn_json_key(json, "name"), &text);
    if (head->at.stack != ATTN_STACK_ONLY)
        attn_json_text(attn_json_key(json, "stack"), attn_model_stack_name(head->at.stack));
    attn_json_integer(attn_json_key(json, "layer"), head->at.layer);
    if (head->at.stack != ATTN_STACK_ONLY) {
        snprintf(group, sizeof group, "%s:%d", attn_model_stack_name(head->at.stack),
                 head->at.layer);
        attn_json_text(attn_json_key(json, "group"), group);
    } else {
        attn_json_integer(attn_json_key(json, "group"), head->group);
    }
    attn_json_integer(attn_json_key(json, "head"), head->number);
    attn_json_size(attn_json_key(json, "rows"), head->n_row);
    attn_json_size(attn_json_key(json, "cols"), head->n_column);
    if (head->is_source)
        attn_json_bool(attn_json_key(json, "is_source"), true);
    if (head->is_encoder)
        attn_json_bool(attn_json_key(json, "is_encoder"), true);
    attn_json_size(attn_json_key(json, "pooled"), head->k);
    if (head->is_pooled)
        attn_json_size(attn_json_key(json, "step"), head->step);
    for (size_t i = 0; i < N_MEASURE; i++)
        attn_page_push_number(attn_json_key(json, attn_measure_name(measures[i].measure)), 6,
                              head->values[measures[i].measure]);
    if (head->type.kind) {
        attn_json_size(attn_json_key(json, "kind"),
                       (size_t)(head->type.kind - attn_head_kind_at(0)));
        attn_page_push_number(attn_json_key(json, "strength"), 3, head->type.weight);
        attn_page_push_number(attn_json_key(json, "park"), 3, head->type.park);
        attn_page_push_bar(json, head->type.shares, head->type.park);
        if (head->type.name && strcmp(head->type.name, head->type.kind->name) != 0)
            attn_json_text(attn_json_key(json, "type"), head->type.name);
    }
    if (head->n_outside > 0)
        attn_json_size(attn_json_key(json, "outside"), head->n_outside);
    if (head->not_finite.size > 0) {
        attn_json_begin(attn_json_key(json, "not_finite"), '[');
        attn_buffer_append(attn_json_value(json), head->not_finite.data, head->not_finite.size);
        attn_json_end(json);
    }
    json->out->has_failed |= head->not_finite.has_failed;
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

static void push_heads(struct run_json *to)
{
    const struct attn_page *page = to->page;
    const struct attn_array_axes *axes = page->base.labels.axes;
    const bool has_kind = has_kinds(page);
    struct attn_json_writer *json;

    attn_json_text(push_key(to, "grouping"), !axes ? "layer" : axes->rank == 4 ? "batch" : "none");
    attn_json_integer(push_key(to, "bytes"), page->n_byte);
    attn_json_size(push_key(to, "start"), page->start);
    attn_json_size(push_key(to, "query"), first_query(page));
    if (page->heads.n_whole < page->heads.n) {
        struct attn_buffer words = {0};

        attn_page_heads_append_pooled(&page->heads, &words);
        attn_buffer_append_char(&words, '\0');
        attn_json_text(push_key(to, "pooled"), words.has_failed ? "" : words.data);
        attn_buffer_release(&words);
    }
    json = push_key(to, "heads");
    attn_json_begin(json, '[');
    for (size_t i = 0; i < page->heads.n; i++) {
        attn_json_line(json);
        push_head(json, page, &page->heads.items[i], kind_of(&page->heads.items[i], has_kind));
    }
    attn_json_end(json);
}

/* Writes the measures of heads: name, words, unit; and the kinds of heads. */
static void push_measures(struct run_json *to)
{
    struct attn_json_writer *json = &to->json;

    attn_json_begin(push_key(to, "measures"), '[');
    for (size_t i = 0; i < N_MEASURE; i++) {
        attn_json_begin(json, '[');
        attn_json_text(json, attn_measure_name(measures[i].measure));
        attn_json_text(json, measures[i].words);
        attn_json_text(json, measures[i].unit);
        attn_json_end(json);
    }
    attn_json_end(json);
    attn_page_push_kinds(push_key(to, "kinds"));
}

/* Begins an object on a new line, unless it is the first of an array. */
static void begin_line(struct attn_json_writer *json)
{
    json->comma = ",\n";
    attn_json_begin(json, '{');
    json->comma = ",";
}

static void push_metric(struct attn_json_writer *json, const struct attn_predictions *predictions)
{
    attn_json_line(json);
    attn_json_begin(attn_json_key(json, "metric"), '[');
    for (size_t i = 0; i < predictions->n_metric; i++) {
        begin_line(json);
        if (predictions->has_positions)
            attn_json_size(attn_json_key(json, "position"), predictions->metric[i].position);
        attn_json_text(attn_json_key(json, "name"), predictions->metric[i].name);
        attn_page_push_number(attn_json_key(json, "value"), 6, predictions->metric[i].value);
        attn_json_end(json);
    }
    attn_json_end(json);
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
    attn_json_begin(attn_json_key(&json, "top"), '[');
    for (size_t i = 0; i < predictions->n_top; i++) {
        const struct attn_candidate *top = &predictions->top[i];
        struct attn_buffer label = {0}; /* printable token, if it differs from the token */

        begin_line(&json);
        attn_json_size(attn_json_key(&json, "position"), top->position);
        attn_json_integer(attn_json_key(&json, "id"), top->id);
        attn_json_string(attn_json_key(&json, "token"), top->token, top->token_size);
        if (!top->token)
            attn_buffer_append_format(&label, "id %d", (int)top->id);
        else
            attn_escape_append(&label, top->token, top->token_size);
        if (top->token && top->token_size == 1 && top->token[0] == ' ') {
            label.size = 0;
            attn_buffer_append_string(&label, "' '");
        }
        if (label.size > top->token_size)
            attn_json_string(attn_json_key(&json, "label"), label.data, label.size);
        out->has_failed |= label.has_failed;
        attn_buffer_release(&label);
        attn_page_push_number(attn_json_key(&json, "probability"), 6, top->probability);
        attn_json_end(&json);
    }
    attn_json_end(&json);
    attn_json_line(&json);
    attn_json_begin(attn_json_key(&json, "next"), '[');
    for (size_t i = 0; i < predictions->n_next; i++) {
        const struct attn_continuation *next = &predictions->next[i];

        begin_line(&json);
        if (predictions->has_positions)
            attn_json_size(attn_json_key(&json, "position"), next->position);
        attn_json_text(attn_json_key(&json, "text"), next->text);
        attn_page_push_number(attn_json_key(&json, "logprob"), 6, next->log_probability);
        attn_json_end(&json);
    }
    attn_json_end(&json);
    if (predictions->n_metric > 0)
        push_metric(&json, predictions);
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

void attn_page_maps_add(const struct attn_page *page)
{
    if (!has_maps(page))
        return;
    attn_page_data_begin(page->data, "maps-data");
    for (size_t i = 0; i < page->heads.n; i++) {
        add_cells(page, &page->heads.items[i].at, ATTN_MAP_TILES);
        add_cells(page, &page->heads.items[i].at, ATTN_MAP_WHOLE);
    }
    attn_page_data_end(page->data);
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

/* Writes the size of the picture, and the layout of its patches. */
static void push_picture(struct run_json *to)
{
    const struct attn_backdrop *backdrop = to->page->picture;
    struct attn_json_writer *json;

    if (!backdrop)
        return;
    json = push_key(to, "picture");
    attn_json_begin(json, '{');
    attn_json_size(attn_json_key(json, "n_front"), backdrop->n_front);
    attn_json_size(attn_json_key(json, "n_row"), backdrop->n_row);
    attn_json_size(attn_json_key(json, "n_col"), backdrop->n_col);
    attn_json_size(attn_json_key(json, "width"), backdrop->width);
    attn_json_size(attn_json_key(json, "height"), backdrop->height);
    if (backdrop->is_in_text)
        push_regions(json, to->page);
    attn_json_end(json);
}

/* Copies one row of pixels (attn_png_row_fn). */
static void fill_row(void *user, size_t y, unsigned char *row)
{
    const struct attn_backdrop *const *backdrop = user;

    memcpy(row, (*backdrop)->rgb + y * (*backdrop)->stride * 3, (*backdrop)->width * 3);
}

enum attn_status attn_page_picture_write(const struct attn_page *page, struct attn_error *err)
{
    const struct attn_backdrop *backdrop = page->picture;
    const struct attn_png_image image = {.width = backdrop->width,
                                         .height = backdrop->height,
                                         .fill_row = fill_row,
                                         .user = &backdrop};
    struct attn_buffer text = {0};
    enum attn_status status = attn_png_append_base64(&image, &text, err);

    if (status == ATTN_OK) {
        attn_page_write_text(page->base.sink, "<script type=\"text/plain\" id=\"picture-data\">");
        attn_sink_write(page->base.sink, text.data, text.size);
        attn_page_write_text(page->base.sink, "</script>\n");
    }
    attn_buffer_release(&text);
    return status;
}

/* --- The element ----------------------------------------------------------------------------- */

/* Writes JSON inside an element. Characters that could end the element, and line separators, occur
 * only in strings and are replaced by escapes. */
static void write_embedded(struct attn_sink *sink, const char *json, size_t n)
{
    static const struct {
        const char *bytes, *escape;
    } rows[] = {{"<", "\\u003c"},
                {">", "\\u003e"},
                {"&", "\\u0026"},
                {"\xe2\x80\xa8", "\\u2028"},
                {"\xe2\x80\xa9", "\\u2029"}};
    size_t begin = 0;

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
            const size_t size = strlen(rows[k].bytes);

            if (size > n - i || memcmp(json + i, rows[k].bytes, size) != 0)
                continue;
            attn_sink_write(sink, json + begin, i - begin);
            attn_sink_write(sink, rows[k].escape, strlen(rows[k].escape));
            begin = i + size;
            i = begin - 1;
            break;
        }
    attn_sink_write(sink, json + begin, n - begin);
}

void attn_page_write_json(struct attn_sink *sink, const char *id, const struct attn_buffer *json)
{
    attn_page_write_text(sink, "<script type=\"application/json\" id=\"");
    attn_page_write_text(sink, id);
    attn_page_write_text(sink, "\">\n");
    write_embedded(sink, json->data, json->size);
    attn_page_write_text(sink, "</script>\n");
}

enum attn_status attn_page_run_write(const struct attn_page *page, struct attn_error *err)
{
    struct run_json to = {.page = page, .json.comma = ","};
    enum attn_status status;

    to.json.out = &to.text;
    attn_json_begin(&to.json, '{');
    push_labels(&to);
    attn_page_push_tokens(&to.json, page);
    push_picture(&to);
    attn_page_push_numbers(&to.json, page->n_byte);
    attn_page_push_colors(&to.json,
                          page->has_question ? NULL : page->base.options.picture->colormap);
    push_measures(&to);
    push_heads(&to);
    attn_json_line(&to.json);
    attn_json_end(&to.json);
    attn_buffer_append_char(&to.text, '\n');
    status = attn_buffer_check(&to.text, err);
    if (status == ATTN_OK)
        attn_page_write_json(page->base.sink, "run", &to.text);
    attn_buffer_release(&to.text);
    return status;
}

/* --- Texts ------------------------------------------------------------------------------------ */

size_t attn_page_fit_text(const char *text, size_t size, size_t most)
{
    enum { LONGEST_WORD = 24 }; /* a longer word is cut; shorter ones are dropped as a whole */
    size_t n = most;

    if (size <= most)
        return size;
    while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
        n--;
    for (size_t i = n; i > 0 && i + LONGEST_WORD > n; i--)
        if (text[i] == ' ' && text[i - 1] != ' ')
            return i;
    return n;
}

void attn_page_append_element(struct attn_buffer *out, const char *tag, struct attn_page_file file)
{
    attn_buffer_append_format(out, "<%s>", tag);
    attn_buffer_append(out, file.begin, (size_t)(file.end - file.begin));
    attn_buffer_append_format(out, "</%s>\n", tag);
}
