/*
 * browser.h - Chromium, driven over two pipes: what is loaded, clicked and typed, and what the page
 * then holds.
 *
 *     struct attn_browser *browser = attn_browser_open(1280, 900);
 *     attn_browser_load(browser, "page.html", "v=matrix");
 *     attn_browser_key(browser, "ArrowDown", 0);
 *     char *text = attn_browser_text(browser, "document.title");     // of an expression; free it
 *     attn_browser_assert_quiet(browser);        // no exception, no message, no request
 *     attn_browser_close(browser);
 *
 * It speaks the DevTools protocol as --remote-debugging-pipe has it: JSON that ends with NUL, on
 * descriptors 3 and 4 of the browser. Whatever goes wrong fails the current test.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

/* Arguments of the tool that make the model `many`, of 56 heads; the text of its vocabulary
 * follows. */
#define ATTN_INIT_MANY                                                                             \
    "init", "many", "--set", "d_model=48", "--set", "n_layer=7", "--set", "n_head=8", "--set",     \
        "residual=true", "--set", "out_proj=true", "--set", "norm=layernorm", "--set",             \
        "output=own", "--set", "causal=true", "--vocab-from"

struct attn_browser;

enum { ATTN_KEY_SHIFT = 8 }; /* as the protocol counts them */

/* The program that is driven, found in PATH or by the variable CHROMIUM; NULL: there is none. */
const char *attn_browser_find(void);

/* With an empty page of this size; one pixel of it is one of the screen. */
struct attn_browser *attn_browser_open(int width, int height);
void attn_browser_close(struct attn_browser *browser);

void attn_browser_resize(struct attn_browser *browser, int width, int height);
void attn_browser_wait_for_frame(struct attn_browser *browser); /* until one has been drawn */

/* Loads the file PATH with HASH ("" for none), and waits until it has been drawn. */
void attn_browser_load(struct attn_browser *browser, const char *path, const char *hash);

/* The same without waiting for the page's script: up to the event `load`. */
void attn_browser_load_plain(struct attn_browser *browser, const char *path);

/* The value of an expression of JavaScript as text; free it. A promise is waited for. */
char *attn_browser_text(struct attn_browser *browser, const char *expression);
double attn_browser_number(struct attn_browser *browser, const char *expression);

/* Waits until an expression is true, a minute at most. */
void attn_browser_wait(struct attn_browser *browser, const char *expression);

/* A key as the page is told of it: "ArrowDown", "f", "?". */
void attn_browser_key(struct attn_browser *browser, const char *key, int modifiers);

void attn_browser_point(struct attn_browser *browser, double x, double y);
void attn_browser_click(struct attn_browser *browser, double x, double y);

/* The middle of the first element that SELECTOR finds. */
void attn_browser_point_at(struct attn_browser *browser, const char *selector);
void attn_browser_click_on(struct attn_browser *browser, const char *selector);

/* Chooses the N files PATHS for the input that SELECTOR finds. */
void attn_browser_choose(struct attn_browser *browser, const char *selector,
                         const char *const *paths, size_t n);

/* Media "" or "print"; SCHEME "light" or "dark". */
void attn_browser_set_media(struct attn_browser *browser, const char *media, const char *scheme);

/* The reader wants less motion. */
void attn_browser_set_still(struct attn_browser *browser);

/* Scrollbars take room, as on Windows and Linux. */
void attn_browser_show_scrollbars(struct attn_browser *browser);

/* The screen is touched. */
void attn_browser_set_touch(struct attn_browser *browser);
void attn_browser_set_script(struct attn_browser *browser, bool is_on);

/* Files that are saved go into FOLDER. */
void attn_browser_save_into(struct attn_browser *browser, const char *folder);

/* What is seen, as a PNG file. */
void attn_browser_screenshot(struct attn_browser *browser, const char *path);

/* What is printed on A4, as a PDF file. */
void attn_browser_print(struct attn_browser *browser, const char *path);

/* Fails unless the page threw nothing, wrote nothing to the console, broke no policy, and asked for
 * nothing but its own file. */
void attn_browser_assert_quiet(struct attn_browser *browser);

/* Fails unless an expression has this value as text. */
void attn_browser_assert_text(struct attn_browser *browser, const char *expression,
                              const char *expected);

/* The end of a test that works in a folder of its own: fails unless the page was quiet, closes the
 * browser, and leaves the folder empty. */
void attn_browser_leave(struct attn_browser *browser);

/* Forgets what was complained of so far. */
void attn_browser_forgive(struct attn_browser *browser);
