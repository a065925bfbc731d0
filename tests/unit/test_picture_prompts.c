/*
 * test_picture_prompts.c - pictures in texts: tokens, regions, positions and names, with what the
 * processors of transformers 5.23 give: tests/fixtures/vision.tar.
 */
#include "base/memory.h"
#include "base/os/thread.h"
#include "formats/json.h"
#include "input/position.h"
#include "model/model_internal.h"
#include "run/host_internal.h"
#include "run/run_internal.h"
#include "talk/chat.h"
#include "tests/support/folder.h"
#include "tests/support/open.h"
#include "tests/support/suite.h"
#include "towers/before_pictures.h"
#include "towers/prompt/picture_prompt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_SIZE = 4096 };

static char folder[PATH_SIZE / 2];

static void unpack(void)
{
    const char *base = getenv("TMPDIR");
    char command[PATH_SIZE];

    snprintf(folder, sizeof folder, "%s/attn-test-XXXXXX", base ? base : P_tmpdir);
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(command, sizeof command, "tar -xf tests/fixtures/vision.tar -C '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

static void remove_all(void)
{
    char command[PATH_SIZE];

    snprintf(command, sizeof command, "rm -rf -- '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

static struct attn_json *parse(const char *model, const char *name)
{
    struct attn_file file = {0};
    struct attn_json *json = NULL;
    struct attn_error err = {0};
    char path[PATH_SIZE];

    ck_assert_int_lt(snprintf(path, sizeof path, "%s/%s/%s", folder, model, name), PATH_SIZE);
    ck_assert(attn_file_open(path, ATTN_READ, &file, &err) == ATTN_OK);
    ck_assert_msg(attn_json_parse(&file, &json, &err) == ATTN_OK, "%s", err.message);
    attn_file_release(&file);
    return json;
}

static const char *string(const struct attn_node *prompt, const char *key)
{
    const struct attn_node *node = attn_node_find(prompt, key);

    return node ? attn_node_string(node) : NULL;
}

static int64_t integer(const struct attn_node *node)
{
    int64_t value = -1;

    ck_assert(attn_node_int(node, &value));
    return value;
}

/* Whether KEY of PROMPT is false, not missing. */
static bool is_off(const struct attn_node *prompt, const char *key)
{
    return attn_node_find(prompt, key);
}

/* A prompt of info.json as it is read. */
struct subject {
    struct attn_chat_text written;
    struct attn_host *host;
    struct attn_input input;
    struct attn_request_reading reading;
    struct attn_sequence sequence;
    char path[PATH_SIZE];
};

static enum attn_status read_prompt(const char *model, const struct attn_node *prompt,
                                    struct subject *s, struct attn_error *err)
{
    const struct attn_chat_request chat = {.form = is_off(prompt, "chat") ? "off" : NULL};
    const struct attn_tokenizer *tokenizer;

    ck_assert_int_lt(snprintf(s->path, PATH_SIZE, "%s/%s", folder, model), PATH_SIZE);
    s->host = attn_open_host(s->path, NULL);
    ck_assert(attn_host_tokenizer(s->host, &tokenizer, err) == ATTN_OK);
    ck_assert_int_lt(
        snprintf(s->path, PATH_SIZE, "%s/%s/%s", folder, model, string(prompt, "image")),
        PATH_SIZE);
    s->input.image = s->path;
    s->input.text = string(prompt, "text");
    s->input.n_text = strlen(s->input.text);
    s->input.continuation = string(prompt, "answer");
    s->input.n_continuation = s->input.continuation ? strlen(s->input.continuation) : 0;
    s->reading.image_tiles =
        is_off(prompt, "image_tiles") ? ATTN_IMAGE_TILES_OFF : ATTN_IMAGE_TILES_ON;
    s->sequence.input = &s->input;
    s->sequence.role = "text";
    return attn_picture_prompt_read(
        &(const struct attn_picture_reading){.asked = &s->reading,
                                             .tokenizer = tokenizer,
                                             .notes = (struct attn_notes){0},
                                             .input = &s->input,
                                             .chat = &chat,
                                             .written = &s->written,
                                             .sequence = &s->sequence},
        &s->host->pictures->maker, err);
}

static void close_prompt(struct subject *s)
{
    attn_chat_release(&s->written);
    attn_sequence_release(&s->sequence);
    attn_host_free(s->host);
}

/* Compares the positions of S, whose row ROW is the list ITEMS. */
static void compare_row(const struct subject *s, size_t row, const struct attn_node *items)
{
    const int32_t *positions = s->sequence.seen.positions + row * s->sequence.n;
    size_t i = 0;

    for (const struct attn_node *at = attn_node_first(items); at; at = attn_node_next(at), i++)
        ck_assert_msg(i < s->sequence.n && positions[i] == integer(at), "row %zu, position %zu",
                      row, i);
    ck_assert_uint_eq(i, s->sequence.n);
}

static void compare(const struct subject *s, const struct attn_node *prompt)
{
    static const char letters[] = "opqa";
    const struct attn_picture_prompt *seen = &s->sequence.seen;
    const struct attn_node *ids = attn_node_find(prompt, "ids");
    const struct attn_node *grid = attn_node_first(attn_node_find(prompt, "grid"));
    const struct attn_node *positions = attn_node_find(prompt, "position_ids");
    const struct attn_node *first = attn_node_first(positions);
    const char *region = string(prompt, "region");
    size_t i = 0;

    for (const struct attn_node *at = attn_node_first(ids); at; at = attn_node_next(at), i++) {
        ck_assert_uint_lt(i, s->sequence.n);
        ck_assert_msg(s->sequence.ids[i] == integer(at), "id %zu: %d", i, (int)s->sequence.ids[i]);
        ck_assert_msg(letters[seen->region[i]] == region[i], "region %zu: %c, expected %c", i,
                      letters[seen->region[i]], region[i]);
    }
    ck_assert_uint_eq(i, s->sequence.n);
    ck_assert_int_eq(integer(attn_node_find(prompt, "prompt_length")), (int64_t)seen->n_prompt);
    ck_assert_int_eq(integer(attn_node_find(prompt, "tile_rows")),
                     (int64_t)seen->images->tile_rows);
    ck_assert_int_eq(integer(attn_node_find(prompt, "tile_cols")),
                     (int64_t)seen->images->tile_cols);
    ck_assert_int_eq(integer(grid), (int64_t)seen->images->rows);
    ck_assert_int_eq(integer(attn_node_next(grid)), (int64_t)seen->images->columns);
    for (i = 0; i < 3; i++) {
        compare_row(s, i, attn_node_is_array(first) ? first : positions);
        first = attn_node_is_array(first) ? attn_node_next(first) : first;
    }
}

START_TEST(ids_regions_and_positions_are_those_of_transformers)
{
    static const char *const models[] = {"smolvlm",    "gemma3",   "paligemma",
                                         "qwen2_5_vl", "qwen2_vl", "planted"};

    unpack();
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct attn_json *info = parse(models[i], "info.json");
        const struct attn_node *prompt =
            attn_node_first(attn_node_find(attn_json_root(info), "prompts"));

        for (; prompt; prompt = attn_node_next(prompt)) {
            struct subject s = {0};
            struct attn_error err = {0};
            const enum attn_status status = read_prompt(models[i], prompt, &s, &err);

            if (status == ATTN_IO && strstr(err.message, "not installed")) {
                attn_skip_test("there is no libpng or TurboJPEG");
            } else {
                ck_assert_msg(status == ATTN_OK, "%s: %s", models[i], err.message);
                compare(&s, prompt);
            }
            close_prompt(&s);
        }
        attn_json_free(info);
    }
    remove_all();
}
END_TEST

/* The positions that SPEC names, or the message if it names none. */
static char *number(const struct subject *s, const char *spec, struct attn_error *err)
{
    char *numbers = NULL;

    *err = (struct attn_error){0};
    return attn_positions_number(&s->sequence, spec, &numbers, err) == ATTN_OK ? numbers : NULL;
}

START_TEST(cells_and_regions_name_positions)
{
    static const struct {
        const char *spec, *numbers; /* of the first prompt of smolvlm */
    } cases[] = {
        {"0,0", "51"},
        {"2,1", "58"},
        {"0-1,1-2", "52,53,55,56"},
        {"t0,0", "5"},
        {"t3,2", "30"},
        {"t2-3,2-3", "13,22,30,39"},
        {"72", "72"},
        {"72,tree", "72,67-67"},
        {"0,0,tree,t5,5", "51,67-67,47"},
        {"answer", "73-78"},
        {"question", "61-68"},
        {"question,1,1", "61-68,55"},
        {"house", "75-78"},
        {"picture", "5-13,16-24,28-36,39-47,51-59"},
        {"other", "0-4,14-15,25-27,37-38,48-50,60-60,69-72"},
    };
    static const struct {
        const char *spec, *message;
    } refused[] = {
        {"3,0", "'3,0' is outside the picture, expected row 0 to 2 and column 0 to 2 of its cells"},
        {"t0,6",
         "'t0,6' is outside the picture, expected row 0 to 5 and column 0 to 5 of its tiles"},
        {"\"question\"", "'question' does not occur in the text"},
    };
    struct attn_error err = {0};
    struct subject s = {0};
    struct attn_json *info;
    enum attn_status status;

    unpack();
    info = parse("smolvlm", "info.json");
    status = read_prompt(
        "smolvlm", attn_node_first(attn_node_find(attn_json_root(info), "prompts")), &s, &err);
    if (status == ATTN_OK) {
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            char *numbers = number(&s, cases[i].spec, &err);

            ck_assert_msg(numbers && strcmp(numbers, cases[i].numbers) == 0, "%s: %s",
                          cases[i].spec, numbers ? numbers : err.message);
            attn_free(numbers);
        }
        for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
            ck_assert_msg(!number(&s, refused[i].spec, &err) &&
                              strstr(err.message, refused[i].message),
                          "%s: %s", refused[i].spec, err.message);
    } else {
        ck_assert_ptr_nonnull(strstr(err.message, "not installed"));
        attn_skip_test("there is no libpng");
    }
    close_prompt(&s);
    attn_json_free(info);
    remove_all();
}
END_TEST

/* --- features --------------------------------------------------------------------------------- */

enum { N_THREAD = 4 };

/* A question about a picture, and the rows that the model reads. */
struct asking {
    struct attn_host *host;
    char image[PATH_SIZE];
    const struct attn_pixels *pixels; /* instead of the image; or NULL */
    const char *text, *neutral;
    const char *figure; /* a figure of one head; or NULL */
    bool is_observed;   /* an observer chooses no queries */
    struct attn_run *run;
    enum attn_status status;
    struct attn_error err;
};

static enum attn_status observe(void *user, const struct attn_trace_event *event,
                                struct attn_error *err)
{
    (void)user, (void)event, (void)err;
    return ATTN_OK;
}

static void *ask(void *user)
{
    struct asking *asking = user;
    const struct attn_output output = {.format = attn_format_find("svg"), .path = asking->figure};
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_result result = {0};
    struct attn_selection *all = NULL;
    struct attn_trace observer = {.on_event = observe};

    request.input.image = asking->pixels ? NULL : asking->image;
    request.input.pixels = asking->pixels;
    request.input.text = asking->text;
    request.input.n_text = strlen(asking->text);
    request.selection.sites = "picture_map";
    request.maps.neutral = asking->neutral;
    request.outputs.items = &output;
    request.outputs.n = asking->figure ? 1 : 0;
    request.selection.heads = asking->figure ? "2.1" : NULL;
    request.selection.queries.text = asking->figure ? "28-29" : NULL;
    asking->status = attn_run_prepare(asking->host, &request, &asking->run, &asking->err);
    if (asking->status == ATTN_OK)
        asking->status =
            attn_selection_create(attn_selection_dims(asking->run->selection), &all, &asking->err);
    if (asking->status == ATTN_OK)
        asking->status =
            attn_selection_set_sites(all, ATTN_SITES(ATTN_SITE_PICTURE_MAP), &asking->err);
    if (asking->status == ATTN_OK && asking->figure)
        asking->status = attn_selection_set_heads(all, "2.1", &asking->err);
    observer.selection = all;
    if (asking->status == ATTN_OK)
        asking->status = attn_run_perform(asking->run, asking->is_observed ? &observer : NULL,
                                          &result, &asking->err);
    attn_selection_free(all);
    attn_result_release(&result);
    return NULL;
}

/* Asks N questions at once, and checks that the tower then has encoded N_SEEN pictures. */
static void check_seen(struct asking *askings, size_t n, size_t n_seen)
{
    struct attn_thread threads[N_THREAD];

    for (size_t i = 1; i < n; i++)
        ck_assert(attn_thread_start(ask, &askings[i], &threads[i]));
    ask(&askings[0]);
    for (size_t i = 1; i < n; i++)
        attn_thread_join(&threads[i]);
    for (size_t i = 0; i < n; i++) {
        const struct attn_sequence *text = &askings[i].run->text, *first = &askings[0].run->text;
        const struct attn_before_pass pass = attn_run_before(askings[i].run);
        size_t at = attn_picture_prompt_next(text, 0), to = attn_picture_prompt_next(first, 0);

        ck_assert_msg(askings[i].status == ATTN_OK, "%s", askings[i].err.message);
        /* weights that are used once are not mapped */
        ck_assert(attn_before_session(&pass, 0).reads_once);
        for (; at < text->n; at = attn_picture_prompt_next(text, at + 1)) {
            const size_t d = askings[i].host->model->config.d_embed;

            ck_assert(memcmp(text->rows + at * d, first->rows + to * d, d * sizeof(float)) == 0);
            to = attn_picture_prompt_next(first, to + 1);
        }
        ck_assert_uint_eq(to, first->n);
    }
    ck_assert_uint_eq(askings[0].host->pictures->features.n_picture, n_seen);
    for (size_t i = 0; i < n; i++)
        attn_run_free(askings[i].run);
}

START_TEST(texts_about_the_same_picture_share_its_features)
{
    struct asking askings[N_THREAD] = {{.text = "What?"},
                                       {.text = "Where is the cat?"},
                                       {.text = "What is left of the tree?"},
                                       {.text = "Describe the picture."}};
    float values[3 * 8 * 8] = {NAN};
    const struct attn_pixels pixels = {.n_channel = 3, .height = 8, .width = 8, .values = values};
    struct attn_host *host;

    unpack();
    snprintf(askings[0].image, PATH_SIZE, "%s/qwen2_5_vl", folder);
    host = attn_open_host(askings[0].image, NULL);
    for (size_t i = 0; i < N_THREAD; i++) {
        snprintf(askings[i].image, PATH_SIZE, "%s/qwen2_5_vl/picture_0.png", folder);
        askings[i].host = host;
    }
    ask(&askings[0]);
    if (askings[0].status == ATTN_IO && strstr(askings[0].err.message, "not installed")) {
        attn_skip_test("there is no libpng");
    } else {
        attn_run_free(askings[0].run);
        check_seen(askings, 1, 1);
        askings[0].neutral = "Describe the picture.";
        check_seen(askings, N_THREAD, 1);
        snprintf(askings[0].image, PATH_SIZE, "%s/qwen2_5_vl/picture_1.png", folder);
        check_seen(askings, 1, 2);
        check_seen(askings + 1, N_THREAD - 1, 3); /* the first one again, once for all threads */
        askings[0].pixels = &pixels;
        for (size_t i = 0; i < 2; i++) { /* a failure is not kept */
            ask(&askings[0]);
            ck_assert(askings[0].status == ATTN_INVALID);
            ck_assert_ptr_nonnull(strstr(askings[0].err.message, "is not finite"));
            attn_run_free(askings[0].run);
            ck_assert_uint_eq(host->pictures->features.n_picture, 4 + i);
        }
    }
    attn_host_free(host);
    remove_all();
}
END_TEST

START_TEST(an_observer_of_all_rows_leaves_the_maps_of_two)
{
    char command[PATH_SIZE], figures[2][PATH_SIZE];
    struct asking asking = {.text = "What is it?"};

    unpack();
    snprintf(asking.image, PATH_SIZE, "%s/planted", folder);
    asking.host = attn_open_host(asking.image, NULL);
    snprintf(asking.image, PATH_SIZE, "%s/planted/picture_0.png", folder);
    for (int i = 0; i < 2; i++) {
        snprintf(figures[i], PATH_SIZE, "%s/%d.svg", folder, i);
        asking.figure = figures[i], asking.is_observed = i;
        ask(&asking);
        if (asking.status == ATTN_IO && strstr(asking.err.message, "not installed"))
            break;
        ck_assert_msg(asking.status == ATTN_OK, "%s", asking.err.message);
        attn_run_free(asking.run);
    }
    if (asking.status == ATTN_OK) {
        ck_assert_int_lt(
            snprintf(command, sizeof command, "cmp '%s/0.svg' '%s/1.svg'", folder, folder),
            PATH_SIZE);
        ck_assert_int_eq(system(command), 0);
    } else {
        attn_skip_test("there is no libpng");
    }
    attn_host_free(asking.host);
    remove_all();
}
END_TEST

/* Counts events of the tower (attn_trace_fn). */
static enum attn_status count_event(void *user, const struct attn_trace_event *event,
                                    struct attn_error *err)
{
    (void)err;
    *(size_t *)user += attn_stack_is_encoder(event->at.stack);
    return ATTN_OK;
}

/* Runs a question about the picture IMAGE for SITES, of the tower of its whole picture. Returns how
 * many pictures were encoded for it. */
static size_t watch(struct attn_host *host, const char *image, const char *sites,
                    struct attn_error *err)
{
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_result result = {0};
    struct attn_run *run = NULL;
    const size_t n_before = host->pictures->features.n_picture;
    size_t n_event = 0;
    struct attn_trace trace = {.on_event = count_event, .user = &n_event};

    request.input.image = image;
    request.input.text = "What?";
    request.input.n_text = strlen(request.input.text);
    request.selection.sites = sites;
    request.selection.tiles.text = "-1";
    if (attn_run_prepare(host, &request, &run, err) != ATTN_OK)
        return 0;
    trace.selection = attn_run_selection(run);
    ck_assert_msg(attn_run_perform(run, &trace, &result, err) == ATTN_OK, "%s", err->message);
    ck_assert_uint_eq(n_event, (size_t)2 * 3); /* layers and heads */
    attn_result_release(&result);
    attn_run_free(run);
    return host->pictures->features.n_picture - n_before;
}

START_TEST(a_tower_that_is_watched_runs_once)
{
    struct attn_error err = {0};
    char model[PATH_SIZE], image[PATH_SIZE];
    struct attn_host *host;
    size_t n;

    unpack();
    snprintf(model, PATH_SIZE, "%s/smolvlm", folder);
    snprintf(image, PATH_SIZE, "%s/smolvlm/picture_0.png", folder);
    host = attn_open_host(model, NULL);
    n = watch(host, image, "tower:pattern", &err);
    if (n == 0) {
        ck_assert_ptr_nonnull(strstr(err.message, "not installed"));
        attn_skip_test("there is no libpng");
    } else {
        ck_assert_uint_eq(n, 1); /* the decoder, which needs all tiles, does not run */
        ck_assert_uint_eq(watch(host, image, "tower:pattern,pattern", &err), 5);
        ck_assert_uint_eq(watch(host, image, "tower:pattern,pattern", &err), 1);
    }
    attn_host_free(host);
    remove_all();
}
END_TEST

ATTN_SUITE("picture_prompts", ids_regions_and_positions_are_those_of_transformers,
           cells_and_regions_name_positions, texts_about_the_same_picture_share_its_features,
           an_observer_of_all_rows_leaves_the_maps_of_two, a_tower_that_is_watched_runs_once)
