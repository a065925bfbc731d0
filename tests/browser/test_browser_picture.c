/*
 * test_browser_picture.c - heads over a picture in a browser: what is seen of a weight, the patch
 * under the pointer and under the keys, [CLS] and registers beside the picture, a telephone, dark,
 * paper. The run is made up: two layers of two heads look at two positions before 3 x 4 patches. In
 * a text the same positions are a word, two tiles of 2 x 2 cells, the picture in 2 x 2 cells, and a
 * word of the question.
 */
#include "pictures/colormap_internal.h"
#include "tensors/labels_internal.h"
#include "tensors/writer.h"
#include "tests/browser/browser.h"
#include "tests/support/folder.h"
#include "tests/support/suite.h"
#include "towers/maps/picture_maps.h"
#include "towers/prompt/picture_prompt.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N_LAYER = 2, N_HEAD = 2, N_FRONT = 2, N_ROW = 3, N_COL = 4, N = N_FRONT + N_ROW * N_COL };
enum { SIDE = 8, GREY = 128, N_TILE = 2, SIDE_OF_TILE = 2, SINK = 4 };

static struct attn_browser *browser;
static bool are_named = true; /* positions have tokens */
static bool has_front = true; /* [CLS] and a register; else all N positions are patches */

/* Weights of a row add up to 1; each head has one patch that it looks at from everywhere, and
 * another for each query. */
static float weight_of(int layer, int head, size_t query, size_t key)
{
    const size_t own = N_FRONT + (query + (size_t)head) % (N - N_FRONT);
    const size_t all = N_FRONT + 5 * (size_t)layer;

    return 0.3F / N + (key == own ? 0.3F : 0) + (key == all ? 0.2F : 0) +
           (key == (query == 0 ? 0 : 1) ? 0.2F : 0);
}

/* Writes the events; MAPS, which may be NULL inside, get them, too. */
static void write_run(struct attn_writer *writer, struct attn_picture_maps *const maps[2])
{
    float row[N];
    struct attn_error err = {0};

    for (int i = 0; i < N_LAYER * N_HEAD; i++)
        for (size_t query = 0; query < N; query++) {
            const struct attn_trace_event event = {
                .at = {.layer = i / N_HEAD, .head = i % N_HEAD, .site = ATTN_SITE_PATTERN},
                .row0 = query,
                .n_row = 1,
                .n_col = N,
                .ld = N,
                .data = row};

            for (size_t key = 0; key < N; key++)
                row[key] = weight_of(i / N_HEAD, i % N_HEAD, query, key);
            ck_assert_msg(attn_writer_event(writer, &event, &err) == ATTN_OK, "%s", err.message);
            for (int k = 0; k < 2 && maps[k]; k++)
                attn_picture_maps_add(maps[k], &event);
        }
    ck_assert_msg(attn_writer_finish(writer, &err) == ATTN_OK, "%s", err.message);
}

/* Writes the name of position I; returns its region in a text. */
static unsigned char name_position(bool is_in_text, size_t i, char text[48])
{
    enum { SIZE = 48, TILE = SIDE_OF_TILE * SIDE_OF_TILE };
    const size_t cell = i - 1, tile = cell / TILE, row = cell % TILE / SIDE_OF_TILE,
                 column = cell % SIDE_OF_TILE;

    if (!is_in_text && i < N_FRONT)
        snprintf(text, SIZE, i == 0 ? "[CLS]" : "[REG0]");
    else if (!is_in_text)
        snprintf(text, SIZE, "%zu,%zu", (i - N_FRONT) / N_COL, (i - N_FRONT) % N_COL);
    else if (i == 0 || i == N - 1)
        snprintf(text, SIZE, i == 0 ? "<s>" : "tree");
    else if (tile < N_TILE)
        snprintf(text, SIZE, "t%zu,%zu", row, tile * SIDE_OF_TILE + column);
    else
        snprintf(text, SIZE, "%zu,%zu", row, column);
    return i == 0 ? ATTN_REGION_OTHER : i == N - 1 ? ATTN_REGION_QUESTION : ATTN_REGION_PICTURE;
}

/* Makes maps of the last word, and of the first one in place of a neutral question. The cell SINK
 * is a sink in all layers. */
static void make_maps(const struct attn_selection *selection, const struct attn_sequence *text,
                      struct attn_picture_maps *maps[2])
{
    struct attn_picture_maps_args args = {.text = text, .drop_sinks = 1.2};
    float resid[N][2];
    struct attn_selection *first;

    ck_assert_int_eq(attn_selection_copy(selection, &first, NULL), ATTN_OK);
    ck_assert_int_eq(attn_selection_set_queries(first, ATTN_STACK_ONLY, "0", NULL), ATTN_OK);
    args.selection = first;
    ck_assert_int_eq(attn_picture_maps_create(&args, &maps[1], NULL), ATTN_OK);
    args.selection = selection;
    args.neutral = maps[1];
    ck_assert_int_eq(attn_picture_maps_create(&args, &maps[0], NULL), ATTN_OK);
    attn_selection_free(first);
    for (size_t i = 0; i < N; i++)
        resid[i][0] = 1, resid[i][1] = i == SINK ? 0 : 1;
    for (int layer = 0; layer < N_LAYER; layer++)
        attn_picture_maps_add(
            maps[0],
            &(struct attn_trace_event){
                .at = {.layer = layer, .head = ATTN_ALL_HEADS, .site = ATTN_SITE_RESID_PRE},
                .n_row = N,
                .n_col = 2,
                .ld = 2,
                .data = resid[0]});
}

/* Makes p.html, on a picture that is GREY. */
static void make_page(bool is_in_text)
{
    static unsigned char rgb[N_ROW * SIDE * N_COL * SIDE * 3];
    const struct attn_backdrop backdrop = {.rgb = rgb,
                                           .height = (size_t)N_ROW * SIDE,
                                           .width = (size_t)N_COL * SIDE,
                                           .stride = (size_t)N_COL * SIDE,
                                           .n_front = is_in_text
                                                          ? 1 + N_TILE * SIDE_OF_TILE * SIDE_OF_TILE
                                                      : has_front ? N_FRONT
                                                                  : 0,
                                           .n_row = is_in_text  ? SIDE_OF_TILE
                                                    : has_front ? N_ROW
                                                                : 2,
                                           .n_col = is_in_text  ? SIDE_OF_TILE
                                                    : has_front ? N_COL
                                                                : N / 2,
                                           .is_in_text = is_in_text,
                                           .usual = N - 1,
                                           .n_usual = 1,
                                           .neutral = "What is it?"};
    unsigned char region[N];
    struct attn_prompt_image image = {.n_picture = N_TILE + 1,
                                      .tile_rows = 1,
                                      .tile_cols = N_TILE,
                                      .rows = SIDE_OF_TILE,
                                      .columns = SIDE_OF_TILE,
                                      .grid_rows = SIDE_OF_TILE,
                                      .grid_cols = N_TILE * SIDE_OF_TILE,
                                      .n_cell = N - 2,
                                      .n_row = N - 2};
    int32_t image_of[N];
    const struct attn_sequence text = {.n = N,
                                       .seen = {.images = &image,
                                                .n_image = 1,
                                                .n_picture = N_TILE + 1,
                                                .n_cell = N - 2,
                                                .n_row = N - 2,
                                                .region = region,
                                                .image_of = image_of,
                                                .n_prompt = N}};
    struct attn_labels_pictures pictures = {.prompt = &text.seen};
    struct attn_picture_maps **maps = pictures.maps;
    struct attn_dims dims = {.n_layer = N_LAYER,
                             .n_head = N_HEAD,
                             .n_kv_head = N_HEAD,
                             .d_model = 2,
                             .d_head = 1,
                             .d_value = 1,
                             .d_mlp = 1,
                             .n_vocab = 1,
                             .n_position = N,
                             .sites = ATTN_SITES(ATTN_SITE_PATTERN)};
    char texts[N][48];
    const char *tokens[N];
    size_t sizes[N];
    struct attn_labels labels = {
        .model = "made-up", .tokens = tokens, .token_sizes = sizes, .backdrop = &backdrop};
    struct attn_writer_options options = ATTN_WRITER_OPTIONS_DEFAULT;
    struct attn_selection *selection;
    struct attn_writer *writer;
    struct attn_error err = {0};

    memset(rgb, GREY, sizeof rgb);
    for (size_t i = 0; i < N; i++) {
        region[i] = name_position(is_in_text, i, texts[i]);
        image_of[i] = region[i] == ATTN_REGION_PICTURE ? 0 : -1;
        tokens[i] = texts[i];
        sizes[i] = strlen(texts[i]);
    }
    if (is_in_text) {
        dims.picture = (struct attn_picture_dims){.n = N_TILE + 1,
                                                  .n_row = SIDE_OF_TILE,
                                                  .n_col = SIDE_OF_TILE,
                                                  .grid_rows = SIDE_OF_TILE,
                                                  .grid_cols = N_TILE * SIDE_OF_TILE};
        labels.backdrop = NULL;
        labels.seen = &backdrop;
        labels.region = region;
    }
    ck_assert_int_eq(attn_selection_create(&dims, &selection, &err), ATTN_OK);
    ck_assert_int_eq(attn_selection_set_sites(selection, dims.sites, &err), ATTN_OK);
    labels.selection = selection;
    labels.tokens = are_named ? tokens : NULL;
    if (is_in_text) {
        make_maps(selection, &text, maps);
        labels.maps = maps;
    }
    ck_assert_msg(attn_writer_open(attn_format_find("html"),
                                   &(struct attn_writer_target){.path = "p.html"}, &labels,
                                   &options, &writer, &err) == ATTN_OK,
                  "%s", err.message);
    write_run(writer, maps);
    attn_writer_free(writer);
    for (int i = 0; i < 2; i++)
        attn_picture_maps_free(maps[i]);
    attn_selection_free(selection);
}

static void enter(void)
{
    attn_folder_enter();
    make_page(false);
    browser = attn_browser_open(1280, 900);
}

static void leave(void)
{
    attn_browser_leave(browser);
}

static void load(const char *hash)
{
    attn_browser_load(browser, "p.html", hash);
    attn_browser_wait(browser, "document.querySelector('.picture canvas') !== null");
}

static void assert_begins(const char *expression, const char *beginning)
{
    char *text = attn_browser_text(browser, expression);

    ck_assert_msg(strncmp(text, beginning, strlen(beginning)) == 0, "'%s' is no '%s...'", text,
                  beginning);
    free(text);
}

#define READOUT "document.getElementById('readout').textContent"
#define CHIP(i) "document.querySelectorAll('.chip')[" #i "].textContent"

/* The middle of the cell ROW, COLUMN of N_ROWS x N_COLUMNS on the page. */
static void find_cell(double row, double column, int n_rows, int n_columns, double at[2])
{
    char *text = attn_browser_text(browser, "(() => { const b = document.querySelector('.picture "
                                            "canvas').getBoundingClientRect(); return [b.left, "
                                            "b.top, b.width, b.height].join(' '); })()");
    double left, top, width, height;

    ck_assert_int_eq(sscanf(text, "%lf %lf %lf %lf", &left, &top, &width, &height), 4);
    at[0] = left + (column + 0.5) * width / n_columns;
    at[1] = top + (row + 0.5) * height / n_rows;
    free(text);
}

/* --- Colors --------------------------------------------------------------------------------- */

/* What is seen of GREY below a veil of white, if the largest weight is MOST. */
static uint32_t seen_of(double weight, double most)
{
    const struct attn_color_scale scale = {.curve = ATTN_CURVE_SQRT, .span = ATTN_SPAN_FIXED};
    const int level = attn_color_level(&scale, (struct attn_color_range){0, most}, weight);
    const double veil = 0.86 * (1 - level / 255.0);

    return 0x010101 * (uint32_t)lround(255 * veil + GREY * (1 - veil));
}

/* The same below the colors of a map, where the ground has grey levels 120 to 255. */
static uint32_t seen_in_blues(double weight, double most)
{
    const struct attn_color_scale scale = {.curve = ATTN_CURVE_SQRT, .span = ATTN_SPAN_FIXED};
    const struct attn_rgb color =
        attn_colormap_color(attn_colormap_find("blues"), ATTN_THEME_LIGHT,
                            attn_color_level(&scale, (struct attn_color_range){0, most}, weight));
    const double ground = 120 + (255 - 120) * GREY / 255.0;
    const double through = fmin(fmin(color.r, color.g), color.b) / 255;
    uint32_t seen = 0;

    for (int i = 0; i < 3;
         i++) { /* on white it is the color: color - through white is the veil's */
        const double part = i == 0 ? color.r : i == 1 ? color.g : color.b;

        seen = seen << 8 | (uint32_t)lround(part - 255 * through + ground * through);
    }
    return seen;
}

/* Checks the color of each patch of head 1.1, seen from [CLS]. */
static void check_colors(uint32_t (*seen)(double weight, double most))
{
    double most = 0;

    attn_browser_wait(browser, "document.querySelector('#legend').textContent.includes('even')");
    for (int i = 0; i < N_LAYER * N_HEAD; i++)
        for (size_t key = N_FRONT; key < N; key++)
            most = fmax(most, (double)weight_of(i / N_HEAD, i % N_HEAD, 0, key));
    most = fmax(most, 10.0 / N); /* colors do not end below ten times an even weight */
    for (size_t key = N_FRONT; key < N; key++) {
        const uint32_t expected = seen((double)weight_of(1, 1, 0, key), most);
        char expression[400];
        unsigned r, g, b;
        char *text;

        snprintf(expression, sizeof expression,
                 "(() => { const c = document.querySelector('.picture canvas'); return "
                 "[...c.getContext('2d').getImageData((%zu + 0.5) * c.width / %d, (%zu + 0.5) * "
                 "c.height / %d, 1, 1).data].slice(0, 3).join(' '); })()",
                 (key - N_FRONT) % N_COL, N_COL, (key - N_FRONT) / N_COL, N_ROW);
        text = attn_browser_text(browser, expression);
        ck_assert_int_eq(sscanf(text, "%u %u %u", &r, &g, &b), 3);
        ck_assert_msg(abs((int)r - (int)(expected >> 16)) <= 3 &&
                          abs((int)g - (int)(expected >> 8 & 255)) <= 3 &&
                          abs((int)b - (int)(expected & 255)) <= 3,
                      "key %zu: %s, expected #%06x", key, text, (unsigned)expected);
        free(text);
    }
}

/* Blue of the left side of the patch ROW, COLUMN, and red there. */
static void find_frame(int row, int column, double out[2])
{
    for (int c = 0; c < 2; c++) {
        char expression[300];

        snprintf(expression, sizeof expression,
                 "(() => { const c = document.querySelector('.picture canvas'); return "
                 "c.getContext('2d').getImageData(%d * c.width / %d, (%d + 0.5) * c.height / %d, "
                 "1, 1).data[%d]; })()",
                 column, N_COL, row, N_ROW, c == 0 ? 2 : 0);
        out[c] = attn_browser_number(browser, expression);
    }
}

START_TEST(a_picture_has_its_own_colors_where_a_head_looks)
{
    double frame[2];

    enter();
    load("h=1.1");
    check_colors(seen_of);
    find_frame(1, 1, frame); /* 0.22 of the weight */
    ck_assert_double_le(frame[0], 60);
    ck_assert_double_ge(frame[1], 180);
    find_frame(2, 2, frame);
    ck_assert_double_eq(frame[0], frame[1]);
    free(attn_browser_text(browser, "(attnViewer.run.colormap = 'blues', attnViewer.set({}), '')"));
    check_colors(seen_in_blues);
    find_frame(1, 1, frame);
    ck_assert_double_ge(frame[0], frame[1]);
    leave();
}
END_TEST

/* --- The query ------------------------------------------------------------------------------- */

#define THUMB "document.querySelector('#thumb-0 canvas').toDataURL()"

START_TEST(the_patch_under_the_pointer_is_the_query_of_every_head)
{
    double at[2];
    char *before, *after;

    enter();
    load("h=0.0");
    assert_begins("document.getElementById('about').textContent",
                  "4 heads, [CLS], 1 register and ");
    assert_begins(READOUT, "query [CLS] ");
    assert_begins(CHIP(0), "[CLS] 0.22");
    assert_begins(CHIP(1), "[REG0] 0.02");
    before = attn_browser_text(browser, THUMB);
    find_cell(1, 2, N_ROW, N_COL, at);
    attn_browser_point(browser, at[0], at[1]);
    assert_begins(READOUT, "query row 1, column 2 ");
    assert_begins(CHIP(1), "[REG0] 0.22");
    after = attn_browser_text(browser, THUMB);
    ck_assert_str_ne(before, after);
    free(after);
    attn_browser_point(browser, 5, 5);
    assert_begins(READOUT, "query [CLS] ");
    after = attn_browser_text(browser, THUMB);
    ck_assert_str_eq(before, after);
    free(after);
    free(before);
    attn_browser_click(browser, at[0], at[1]);
    attn_browser_point(browser, 5, 5);
    assert_begins(READOUT, "query row 1, column 2 ");
    attn_browser_assert_text(browser, "location.hash.includes('q=8')", "true");
    leave();
}
END_TEST

START_TEST(keys_move_the_query_over_the_picture)
{
    enter();
    load("v=tokens&h=0.0");
    attn_browser_key(browser, "ArrowDown", 0);
    assert_begins(READOUT, "query row 0, column 0 ");
    attn_browser_key(browser, "ArrowRight", 0);
    attn_browser_key(browser, "ArrowDown", 0);
    assert_begins(READOUT, "query row 1, column 1 ");
    attn_browser_key(browser, "ArrowUp", 0);
    attn_browser_key(browser, "ArrowUp", 0);
    assert_begins(READOUT, "query [CLS] ");
    attn_browser_key(browser, "ArrowRight", 0);
    assert_begins(READOUT, "query [REG0] ");
    attn_browser_click_on(browser, ".chip");
    assert_begins(READOUT, "query [CLS] ");
    attn_browser_key(browser, "t", 0); /* weights to it */
    assert_begins(READOUT, "key [CLS] ");
    attn_browser_click_on(browser, "#view-matrix");
    attn_browser_wait(browser, "document.querySelector('.matrix canvas') !== null");
    attn_browser_click_on(browser, "#view-tokens");
    attn_browser_wait(browser, "document.querySelector('.picture canvas') !== null");
    leave();
}
END_TEST

START_TEST(patches_without_tokens_have_names)
{
    double at[2];

    attn_folder_enter();
    are_named = false;
    make_page(false);
    are_named = true;
    browser = attn_browser_open(1280, 900);
    load("v=tokens&h=0.0");
    find_cell(1, 2, N_ROW, N_COL, at);
    attn_browser_point(browser, at[0], at[1]);
    assert_begins(READOUT, "query row 1, column 2 ");
    leave();
}
END_TEST

START_TEST(only_a_picture_with_a_first_token_can_leave_it_out)
{
    static const char shows[] = "document.getElementById('first').checkVisibility()";

    enter();
    load("v=tokens&h=0.0");
    attn_browser_wait(browser, shows);
    attn_browser_leave(browser);
    attn_folder_enter();
    are_named = has_front = false;
    make_page(false);
    are_named = has_front = true;
    browser = attn_browser_open(1280, 900);
    load("v=tokens&h=0.0");
    attn_browser_wait(browser, "!document.getElementById('first').checkVisibility()");
    attn_browser_key(browser, "f", 0);
    attn_browser_wait(browser, "document.getElementById('first').checked");
    leave();
}
END_TEST

/* --- Beside a text --------------------------------------------------------------------------- */

#define SHARES "document.querySelector('.shares').textContent"
#define LAYERS                                                                                     \
    "[...document.querySelectorAll('#stage input[name=layer]')].map(b => "                         \
    "b.parentNode.textContent).join(', ')"
#define ACTIVE "document.getElementById('active-patch').textContent"

START_TEST(a_word_has_a_map_and_a_cell_marks_the_words_that_look_at_it)
{
    enum { CELL = 3 }; /* row 1, column 0 of the first tile */
    char expected[80];
    double at[2];

    attn_folder_enter();
    make_page(true);
    browser = attn_browser_open(1280, 900);
    load("v=tokens&h=0.0&on=ns"); /* nothing is taken away */
    attn_browser_wait(browser, LAYERS " === 'tiles 87 %, whole 8.6 %'");
    attn_browser_assert_text(browser, "document.querySelector('#stage input:checked').value",
                             "tiles"); /* which have more weight */
    attn_browser_assert_text(browser, "document.title", "tree");
    assert_begins(READOUT, "from the last word tree ");
    assert_begins(CHIP(0), "tree");
    assert_begins(CHIP(1), "<s>");
    attn_browser_assert_text(
        browser,
        "[...document.querySelectorAll('.chips')].map(g => g.getAttribute('aria-label')).join()",
        "question,other");
    find_cell(1, 0, SIDE_OF_TILE, N_TILE * SIDE_OF_TILE, at);
    attn_browser_point(browser, at[0], at[1]);
    snprintf(expected, sizeof expected,
             "cell tile row 1, column 0 \xe2\x86\x90  tree %.4f,  <s> %.4f",
             (double)weight_of(0, 0, N - 1, CELL), (double)weight_of(0, 0, 0, CELL));
    attn_browser_assert_text(browser, READOUT, expected);
    attn_browser_point(browser, 5, 5);
    assert_begins(READOUT, "from the last word tree ");
    attn_browser_assert_text(browser, SHARES,
                             "picture 95.7 %, question 2.1 %, answer 0.0 %, other 2.1 %");
    attn_browser_point_at(browser, ".other .chip");
    assert_begins(READOUT, "query <s> ");
    attn_browser_point(browser, 5, 5);
    assert_begins(READOUT, "from the last word tree ");
    free(attn_browser_text(browser, "document.querySelector('.picture').focus()"));
    attn_browser_key(browser, "ArrowDown", 0); /* the first cell */
    attn_browser_key(browser, "ArrowDown", 0);
    snprintf(expected, sizeof expected, "cell row 1, column 0, %.2g %%",
             100 * (double)weight_of(0, 0, N - 1, CELL));
    attn_browser_assert_text(browser, ACTIVE, expected);
    attn_browser_key(browser, "ArrowRight", 0); /* a sink, which is left out in a moment */
    attn_browser_assert_text(browser, ACTIVE, "cell row 1, column 1, 2.1 %");
    attn_browser_click_on(browser, "#stage input[data-letter=s]");
    attn_browser_assert_text(browser, ACTIVE, "cell row 1, column 1, \xe2\x80\x93");
    assert_begins(SHARES, "picture 93.6 %");
    attn_browser_click_on(browser, "#stage input[data-letter=n]"); /* without the map of <s> */
    free(attn_browser_text(browser, "document.querySelector('.picture').focus()"));
    attn_browser_key(browser, "ArrowLeft", 0);
    attn_browser_assert_text(browser, ACTIVE, "cell row 1, column 0, 30 %");
    attn_browser_key(browser, "ArrowUp", 0);
    attn_browser_key(browser, "ArrowRight", 0);
    attn_browser_assert_text(browser, ACTIVE,
                             "cell row 0, column 1, \xe2\x88\x92"
                             "30 %");
    attn_browser_wait(browser, "document.querySelector('#legend').textContent.includes('minus "
                               "\xe2\x80\x9cWhat is it?\xe2\x80\x9d, without sinks')");
    attn_browser_key(browser, "Escape", 0);
    assert_begins(READOUT, "from the last word tree ");
    free(attn_browser_text(browser, "document.querySelector('.question .chip').focus()"));
    attn_browser_key(browser, "ArrowRight", 0);
    assert_begins(READOUT, "query <s> ");
    attn_browser_assert_text(browser, "document.activeElement.textContent", "<s>");
    attn_browser_click_on(browser, "#stage input[value=whole]");
    find_cell(0, 1, SIDE_OF_TILE, SIDE_OF_TILE, at);
    attn_browser_point(browser, at[0], at[1]);
    assert_begins(READOUT, "cell row 0, column 1 ");
    attn_browser_assert_text(browser, "location.hash.includes('on=t')", "true");
    attn_browser_resize(browser, 390, 844);
    ck_assert_double_le(attn_browser_number(browser, "document.documentElement.scrollWidth"), 390);
    /* two lines are kept for the read-out, so that words do not move under a finger */
    ck_assert_double_ge(
        attn_browser_number(
            browser, "parseFloat(getComputedStyle(document.getElementById('readout')).minHeight)"),
        50);
    leave();
}
END_TEST

/* --- Elsewhere ------------------------------------------------------------------------------- */

/* Blue of the last patch, which has little weight. */
#define BLUE                                                                                       \
    "(() => { const c = document.querySelector('.picture canvas'); return "                        \
    "c.getContext('2d').getImageData(c.width - 3, c.height - 3, 1, 1).data[2]; })()"

START_TEST(it_fits_a_telephone_and_prints)
{
    enter();
    attn_browser_resize(browser, 390, 800);
    load("");
    ck_assert_double_le(attn_browser_number(browser, "document.documentElement.scrollWidth"), 390);
    attn_browser_assert_text(browser,
                             "document.querySelector('.picture').getBoundingClientRect().bottom < "
                             "document.querySelector('#thumbs').getBoundingClientRect().top",
                             "true");
    attn_browser_set_media(browser, "", "dark");
    attn_browser_wait(browser, BLUE " < 150");
    attn_browser_set_media(browser, "", "light");
    attn_browser_wait(browser, BLUE " > 180");
    attn_browser_set_media(browser, "print", "light");
    attn_browser_assert_text(
        browser, "getComputedStyle(document.querySelector('.picture')).display", "block");
    leave();
}
END_TEST

ATTN_SUITE("browser_picture", a_picture_has_its_own_colors_where_a_head_looks,
           the_patch_under_the_pointer_is_the_query_of_every_head,
           keys_move_the_query_over_the_picture, patches_without_tokens_have_names,
           only_a_picture_with_a_first_token_can_leave_it_out,
           a_word_has_a_map_and_a_cell_marks_the_words_that_look_at_it,
           it_fits_a_telephone_and_prints)
