/* page_numbers.c - see page_internal.h. */
#include "page/page_internal.h"

#include "pictures/grid.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct attn_json_writer *attn_page_push_key(struct attn_json_writer *json, const char *name)
{
    attn_json_line(json);
    json->colon = ": ";
    attn_json_key(json, name);
    json->colon = ":";
    return json;
}

void attn_page_push_number(struct attn_json_writer *json, int n_digit, double value)
{
    if (isfinite(value))
        attn_buffer_append_format(attn_json_value(json), "%.*g", n_digit, value);
    else
        attn_json_null(json);
}

void attn_page_push_bar(struct attn_json_writer *json, const double *shares, double park)
{
    struct attn_head_part parts[ATTN_HEAD_PARTS];
    const size_t n = attn_head_bar(shares, park, parts);

    attn_json_begin(json, '[');
    for (size_t i = 0; i < n; i++) {
        attn_json_size(json, (size_t)(parts[i].kind - attn_head_kind_at(0)));
        attn_page_push_number(json, 2, parts[i].end);
    }
    attn_json_end(json);
}

void attn_page_push_kinds(struct attn_json_writer *json)
{
    attn_json_begin(json, '[');
    for (size_t i = 0; i < ATTN_N_HEAD_KIND; i++) {
        const struct attn_head_kind *kind = attn_head_kind_at(i);
        char hue[8];

        snprintf(hue, sizeof hue, "#%06x", (unsigned)kind->hue);
        attn_json_begin(json, '{');
        attn_json_string(attn_json_key(json, "letter"), &kind->letter, 1);
        attn_json_text(attn_json_key(json, "name"), kind->name);
        attn_json_text(attn_json_key(json, "brief"), kind->brief);
        attn_json_text(attn_json_key(json, "words"), kind->words);
        attn_json_text(attn_json_key(json, "hue"), hue);
        attn_json_end(json);
    }
    attn_json_end(json);
}

void attn_page_push_ticks(struct attn_json_writer *json, const struct attn_color_scale *scale,
                          struct attn_color_range range, double unit)
{
    static const char minus[] = "\xe2\x88\x92", percent[] = " %";
    double ticks[ATTN_MOST_TICKS];
    const size_t n = attn_grid_ticks(scale, range, ticks);

    attn_json_begin(json, '[');
    for (size_t i = 0; i < n; i++) {
        char text[sizeof minus + ATTN_TICK_TEXT_SIZE + sizeof percent];
        const bool is_below = ticks[i] < 0;
        const size_t n_minus = is_below ? sizeof minus - 1 : 0;
        size_t n_text;

        memcpy(text, minus, n_minus);
        n_text = n_minus + attn_color_tick_text(fabs(unit * ticks[i]), text + n_minus);
        if (unit == 100 && i + 1 == n)
            memcpy(text + n_text, percent, sizeof percent);
        attn_json_begin(json, '[');
        attn_page_push_number(json, 4, attn_color_place(scale, range, ticks[i]));
        attn_page_push_number(json, 6, ticks[i]);
        attn_json_text(json, text);
        attn_json_end(json);
    }
    attn_json_end(json);
}

void attn_page_push_scale(struct attn_json_writer *json)
{
    static const struct {
        const char *name, *words;
    } curves[] = {
#define CURVE_ROW(curve, name, words) [ATTN_CURVE_##curve] = {name, words},
        ATTN_PAGE_CURVE_MAP(CURVE_ROW)
#undef CURVE_ROW
    };
    struct attn_color_scale scale = {.curve = ATTN_CURVE_SQRT, .span = ATTN_SPAN_UNIT};

    attn_json_begin(attn_page_push_key(json, "scale"), '{');
    attn_json_text(attn_json_key(json, "curve"), curves[scale.curve].name);
    attn_json_text(attn_json_key(json, "words"), curves[scale.curve].words);
    attn_page_push_ticks(attn_json_key(json, "ticks"), &scale, (struct attn_color_range){0, 1}, 1);
    scale.is_signed = true;
    attn_page_push_ticks(attn_json_key(json, "signed"), &scale, (struct attn_color_range){-1, 1},
                         1);
    attn_json_end(json);
}
