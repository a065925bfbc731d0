/* svg.c - see svg.h. */
#include "tests/support/svg.h"

#include "base/text/utf8.h"
#include "tests/support/assert.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEPTH = 16 };

struct reader {
    const char *at;
    struct attn_svg svg;
    size_t open[MOST_DEPTH]; /* the elements around */
    size_t depth;
};

static void append(char **text, const char *more, size_t n)
{
    const size_t size = *text ? strlen(*text) : 0;

    *text = realloc(*text, size + n + 1);
    ck_assert_ptr_nonnull(*text);
    memcpy(*text + size, more, n);
    (*text)[size + n] = '\0';
}

/* One character of text: itself, or what an entity stands for. */
static void take_character(struct reader *reader, char **to)
{
    static const char *const entities[] = {"&amp;", "&", "&lt;", "<", "&gt;", ">", "&quot;", "\""};

    if (*reader->at != '&') {
        ck_assert_msg((unsigned char)*reader->at >= 0x20 || *reader->at == '\n',
                      "a control character in XML");
        append(to, reader->at++, 1);
        return;
    }
    for (size_t i = 0; i < 8; i += 2)
        if (strncmp(reader->at, entities[i], strlen(entities[i])) == 0) {
            append(to, entities[i + 1], 1);
            reader->at += strlen(entities[i]);
            return;
        }
    ck_abort_msg("not an entity: %.20s", reader->at);
}

static size_t name_length(const char *text)
{
    size_t n = 0;

    while (isalnum((unsigned char)text[n]) || text[n] == '-' || text[n] == ':')
        n++;
    ck_assert_msg(n > 0, "no name: %.20s", text);
    return n;
}

static void take_attribute(struct reader *reader, struct attn_svg_item *item)
{
    const size_t n = name_length(reader->at);
    char name[64];

    snprintf(name, sizeof name, "%.*s", (int)n, reader->at);
    ck_assert_msg(isnan(attn_svg_number(item, name)), "attribute %s twice", name);
    append(&item->attributes, reader->at, n);
    append(&item->attributes, "=", 1);
    reader->at += n;
    ck_assert_msg(strncmp(reader->at, "=\"", 2) == 0, "no value: %.20s", reader->at);
    for (reader->at += 2; *reader->at != '"';) {
        ck_assert_msg(*reader->at != '\0' && *reader->at != '<', "an open value");
        take_character(reader, &item->attributes);
    }
    reader->at++;
    append(&item->attributes, "\n", 1);
}

static struct attn_svg_item *add_item(struct reader *reader, size_t n_name)
{
    struct attn_svg *svg = &reader->svg;
    struct attn_svg_item *item;

    svg->items = realloc(svg->items, (svg->n + 1) * sizeof *svg->items);
    ck_assert_ptr_nonnull(svg->items);
    item = &svg->items[svg->n];
    *item = (struct attn_svg_item){0};
    item->parent = reader->depth > 0 ? reader->open[reader->depth - 1] : SIZE_MAX;
    append(&item->name, reader->at, n_name);
    append(&item->attributes, "", 0);
    append(&item->text, "", 0);
    svg->n++;
    return item;
}

static void take_begin(struct reader *reader)
{
    const size_t n = name_length(++reader->at);
    struct attn_svg_item *item = add_item(reader, n);

    for (reader->at += n; *reader->at == ' ';) {
        reader->at++;
        take_attribute(reader, item);
    }
    if (strncmp(reader->at, "/>", 2) == 0) {
        reader->at += 2;
        return;
    }
    ck_assert_msg(*reader->at == '>', "an open tag: %.20s", reader->at);
    reader->at++;
    ck_assert_uint_lt(reader->depth, MOST_DEPTH);
    reader->open[reader->depth++] = reader->svg.n - 1;
}

static void take_end(struct reader *reader)
{
    const char *name;

    ck_assert_uint_gt(reader->depth, 0);
    name = reader->svg.items[reader->open[--reader->depth]].name;
    reader->at += 2;
    ck_assert_msg(strncmp(reader->at, name, strlen(name)) == 0 && reader->at[strlen(name)] == '>',
                  "'%s' ends as %.20s", name, reader->at);
    reader->at += strlen(name) + 1;
}

struct attn_svg attn_svg_parse(const char *text)
{
    struct reader reader = {.at = text};

    ck_assert_uint_eq(attn_utf8_valid_length(text, strlen(text)), strlen(text));
    ck_assert(strncmp(text, "<svg ", 5) == 0);
    while (*reader.at) {
        if (reader.at[0] == '<' && reader.at[1] == '/')
            take_end(&reader);
        else if (reader.at[0] == '<')
            take_begin(&reader);
        else if (reader.depth > 0)
            take_character(&reader, &reader.svg.items[reader.open[reader.depth - 1]].text);
        else
            ck_assert_str_eq(reader.at++, "\n");
    }
    ck_assert_uint_eq(reader.depth, 0);
    return reader.svg;
}

void attn_svg_release(struct attn_svg *svg)
{
    for (size_t i = 0; i < svg->n; i++) {
        free(svg->items[i].name);
        free(svg->items[i].attributes);
        free(svg->items[i].text);
    }
    free(svg->items);
    *svg = (struct attn_svg){0};
}

/* --- Looking things up -------------------------------------------------------------------------
 */

static const char *own_value(const struct attn_svg_item *item, const char *name)
{
    const size_t n = strlen(name);

    for (const char *at = item->attributes; *at; at = strchr(at, '\n') + 1)
        if (strncmp(at, name, n) == 0 && at[n] == '=')
            return at + n + 1;
    return NULL;
}

const char *attn_svg_value(const struct attn_svg *svg, const struct attn_svg_item *item,
                           const char *name)
{
    const char *value = own_value(item, name);

    while (!value && item->parent != SIZE_MAX) {
        item = &svg->items[item->parent];
        value = own_value(item, name);
    }
    return value;
}

double attn_svg_number(const struct attn_svg_item *item, const char *name)
{
    const char *value = own_value(item, name);

    return value ? strtod(value, NULL) : (double)NAN;
}

const struct attn_svg_item *attn_svg_text(const struct attn_svg *svg, const char *words, size_t nth)
{
    for (size_t i = 0; i < svg->n; i++)
        if (strcmp(svg->items[i].name, "text") == 0 && strcmp(svg->items[i].text, words) == 0 &&
            nth-- == 0)
            return &svg->items[i];
    return NULL;
}

/* --- Cells -------------------------------------------------------------------------------------
 */

struct run {
    double x, y, width, height;
};

/* Reads `M12 30h18.36v18.36h-18.36z`; false at the end. */
static bool next_run(const char **at, struct run *run)
{
    double back;
    int n = 0;

    if (**at != 'M')
        return false;
    ck_assert_int_eq(sscanf(*at, "M%lf %lfh%lfv%lfh%lfz%n", &run->x, &run->y, &run->width,
                            &run->height, &back, &n),
                     5);
    ck_assert_int_gt(n, 0);
    ck_assert_double_eq(back, -run->width);
    *at += n;
    return true;
}

static bool is_path_of(const struct attn_svg *svg, size_t i, size_t group)
{
    return svg->items[i].parent == group && strcmp(svg->items[i].name, "path") == 0;
}

static size_t find_group(const struct attn_svg *svg, size_t first)
{
    for (size_t i = 0; i < svg->n; i++) {
        const char *rendering = own_value(&svg->items[i], "shape-rendering");

        if (rendering && strncmp(rendering, "crispEdges", 10) == 0 && first-- == 0)
            return i;
    }
    ck_abort_msg("there are not so many groups of cells");
}

static void find_origin(const struct attn_svg *svg, size_t group, struct run *least)
{
    struct run run;

    least->x = least->y = (double)INFINITY;
    for (size_t i = 0; i < svg->n; i++) {
        const char *at = is_path_of(svg, i, group) ? own_value(&svg->items[i], "d") : "";

        while (next_run(&at, &run)) {
            least->x = fmin(least->x, run.x);
            least->y = fmin(least->y, run.y);
        }
    }
}

void attn_svg_cells(const struct attn_svg *svg, size_t first, double side, size_t n_row,
                    size_t n_col, uint32_t *colors)
{
    const size_t group = find_group(svg, first);
    struct run least, run;

    find_origin(svg, group, &least);
    memset(colors, 0xff, n_row * n_col * sizeof *colors);
    for (size_t i = 0; i < svg->n; i++) {
        const char *at = is_path_of(svg, i, group) ? own_value(&svg->items[i], "d") : "";

        while (next_run(&at, &run)) {
            const double c = (run.x - least.x) / side, r = (run.y - least.y) / side;
            const double n = floor(run.width / side);

            ck_assert(c == floor(c) && r == floor(r) && n >= 1);
            ck_assert_double_eq_tol(run.width, side * (n + 0.02), 0.011);
            ck_assert_double_eq_tol(run.height, side * 1.02, 0.011);
            ck_assert(r < (double)n_row && c + n <= (double)n_col);
            for (size_t k = 0; k < (size_t)n; k++) {
                uint32_t *color = &colors[(size_t)r * n_col + (size_t)c + k];

                ck_assert_uint_eq(*color, UINT32_MAX);
                *color = (uint32_t)strtoul(own_value(&svg->items[i], "fill") + 1, NULL, 16);
            }
        }
    }
}

uint32_t attn_svg_color(const struct attn_svg *svg, size_t first, double x, double y)
{
    const size_t group = find_group(svg, first);
    struct run run;

    for (size_t i = 0; i < svg->n; i++) {
        const char *at = is_path_of(svg, i, group) ? own_value(&svg->items[i], "d") : "";

        while (next_run(&at, &run))
            if (x >= run.x && x < run.x + run.width && y >= run.y && y < run.y + run.height)
                return (uint32_t)strtoul(own_value(&svg->items[i], "fill") + 1, NULL, 16);
    }
    return UINT32_MAX;
}
