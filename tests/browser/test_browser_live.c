/*
 * test_browser_live.c - the live page in a browser, used as a person does: another sentence is
 * typed, heads are switched off, cells are knocked out, another model is chosen; beside the binary,
 * byte for byte.
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
#include <sys/stat.h>
#include <unistd.h>

static char root[3000]; /* of the repository, as tests work in a folder of their own */
static struct attn_browser *browser;

/* Puts what the repository has as PATH into the folder of the test, as NAME. */
static void borrow(const char *path, const char *name)
{
    char whole[4096];

    snprintf(whole, sizeof whole, "%s/%s", root, path);
    ck_assert_int_eq(symlink(whole, name), 0);
}

static void enter(void)
{
    ck_assert_ptr_nonnull(getcwd(root, sizeof root));
    attn_folder_enter();
    borrow("models/fable", "fable");
    browser = attn_browser_open(1280, 1000);
}

static void enter_on_telephone(void)
{
    enter();
    attn_browser_resize(browser, 390, 800);
    attn_browser_set_touch(browser);
    attn_browser_set_media(browser, "", "dark");
}

static void leave(void)
{
    attn_browser_leave(browser);
}

static void run(const char *const *args)
{
    struct attn_ran ran = attn_command(args);

    ck_assert_msg(ran.exit == 0, "%s", ran.err);
    attn_ran_release(&ran);
}

#define RUN(...) run((const char *[]){"run", "-m", "fable", __VA_ARGS__, NULL})

static const char keys[] = "The keys to the cabinet";

#define ID(id) "document.getElementById('" id "')"
#define STATUS ID("live-status") ".textContent"
#define TOKENS ID("live-tokens") ".textContent"
#define EXPECTED ID("live-expected") ".textContent"

/* Loads the page and waits until all work is done. Without a HASH it opens on the stage. */
static void load(const char *hash)
{
    attn_browser_load(browser, "p.html", hash);
    attn_browser_wait(browser, "globalThis.attnLive && attnLive.isReady() && attnLive.isDone()");
}

/* Opens a live page of fable on its workbench, and waits until the tool answers in it. */
static void open_page(const char *hash)
{
    RUN("--html", "p.html", "--live", keys);
    attn_browser_load(browser, "p.html", *hash == '\0' ? "v=grid" : hash);
    attn_browser_wait(browser, "globalThis.attnLive && attnLive.isReady()");
}

static void assert_text(const char *expression, const char *expected)
{
    attn_browser_assert_text(browser, expression, expected);
}

/* Nothing is wider than the screen, and each control of the live page is high enough for a finger.
 */
static void assert_fits_fingers(void)
{
    assert_text("document.documentElement.scrollWidth <= innerWidth", "true");
    assert_text("[...document.querySelectorAll('#live-controls :is(button, select, input, "
                "textarea), #live-head > *, .switch')].filter(b => b.offsetParent && "
                "b.getBoundingClientRect().height < 44)"
                ".map(b => b.id || b.nodeName).join()",
                "");
}

/* What a person uses has a name for a screen reader. */
static void assert_all_named(void)
{
    assert_text("[...document.querySelectorAll('button, select, input, textarea')].filter(e => "
                "!(e.textContent.trim() || e.getAttribute('aria-label') || "
                "e.closest('label, [hidden]'))).map(e => e.id).join()",
                "");
}

/* Waits for the N-th run that the page shows, and for the end of all work. */
static void wait_for_run(void)
{
    attn_browser_wait(browser, "attnLive.isReady() && !" STATUS ".startsWith('computing')");
}

/* Types TEXT in place of what is in a box, a key at a time. */
static void type_into(const char *selector, const char *text)
{
    char select[128];

    snprintf(select, sizeof select, "document.querySelector('%s').select()", selector);
    attn_browser_click_on(browser, selector);
    free(attn_browser_text(browser, select));
    for (const char *at = text; *at != '\0'; at++)
        attn_browser_key(browser, (char[]){*at, '\0'}, 0);
    attn_browser_wait(browser, "attnLive.isDone()");
}

static void type(const char *text)
{
    type_into("#live-text", text);
}

/* --- The same bytes -------------------------------------------------------------------------- */

/* ARGS as a list of JavaScript. */
static char *list_of(const char *const *args)
{
    cJSON *list = cJSON_CreateArray();
    char *text;

    for (; *args; args++)
        cJSON_AddItemToArray(list, cJSON_CreateString(*args));
    text = cJSON_PrintUnformatted(list);
    cJSON_Delete(list);
    return text;
}

/* What the page says to the command line ARGS is what the binary says to OWN. */
static void assert_same(const char *const *own, const char *const *args)
{
    struct attn_ran ran = attn_command(own);
    char *list = list_of(args), expression[4096], *expected, *found;

    snprintf(expression, sizeof expression,
             "attnLive.ask(%s).then(r => r.code + '\\n' + r.err + '\\n' + r.out)", list);
    ck_assert_int_ge(asprintf(&expected, "%d\n%s\n%s", ran.exit, ran.err, ran.out), 0);
    found = attn_browser_text(browser, expression);
    ck_assert_msg(strcmp(found, expected) == 0,
                  "%s\n--- in the page\n%.900s\n--- the binary\n%.900s", list, found, expected);
    free(found);
    free(expected);
    free(list);
    attn_ran_release(&ran);
}

#define SAME_AS(own, ...) assert_same(own, (const char *[]){__VA_ARGS__, NULL})
#define SAME(...) SAME_AS(((const char *[]){__VA_ARGS__, NULL}), __VA_ARGS__)

static const char *const texts[] = {
    "Life is short, eat dessert first",
    "The cat sat. The cat sat.",
    "caf\xc3\xa9 \xe7\x8c\xab \xf0\x9f\x9a\x80 \xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d",
    "What they said of the dog was that it ran away.",
};

START_TEST(fable_has_the_bits_of_the_binary)
{
    enter();
    open_page("");
    assert_text("document.documentElement.lang", "en");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        SAME("run", "-m", "fable", texts[i]);
        SAME("run", "-m", "fable", "--sites", "*", "--json", "-", texts[i]);
        SAME("run", "-m", "fable", "--tidy", "-", texts[i]);
        SAME("run", "-m", "fable", "--ablate", "2.5,1.*", "--json", "-", texts[i]);
        SAME("run", "-m", "fable", "--ablate", "mean:0.*", "--top", "5", texts[i]);
        SAME("run", "-m", "fable", "--knockout", "-1>0@3.2", "--json", "-", texts[i]);
        SAME("run", "-m", "fable", "--heads", "2.2", "--queries", "-1", "--explain", texts[i]);
        SAME("tokenize", "-m", "fable", texts[i]);
        SAME("lens", "-m", "fable", texts[i]);
        SAME("score", "-m", "fable", texts[i]);
    }
    leave();
}
END_TEST

START_TEST(attention_and_questions_have_the_bits_of_the_binary)
{
    static const char *const kinds[] = {"window:3", "strided:2",  "log",    "random:3",
                                        "block:2",  "hybrid:2:3", "linear", "lowrank:3"};

    enter();
    open_page("");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        SAME("run", "-m", "fable", "--attention", kinds[i], "--mask",
             strcmp(kinds[i], "lowrank:3") == 0 ? "none" : "causal", "--json", "-", texts[3]);
    SAME("run", "-m", "fable", "--mask", "none", "--json", "-", texts[0]);
    SAME("run", "-m", "fable", "--grad", "--target", " are", "--foil", " is", "--json", "-", keys);
    SAME("ablate", "-m", "fable", "--target", " are", "--foil", " is", "--json", "-", keys);
    SAME("attribute", "-m", "fable", "--target", " are", "--foil", " is", "--json", "-", keys);
    SAME("heads", "-m", "fable", "--json", "-", texts[1]);
    SAME("heads", "-m", "fable", "--by", "pair", texts[1]);
    SAME("diff", "-m", "fable", texts[1], "The dog sat. The cat sat.");
    SAME("generate", "-m", "fable", "-n", "12", "The old");
    SAME("run", "-m", "fable", "--heads", "9.9", "x");
    SAME("run", "-m", "fable", "");
    leave();
}
END_TEST

/* The folder of a model, its files by a person's choice, one of them at a time. */
static void choose_model(const char *name, const char *const *files, size_t n)
{
    char paths[4][4200];
    const char *list[4];

    for (size_t i = 0; i < n; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/%s/%s", root, name, files[i]);
        list[i] = paths[i];
    }
    attn_browser_click_on(browser, "#live-files");
    attn_browser_choose(browser, "#live-input", list, n);
    attn_browser_wait(browser, "attnLive.isReady() && attnLive.isDone()");
}

START_TEST(families_have_the_bits_of_the_binary)
{
    static const char *const names[] = {"qwen3", "gemma2", "mistral", "olmo2", "phi"};
    static const char *const files[] = {"config.json", "model.safetensors"};
    static const char *const ids[] = {"1,5,2,9,3,3", "7", "4,4,4,4", "2,3,5,7,11,13,17,19"};

    enter();
    open_page("");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[128];

        snprintf(path, sizeof path, "tests/fixtures/family-%s", names[i]);
        unlink("model");
        borrow(path, "model");
        choose_model(path, files, 2);
        for (size_t k = 0; k < sizeof ids / sizeof *ids; k++) {
            SAME("run", "-m", "model", "--ids", ids[k], "--sites", "*", "--json", "-");
            SAME("run", "-m", "model", "--ids", ids[k], "--ablate", "0.0", "--tidy", "-");
        }
    }
    leave();
}
END_TEST

/* A GGUF file is one file, and is called by its name. */
START_TEST(a_gguf_file_can_be_chosen)
{
    static const char *const files[] = {"tiny.gguf"};

    enter();
    open_page("");
    borrow("tests/fixtures/gguf/tiny.gguf", "tiny.gguf");
    choose_model("tests/fixtures/gguf", files, 1);
    SAME("run", "-m", "tiny.gguf", "--ids", "1,2,3", "--sites", "*", "--json", "-");
    SAME("probe", "-m", "tiny.gguf", "induction:8", "--json", "-");
    leave();
}
END_TEST

/* A checkpoint is one file and takes its vocabulary with it: in the page, and by choice. */
START_TEST(checkpoints_have_the_bits_of_the_binary)
{
    static const char nanogpt[] = "tests/fixtures/torch-nanogpt",
                      llama2c[] = "tests/fixtures/torch-llama2c-shared";
    static const char *const files[][2] = {{"ckpt.pt", "meta.pkl"}, {"model.bin", "tokenizer.bin"}};

    enter();
    borrow(nanogpt, "nanogpt");
    borrow(llama2c, "llama2c");
    run((const char *[]){"run", "-m", "nanogpt/ckpt.pt", "--vocab", "nanogpt/meta.pkl", "--html",
                         "p.html", "--live", "abc! Be", NULL});
    load("v=grid");
    assert_text(TOKENS, "abc! Be");
    /* quietly: the note on the age of the file names it, and here it has another name */
    SAME_AS(((const char *[]){"run", "-q", "-m", "nanogpt/ckpt.pt", "--vocab", "nanogpt/meta.pkl",
                              "--sites", "*", "--tidy", "-", "abc", NULL}),
            "run", "-q", "-m", "ckpt.pt", "--sites", "*", "--tidy", "-", "abc");
    choose_model(llama2c, files[1], 2);
    SAME_AS(((const char *[]){"heads", "-m", "llama2c/model.bin", "--vocab",
                              "llama2c/tokenizer.bin", "--csv", "-", "the cat sat", NULL}),
            "heads", "-m", "model.bin", "--csv", "-", "the cat sat");
    choose_model(nanogpt, files[0], 2);
    SAME_AS(((const char *[]){"tokenize", "-m", "nanogpt/ckpt.pt", "--vocab", "nanogpt/meta.pkl",
                              "abc", NULL}),
            "tokenize", "-m", "ckpt.pt", "abc");
    leave();
}
END_TEST

/* --- A person -------------------------------------------------------------------------------- */

START_TEST(what_is_typed_is_shown)
{
    enter();
    open_page("");
    type("The cat sat on the mat");
    assert_text(TOKENS, "The cat sat on the mat");
    assert_text("document.title", "The cat sat on the mat");
    assert_text("document.querySelector('h1').textContent", "The cat sat on the mat");
    assert_text("location.hash.includes('text=The%20cat%20sat%20on%20the%20mat')", "true");
    leave();
}
END_TEST

/* Pictures appear in the order of their texts, and the last is that of the last text. */
START_TEST(no_picture_is_older_than_the_one_before)
{
    enter();
    open_page("");
    free(attn_browser_text(
        browser, "(globalThis.seen = [], new MutationObserver(() => seen.push(document.title))"
                 ".observe(document.querySelector('title'), {childList: true}))"));
    for (int i = 0; i < 5; i++) {
        char text[64];

        snprintf(text, sizeof text, "The %.*s", 4 + 3 * i, "old dog and the young cat");
        free(attn_browser_text(browser, ID("live-text") ".focus()"));
        snprintf(text, sizeof text, "%d", i);
        attn_browser_key(browser, text, 0);
        free(attn_browser_text(browser, "new Promise(done => setTimeout(done, 170))"));
    }
    attn_browser_wait(browser, "attnLive.isDone()");
    assert_text("seen.every((text, i) => i === 0 || text.length >= seen[i - 1].length)", "true");
    assert_text("seen.at(-1) === " ID("live-text") ".value", "true");
    leave();
}
END_TEST

/* The table of the next words, as the binary has it. */
static void assert_expected(const char *const *args, const char *name)
{
    struct attn_ran ran = attn_command(args);
    double probability;
    char expression[512], expected[16];

    ck_assert_msg(sscanf(ran.out, "%lf", &probability) == 1, "%s", ran.err);
    snprintf(expected, sizeof expected, probability < 0.01 ? "%.2f %%" : "%.1f %%",
             100 * probability);
    snprintf(expression, sizeof expression,
             "(t => [...t.rows].find(r => r.cells[0].textContent === \"%s\").cells[t.rows[0].cells"
             ".length - 2].textContent)(document.querySelector('#live-expected table'))",
             name);
    assert_text(expression, expected);
    attn_ran_release(&ran);
}

START_TEST(heads_are_switched_off_and_on)
{
    enter();
    open_page("v=grid&h=2.5");
    attn_browser_click_on(browser, "#live-off");
    wait_for_run();
    assert_text(ID("live-changes") ".textContent", "head 2.5 off \xc3\x97");
    assert_text(ID("about") ".textContent", "fable: 32 heads, 5 tokens (ablate 2.5)");
    assert_expected(
        (const char *[]){"run", "-m", "fable", "--ablate", "2.5", "--top", "1", keys, NULL},
        " are");
    assert_text(ID("which") ".options[0].textContent", "changed");
    attn_browser_key(browser, "ArrowLeft", 0);
    attn_browser_key(browser, "x", 0); /* head 2.4 */
    wait_for_run();
    assert_text("location.hash.includes('ablate=2.5%2C2.4')", "true");
    attn_browser_point_at(browser, "#thumb-9");
    attn_browser_click_on(browser, "#thumb-9 .switch"); /* head 1.1 */
    wait_for_run();
    assert_text("document.querySelectorAll('.thumb.off').length", "3");
    attn_browser_click_on(browser, "#live-restore");
    wait_for_run();
    assert_text("document.querySelectorAll('.thumb.off').length", "0");
    assert_text(ID("compared") ".hidden", "true");
    assert_text("location.hash.includes('ablate')", "false");
    leave();
}
END_TEST

START_TEST(cells_are_knocked_out)
{
    enter();
    open_page("v=matrix&h=3.2&q=4&k=1");
    attn_browser_key(browser, "x", 0);
    wait_for_run();
    assert_text("location.hash.includes('knockout=4%3E1%403.2')", "true");
    attn_browser_key(browser, "x", 0); /* and back */
    wait_for_run();
    assert_text("location.hash.includes('knockout')", "false");
    attn_browser_key(browser, "x", 0);
    wait_for_run();
    assert_expected(
        (const char *[]){"run", "-m", "fable", "--knockout", "4>1@3.2", "--top", "1", keys, NULL},
        " are");
    leave();
}
END_TEST

/* Puts TEXT into the box of the sentence at once. */
static void paste(const char *text)
{
    char expression[512];

    snprintf(expression, sizeof expression,
             "(box => { box.value = '%s'; box.dispatchEvent(new Event('input')); })(" ID(
                 "live-text") ")",
             text);
    free(attn_browser_text(browser, expression));
    attn_browser_wait(browser, "attnLive.isDone()");
}

/* A knockout by number stays while the tokens that it names do; one by words always stays. */
START_TEST(knockouts_are_of_tokens_that_stay)
{
    static const char words[] = "knockout=keys%3EThe%402.1";

    enter();
    open_page("v=matrix&h=2.5&q=4&text=The%20keys%20to%20the%20cabinet&knockout=4%3E1&"
              "knockout=1-2%3E0%402.*&knockout=keys%3EThe%402.1");
    attn_browser_wait(browser, "attnLive.isDone()");
    paste("The keys to the cabinet are");
    assert_text(ID("live-changes") ".children.length", "3");
    paste("The keys to a cabinet are");
    assert_text(STATUS ".endsWith(', without knockout 4>1: other tokens stand there now')", "true");
    assert_text("location.hash.includes('knockout=4')", "false");
    assert_text("location.hash.includes('knockout=1-2')", "true");
    paste("Our keys and The dogs");
    assert_text(ID("live-changes") ".textContent", "knockout keys>The@2.1 \xc3\x97");
    assert_text("location.hash.split('&').pop()", words);
    leave();
}
END_TEST

START_TEST(an_address_restores_all_of_it)
{
    enter();
    open_page("v=matrix&h=1.3&w=difference&text=The%20dogs&ablate=2.5&knockout=1%3E0%40*.1&"
              "attention=window%3A2");
    attn_browser_wait(browser, ID("which") ".value === 'difference'");
    assert_text(TOKENS, "The dogs");
    assert_text(ID("live-text") ".value", "The dogs");
    assert_text(ID("live-changes") ".children.length", "3");
    assert_text(ID("live-changes") ".lastChild.textContent", "attention window:2 \xc3\x97");
    assert_text(ID("head") ".value", "11");
    assert_text("location.hash",
                "#v=matrix&h=1.3&w=difference&text=The%20dogs&ablate=2.5&knockout=1%3E0%40*.1&"
                "attention=window%3A2");
    leave();
}
END_TEST

/* The page marks the heads that it knows, and leaves other items of a list to the tool. */
START_TEST(heads_are_named_as_the_tool_names_them)
{
    enter();
    open_page("v=grid&text=The%20keys&ablate=2.*,L1H3,*.0");
    attn_browser_wait(browser, "attnLive.isDone()");
    assert_text("document.querySelectorAll('.thumb.off').length", "9");
    assert_text(ID("about") ".textContent",
                "fable: 32 heads, 2 tokens (ablate 2.0,2.1,2.2,2.3,2.4,2.5,2.6,2.7,1.3,*.0)");
    assert_expected((const char *[]){"run", "-m", "fable", "--ablate", "2.*,1.3,*.0", "--top", "1",
                                     "The keys", NULL},
                    " that");
    leave();
}
END_TEST

START_TEST(a_mistake_is_told_in_the_words_of_the_tool)
{
    enter();
    open_page("");
    free(attn_browser_text(browser, "(location.hash = 'attention=window:x')"));
    attn_browser_wait(browser, ID("live-status") ".classList.contains('problem')");
    assert_text(STATUS ".includes('window:x')", "true");
    assert_text("document.title", keys); /* the picture is that of before, and says so */
    attn_browser_click_on(browser, "#live-restore");
    wait_for_run();
    assert_text(ID("live-status") ".classList.contains('problem')", "false");
    leave();
}
END_TEST

START_TEST(a_broken_model_is_told)
{
    static const char *const files[] = {"config.json"};

    enter();
    open_page("");
    choose_model("models/fable", files, 1);
    assert_text(ID("live-status") ".classList.contains('problem')", "true");
    assert_text(STATUS ".includes('model.safetensors')", "true");
    leave();
}
END_TEST

START_TEST(a_large_model_is_asked_for)
{
    static const char *const files[] = {"config.json", "model.safetensors", "vocab.json",
                                        "merges.txt"};

    enter();
    RUN("--html", "p.html", "--live=1", "-q", keys);
    attn_browser_load(browser, "p.html", "v=grid");
    assert_text("document.querySelectorAll('[id^=live-file-]').length", "0");
    attn_browser_wait(browser, STATUS);
    assert_text(STATUS, "This page holds no model: choose the files of one.");
    choose_model("models/fable", files, 4);
    type("The dogs");
    assert_text(TOKENS, "The dogs");
    leave();
}
END_TEST

/* A page without its model has a button on the stage that opens it; until then what needs it is
 * disabled. It begins with the head of the page then, as with the model in it. */
START_TEST(the_stage_opens_the_model)
{
    char path[4096];

    enter();
    snprintf(path, sizeof path, "%s/data/twelve.gguf", root);
    run((const char *[]){"run", "-q", "-m", path, "--html", "p.html", "--live=1", keys, NULL});
    attn_browser_load(browser, "p.html", "");
    assert_text(ID("stage-open") ".textContent", "Open twelve.gguf");
    assert_text(ID("stage-missing") ".textContent.includes('(2 MB, stays on this machine)')",
                "true");
    assert_text("['stage-head-off', 'life-pair', 'life-open', 'stage-on'].map(id => "
                "document.getElementById(id).disabled).join()",
                "true,true,true,true");
    assert_text("document.querySelectorAll('.stage-bar').length", "5");
    assert_text("[...document.querySelectorAll('.stage-cell')].filter(c => "
                "c.style.getPropertyValue('--strength') === '100%').length",
                "1"); /* the effects are in the page */
    free(attn_browser_text(browser, "(globalThis.first = attnViewer.state.h)"));
    attn_browser_click_on(browser, "#stage-open");
    attn_browser_choose(browser, "#stage-input", (const char *[]){path}, 1);
    attn_browser_wait(
        browser, "attnLive.isReady() && attnLive.isDone() && !" ID("stage-head-off") ".disabled");
    assert_text("attnViewer.state.h === first", "true");
    assert_text("getComputedStyle(" ID("stage-missing") ").display", "none");
    leave();
}
END_TEST

/* Of many heads those that park are a number, the others stand under their largest key beside
 * sinks. */
START_TEST(heads_that_park_are_a_number)
{
    char path[4096];

    enter();
    snprintf(path, sizeof path, "%s/data/twelve.gguf", root);
    run((const char *[]){"run", "-q", "-m", path, "--html", "p.html", "--live", keys, NULL});
    load("stage=1&life=words");
    attn_browser_wait(browser, ID("stage-parked"));
    assert_text("/^\\d+ heads park \\(.* \\d+\\): show$/.test(" ID("stage-parked") ".textContent)",
                "true");
    free(attn_browser_text(browser,
                           "(globalThis.parked = parseInt(" ID("stage-parked") ".textContent))"));
    assert_text("attnLive.aimsAt(4).then(aims => aims.filter(a => a.parked >= 0.5).length === "
                "parked)",
                "true");
    assert_text("Math.abs([...document.querySelectorAll('.stage-cell')].filter(c => "
                "c.hidden).length - parked) <= 1", /* the chosen one is shown */
                "true");
    assert_text("document.querySelector('.stage-cell:not([hidden]) > i').textContent.length", "1");
    attn_browser_click_on(browser, "#stage-parked");
    attn_browser_wait(browser, "document.querySelectorAll('.stage-cell[hidden]').length === 0");
    assert_text(ID("stage-parked") ".ariaExpanded", "true");
    leave();
}
END_TEST

START_TEST(a_story_has_steps)
{
    FILE *file;

    enter();
    file = fopen("story.json", "w");
    fputs(
        "{\"title\": \"Agreement\", \"steps\": [{\"text\": \"The keys\", \"paragraph\": \"One.\", "
        "\"view\": \"v=matrix&h=3.2\"}, {\"text\": \"The dogs\", \"ablate\": [\"2.5\"], "
        "\"paragraph\": \"Two <b>.\"}]}",
        file);
    fclose(file);
    RUN("--html", "p.html", "--live", "--story", "story.json", keys);
    load("");
    assert_text(TOKENS, "The keys");
    assert_text(ID("live-step-title") ".textContent", "Agreement");
    assert_text(ID("head") ".value", "26");
    attn_browser_click_on(browser, "#live-on");
    attn_browser_wait(browser, "attnLive.isDone()");
    assert_text(TOKENS, "The dogs");
    assert_text(ID("live-paragraph") ".textContent", "Two <b>.");
    assert_text(ID("live-changes") ".textContent", "head 2.5 off \xc3\x97");
    assert_text(ID("live-on") ".disabled", "true");
    leave();
}
END_TEST

/* Steps that hide something are the rounds of a game; the card at its end is in the address. */
START_TEST(a_story_hides_what_is_guessed)
{
    static const char is_drawn[] = "[...document.querySelectorAll('#stage-arcs, #stage-bars')].map("
                                   "n => n.checkVisibility({ visibilityProperty: true })).join()";
    static const char said[] = ID("guess-said") ".textContent";
    FILE *file;

    enter();
    file = fopen("story.json", "w");
    fputs("{\"steps\": [{\"text\": \"The keys to the cabinet\", \"view\": \"h=2.5\", \"hide\": "
          "\"bars\", \"answer\": \"Many.\"}, {\"paragraph\": \"No round.\"}, {\"view\": \"h=2.5\", "
          "\"hide\": \"bow\"}]}",
          file);
    fclose(file);
    RUN("--html", "p.html", "--live", "--story", "story.json", keys);
    load("");
    assert_text(ID("guess-ask") ".textContent", "Round 1 of 2: Which word comes next?");
    assert_text(is_drawn, "true,false");
    assert_text(
        "[...document.querySelectorAll('#guess-choices bdi')].map(n => n.textContent).join()",
        "are,have,look,near,were");
    attn_browser_wait(browser, "(" ID("guess-word") ".value = 'is')");
    attn_browser_click_on(browser, "#guess-word");
    attn_browser_key(browser, "Enter", 0);
    assert_text(said,
                "No: 'is' has 0.06 %, 'are' 24.6 %. Many. Change a word of the sentence so that "
                "'is' comes first. 0 points of 25.");
    assert_text(is_drawn, "true,true");
    attn_browser_wait(browser, "attnLive.follow('The key to the cabinet')");
    attn_browser_wait(browser, "attnLive.isDone() && document.title === 'The key to the cabinet'");
    attn_browser_wait(browser,
                      ID("guess-said") ".textContent === \"Now 'is' comes first, with 25.0 "
                                       "%.\"");
    attn_browser_click_on(browser, "#live-on");
    attn_browser_wait(browser, "attnLive.isDone()");
    assert_text(ID("stage-guess") ".hidden", "true");
    attn_browser_wait(browser, "attnLive.follow('The keys to the cabinet')");
    attn_browser_wait(browser, "attnLive.isDone()");
    attn_browser_click_on(browser, "#live-on");
    attn_browser_wait(browser, "attnLive.isDone()");
    assert_text(is_drawn, "false,true");
    assert_text("[...document.querySelectorAll('.stage-word')].map(n => n.ariaLabel).join()",
                "The,keys,to,the,cabinet");
    attn_browser_click_on(browser, ".stage-word[data-position='0']");
    attn_browser_wait(browser, "!" ID("guess-code") "?.closest('[open]') === false");
    assert_text(said, "No: 'The' has 13.1 %, 'keys' 79.3 %. 13 points of 104.");
    assert_text("attnViewer.state.q", "4"); /* a press that answers chooses no word */
    assert_text(ID("guess-code") ".textContent", "0-1");
    assert_text("/&guess=0-1(&|$)/.test(location.hash)", "true");
    load("#stage=1&guess=7-2-9");
    assert_text(ID("guess-code") ".textContent + document.querySelectorAll('.guess-dot').length",
                "7-2-93");
    leave();
}
END_TEST

/* Any sentence can be guessed: its next word, then where the head looks. */
START_TEST(a_sentence_is_guessed)
{
    enter();
    RUN("--html", "p.html", "--live", keys);
    load("");
    attn_browser_click_on(browser, "#guess-begin");
    attn_browser_click_on(browser, "#guess-choices button");
    assert_text(ID("guess-said") ".textContent", "Yes: 'are' has 24.6 %. 25 points of 25.");
    attn_browser_click_on(browser, ".stage-word[data-position='1']");
    attn_browser_wait(browser, ID("guess-said") ".textContent === \"Yes: 'keys' has 79.3 %. 104 "
                                                "points of 104.\"");
    assert_text("location.hash.includes('guess')", "false");
    leave();
}
END_TEST

/* The parts of the told step's view that the page does not show. */
static const char not_shown[] =
    "(({ state, run }) => {"
    "  const { steps } = attnPage.given.story;"
    "  const { view } = steps[parseInt(document.getElementById('live-step').textContent) - 1];"
    "  const head = run.heads[state.h], shown = { ...state, h: head.group + '.' + head.head };"
    "  return view.split('&').filter(part => {"
    "    const [name, value] = part.split('=');"
    "    return String(shown[name]) !== value;"
    "  }).join('&');"
    "})(attnViewer)";

/* The step that is told has no mistake, and the page shows its text and its view. */
static void assert_told(void)
{
    attn_browser_wait(browser, "globalThis.attnLive && attnLive.isReady() && attnLive.isDone()");
    assert_text(ID("live-status") ".classList.contains('problem')", "false");
    assert_text(ID("live-text") ".value === " TOKENS
                                " || document.title === " ID("live-text") ".value",
                "true");
    assert_text(not_shown, "");
}

/* Each step of the stories that come with the program, forwards and backwards. */
START_TEST(shipped_stories_are_told)
{
    static const char *const stories[][2] = {
        {"fable", "five-heads"}, {"fable", "guess"},
        {"fable", "guess.de"},   {"self-attention", "self-attention"},
        {"letters", "letters"},  {"microgpt", "microgpt"}};
    static const char *const texts_of[] = {"The keys",      "The keys", "The keys",
                                           "Life is short", "CBABBC",   "emma"};

    enter();
    borrow("models/self-attention", "self-attention");
    borrow("models/letters", "letters");
    borrow("data/microgpt/model", "microgpt");
    for (size_t i = 0; i < sizeof stories / sizeof *stories; i++) {
        static const char *const ways[] = {"live-on", "live-back"};
        char path[4096];
        struct stat page;

        snprintf(path, sizeof path, "%s/data/stories/%s.json", root, stories[i][1]);
        run((const char *[]){"run", "-m", stories[i][0], "--html", "p.html", "--live", "--story",
                             path, "--", texts_of[i], NULL});
        ck_assert_int_eq(stat("p.html", &page), 0);
        ck_assert_int_le(page.st_size, 4800000); /* fable and the module, for those who download */
        attn_browser_load(browser, "p.html", "");
        assert_told();
        for (int way = 0; way < 2; way++) {
            char button[16], is_over[64];

            snprintf(button, sizeof button, "#%s", ways[way]);
            snprintf(is_over, sizeof is_over, "Number(document.getElementById('%s').disabled)",
                     ways[way]);
            while (attn_browser_number(browser, is_over) == 0) {
                attn_browser_click_on(browser, button);
                assert_told();
            }
        }
    }
    leave();
}
END_TEST

/* Letters are sorted by the button, and the story says what the tool finds. */
START_TEST(letters_are_sorted)
{
    static const char *const cases[][2] = {{"", "CBABBCABBBC"},
                                           {"&ablate=0.2", "CBABBCABBBC"},
                                           {"&ablate=0.*", "CBABBCABBBC"},
                                           {"&ablate=0.*,1.*", "CBABBCAABBC"}};

    enter();
    borrow("models/letters", "letters");
    run((const char *[]){"run", "-m", "letters", "--html", "p.html", "--live", "CBABBC", NULL});
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char hash[64], expression[128];

        snprintf(hash, sizeof hash, "stage=1&text=CBABBC%s", cases[i][0]);
        load(hash);
        attn_browser_click_on(browser, "#stage-on");
        snprintf(expression, sizeof expression, ID("live-text") ".value === '%s'", cases[i][1]);
        attn_browser_wait(browser, expression);
    }
    attn_browser_wait(browser, "attnLive.isDone()");
    leave();
}
END_TEST

/* --- Two texts ------------------------------------------------------------------------------- */

/* Puts the folder NAME of an archive of tests/fixtures into the folder of the test. */
static void unpack(const char *archive, const char *name)
{
    char command[4096];

    snprintf(command, sizeof command, "tar -xf '%s/tests/fixtures/%s' %s", root, archive, name);
    ck_assert_int_eq(system(command), 0);
}

#define BERT(...)                                                                                  \
    (const char *[])                                                                               \
    {                                                                                              \
        "run", "-m", "bert", __VA_ARGS__, NULL                                                     \
    }

/* Opens the page of a BERT, given what else its run is told. */
static void open_bert(const char *const *args, const char *hash)
{
    unpack("encoders.tar", "bert");
    run(args);
    load(*hash == '\0' ? "v=grid" : hash);
}

#define PAIR "--pair", "on mat", "--html", "p.html", "--live", "the cat [MASK]."

START_TEST(pairs_have_the_bits_of_the_binary)
{
    static const char *const pairs[][2] = {{"the cat [MASK].", "on mat"},
                                           {"the cat", ""},
                                           {"", "the mat"},
                                           {"\xe7\x8c\xab [MASK]", "the the cat"}};

    enter();
    open_bert(BERT(PAIR), "");
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const char *text = pairs[i][0], *pair = pairs[i][1];

        SAME("run", "-m", "bert", "--pair", pair, "--sites", "*", "--json", "-", text);
        SAME("run", "-m", "bert", "--pair", pair, "--tidy", "-", text);
        SAME("run", "-m", "bert", "--pair", pair, "--ablate", "0.1", "--top", "3", text);
        SAME("ablate", "-m", "bert", "--pair", pair, "--target", " cat", "--json", "-", text);
        SAME("lens", "-m", "bert", "--pair", pair, text);
        SAME("score", "-m", "bert", "--pair", pair, text);
        SAME("heads", "-m", "bert", "--pair", pair, text);
    }
    leave();
}
END_TEST

START_TEST(a_second_text_is_typed)
{
    enter();
    open_bert(BERT(PAIR), "");
    assert_text(ID("live-text") ".value", "the cat [MASK].");
    assert_text(ID("live-pair") ".value", "on mat");
    assert_text(ID("live-add") ".hidden", "true");
    assert_text("location.hash.includes('pair')", "false");
    type_into("#live-pair", "on the mat");
    assert_text(TOKENS, "[CLS]the cat[MASK].[SEP]on the mat[SEP]");
    assert_text("document.title", "the cat [MASK]. on the mat");
    assert_text("location.hash.endsWith('&text=the%20cat%20%5BMASK%5D.&pair=on%20the%20mat')",
                "true");
    attn_browser_key(browser, "Escape", 0);
    attn_browser_click_on(browser, "#live-off");
    wait_for_run();
    assert_text("location.hash.endsWith('&pair=on%20the%20mat&ablate=0.2')", "true");
    attn_browser_click_on(browser, "#live-command");
    assert_text(ID("live-line") ".value",
                "attn-cli run -m bert --ablate 0.2 --html page.html --pair 'on the mat' "
                "'the cat [MASK].'");
    attn_browser_click_on(browser, "#dialog-close");
    attn_browser_click_on(browser, "#live-remove");
    attn_browser_wait(browser, "attnLive.isDone()");
    assert_text(TOKENS, "[CLS]the cat[MASK].[SEP]");
    assert_text("document.activeElement.id", "live-text");
    assert_text("location.hash.includes('pair')", "false");
    attn_browser_click_on(browser, "#live-add");
    attn_browser_wait(browser, "attnLive.isDone()");
    assert_text(TOKENS, "[CLS]the cat[MASK].[SEP][SEP]"); /* a pair without a word */
    assert_text("document.activeElement.id", "live-pair");
    leave();
}
END_TEST

/* Of a page that was made without one; and of a model that takes none. */
START_TEST(a_second_text_is_offered_to_models_that_take_one)
{
    static const char *const files[] = {"config.json", "model.safetensors", "vocab.json",
                                        "merges.txt"};

    enter();
    open_bert(BERT("--html", "p.html", "--live", "the cat"), "");
    attn_browser_wait(browser, "!" ID("live-add") ".hidden");
    assert_text(ID("live-second") ".hidden", "true");
    free(attn_browser_text(browser, "location.hash = 'text=the%20cat&pair=on%20mat'"));
    attn_browser_wait(browser, TOKENS " === '[CLS]the cat[SEP]on mat[SEP]'");
    choose_model("models/fable", files, 4);
    assert_text(ID("live-second") ".hidden && " ID("live-add") ".hidden", "true");
    assert_text(TOKENS, "the cat");
    open_page("");
    attn_browser_wait(browser, "attnLive.isDone()");
    assert_text("attnLive.ask(['tokenize', '-m', 'fable', '--pair=b', 'a']).then(r => r.code)",
                "4");
    assert_text(ID("live-add") ".hidden", "true");
    leave();
}
END_TEST

/* What was said of reading the text goes on with it. */
START_TEST(tokens_are_added_as_it_was_said)
{
    enter();
    open_bert(BERT("--special-tokens", "off", "--html", "p.html", "--live", "the cat"), "");
    type("the mat");
    assert_text(TOKENS, "the mat");
    attn_browser_click_on(browser, "#live-command");
    assert_text(ID("live-line") ".value",
                "attn-cli run -m bert --html page.html --special-tokens off 'the mat'");
    leave();
}
END_TEST

START_TEST(two_boxes_fit_a_telephone)
{
    enter_on_telephone();
    open_bert(BERT(PAIR), "");
    assert_text("document.documentElement.scrollWidth <= innerWidth", "true");
    assert_text("[...document.querySelectorAll('#live-text, #live-pair')].every(b => "
                "b.getBoundingClientRect().width > 300)",
                "true");
    assert_text(ID("live-remove") ".getBoundingClientRect().height >= 44", "true");
    leave();
}
END_TEST

/* --- The stage ------------------------------------------------------------------------------- */

#define WORDS "[...document.querySelectorAll('.stage-word bdi')].map(b => b.textContent).join('|')"
#define BARS "[...document.querySelectorAll('.stage-bar')]"
#define IS_STAGE "document.documentElement.classList.contains('on-stage')"

/* Opens the page of fable on the stage. */
static void open_stage(const char *hash)
{
    RUN("--html", "p.html", "--live", keys);
    load(hash);
}

/* What the binary prints for ARGS; free it. */
static char *print(const char *const *args)
{
    struct attn_ran ran = attn_command(args);
    char *out = strdup(ran.out);

    ck_assert_msg(ran.exit == 0, "%s", ran.err);
    attn_ran_release(&ran);
    return out;
}

#define PRINT(...) print((const char *[]){__VA_ARGS__, NULL})

/* The probability of a next token, as a bar has it: "24.6 %". */
static void percent_of(const char *args, const char *token, char *out, size_t size)
{
    char expression[512], *value;

    snprintf(expression, sizeof expression,
             "attnLive.ask(['run', '-m', 'fable', '--top=12', '--json=-', %s])"
             ".then(r => (p => (100 * p).toFixed(p < 0.01 ? 2 : 1) + ' "
             "%%')(JSON.parse(r.out).predictions.top"
             ".find(p => p.token === '%s').prob))",
             args, token);
    value = attn_browser_text(browser, expression);
    snprintf(out, size, "%s", value);
    free(value);
}

START_TEST(opens_on_the_stage)
{
    char *row, weights[5][32], expected[128] = "";

    enter();
    open_stage("");
    assert_text(IS_STAGE, "true");
    assert_text(WORDS, "The|keys|to|the|cabinet");
    assert_text("Boolean(" ID("top") ".offsetParent || " ID("panes") ".offsetParent)", "false");
    /* of the heads that look at a word between, that without which the next word changes most */
    attn_browser_wait(browser, ID("stage-name") ".textContent === 'Head 2.5'");
    attn_browser_wait(browser, "document.querySelectorAll('#stage-arcs path').length === 3");
    row = PRINT("run", "-m", "fable", "--heads", "2.5", "--queries", "4", "--sites", "pattern",
                "--precision", "7", "--csv", "-", keys);
    ck_assert_int_eq(sscanf(strchr(row, '\n') + 1, "%*[^,],%31[^,],%31[^,],%31[^,],%31[^,],%31s",
                            weights[0], weights[1], weights[2], weights[3], weights[4]),
                     5);
    free(row);
    for (size_t k = 0; k < 5; k++)
        if (strtod(weights[k], NULL) >= 0.02)
            snprintf(expected + strlen(expected), sizeof expected - strlen(expected),
                     "%zu:%.4f:%.1f ", k, strtod(weights[k], NULL), 18 * strtod(weights[k], NULL));
    assert_text("[...document.querySelectorAll('#stage-arcs path')].map(a => a.dataset.key + ':' + "
                "Number(a.dataset.weight).toFixed(4) + ':' + Math.max(1, "
                "Number(a.getAttribute('stroke-width'))).toFixed(1) + ' ').join('')",
                expected);
    leave();
}
END_TEST

START_TEST(arcs_are_of_the_word_under_the_pointer)
{
    enter();
    open_stage("stage=1&h=2.5");
    attn_browser_wait(browser, "document.querySelector('.stage-word.from')");
    attn_browser_point_at(browser, ".stage-whole:nth-of-type(2) .stage-word");
    attn_browser_wait(browser, ID("stage-said") ".textContent.startsWith('keys looks at: ')");
    attn_browser_point_at(browser, "#stage-cell-9");
    attn_browser_wait(browser, ID("stage-name") ".textContent === 'Head 1.1'");
    attn_browser_point_at(browser, "#stage-said");
    attn_browser_wait(browser, ID("stage-said") ".textContent.startsWith('cabinet looks at: ')");
    assert_text(ID("stage-name") ".textContent", "Head 2.5");
    leave();
}
END_TEST

#define DIALOG ID("dialog")
/* The cells of the row of a pair: "-1.02 0.22". */
#define WHY_ROW(name)                                                                              \
    "[...document.querySelectorAll('.why tr')].find(r => r.cells[0].textContent === '" name        \
    "').innerText.replaceAll('\u2212', '-').trim().split(/\\s+/).slice(-2).join(' ')"

/* Two numbers of the binary for a pair of writers, as the page writes them. */
static void assert_pair(const char *row, const char *const *specs, const char *start)
{
    char expected[64] = "";

    for (size_t i = 0; i < 2; i++) {
        char *out = PRINT("attribute", "-m", "fable", "-q", "--score", specs[i], "--limit", "10000",
                          "--csv", "-", keys);
        const char *line = strstr(out, start);
        double relative;

        ck_assert_msg(line && sscanf(line + strlen(start), "%*[^,],%lf", &relative) == 1, "%s",
                      out);
        snprintf(expected + strlen(expected), sizeof expected - strlen(expected), "%s%.2f",
                 i ? " " : "", relative);
        free(out);
    }
    assert_text(row, expected);
}

/* A press on an arc shows the parts of the score, beside those of the next best key. */
START_TEST(an_arc_says_why)
{
    static const char *const specs[] = {"4>1@2.5", "4>0@2.5"};
    double x, y;

    enter();
    open_stage("stage=1&h=2.5");
    attn_browser_wait(browser, "document.querySelectorAll('#stage-near path').length === 3");
    free(attn_browser_text(
        browser, "globalThis.top1 = (p => { const a = p.getPointAtLength(p.getTotalLength() / 2), "
                 "m = p.getScreenCTM(); return [a.x + m.e, a.y + m.f]; })(document.querySelector("
                 "'#stage-near path:nth-child(2)'))"));
    x = attn_browser_number(browser, "top1[0]");
    y = attn_browser_number(browser, "top1[1]");
    attn_browser_click(browser, x, y);
    attn_browser_wait(browser, DIALOG ".open");
    assert_text(ID("dialog-title") ".textContent", "Why 'cabinet' looks at 'keys': head 2.5");
    assert_text("[...document.querySelectorAll('.why thead th')].map(c => c.textContent).join()",
                "keys 79 %,The 13 %");
    assert_text("document.querySelectorAll('.why tbody tr').length", "11");
    assert_text("document.querySelectorAll('.why-bar i').length", "22");
    assert_pair(WHY_ROW("MLP 0 \u00d7 MLP 0"), specs, "mlp,0,,mlp,0,,");
    assert_pair(WHY_ROW("sum"), specs, "sum,,,,,,");
    assert_text("[1, 2].every(c => (list => Math.abs(list.slice(0, -1).reduce((a, b) => a + b) - "
                "list.at(-1)) < 0.07)([...document.querySelectorAll('.why :is(tbody, tfoot) tr')]"
                ".map(r => Number(r.cells[c].textContent.replace('\u2212', '-')))))",
                "true");
    assert_text("document.querySelector('#dialog code').textContent",
                "attn-cli attribute -m fable --score '4>1@2.5' 'The keys to the cabinet'");
    attn_browser_click_on(browser, "#dialog summary");
    attn_browser_wait(browser, "document.querySelectorAll('.why-map tbody tr').length > 90");
    attn_browser_click_on(browser, "#why-arithmetic");
    attn_browser_wait(browser, ID("neurons") "?.checkVisibility()");
    leave();
}
END_TEST

/* The same by keyboard, with heads switched off, and of a cell of the workbench. */
START_TEST(why_is_asked_by_keyboard)
{
    static const char *const specs[] = {"4>3@3.2", "4>0@3.2"};

    enter();
    open_stage("stage=1&h=2.5&ablate=1.1");
    attn_browser_wait(browser, "document.querySelector('.stage-why')");
    free(attn_browser_text(browser, "document.querySelectorAll('.stage-why')[1].focus()"));
    assert_text("document.activeElement.textContent === 'The 19 %'", "true");
    attn_browser_key(browser, " ", 0);
    attn_browser_wait(browser, DIALOG ".open");
    assert_text("document.querySelector('#dialog code').textContent",
                "attn-cli attribute -m fable --ablate 1.1 --score '4>0@2.5' 'The keys to the "
                "cabinet'");
    attn_browser_click_on(browser, "#dialog-close");
    assert_text("document.activeElement.className", "stage-why");
    load("v=matrix&h=3.2&q=4&k=3");
    attn_browser_key(browser, "y", 0);
    attn_browser_wait(browser, DIALOG ".open");
    assert_text(ID("dialog-title") ".textContent", "Why 'cabinet' looks at 'the': head 3.2");
    assert_pair(WHY_ROW("sum"), specs, "sum,,,,,,");
    attn_browser_click_on(browser, "#dialog-close");
    open_bert(BERT("--rescale", "resid_pre:0=2", PAIR), "v=matrix&h=1.0&q=2&k=1");
    attn_browser_click_on(browser, "#live-why");
    attn_browser_wait(browser, "document.querySelector('#dialog .problem')"); /* it says why not */
    attn_browser_click_on(browser, "#why-text");
    attn_browser_wait(browser, "document.querySelector('#dialog .live-answer, #dialog .problem')");
    leave();
}
END_TEST

/* A press on a head chooses it, and words under the pointer are then its own. The switch beside its
 * name turns it off and on; a press on the part that is pressed changes nothing. */
START_TEST(a_press_chooses_a_head_and_a_switch_turns_it_off)
{
    char before[16], after[16], expected[64];

    enter();
    open_stage("");
    percent_of("'The keys to the cabinet'", " are", before, sizeof before);
    percent_of("'--ablate=2.5', 'The keys to the cabinet'", " are", after, sizeof after);
    ck_assert_str_ne(before, after);
    assert_text(BARS "[0].firstChild.textContent", "are");
    assert_text(BARS "[0].lastChild.textContent", before);
    attn_browser_click_on(browser, "#stage-cell-21");
    attn_browser_point_at(browser, ".stage-whole:nth-of-type(2) .stage-word");
    attn_browser_wait(browser, ID("stage-said") ".textContent.startsWith('keys looks at: ')");
    assert_text(ID("stage-name") ".textContent + ', ' + " ID("stage-place") ".textContent",
                "Head 2.5, layer 2, head 5");
    assert_text(ID("stage-cell-21") ".getAttribute('aria-checked')", "true");
    assert_text("location.hash.includes('ablate')", "false");
    attn_browser_click_on(browser, "#stage-head-on"); /* it is on already */
    assert_text("attnLive.isDone() && !location.hash.includes('ablate')", "true");
    attn_browser_click_on(browser, "#stage-head-off");
    wait_for_run();
    snprintf(expected, sizeof expected, "%s \xe2\x86\x92 %s", before, after);
    assert_text(BARS "[0].lastChild.textContent", expected);
    assert_text(ID("stage-head-off") ".getAttribute('aria-pressed')", "true");
    assert_text(ID("stage-cell-21") ".getAttribute('aria-label').endsWith(', switched off')",
                "true");
    assert_text(ID("stage-arcs") ".classList.contains('off')", "true");
    assert_text(ID("live-changes") ".textContent", "head 2.5 off \xc3\x97");
    assert_text("location.hash",
                "#v=grid&h=2.5&stage=1&text=The%20keys%20to%20the%20cabinet&ablate=2.5");
    attn_browser_click_on(browser, "#stage-head-on");
    wait_for_run();
    assert_text(BARS "[0].lastChild.textContent", before);
    leave();
}
END_TEST

START_TEST(next_words_are_written)
{
    char *text = PRINT("generate", "-m", "fable", "-q", "-n", "10", "The dog didn"), whole[256];

    enter();
    open_stage("stage=1&text=The%20dog");
    attn_browser_click_on(browser, ".stage-bar");
    attn_browser_wait(browser, "attnLive.isDone() && " WORDS ".endsWith('|didn')");
    attn_browser_click_on(browser, "#stage-on");
    text[strcspn(text, "\n")] = '\0';
    snprintf(whole, sizeof whole, ID("live-text") ".value === \"The dog didn%s\"", text);
    attn_browser_wait(browser, whole);
    attn_browser_wait(browser, "attnLive.isDone()");
    assert_text(WORDS ".replaceAll('|', '')  === " ID("live-text") ".value.replaceAll(' ', '')",
                "true");
    attn_browser_wait(browser, "attnLive.isDone()");
    assert_text(
        "new URLSearchParams(location.hash.slice(1)).get('text') === " ID("live-text") ".value",
        "true");
    free(text);
    leave();
}
END_TEST

/* The workbench has the address that it always had; that of the stage opens the stage. */
START_TEST(the_address_has_stage_and_workbench)
{
    enter();
    open_stage("stage=1&h=2.6&text=The%20dogs&ablate=2.5");
    assert_text(IS_STAGE, "true");
    assert_text(WORDS, "The|dogs");
    attn_browser_click_on(browser, "#stage-workbench");
    assert_text(IS_STAGE, "false");
    assert_text("document.activeElement.id", "live-to-stage");
    assert_text("(b => b.top >= 0 && b.bottom <= innerHeight && b.height >= 44)(document"
                ".activeElement.getBoundingClientRect())",
                "true");
    /* a probability has the same form in both */
    assert_text("document.querySelector('#live-expected td').textContent === " BARS
                "[0].lastChild.textContent.split(' \u2192 ')[0]",
                "true");
    assert_text("location.hash", "#v=grid&h=2.6&text=The%20dogs&ablate=2.5");
    assert_text(ID("panes") ".offsetParent !== null && " ID("thumbs") ".offsetWidth > 100", "true");
    attn_browser_click_on(browser, "#view-matrix");
    load("v=matrix&h=2.6&text=The%20dogs");
    assert_text(IS_STAGE, "false");
    assert_text(ID("live-text") ".closest('#live-controls') !== null", "true");
    attn_browser_click_on(browser, "#live-to-stage");
    assert_text(IS_STAGE, "true");
    assert_text(ID("live-text") ".closest('#stage-text') !== null", "true");
    assert_text("location.hash", "#v=matrix&h=2.6&stage=1&text=The%20dogs");
    type("The cats");
    assert_text(WORDS, "The|cats");
    load("stage=1&ablate=2.5"); /* of the text that the page began with */
    attn_browser_wait(browser, "document.querySelector('.stage-cell.off')");
    assert_text(WORDS, "The|keys|to|the|cabinet");
    leave();
}
END_TEST

START_TEST(the_stage_is_used_by_keyboard)
{
    enter();
    open_stage("stage=1&h=3.0");
    free(attn_browser_text(browser,
                           "document.querySelector('.stage-word[tabindex=\"0\"]').focus()"));
    attn_browser_key(browser, "ArrowLeft", 0);
    attn_browser_key(browser, "ArrowLeft", 0);
    attn_browser_wait(browser, ID("stage-said") ".textContent.startsWith('to looks at: ')");
    free(attn_browser_text(browser,
                           "document.querySelector('.stage-cell[tabindex=\"0\"]').focus()"));
    assert_text("document.activeElement.id", "stage-cell-24");
    attn_browser_key(browser, "ArrowUp", 0);
    attn_browser_key(browser, "ArrowRight", 0);
    attn_browser_key(browser, "Enter", 0); /* it is chosen already */
    attn_browser_key(browser, "x", 0);     /* as among all heads of the workbench */
    wait_for_run();
    assert_text("document.activeElement.id", "stage-cell-17");
    assert_text(ID("live-changes") ".textContent", "head 2.1 off \xc3\x97");
    free(attn_browser_text(browser, ID("stage-head-on") ".focus()"));
    attn_browser_key(browser, " ", 0);
    wait_for_run();
    assert_text(ID("live-changes") ".textContent", "");
    assert_text("document.querySelectorAll('#stage-words [tabindex=\"0\"], #stage-strip "
                "[tabindex=\"0\"]').length",
                "2");
    free(attn_browser_text(browser, "document.querySelector('.stage-bar').focus()"));
    attn_browser_key(browser, " ", 0); /* writes a word, and the next one can be written */
    attn_browser_wait(browser, "document.querySelectorAll('.stage-word').length === 6");
    wait_for_run();
    assert_text("document.activeElement.className", "stage-bar");
    free(attn_browser_text(browser, "document.querySelector('#stage-next .term').focus()"));
    assert_text(ID("stage-tip") ".hidden", "false");
    attn_browser_key(browser, "m", 0); /* the matrix of the workbench is not seen */
    attn_browser_key(browser, "Escape", 0);
    assert_text(ID("stage-tip") ".hidden", "true");
    assert_text("attnViewer.state.v", "grid");
    leave();
}
END_TEST

/* All of the stage is above the fold, and high enough for a finger. */
static void assert_fits_screen(void)
{
    attn_browser_wait(browser, "document.querySelector('#stage-arcs path')");
    assert_text("document.documentElement.scrollHeight <= innerHeight && "
                "document.documentElement.scrollWidth <= innerWidth",
                "true");
    assert_text("(box => box.scrollHeight <= box.clientHeight && box.clientHeight >= 100)(" ID(
                    "stage-sentence") ")",
                "true");
    assert_text("[...document.querySelectorAll('#live-stage :is(button, textarea)')].filter(b => "
                "b.offsetParent && (b.getBoundingClientRect().height < (b.matches('.stage-run') "
                "? 24 : 44) || (b.offsetWidth < 44 && !b.matches('.term, .stage-word')))).map(b => "
                "b.id || b.textContent).join()",
                "");
    assert_text("[...document.querySelectorAll('#live-stage > div')].filter(d => d.offsetParent && "
                "d.getBoundingClientRect().bottom > innerHeight).map(d => d.id).join()",
                "");
}

/* --- Translators ----------------------------------------------------------------------------- */

static const char mat[] = "The cat sat on the mat";

/* Opens the page of a translator, without a translation. */
static void open_translator(const char *model, const char *hash)
{
    run((const char *[]){"run", "-m", model, "--source", mat, "--html", "p.html", "--live", "",
                         NULL});
    load(hash);
}

/* --- The life of a word ---------------------------------------------------------------------- */

#define RIBBONS "[...document.querySelectorAll('#life-picture path[id]')]"
#define RIBBON(id) "document.getElementById('life-" id "')"
#define LIFE_IS_DONE "attnLive.isDone() && document.querySelector('#life-picture path')"

static void open_life(const char *hash)
{
    open_stage(hash);
    attn_browser_wait(browser, LIFE_IS_DONE);
}

/* The values of ribbons add up to what `attribute` says of all parts; the heights of those that are
 * not low are those of the values, on one scale; the highest may be cut short. */
static void assert_adds_up(const char *const *args)
{
    char *out = print(args), expected[32], *last = strstr(out, "\nsum,");
    double value;

    ck_assert_msg(last && sscanf(last, "\nsum,,,%lf", &value) == 1, "%s", out);
    snprintf(expected, sizeof expected, "%.3f", value);
    assert_text(RIBBONS ".reduce((sum, r) => sum + Number(r.dataset.value), 0).toFixed(3)",
                expected);
    assert_text("(scales => Math.max(...scales) / Math.min(...scales) < 1.05)(" RIBBONS
                ".map(r => [r, r.getAttribute('d').match(/[\\d.]+/g).map(Number)])"
                ".map(([r, [, , , y2, , y3]]) => [y3 - y2, (y3 - y2) / Math.abs(r.dataset.value)])"
                ".filter(([high], i, all) => high > 12 && high < Math.max(...all.map(r => "
                "r[0]).filter(isFinite)) - 0.5)"
                ".map(pair => pair[1])"
                ".filter(isFinite))",
                "true");
    free(out);
}

#define ADDS_UP(...)                                                                               \
    assert_adds_up((const char *[]){"attribute", "-m", "fable", "-q", "--target", " are", "--csv", \
                                    "-", __VA_ARGS__, NULL})

/* The ribbon ID has the value that follows START in what ARGS print. */
static void assert_ribbon(const char *id, const char *start, const char *const *args)
{
    char *out = print(args), expression[128], expected[32];
    const char *at = strstr(out, start);

    ck_assert_msg(at, "%s: %s", start, out);
    snprintf(expected, sizeof expected, "%.6f", strtod(at + strlen(start), NULL));
    snprintf(expression, sizeof expression,
             "Number(document.getElementById('life-%s').dataset.value).toFixed(6)", id);
    assert_text(expression, expected);
    free(out);
}

#define RIBBON_IS(id, start, ...)                                                                  \
    assert_ribbon(id, start,                                                                       \
                  (const char *[]){"attribute", "-m", "fable", "-q", "--target", " are",           \
                                   "--limit", "1000", "--csv", "-", __VA_ARGS__, NULL})

START_TEST(ribbons_add_up_to_the_answer)
{
    char *lens;

    enter();
    open_life("stage=1&life=life");
    assert_text(
        ID("stage-sentence") ".offsetParent === null && " ID("stage-life") ".offsetParent !== null",
        "true");
    ADDS_UP("--foil", "", keys);
    RIBBON_IS("2-5-1", "\n2,5,1, keys,", "--by", "token", "--foil", "", keys);
    RIBBON_IS("3-0-1", "\n3,0,1, keys,", "--by", "token", "--foil", "", keys);
    RIBBON_IS("3--", "\nmlp,3,,", "--foil", "", keys);
    assert_text(RIBBON("2-5-1") ".getAttribute('aria-label') + ', ' + " RIBBON(
                    "3--") ".getAttribute('aria-label')",
                "head 2.5 from keys writes +0.50, MLP 3 writes +9.18");
    lens = attn_browser_text(browser,
                             "attnLive.ask(['lens', '-m', 'fable', '--queries=4', '--top=1', "
                             "'--json=-', 'The keys to the cabinet'])"
                             ".then(r => JSON.parse(r.out).rows.slice(1).map(r => r.token.trim() + "
                             "' ' + (100 * r.prob).toFixed(0) + ' %').join())");
    assert_text("[...document.querySelectorAll('#life-picture text:not([data-i])')].map(p => "
                "p.textContent).filter(text => text.endsWith(' %')).join()",
                lens);
    free(lens);
    assert_text("document.querySelector('#life-picture [data-i=sum]').textContent",
                "All ribbons add up to logit(are) - mean logit = 14.90; rest: too thin to draw");
    assert_text(ID("life-said") ".textContent", "Press a ribbon to remove it.");
    load("stage=1&life=life&target=%20are&foil=%20were&knockout=4%3E1%402.5&q=4"); /* of another
                                                                                      answer, with a
                                                                                      change */
    attn_browser_wait(browser, LIFE_IS_DONE);
    ADDS_UP("--foil", "ids:1179", "--knockout", "4>1@2.5", keys);
    RIBBON_IS("3--", "\nmlp,3,,", "--foil", "ids:1179", "--knockout", "4>1@2.5", keys);
    leave();
}
END_TEST

#define DRAWN "[...document.querySelectorAll('#life-picture text')].map(node => node.textContent)"

/* Types a second sentence at once, and waits until the picture has WORD. */
static void type_second(const char *text, const char *word)
{
    char expression[512];

    snprintf(expression, sizeof expression,
             "(input => { input.value = '%s'; input.dispatchEvent(new Event('input')); })(" ID(
                 "life-second") "), ''",
             text);
    free(attn_browser_text(browser, expression));
    snprintf(expression, sizeof expression, DRAWN ".includes('%s')", word);
    attn_browser_wait(browser, expression);
}

/* Another tab has a second sentence, which differs in the word that the head looks at, so that
 * the next word changes most. Its arcs are below the line, and the next words of both are one list.
 * Others can be pressed or typed; the address keeps them. */
/* The circuit is that of the command line; a press on a head or an edge chooses a head, and the
 * circuit stays. */
START_TEST(a_pair_has_its_circuit)
{
    static const char command[] = "attn-cli circuit -m fable --clean 'The keys to the cabinet' "
                                  "--corrupted 'The key to the cabinet' --target ids:1048 --foil "
                                  "ids:1041 --size 20";

    enter();
    open_stage("h=1.1&stage=1&life=pair,The%20key%20to%20the%20cabinet");
    attn_browser_wait(browser, "attnLive.isDone() && document.querySelector('#pair-circuit')");
    attn_browser_click_on(browser, "#pair-circuit");
    attn_browser_wait(browser, "document.querySelector('#live-circuit .x-table tbody tr')");
    assert_text("document.querySelector('#live-circuit > .note code').textContent", command);
    assert_text("attnLive.ask(['circuit', '-m', 'fable', '--clean', 'The keys to the cabinet', "
                "'--corrupted', 'The key to the cabinet', '--target=ids:1048', '--foil=ids:1041', "
                "'--size=20', '--json=-']).then(r => JSON.parse(r.out).rows.map(r "
                "=> r.from + r.to).join() === [...document.querySelectorAll('#live-circuit tbody "
                "tr')].map(tr => tr.cells[0].textContent + tr.cells[1].textContent).join())",
                "true");
    assert_all_named();
    attn_browser_click_on(browser, "#live-circuit .plate[data-head='3.0']");
    assert_text(ID("dialog") ".open", "false");
    attn_browser_wait(browser, ID("stage-name") ".textContent === 'Head 3.0'");
    /* an edge chooses the head that writes it, 2.5 > 2.mlp, or else the one that reads it */
    for (int edge = 3; edge <= 4; edge++) {
        char selector[64];

        attn_browser_wait(browser,
                          "attnLive.isDone()"); /* the pair of this head moves the circuit */
        snprintf(selector, sizeof selector, "#live-circuit .x-near > path:nth-child(%d)", edge);
        attn_browser_click_on(browser, selector);
        attn_browser_wait(browser, ID("stage-name") ".textContent === 'Head 2.5'");
        assert_text("document.querySelector('#live-circuit .plate.near').dataset.head", "2.5");
        assert_text("document.querySelector('#live-circuit tr[aria-selected=true]').dataset.row",
                    edge == 3 ? "2" : "3");
        attn_browser_click_on(browser, "#live-circuit .plate[data-head='3.0']");
        attn_browser_wait(browser, ID("stage-name") ".textContent === 'Head 3.0'");
    }
    assert_text("location.hash.includes('life=pair') && "
                "Boolean(document.querySelector('#live-circuit [data-i^=h]'))",
                "true");
    leave();
}
END_TEST

START_TEST(two_sentences_are_back_to_back)
{
    enter();
    open_stage("h=2.5&stage=1&life=pair");
    attn_browser_wait(browser, "attnLive.isDone() && " DRAWN ".includes('91 %')");
    assert_text(ID("life-second") ".value", "The key to the cabinet");
    assert_text(ID("pair-changed") ".textContent.startsWith('changed: keys \u2192 key or: ') && "
                                   "document.querySelectorAll('#pair-changed button').length",
                "7");
    assert_text("attnLive.ask(['diff', '-m', 'fable', '--heads=2.5', '--queries=4', '--json=-', "
                "'The keys to the cabinet', 'The key to the cabinet']).then(r => "
                "JSON.parse(r.out).rows.filter(r => r.part !== 'b - a' && r.weight >= 0.02).map(r "
                "=> r.part + ',' + r.key).sort().join()).then(arcs => arcs === [...document."
                "querySelectorAll('#life-picture path[data-i]')].map(p => p.dataset.i).sort()"
                ".join())",
                "true");
    assert_text(DRAWN ".filter(text => /^[a-z]/i.test(text)).join()",
                "The,keys,key,to,the,cabinet");
    assert_text("[...document.querySelectorAll('#pair-next li')].slice(0, 2).map(li => "
                "li.textContent).join()",
                "is0.06 % \xe2\x86\x92 25.0 %,are24.6 % \xe2\x86\x92 0.04 %");
    assert_text("getComputedStyle(" ID("stage-next") ").display", "none");
    /* the second sentence has rings, as blue and purple are one color to some people */
    assert_text("['a', 'b'].map(kind => getComputedStyle(document.querySelector('.track .' + kind))"
                ".borderTopWidth).join()",
                "0px,3px");
    assert_all_named();
    attn_browser_click_on(browser, "#pair-changed button");
    attn_browser_wait(browser, DRAWN ".includes('hats')");
    assert_text("location.hash.endsWith('&life=pair,The%20hats%20to%20the%20cabinet')", "true");
    type_second("The key to the cabinets", "cabinets");
    assert_text("location.hash.endsWith('&life=pair,The%20key%20to%20the%20cabinets')", "true");
    /* words count from the end: that of a longer sentence is the last, too, and "is" comes next */
    type_second("The small key to the cabinet", "small");
    assert_text(
        "[...document.querySelectorAll('#pair-next bdi')].some(b => b.textContent === 'is')",
        "true");
    free(attn_browser_text(
        browser, "(input => { input.value = 'The keys to the cabinet'; "
                 "input.dispatchEvent(new Event('input')); })(" ID("life-second") "), ''"));
    attn_browser_wait(browser, ID("life-picture") ".textContent === "
                                                  "'Both sentences are the same. Change a word.'");
    leave();
}
END_TEST

#define LIKE ID("like-verdict")
#define LIKE_ENDS "document.querySelector('#like-verdict[aria-busy=false]')"
#define LIKE_DOTS "document.querySelectorAll('.like circle[data-i^=\"2.5,\"]')"

/* Returns the numbers `kl` of head 2.5 that the tool gives for the items of like.jsonl: "0.1,0.2".
 */
static char *effects_of_items(void)
{
    struct attn_ran ran = attn_command((const char *[]){
        "ablate", "-m", "fable", "--metric", "kl", "--items", "like.jsonl", "--each", "-", NULL});
    const char *at = ran.out;
    char *list = calloc(1, strlen(ran.out) + 1), *end = list;

    ck_assert_msg(ran.exit == 0, "%s", ran.err);
    while ((at = strstr(at, "head,2,5,"))) { /* then value, change and kl, which are the same */
        at += strlen("head,2,5,");
        if (end > list)
            *end++ = ',';
        end = mempcpy(end, at, strcspn(at, ","));
    }
    attn_ran_release(&ran);
    return list;
}

/* The figure that the page saves is that of the tool for the sentences that it saves. */
static void assert_saved_figure(void)
{
    struct attn_part saved, drawn;

    ck_assert_int_eq(remove("like.jsonl"), 0);
    attn_browser_save_into(browser, ".");
    attn_browser_click_on(browser, "#like-texts");
    attn_browser_click_on(browser, "#like-save");
    for (int i = 0; i < 600 && access("like.svg", R_OK) != 0; i++)
        free(attn_browser_text(browser, "new Promise(done => setTimeout(done, 20))"));
    run((const char *[]){"ablate", "-m", "fable", "--metric", "kl", "--items", "like.jsonl",
                         "--group-by", "id", "--figure", "strip:2.5", "--svg", "tool.svg", NULL});
    saved = attn_part_read("like.svg");
    drawn = attn_part_read("tool.svg");
    ck_assert_uint_eq(saved.size, drawn.size);
    ck_assert_mem_eq(saved.bytes, drawn.bytes, saved.size);
    free(saved.bytes);
    free(drawn.bytes);
}

/* After a head is switched off, a tab asks how it does in other sentences. The numbers are those of
 * the tool; a sentence that is struck out does not count, and Escape stops it. */
START_TEST(a_head_is_tried_in_sentences_of_the_same_form)
{
    char *like, *effects, same[2048];

    enter();
    open_stage("h=2.5&stage=1");
    assert_text(ID("life-like") ".hidden", "true");
    attn_browser_click_on(browser, "#stage-head-off");
    wait_for_run();
    attn_browser_wait(browser, "!" ID("life-like") ".hidden");
    attn_browser_click_on(browser, "#life-like");
    attn_browser_wait(browser, LIKE_ENDS);
    assert_text(LIKE ".textContent", "Head 2.5 changes the next word most in 36 of 36 sentences.");
    assert_text("location.hash.includes('&life=like&')", "true");
    assert_text(
        "(x => [...document.querySelectorAll('.like text')].filter(n => n.getAttribute('x') "
        "=== x).map(n => n.textContent).join())(document.querySelector('.like "
        "text[data-i=others]').getAttribute('x'))",
        "2.5,1.1,2.2,1.4,0.2,0.0,26 others");
    like = attn_browser_text(browser, "[...document.querySelectorAll('#like-list bdi')].map(n => "
                                      "JSON.stringify({ text: n.textContent }) + '\\n').join('')");
    attn_folder_write("like.jsonl", like, strlen(like));
    effects = effects_of_items();
    snprintf(same, sizeof same,
             "[%s].map((kl, i) => Math.fround(kl) === "
             "Math.fround(" LIKE_DOTS "[i].dataset.kl)).filter(Boolean).length",
             effects);
    assert_text(same, "36"); /* a table has the digits of float32 */
    assert_text(ID("life-picture") ".querySelector('code').textContent",
                "attn-cli ablate -m fable --metric kl --items like.jsonl --group-by id --figure "
                "strip:2.5 --svg like.svg");
    assert_all_named();
    attn_browser_click_on(browser, "#like-list summary");
    attn_browser_click_on(browser, "#like-list li:nth-child(2) button");
    assert_text(LIKE ".textContent", "Head 2.5 changes the next word most in 35 of 35 sentences.");
    assert_text("document.querySelectorAll('#like-list [aria-pressed=true]').length + ' ' + "
                "document.querySelector('#like-list').open + ' ' + " LIKE_DOTS ".length",
                "1 true 35");
    assert_text("location.hash.includes('life=like,0,1&')", "true");
    assert_saved_figure();
    free(attn_browser_text(
        browser, "(n => { n.focus(); n.value = 12; n.dispatchEvent(new Event('change')); })(" ID(
                     "like-most") "), ''"));
    attn_browser_wait(browser, "document.querySelectorAll('#like-list li').length === 12");
    attn_browser_wait(browser, LIKE_ENDS);
    assert_text("document.activeElement.id + ' ' + location.hash.includes('life=like,12&') + ' ' + "
                "" LIKE_DOTS ".length",
                "like-most true 12");
    open_stage("h=2.5&stage=1&life=like,12,1+2&ablate=2.5");
    attn_browser_wait(browser, LIKE_ENDS);
    assert_text(ID("like-most") ".value + ' ' + [...document.querySelectorAll('#like-list "
                                "button')].map(n => n.ariaPressed).slice(0, 4).join()",
                "12 false,true,true,false");
    assert_text(LIKE_DOTS ".length", "10");
    attn_browser_click_on(browser, "#like-word-4");
    attn_browser_wait(browser,
                      "location.hash.includes('life=like,12,,1&') && "
                      "[...document.querySelectorAll('#like-list bdi')].every(n => / to the "
                      "cabinet$/.test(n.textContent))");
    attn_browser_wait(browser, LIKE_ENDS);
    assert_text(LIKE_DOTS ".length", "12");
    open_stage("h=2.5&stage=1&life=like,12,,0+4&ablate=2.5");
    attn_browser_wait(browser, LIKE_ENDS);
    assert_text("[...document.querySelectorAll('#like-words [aria-pressed=true]')].map(n => "
                "n.textContent).join()",
                "The,cabinet");
    free(attn_browser_text(
        browser, "attnLive.follow('Tom and Mary went to the store. Tom gave a drink to'), ''"));
    attn_browser_wait(
        browser,
        "document.querySelector('[aria-busy=true]') && document.querySelector('.like circle')");
    attn_browser_key(browser, "Escape", 0);
    attn_browser_wait(browser, LIKE_ENDS);
    assert_text(ID("like-stop") ".hidden && " LIKE_DOTS ".length < 36", "true");
    free(like);
    free(effects);
    leave();
}
END_TEST

/* The picture of a tab has no width while the workbench is shown, and is not asked for. */
START_TEST(hidden_tabs_ask_for_nothing)
{
    static const char *const tabs[] = {"#life-pair", "#life-open"};

    enter();
    open_stage("stage=1");
    for (size_t i = 0; i < sizeof tabs / sizeof *tabs; i++) {
        attn_browser_click_on(browser, tabs[i]);
        attn_browser_wait(browser, "attnLive.isDone() && " DRAWN ".length > 0");
        attn_browser_click_on(browser, "#stage-workbench");
        attn_browser_wait_for_frame(browser);
        attn_browser_wait_for_frame(browser);
        attn_browser_wait(browser, "attnLive.isDone()");
        assert_text(ID("live-status") ".matches('.problem') + " STATUS, "false");
        attn_browser_click_on(browser, "#live-to-stage");
        attn_browser_wait(browser, "attnLive.isDone() && " DRAWN ".length > 0");
    }
    leave();
}
END_TEST

/* A press on a ribbon removes it, at once and then with all that follows; a second one brings it
 * back, and so does "Restore all". The address keeps it. */
START_TEST(a_ribbon_is_removed_and_comes_back)
{
    double x, y;

    enter();
    open_life("stage=1&foil=%20were&life=life");
    attn_browser_wait(browser, RIBBON("2-5-1"));
    free(attn_browser_text(
        browser, "globalThis.press = node => { const [x, y, x2, y2, , y3] = "
                 "node.getAttribute('d').match(/[\\d.]+/g).map(Number), at = new DOMPoint("
                 "x + 0.1 * (x2 - x), y + 0.1 * (y2 - y) + (y3 - y2) / 2).matrixTransform("
                 "node.getScreenCTM()); return [at.x, at.y]; }, ''"));
    x = attn_browser_number(browser, "press(" RIBBON("2-5-1") ")[0]");
    y = attn_browser_number(browser, "press(" RIBBON("2-5-1") ")[1]");
    attn_browser_point(browser, x, y);
    assert_text(ID("life-said") ".textContent.startsWith('head 2.5 from keys writes +')", "true");
    free(attn_browser_text(browser, "addEventListener('click', () => { globalThis.atOnce = " RIBBON(
                                        "2-5-1") ".classList.contains('gone'); }), ''"));
    attn_browser_click(browser, x, y);
    assert_text("atOnce", "true");
    attn_browser_wait(
        browser, RIBBON("2-5-1") ".getAttribute('aria-label') === 'head 2.5 from keys, removed'");
    attn_browser_wait(browser, "attnLive.isDone()");
    assert_text(
        "location.hash.endsWith('&foil=%20were&life=life&text=The%20keys%20to%20the%20cabinet&"
        "knockout=4%3E1%402.5')",
        "true");
    ADDS_UP("--foil", "ids:1179", "--knockout", "4>1@2.5", keys);
    RIBBON_IS("3--", "\nmlp,3,,", "--foil", "ids:1179", "--knockout", "4>1@2.5", keys);
    assert_text("getComputedStyle(" RIBBON("2-5-1") ").strokeDasharray !== 'none'", "true");
    attn_browser_click(browser, attn_browser_number(browser, "press(" RIBBON("2-5-1") ")[0]"),
                       attn_browser_number(browser, "press(" RIBBON("2-5-1") ")[1]"));
    attn_browser_wait(browser, "attnLive.isDone() && !location.hash.includes('knockout')");
    attn_browser_wait(browser, RIBBON("2-5-1") ".getAttribute('aria-label').includes('writes')");
    ADDS_UP("--foil", "ids:1179", keys);
    attn_browser_click_on(browser, "#life-3--"); /* an MLP, at this position alone */
    attn_browser_wait(browser, RIBBON("3--") ".getAttribute('aria-label') === 'MLP 3, removed'");
    attn_browser_wait(browser, "attnLive.isDone()");
    ADDS_UP("--foil", "ids:1179", "--rescale", "mlp_out:3@4=0", keys);
    assert_text(ID("live-changes") ".textContent", "factor mlp_out:3@4=0 \u00d7");
    load("stage=1&foil=%20were&life=life&text=The%20keys%20to%20the%20cabinet&rescale=mlp_out%3A3%"
         "404%3D0");
    attn_browser_wait(browser, "attnLive.isDone() && " RIBBON("3--"));
    assert_text(RIBBON("3--") ".getAttribute('aria-label')", "MLP 3, removed");
    attn_browser_click_on(browser, "#live-restore");
    attn_browser_wait(browser, RIBBON("3--") ".getAttribute('aria-label').includes('writes')");
    attn_browser_wait(browser, "attnLive.isDone()");
    ADDS_UP("--foil", "ids:1179", keys);
    leave();
}
END_TEST

#define FOCUSED "document.activeElement.getAttribute('aria-label')"

START_TEST(ribbons_are_pressed_by_keyboard)
{
    enter();
    attn_browser_set_still(browser);
    open_stage("stage=1");
    free(attn_browser_text(browser, ID("life-open") ".focus()"));
    attn_browser_key(browser, " ", 0);
    attn_browser_wait(browser, LIFE_IS_DONE);
    assert_text("document.querySelectorAll('#life-picture [tabindex=\"0\"]').length", "1");
    assert_text(RIBBONS ".every(r => r.getAttribute('aria-label') && ['button', "
                        "'img'].includes(r.getAttribute('role')))",
                "true");
    free(attn_browser_text(browser,
                           "document.querySelector('#life-picture [tabindex=\"0\"]').focus()"));
    assert_text(FOCUSED, "MLP 3 writes +9.18");
    attn_browser_key(browser, "ArrowLeft", 0);
    attn_browser_key(browser, "ArrowDown", 0);
    attn_browser_key(browser, "ArrowUp", 0);
    assert_text(FOCUSED ".startsWith('head 3.')", "true");
    attn_browser_key(browser, "ArrowUp", 0);
    assert_text(FOCUSED, "MLP 3 writes +9.18");
    attn_browser_key(browser, " ", 0);
    attn_browser_wait(browser, FOCUSED " === 'MLP 3, removed'");
    attn_browser_wait(browser, "attnLive.isDone()");
    assert_text(ID("life-said") ".textContent", "MLP 3, removed");
    assert_text("location.hash.endsWith('rescale=mlp_out%3A3%404%3D0')", "true");
    attn_browser_key(browser, "Enter", 0);
    attn_browser_wait(browser, FOCUSED " === 'MLP 3 writes +9.18'");
    attn_browser_wait(browser, "attnLive.isDone()");
    ADDS_UP("--foil", "", keys);
    free(attn_browser_text(browser, "(" ID("life-word") ".value = 1, " ID(
                                        "life-word") ".dispatchEvent(new Event('change')))"));
    attn_browser_wait(browser, "document.querySelector('#life-picture title').textContent"
                               ".startsWith(\"life of 'keys'\")");
    assert_text("attnViewer.state.q", "1");
    attn_browser_wait(browser, "attnLive.isDone()");
    free(attn_browser_text(browser, ID("life-picture") ".click()")); /* beside all ribbons */
    assert_text("attnViewer.state.q", "1");
    attn_browser_click_on(browser, "#life-picture text[data-i=',,0']");
    assert_text("attnViewer.state.q", "0");
    free(attn_browser_text(browser, ID("life-words") ".focus()"));
    attn_browser_key(browser, " ", 0);
    assert_text(ID("stage-life") ".offsetParent === null && " ID(
                    "stage-sentence") ".offsetParent !== null && !location.hash.includes('life')",
                "true");
    leave();
}
END_TEST

/* Texts of one word and of many, on a telephone in the dark; words without ribbons are left out,
 * and the gap says how many. */
START_TEST(a_life_has_any_length_and_fits_a_telephone)
{
    static const char many[] =
        "When Tom and Mary went to the old store in the village by the river, they saw a small "
        "red dog and a cat. Tom and the cat gave a drink of cold water to";

    enter_on_telephone();
    open_life("stage=1&life=best&text=The");
    attn_browser_click_on(browser, "#life-3--");
    attn_browser_wait(browser, RIBBON("3--") ".getAttribute('aria-label') === 'MLP 3, removed'");
    attn_browser_wait(browser, "attnLive.isDone()");
    free(attn_browser_text(browser, RIBBONS
                           ".find(r => r.getAttribute('aria-label').startsWith('head 2.1 from "
                           "The')).dispatchEvent(new MouseEvent('click', { bubbles: true }))"));
    attn_browser_wait(browser, RIBBONS
                      ".some(r => r.getAttribute('aria-label') === 'head 2.1 from The, removed')");
    attn_browser_wait(browser, "attnLive.isDone()"); /* its only key */
    assert_text(
        "location.hash.endsWith('&rescale=mlp_out%3A3%400%3D0&rescale=pattern%3A2.1%400%3D0')",
        "true");
    assert_text(ID("live-status") ".classList.contains('problem')", "false");
    type(many);
    attn_browser_wait(browser, LIFE_IS_DONE " && attnViewer.run.tokens.length === 37");
    assert_text("document.documentElement.scrollWidth <= innerWidth && " ID(
                    "life-picture") ".scrollWidth <= " ID("life-picture") ".clientWidth",
                "true");
    assert_text("[...document.querySelectorAll('#live-stage :is(button, select)')].filter(b => "
                "b.offsetParent && b.offsetHeight < 44).map(b => b.id).join()",
                "");
    assert_text("(gaps => gaps.length > 0 && gaps.reduce((sum, gap) => sum + "
                "Number(gap.textContent.slice(1)), document.querySelectorAll('#life-picture "
                "text[data-i^=\",,\"]').length))([...document.querySelectorAll('#life-picture "
                "text')].filter(text => text.textContent[0] === '\u2026'))",
                "37");
    assert_text(
        "document.querySelector('#life-picture [data-i=sum]').textContent.includes(' = ' + " RIBBONS
        ".reduce((sum, r) => sum + Number(r.dataset.value), 0).toFixed(2))",
        "true");
    assert_all_named();
    load("stage=1&life=best&text=%D8%A7%20cat"); /* adds up to logit(<|endoftext|>), a long line */
    attn_browser_wait(browser, LIFE_IS_DONE);
    assert_text("(box => [...document.querySelectorAll('#life-picture text')].filter(text => "
                "text.getBoundingClientRect().right > box.right).map(text => text.textContent)"
                ".join())(" ID("life-picture") ".firstChild.getBoundingClientRect())",
                "");
    leave();
}
END_TEST

/* A model without MLPs has ribbons from the left alone; one without an answer says so. A translator
 * has two stacks, and no tab. */
START_TEST(other_models_have_a_life)
{
    enter();
    borrow("tests/fixtures/attn-only-2l", "attn-only-2l");
    run((const char *[]){"run", "-m", "attn-only-2l", "--html", "p.html", "--live",
                         "the cat sat on the mat", NULL});
    load("stage=1&life=best");
    attn_browser_wait(browser, LIFE_IS_DONE);
    assert_text(RIBBONS ".filter(r => r.getAttribute('role') === 'button').every(r => /^head "
                        "[01]\\.[0-2] from /.test(r.getAttribute('aria-label')))",
                "true");
    assert_text(RIBBONS ".length > 10", "true");
    run((const char *[]){"run", "-m", "life-is-short", "--html", "p.html", "--live",
                         "Life is short", NULL});
    load("stage=1&life=best");
    attn_browser_wait(browser, ID("life-picture") ".textContent === \"'life-is-short' has no "
                                                  "output layer, and a prediction needs one\"");
    open_translator("interpreter", "stage=1&life=best");
    assert_text(ID("life-tabs") ".hidden && " ID("stage-life") ".offsetParent === null", "true");
    leave();
}
END_TEST

/* The keys of a head that attends to a source are written by the source. */
START_TEST(a_translator_says_why)
{
    enter();
    unpack("stacks.tar", "whole_opus");
    run((const char *[]){"run", "-m", "whole_opus", "--source", "The cat", "--html", "p.html",
                         "--live", "Le", NULL});
    load("v=matrix&h=cross:1.0&q=2&k=2");
    attn_browser_click_on(browser, "#live-why");
    attn_browser_wait(browser, DIALOG ".open");
    assert_text(ID("dialog-title") ".textContent", "Why 'L' looks at 't': head cross:1.0");
    assert_text("[...document.querySelectorAll('.why tbody th')].slice(0, 4).map(c => "
                "c.textContent).join()",
                "head decoder:1.1 \u00d7 the source,MLP decoder:0 \u00d7 the source,head "
                "decoder:0.1 \u00d7 the source,"
                "norm after attention decoder:1 \u00d7 the source");
    assert_text("document.querySelector('#dialog code').textContent",
                "attn-cli attribute -m whole_opus --score '2>2@cross:1.0' --source 'The cat' Le");
    leave();
}
END_TEST

START_TEST(translations_have_the_bits_of_the_binary)
{
    static const char *const sources[] = {"The cat", "the mat the the", ""};

    enter();
    unpack("stacks.tar", "whole_opus");
    open_translator("whole_opus", "");
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        const char *source = sources[i];

        SAME("run", "-m", "whole_opus", "--source", source, "--sites", "*", "--json", "-", "Le");
        SAME("run", "-m", "whole_opus", "--source", source, "--ablate", "cross:1.0", "--tidy", "-",
             "Le chat");
        SAME("generate", "-m", "whole_opus", "--source", source, "--tokens", "5");
        SAME("heads", "-m", "whole_opus", "--source", source, "Le chat");
        SAME("score", "-m", "whole_opus", "--source", source, "Le chat");
    }
    attn_browser_wait(browser, "document.querySelector('.stage-group')");
    assert_text("[...document.querySelectorAll('.stage-group')].slice(-2).map(s => s.firstChild"
                ".textContent).join()",
                "in the translation,in the source");
    attn_browser_click_on(browser, "#stage-cell-0"); /* of the encoder */
    attn_browser_wait(browser, ID("stage-name") ".textContent === 'Head encoder 0.0'");
    attn_browser_click_on(browser, "#stage-head-off");
    wait_for_run();
    assert_text(ID("live-changes") ".textContent", "head encoder:0.0 off \xc3\x97");
    assert_text(WORDS, "The|ca|t|blank|s|at|on|the|ma|t|end of text");
    assert_text("document.querySelectorAll('#stage-map').length", "0");
    leave();
}
END_TEST

/* The button writes what the tool generates, and the map has the weights of the tool. */
START_TEST(a_sentence_is_translated)
{
    char *text, *table, weights[7][32], expected[256] = "", whole[256];

    enter();
    borrow("models/interpreter", "interpreter");
    open_translator("interpreter", "stage=1&h=1.1");
    assert_text(ID("stage-on") ".textContent", "Translate");
    text = PRINT("generate", "-m", "interpreter", "--source", mat, "-q", "-n", "60");
    text[strcspn(text, "\n")] = '\0';
    attn_browser_click_on(browser, "#stage-on");
    snprintf(whole, sizeof whole, ID("live-text") ".value === '%s' && attnLive.isDone()", text);
    attn_browser_wait(browser, whole);
    assert_text("document.querySelectorAll('#stage-map tbody tr').length", "7");
    assert_text("[...document.querySelectorAll('#stage-map thead bdi')].map(b => b.textContent)"
                ".slice(1).join(' ')",
                mat);
    table = PRINT("run", "-m", "interpreter", "--source", mat, "--heads", "1.1", "--sites",
                  "pattern", "--queries", "2", "--precision", "7", "--csv", "-", text);
    ck_assert_int_eq(sscanf(strchr(table, '\n') + 1,
                            "%*[^,],%31[^,],%31[^,],%31[^,],%31[^,],%31[^,],%31[^,],%31s",
                            weights[0], weights[1], weights[2], weights[3], weights[4], weights[5],
                            weights[6]),
                     7);
    for (size_t k = 0; k < 7; k++)
        snprintf(expected + strlen(expected), sizeof expected - strlen(expected), "%.3f ",
                 strtod(weights[k], NULL));
    attn_browser_point_at(browser, "#stage-map tbody tr:nth-child(3) .stage-word");
    attn_browser_wait(browser, "document.querySelector('#stage-map tr:nth-child(3).from')");
    assert_text("[...document.querySelectorAll('#stage-map tr.from td')].map(c => "
                "Number(c.dataset.weight).toFixed(3) + ' ').join('')",
                expected);
    free(table);
    type_into("#live-source", "The dog");
    assert_text("new URLSearchParams(location.hash.slice(1)).get('source')", "The dog");
    attn_browser_wait(browser, "document.querySelectorAll('#stage-map thead bdi').length === 3");
    attn_browser_click_on(browser, "#stage-workbench");
    attn_browser_click_on(browser, "#live-command");
    snprintf(whole, sizeof whole,
             "attn-cli run -m interpreter --html page.html --source 'The dog' '%s'", text);
    assert_text(ID("live-line") ".value", whole);
    attn_browser_click_on(browser, "#dialog-close");
    load("stage=1&h=1.1&source=The%20dogs"); /* an address may have the source alone */
    assert_text(ID("live-source") ".value + '|' + " ID("live-text") ".value", "The dogs|");
    free(text);
    leave();
}
END_TEST

START_TEST(a_story_has_sources)
{
    FILE *file = NULL;

    enter();
    borrow("models/interpreter", "interpreter");
    file = fopen("story.json", "w");
    fputs("{\"steps\": [{\"source\": \"The dog\", \"view\": \"h=1.1\"}, {\"text\": "
          "\"\u72d7\"}, {\"source\": \"The cat\"}]}",
          file);
    fclose(file);
    run((const char *[]){"run", "-m", "interpreter", "--source", mat, "--html", "p.html", "--live",
                         "--story", "story.json", "", NULL});
    load("");
    assert_text(ID("live-source") ".value + '|' + " ID("live-text") ".value", "The dog|");
    attn_browser_click_on(browser, "#live-on");
    attn_browser_wait(browser, "document.querySelectorAll('#stage-map tr').length === 3");
    attn_browser_click_on(browser, "#live-on");
    attn_browser_wait(browser, "attnLive.isDone()");
    assert_text(ID("live-source") ".value + '|' + " ID("live-text") ".value.length", "The cat|1");
    leave();
}
END_TEST

START_TEST(a_translation_fits_a_telephone)
{
    static const char *const files[] = {"config.json", "model.safetensors", "vocab.json",
                                        "merges.txt"};

    enter_on_telephone();
    borrow("models/interpreter", "interpreter");
    open_translator("interpreter", "");
    for (int i = 0; i < 2; i++) {
        attn_browser_wait(browser, i == 0 ? "document.querySelector('#stage-map tr.from')"
                                          : "document.querySelectorAll('#stage-map tr').length "
                                            "=== 8 && attnLive.isDone()");
        assert_text("document.documentElement.scrollHeight <= innerHeight && "
                    "document.documentElement.scrollWidth <= innerWidth && (box => "
                    "box.scrollWidth <= box.clientWidth)(" ID("stage-sentence") ")",
                    "true");
        if (i == 0)
            attn_browser_click_on(browser, "#stage-on");
    }
    assert_all_named();
    attn_browser_click_on(browser, "#stage-more");
    attn_browser_click_on(browser, "#stage-workbench");
    choose_model("models/fable", files, 4); /* another model, which has no source */
    assert_text(ID("live-from") ".hidden", "true");
    assert_text(TOKENS, mat);
    leave();
}
END_TEST

START_TEST(the_stage_fits_a_telephone)
{
    static const char tabs[] = ID("life-tabs") ".getBoundingClientRect().left";
    char path[4096];
    double left;

    enter_on_telephone();
    open_stage("stage=1&text=The%20keys%20to%20the%20cabinet&ablate=2.5");
    assert_fits_screen();
    assert_text("document.querySelector('.chip').getBoundingClientRect().right <= " ID(
                    "stage-chips") ".getBoundingClientRect().right",
                "true");
    assert_all_named();
    assert_text("[...document.querySelectorAll('.note, p, #live-status, #readout')].filter(n => "
                "getComputedStyle(n).overflowWrap === 'anywhere').length", /* inside words */
                "0");
    assert_text("[...document.querySelectorAll('#life-tabs button:not([hidden])')].every(b => (r "
                "=> r.height >= "
                "48 && r.bottom <= innerHeight && r.bottom > innerHeight - 20)"
                "(b.getBoundingClientRect()))",
                "true");
    assert_text("(([head, tools]) => Math.abs(head.top - tools.top) < 8)(['head', 'more']"
                ".map(id => document.getElementById('stage-' + id).getBoundingClientRect()))",
                "true"); /* one row */
    attn_browser_click_on(browser, "#stage-more");
    assert_text(
        "[...document.querySelectorAll('#stage-tools button')].filter(b => b.offsetParent && "
        "b.getBoundingClientRect().right <= innerWidth).map(b => b.textContent).join()",
        "Workbench,Save,Dark,Guess");
    attn_browser_key(browser, "Escape", 0);
    assert_text("document.activeElement.id + " ID("stage-save") ".offsetParent", "stage-morenull");
    attn_browser_click_on(browser, "#stage-more");
    attn_browser_click_on(browser, "#stage-dark"); /* it was dark before */
    assert_text("document.documentElement.dataset.theme + " ID("stage-save") ".offsetParent",
                "lightnull");
    left = attn_browser_number(browser, tabs);
    load("stage=1&text=The%20keys%20to%20the%20cabinet");
    ck_assert_double_eq(attn_browser_number(browser, tabs), left);
    load("stage=1&text=The%20keys%20to%20the%20cabinet&ablate=2.5,1.1");
    assert_text("[...document.querySelectorAll('.stage-bar')].filter(b => b.offsetParent)"
                ".map(b => b.firstChild.textContent).join()",
                "are,is"); /* which is the third by its bars */
    snprintf(path, sizeof path, "%s/data/stories/five-heads.json", root);
    RUN("--html", "p.html", "--live", "--story", path, keys);
    load("");
    for (int i = 0; i < 9; i++) {
        assert_fits_screen();
        assert_text("(b => b.top >= 0 && b.bottom <= innerHeight)(" ID(
                        "live-on") ".getBoundingClientRect())",
                    "true");
        attn_browser_click_on(browser, "#live-on");
        attn_browser_wait(browser, "attnLive.isDone()");
    }
    attn_browser_resize(browser, 768, 1024); /* of a tablet, which has room for the legend */
    load("");
    assert_text("[...document.querySelectorAll('.stage-kind')].some(k => k.offsetParent)", "true");
    assert_fits_screen();
    attn_browser_resize(browser, 1024, 768); /* of a tablet on its side */
    load("");
    assert_text("(([top, next, heads]) => top.bottom <= next.top && heads.right <= next.left)("
                "['top', 'next', 'heads'].map(id => document.getElementById('stage-' + id)"
                ".getBoundingClientRect()))",
                "true");
    assert_fits_screen();
    leave();
}
END_TEST

static const char boys[] = "The keys to the cabinet that the boy and the girl saw by the house are "
                           "old. The dog and the cats near the tree run fast, and the woman sees";

static const char drink[] = "When Mary and John went to the store, John gave a drink to";

/* Runs an expression of the page for its effect. */
static void perform(const char *expression)
{
    free(attn_browser_text(browser, expression));
}

/* The arcs of the word Q of HEAD are drawn: each begins above Q, ends above its key, and no point
 * of it lies in the box of a word or on a weight, which stands 8 px below the box. */
static void assert_arcs_spare_words(const char *head, int q, int least)
{
    char expression[256];

    snprintf(expression, sizeof expression,
             "attnViewer.set({ h: attnViewer.headAt('%s'), q: %d, k: -1 })", head, q);
    perform(expression);
    snprintf(expression, sizeof expression,
             "document.querySelectorAll('.stage-word')[%d].matches('.from') && "
             "document.querySelectorAll('#stage-arcs path').length >= %d",
             q, least);
    attn_browser_wait(browser, expression);
    attn_browser_wait_for_frame(browser);
    assert_text(
        "(() => { const words = [...document.querySelectorAll('.stage-word')], boxes = "
        "words.map(w => w.firstChild.getBoundingClientRect()), isAbove = (p, box) => p.y <= "
        "box.top && p.y > box.top - 8 && p.x > box.left - 18 && p.x < box.right + 18; return "
        "[...document.querySelectorAll('#stage-arcs path')].flatMap(arc => { const m = "
        "arc.getScreenCTM(), long = arc.getTotalLength(), points = Array.from({ length: 400 }, (_, "
        "i) => arc.getPointAtLength(long * i / 399)).map(p => ({ x: p.x + m.e, y: p.y + m.f })); "
        "const hit = [...boxes, ...words.map(w => w.lastChild).filter(s => s.textContent).map(s => "
        "s.getBoundingClientRect())].findIndex(b => points.some(p => p.x > b.left && p.x < b.right "
        "&& p.y > b.top && p.y < b.bottom)); return [...hit < 0 ? [] : [`${arc.dataset.key} "
        "through "
        "${hit}`], ...isAbove(points[0], boxes[words.findIndex(w => w.matches('.from'))]) && "
        "isAbove(points.at(-1), boxes[arc.dataset.key]) ? [] : [`${arc.dataset.key} ends "
        "elsewhere`]]; }).join(); })()",
        "");
}

/* An arc of a text of several lines runs between the lines and in the margin, also where a word
 * looks at later ones, and where a text is written from right to left. */
START_TEST(arcs_cross_no_word)
{
    static const char lines[] =
        "new Set([...document.querySelectorAll('.stage-word')].map(w => w.offsetTop)).size > 1 && "
        "document.querySelector('#stage-sentence.lanes') !== null";
    static const int widths[] = {1280, 800, 683};
    char hash[1024];
    int end = snprintf(hash, sizeof hash, "stage=1&q=0&h=0.0&text=");

    enter();
    RUN("--html", "p.html", "--live", boys);
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        attn_browser_resize(browser, widths[i], 800);
        load("stage=1&q=0");
        attn_browser_wait(browser, lines);
        assert_arcs_spare_words("0.1", 28, 3);
        assert_arcs_spare_words("2.5", 26, 3);
        assert_arcs_spare_words("0.0", 17, 3);
    }
    load("stage=1&q=0&text=%D9%85%D8%B1%D8%AD%D8%A8%D8%A7%20%D9%83%D9%8A%D9%81%20%D8%AD%D8%A7%D9%84"
         "%D9%83%20%D9%83%D9%8A%D9%81");
    attn_browser_wait(browser, lines);
    assert_arcs_spare_words("0.1", 20, 3);
    assert_text("(boxes => boxes[0].left > boxes[1].left)([...document.querySelectorAll('"
                ".stage-word')].map(w => w.getBoundingClientRect()))",
                "true");
    attn_browser_resize(browser, 600, 800);
    for (int i = 0; i < 7; i++)
        end += snprintf(hash + end, sizeof hash - (size_t)end, "the%%20cat%%20on%%20");
    open_bert(BERT("--html", "p.html", "--live", "the cat"), hash);
    attn_browser_wait(browser, lines);
    assert_arcs_spare_words("0.0", 20, 6);
    assert_arcs_spare_words("1.1", 2, 6);
    leave();
}
END_TEST

/* The parts of the sentence: the number of words of a run that is folded away or 0, the weight in
 * percent or -1, and on a telephone the length of the bar in thousandths. */
#define PARTS                                                                                      \
    "[...document.querySelectorAll('.stage-word')].map(w => [w.matches('.stage-run') ? "           \
    "/\\u2026 (\\d+)/.exec(w.textContent)?.[1] ?? 1 : 0, parseInt(w.lastChild.textContent || "     \
    "-1), "                                                                                        \
    "Math.round(1000 * (s => parseFloat(getComputedStyle(s, '::before').width) / (s.clientWidth "  \
    "- "                                                                                           \
    "16 - 3 * parseFloat(getComputedStyle(document.documentElement).fontSize)))(w.lastChild))]"    \
    ".join(' ')).join(' ')"

/* Asserts that the sentence shows the row Q of HEAD of TEXT, N tokens, with the option MORE, and
 * that it fits its place. Returns the number of runs that are folded away: never the query and its
 * three strongest keys. */
static int assert_row(const char *text, const char *head, int q, int n, const char *more)
{
    char number[16], *row, *parts;
    const char *at;
    double weights[256];
    int n_word, percent, length, n_read, k = 0, n_run = 0;

    snprintf(number, sizeof number, "%d", q);
    row = PRINT("run", "-m", "fable", "--heads", head, "--queries", number, "--sites", "pattern",
                "--precision", "7", "--csv", "-", more, text);
    at = strchr(strchr(row, '\n'), ',');
    for (int i = 0; i < n; i++, at = strchr(at + 1, ','))
        weights[i] = strtod(at + 1, NULL);
    free(row);
    at = parts = attn_browser_text(browser, PARTS);
    for (; sscanf(at, "%d %d %d%n", &n_word, &percent, &length, &n_read) == 3; at += n_read) {
        double sum = weights[k];

        for (int i = 1; i < n_word; i++)
            sum += weights[k + i];
        ck_assert_msg(percent == (sum < 0.005 ? -1 : (int)round(100 * sum)), "%d: %s", k, parts);
        ck_assert_msg(fabs(length / 1000.0 - sum) < 0.02, "%d: %s", k, parts);
        for (int i = 0; i < n_word; i++) {
            int n_larger = 0;

            for (int other = 0; other < n; other++)
                n_larger += weights[other] > weights[k + i];
            ck_assert_msg(k + i != q && n_larger >= 3, "%d: %s", k + i, parts);
        }
        n_run += n_word > 0;
        k += n_word > 0 ? n_word : 1;
    }
    ck_assert_msg(k == n, "%d: %s", k, parts);
    free(parts);
    assert_text("(edge => [...document.querySelectorAll('.stage-word bdi')].every(w => (b => b.top "
                ">= edge.top && b.bottom <= edge.bottom)(w.getBoundingClientRect())))(" ID(
                    "stage-sentence") ".getBoundingClientRect())",
                "true");
    return n_run;
}

/* Chooses the word Q, and waits until its row is drawn. */
static void choose_word(int q)
{
    char expression[64];

    snprintf(expression, sizeof expression, "attnViewer.set({ q: %d, k: -1 })", q);
    perform(expression);
    attn_browser_wait_for_frame(browser);
    attn_browser_wait_for_frame(browser);
}

/* On a telephone each word has a row: arcs on the left, bars of the weights on the right. Words
 * that the head hardly looks at fold into thin rows, which a press unfolds. */
START_TEST(a_telephone_has_a_ladder)
{
    static const char rows[] = "(list => new Set(list.map(w => w.getBoundingClientRect().top)).size"
                               " === list.length)([...document.querySelectorAll('.stage-word')])";
    static const char isDone[] = "document.querySelector('.ladder .stage-word.from small')";
    static const char n_word[] = "document.querySelectorAll('.stage-word:not(.stage-run)').length";
    int n_run;

    enter_on_telephone();
    attn_browser_set_still(browser);
    open_stage("stage=1&h=2.5");
    attn_browser_wait(browser, isDone);
    assert_text(rows, "true");
    ck_assert_int_eq(assert_row(keys, "2.5", 4, 5, "-q"), 0);
    assert_text("[...document.querySelectorAll('#stage-arcs path')].every(a => (b => b.left >= 12 "
                "&& b.right <= 102)(a.getBoundingClientRect()))",
                "true");
    RUN("--html", "p.html", "--live", boys);
    load("stage=1&h=2.5&q=27");
    attn_browser_wait(browser, isDone);
    assert_text(rows, "true");
    n_run = assert_row(boys, "2.5", 27, 34, "-q");
    ck_assert_int_ge(n_run, 2);
    assert_text("document.querySelectorAll('.stage-word')[0].getAttribute('aria-label')",
                "\xe2\x80\xa6 19 words, 10 %");
    choose_word(5);
    ck_assert_int_ge(assert_row(boys, "2.5", 5, 34, "-q"), 1);
    choose_word(27);
    perform("document.querySelector('.stage-run').focus()"); /* a press, by keyboard, unfolds it */
    attn_browser_key(browser, " ", 0);
    attn_browser_wait_for_frame(browser);
    attn_browser_wait_for_frame(browser);
    ck_assert_int_ge((int)attn_browser_number(browser, n_word), 19);
    assert_text("document.activeElement.matches('.stage-word:not(.stage-run)')", "true");
    RUN("--html", "p.html", "--live", drink); /* one key has nearly all of the weight */
    load("stage=1&h=3.6&q=13");
    attn_browser_wait(browser, isDone);
    ck_assert_int_eq(assert_row(drink, "3.6", 13, 14, "-q"), 2);
    perform("location.hash += '&text=' + encodeURIComponent(" ID(
        "live-text") ".value) + '&knockout=13%3E0-3%403.6'");
    attn_browser_wait(browser, ID("live-changes") ".textContent !== '' && attnLive.isDone()");
    attn_browser_wait_for_frame(browser);
    assert_row(drink, "3.6", 13, 14, "--knockout=13>0-3@3.6"); /* other keys are the strongest */
    leave();
}
END_TEST

/* Tokens that are bytes of one character stand together, under a bracket, with the character once.
 */
START_TEST(bytes_of_a_character_share_a_bracket)
{
    enter();
    open_stage("stage=1&h=2.5&text=%E6%88%91%E5%96%9C%20cat");
    for (int i = 0; i < 2; i++) { /* in a line, and in a ladder */
        attn_browser_resize(browser, i == 0 ? 1280 : 400, 900);
        attn_browser_wait(browser, i == 0 ? "document.querySelector('[data-pieces]')"
                                          : "document.querySelector('.ladder [data-pieces]')");
        attn_browser_wait_for_frame(browser);
        assert_text("[...document.querySelectorAll('.stage-whole')].map(g => (g.dataset.pieces ?? "
                    "g.textContent) + g.children.length + (getComputedStyle(g, '::before').width "
                    "=== 'auto' ? '' : '_')).join(' ').replace(/cat.*/, 'cat')",
                    "\xe6\x88\x91"
                    "3_ \xe5\x96\x9c"
                    "3_ cat");
        assert_text("[...document.querySelectorAll('.stage-word')].map(w => w.getAttribute("
                    "'aria-label').replace(/,.*/, '')).join(' ')",
                    "\xe6\x88\x91/1 \xe6\x88\x91/2 \xe6\x88\x91/3 \xe5\x96\x9c/1 \xe5\x96\x9c/2 "
                    "\xe5\x96\x9c/3 cat");
    }
    leave();
}
END_TEST

/* The size of the words is found once for a text and a place, without a layout for each try: other
 * words and heads, changes, bars and chips keep it. Weights stand 8 px below their words. */
START_TEST(the_size_of_words_is_kept)
{
    static const char size[] = "document.getElementById('stage-sentence').style.fontSize";
    char *before;

    enter();
    RUN("--html", "p.html", "--live", boys);
    load("stage=1&h=2.5&q=27");
    attn_browser_wait(browser, "document.querySelector('.lanes .stage-word.from')");
    before = attn_browser_text(browser, size);
    perform("(globalThis.nMeasured = 0, globalThis.nLaidOut = 0, [[CanvasRenderingContext2D, "
            "'measureText', () => { nMeasured++; }], [Element, 'getBoundingClientRect', () => { "
            "nLaidOut++; }]].forEach(([{ prototype }, name, count]) => { const own = "
            "prototype[name]; prototype[name] = function (...list) { count(); return "
            "own.apply(this, list); }; }))");
    choose_word(20);
    perform(ID("stage-cell-9") ".click()");
    attn_browser_click_on(browser, "#stage-head-off");
    wait_for_run();
    attn_browser_wait(browser, "document.querySelector('#stage-arcs.off')");
    assert_text(ID("stage-chips") ".textContent", "head 1.1 off \xc3\x97Restore all");
    assert_text(size, before);
    assert_text("nMeasured", "0");
    attn_browser_resize(browser, 1024, 768);
    attn_browser_wait(browser, "nMeasured > 0");
    attn_browser_wait_for_frame(browser);
    assert_text("nMeasured <= 24 * (document.querySelectorAll('.stage-word').length + 1)", "true");
    assert_text("[...document.querySelectorAll('.stage-word')].filter(w => w.lastChild.textContent)"
                ".map(w => w.lastChild.getBoundingClientRect().top + 5 - w.firstChild"
                ".getBoundingClientRect().bottom).filter(gap => gap < 4 || gap > 16).join()",
                "");
    free(before);
    leave();
}
END_TEST

/* A sentence of which one line is left after folding has bows, and words as large as others. */
START_TEST(what_folding_leaves_is_one_line)
{
    char text[1024];

    enter();
    attn_browser_resize(browser, 1100, 640);
    snprintf(text, sizeof text, "%s. %s. %s. %s. %s. %s", boys, boys, boys, boys, boys, keys);
    RUN("--html", "p.html", "--live", text);
    load("stage=1&h=2.5");
    attn_browser_wait(browser, "document.querySelector('.stage-run')");
    assert_text("new Set([...document.querySelectorAll('.stage-word bdi')].map(w => "
                "Math.round(w.getBoundingClientRect().bottom / 20))).size",
                "1");
    assert_text("document.querySelector('.lanes') === null && [...document.querySelectorAll('"
                "#stage-arcs path')].every(arc => arc.getAttribute('d').includes('C'))",
                "true");
    assert_text("parseFloat(document.getElementById('stage-sentence').style.fontSize) > 30",
                "true");
    load("stage=1&h=0.0&q=40"); /* it looks at all words alike */
    attn_browser_wait(browser, "document.querySelector('.lanes .stage-run')");
    leave();
}
END_TEST

/* On a telephone a paragraph is as high as its text, also where the page becomes longer than the
 * screen, and the heads are folded away until they are asked for. */
START_TEST(a_story_is_whole_on_a_telephone)
{
    static const char heads[] = "[...document.querySelectorAll('.stage-cell')].filter(c => "
                                "c.offsetParent).length";
    FILE *file;

    enter_on_telephone();
    file = fopen("story.json", "w");
    fputs("{\"steps\": [{\"paragraph\": \"Look", file);
    for (int i = 0; i < 150; i++)
        fputs(" and look", file);
    fputs(".\", \"question\": \"Where?\", \"answer\": \"There.\"}]}", file);
    fclose(file);
    RUN("--html", "p.html", "--live", "--story", "story.json", keys);
    for (int i = 0; i < 2; i++) {
        attn_browser_resize(browser, 390, i == 0 ? 800 : 640);
        load("");
        assert_text("[" ID("live-told") ", " ID("stage-story") ", " ID(
                        "live-paragraph") "].every(e => e.scrollHeight <= e.clientHeight)",
                    "true");
        assert_text("(range => (range.selectNodeContents(" ID(
                        "live-paragraph") "), "
                                          "range."
                                          "getBoundingClientRect()."
                                          "bottom <= " ID("live-reveal") ".getBou"
                                                                         "ndingCl"
                                                                         "ientRec"
                                                                         "t()."
                                                                         "top))("
                                                                         "documen"
                                                                         "t."
                                                                         "createR"
                                                                         "ange()"
                                                                         ")",
                    "true");
        assert_text("document.documentElement.scrollHeight > innerHeight && "
                    "document.documentElement.scrollWidth <= innerWidth",
                    "true");
        assert_text(heads, "0");
        attn_browser_click_on(browser, "#live-reveal");
        assert_text("(b => b.top >= 0 && b.bottom <= innerHeight)(" ID(
                        "live-revealed") ".getBoundingClientRect())",
                    "true");
        perform(ID("stage-fold") ".focus()");
        attn_browser_key(browser, " ", 0);
        assert_text(heads, "32");
        assert_text(ID("stage-fold") ".ariaExpanded", "true");
    }
    leave();
}
END_TEST

START_TEST(the_stage_stands_still_and_is_printed)
{
    char *text;

    enter();
    attn_browser_set_still(browser);
    open_stage("");
    attn_browser_wait(browser, "document.querySelector('#stage-arcs path')");
    assert_text("getComputedStyle(document.querySelector('#stage-arcs path')).animationName",
                "none");
    assert_text(
        "getComputedStyle(document.querySelector('.stage-meter .after')).transitionDuration", "0s");
    attn_browser_print(browser, "p.pdf");
    ck_assert_int_eq(
        system("pdftotext -layout p.pdf p.txt && pdfinfo p.pdf | grep -q '^Pages: *1$'"), 0);
    text = attn_browser_text(browser, "1"); /* the page goes on after it */
    free(text);
    /* all five next words, and the whole legend, though paper is as narrow as a telephone */
    ck_assert_int_eq(system("grep -q cabinet p.txt && grep -q 24.6 p.txt && grep -q 7.3 p.txt && "
                            "grep -q elsewhere p.txt && grep -q parks p.txt && ! grep -q -e "
                            "Workbench -e 'Go on' p.txt"),
                     0);
    leave();
}
END_TEST

/* Each term explains itself in the words of the manual's glossary: under the pointer, with the
 * focus, and, on a telephone, at a tap, until another tap. */
START_TEST(terms_are_those_of_the_glossary)
{
    static const char tip[] = ID("stage-tip") ".hidden ? '' : " ID("stage-tip") ".textContent";
    const char *names[] = {"Head", "Looks most at", "duplicate", "induction", "even", "Next word"};

    enter();
    open_stage("");
    borrow("cmd/manual/explanation/glossary.md", "glossary.md");
    assert_text("[...document.querySelectorAll('#live-stage .term:not([hidden])')].length", "16");
    for (size_t i = 0; i < 2 * sizeof names / sizeof *names; i++) {
        char *text, command[1024], mark[256];

        snprintf(
            mark, sizeof mark,
            "[...document.querySelectorAll('#live-stage .term')].find(n => n.id = n.textContent"
            ".includes('%s') ? 'the-term' : '')%s",
            names[i / 2], i % 2 == 0 ? "" : ".focus()");
        free(attn_browser_text(browser, mark));
        if (i % 2 == 0)
            attn_browser_point_at(browser, "#the-term");
        text = attn_browser_text(browser, tip);
        snprintf(command, sizeof command, "tr -d '`' <glossary.md | grep -qF \"%s\"", text);
        ck_assert_msg(strlen(text) > 40 && system(command) == 0, "%s: '%s'", names[i / 2], text);
        free(text);
        attn_browser_point_at(browser, "#stage-said");
        free(attn_browser_text(browser, "document.activeElement.blur()"));
        assert_text(tip, "");
    }
    attn_browser_resize(browser, 390, 844);
    attn_browser_set_touch(browser);
    attn_browser_click_on(browser, "#stage-heads .stage-kind:not([hidden])"); /* a tap */
    assert_text(tip, "A head of this kind looks most at the token itself, from which it looks.");
    attn_browser_click_on(browser, "#stage-does");
    assert_text(tip, "");
    /* a tap in Safari, which gives buttons no focus */
    free(attn_browser_text(
        browser, "document.querySelector('#stage-heads .stage-kind:not([hidden])').click()"));
    assert_text(tip, "A head of this kind looks most at the token itself, from which it looks.");
    attn_browser_click_on(browser, "#stage-does");
    assert_text(tip, "");
    leave();
}
END_TEST

/* A first line says what the program does. Three sentences are offered, which the model can read,
 * each with a head that has something to show. They begin with all heads on. */
START_TEST(sentences_are_offered)
{
    enter();
    open_stage("");
    assert_text(ID("stage-does") ".textContent", "This program guesses the next word.");
    assert_text("[...document.querySelectorAll('.stage-example')].map(b => b.ariaPressed).join()",
                "true,false,false");
    attn_browser_click_on(browser, "#stage-head-off");
    attn_browser_wait(browser, "attnLive.isDone() && document.querySelector('.stage-cell.off')");
    attn_browser_click_on(browser, ".stage-example:nth-child(3)");
    attn_browser_wait(browser, "attnLive.isDone()");
    attn_browser_wait(browser, ID("stage-name") ".textContent === 'Head 3.2'");
    attn_browser_wait(browser,
                      ID("stage-said") ".textContent.startsWith('cup looks at: table 100 %')");
    assert_text("document.querySelectorAll('.stage-cell.off').length", "0");
    assert_text(BARS "[0].firstChild.textContent", "table");
    run((const char *[]){"init", "words", "--set", "d_model=8", "--vocab-from", keys, NULL});
    run((const char *[]){"run", "-m", "words", "--html", "p.html", "--live", "to the keys", NULL});
    load("");
    attn_browser_wait(browser, "document.querySelector('.stage-cell')");
    assert_text(ID("stage-try") ".hidden", "true");
    leave();
}
END_TEST

/* Tokens that are not words have names, in the sentence and among the next words. */
START_TEST(marks_have_names)
{
    enter();
    RUN("--html", "p.html", "--live", "The dog sat.\nThe cat ran.<|endoftext|>");
    load("");
    assert_text(WORDS, "The|dog|sat|.|new line|The|cat|ran|.|end of text");
    assert_text(
        "[...document.querySelectorAll('#live-stage *')].filter(n => n.children.length === 0"
        " && /endoftext|\\\\n/.test(n.textContent) && !n.closest('#live-tokens, "
        ".stage-example')).length",
        "0");
    assert_text(ID("stage-said") ".textContent.startsWith('end of text looks at: ')", "true");
    assert_text(ID("live-text") ".value.endsWith('<|endoftext|>')", "true");
    leave();
}
END_TEST

/* A head has the color of what it looks at most in random tokens, by the measures of the tool.
 * Neither a press nor another text changes it. The workbench has the same kinds. */
START_TEST(heads_have_the_colors_of_their_kinds)
{
    static const char kinds[] =
        "[...document.querySelectorAll('.stage-cell')].map(c => c.dataset.kind).join()";
    char *before;

    enter();
    open_stage("stage=1&text=One%20red%20wolf%20cup%20table%20Tom%20hat%20One%20red%20wolf%20cup");
    attn_browser_wait(browser, ID("stage-cell-26") ".dataset.kind === 'induction'");
    /* jobs are those of random tokens; the others look at words of the model's own texts */
    assert_text("attnLive.ask(['probe', '-m', 'fable', '--json=-', 'induction']).then("
                "r => JSON.parse(r.out).rows.map(row => row.type)).then(list => "
                "[...document.querySelectorAll('.stage-cell')].every((c, i) => "
                "/induction|duplicate/.test(list[i] + c.dataset.kind) ? "
                "list[i] === c.dataset.kind : true))",
                "true");
    assert_text("['marks', 'near', 'even'].every(kind => document.querySelectorAll("
                "`.stage-cell[data-kind=${kind}]`).length > 3)",
                "true");
    before = attn_browser_text(browser, kinds);
    attn_browser_click_on(browser, "#stage-cell-9");
    wait_for_run();
    assert_text(kinds, before);
    type("The keys");
    attn_browser_wait(browser, "attnLive.isDone()");
    assert_text(kinds, before);
    assert_text("attnViewer.run.heads.map((_, h) => attnViewer.typeOf(h).name).join()", before);
    free(before);
    leave();
}
END_TEST

/* Opens the page of a model with SIDE layers of SIDE heads. */
static void open_heads(int side)
{
    char name[16], layers[32], heads[32], width[32];

    snprintf(name, sizeof name, "%d", side);
    snprintf(layers, sizeof layers, "n_layer=%d", side);
    snprintf(heads, sizeof heads, "n_head=%d", side);
    snprintf(width, sizeof width, "d_model=%d", 2 * side);
    run((const char *[]){"init", name, "--set", width, "--set", layers, "--set", heads,
                         "--vocab-from", keys, NULL});
    run((const char *[]){"run", "-m", name, "--html", "p.html", "--live", keys, NULL});
    load("stage=1&h=0.0&life=words");
    attn_browser_wait(browser, "document.querySelector('.crowded .stage-cell.chosen')");
}

/* The names of the groups of tiles. */
#define GROUPS                                                                                     \
    "[...document.querySelectorAll('.stage-group')].map(g => g.getAttribute('aria-label')).join()"

/* Each tile has a place of its own, which is PX wide. */
#define APART(px)                                                                                  \
    "(tiles => new Set(tiles.map(c => c.style.transform)).size === tiles.length && tiles.every("   \
    "c => c.offsetWidth === " #px " && c.offsetHeight === " #px "))([...document"                  \
    ".querySelectorAll('.stage-cell')])"

/* A head stands under the word at which it looks most from the chosen word, the stronger, the more
 * the next word changes without it. A press on the name of a group switches its heads. */
START_TEST(heads_stand_under_words)
{
    static const char places[] =
        "attnLive.ask(['run', '-m', 'fable', '--queries=%d', '--sites=pattern', '--json=-', "
        "'The keys to the cabinet']).then(r => Object.values(JSON.parse(r.out).tensors)"
        ".slice(1).flatMap(rows => rows.map(([row]) => row)).filter(row => "
        "row.length === 5)).then(rows => rows.map((row, h) => { const most = Math.max(...row), "
        "ends = [...document.querySelectorAll('.stage-word'), { getBoundingClientRect: () => ({ "
        "left: Infinity }) }].map(b => b.getBoundingClientRect().left), tile = "
        "document.getElementById('stage-cell-' + h).getBoundingClientRect(), k = "
        "row.indexOf(most); return most < 0.34 || tile.left >= ends[k] - 1 && tile.right < ends[k "
        "+ 1]; })).then(list => list.length + ' ' + list.every(is => is))";
    char expression[1024];

    enter();
    attn_browser_set_still(browser);
    attn_browser_resize(browser, 1366, 768);
    open_stage("");
    attn_browser_wait(browser, "document.querySelector('.stage-group')");
    assert_text(GROUPS, "The: 14 heads,keys: 2 heads,to: 4 heads,the: 2 heads,cabinet: 1 head,"
                        "9 heads look everywhere");
    snprintf(expression, sizeof expression, places, 4);
    assert_text(expression, "32 true");
    assert_text(APART(36), "true");
    assert_text("attnLive.ask(['ablate', '-m', 'fable', '--metric=kl', '--json=-', "
                "'The keys to the cabinet']).then(r => JSON.parse(r.out).rows.slice(1).map(row => "
                "row.kl)).then(list => list.filter((kl, h) => Math.abs(parseFloat(document"
                ".getElementById('stage-cell-' + h).style.getPropertyValue('--strength')) - 25 - "
                "75 * Math.sqrt(kl / Math.max(...list))) < 1).length)",
                "32");
    assert_text("[...document.querySelectorAll('.stage-cell.most')].map(c => c.id).join()",
                "stage-cell-21");
    assert_text(ID("stage-cell-21") ".getAttribute('aria-label')",
                "head 2.5, which looks most at: near, cabinet looks at: keys 79 %");
    choose_word(2);
    attn_browser_wait(browser, GROUPS ".startsWith('The: ') && !" GROUPS ".includes('cabinet')");
    snprintf(expression, sizeof expression, places, 2);
    assert_text(expression, "32 true");
    choose_word(4);
    attn_browser_wait(browser, GROUPS ".includes('cabinet')");
    assert_text("getComputedStyle(document.querySelector('.stage-cell.moves')).transitionDuration",
                "0s");
    attn_browser_click_on(browser, ".stage-group:nth-child(2)");
    attn_browser_wait(browser, "document.querySelectorAll('.stage-cell.off').length === 2");
    wait_for_run();
    assert_text(ID("live-changes") ".textContent", "head 2.5 off \xc3\x97head 3.0 off \xc3\x97");
    assert_text("parseFloat(getComputedStyle(" ID("stage-strip") ").height) < 300", "true");
    leave();
}
END_TEST

/* The stage of many heads opens with those that write most of the next word, whichever text is
 * typed; a press chooses one. */
START_TEST(many_heads_open_with_eight)
{
    enter();
    run((const char *[]){ATTN_INIT_MANY, keys, NULL});
    run((const char *[]){"run", "-m", "many", "--html", "p.html", "--live", keys, NULL});
    load("stage=1&h=0.0");
    attn_browser_wait(browser, "document.querySelectorAll('#life-picture .plate').length === 8");
    assert_text(ID("life-heads") ".getAttribute('aria-pressed')", "true");
    attn_browser_click_on(browser, "#life-picture .plate:last-child");
    attn_browser_wait(browser, "attnViewer.run.heads[attnViewer.state.h].at === "
                               "document.querySelector('.plate.near')?.dataset.head && "
                               "document.querySelector('.plate:last-child').matches('.near')");
    assert_text("(({ stroke, strokeWidth }) => stroke + ' ' + strokeWidth)(getComputedStyle("
                "document.querySelector('.plate.near')))",
                "rgb(200, 68, 11) 2px");
    attn_browser_key(browser, "ArrowRight",
                     0); /* the ring of the focus is not that of the choice */
    attn_browser_key(browser, "ArrowLeft", 0);
    assert_text("(({ stroke, strokeWidth }) => stroke + ' ' + strokeWidth)(getComputedStyle("
                "document.querySelector('.plate.near:focus')))",
                "rgb(0, 0, 0) 4px");
    attn_browser_resize(browser, 390, 844); /* a telephone lists the parts */
    attn_browser_wait(browser, ID("look") ".getBoundingClientRect().width === 0");
    assert_text("document.querySelectorAll('#parts tbody tr').length", "11");
    attn_browser_click_on(browser, "#parts [data-name]:nth-child(2)");
    attn_browser_wait(browser, "attnViewer.run.heads[attnViewer.state.h].at === "
                               "document.querySelector('#parts .near').dataset.name");
    attn_browser_click_on(browser, "#life-words");
    attn_browser_wait(browser, "location.hash.includes('life=words')");
    assert_text("document.querySelector('.plate')?.offsetParent ?? null", "null");
    attn_browser_wait(browser, "document.querySelector('.stage-cell.most')");
    attn_browser_click_on(browser, "#life-heads");
    type("the keys to"); /* with the eight heads open, no effect of all is asked for */
    assert_text("document.querySelector('.stage-cell.most')", "null");
    attn_browser_click_on(browser, "#life-words");
    attn_browser_wait(browser, "document.querySelector('.stage-cell.most')");
    leave();
}
END_TEST

/* Tiles of many heads are small. A tile has its name under the pointer. All are reached by
 * keyboard, and by a list. */
START_TEST(many_heads_are_small_tiles)
{
    enter();
    open_heads(12);
    attn_browser_wait(browser, "document.querySelector('.stage-group')");
    assert_text("document.querySelectorAll('.stage-cell').length", "144");
    assert_text(APART(24), "true");
    attn_browser_point_at(browser, "#stage-cell-143");
    assert_text("getComputedStyle(" ID("stage-cell-143") ", '::after').content.startsWith("
                                                         "'\"11.11')",
                "true");
    attn_browser_point_at(browser, "#stage-said");
    free(attn_browser_text(browser,
                           "(globalThis.reached = new Set(), " ID("stage-cell-0") ".focus())"));
    for (int i = 0; i < 144; i++) {
        free(
            attn_browser_text(browser, "reached.add(attnViewer.run.heads[attnViewer.state.h].at)"));
        attn_browser_key(browser, "ArrowRight", 0);
    }
    assert_text("reached.size + ', ' + document.activeElement.id", "144, stage-cell-143");
    attn_browser_key(browser, "ArrowUp", 0);
    assert_text("attnViewer.state.h", "131");
    assert_text(ID("stage-pick") ".value", "131");
    attn_browser_key(browser, "x", 0);
    wait_for_run();
    assert_text(ID("live-changes") ".textContent", "head 10.11 off \xc3\x97");
    free(attn_browser_text(browser, "(list => { list.value = '77'; list.dispatchEvent(new "
                                    "Event('change')); })(" ID("stage-pick") ")"));
    attn_browser_wait(browser, ID("stage-name") ".textContent === 'Head 6.5'");
    attn_browser_resize(browser, 390, 844);
    attn_browser_set_touch(browser);
    open_heads(32);
    attn_browser_wait(browser, "document.querySelector('.stage-group')");
    assert_text(APART(12), "true");
    assert_text("document.documentElement.scrollWidth <= innerWidth && " ID(
                    "stage-pick") ".offsetHeight >= 44",
                "true");
    leave();
}
END_TEST

/* The tiles have the height that the sentence leaves, and more of them scroll. */
START_TEST(tiles_take_the_free_height)
{
    enter();
    attn_browser_resize(browser, 1440, 900);
    open_heads(12);
    attn_browser_wait(browser, "document.querySelector('.stage-group')");
    assert_text("(strip => strip.scrollHeight <= strip.clientHeight)(" ID("stage-strip") ")",
                "true");
    assert_text("(" ID("stage-strip") ".style.setProperty('--need', '330px'), "
                                      "getComputedStyle(" ID("stage-strip") ").height)",
                "330px");
    assert_text("(" ID("stage-strip") ".style.setProperty('--need', '3000px'), "
                                      "document.documentElement.scrollHeight <= 900 && " ID(
                                          "stage-strip") ".clientHeight > 300)",
                "true");
    leave();
}
END_TEST

/* The strip of tiles has the same room with a scrollbar and without one. Else tiles that fit
 * without it do not fit with it, and the page lays them for ever. A room that changes all the same
 * does not freeze the page. */
START_TEST(tiles_are_laid_once)
{
    enter();
    attn_browser_show_scrollbars(browser);
    open_heads(12);
    attn_browser_wait(browser, "document.querySelector('.stage-group')");
    assert_text("(strip => ['hidden', 'scroll', 'auto'].map(how => (strip.style.overflowY = how, "
                "strip.clientWidth)).every((width, i, all) => width === all[0] && width + 6 < "
                "strip.offsetWidth))(" ID("stage-strip") ")",
                "true");
    free(attn_browser_text(browser, "(globalThis.asked = 0, Object.defineProperty(" ID(
                                        "stage-strip") ", "
                                                       "'clientWidth', { get() { if (++asked > "
                                                       "100) throw Error('for ever'); return "
                                                       "asked % 2 ? 938 : 623; } }))"));
    for (int word = 0; word < 4; word++) {
        free(attn_browser_text(browser, "globalThis.asked = 0"));
        choose_word(word);
        attn_browser_wait_for_frame(browser);
        attn_browser_wait_for_frame(browser);
        assert_text("asked < 10", "true");
    }
    leave();
}
END_TEST

/* A step may have a question with its answer, and a steering, whose file is in the page. */
START_TEST(steps_ask_and_steer)
{
    static const char story[] =
        "{\"steps\": [{\"text\": \"The keys to the cabinet\", \"paragraph\": \"Look.\", "
        "\"question\": \"Which word is next?\", \"answer\": \"It is are.\", \"view\": "
        "\"v=grid&h=2.5&q=4&k=3\"}, {\"steer\": "
        "[\"resid_pre:2@-1=rows/blocks.2.hook_resid_pre.npy*3\"]}]}";
    FILE *file;
    char *value;

    enter();
    run((const char *[]){"run", "-m", "fable", "--layers", "2", "--queries", "1", "--sites",
                         "resid_pre", "--npy", "rows", "-q", "The dogs", NULL});
    file = fopen("story.json", "w");
    fputs(story, file);
    fclose(file);
    RUN("--html", "p.html", "--live", "--story", "story.json", "The");
    unlink("rows/blocks.2.hook_resid_pre.npy");
    load("");
    attn_browser_wait(browser,
                      "document.querySelector('#stage-arcs .picked')?.dataset.key === '3'");
    assert_text(ID("live-inquired") ".textContent", "Which word is next?");
    assert_text(ID("live-revealed") ".textContent", "");
    attn_browser_click_on(browser, "#live-reveal");
    assert_text(ID("live-revealed") ".textContent", "It is are.");
    attn_browser_click_on(browser, "#live-on");
    wait_for_run();
    assert_text(ID("live-inquiry") ".hidden", "true");
    assert_text(ID("live-changes") ".textContent",
                "steer resid_pre:2@-1=rows/blocks.2.hook_resid_pre.npy*3 \xc3\x97");
    value = attn_browser_text(browser, BARS ".map(b => b.lastChild.textContent).join()");
    run((const char *[]){"run", "-m", "fable", "--layers", "2", "--queries", "1", "--sites",
                         "resid_pre", "--npy", "rows", "-q", "The dogs", NULL});
    {
        struct attn_ran ran = attn_command((const char *[]){
            "run", "-m", "fable", "-q", "--steer",
            "resid_pre:2@-1=rows/blocks.2.hook_resid_pre.npy*3", "--top", "1", keys, NULL});
        char expected[64];
        double p;

        ck_assert_int_eq(sscanf(ran.out, "%lf", &p), 1);
        snprintf(expected, sizeof expected, " %.1f %%", 100 * p);
        ck_assert_msg(strstr(value, expected) != NULL, "%s is not in %s", expected, value);
        attn_ran_release(&ran);
    }
    free(value);
    leave();
}
END_TEST

/* All texts of the stage are those of the file, but tokens; so are the workbench's that it has. */
START_TEST(controls_are_in_another_language)
{
    char path[4096];

    enter();
    snprintf(path, sizeof path, "%s/data/words/de.json", root);
    RUN("--html", "p.html", "--live", "--live-words", path, "The first of the Heads");
    load("");
    attn_browser_wait(browser, "document.querySelector('#stage-arcs path')");
    assert_text("document.documentElement.lang", "de");
    assert_text(
        "(words => [...document.scripts].flatMap(s => "
        "[...s.textContent.matchAll(/\\bt\\((?:[^'\"()]*\\? "
        ")?'([^'\\\\]+)'(?: : '([^'\\\\]+)')?/g)]).flatMap(m => m.slice(1)).filter(text => text && "
        "!(text in words)).join('|'))(attnPage.given.language)",
        "");
    assert_text(ID("stage-workbench") ".textContent", "Werkbank");
    assert_text(WORDS, "The|first|of|the|H|ead|s");
    attn_browser_click_on(browser, "#stage-cell-21");
    attn_browser_click_on(browser, "#stage-head-off");
    wait_for_run();
    assert_text(
        "(english => (function texts(node) { return node.nodeType === 3 ? [node.data.trim()] : "
        "node.matches('bdi, .stage-word, .stage-group, .stage-cell') ? [] : "
        "[...node.childNodes].flatMap(texts).concat(['title', "
        "'aria-label'].map(name => node.getAttribute(name))); })(" ID(
            "live-stage") ")"
                          ".filter(text => english.test(text ?? '')).join('|'))"
                          "(/"
                          "\\b(the|head|heads|off|looks|press|next|go|sentence|word|first|far|self|"
                          "switch|layer)\\b/i)",
        "");
    attn_browser_wait(browser, "!" ID("life-like") ".hidden"); /* it moves the other tabs */
    attn_browser_click_on(browser, "#life-open");
    attn_browser_wait(browser, LIFE_IS_DONE);
    assert_text("[...document.querySelectorAll('#life-picture text')].filter(n => ['for', "
                "'against', 'rest', 'without the change', 'sum'].includes(n.dataset.i) "
                "|| n.textContent === 'Schicht').map(n => /^\\S+/.exec(n.textContent)[0]).sort()"
                ".join()",
                "Alle,Rest,Schicht,für,gegen,ohne");
    attn_browser_click_on(browser, "#stage-workbench");
    assert_text(ID("live-off") ".textContent + " ID("view-matrix") ".textContent",
                "Kopf 2.5 einschaltenMatrix");
    leave();
}
END_TEST

/* An encoder has its next word at the mask. */
START_TEST(a_mask_is_filled_on_the_stage)
{
    enter();
    open_bert(BERT("--html", "p.html", "--live", "the cat [MASK]."), "stage=1");
    assert_text(ID("stage-on") ".hidden", "true");
    free(attn_browser_text(browser, "globalThis.first = " BARS
                                    ".find(b => !b.disabled).firstChild.textContent"));
    attn_browser_click_on(browser, ".stage-bar:not(:disabled)");
    attn_browser_wait(browser, "attnLive.isDone()");
    assert_text(ID("live-text") ".value === 'the cat ' + first + '.'", "true");
    leave();
}
END_TEST

/* --- Pictures -------------------------------------------------------------------------------- */

/* Opens the page of a model, made with rgb.png. Its picture is there under the name that the page
 * has for it, so that command lines are the same. */
static void open_picture(const char *archive, const char *const *args, const char *hash)
{
    unpack(archive, args[2]);
    unpack("pictures.tar", "");
    ck_assert_int_eq(symlink("rgb.png", "picture-0.npy"), 0);
    run(args);
    attn_browser_load(browser, "p.html", hash);
    attn_browser_wait(browser, "globalThis.attnLive && attnLive.isReady() && attnLive.isDone()");
}

#define SEEN "--image", "rgb.png", "-q", "--html", "p.html", "--live"
#define CLS "document.querySelector('#stage .chip').textContent"

static void open_vit(const char *hash)
{
    open_picture("image-encoders.tar", (const char *[]){"run", "-m", "vit", SEEN, NULL}, hash);
}

static void open_clip(const char *hash)
{
    open_picture(
        "clip.tar",
        (const char *[]){"run", "-m", "clip", SEEN, "--label", "a cat", "--label", "a dog", NULL},
        hash);
}

/* Chooses FILE for another picture, and waits until it is shown. */
static void choose_picture(const char *file)
{
    char path[4200], folder[3000];

    ck_assert_ptr_nonnull(getcwd(folder, sizeof folder));
    snprintf(path, sizeof path, "%s/%s", folder, file);
    attn_browser_click_on(browser, "#live-choose");
    attn_browser_choose(browser, "#live-image", (const char *[]){path}, 1);
    snprintf(path, sizeof path, ID("live-name") ".textContent === '%s' && attnLive.isDone()", file);
    attn_browser_wait(browser, path);
}

START_TEST(pictures_have_the_bits_of_the_binary)
{
    static const char *const files[] = {"gray.png",        "palette.png", "interlaced.png",
                                        "gamma.png",       "444.jpg",     "420.jpg",
                                        "progressive.jpg", "turned5.jpg", "turned8.jpg"};

    enter();
    open_vit("");
    SAME("run", "-m", "vit", "--image", "picture-0.npy", "--sites", "*", "--json", "-");
    SAME("run", "-m", "vit", "--image", "picture-0.npy", "--ablate", "0.1", "--top", "2");
    SAME("ablate", "-m", "vit", "--image", "picture-0.npy", "--target", "LABEL_1", "--json", "-");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[32];

        choose_picture(files[i]);
        snprintf(path, sizeof path, "picture-%zu.npy", i + 1);
        ck_assert_int_eq(symlink(files[i], path), 0);
        SAME("run", "-m", "vit", "--image", path, "--tidy", "-");
    }
    leave();
}
END_TEST

START_TEST(labels_have_the_bits_of_the_binary)
{
    enter();
    open_clip("");
    SAME("run", "-m", "clip", "--image", "picture-0.npy", "--label", "a cat", "--label", "a dog");
    SAME("run", "-m", "clip", "--image", "picture-0.npy", "--sites", "*", "--json", "-");
    SAME("ablate", "-m", "clip", "--image", "picture-0.npy", "--label", "a cat", "--label", "a dog",
         "--target", "a dog", "--json", "-");
    leave();
}
END_TEST

#define MAPS                                                                                       \
    "[...document.querySelectorAll('.thumb canvas, #stage canvas')].map(c => "                     \
    "c.toDataURL()).join()"

/* All maps over it are those of a page that was made with it. */
START_TEST(maps_are_those_of_the_picture)
{
    char *made, *chosen = NULL;

    enter();
    unpack("image-encoders.tar", "vit");
    unpack("pictures.tar", "");
    run((const char *[]){"run", "-q", "-m", "vit", "--image", "gray.png", "--html", "gray.html",
                         "--live", NULL});
    attn_browser_load(browser, "gray.html", "v=tokens&h=0.1");
    attn_browser_wait(browser, "globalThis.attnLive && attnLive.isReady() && attnLive.isDone()");
    made = attn_browser_text(browser, MAPS);
    open_vit("v=tokens&h=0.1");
    choose_picture("gray.png");
    for (int i = 0; i < 50 && (!chosen || strcmp(chosen, made) != 0); i++) { /* all are read soon */
        free(chosen);
        free(attn_browser_text(browser, "new Promise(done => setTimeout(done, 50))"));
        chosen = attn_browser_text(browser, MAPS);
    }
    ck_assert_msg(strcmp(chosen, made) == 0, "other maps");
    free(chosen);
    free(made);
    leave();
}
END_TEST

START_TEST(another_picture_is_shown)
{
    char *before, *after;

    enter();
    open_vit("v=tokens");
    assert_text(ID("live-text") ".offsetParent === null && " ID("live-tokens") ".hidden", "true");
    assert_text(ID("live-name") ".textContent", "rgb.png");
    assert_text(ID("about") ".textContent", "vit: 6 heads, 3 x 2 patches");
    before = attn_browser_text(browser, CLS);
    choose_picture("gray.png");
    after = attn_browser_text(browser, CLS);
    ck_assert_str_ne(before, after);
    attn_browser_click_on(browser, "#live-off");
    wait_for_run();
    assert_text("location.hash.endsWith('&ablate=0.0')", "true");
    attn_browser_click_on(browser, "#live-command");
    assert_text(ID("live-line") ".value",
                "attn-cli run -m vit --ablate 0.0 --html page.html --image gray.png");
    attn_browser_click_on(browser, "#dialog-close");
    attn_browser_click_on(browser, "#live-restore");
    wait_for_run();
    assert_text("location.hash.endsWith('&label=')", "true"); /* nothing is changed any more */
    attn_browser_click_on(browser, "#live-first");
    attn_browser_wait(browser, "attnLive.isDone()");
    assert_text(CLS, before);
    attn_browser_key(browser, "ArrowDown", 0); /* the patch that is looked from, once a key */
    assert_text("location.hash.includes('q=1')", "true");
    free(before);
    free(after);
    leave();
}
END_TEST

/* Puts a file of these BYTES, a list of JavaScript, onto the page. */
static void drop(const char *name, const char *bytes)
{
    char text[512];

    snprintf(text, sizeof text,
             "(files => { files.items.add(new File([%s], '%s')); document.body.dispatchEvent("
             "new DragEvent('drop', {bubbles: true, cancelable: true, dataTransfer: files})); })"
             "(new DataTransfer())",
             bytes, name);
    free(attn_browser_text(browser, text));
}

START_TEST(a_picture_is_dropped)
{
    enter();
    open_vit("");
    drop("notes.txt", "'no picture'");
    attn_browser_wait(browser, ID("live-status") ".classList.contains('problem')");
    assert_text(STATUS, "'notes.txt' is no picture that this browser reads, expected PNG, "
                        "JPEG or WebP");
    assert_text(ID("live-name") ".textContent", "rgb.png");
    drop("seen.png", "Uint8Array.from(atob(attnViewer.$('live-seen').src.split(',')[1]), "
                     "c => c.charCodeAt(0))");
    attn_browser_wait(browser, ID("live-name") ".textContent === 'seen.png' && attnLive.isDone()");
    assert_text(ID("live-status") ".classList.contains('problem')", "false");
    leave();
}
END_TEST

START_TEST(labels_are_typed)
{
    enter();
    open_clip("");
    assert_text("document.querySelectorAll('#live-expected tbody tr').length", "2");
    type_into("#live-labels input", "the mat");
    assert_text(EXPECTED ".includes('the mat')", "true");
    assert_text("location.hash.includes('label=the%20mat&label=a%20dog')", "true");
    attn_browser_click_on(browser, "#live-label");
    assert_text("document.activeElement.getAttribute('aria-label')", "Label 3");
    for (const char *at = "cat"; *at != '\0'; at++)
        attn_browser_key(browser, (char[]){*at, '\0'}, 0);
    attn_browser_wait(browser, "attnLive.isDone()");
    assert_text("document.querySelectorAll('#live-expected tbody tr').length", "3");
    attn_browser_click_on(browser, "#live-labels button");
    attn_browser_wait(browser, "attnLive.isDone()");
    assert_expected((const char *[]){"run", "-q", "-m", "clip", "--image", "rgb.png", "--label",
                                     "a dog", "--label", "cat", NULL},
                    "a dog");
    leave();
}
END_TEST

/* A story of a page over a picture brings its pictures along, and is told in the workbench. */
START_TEST(a_story_has_pictures)
{
    FILE *file;

    enter();
    unpack("image-encoders.tar", "vit");
    unpack("pictures.tar", "");
    file = fopen("story.json", "w");
    fputs("{\"steps\": [{\"paragraph\": \"One.\"}, {\"image\": \"gray.png\"}, "
          "{\"image\": "
          "\"rgb.png\", \"ablate\": [\"0.1\"]}]}",
          file);
    fclose(file);
    run((const char *[]){"run", "-m", "vit", SEEN, "--story", "story.json", NULL});
    unlink("gray.png");
    load("");
    assert_text(IS_STAGE, "false");
    assert_text(ID("live-name") ".textContent", "rgb.png");
    attn_browser_click_on(browser, "#live-on");
    wait_for_run();
    assert_text(ID("live-name") ".textContent", "gray.png");
    attn_browser_click_on(browser, "#live-on");
    wait_for_run();
    assert_text(ID("live-name") ".textContent", "rgb.png");
    assert_text(ID("live-changes") ".textContent", "head 0.1 off \xc3\x97");
    leave();
}
END_TEST

START_TEST(pictures_fit_a_telephone_and_are_named)
{
    enter_on_telephone();
    open_clip("label=a%20cat&label=a%20mat&ablate=0.1");
    attn_browser_wait(browser, EXPECTED ".includes('a mat')");
    assert_fits_fingers();
    assert_all_named();
    assert_text("[...document.images].every(i => i.alt)", "true");
    leave();
}
END_TEST

START_TEST(arithmetic_and_command)
{
    enter();
    open_page("v=matrix&h=2.5&ablate=2.4&text=The%20keys");
    wait_for_run();
    assert_text("(rows => rows.length > 3 && rows.every(r => r.cells.length === 4))"
                "([...document.querySelectorAll('#live-expected tbody tr')])",
                "true");
    attn_browser_click_on(browser, "#live-why");
    attn_browser_wait(browser, ID("dialog") ".open");
    attn_browser_click_on(browser, "#why-text");
    attn_browser_wait(browser,
                      "document.querySelector('.live-answer')?.textContent.includes('softmax')");
    assert_text("document.querySelectorAll('#dialog [aria-pressed=true]').length", "1");
    attn_browser_click_on(browser, "#dialog-close");
    attn_browser_click_on(browser, "#live-command");
    assert_text(ID("live-line") ".value",
                "attn-cli run -m fable --ablate 2.4 --html page.html 'The keys'");
    leave();
}
END_TEST

/* The arithmetic is that of the head, the query, the text and the changes; its numbers are those
 * that --explain prints. */
START_TEST(arithmetic_is_looked_into)
{
    static const char weights[] =
        "[...document.querySelectorAll('#neurons tbody tr[data-k]')].map(r => "
        "r.cells[5].textContent).join()";
    static const char told[] =
        "attnLive.ask(['run', '-m', 'fable', '--heads=%s', '--queries=%s', '--ablate=2.4', "
        "'--precision=4', '--sites=pattern', '--csv=-', '%s']).then(r => r.out.split('\\n')[1]"
        ".split(',').slice(1).filter(Boolean).slice(0, %d).map(x => Number(x).toFixed(4)).join())";
    static const struct {
        const char *step, *head, *query, *text;
        int n;
    } steps[] = {{"0", "2.5", "2", "The keys to", 3},
                 {"attnViewer.set({ h: attnViewer.headAt('1.3') })", "1.3", "2", "The keys to", 3},
                 {"attnViewer.set({ q: 1 })", "1.3", "1", "The keys to", 2},
                 {"attnLive.follow('The dogs of the')", "1.3", "1", "The dogs of the", 2}};
    char expression[512];

    enter();
    open_page("v=matrix&h=2.5&ablate=2.4&text=The%20keys%20to");
    attn_browser_wait(browser, "attnLive.isDone()");
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        char place[64], *expected;

        free(attn_browser_text(browser, steps[i].step));
        attn_browser_wait(browser, "attnLive.isDone()");
        attn_browser_click_on(browser, "#live-why"); /* without a key: that with the most weight */
        attn_browser_wait(browser, ID("dialog") ".open");
        attn_browser_click_on(browser, "#why-arithmetic");
        snprintf(place, sizeof place, ID("neurons") "?.dataset.row === '%s,%s'", steps[i].head,
                 steps[i].query);
        attn_browser_wait(browser, place);
        attn_browser_wait(browser, "attnLive.isDone()");
        snprintf(expression, sizeof expression, told, steps[i].head, steps[i].query, steps[i].text,
                 steps[i].n);
        expected = attn_browser_text(browser, expression);
        snprintf(expression, sizeof expression, "%s === '%s'", weights, expected);
        attn_browser_wait(browser, expression);
        free(expected);
        attn_browser_click_on(browser, "#dialog-close");
    }
    leave();
}
END_TEST

START_TEST(nothing_is_fetched)
{
    enter();
    open_page("");
    assert_text("fetch('https://example.com/').then(() => 'fetched', () => 'refused')", "refused");
    assert_text("(() => { try { new Worker('data:text/javascript,0'); return 'made'; } catch { "
                "return 'refused'; } })()",
                "made"); /* the refusal comes as an event */
    attn_browser_forgive(browser);
    leave();
}
END_TEST

START_TEST(a_hundred_sentences_leave_nothing_behind)
{
    double before, after;
    char text[64];

    enter();
    open_page("");
    for (int i = 0; i < 100; i++) {
        if (i == 20)
            before = attn_browser_number(browser, "document.querySelectorAll('*').length");
        snprintf(text, sizeof text, "attnLive.follow('The dog sat %d times')", 10 + i % 90);
        free(attn_browser_text(browser, text));
    }
    after = attn_browser_number(browser, "document.querySelectorAll('*').length");
    ck_assert_msg(fabs(after - before) < 60, "%g elements, then %g", before, after);
    leave();
}
END_TEST

START_TEST(fits_a_telephone_and_is_dark)
{
    enter_on_telephone();
    open_page("text=The%20dogs%20in%20the%20garden&ablate=2.5,2.4");
    wait_for_run();
    assert_fits_fingers();
    leave();
}
END_TEST

/* A button says what it does, and of which head: that below the heads, and a small one on each for
 * a mouse. */
START_TEST(buttons_name_the_head_that_they_switch)
{
    static const char above[] = ID("thumbs") ".getBoundingClientRect().bottom <= " ID(
        "live-off") ".getBoundingClientRect().top";

    enter_on_telephone();
    open_page("v=grid&h=2.5");
    assert_text(above, "true");
    attn_browser_point_at(browser, "#thumb-20");
    assert_text("[...document.querySelectorAll('.switch')].every(s => !s.offsetParent)", "true");
    assert_text(ID("live-off") ".textContent", "Switch head 2.5 off");
    attn_browser_click_on(browser, "#live-off");
    attn_browser_wait(browser, "attnLive.isDone()");
    assert_text(ID("live-off") ".textContent", "Switch head 2.5 on");
    assert_text("document.querySelector('#thumb-21 .switch').textContent", "switch on");
    assert_text("document.querySelector('#thumb-20 .switch').textContent", "switch off");
    attn_browser_key(browser, "ArrowLeft", 0);
    assert_text(ID("live-off") ".textContent", "Switch head 2.4 off");
    leave();
}
END_TEST

START_TEST(everything_has_a_name)
{
    enter();
    open_page("");
    assert_all_named();
    open_stage("h=2.5&stage=1"); /* and nothing that is pressed is small */
    assert_text("[...document.querySelectorAll('button, select, input')].filter(node => "
                "node.offsetParent && (box => Math.min(box.width, box.height) < 23.5)"
                "(node.getBoundingClientRect())).map(node => node.textContent).join()",
                "");
    leave();
}
END_TEST

/* Two pictures to look at, beside the program: a sentence that was typed, and a key that is knocked
 * out. */
START_TEST(is_seen)
{
    static const char *const hashes[] = {
        "v=matrix&h=2.5&q=4&k=1&text=The%20keys%20to%20the%20cabinet",
        "v=matrix&h=2.5&w=difference&text=The%20keys%20to%20the%20cabinet&knockout=4%3E1&ablate=1."
        "1"};
    const char *build = getenv("BUILD") ? getenv("BUILD") : "build/release";

    enter();
    attn_browser_resize(browser, 1100, 800);
    for (int i = 0; i < 2; i++) {
        char path[4096];

        open_page(hashes[i]);
        wait_for_run();
        free(attn_browser_text(browser, "(" ID("live-status") ".textContent = '5 tokens', "
                                                              "document.activeElement.blur())"));
        snprintf(path, sizeof path, "%s/%s/live-%d.png", root, build, i + 1);
        attn_browser_screenshot(browser, path);
    }
    leave();
}
END_TEST

ATTN_SUITE("browser_live", fable_has_the_bits_of_the_binary,
           attention_and_questions_have_the_bits_of_the_binary,
           families_have_the_bits_of_the_binary, a_gguf_file_can_be_chosen,
           checkpoints_have_the_bits_of_the_binary, what_is_typed_is_shown,
           no_picture_is_older_than_the_one_before, heads_are_switched_off_and_on,
           cells_are_knocked_out, knockouts_are_of_tokens_that_stay, an_address_restores_all_of_it,
           heads_are_named_as_the_tool_names_them, a_mistake_is_told_in_the_words_of_the_tool,
           a_broken_model_is_told, a_large_model_is_asked_for, the_stage_opens_the_model,
           heads_that_park_are_a_number, a_story_has_steps, a_story_hides_what_is_guessed,
           a_sentence_is_guessed, shipped_stories_are_told, letters_are_sorted, opens_on_the_stage,
           arcs_are_of_the_word_under_the_pointer, a_translator_says_why,
           translations_have_the_bits_of_the_binary, a_sentence_is_translated, a_story_has_sources,
           a_translation_fits_a_telephone, an_arc_says_why, why_is_asked_by_keyboard,
           a_press_chooses_a_head_and_a_switch_turns_it_off, next_words_are_written,
           the_address_has_stage_and_workbench, the_stage_is_used_by_keyboard,
           the_stage_fits_a_telephone, arcs_cross_no_word, a_telephone_has_a_ladder,
           the_size_of_words_is_kept, what_folding_leaves_is_one_line,
           bytes_of_a_character_share_a_bracket, a_story_is_whole_on_a_telephone,
           the_stage_stands_still_and_is_printed, terms_are_those_of_the_glossary,
           sentences_are_offered, marks_have_names, heads_have_the_colors_of_their_kinds,
           heads_stand_under_words, many_heads_open_with_eight, many_heads_are_small_tiles,
           tiles_are_laid_once, tiles_take_the_free_height, steps_ask_and_steer,
           controls_are_in_another_language, a_mask_is_filled_on_the_stage,
           pairs_have_the_bits_of_the_binary, a_second_text_is_typed,
           a_second_text_is_offered_to_models_that_take_one, tokens_are_added_as_it_was_said,
           two_boxes_fit_a_telephone, pictures_have_the_bits_of_the_binary,
           labels_have_the_bits_of_the_binary, maps_are_those_of_the_picture,
           another_picture_is_shown, a_picture_is_dropped, labels_are_typed, a_story_has_pictures,
           pictures_fit_a_telephone_and_are_named, arithmetic_and_command,
           arithmetic_is_looked_into, nothing_is_fetched, a_hundred_sentences_leave_nothing_behind,
           fits_a_telephone_and_is_dark, buttons_name_the_head_that_they_switch,
           everything_has_a_name, ribbons_add_up_to_the_answer, two_sentences_are_back_to_back,
           a_pair_has_its_circuit, a_head_is_tried_in_sentences_of_the_same_form,
           hidden_tabs_ask_for_nothing, a_ribbon_is_removed_and_comes_back,
           ribbons_are_pressed_by_keyboard, a_life_has_any_length_and_fits_a_telephone,
           other_models_have_a_life, is_seen)
