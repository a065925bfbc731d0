/* page_run.c - see page_run.h. */
#include "page/page_run.h"

#include "base/escape.h"
#include "base/path.h"
#include "base/version.h"
#include "encode/base64.h"
#include "encode/colormap_internal.h"
#include "output/labels_json.h"
#include "output/picture_internal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* --- Pieces ---------------------------------------------------------------------------------- */

static void append_key(struct attn_buffer *out, const char *name)
{
    attn_buffer_append_format(out, ",\n\"%s\": ", name);
}

static void append_boolean(struct attn_buffer *out, const char *name, bool value)
{
    append_key(out, name);
    attn_buffer_append_string(out, value ? "true" : "false");
}

/* A number with six digits, whatever the locale; null where there is none. */
static void append_measure(struct attn_buffer *out, const char *name, double value)
{
    if (isfinite(value))
        attn_buffer_append_format(out, ",\"%s\":%.6g", name, value);
    else
        attn_buffer_append_format(out, ",\"%s\":null", name);
}

/* --- Colours --------------------------------------------------------------------------------- */

static void append_ramp(struct attn_buffer *out, const struct attn_colormap *map,
                        enum attn_theme theme, const char *ending)
{
    unsigned char bytes[ATTN_N_COLOR][3];

    for (int i = 0; i < ATTN_N_COLOR; i++) {
        const struct attn_rgb color = attn_colormap_color(map, theme, i);

        bytes[i][0] = color.r;
        bytes[i][1] = color.g;
        bytes[i][2] = color.b;
    }
    attn_buffer_append_format(out, "\"%s%s\":\"", attn_colormap_name(map), ending);
    attn_base64_append(out, bytes, sizeof bytes);
    attn_buffer_append_char(out, '"');
}

/* All maps, 256 times red, green and blue each; of diverging ones that of either theme. */
static void append_colormaps(struct attn_buffer *out)
{
    append_key(out, "colormaps");
    for (size_t i = 0; i < attn_n_colormap(); i++) {
        const struct attn_colormap *map = attn_colormap_at(i);

        attn_buffer_append_string(out, i > 0 ? ",\n" : "{");
        append_ramp(out, map, ATTN_THEME_LIGHT, "");
        if (!attn_colormap_is_diverging(map))
            continue;
        attn_buffer_append_string(out, ",\n");
        append_ramp(out, map, ATTN_THEME_DARK, "-dark");
    }
    attn_buffer_append_char(out, '}');
}

static void append_color(struct attn_buffer *out, struct attn_rgb color)
{
    attn_buffer_append_format(out, "\"#%02x%02x%02x\"", color.r, color.g, color.b);
}

/* Ground and hatch of the cells without a value, in both themes. */
static void append_cells(struct attn_buffer *out)
{
    static const struct {
        const char *name;
        enum attn_cell_kind kind;
    } kinds[] = {{"masked", ATTN_CELL_MASKED},
                 {"hidden", ATTN_CELL_HIDDEN},
                 {"not_finite", ATTN_CELL_NOT_FINITE}};
    static const char *const themes[] = {"light", "dark"};

    append_key(out, "nothing");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        attn_buffer_append_format(out, "%s\"%s\":{", i > 0 ? "," : "{", kinds[i].name);
        for (int theme = ATTN_THEME_LIGHT; theme <= ATTN_THEME_DARK; theme++) {
            attn_buffer_append_format(out, "%s\"%s\":[", theme > 0 ? "," : "", themes[theme]);
            append_color(out, attn_cell_color(kinds[i].kind, theme));
            attn_buffer_append_char(out, ',');
            append_color(out, attn_cell_hatch_color(kinds[i].kind, theme));
            attn_buffer_append_char(out, ']');
        }
        attn_buffer_append_char(out, '}');
    }
    attn_buffer_append_char(out, '}');
}

/* What options ask for of the first look: map, scale, theme, and what was done to the rows. */
static void append_look(struct attn_buffer *out, const struct attn_picture_options *picture)
{
    static const char *const curves[] = {"sqrt", "linear", "sqrt", "log"};
    static const char *const spans[] = {"unit", "unit", "matrix", "row", "fixed"};
    const struct attn_color_scale *scale = &picture->color_scale;
    static const char *const values[] = {"auto", "always", "never"};
    const char *figure =
        picture->figure == ATTN_FIGURE_DEFAULT ? NULL : attn_figure_name(picture->figure);
    const char *map = picture->colormap ? attn_colormap_name(picture->colormap) : NULL;

    append_key(out, "colormap");
    attn_json_append_text(out, map, map ? strlen(map) : 0);
    append_key(out, "theme");
    attn_buffer_append_string(out, picture->theme == ATTN_THEME_DARK ? "\"dark\"" : "null");
    attn_buffer_append_format(out, ",\n\"scale\": \"%s\",\n\"span\": \"%s\"", curves[scale->curve],
                              spans[scale->span]);
    if (scale->span == ATTN_SPAN_FIXED)
        attn_buffer_append_format(out, ",\n\"low\": %.9g,\n\"high\": %.9g", scale->low,
                                  scale->high);
    append_key(out, "values");
    attn_buffer_append_format(out, "\"%s\"", values[picture->values]);
    append_key(out, "cell");
    attn_buffer_append_format(out, "%zu", picture->cell);
    append_key(out, "figure");
    attn_json_append_text(out, figure, figure ? strlen(figure) : 0);
    append_boolean(out, "hides_first", picture->hides_first);
    append_boolean(out, "renormalizes", picture->renormalizes);
    append_boolean(out, "merges_words", picture->merges_words);
}

/* --- The run --------------------------------------------------------------------------------- */

static void append_ids(struct attn_buffer *out, const struct attn_writer *writer)
{
    const int32_t *ids = writer->labels.ids;

    append_key(out, "ids");
    for (size_t i = 0; ids && i < writer->n_position; i++)
        attn_buffer_append_format(out, i > 0 ? ",%" PRId32 : "[%" PRId32, ids[i]);
    attn_buffer_append_string(out, ids ? "]" : "null");
}

/* Whether something stands between each token and the one before it: 0 or 1 of each; null where that
 * is not known. */
static void append_gaps(struct attn_buffer *out, const struct attn_writer *writer)
{
    const size_t *begin = writer->labels.begin, *end = writer->labels.end;

    append_key(out, "gaps");
    for (size_t i = 0; begin && i < writer->n_position; i++)
        attn_buffer_append_format(out, "%s%d", i > 0 ? "," : "[", i > 0 && begin[i] > end[i - 1]);
    attn_buffer_append_string(out, begin ? "]" : "null");
}

/* The positions of the rows; null: all. */
static void append_queries(struct attn_buffer *out, const struct attn_writer *writer)
{
    const bool is_all = writer->n_query == writer->n_position;

    append_key(out, "queries");
    for (size_t i = 0; !is_all && i < writer->n_query; i++)
        attn_buffer_append_format(out, i > 0 ? ",%zu" : "[%zu", writer->queries[i]);
    attn_buffer_append_string(out, is_all ? "null" : writer->n_query > 0 ? "]" : "[]");
}

static void append_options(struct attn_buffer *out, const struct attn_labels *labels)
{
    append_key(out, "options");
    for (size_t i = 0; i < labels->n_option; i++) {
        const struct attn_option *option = &labels->options[i];
        size_t n_value;
        const char *value = attn_path_last(option->value, &n_value);

        attn_buffer_append_string(out, i > 0 ? "," : "{");
        attn_json_append_string(out, option->name, strlen(option->name));
        attn_buffer_append_char(out, ':');
        attn_json_append_string(out, value, n_value);
    }
    attn_buffer_append_string(out, labels->n_option > 0 ? "}" : "{}");
}

/* TEXTS as a list; null where they are what stands before. */
static void append_texts(struct attn_buffer *out, const char *name,
                         const struct attn_token_texts *texts, bool is_same)
{
    const char *separator = "[";

    append_key(out, name);
    for (size_t p = 0; !is_same && p < texts->n; p++) {
        size_t size;
        const char *text = attn_token_text(texts, p, &size);

        attn_buffer_append_string(out, separator);
        attn_json_append_string(out, text, size);
        separator = ",";
    }
    attn_buffer_append_string(out, is_same || texts->n == 0 ? "null" : "]");
}

/* Whether no token is escaped in TEXTS: an escape is longer than what it stands for. */
static bool are_plain(const struct attn_token_texts *texts, const size_t *sizes)
{
    size_t n_byte = 0;

    for (size_t p = 0; p < texts->n; p++)
        n_byte += sizes[p];
    return texts->bytes.size == n_byte;
}

static bool are_equal(const struct attn_token_texts *a, const struct attn_token_texts *b)
{
    const size_t size = a->bytes.size;

    return size == b->bytes.size && (size == 0 || memcmp(a->bytes.data, b->bytes.data, size) == 0);
}

/* The tokens; how tables show them, where that is anything else; how people see them, likewise. */
static void append_tokens(struct attn_buffer *out, const struct attn_page_run *run)
{
    const struct attn_labels *labels = &run->writer->labels;

    append_key(out, "tokens");
    attn_json_append_tokens(out, labels->tokens, labels->token_sizes, run->texts->n);
    append_key(out, "source_tokens");
    attn_json_append_tokens(out, labels->source_tokens, labels->source_token_sizes,
                            run->source_texts->n);
    append_texts(out, "texts", run->texts, are_plain(run->texts, labels->token_sizes));
    append_texts(out, "source_texts", run->source_texts,
                 are_plain(run->source_texts, labels->source_token_sizes));
    append_texts(out, "labels", run->names, are_equal(run->names, run->texts));
    append_texts(out, "source_labels", run->source_names,
                 are_equal(run->source_names, run->source_texts));
}

static void append_labels(struct attn_buffer *out, const struct attn_page_run *run)
{
    const struct attn_labels *labels = &run->writer->labels;
    size_t n_model = 0;
    const char *model = labels->model ? attn_path_last(labels->model, &n_model) : NULL;

    attn_buffer_append_format(out, "{\n\"schema\": %d,\n\"version\": \"%s\"", ATTN_JSON_SCHEMA,
                              ATTN_VERSION);
    append_key(out, "model");
    attn_json_append_text(out, model, n_model);
    append_key(out, "title");
    attn_json_append_string(out, run->title->data, run->title->size);
    append_key(out, "heading");
    attn_json_append_text(out, run->heading->size > run->title->size ? run->heading->data : NULL,
                          run->heading->size);
    append_key(out, "text");
    attn_json_append_text(out, labels->tokens ? run->text->data : NULL, run->text->size);
    append_key(out, "site");
    attn_buffer_append_string(out, "\"pattern\"");
    append_options(out, labels);
    append_tokens(out, run);
    append_ids(out, run->writer);
    append_gaps(out, run->writer);
    append_queries(out, run->writer);
    append_look(out, run->writer->options.picture);
    append_key(out, "predictions");
    if (run->predictions->size > 0)
        attn_buffer_append(out, run->predictions->data, run->predictions->size);
    else
        attn_buffer_append_string(out, "null");
}

static void append_head(struct attn_buffer *out, const struct attn_page_head *head)
{
    static const char *const names[] = {
#define MEASURE_NAME(name) #name,
        ATTN_PAGE_MEASURE_MAP(MEASURE_NAME)
#undef MEASURE_NAME
    };

    attn_buffer_append_format(
        out,
        "{\"id\":\"%s\",\"layer\":%d,\"group\":%d,\"head\":%d,\"rows\":%zu,\"cols\":%zu,"
        "\"is_source\":%s,\"pooled\":%zu",
        head->id, head->layer, head->group, head->number, head->n_row, head->n_column,
        head->is_source ? "true" : "false", head->k);
    for (size_t i = 0; i < ATTN_PAGE_N_MEASURE; i++)
        append_measure(out, names[i], head->values[i]);
    if (head->n_outside > 0)
        attn_buffer_append_format(out, ",\"outside\":%zu", head->n_outside);
    if (head->not_finite.size > 0) {
        attn_buffer_append_string(out, ",\"not_finite\":[");
        attn_buffer_append(out, head->not_finite.data, head->not_finite.size);
        attn_buffer_append_char(out, ']');
    }
    out->has_failed |= head->not_finite.has_failed;
    attn_buffer_append_char(out, '}');
}

static void append_heads(struct attn_buffer *out, const struct attn_page_run *run)
{
    const struct attn_array_axes *axes = run->writer->labels.axes;

    attn_buffer_append_format(
        out, ",\n\"grouping\": \"%s\",\n\"bytes\": %d,\n\"start\": %zu,\n\"sets\": [\"\"%s]",
        !axes             ? "layer"
        : axes->rank == 4 ? "batch"
                          : "none",
        run->n_byte, run->start,
        run->writer->options.picture->is_difference ? ",\"" ATTN_PAGE_EXACT "\"" : "");
    append_key(out, "heads");
    for (size_t i = 0; i < run->heads->n; i++) {
        attn_buffer_append_string(out, i > 0 ? ",\n" : "[\n");
        append_head(out, &run->heads->items[i]);
    }
    attn_buffer_append_string(out, "]");
}

/* ,"label":"\\n": how TEXT is shown, where that is anything else. */
static void append_label(struct attn_buffer *out, const char *text, size_t size)
{
    struct attn_buffer label = {0};

    if (text)
        attn_escape_append(&label, text, size);
    if (label.size > size) {
        attn_buffer_append_string(out, ",\"label\":");
        attn_json_append_string(out, label.data, label.size);
    }
    out->has_failed |= label.has_failed;
    attn_buffer_release(&label);
}

static void append_candidate(struct attn_buffer *out, const struct attn_candidate *top)
{
    attn_buffer_append_format(out, "{\"position\":%zu,\"id\":%" PRId32 ",\"token\":", top->position,
                              top->id);
    attn_json_append_text(out, top->token, top->token_size);
    append_label(out, top->token, top->token_size);
    attn_buffer_append_format(out, ",\"probability\":%.6g}", top->probability);
}

void attn_page_append_predictions(struct attn_buffer *out,
                                  const struct attn_predictions *predictions)
{
    attn_buffer_append_string(out, "{\"top\":[");
    for (size_t i = 0; i < predictions->n_top; i++) {
        attn_buffer_append_string(out, i > 0 ? ",\n" : "");
        append_candidate(out, &predictions->top[i]);
    }
    attn_buffer_append_string(out, "],\n\"next\":[");
    for (size_t i = 0; i < predictions->n_next; i++) {
        const struct attn_continuation *next = &predictions->next[i];

        attn_buffer_append_string(out, i > 0 ? ",\n{" : "{");
        if (predictions->has_positions)
            attn_buffer_append_format(out, "\"position\":%zu,", next->position);
        attn_buffer_append_string(out, "\"text\":");
        attn_json_append_string(out, next->text, strlen(next->text));
        attn_buffer_append_format(out, ",\"logprob\":%.6g}", next->log_probability);
    }
    attn_buffer_append_string(out, "]}");
}

/* --- The element ----------------------------------------------------------------------------- */

/* JSON for the inside of an element: what could end it, and line separators, as escapes. They stand
 * in strings alone. */
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

enum attn_status attn_page_run_write(const struct attn_page_run *run, struct attn_sink *sink,
                                     struct attn_error *err)
{
    static const char before[] = "<script type=\"application/json\" id=\"run\">\n";
    static const char after[] = "</script>\n";
    struct attn_buffer json = {0};
    enum attn_status status;

    append_labels(&json, run);
    append_cells(&json);
    append_colormaps(&json);
    append_heads(&json, run);
    attn_buffer_append_string(&json, "\n}\n");
    status = attn_buffer_check(&json, err);
    if (status == ATTN_OK) {
        attn_sink_write(sink, before, sizeof before - 1);
        write_embedded(sink, json.data, json.size);
        attn_sink_write(sink, after, sizeof after - 1);
    }
    attn_buffer_release(&json);
    return status;
}
