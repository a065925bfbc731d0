/*
 * test_picture_params.c - the parameters of pictures: what each text sets in the options, and that
 * all of them are found by names, as programs find them.
 */
#include "pictures/picture.h"
#include "run/run_extra.h"
#include "tests/support/suite.h"
#include "tool.h"

#include <string.h>

static struct attn_picture_options picture;

static const struct attn_param *find(const char *list, const char *name)
{
    const struct attn_param_list *params = attn_request_params_find(list);

    ck_assert_ptr_nonnull(params);
    for (size_t i = 0; i < params->n; i++)
        if (strcmp(params->items[i].name, name) == 0)
            return &params->items[i];
    ck_abort_msg("no parameter %s", name);
    return NULL;
}

/* Sets NAME of LIST to TEXT and expects the MESSAGE, "" for success. */
static void set(const char *list, const char *name, const char *text, const char *message)
{
    struct attn_error err = {0};
    const enum attn_status status = attn_param_set(find(list, name), &picture, "it", text, &err);

    ck_assert_str_eq(err.message, message);
    ck_assert_int_eq(status, *message ? ATTN_INVALID : ATTN_OK);
    ck_assert_int_eq(err.stage, *message ? ATTN_STAGE_OPTIONS : ATTN_STAGE_NONE);
}

START_TEST(texts_set_the_options)
{
    picture = ATTN_PICTURE_OPTIONS_DEFAULT;
    set("view", "merge_words", "true", "");
    set("view", "hide", "first", "");
    set("view", "renormalize", "true", "");
    ck_assert(picture.merges_words && picture.renormalizes && picture.hides == ATTN_HIDDEN_FIRST);
    set("picture", "figure", "patches:2x3", "");
    ck_assert_int_eq(picture.figure, ATTN_FIGURE_PATCHES);
    ck_assert(picture.n_patch_row == 2 && picture.n_patch_column == 3);
    set("picture", "figure", "patches:both", "");
    ck_assert_int_eq(picture.figure, ATTN_FIGURE_PATCHES);
    ck_assert_int_eq(picture.patches, ATTN_PATCHES_BOTH);
    ck_assert(picture.n_patch_row == 0 && picture.n_patch_column == 0);
    set("picture", "figure", "patches:1x2", "");
    ck_assert_int_eq(picture.patches, ATTN_PATCHES_USUAL);
    set("picture", "colormap", "magma", "");
    ck_assert_ptr_eq(picture.colormap, attn_colormap_find("magma"));
    set("picture", "theme", "dark", "");
    ck_assert(picture.theme == ATTN_THEME_DARK);
    set("picture", "width", "50", "");
    set("picture", "dpi", "99.5", "");
    set("picture", "font_size", "200", "");
    ck_assert(picture.width == 50);
    ck_assert(picture.dpi == 99.5 && picture.font_size == 200);
    set("picture", "title", "A", "");
    ck_assert_str_eq(picture.title, "A");
    set("picture", "figure_width", "2in", "");
    ck_assert_double_eq(picture.figure_width, 144);
    set("picture", "figure_width", "1e1pt", "");
    ck_assert_double_eq(picture.figure_width, 10);
}
END_TEST

START_TEST(other_texts_leave_them_as_they_are)
{
    static const struct attn_picture_options plain = {.size = sizeof plain};

    picture = plain;
    set("picture", "colormap", "blue",
        "'blue' is no color map, expected blues, viridis, cividis, magma, greys or diverging");
    set("picture", "figure_width", "85",
        "'it' is '85', expected a length as in 85mm, 8.5cm, "
        "3.3in or 240pt");
    set("picture", "figure_width", "-1mm",
        "'it' is '-1mm', expected a length as in 85mm, 8.5cm, "
        "3.3in or 240pt");
    set("picture", "theme", "grey", "'it' is 'grey', expected auto|light|dark");
    set("picture", "dpi", "9", "'it' is '9', expected a number from 10 to 2400");
    ck_assert_mem_eq(&picture, &plain, sizeof picture);
}
END_TEST

START_TEST(each_parameter_changes_some_output)
{
    static const char *const lists[] = {"view", "picture"};

    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const struct attn_param_list *params = attn_request_params_find(lists[i]);

        for (size_t k = 0; k < params->n; k++)
            ck_assert_msg(params->items[k].type == ATTN_PARAM_SETTINGS ||
                              (params->items[k].media & ATTN_MEDIA_PICTURES) != 0,
                          "%s", params->items[k].name);
    }
    ck_assert_ptr_null(attn_request_params_find("pictures"));
    ck_assert_ptr_null(attn_request_params_find(NULL));
}
END_TEST

ATTN_SUITE("picture params", texts_set_the_options, other_texts_leave_them_as_they_are,
           each_parameter_changes_some_output)
