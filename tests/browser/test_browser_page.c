/*
 * test_browser_page.c - the page of --html in a browser: every view, by mouse and by keys, beside
 * the numbers of --json; colors beside a table that is not the page's; text from outside; and the
 * page in dark, on paper, on a telephone, without a script, and under a policy that lets nothing
 * run.
 */
#include "tests/browser/browser.h"
#include "tests/support/command.h"
#include "tests/support/folder.h"
#include "tests/support/naughty.h"
#include "tests/support/parts.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[3000]; /* of the repository, as tests work in a folder of their own */
static struct attn_browser *browser;

/* Runs attn-cli with ARGS, of which `@` begins a path of the repository, and the N of MORE. */
static void run_with(const char *const *args, const char *const *more, size_t n_more)
{
    const char *made[32] = {0};
    char paths[32][4096];
    size_t n = 0;
    struct attn_ran ran;

    for (; args[n]; n++) {
        snprintf(paths[n], sizeof paths[n], "%s/%s", root, args[n] + 1);
        made[n] = args[n][0] == '@' ? paths[n] : args[n];
    }
    for (size_t i = 0; i < n_more; i++)
        made[n++] = more[i];
    ran = attn_command(made);
    ck_assert_msg(ran.exit == 0, "%s", ran.err);
    attn_ran_release(&ran);
}

/* Makes p.html and j.json. */
static void run(const char *const *args)
{
    run_with(args, (const char *[]){"--html", "p.html", "--json", "j.json"}, 4);
}

static void run_without_json(const char *const *args)
{
    run_with(args, (const char *[]){"--html", "p.html"}, 2);
}

static void enter(void)
{
    ck_assert_ptr_nonnull(getcwd(root, sizeof root));
    attn_folder_enter();
    browser = attn_browser_open(1280, 900);
}

static void leave(void)
{
    attn_browser_leave(browser);
}

#define FABLE(...) ((const char *[]){"run", "-m", "@models/fable", __VA_ARGS__, NULL})

static const char life[] = "Life is short, eat dessert first";

static cJSON *read_json(void)
{
    char *text = attn_file_text("j.json");
    cJSON *json = cJSON_Parse(text);

    ck_assert_ptr_nonnull(json);
    free(text);
    return json;
}

/* A cell of SITE in the JSON of the same run; NaN: masked. */
static double cell_of(const cJSON *json, const char *site, int layer, int head, int query, int key)
{
    char name[64];
    const cJSON *at;

    snprintf(name, sizeof name, "blocks.%d.attn.hook_%s", layer, site);
    at = cJSON_GetObjectItem(cJSON_GetObjectItem(json, "tensors"), name);
    at = cJSON_GetArrayItem(cJSON_GetArrayItem(cJSON_GetArrayItem(at, head), query), key);
    ck_assert_ptr_nonnull(at);
    return cJSON_IsNull(at) ? (double)NAN : at->valuedouble;
}

static double weight_of(const cJSON *json, int layer, int head, int query, int key)
{
    return cell_of(json, "pattern", layer, head, query, key);
}

static void assert_text(const char *expression, const char *expected)
{
    attn_browser_assert_text(browser, expression, expected);
}

#define READOUT "document.getElementById('readout').textContent"
#define VALUE "document.getElementById('value').textContent"
#define HASH "location.hash"

/* --- A matrix -------------------------------------------------------------------------------- */

struct grid {
    double x, y, side; /* of the first cell, on the page; and of each */
};

static struct grid find_grid(void)
{
    char *text = attn_browser_text(
        browser, "(m => { const b = m.getBoundingClientRect(), [x, y, w] = "
                 "m.dataset.cells.split(' ').map(Number); return [b.left + x, b.top + y, "
                 "w].join(' '); })(document.querySelector('.matrix'))");
    struct grid grid;

    ck_assert_int_eq(sscanf(text, "%lf %lf %lf", &grid.x, &grid.y, &grid.side), 3);
    free(text);
    return grid;
}

/* What a map does by METHOD of its canvas when it is painted anew: NEXT is called with the
 * arguments and with the canvas as `this`. */
#define PAINTED(method, next)                                                                      \
    "(found => { const p = CanvasRenderingContext2D.prototype, { " method " } = p; p." method      \
    " = function(...at) { (" next ").call(this, found, ...at); " method                            \
    ".apply(this, at); }; dispatchEvent(new Event('resize')); p." method " = " method              \
    "; return found; })([])"
#define ROW_LABELS                                                                                 \
    "(found => [...new Set(found.map(one => one[0]))].map(y => found.filter(one => one[0] === "    \
    "y).map(one => one[1]).join('')).join())(" PAINTED(                                            \
        "fillText", "function(found, text, x, y) { const [left, top] = "                           \
                    "document.querySelector('.matrix').dataset.cells.split(' ').map(Number); if "  \
                    "(this.getTransform().b === 0 && x < left && y > top) found.push([y, "         \
                    "text.replace(/[\\u2068\\u2069]/g, '')]); }") ")"
#define N_ROW "document.querySelector('.matrix').getAttribute('aria-rowcount')"

static void point_at_cell(const struct grid *grid, int query, int key)
{
    attn_browser_point(browser, grid->x + (key + 0.5) * grid->side,
                       grid->y + (query + 0.5) * grid->side);
}

START_TEST(reads_out_every_weight)
{
    cJSON *json;
    struct grid grid;

    enter();
    run(FABLE(life));
    json = read_json();
    attn_browser_load(browser, "p.html", "v=matrix&h=2.5");
    grid = find_grid();
    for (int q = 0; q < 7; q++)
        for (int k = 0; k < 7; k++) {
            const double weight = weight_of(json, 2, 5, q, k);
            char expected[32];

            snprintf(expected, sizeof expected, isnan(weight) ? "masked" : "%.4f", weight);
            point_at_cell(&grid, q, k);
            assert_text(VALUE, expected);
        }
    point_at_cell(&grid, 6, 5);
    assert_text(READOUT, "query 6 first \u2192 key 5 dessert 0.6305, rank 1 in the row");
    assert_text("document.querySelector('#strongest td:nth-child(3)').textContent", "0.6305");
    cJSON_Delete(json);
    leave();
}
END_TEST

/* A polynomial that others fitted to viridis (M. Zucker, public domain): true to 3 of 255. */
static double viridis(double t, int channel)
{
    static const double c[7][3] = {{0.2777273272, 0.0054073445, 0.3340998053},
                                   {0.1050930431, 1.4046135299, 1.3845901626},
                                   {-0.3308618287, 0.2148475595, 0.0950951630},
                                   {-4.6342304990, -5.7991009734, -19.3324409563},
                                   {6.2282699363, 14.1799333668, 56.6905526007},
                                   {4.7763849977, -13.7451453777, -65.3530326334},
                                   {-5.4354558559, 4.6458526122, 26.3124352496}};
    double value = 0;

    for (int i = 6; i >= 0; i--)
        value = value * t + c[i][channel];
    return 255 * value;
}

/* The place in viridis, 0 to 1, whose color is nearest. */
static double place_of(const int rgb[3])
{
    double best = 1e9, place = 0;

    for (int i = 0; i <= 1000; i++) {
        double distance = 0;

        for (int c = 0; c < 3; c++)
            distance += pow(viridis(i / 1000.0, c) - rgb[c], 2);
        if (distance < best) {
            best = distance;
            place = i / 1000.0;
        }
    }
    ck_assert_msg(best < 200, "%d %d %d is no color of viridis", rgb[0], rgb[1], rgb[2]);
    return place;
}

/* The color of a cell near its corner, where no number stands. */
static void read_cell(const struct grid *grid, int query, int key, int rgb[3])
{
    char expression[512], *text;

    snprintf(expression, sizeof expression,
             "(() => { const c = document.querySelector('.matrix canvas'), r = "
             "c.getBoundingClientRect(); return [...c.getContext('2d').getImageData(%f - r.x, %f - "
             "r.y, 1, 1).data].join(' '); })()",
             round(grid->x + key * grid->side) + 3, round(grid->y + query * grid->side) + 3);
    text = attn_browser_text(browser, expression);
    ck_assert_int_eq(sscanf(text, "%d %d %d", &rgb[0], &rgb[1], &rgb[2]), 3);
    free(text);
}

START_TEST(colors_are_square_roots_of_weights)
{
    struct grid grid;
    cJSON *json;

    enter();
    run(FABLE("--heads", "2.1,2.5", "--style", "colormap=viridis", life));
    json = read_json();
    attn_browser_load(browser, "p.html", "v=matrix&h=2.5");
    grid = find_grid();
    for (int q = 0; q < 7; q++)
        for (int k = 0; k <= q; k++) {
            const double place = sqrt(weight_of(json, 2, 1, q, k));
            int rgb[3];

            read_cell(&grid, q, k, rgb);
            ck_assert_msg(fabs(place_of(rgb) - place) < 0.02,
                          "query %d, key %d: the color of %g, expected %g", q, k, place_of(rgb),
                          place);
        }
    cJSON_Delete(json);
    leave();
}
END_TEST

/* The legend's texts, one after the other. */
#define TICKS "[...document.querySelectorAll('#legend .tick')].map(t => t.textContent).join(' ')"

START_TEST(legends_have_the_ticks_of_the_library)
{
    enter();
    run_without_json(FABLE(life));
    attn_browser_load(browser, "p.html", "v=matrix&h=2.5");
    assert_text(TICKS, "0 0.01 0.1 0.25 0.5 1"); /* 0.04 has no room */
    assert_text("document.getElementById('view-tokens').hidden", "true");
    leave();
}
END_TEST

/* Masked, small and left out are three colors, and none is another's. */
START_TEST(masked_zero_and_left_out_look_different)
{
    struct grid grid;
    int rgb[3];

    enter();
    run(FABLE("--attention", "window:2", "--heads", "3.2", life));
    attn_browser_load(browser, "p.html", "v=matrix");
    grid = find_grid();
    read_cell(&grid, 6, 0, rgb); /* outside the window */
    ck_assert(rgb[0] < 215 && rgb[0] == rgb[1] && rgb[1] == rgb[2]);
    read_cell(&grid, 6, 5, rgb); /* a weight */
    ck_assert(rgb[0] == 255 || rgb[2] > rgb[0]);
    attn_browser_key(browser, "f", 0);
    attn_browser_wait(browser, "location.hash.includes('first=0')");
    attn_browser_point(browser, grid.x + 0.5 * grid.side, grid.y + 0.5 * grid.side);
    assert_text(VALUE, "left out");
    attn_browser_point(browser, grid.x + 0.5 * grid.side, grid.y + 4.5 * grid.side);
    ck_assert_int_ge(
        (int)attn_browser_number(browser, "document.querySelectorAll('#legend .kind').length"), 3);
    leave();
}
END_TEST

/* --- All heads ------------------------------------------------------------------------------- */

/* Shows the thumbnails of all heads in place of those that write most of the next word. */
static void show_all_heads(void)
{
    attn_browser_click_on(browser, "#answer-tabs button:last-child");
    attn_browser_wait(browser, "document.querySelector('.thumb canvas')");
}

START_TEST(all_heads_are_named_and_locked)
{
    enter();
    run(FABLE(life));
    attn_browser_load(browser, "p.html", "");
    assert_text("document.querySelectorAll('#heads .plate').length", "8");
    show_all_heads();
    assert_text("document.querySelectorAll('.thumb canvas').length", "32");
    assert_text("document.querySelector('#card h2').textContent", "Head 2.1 else");
    attn_browser_click_on(browser, "#thumb-13");
    attn_browser_point(browser, 2, 2);
    attn_browser_wait(browser, "location.hash == '#v=grid&h=1.5'");
    assert_text("document.querySelector('.thumb[aria-selected=true]').id", "thumb-13");
    assert_text("document.querySelector('#card h2').textContent.startsWith('Head 1.5 ')", "true");
    leave();
}
END_TEST

/* A page of many heads opens with those that write most of the next word. */
START_TEST(many_heads_open_with_eight)
{
    enter();
    run_with((const char *[]){ATTN_INIT_MANY, life, NULL}, NULL, 0);
    run((const char *[]){"run", "-m", "many", life, NULL});
    attn_browser_load(browser, "p.html", "");
    assert_text("document.querySelectorAll('#heads .plate').length", "8");
    assert_text("document.querySelectorAll('.thumb').length", "0");
    attn_browser_click_on(browser, ".plate:last-child");
    attn_browser_wait(browser, "document.querySelector('.plate:last-child').matches('.near') && "
                               "attnViewer.run.heads[attnViewer.state.h].at === "
                               "document.querySelector('.plate.near').dataset.head");
    attn_browser_key(browser, "Tab", 0);
    free(attn_browser_text(browser, "document.querySelector('.plate.near').focus()"));
    assert_text("(({ stroke, strokeWidth }) => stroke + ' ' + strokeWidth)(getComputedStyle("
                "document.querySelector('.plate.near:focus')))",
                "rgb(0, 0, 0) 4px");
    attn_browser_set_media(browser, "print", "light");
    assert_text("document.querySelector('#answer-tabs').offsetHeight", "0");
    attn_browser_set_media(browser, "", "light");
    show_all_heads();
    attn_browser_wait(browser, "document.querySelectorAll('.thumb canvas').length === 56");
    assert_text("document.querySelector('.plate').getBoundingClientRect().width", "0");
    attn_browser_resize(browser, 390, 844); /* a telephone lists the parts */
    attn_browser_load(browser, "p.html", "v=grid");
    assert_text("document.querySelectorAll('#parts tbody tr').length", "11");
    assert_text("document.documentElement.scrollWidth <= 390 && "
                "document.querySelector('#look').getBoundingClientRect().width === 0",
                "true");
    leave();
}
END_TEST

/* --- Keys and address ------------------------------------------------------------------------ */

START_TEST(keys_do_what_the_mouse_does)
{
    static const struct {
        const char *key;
        int modifiers;
        const char *hash; /* what it then is */
    } steps[] = {
        {"m", 0, "#v=matrix&h=2.1"},
        {"ArrowRight", 0, "#v=matrix&h=2.1&k=0"},
        {"ArrowRight", 0, "#v=matrix&h=2.1&k=1"},
        {"ArrowUp", 0, "#v=matrix&h=2.1&q=5&k=1"},
        {"End", 0, "#v=matrix&h=2.1&q=5&k=6"},
        {"Home", 0, "#v=matrix&h=2.1&q=5&k=0"},
        {"ArrowRight", ATTN_KEY_SHIFT, "#v=matrix&h=2.2&q=5&k=0"},
        {"ArrowUp", ATTN_KEY_SHIFT, "#v=matrix&h=1.2&q=5&k=0"},
        {"Escape", 0, "#v=matrix&h=1.2&q=5"},
        {"f", 0, "#v=matrix&h=1.2&q=5&first=0"},
        {"f", 0, "#v=matrix&h=1.2&q=5"},
        {"d", 0, "#v=matrix&h=1.2&q=5&d=dark"},
        {"d", 0, "#v=matrix&h=1.2&q=5&d=light"},
        {"g", 0, "#v=grid&h=1.2&q=5&d=light"},
        {"ArrowDown", 0, "#v=grid&h=2.2&q=5&d=light"},
    };

    enter();
    run(FABLE(life));
    attn_browser_load(browser, "p.html", "");
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        attn_browser_key(browser, steps[i].key, steps[i].modifiers);
        assert_text(HASH, steps[i].hash);
    }
    attn_browser_key(browser, "?", ATTN_KEY_SHIFT);
    attn_browser_wait(browser, "document.getElementById('dialog').open");
    attn_browser_key(browser, "m", 0);
    assert_text(HASH, steps[sizeof steps / sizeof *steps - 1].hash); /* not while it is open */
    leave();
}
END_TEST

START_TEST(address_brings_a_view_back_and_its_garbage_is_left_out)
{
    enter();
    run(FABLE("--queries", "2-6", life));
    attn_browser_load(browser, "p.html", "v=matrix&h=2.5&q=6&k=5&d=dark");
    assert_text(READOUT, "query 6 first \u2192 key 5 dessert 0.6305, rank 1 in the row");
    assert_text("document.documentElement.dataset.theme", "dark");
    attn_browser_load(browser, "p.html",
                      "v=%3Cscript%3E&h=9.9&q=1&k=99999999&s=__proto__&constructor=1&__proto__=x&"
                      "=&&&min=1e9&t=1.1,9.9&p=-1&first=2&map=jet&d=javascript:alert(1)");
    assert_text("document.getElementById('panes').dataset.view", "grid");
    assert_text("document.getElementById('name').textContent.startsWith('layer')", "true");
    assert_text(HASH ".includes('script')", "true"); /* until something changes it */
    attn_browser_key(browser, "m", 0);
    assert_text(HASH ".startsWith('#v=matrix&h=')", "true");
    assert_text(HASH ".includes('script')", "false");
    assert_text(N_ROW, "5");
    leave();
}
END_TEST

/* --- Finding -------------------------------------------------------------------------------- */

static void type_into_search(const char *text)
{
    char expression[256];

    snprintf(expression, sizeof expression,
             "(f => { f.value = '%s'; f.dispatchEvent(new Event('input')); })("
             "document.getElementById('find'))",
             text);
    free(attn_browser_text(browser, expression));
}

START_TEST(tokens_and_heads_are_found)
{
    enter();
    run(FABLE("The cat and the other cat"));
    attn_browser_load(browser, "p.html", "v=matrix&h=2.5");
    attn_browser_key(browser, "/", 0);
    assert_text("document.activeElement.id", "find");
    type_into_search("CAT");
    assert_text("document.getElementById('find-note').textContent", "1 of 2");
    assert_text(HASH ".includes('q=1&k=1')", "true");
    assert_text(PAINTED("fillRect", "function(found, x, y, w, h) { if (h === 2 && this.fillStyle "
                                    "=== '#0a58ca') found.push(x); }") ".length",
                "4"); /* lines under two rows and two columns */
    attn_browser_key(browser, "Enter", 0);
    assert_text("document.getElementById('find-note').textContent", "2 of 2");
    assert_text(HASH, "#v=matrix&h=2.5&k=6");
    type_into_search("L3H0");
    assert_text(HASH ".includes('h=3.0')", "true");
    type_into_search("dog");
    assert_text("document.getElementById('find-note').textContent", "not found");
    leave();
}
END_TEST

/* Of a short text, without being asked for. */
START_TEST(every_position_says_what_is_expected_there)
{
    enter();
    run_without_json(FABLE("The keys to the cabinet"));
    attn_browser_load(browser, "p.html", "v=matrix&h=2.5");
    assert_text("document.querySelector('#predictions td').textContent", " are");
    attn_browser_key(browser, "ArrowUp", 0);
    attn_browser_key(browser, "ArrowUp", 0);
    attn_browser_wait(browser, "document.querySelector('#predictions caption').textContent == "
                               "'expected after position 2 to'");
    assert_text("document.querySelector('#predictions td').textContent", " the");
    assert_text("document.querySelectorAll('#predictions tr').length", "5");
    leave();
}
END_TEST

/* Beside every position, under one heading. */
START_TEST(labels_belong_to_the_whole_text)
{
    enter();
    run_without_json(
        (const char *[]){"run", "-m", "@tests/fixtures/classifier", "A clever film.", NULL});
    attn_browser_load(browser, "p.html", "v=matrix&h=1.2&q=2");
    assert_text("document.querySelector('#predictions caption').textContent",
                "labels by probability");
    assert_text("[...document.querySelectorAll('#predictions bdi')].map(x => x.textContent)"
                ".sort().join()",
                "negative,neutral,positive");
    leave();
}
END_TEST

/* N words, of a token each. */
static void write_words(char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        memcpy(text + 4 * i, i % 3 == 0 ? "the " : i % 3 == 1 ? "cat " : "sat ", 4);
    text[4 * n - 1] = '\0';
}

START_TEST(long_texts_have_fewer_labels_and_digits)
{
    char text[1024];

    enter();
    write_words(text, 200);
    run(FABLE(text));
    attn_browser_load(browser, "p.html", "v=matrix&h=0.3&q=1&k=0");
    assert_text("/^0\\.[0-9]{2,4}$/.test(" VALUE ")", "true");
    ck_assert(attn_browser_number(browser, ROW_LABELS ".split(',').length") < 60);
    leave();
}
END_TEST

/* Reads the numbers of the thumbnail of head 2.5 into CELLS [n]. */
static void read_thumbnail(double *cells, size_t n)
{
    char *text = attn_browser_text(browser, "[...attnViewer.thumbOf(21).weights].join(' ')");
    char *at = text;

    for (size_t i = 0; i < n; i++) {
        char *end;

        cells[i] = strtod(at, &end);
        ck_assert_ptr_ne(at, end);
        at = end;
    }
    free(text);
}

/* A cell has the mean over its rows of the largest weight of a row. */
START_TEST(thumbnails_hold_mean_row_maxima)
{
    enum { SIDE = 20, N = SIDE * SIDE };
    char text[512] = "";
    double found[2][N];
    cJSON *json;

    enter();
    write_words(text, 2 * SIDE);
    run(FABLE(text));
    json = read_json();
    for (int first = 0; first < 2; first++) {
        attn_browser_load(browser, "p.html", first ? "" : "first=0");
        show_all_heads();
        read_thumbnail(found[first], N);
    }
    for (int i = 0; i < N; i++)
        for (int first = 0; first < 2; first++) {
            double sum = 0;
            int n = 0;

            for (int row = 2 * (i / SIDE); row < 2 * (i / SIDE) + 2; row++) {
                double most = (double)NAN;

                for (int key = 2 * (i % SIDE); key < 2 * (i % SIDE) + 2; key++)
                    if (key > 0 || first)
                        most = fmax(most, weight_of(json, 2, 5, row, key));
                if (!isnan(most) && !(first && row == 0)) /* row 0 is 1 by definition */
                    sum += most, n++;
            }
            ck_assert_int_eq(isnan(found[first][i]), n == 0);
            if (n > 0)
                ck_assert_double_eq_tol(found[first][i], sum / n, 1e-4);
        }
    cJSON_Delete(json);
    leave();
}
END_TEST

START_TEST(numbers_without_room_are_left_out)
{
    enter();
    run(FABLE(life));
    attn_browser_load(browser, "p.html", "v=matrix&h=2.5");
    assert_text("(map => { document.body.append(map.node); const axis = { n: 2, label: i => ({ "
                "position: i, text: '' }) }; map.show({ rows: axis, columns: axis, ramp: new "
                "Uint8Array(768), nothing: {}, value: () => 1, step: () => () => 0, kind: () => "
                "'value', text: () => '1234567.89', key: '' }, 300, 24, 24); return "
                "map.canvas.width > 0; })(new AttnMap('matrix'))",
                "true");
    leave();
}
END_TEST

/* --- Other runs ------------------------------------------------------------------------------ */

START_TEST(cross_attention_has_two_texts)
{
    cJSON *json;
    char expected[32];

    enter();
    run((const char *[]){"run", "-m", "@models/cross-attention", "--source", "dessert first",
                         "Life is short", NULL});
    json = read_json();
    attn_browser_load(browser, "p.html", "v=matrix&q=2&k=1");
    snprintf(expected, sizeof expected, "%.4f", weight_of(json, 0, 0, 2, 1));
    assert_text(VALUE, expected);
    assert_text(READOUT ".startsWith('query 2 short \u2192 key 1 first')", "true");
    cJSON_Delete(json);
    leave();
}
END_TEST

/* A page with a source says it, begins with a head that looks there, and says of each layer where
 * it looks. */
START_TEST(cross_attention_is_named)
{
    enter();
    run_without_json((const char *[]){"run", "-m", "@models/interpreter", "--source",
                                      "The cat sat on the mat",
                                      "\xe7\x8c\xab\xe5\x9d\x90\xe5\x9c\xa8", NULL});
    attn_browser_load(browser, "p.html", "");
    assert_text("document.getElementById('about').textContent.includes('source: "
                "<|endoftext|>The cat sat on the mat')",
                "true");
    assert_text("document.getElementById('name').textContent", "layer 1, head 0 (cross)");
    assert_text(
        "[...document.querySelectorAll('#thumbs .row-name')].map(n => n.textContent).join()",
        "layer,0 self,1 cross,2 self,3 cross");
    leave();
}
END_TEST

/* Chooses the head NAME of the list. */
static void choose_head(const char *name)
{
    char code[256], expected[128];

    snprintf(code, sizeof code,
             "(() => { const list = document.getElementById('head'); list.selectedIndex = "
             "[...list.options].findIndex(o => o.text === '%s'); list.dispatchEvent(new "
             "Event('change')); return '' })()",
             name);
    assert_text(code, "");
    snprintf(expected, sizeof expected, "document.getElementById('name').textContent === '%s'",
             name);
    attn_browser_wait(browser, expected);
}

/* The maps of a translator are chosen by the names of its stacks, in the list, the address and the
 * search; a token of the target lights its source. */
START_TEST(two_stacks_are_named)
{
    char command[sizeof root + 64];

    enter();
    snprintf(command, sizeof command, "tar -xf '%s/tests/fixtures/stacks.tar' whole_opus", root);
    ck_assert_int_eq(system(command), 0);
    run_without_json((const char *[]){"run", "-q", "-m", "whole_opus", "--source", "The cat sat",
                                      "Le chat", NULL});
    attn_browser_load(browser, "p.html", "h=cross:1.0&v=matrix&q=5&k=1");
    assert_text("document.getElementById('name').textContent", "cross layer 1, head 0");
    assert_text("document.getElementById('head').selectedOptions[0].textContent",
                "cross layer 1, head 0");
    assert_text(
        "[...document.querySelectorAll('#thumbs .row-name')].map(n => n.textContent).join()",
        "layer,encoder 0,encoder 1,decoder 0,cross 0,decoder 1,cross 1");
    assert_text(READOUT ".startsWith('query 5 ch \u2192 key 1 ')", "true");
    type_into_search("decoder 0.1");
    assert_text(HASH ".includes('h=decoder:0.1')", "true");
    type_into_search("cross:0.1");
    assert_text(HASH ".includes('h=cross:0.1')", "true");
    leave();
}
END_TEST

/* The encoder's maps have rows and columns of the source, and a cursor of their own; their
 * weights are those of an array of the same run. */
START_TEST(maps_of_the_encoder_have_rows_of_the_source)
{
    char command[sizeof root + 64];
    cJSON *json;
    const cJSON *at;

    enter();
    snprintf(command, sizeof command, "tar -xf '%s/tests/fixtures/stacks.tar' whole_opus", root);
    ck_assert_int_eq(system(command), 0);
    run((const char *[]){"run", "-q", "-m", "whole_opus", "--source", "The cat on the", "Le chat",
                         "--top", "1", NULL});
    attn_browser_load(browser, "p.html", "h=cross:1.0&v=matrix&q=3");
    assert_text(ROW_LABELS, "0<pad>,1blank,2L,3e,4blank,5ch,6at");
    choose_head("encoder layer 1, head 0");
    attn_browser_wait(browser, ROW_LABELS " === '0The,1ca,2t,3on,4the,5</s>'");
    attn_browser_wait(browser, "!document.getElementById('predictions')"); /* it expects nothing */
    json = read_json();
    at = cJSON_GetObjectItem(cJSON_GetObjectItem(json, "tensors"), "encoder.1.attn.hook_pattern");
    at = cJSON_GetArrayItem(cJSON_GetArrayItem(cJSON_GetArrayItem(at, 0), 5), 0);
    ck_assert_ptr_nonnull(at);
    attn_browser_point(browser, 2, 2);
    attn_browser_key(browser, "Home", 0);
    ck_assert_double_eq_tol(attn_browser_number(browser, "Number(" VALUE ")"), at->valuedouble,
                            6e-5);
    attn_browser_key(browser, "ArrowUp", 0);
    assert_text(HASH, "#v=matrix&h=encoder:1.0&q=4&k=0");
    attn_browser_load(browser, "p.html", "h=encoder:0.1&q=1&k=2&v=matrix");
    assert_text(READOUT ".startsWith('query 1 ca \u2192 key 2 t ')", "true");
    choose_head("decoder layer 0, head 1");
    attn_browser_wait(browser, READOUT ".startsWith('query 6 at')"); /* the last of the target */
    choose_head("encoder layer 0, head 1");
    attn_browser_wait(browser, READOUT ".startsWith('query 1 ca')");
    cJSON_Delete(json);
    leave();
}
END_TEST

START_TEST(predictions_stand_beside_their_position)
{
    enter();
    run(FABLE("--top", "3", "The keys to the cabinet"));
    attn_browser_load(browser, "p.html", "v=matrix");
    assert_text("document.querySelector('#predictions td').textContent", " are");
    assert_text("document.querySelectorAll('#predictions tr').length", "3");
    leave();
}
END_TEST

START_TEST(first_key_that_is_not_in_the_file_stays_hatched)
{
    struct grid grid;
    double sum = 0;

    enter();
    run(FABLE("--hide", "first", "--renormalize", "--heads", "3.0", life));
    attn_browser_load(browser, "p.html", "v=matrix");
    assert_text("document.getElementById('first').disabled", "true");
    assert_text("document.getElementById('legend').textContent.includes('divided')", "true");
    grid = find_grid();
    point_at_cell(&grid, 6, 0);
    assert_text(VALUE, "left out");
    for (int k = 1; k < 7; k++) {
        point_at_cell(&grid, 6, k);
        sum += attn_browser_number(browser, VALUE);
    }
    ck_assert_double_eq_tol(sum, 1, 0.001);
    attn_browser_key(browser, "f", 0); /* it cannot come back */
    assert_text(HASH ".includes('first')", "false");
    leave();
}
END_TEST

START_TEST(words_stand_in_the_place_of_tokens)
{
    enter();
    run(FABLE("--merge-words", "--heads", "2.5", "She met a girl who walked"));
    attn_browser_load(browser, "p.html", "v=matrix");
    assert_text("attnViewer.run.tokens.map((_, p) => attnViewer.nameAt(p)).join(' ')",
                "She met a girl who walked");
    leave();
}
END_TEST

/* Little-endian float32 (3, 2), of which one number is NaN. */
static void write_nan(const char *path)
{
    const float values[6] = {1, 2, (float)NAN, 3, 4, 5};
    FILE *file = fopen(path, "wb");

    fprintf(file, "\x93NUMPY%c%c%c%c%-117s\n", 1, 0, 118, 0,
            "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }");
    fwrite(values, sizeof *values, 6, file);
    fclose(file);
}

START_TEST(what_is_not_finite_is_told)
{
    struct grid grid;
    int rgb[3];

    enter();
    write_nan("x.npy");
    run((const char *[]){"attend", "--q", "x.npy", "--k", "x.npy", "--v", "x.npy", "--mask",
                         "causal", NULL});
    attn_browser_load(browser, "p.html", "v=matrix");
    grid = find_grid();
    point_at_cell(&grid, 1, 0);
    assert_text(VALUE, "not finite");
    read_cell(&grid, 1, 0, rgb);
    ck_assert(rgb[0] >= rgb[1] && rgb[0] > 200); /* paper, hatched red */
    point_at_cell(&grid, 0, 1);
    assert_text(VALUE, "masked");
    assert_text("document.getElementById('legend').textContent.includes('not finite')", "true");
    leave();
}
END_TEST

/* --- Kept ------------------------------------------------------------------------------------ */

static void wait_for_file(const char *path)
{
    struct stat file = {0};

    for (int i = 0; i < 3000 && (stat(path, &file) != 0 || file.st_size == 0); i++)
        usleep(20000);
    ck_assert_msg(file.st_size > 0, "'%s' was not saved", path);
}

START_TEST(views_are_kept)
{
    cJSON *json;
    char folder[4096], expected[64], *text;

    enter();
    run(FABLE(life));
    json = read_json();
    ck_assert_ptr_nonnull(getcwd(folder, sizeof folder));
    attn_browser_save_into(browser, folder);
    attn_browser_load(browser, "p.html", "v=matrix&h=2.5");
    attn_browser_key(browser, "k", 0);
    attn_browser_wait(browser, "document.getElementById('dialog').open");
    attn_browser_click_on(browser, "#keep-csv");
    wait_for_file("fable-L2H5-matrix.csv");
    text = attn_file_text("fable-L2H5-matrix.csv");
    ck_assert_ptr_nonnull(strstr(text, "query,0|Life,1| is,2| short,\"3|,\",4| eat"));
    snprintf(expected, sizeof expected, "6| first,%.4f,%.4f,", weight_of(json, 2, 5, 6, 0),
             weight_of(json, 2, 5, 6, 1));
    ck_assert_msg(strstr(text, expected) != NULL, "%s in %s", expected, text);
    free(text);
    assert_text("document.querySelector('#dialog code').textContent",
                "attn-cli run --heads 2.5 --svg FILE");
    assert_text("document.getElementById('link').value == location.href", "true");
    attn_browser_load(browser, "p.html", "v=grid");
    attn_browser_key(browser, "k", 0);
    attn_browser_click_on(browser, "#keep-csv");
    wait_for_file("fable-heads.csv");
    text = attn_file_text("fable-heads.csv");
    ck_assert_int_eq(strncmp(text, "layer,head,type,first,", 22), 0);
    ck_assert_ptr_nonnull(strstr(text, "\n2,5,near,"));
    free(text);
    cJSON_Delete(json);
    leave();
}
END_TEST

/* --- Text from outside ----------------------------------------------------------------------- */

START_TEST(text_stays_text)
{
    static const char text[] = "</script><script>window.hit=1</script><!--<script>]]>\"'&amp;"
                               "<img src=x onerror=window.hit=1>\u2028\u202e\u00e9\u732b";
    char *shown, expected[512];

    enter();
    run(FABLE("--title", text, "--heads", "0.*", text));
    for (int i = 0; i < 2; i++) {
        static const char *const views[] = {"v=matrix", "v=grid"};

        attn_browser_load(browser, "p.html", views[i]);
        assert_text("window.hit", "undefined");
        assert_text("document.querySelectorAll('img, script[src]').length", "0");
    }
    shown = attn_browser_text(browser, "attnViewer.run.tokens.join('')");
    snprintf(expected, sizeof expected, "%s",
             "</script><script>window.hit=1</script><!--<script>]]>\"'&amp;<img src=x "
             "onerror=window.hit=1>");
    ck_assert_int_eq(strncmp(shown, expected, strlen(expected)), 0);
    ck_assert_ptr_nonnull(strstr(shown, "\\x"));
    free(shown);
    shown = attn_browser_text(browser, "document.querySelector('h1').textContent");
    ck_assert_int_eq(strncmp(shown, expected, strlen(expected)), 0);
    free(shown);
    leave();
}
END_TEST

START_TEST(naughty_strings_stay_text)
{
    enter();
    for (size_t i = 0; i < attn_n_naughty; i += 16) {
        if (!attn_naughty_is_argument(&attn_naughty[i]) || attn_naughty[i].size == 0 ||
            !attn_naughty_is_utf8(&attn_naughty[i]) || attn_naughty[i].text[0] == '@')
            continue;
        run(FABLE("--title", attn_naughty[i].text, "--heads", "0.0", "-p", attn_naughty[i].text));
        attn_browser_load(browser, "p.html", "v=matrix");
        attn_browser_assert_quiet(browser);
    }
    leave();
}
END_TEST

/* --- Light, paper, size ---------------------------------------------------------------------- */

#define GROUND "getComputedStyle(document.documentElement).backgroundColor"

START_TEST(dark_light_and_paper)
{
    struct grid grid;
    int rgb[3];

    enter();
    run(FABLE(life));
    attn_browser_set_media(browser, "", "dark");
    attn_browser_load(browser, "p.html", "v=matrix&h=2.5");
    assert_text(GROUND, "rgb(16, 19, 23)");
    grid = find_grid();
    read_cell(&grid, 0, 0, rgb); /* viridis ends in yellow */
    ck_assert(rgb[0] > 230 && rgb[1] > 210 && rgb[2] < 90);
    attn_browser_set_media(browser, "", "light");
    attn_browser_wait(browser, GROUND " == 'rgb(255, 255, 255)'");
    attn_browser_wait_for_frame(browser);
    read_cell(&grid, 0, 0, rgb); /* blues ends in near black */
    ck_assert(rgb[0] < 60 && rgb[1] < 60 && rgb[2] < 60);
    attn_browser_key(browser, "d", 0);
    attn_browser_wait(browser, GROUND " == 'rgb(16, 19, 23)'");
    attn_browser_text(browser, "dispatchEvent(new Event('beforeprint'))");
    attn_browser_set_media(browser, "print", "dark");
    assert_text(GROUND, "rgb(255, 255, 255)");
    assert_text("getComputedStyle(document.getElementById('bar')).display", "none");
    grid = find_grid();
    read_cell(&grid, 0, 0, rgb);
    ck_assert(rgb[0] < 60 && rgb[1] < 60 && rgb[2] < 60);
    leave();
}
END_TEST

START_TEST(fits_a_telephone)
{
    static const char *const views[] = {"v=grid", "v=matrix", "v=matrix&a=1"};
    char text[1024];

    enter();
    write_words(text, 40);
    run(FABLE(text));
    attn_browser_resize(browser, 360, 640);
    for (int i = 0; i < 3; i++) {
        attn_browser_load(browser, "p.html", views[i]);
        ck_assert_msg(attn_browser_number(browser, "document.documentElement.scrollWidth") <= 360,
                      "%s is wider than its screen", views[i]);
    }
    leave();
}
END_TEST

START_TEST(can_be_touched_and_printed)
{
    enter();
    run_without_json(FABLE(life));
    attn_browser_resize(browser, 390, 844);
    attn_browser_load(browser, "p.html", "v=matrix&h=2.5");
    attn_browser_click_on(browser, "#more");
    assert_text("[...document.querySelectorAll('button, select, input, label')].filter(e => "
                "e.offsetParent && e.type != 'checkbox' && e.getBoundingClientRect().height < 44)"
                ".map(e => e.id || e.textContent).join()",
                "");
    assert_text("document.documentElement.scrollWidth <= 390", "true");
    attn_browser_set_media(browser, "print", "light");
    assert_text("getComputedStyle(document.getElementById('figure')).breakInside", "avoid");
    attn_browser_text(browser, "dispatchEvent(new Event('beforeprint'))"); /* scaled to the paper */
    assert_text("document.querySelector('.matrix canvas').offsetWidth > 380", "true");
    leave();
}
END_TEST

/* On the screen the heads are wider than A4. The PDF has the numbers of all columns; 50 and 100 are
 * weights. */
START_TEST(all_heads_are_printed)
{
    static const char numbers[] =
        "pdftotext p.pdf - | grep -x -E '[0-9]+' | sort -n | uniq | tr '\\n' ' '";
    char line[256] = "";
    FILE *pipe;

    if (system("command -v pdftotext >/dev/null") != 0)
        attn_skip_test("there is no pdftotext (Debian package poppler-utils)");
    enter();
    run_with((const char *[]){"init", "big", "--set", "n_layer=2", "--set", "n_head=12", "--set",
                              "d_model=24", "--set", "n_ctx=8", "--set", "n_vocab=3", NULL},
             NULL, 0);
    run_without_json((const char *[]){"run", "-m", "big", "--ids", "1,2", NULL});
    attn_browser_resize(browser, 1440, 900);
    attn_browser_load(browser, "p.html", "v=grid");
    attn_browser_print(browser, "p.pdf");
    pipe = popen(numbers, "r");
    ck_assert_ptr_nonnull(fgets(line, sizeof line, pipe));
    pclose(pipe);
    ck_assert_str_eq(line, "0 1 2 3 4 5 6 7 8 9 10 11 50 100 ");
    leave();
}
END_TEST

/* The last number above the columns is inside, whatever the width. */
START_TEST(no_label_is_cut)
{
    static const int widths[] = {390, 1440};
    char text[4 * 120];

    enter();
    write_words(text, 120);
    run_without_json(FABLE("--heads", "2.5", text));
    for (int i = 0; i < 2; i++) {
        attn_browser_resize(browser, widths[i], 844);
        attn_browser_load(browser, "p.html", "v=matrix");
        assert_text(
            PAINTED(
                "fillText",
                "function(found, text, x) { if (this.textAlign === 'left' && "
                "this.getTransform().b === 0) found.push(x + "
                "this.measureText(text).width <= this.canvas.width + 0.5); }") ".every(Boolean)",
            "true");
    }
    leave();
}
END_TEST

/* The text is what people look for. */
START_TEST(text_is_the_title)
{
    enter();
    run_without_json(FABLE(life));
    attn_browser_load(browser, "p.html", "");
    assert_text("document.querySelector('h1').textContent", /* what the figure shows */
                "MLPs write 9.5 of 11.9, the embedding 1.7, 3 heads of layer 2 1.0");
    assert_text("document.querySelector('#question').textContent",
                "first \u2192 . 11.9 above the mean logit");
    assert_text("document.title", life);
    assert_text(
        "document.getElementById('about').textContent.startsWith('fable: pattern; 32 heads, "
        "7 tokens')",
        "true");
    run_without_json((const char *[]){"run", "-m", "fable", "--heads", "2.5", "Life", NULL});
    attn_browser_load(browser, "p.html", "");
    assert_text("document.getElementById('about').textContent",
                "fable: layer 2, head 5: pattern; 1 head, 1 token (heads 2.5)");
    assert_text(
        "['dark', 'keep', 'help'].map(id => document.getElementById(id).textContent).join()",
        "Dark,Save,Shortcuts");
    leave();
}
END_TEST

/* A wide page is filled: the tables of a query stand below few heads. A narrow one, and one of many
 * heads, has the tables below the matrix. */
START_TEST(room_is_used)
{
    const char parent[] = "document.getElementById('detail').parentNode.id";
    char text[4 * 200];

    enter();
    run_without_json((const char *[]){
        "run", "-m", "fable", "--layers", "0-3", /* a page without an answer */
        "The keys to the cabinet near the door of the old house are on the table", NULL});
    attn_browser_resize(browser, 1440, 900);
    attn_browser_load(browser, "p.html", "");
    assert_text(parent, "heads");
    assert_text("(d => d.getBoundingClientRect().bottom <= innerHeight)(document.getElementById("
                "'detail'))",
                "true");
    attn_browser_load(browser, "p.html", "v=matrix");
    assert_text(parent, "body");
    attn_browser_resize(browser, 390, 844);
    attn_browser_load(browser, "p.html", "");
    assert_text(parent, "body");
    write_words(text, 200);
    run_without_json(FABLE(text));
    attn_browser_resize(browser, 1440, 900);
    attn_browser_load(browser, "p.html", "");
    show_all_heads();
    assert_text("document.getElementById('heads-note').textContent",
                "a cell is the mean row maximum of 7 x 7");
    assert_text("/(the|cat|sat)\u2026$/.test(document.title)", "true");
    leave();
}
END_TEST

START_TEST(names_the_command_of_a_picture_without_a_script)
{
    char *text, *with;
    FILE *file;

    enter();
    run(FABLE(life));
    attn_browser_set_script(browser, false);
    attn_browser_load_plain(browser, "p.html");
    attn_browser_set_script(browser, true);
    attn_browser_wait(browser, "document.querySelector('#static code')");
    assert_text("document.querySelector('#static code').textContent", "attn-cli run --svg FILE");
    assert_text("document.querySelector('h1').textContent.includes('Life')", "true");
    assert_text("document.getElementById('app').hidden", "true");
    attn_browser_assert_quiet(browser);

    text = attn_file_text("p.html"); /* a policy of whoever serves it */
    file = fopen("strict.html", "w");
    with = strstr(text, "<meta name=\"viewport\"");
    fprintf(file,
            "%.*s<meta http-equiv=\"Content-Security-Policy\" content=\"script-src 'none'\">%s",
            (int)(with - text), text, with);
    fclose(file);
    free(text);
    attn_browser_load_plain(browser, "strict.html");
    attn_browser_wait(browser, "document.querySelector('#static code').offsetWidth > 100");
    assert_text("document.getElementById('app').hidden", "true");
    attn_browser_forgive(browser); /* it says that the policy stopped the script */
    leave();
}
END_TEST

START_TEST(has_names_for_everything_and_few_tab_stops)
{
    enter();
    run(FABLE(life));
    attn_browser_load(browser, "p.html", "v=matrix&h=2.5&q=6&k=5");
    assert_text("[...document.querySelectorAll('button, select, input')].filter(e => "
                "!(e.textContent.trim() || e.getAttribute('aria-label') || "
                "e.closest('label'))).length",
                "0");
    assert_text("document.querySelectorAll('.matrix[role=grid][tabindex=\"0\"]').length", "1");
    assert_text("document.querySelectorAll('#thumbs[role=grid] [tabindex]').length", "0");
    assert_text("document.getElementById(document.querySelector('.matrix').getAttribute('aria-"
                "activedescendant')).textContent.includes('0.6305')",
                "true");
    leave();
}
END_TEST

/* The picture of the README, beside the program. */
START_TEST(is_seen)
{
    char path[4096];

    enter();
    run(FABLE("The keys to the cabinet"));
    attn_browser_resize(browser, 1120, 770);
    attn_browser_load(browser, "p.html", "v=grid&q=4&k=1");
    snprintf(path, sizeof path, "%s/%s/page.png", root,
             getenv("BUILD") ? getenv("BUILD") : "build/release");
    attn_browser_screenshot(browser, path);
    leave();
}
END_TEST

ATTN_SUITE("browser_page", reads_out_every_weight, colors_are_square_roots_of_weights,
           legends_have_the_ticks_of_the_library, masked_zero_and_left_out_look_different,
           all_heads_are_named_and_locked, many_heads_open_with_eight, keys_do_what_the_mouse_does,
           address_brings_a_view_back_and_its_garbage_is_left_out,
           long_texts_have_fewer_labels_and_digits, thumbnails_hold_mean_row_maxima,
           numbers_without_room_are_left_out, cross_attention_has_two_texts,
           predictions_stand_beside_their_position, first_key_that_is_not_in_the_file_stays_hatched,
           words_stand_in_the_place_of_tokens, what_is_not_finite_is_told, views_are_kept,
           text_stays_text, naughty_strings_stay_text, dark_light_and_paper, fits_a_telephone,
           names_the_command_of_a_picture_without_a_script,
           has_names_for_everything_and_few_tab_stops, tokens_and_heads_are_found,
           cross_attention_is_named, two_stacks_are_named,
           maps_of_the_encoder_have_rows_of_the_source, can_be_touched_and_printed,
           all_heads_are_printed, no_label_is_cut, text_is_the_title, room_is_used,
           every_position_says_what_is_expected_there, labels_belong_to_the_whole_text, is_seen)
