/*
 * test_browser_question.c - the page of a question in a browser: its map and its table beside
 * the numbers of --json, by mouse and by keys; the pattern of a head that is chosen; several calls
 * of its function; dark, on paper, on a telephone, and without a script.
 */
#include "tests/browser/browser.h"
#include "tests/support/command.h"
#include "tests/support/folder.h"
#include "tests/support/parts.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct attn_browser *browser;

/* Runs attn-cli with ARGS, and once more for p.html and j.json. */
static void run(const char *const *args)
{
    const char *made[32] = {0};
    const char *const more[] = {"-q", "--html", "p.html", "--json", "j.json"};
    size_t n = 0;
    struct attn_ran ran;

    for (; args[n]; n++)
        made[n] = args[n];
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        made[n++] = more[i];
    ran = attn_command(made);
    ck_assert_msg(ran.exit == 0, "%s", ran.err);
    attn_ran_release(&ran);
}

#define RUN(...) run((const char *[]){__VA_ARGS__, NULL})

static const char keys[] = "The keys to the cabinet";

static void ablate(void)
{
    RUN("ablate", "-m", "fable", "--target", " are", "--foil", " is", keys);
}

static void enter(void)
{
    attn_folder_enter();
    browser = attn_browser_open(1440, 900);
}

static void leave(void)
{
    attn_browser_leave(browser);
}

static void assert_text(const char *expression, const char *expected)
{
    attn_browser_assert_text(browser, expression, expected);
}

static cJSON *read_json(const char *path)
{
    struct attn_part part = attn_part_read(path);
    cJSON *json = cJSON_ParseWithLength((const char *)part.bytes, part.size);

    ck_assert_ptr_nonnull(json);
    free(part.bytes);
    return json;
}

static void type_into_search(const char *text)
{
    char expression[256];

    snprintf(expression, sizeof expression,
             "(f => { f.value = '%s'; f.dispatchEvent(new Event('input')); })("
             "document.querySelector('#find, .x-find'))",
             text);
    free(attn_browser_text(browser, expression));
}

#define TIP "document.querySelector('.x-tip').textContent"
#define SHOWN "document.querySelector('.x-tip td.is-shown').textContent"
#define CHOSEN "document.querySelector('.x-table tr[aria-selected=true]').textContent"
#define LINE(n) "[...document.querySelectorAll('.x-table tbody tr')][" #n "].textContent"
#define HASH "location.hash"
#define NAME "document.getElementById('name').textContent"

/* --- The map --------------------------------------------------------------------------------- */

struct cells {
    double x, y, w, h; /* of the first cell on the page; and of each */
};

static struct cells find_cells(void)
{
    char *text = attn_browser_text(
        browser, "(m => { const b = m.getBoundingClientRect(), [x, y, w, h] = "
                 "m.dataset.cells.split(' ').map(Number); return [b.left + x, b.top + y, w, "
                 "h].join(' '); })(document.querySelector('.x-map'))");
    struct cells cells;

    ck_assert_int_eq(sscanf(text, "%lf %lf %lf %lf", &cells.x, &cells.y, &cells.w, &cells.h), 4);
    free(text);
    return cells;
}

static void point_at(const struct cells *cells, int row, int column)
{
    attn_browser_point(browser, cells->x + (column + 0.5) * cells->w,
                       cells->y + (row + 0.5) * cells->h);
}

static void click_on(const struct cells *cells, int row, int column)
{
    attn_browser_click(browser, cells->x + (column + 0.5) * cells->w,
                       cells->y + (row + 0.5) * cells->h);
}

static double number_of(const cJSON *row, const char *name)
{
    return cJSON_GetObjectItem(row, name)->valuedouble;
}

/* The color of a cell near its corner. */
static void read_color(const struct cells *cells, int row, int column, int rgb[3])
{
    char expression[512], *text;

    snprintf(expression, sizeof expression,
             "(() => { const c = document.querySelector('.x-map canvas'), r = "
             "c.getBoundingClientRect(); return [...c.getContext('2d').getImageData(%f - r.x, %f - "
             "r.y, 1, 1).data].join(' '); })()",
             round(cells->x + column * cells->w) + 5, round(cells->y + row * cells->h) + 5);
    text = attn_browser_text(browser, expression);
    ck_assert_int_eq(sscanf(text, "%d %d %d", &rgb[0], &rgb[1], &rgb[2]), 3);
    free(text);
}

START_TEST(map_says_every_number_and_shows_its_sign)
{
    cJSON *json;
    const cJSON *row;
    struct cells cells;

    enter();
    ablate();
    json = read_json("j.json");
    attn_browser_load(browser, "p.html", "");
    attn_browser_click_on(browser, "#app h2"); /* nothing of the map is marked but 2.5 */
    cells = find_cells();
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(json, "rows"))
    {
        const double change = number_of(row, "change");
        char expected[64];
        int layer, head, rgb[3];

        if (!cJSON_IsNumber(cJSON_GetObjectItem(row, "head")))
            continue;
        layer = (int)number_of(row, "layer"), head = (int)number_of(row, "head");
        point_at(&cells, layer, head);
        snprintf(expected, sizeof expected, "%s%.6f", change < 0 ? "\u2212" : "", fabs(change));
        assert_text(SHOWN, expected);
        snprintf(expected, sizeof expected, "layer %d, head %d", layer, head);
        assert_text("document.querySelector('.x-tip b').textContent", expected);
        read_color(&cells, layer, head, rgb);
        if (fabs(change) > 0.5)
            ck_assert_msg((change < 0) == (rgb[2] > rgb[0]), "%d.%d: %d %d %d for %g", layer, head,
                          rgb[0], rgb[1], rgb[2], change);
    }
    attn_browser_point(browser, 2, 2);
    attn_browser_wait(browser, "document.querySelector('.x-tip').hidden");
    cJSON_Delete(json);
    leave();
}
END_TEST

START_TEST(head_that_is_chosen_shows_its_pattern)
{
    struct cells cells;

    enter();
    ablate();
    attn_browser_load(browser, "p.html", "");
    assert_text(NAME, "layer 2, head 5"); /* the largest change */
    attn_browser_wait(browser, CHOSEN ".startsWith('head25')");
    cells = find_cells();
    click_on(&cells, 1, 1);
    attn_browser_wait(browser, NAME " == 'layer 1, head 1'");
    assert_text(HASH ".includes('h=1.1')", "true");
    assert_text(CHOSEN ".startsWith('head11')", "true");
    attn_browser_point(browser, 2, 2);
    attn_browser_click_on(browser, "#next-head"); /* the viewer leads, too */
    attn_browser_wait(browser, CHOSEN ".startsWith('head12')");
    attn_browser_text(browser, "document.querySelector('.x-map').focus()");
    attn_browser_key(browser, "ArrowDown", 0);
    attn_browser_wait(browser, NAME " == 'layer 2, head 2'");
    attn_browser_click_on(browser, ".x-table tbody tr[data-row='3']");
    attn_browser_wait(browser, NAME " == 'layer 0, head 2'");
    leave();
}
END_TEST

START_TEST(another_column_is_drawn)
{
    cJSON *json;
    struct cells cells;
    char expected[64];

    enter();
    ablate();
    json = read_json("j.json");
    attn_browser_load(browser, "p.html", "");
    free(attn_browser_text(browser, "(s => { s.value = 'kl'; s.dispatchEvent(new Event('change')); "
                                    "})(document.querySelector('.x-show'))"));
    assert_text("document.querySelector('.x-legend .kind').textContent",
                "KL divergence from the unchanged prediction, nats");
    cells = find_cells();
    point_at(&cells, 2, 5);
    snprintf(expected, sizeof expected, "%.6f",
             number_of(cJSON_GetArrayItem(cJSON_GetObjectItem(json, "rows"), 1 + 2 * 8 + 5), "kl"));
    assert_text(SHOWN, expected);
    cJSON_Delete(json);
    leave();
}
END_TEST

/* --- The table ------------------------------------------------------------------------------- */

START_TEST(rows_are_sorted_and_found)
{
    enter();
    ablate();
    attn_browser_load(browser, "p.html", "");
    assert_text("document.querySelectorAll('.x-table tbody tr').length", "33");
    assert_text("document.querySelectorAll('input[type=search]').length", "1");
    assert_text(LINE(0) ".startsWith('head25')", "true");
    assert_text(LINE(1) ".startsWith('head11')", "true");
    attn_browser_click_on(browser, ".x-table th:nth-child(5) button"); /* up */
    assert_text("document.querySelector('.x-table th[aria-sort=ascending]').cellIndex", "4");
    attn_browser_click_on(browser, ".x-table th:nth-child(5) button"); /* down */
    assert_text(LINE(0) ".startsWith('head04')", "true");
    attn_browser_click_on(browser, ".x-table th:nth-child(5) button"); /* as it came */
    assert_text(LINE(0) ".startsWith('base')", "true");
    type_into_search("L2H5");
    assert_text("document.querySelector('.x-note').textContent", "1 of 33 rows");
    assert_text(LINE(0) ".startsWith('head25')", "true");
    type_into_search("BASE");
    assert_text("document.querySelector('.x-note').textContent", "1 of 33 rows");
    type_into_search("nobody");
    assert_text("document.querySelector('.x-note').textContent", "not found");
    leave();
}
END_TEST

START_TEST(table_is_saved)
{
    const char first[] = "part,layer,head,value,change,kl,same_top,row_type\nhead,2,5,";
    struct attn_part saved;

    enter();
    ablate();
    attn_browser_load(browser, "p.html", "");
    attn_browser_save_into(browser, ".");
    type_into_search("2.5");
    attn_browser_click_on(browser, ".x-save");
    attn_browser_click_on(browser, ".x-csv");
    for (int i = 0; i < 600 && system("test -s fable-ablate-change.csv") != 0; i++)
        ck_assert_int_eq(system("sleep 0.1"), 0);
    saved = attn_part_read("fable-ablate-change.csv");
    ck_assert_msg(strncmp((const char *)saved.bytes, first, sizeof first - 1) == 0, "%.*s",
                  (int)saved.size, (const char *)saved.bytes);
    free(saved.bytes);
    leave();
}
END_TEST

/* --- Tokens ---------------------------------------------------------------------------------- */

START_TEST(surprisal_colors_the_text)
{
    cJSON *json;
    char expected[64];

    enter();
    RUN("score", "-m", "fable", "The keys to the cabinet are old");
    json = read_json("j.json");
    attn_browser_load(browser, "p.html", "");
    assert_text("document.querySelector('.x-text').textContent", "The keys to the cabinet are old");
    attn_browser_point_at(browser, ".x-text .token:nth-of-type(5)");
    snprintf(expected, sizeof expected, "%.4f",
             number_of(cJSON_GetArrayItem(cJSON_GetObjectItem(json, "rows"), 4), "bits"));
    assert_text(SHOWN, expected);
    assert_text("[...document.querySelectorAll('.x-text .token')].map(t => t.style.backgroundColor "
                "!== '').join()",
                "false,true,true,true,true,true,true");
    attn_browser_click_on(browser, ".x-text .token:nth-of-type(5)");
    attn_browser_wait(browser, "document.querySelector('#readout').textContent.includes('query 4 "
                               "cabinet')");
    cJSON_Delete(json);
    leave();
}
END_TEST

START_TEST(readings_have_their_tokens)
{
    cJSON *json;
    const cJSON *first;
    struct cells cells;
    char expected[128];

    enter();
    RUN("lens", "-m", "fable", "--queries", "all", keys);
    json = read_json("j.json");
    attn_browser_load(browser, "p.html", "");
    cells = find_cells();
    point_at(&cells, 0, 4);
    assert_text("document.querySelector('.x-tip b').textContent",
                "after layer 0, position 4 cabinet");
    assert_text("document.querySelectorAll('.x-tip tr').length", "4"); /* and their heads */
    first = cJSON_GetArrayItem(cJSON_GetObjectItem(json, "rows"), (5 + 4) * 3); /* no embedding */
    snprintf(expected, sizeof expected, "1%.0f%s%.6f", number_of(first, "id"),
             cJSON_GetObjectItem(first, "token")->valuestring, number_of(first, "prob"));
    assert_text("document.querySelectorAll('.x-tip tr')[1].textContent", expected);
    cJSON_Delete(json);
    leave();
}
END_TEST

START_TEST(pair_says_both_texts)
{
    struct cells cells;

    enter();
    RUN("patch", "-m", "fable", "--target", " are", "--foil", " is", "--clean", keys, "--corrupted",
        "The key to the cabinet");
    attn_browser_load(browser, "p.html", "");
    cells = find_cells();
    point_at(&cells, 0, 1);
    assert_text("document.querySelector('.x-tip b').textContent", "embedding, position 1 keys/key");
    assert_text("document.getElementById('about').textContent",
                "fable; clean: The keys to the cabinet; corrupted: The key to the cabinet; the "
                "patterns are those of the first text");
    click_on(&cells, 0, 1);
    attn_browser_wait(browser, HASH ".includes('q=1')");
    leave();
}
END_TEST

START_TEST(a_pair_of_heads_opens_the_first)
{
    struct cells cells;

    enter();
    RUN("heads", "-m", "fable", "--by", "pair", keys);
    attn_browser_load(browser, "p.html", "");
    cells = find_cells();
    click_on(&cells, 30, 24); /* 3.6 and 3.0: both triangles are there */
    attn_browser_wait(browser, HASH ".includes('h=3.0')");
    assert_text("document.querySelector('.x-tip b').textContent", "3.6 and 3.0");
    leave();
}
END_TEST

/* --- Causes ---------------------------------------------------------------------------------- */

/* The row of the table whose line or dot is at a point of row I, near its end. */
static size_t point_at_row(size_t i)
{
    char expression[512];
    char *text;
    double x, y;
    size_t row;

    snprintf(
        expression, sizeof expression,
        "(p => { const at = (p.getPointAtLength(p.getTotalLength() * 0.9))"
        ".matrixTransform(p.getScreenCTM()); const met = document.elementFromPoint(at.x, at.y);"
        "return [at.x, at.y, [...document.querySelectorAll('.x-plot :is(path, circle)[data-i]')]"
        "[[...met.parentNode.children].indexOf(met)].dataset.i].join(' '); })"
        "(document.querySelector('[data-i=\"%zu\"]'))",
        i);
    text = attn_browser_text(browser, expression);
    ck_assert_int_eq(sscanf(text, "%lf %lf %zu", &x, &y, &row), 3);
    free(text);
    attn_browser_point(browser, x, y);
    return row;
}

START_TEST(an_edge_of_a_circuit_says_its_score)
{
    const cJSON *rows;
    cJSON *json;
    char expected[64];
    size_t at;

    enter();
    RUN("circuit", "--clean", "The keys near the door", "--corrupted", "The key near the door",
        "--target", " are", "--foil", " is", "--size", "10");
    json = read_json("j.json");
    rows = cJSON_GetObjectItem(json, "rows");
    attn_browser_load(browser, "p.html", "");
    attn_browser_print(browser, "p.pdf"); /* the figure is whole on the first sheet */
    ck_assert_int_eq(system("pdftotext -l 1 p.pdf - | grep -q 'strongest path'"), 0);
    at = point_at_row(0);
    snprintf(expected, sizeof expected, "%.6f",
             number_of(cJSON_GetArrayItem(rows, (int)at), "score"));
    assert_text("[...document.querySelectorAll('.x-tip tr')].find(row => "
                "row.textContent.startsWith('score')).querySelector('td:last-child').textContent",
                expected);
    cJSON_Delete(json);
    leave();
}
END_TEST

START_TEST(a_head_of_a_circuit_lights_its_edges_and_shows_its_row)
{
    enter();
    RUN("circuit", "--clean", "The keys near the door", "--corrupted", "The key near the door",
        "--target", " are", "--foil", " is", "--size", "10");
    attn_browser_load(browser, "p.html", "");
    free(attn_browser_text(
        browser, "globalThis.head = [...document.querySelectorAll('.x-plot [data-i^=h]')][0],"
                 "globalThis.place = head.dataset.i.slice(1).split('.'),"
                 "globalThis.hit = document.querySelector('.x-near > .plate'),"
                 "hit.dispatchEvent(new PointerEvent('pointerenter')), ''"));
    /* an edge is lit if and only if it begins or ends at the head */
    assert_text("JSON.stringify([...document.querySelectorAll('.x-plot path[data-i]')].map(path =>"
                "[path.style.opacity === '', ((cells, name) => cells[0] === name || "
                "cells[1].startsWith(name + '.'))([...document.querySelector('[data-row=\"' + "
                "path.dataset.i + '\"]').cells].map(cell => cell.textContent), "
                "place[0] + '.' + place[1])]).filter(pair => pair[0] !== pair[1]))",
                "[]");
    assert_text("[...document.querySelectorAll('.x-plot path[data-i]')]"
                ".some(path => path.style.opacity === '0.2')",
                "true");
    free(attn_browser_text(browser, "hit.dispatchEvent(new MouseEvent('click')), ''"));
    attn_browser_wait(browser, HASH ".includes('h=' + place[0] + '.' + place[1])");
    /* by keys, the last head */
    free(attn_browser_text(browser, "document.querySelector('.x-plot').focus(), globalThis.place = "
                                    "[...document.querySelectorAll('.x-plot .plate')].at(-1)"
                                    ".dataset.head.split('.'), ''"));
    attn_browser_key(browser, "ArrowDown", 0);
    attn_browser_key(browser, "ArrowDown", 0);
    assert_text("document.querySelector('.unseen').textContent === 'head ' + place[0] + '.' + "
                "place[1]",
                "true");
    attn_browser_key(browser, "Enter", 0);
    attn_browser_wait(browser, HASH ".includes('h=' + place[0] + '.' + place[1])");
    leave();
}
END_TEST

START_TEST(readings_begin_at_the_answer_and_take_the_width)
{
    enter();
    RUN("lens", "-m", "fable", "--queries", "0-4", keys);
    attn_browser_load(browser, "p.html", "");
    assert_text(CHOSEN, "3resid_post411048 are0.245593");
    assert_text("document.querySelector('.x-map').getBoundingClientRect().width > 500 && "
                "!document.body.classList.contains('beside')",
                "true");
    attn_browser_resize(browser, 390, 844);
    attn_browser_load(browser, "p.html", "");
    assert_text("(m => m.scrollLeft + m.clientWidth >= m.scrollWidth - 3)"
                "(document.querySelector('.x-map'))",
                "true");
    assert_text("document.documentElement.scrollWidth <= 390", "true");
    leave();
}
END_TEST

START_TEST(a_gap_between_columns_is_no_cell)
{
    struct cells cells;

    enter();
    RUN("attribute", "-m", "fable", "--target", " are", "--foil", " is", keys);
    attn_browser_load(browser, "p.html", "");
    cells = find_cells();
    attn_browser_point(browser, cells.x + 8 * cells.w + 15, cells.y + 5);
    attn_browser_wait(browser, "!document.querySelector('.x-tip').hidden");
    attn_browser_point(browser, cells.x + 8 * cells.w + 5, cells.y + 5); /* 10 pixels wide */
    attn_browser_wait_for_frame(browser);
    assert_text("String(document.querySelector('.x-tip').hidden)", "true");
    leave();
}
END_TEST

START_TEST(a_map_without_room_for_its_cells_is_no_error)
{
    enter();
    ablate();
    attn_browser_load(browser, "p.html", "");
    for (int width = 20; width < 200; width += 10)
        attn_browser_resize(browser, width, 200);
    free(attn_browser_text(browser,
                           "document.querySelector('.x-map').parentNode.style.display = 'none'"));
    for (int width = 500; width < 1000; width += 100)
        attn_browser_resize(browser, width, 2 * width);
    leave();
}
END_TEST

/* --- The function ---------------------------------------------------------------------------- */

START_TEST(drawn_again_it_leaves_no_listener)
{
    enter();
    ablate();
    attn_browser_load(browser, "p.html", "");
    free(attn_browser_text(
        browser,
        "(() => { const add = EventTarget.prototype.addEventListener; window.live = 0; "
        "EventTarget.prototype.addEventListener = function(type, action, options) { window.live++; "
        "options?.signal?.addEventListener || (window.unsignaled = type); if (options?.signal) "
        "add.call(options.signal, 'abort', () => window.live--); return add.call(this, type, "
        "action, options); }; window.place = document.getElementById('question'); window.data = "
        "attnPage.tableOf(attnPage.given); window.heard = 0; "
        "add.call(place, 'attn-choose', () => heard++); attnQuestion.show(place, data); "
        "window.first = live; for (let i = 0; i < 50; i++) attnQuestion.show(place, data); "
        "})()"));
    assert_text("live == first && first > 5", "true");
    assert_text("String(window.unsignaled)", "undefined");
    attn_browser_click_on(browser, ".x-table tbody tr:nth-child(4)");
    assert_text("heard", "1");
    attn_browser_text(browser, "document.querySelector('.x-map').focus()");
    attn_browser_key(browser, "s", 0);
    assert_text("document.querySelector('.x-table th[aria-sort]').getAttribute('aria-sort')",
                "ascending");
    free(attn_browser_text(browser, "data.rows = data.rows.slice(0, 9), data.map.at = "
                                    "data.map.at.slice(0, 18), attnQuestion.show(place, data)"));
    assert_text("document.querySelectorAll('.x-table tbody tr').length", "9");
    assert_text("document.querySelector('.x-table th[aria-sort]').cellIndex", "4"); /* kept */
    leave();
}
END_TEST

/* --- Many texts ------------------------------------------------------------------------------ */

static void write_items(const char *label)
{
    FILE *file = fopen("items.csv", "w");

    ck_assert_ptr_nonnull(file);
    fprintf(file,
            "id,text,target,foil,%s\n1,The keys to the cabinet, are, is,plural\n2,The key to the "
            "cabinets, is, are,</script><b>one</b>\n",
            label);
    fclose(file);
}

START_TEST(items_have_a_map_for_each_group)
{
    enter();
    write_items("number");
    RUN("ablate", "-m", "fable", "--items", "items.csv", "--group-by", "number");
    attn_browser_load(browser, "p.html", "");
    assert_text("document.getElementById('app')", "null"); /* of many texts there is no pattern */
    assert_text("[...document.querySelectorAll('.x-group option')].map(o => "
                "o.textContent).join('|')",
                "plural|</script><b>one</b>");
    attn_browser_click_on(browser, ".x-table tbody tr[data-row='49']");
    assert_text("document.querySelector('.x-group').value", "1"); /* it is of the other group */
    attn_browser_key(browser, "s", 0);
    attn_browser_key(browser, "v", 0);
    assert_text(HASH, "#x=kl&sort=change%3Aup&row=49&group=1");
    attn_browser_key(browser, "s", 0); /* by kl */
    assert_text(HASH, "#x=kl&sort=kl%3Asize&row=49&group=1");
    attn_browser_load(browser, "p.html", "sort=none");
    assert_text("document.querySelector('.x-table th[aria-sort]')", "null");
    assert_text(HASH, "#sort=none");
    attn_browser_load(browser, "p.html", "x=kl&sort=kl:up&row=3&group=9&find=head&d=dark");
    assert_text("document.querySelector('.x-show').value", "kl");
    assert_text("document.querySelector('.x-note').textContent", "64 of 66 rows");
    assert_text(HASH, "#x=kl&sort=kl%3Aup&row=3&find=head&d=dark");
    leave();
}
END_TEST

START_TEST(text_from_outside_stays_text)
{
    enter();
    write_items("<img src=x>");
    RUN("score", "-m", "fable", "--items", "items.csv", "--group-by", "<img src=x>");
    attn_browser_load(browser, "p.html", "");
    assert_text("document.querySelectorAll('img, b:not(.x-tip b)').length", "0");
    assert_text("document.querySelector('.x-table th').textContent", "<img src=x>");
    assert_text("document.querySelectorAll('.x-plot svg').length", "1");
    attn_browser_set_script(browser, false);
    attn_browser_load_plain(browser, "p.html");
    assert_text("document.querySelectorAll('img').length", "0");
    assert_text("document.querySelector('#static th').textContent", "<img src=x>");
    leave();
}
END_TEST

/* --- Everywhere ------------------------------------------------------------------------------ */

START_TEST(dark_paper_and_telephone)
{
    struct cells cells;
    int light[3], dark[3];

    enter();
    ablate();
    attn_browser_load(browser, "p.html", "");
    cells = find_cells();
    read_color(&cells, 0, 3, light);
    attn_browser_click_on(browser, "#dark");
    attn_browser_wait(browser, "document.documentElement.dataset.theme == 'dark'");
    read_color(&cells, 0, 3, dark);
    ck_assert_msg(light[0] > 200 && dark[0] < 120, "%d and %d", light[0], dark[0]);
    free(attn_browser_text(browser, "dispatchEvent(new Event('beforeprint'))"));
    read_color(&cells, 0, 3, dark);
    ck_assert_int_gt(dark[0], 200);
    free(attn_browser_text(browser, "dispatchEvent(new Event('afterprint'))"));
    assert_text("document.documentElement.dataset.theme", "dark");
    attn_browser_resize(browser, 390, 844);
    attn_browser_wait(browser, "document.documentElement.scrollWidth <= 390");
    assert_text("[...document.querySelectorAll('#question button, #question select, "
                "#question input')].filter(e => e.offsetParent && "
                "e.getBoundingClientRect().height < 44).length",
                "0");
    cells = find_cells();
    click_on(&cells, 3, 0);
    attn_browser_wait(browser, NAME " == 'layer 3, head 0'");
    leave();
}
END_TEST

/* The words that steps write have the colors of their cells of the map. */
START_TEST(written_words_have_the_colors_of_their_steps)
{
    struct cells cells;
    char expected[3][64];
    static const struct {
        int row, column;
    } places[] = {{0, 0}, {0, 1}, {2, 3}};

    enter();
    RUN("spans", "-m", "fable", "--positions", "keys=keys", "--positions", "cab=cabinet", "--by",
        "step", "--continuation", " are on the table.", "--heads", "2.5", keys);
    attn_browser_load(browser, "p.html", "");
    assert_text("[...document.querySelectorAll('.x-step')].map(p => p.textContent).join('|')",
                "keys are on the table.|cab are on the table.|rest are on the table.|"
                "parked are on the table.");
    cells = find_cells();
    for (int i = 0; i < 3; i++) {
        int rgb[3];
        char expression[128];

        read_color(&cells, places[i].row, places[i].column, rgb);
        snprintf(expected[i], sizeof expected[i], "rgb(%d, %d, %d)", rgb[0], rgb[1], rgb[2]);
        snprintf(expression, sizeof expression,
                 "document.querySelectorAll('.x-step .token')[%d].style.backgroundColor",
                 places[i].row * 5 + places[i].column);
        assert_text(expression, expected[i]);
    }
    ck_assert_str_ne(expected[0], expected[2]);
    attn_browser_click_on(browser, ".x-step .token:nth-of-type(3)"); /* the name is the first */
    assert_text("document.querySelector('.x-step .token.chosen').textContent", "on");
    assert_text(CHOSEN ".includes('are on')", "true");
    leave();
}
END_TEST

static const char *const corpus[] = {"The keys to the cabinet are on the table.",
                                     "The dog ran away because it was afraid.",
                                     "The cat sat on the mat.",
                                     "Tom gave a drink to Mary.",
                                     "The old <b>man</b> was tired.",
                                     "Mary had a little lamb."};

static void write_corpus(void)
{
    FILE *file = fopen("texts.txt", "w");

    ck_assert_ptr_nonnull(file);
    for (size_t i = 0; i < sizeof corpus / sizeof *corpus; i++)
        fprintf(file, "%s\n", corpus[i]);
    fclose(file);
}

/* The row of the text with the largest value of the head in LAYER. */
static const cJSON *largest_of(const cJSON *rows, int layer)
{
    for (int i = 0; i < cJSON_GetArraySize(rows); i++) {
        const cJSON *row = cJSON_GetArrayItem(rows, i);

        if (number_of(row, "layer") == layer && number_of(row, "bin") == 3 &&
            number_of(row, "rank") == 1)
            return row;
    }
    ck_abort_msg("no row of layer %d", layer);
    return NULL;
}

/* Texts of a head in bins, the weights of a row as colors, by mouse and by keys. */
START_TEST(examples_show_texts_and_rows)
{
    cJSON *json, *rows;
    const cJSON *first;
    char expected[128];

    enter();
    write_corpus();
    RUN("examples", "-m", "fable", "--items", "texts.txt", "--items-format", "lines", "--heads",
        "2.5,3.2", "--bins", "3", "--top", "2");
    json = read_json("j.json");
    rows = cJSON_GetObjectItem(json, "rows");
    first = largest_of(rows, 2);
    attn_browser_load(browser, "p.html", "");
    assert_text("document.querySelectorAll('.e-bin').length + ' ' + "
                "document.querySelectorAll('.e-example').length",
                "3 6");
    assert_text("document.querySelectorAll('.e-point').length", "6");
    snprintf(expected, sizeof expected, "%s %d looks at %s %d with %.3f",
             cJSON_GetObjectItem(first, "query_token")->valuestring, (int)number_of(first, "query"),
             cJSON_GetObjectItem(first, "key_token")->valuestring, (int)number_of(first, "key"),
             number_of(first, "weight"));
    assert_text("document.querySelector('#bin-3 .e-said').textContent", expected);
    assert_text("document.querySelectorAll('.e-text b').length", "0");
    free(attn_browser_text(browser, "document.querySelector('#bin-3 .e-text').focus()"));
    attn_browser_key(browser, "Home", 0);
    assert_text("document.querySelector('#bin-3 .from').textContent", "The");
    assert_text("document.querySelector('#bin-3 .e-said').textContent",
                "The 0 looks at The 0 with 1.000");
    attn_browser_key(browser, "ArrowRight", 0);
    assert_text("[...document.querySelector('#bin-3 .e-text').children].findIndex(t => "
                "t.matches('.from'))",
                "1");
    attn_browser_click_on(browser, "#examples button:last-of-type");
    assert_text("document.querySelector('#examples select').selectedOptions[0].textContent", "3.2");
    snprintf(expected, sizeof expected, "%.3g", number_of(largest_of(rows, 3), "value"));
    assert_text("document.querySelector('#bin-3 .e-about b').textContent", expected);
    attn_browser_resize(browser, 390, 844);
    assert_text("document.documentElement.scrollWidth <= innerWidth", "true");
    cJSON_Delete(json);
    leave();
}
END_TEST

/* Returns the row of ROWS with the largest value of NAME. */
static int row_of_largest(const cJSON *rows, const char *name)
{
    int largest = 0;

    for (int i = 1; i < cJSON_GetArraySize(rows); i++)
        if (number_of(cJSON_GetArrayItem(rows, i), name) >
            number_of(cJSON_GetArrayItem(rows, largest), name))
            largest = i;
    return largest;
}

#define CARDS "[...document.querySelectorAll('.a-card h3')].map(h => h.textContent).join()"
#define CLOSE_CARD "document.querySelector('.a-card .a-close').click()"
#define CHOOSE(n, value)                                                                           \
    "(s => { s.value = '" value "'; s.dispatchEvent(new Event('change')); return s.value; })("     \
    "document.querySelectorAll('#atlas select')[" #n "])"

/* Heads as points by two measures, which open cards by keys, by mouse and by name. */
START_TEST(atlas_shows_measures_and_opens_cards)
{
    cJSON *json, *rows;
    char expected[64], *text;
    int row;
    double x, y;

    enter();
    write_corpus();
    RUN("heads", "-m", "fable", "--items", "texts.txt", "--items-format", "lines");
    json = read_json("j.json");
    rows = cJSON_GetObjectItem(json, "rows");
    attn_browser_load(browser, "p.html", "");
    assert_text("document.querySelectorAll('.a-point').length", "32");
    /* one card is open: of the head that looks hardest in its text of the middle */
    assert_text("(largest => document.querySelector('.a-card h3').textContent === 'Head ' + "
                "attnPage.given.atlas.heads.find(h => h.texts[1][0].value === largest).name)("
                "Math.max(...attnPage.given.atlas.heads.map(h => h.texts[1][0].value)))",
                "true");
    free(attn_browser_text(browser, CLOSE_CARD));
    assert_text(CARDS, "");
    assert_text("document.querySelector('h1').textContent", "Atlas of heads");
    assert_text("[...document.querySelector('#atlas select').children].map(g => g.label + ' ' + "
                "g.children.length).join()",
                "Where a head looks 9,How it looks 4");
    /* across: the weight that is not parked; the ends of both axes say what a head does there */
    assert_text("[...document.querySelectorAll('.a-axis')].slice(0, 4).map(t => "
                "t.textContent).join()",
                "\u2190 parks on the first token,looks at words \u2192,\u2190 one word,all words "
                "\u2192");
    row = row_of_largest(rows, "park");
    snprintf(expected, sizeof expected, "a-%d", row);
    assert_text("[...document.querySelectorAll('.a-point')].reduce((a, b) => "
                "a.getBoundingClientRect().left <= b.getBoundingClientRect().left ? a : b).id",
                expected);
    /* paper has the columns that have room, and the names of the others */
    assert_text("dispatchEvent(new Event('beforeprint')), (table => ["
                "(table.style.minWidth = 0, table.offsetWidth <= 700), "
                "table.rows[0].cells[0].hidden, table.rows[1].cells[0].hidden, "
                "[...table.rows].every(row => [...row.cells].at(-1).hidden), "
                "table.parentNode.nextSibling.textContent.endsWith(', n')].join())("
                "document.querySelector('.x-table table'))",
                "true,false,false,true,true");
    assert_text("dispatchEvent(new Event('afterprint')), document.querySelectorAll('.x-table "
                "[hidden]').length + ' ' + "
                "document.querySelector('.x-table').nextSibling.hidden",
                "0 true");
    /* names cover neither each other nor a mark */
    assert_text("[...document.querySelectorAll('.a-point text')].length > 8", "true");
    assert_text("(boxes => boxes.some((a, i) => boxes.some((b, k) => i !== k && a.tagName !== "
                "'path' && a.left < b.right - 3 && b.left < a.right - 3 && a.top < b.bottom - 4 && "
                "b.top < a.bottom - 4)))([...document.querySelectorAll('.a-point > *')].map(n => "
                "Object.assign(n.getBoundingClientRect(), { tagName: n.tagName })))",
                "false");
    /* by keys, with another measure across: the last point has its largest value */
    assert_text(CHOOSE(0, "previous"), "previous");
    row = row_of_largest(rows, "previous");
    snprintf(expected, sizeof expected, "Head %d.%d", row / 8, row % 8);
    free(attn_browser_text(browser, "document.querySelector('.a-plot').focus()"));
    attn_browser_key(browser, "End", 0);
    attn_browser_key(browser, "Enter", 0);
    assert_text(CARDS, expected);
    assert_text("document.querySelectorAll('.a-point[aria-selected=true]').length", "1");
    assert_text("document.getElementById(document.querySelector('.a-plot').getAttribute("
                "'aria-activedescendant')).getAttribute('aria-selected')",
                "true");
    snprintf(expected, sizeof expected, "%.3g",
             number_of(cJSON_GetArrayItem(rows, row), "previous"));
    assert_text("[...document.querySelectorAll('.a-card dt')].find(t => t.textContent === "
                "'previous').nextSibling.textContent",
                expected);
    /* five strongest texts, the sixth in the middle, each with its query and key */
    assert_text("[...document.querySelectorAll('.a-card ol')].map(l => l.children.length).join()",
                "5,1");
    assert_text("[...document.querySelectorAll('.a-card li')].every(l => "
                "l.querySelectorAll('.from').length === 1 && l.querySelectorAll('.to').length === "
                "1)",
                "true");
    assert_text("document.querySelectorAll('.a-text b').length", "0"); /* text stays text */
    /* the arrow leads to another point, Escape closes the card */
    attn_browser_key(browser, "ArrowLeft", 0);
    assert_text("document.querySelectorAll('.a-point.is-active').length", "1");
    assert_text("document.querySelectorAll('.a-point.is-active.is-open').length", "0");
    attn_browser_key(browser, "Escape", 0);
    assert_text(CARDS, "");
    /* by mouse: the point of 3.6, which the table marks, too */
    text = attn_browser_text(browser, "(b => [b.left + b.width / 2, b.top + b.height / 2].join("
                                      "' '))(document.querySelector('#a-30 path')."
                                      "getBoundingClientRect())");
    ck_assert_int_eq(sscanf(text, "%lf %lf", &x, &y), 2);
    free(text);
    attn_browser_click(browser, x, y);
    assert_text(CARDS, "Head 3.6");
    assert_text("document.querySelector('.x-table tr[aria-selected=true]').dataset.row", "30");
    attn_browser_click(browser, x, y);
    assert_text(CARDS, "");
    /* by name; the newest card is first */
    free(attn_browser_text(browser, CHOOSE(2, "0")));
    free(attn_browser_text(browser, CHOOSE(2, "21")));
    assert_text(CARDS, "Head 2.5,Head 0.0");
    attn_browser_click_on(browser, ".a-card:first-of-type .a-close");
    assert_text(CARDS, "Head 0.0");
    /* a cell of the map that is chosen marks its point */
    free(attn_browser_text(browser, "document.querySelector('.x-map').focus()"));
    attn_browser_key(browser, "ArrowRight", 0);
    text = attn_browser_text(
        browser, "document.querySelector('.x-table tr[aria-selected=true]').dataset.row");
    assert_text("document.querySelector('.a-point.is-active').id.slice(2)", text);
    free(text);
    attn_browser_resize(browser, 390, 844);
    assert_text("document.documentElement.scrollWidth <= innerWidth", "true");
    cJSON_Delete(json);
    leave();
}
END_TEST

/* A card of texts with few distances has room for the name of their axis. */
/* Of a long text the 60 tokens nearest to query and key are shown. */
START_TEST(card_of_a_long_text_shows_what_is_near)
{
    FILE *file;

    enter();
    file = fopen("texts.txt", "w");
    ck_assert_ptr_nonnull(file);
    for (int i = 0; i < 12; i++)
        fputs("The old dog sat on the mat . ", file);
    fclose(file);
    RUN("heads", "-m", "fable", "--items", "texts.txt", "--items-format", "lines", "--heads",
        "3.2,3.6");
    attn_browser_load(browser, "p.html", "");
    free(attn_browser_text(browser, CLOSE_CARD));
    free(attn_browser_text(browser, CHOOSE(2, "0")));
    assert_text("['', '.from', '.to'].map(what => document.querySelectorAll('.a-card .a-text "
                ".token' + what).length).join()",
                "60,1,1");
    assert_text("document.querySelectorAll('.a-card .a-gap').length > 0", "true");
    leave();
}
END_TEST

START_TEST(card_of_short_texts_names_its_axis)
{
    FILE *file;

    enter();
    file = fopen("texts.txt", "w");
    ck_assert_ptr_nonnull(file);
    fputs(keys, file);
    fclose(file);
    RUN("heads", "-m", "fable", "--items", "texts.txt", "--items-format", "lines");
    attn_browser_load(browser, "p.html", "");
    free(attn_browser_text(browser, CLOSE_CARD));
    free(attn_browser_text(browser, CHOOSE(2, "0")));
    assert_text("document.querySelectorAll('.a-distances rect').length", "4");
    assert_text("(width => [...document.querySelectorAll('.a-distances text')].every(t => "
                "t.getBBox().x >= 0 && t.getBBox().x + t.getBBox().width <= width))("
                "document.querySelector('.a-distances').viewBox.baseVal.width)",
                "true");
    leave();
}
END_TEST

START_TEST(has_figure_and_table_without_a_script)
{
    enter();
    ablate();
    attn_browser_set_script(browser, false);
    attn_browser_load_plain(browser, "p.html");
    assert_text("document.querySelectorAll('#static > svg').length", "1");
    assert_text("document.querySelector('#static table').rows[1].cells[0].textContent", "base");
    assert_text("document.querySelector('#static table').rows.length", "34");
    assert_text("document.getElementById('question').hidden", "true");
    leave();
}
END_TEST

ATTN_SUITE("browser_question", map_says_every_number_and_shows_its_sign,
           head_that_is_chosen_shows_its_pattern, another_column_is_drawn,
           rows_are_sorted_and_found, table_is_saved, surprisal_colors_the_text,
           readings_have_their_tokens, pair_says_both_texts, a_pair_of_heads_opens_the_first,
           a_gap_between_columns_is_no_cell, a_map_without_room_for_its_cells_is_no_error,
           drawn_again_it_leaves_no_listener, an_edge_of_a_circuit_says_its_score,
           a_head_of_a_circuit_lights_its_edges_and_shows_its_row,
           readings_begin_at_the_answer_and_take_the_width, items_have_a_map_for_each_group,
           text_from_outside_stays_text, dark_paper_and_telephone,
           written_words_have_the_colors_of_their_steps, examples_show_texts_and_rows,
           atlas_shows_measures_and_opens_cards, card_of_a_long_text_shows_what_is_near,
           card_of_short_texts_names_its_axis, has_figure_and_table_without_a_script)
