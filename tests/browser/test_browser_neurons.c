/*
 * test_browser_neurons.c - what a row is made of, on the page of --explain --html: q, k, their
 * products, scores, weights and v beside the numbers of --json, of heads that share keys and turn
 * them, too; it follows the head and the query that the page shows.
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
#include <unistd.h>

static char root[3000]; /* of the repository, as tests work in a folder of their own */
static struct attn_browser *browser;

static void run(const char *const *args)
{
    struct attn_ran ran = attn_command(args);

    ck_assert_msg(ran.exit == 0, "%s", ran.err);
    attn_ran_release(&ran);
}

#define RUN(...) run((const char *[]){"run", "-q", __VA_ARGS__, NULL})

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

static void assert_text(const char *expression, const char *expected)
{
    attn_browser_assert_text(browser, expression, expected);
}

static cJSON *read_tensors(cJSON **whole)
{
    struct attn_part part = attn_part_read("j.json");

    *whole = cJSON_ParseWithLength((const char *)part.bytes, part.size);
    ck_assert_ptr_nonnull(*whole);
    free(part.bytes);
    return cJSON_GetObjectItem(*whole, "tensors");
}

/* Number I of [a][b][i] of a tensor of LAYER. */
static double number_at(const cJSON *tensors, int layer, const char *name, int a, int b, int i)
{
    char whole[64];
    const cJSON *at;

    snprintf(whole, sizeof whole, "blocks.%d.attn.hook_%s", layer, name);
    at = cJSON_GetArrayItem(
        cJSON_GetArrayItem(cJSON_GetArrayItem(cJSON_GetObjectItem(tensors, whole), a), b), i);
    ck_assert_ptr_nonnull(at);
    return at->valuedouble;
}

#define ROW "document.getElementById('neurons').dataset.row"
#define SAID "document.querySelector('.n-said').textContent"

/* Cell COLUMN of the line of a key, as a number. */
static double cell_at(int key, int column)
{
    char expression[256];

    snprintf(expression, sizeof expression,
             "document.querySelector('#neurons tr[data-k=\"%d\"]').cells[%d].textContent.replace("
             "'\u2212', '-')",
             key, column);
    return attn_browser_number(browser, expression);
}

/* The middle of component I of the N of the strip SELECTOR. */
static void point_at_component(const char *selector, int i, int n)
{
    char expression[512], *text;
    double x, y, width, height;

    snprintf(expression, sizeof expression,
             "(() => { const e = document.querySelector(\"%s\"); e.scrollIntoView({block: "
             "'nearest'}); const r = e.getBoundingClientRect(); return [r.x, r.y, r.width, "
             "r.height].join(' '); })()",
             selector);
    text = attn_browser_text(browser, expression);
    ck_assert_int_eq(sscanf(text, "%lf %lf %lf %lf", &x, &y, &width, &height), 4);
    free(text);
    attn_browser_point(browser, x + width * (i + 0.5) / n, y + height / 2);
}

enum { FIT = 3, SCORE = 4, WEIGHT = 5 }; /* columns */

START_TEST(row_is_what_the_run_has)
{
    cJSON *json, *tensors;
    char expected[128];

    enter();
    RUN("-m", "fable", "--explain", "--html", "p.html", "The keys to the cabinet");
    RUN("-m", "fable", "--sites", "pattern,q,k,v,attn_scores", "--json", "j.json",
        "The keys to the cabinet");
    tensors = read_tensors(&json);
    attn_browser_load(browser, "p.html", "v=matrix&h=2.5&q=3");
    attn_browser_wait(browser, ROW " == '2.5,3'");
    assert_text("document.querySelectorAll('#neurons tr[data-k]').length", "4");
    for (int k = 0; k < 4; k++) {
        double fit = 0;

        for (int i = 0; i < 16; i++)
            fit += number_at(tensors, 2, "q", 3, 5, i) * number_at(tensors, 2, "k", k, 5, i);
        ck_assert_double_eq_tol(cell_at(k, FIT), fit, 2e-4);
        ck_assert_double_eq_tol(cell_at(k, SCORE), number_at(tensors, 2, "attn_scores", 5, 3, k),
                                1e-4);
        ck_assert_double_eq_tol(cell_at(k, WEIGHT), number_at(tensors, 2, "pattern", 5, 3, k),
                                1e-4);
    }
    assert_text("document.querySelector('#neurons .note').textContent.startsWith('score = q\u00b7k "
                "\u00d7 0.2500;')",
                "true");
    point_at_component("#neurons tr[data-k='1'] td:nth-of-type(2) .n-strip", 7, 16);
    snprintf(expected, sizeof expected, "component 7 of key 1: q %s%.4f",
             number_at(tensors, 2, "q", 3, 5, 7) < 0 ? "\u2212" : "",
             fabs(number_at(tensors, 2, "q", 3, 5, 7)));
    attn_browser_wait(browser, SAID);
    {
        char *said = attn_browser_text(browser, SAID);

        ck_assert_msg(strncmp(said, expected, strlen(expected)) == 0, "%s, expected %s", said,
                      expected);
        free(said);
    }
    cJSON_Delete(json);
    leave();
}
END_TEST

/* Three heads share a key, and positions turn it. */
START_TEST(shared_and_turned_keys_give_the_same_weights)
{
    cJSON *json, *tensors;
    char model[4096];

    enter();
    snprintf(model, sizeof model, "%s/tests/fixtures/family-llama-gqa-tied-bf16", root);
    RUN("-m", model, "--ids", "1,2,3,4", "--explain", "--html", "p.html");
    RUN("-m", model, "--ids", "1,2,3,4", "--sites", "pattern,rot_q,rot_k", "--json", "j.json");
    tensors = read_tensors(&json);
    attn_browser_load(browser, "p.html", "v=matrix&h=1.4");
    attn_browser_wait(browser, ROW " == '1.4,3'");
    for (int k = 0; k < 4; k++) {
        double fit = 0;

        for (int i = 0; i < 8; i++)
            fit +=
                number_at(tensors, 1, "rot_q", 3, 4, i) * number_at(tensors, 1, "rot_k", k, 1, i);
        ck_assert_double_eq_tol(cell_at(k, FIT), fit, 2e-4);
        ck_assert_double_eq_tol(cell_at(k, WEIGHT), number_at(tensors, 1, "pattern", 4, 3, k),
                                1e-4);
    }
    cJSON_Delete(json);
    leave();
}
END_TEST

START_TEST(it_follows_the_page_and_leads_it)
{
    enter();
    RUN("-m", "fable", "--explain", "--html", "p.html", "The keys to the cabinet");
    attn_browser_load(browser, "p.html", "v=matrix&h=2.5");
    attn_browser_wait(browser, ROW " == '2.5,4'");
    attn_browser_key(browser, "ArrowUp", 0);
    attn_browser_wait(browser, ROW " == '2.5,3'");
    attn_browser_click_on(browser, "#next-head");
    attn_browser_wait(browser, ROW " == '2.6,3'");
    attn_browser_click_on(browser, "#neurons tr[data-k='1'] th");
    attn_browser_wait(browser, "location.hash.includes('k=1')");
    attn_browser_wait(browser, "document.querySelector('#neurons tr.here')?.dataset.k == 1");
    leave();
}
END_TEST

START_TEST(dark_paper_and_telephone)
{
    static const char color[] =
        "(() => { const c = document.querySelector('#neurons tr.query canvas'); return "
        "[...c.getContext('2d').getImageData(3, 0, 1, 1).data].reduce((a, b) => a + b) - 255; })()";

    enter();
    RUN("-m", "fable", "--explain", "--html", "p.html", "The keys to the cabinet");
    attn_browser_load(browser, "p.html", "v=matrix&h=2.5");
    attn_browser_wait(browser, ROW " == '2.5,4'");
    ck_assert_double_gt(attn_browser_number(browser, color), 600);
    attn_browser_click_on(browser, "#dark");
    attn_browser_wait(browser, "document.documentElement.dataset.theme == 'dark'");
    for (int i = 0; i < 3000 && attn_browser_number(browser, color) > 400; i++)
        usleep(20000);
    ck_assert_double_lt(attn_browser_number(browser, color), 400);
    attn_browser_resize(browser, 390, 844);
    attn_browser_wait(browser, "document.documentElement.scrollWidth <= 390");
    leave();
}
END_TEST

ATTN_SUITE("browser_neurons", row_is_what_the_run_has, shared_and_turned_keys_give_the_same_weights,
           it_follows_the_page_and_leads_it, dark_paper_and_telephone)
