/* page_numbers.c - see page_internal.h. */
#include "page/page_internal.h"

#include "pictures/grid.h"

#include <math.h>
#include <stdio.h>

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
    double ticks[ATTN_MOST_TICKS];
    const size_t n = attn_grid_ticks(scale, range, ticks);

    attn_json_begin(json, '[');
    for (size_t i = 0; i < n; i++) {
        const bool is_last = unit == 100 && i + 1 == n;
        char number[ATTN_TICK_TEXT_SIZE];
        struct attn_buffer text = {0};

        attn_color_tick_text(fabs(unit * ticks[i]), number);
        attn_buffer_append_format(&text, "%s%s%s", ticks[i] < 0 ? "\xe2\x88\x92" : "", number,
                                  is_last ? " %" : "");
        attn_json_begin(json, '[');
        attn_page_push_number(json, 4, attn_color_place(scale, range, ticks[i]));
        attn_page_push_number(json, 6, ticks[i]);
        attn_json_buffer(json, &text);
        attn_json_end(json);
    }
    attn_json_end(json);
}

void attn_page_push_scale(struct attn_json_writer *json)
{
    struct attn_color_scale scale = {.curve = ATTN_CURVE_SQRT, .span = ATTN_SPAN_UNIT};

    attn_json_begin(attn_page_push_key(json, "scale"), '{');
    attn_page_push_ticks(attn_json_key(json, "ticks"), &scale, (struct attn_color_range){0, 1}, 1);
    scale.is_signed = true;
    attn_page_push_ticks(attn_json_key(json, "signed"), &scale, (struct attn_color_range){-1, 1},
                         1);
    attn_json_end(json);
}
