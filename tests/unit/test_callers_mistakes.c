/*
 * test_callers_mistakes.c - what a program can do wrong with the public interface: each mistake is
 * ATTN_INVALID with a message that names the field, or NULL, 0 or false of a function that returns
 * no status; none aborts, and none reads or writes outside. Under ASan the last is seen, too. Every
 * function of attn.h and extra.h is called with each of its pointers NULL: tools/list_calls.sh.
 */
#include "attention/attend.h"
#include "attention/attention_internal.h"
#include "extra.h"
#include "forward/session_internal.h"
#include "measures/analysis_internal.h"
#include "pictures/colormap_internal.h"
#include "run/host_internal.h"
#include "stream/records_internal.h"
#include "tests/support/folder.h"
#include "tests/support/open.h"
#include "tests/support/suite.h"
#include "tokenizer/tokenizer_internal.h"
#include "trace/blocks_internal.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* CALL, whose last argument is &err, is refused, and the message has WORD. */
#define REFUSED(call, word)                                                                        \
    do {                                                                                           \
        struct attn_error err = {0};                                                               \
                                                                                                   \
        ck_assert_msg((call) == ATTN_INVALID, "%s", #call);                                        \
        ck_assert_msg(err.status == ATTN_INVALID && strstr(err.message, word) != NULL,             \
                      "%s: '%s' lacks '%s'", #call, err.message, word);                            \
    } while (0)

/* CALL is refused after SPOIL has changed GIVEN, which is GOOD before and after. */
#define SPOILED(given, good, spoil, call, word)                                                    \
    do {                                                                                           \
        (given) = (good);                                                                          \
        spoil;                                                                                     \
        REFUSED(call, word);                                                                       \
        (given) = (good);                                                                          \
    } while (0)

/* A choice that no enum has, made where the compiler does not see it. */
static const volatile int no_choice = 127, below_choices = -1;

static const char sentence[] = "The keys are";

static struct attn_host *open_host_of_arrays(void)
{
    struct attn_error err = {0};
    struct attn_host *host;

    ck_assert_int_eq(attn_host_create(NULL, NULL, &host, &err), ATTN_OK);
    return host;
}

static struct attn_request ask(void)
{
    struct attn_request request = ATTN_REQUEST_DEFAULT;

    request.input.text = sentence;
    request.input.n_text = strlen(sentence);
    return request;
}

static struct attn_run *prepare(struct attn_host *host, const struct attn_request *request)
{
    struct attn_error err = {0};
    struct attn_run *run;

    ck_assert_msg(attn_run_prepare(host, request, &run, &err) == ATTN_OK, "%s", err.message);
    return run;
}

static enum attn_status give_nothing(void *user, struct attn_item **item, struct attn_error *err)
{
    (void)user, (void)item, (void)err;
    return ATTN_OK;
}

static enum attn_status take_nothing(void *user, const struct attn_item_result *result,
                                     struct attn_error *err)
{
    (void)user, (void)result, (void)err;
    return ATTN_OK;
}

/* --- What is NULL ----------------------------------------------------------------------------- */

/* Pointers that may be NULL, FUNCTION.PARAMETER without "attn_": a default takes their place. */
static const char may_be_null[] =
    " ablate.args align.args answer_heads.request attribute.args"
    " attribute_continue.continuation attribute_continue.request catalog_find.catalog"
    " catalog_find_projector.catalog catalog_list.catalog catalog_visit.catalog"
    " catalog_visit.user circuit.args collect.args diff.args edit_texts_read.model"
    " examples.args explainer_create.args generate.args generate_items.args heads.args"
    " host_create.options host_create.source host_open.options lens.args life.args"
    " live_open.files live_open.host model_open.options param_rules_check.user param_set.label"
    " param_set.text patch.args pool_n_thread.pool question_ask.sum question_ask.table"
    " question_check.user question_picture.picture question_picture.table run_many.options"
    " run_perform.observer run_table_page.host score.args session_create.options"
    " sink_bytes.size sinks.args speech_times.heads table_create.name"
    " table_picture_write.options table_sort.order tokenizer_encode.options"
    " tokenizer_token.size"
    " ";

/* The bytes of a number that is given. */
static const char must_be_there[] = " sink_write.bytes ";

/* What the functions get. Pointers to other types lead to zeros. */
static struct {
    struct attn_host *host;
    struct attn_session *session;
    struct attn_request request;
    struct attn_run *run;
    struct attn_table *table;
    struct attn_selection *selection;
    struct attn_capture *capture;
    struct attn_sink *sink;
    struct attn_ablate_sum ablated;
    struct attn_generation made;
    const char *function; /* that is called now */
    const char *null;     /* its parameter that is NULL */
} given;
static _Alignas(max_align_t) char zeros[1 << 14];

static bool is_listed(const char *list, const char *function, const char *parameter)
{
    char word[96];

    snprintf(word, sizeof word, " %s.%s ", function + strlen("attn_"), parameter);
    return strstr(list, word) != NULL;
}

/* Sets the pointer at AT, the argument PARAMETER, to VALUE or NULL. */
static void set_pointer(void *at, const char *parameter, const void *value)
{
    const bool is_null =
        strcmp(parameter, given.null) == 0 || is_listed(may_be_null, given.function, parameter);
    const void *pointer = is_null ? NULL : value;

    memcpy(at, &pointer, sizeof pointer);
}

#define SET(x)                                                                                     \
    set_pointer(&(x), #x,                                                                          \
                _Generic((x),                                                                      \
                    struct attn_host *: given.host,                                                \
                    const struct attn_host *: given.host,                                          \
                    const struct attn_model *: attn_host_model(given.host),                        \
                    const struct attn_request *: &given.request,                                   \
                    struct attn_session *: given.session,                                          \
                    const struct attn_session *: given.session,                                    \
                    struct attn_run *: given.run,                                                  \
                    const struct attn_run *: given.run,                                            \
                    struct attn_table *: given.table,                                              \
                    const struct attn_table *: given.table,                                        \
                    struct attn_selection *: given.selection,                                      \
                    const struct attn_selection *: given.selection,                                \
                    struct attn_capture *: given.capture,                                          \
                    const struct attn_capture *: given.capture,                                    \
                    struct attn_sink *: given.sink,                                                \
                    struct attn_ablate_sum *: &given.ablated,                                      \
                    struct attn_generation *: &given.made,                                         \
                    const char *: "x",                                                             \
                    default: zeros))
#define CALLER(name, result, parameters)                                                           \
    static enum attn_status call_##name(bool *is_nothing, struct attn_error *err)
#include "tests/unit/public_calls.h" /* made by tests/tools/list_calls.sh */
#undef CALLER

struct caller {
    const char *name, *result, *parameters;
    enum attn_status (*call)(bool *is_nothing, struct attn_error *err);
};
#define CALLER(name, result, parameters) {#name, result, parameters, call_##name},
static const struct caller callers[] = {ALL_CALLERS(CALLER)};
#undef CALLER

static void open_given(void)
{
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;

    options.n_max = 4, options.has_logits = true;
    given.host = attn_open_host("fable", NULL), given.request = ask();
    given.ablated = ATTN_ABLATE_SUM_DEFAULT;
    given.made = ATTN_GENERATION_DEFAULT;
    given.run = prepare(given.host, &given.request);
    ck_assert(attn_session_create(attn_host_model(given.host), &options, &given.session, NULL) ==
                  ATTN_OK &&
              attn_selection_copy(attn_run_selection(given.run), &given.selection, NULL) ==
                  ATTN_OK &&
              attn_capture_create(given.selection, &given.capture, NULL) == ATTN_OK &&
              attn_catalog_list(NULL, &given.table, NULL) == ATTN_OK &&
              attn_sink_create_memory(&given.sink, NULL) == ATTN_OK);
}

static void close_given(void)
{
    attn_sink_free(given.sink);
    attn_table_free(given.table);
    attn_capture_free(given.capture);
    attn_selection_free(given.selection);
    attn_session_free(given.session);
    attn_run_free(given.run);
    attn_host_free(given.host);
}

/* Calls CALLER without PARAMETER. It names that as what is NULL; or, without a status, returns
 * NULL, 0 or false. */
static void call_without(const struct caller *caller, const char *parameter)
{
    const bool has_status = strcmp(caller->result, "enum attn_status") == 0;
    bool is_nothing = true;
    char expected[64];
    struct attn_error err = {0};
    enum attn_status status;

    given.function = caller->name, given.null = parameter;
    snprintf(expected, sizeof expected, "'%s' is NULL", parameter);
    (_mark_point)(caller->name, 0); /* a call that crashes is told by its name */
    status = caller->call(&is_nothing, &err);
    if (has_status)
        ck_assert_msg(status == ATTN_INVALID && strstr(err.message, expected) != NULL,
                      "%s without '%s': %d '%s'", caller->name, parameter, (int)status,
                      err.message);
    else
        ck_assert_msg(is_nothing, "%s without '%s' returns something", caller->name, parameter);
}

START_TEST(null_is_named_by_every_public_function)
{
    size_t n = 0;

    open_given();
    for (size_t i = 0; i < sizeof callers / sizeof *callers; i++) {
        const char *names = callers[i].parameters;

        for (size_t size; *names; names += size + strspn(names + size, " ")) {
            char parameter[32];

            size = strcspn(names, " ");
            snprintf(parameter, sizeof parameter, "%.*s", (int)size, names);
            if (is_listed(may_be_null, callers[i].name, parameter) ||
                is_listed(must_be_there, callers[i].name, parameter))
                continue;
            call_without(&callers[i], parameter);
            n++;
        }
    }
    ck_assert_uint_ge(n, 270);
    close_given();
}
END_TEST

/* Functions that only the library has; and what depends on another argument. */
START_TEST(null_is_named_by_functions_of_the_library)
{
    struct attn_host *host = attn_open_host("fable", NULL);
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    static const struct attn_param count =
        ATTN_PARAM(COUNT, "n", "N", struct attn_request, predict.top, NULL, .most = 9);
    struct attn_request request = ask();
    struct attn_run *run = prepare(host, &request);
    struct attn_question_call call = {.question = "lens"};
    struct attn_table_picture picture = {.n_label = 0};
    struct attn_output output = {0};
    const struct attn_tokenizer *tokenizer;
    struct attn_selection *selection;
    struct attn_session *session;
    struct attn_sink *sink;
    double number;

    options.n_max = 4;
    ck_assert_int_eq(attn_session_create(attn_host_model(host), &options, &session, NULL), ATTN_OK);
    ck_assert_int_eq(attn_selection_copy(attn_run_selection(run), &selection, NULL), ATTN_OK);
    REFUSED(attn_param_set(&count, &request, "n", NULL, &err), "text");
    REFUSED(attn_host_check_outputs(NULL, &output, 1, &err), "host");
    REFUSED(attn_host_check_outputs(host, NULL, 1, &err), "items");
    REFUSED(attn_model_embed(NULL, NULL, 0, NULL, &err), "model");
    REFUSED(attn_model_embed(attn_host_model(host), NULL, 1, NULL, &err), "ids");
    REFUSED(attn_session_set_source(NULL, NULL, 0, &err), "session");
    REFUSED(attn_session_feed_embeddings(session, NULL, 1, &err), "x");
    REFUSED(attn_session_log_probability(session, 0, NULL, &err), "log_probability");
    REFUSED(attn_session_log_probability(NULL, 0, &number, &err), "session");
    REFUSED(attn_session_feed_many(session, NULL, 1, &err), "sequences");
    REFUSED(attn_session_logits_last(session, NULL, &err), "logits");
    REFUSED(attn_session_logits_of(session, NULL, 1, NULL, &err), "positions");
    REFUSED(attn_selection_set_layers(selection, NULL, &err), "spec");
    REFUSED(attn_selection_set_heads(selection, NULL, &err), "spec");
    REFUSED(attn_selection_set_queries(selection, ATTN_STACK_ONLY, NULL, &err), "spec");
    REFUSED(attn_attention_parse(NULL, NULL, &err), "text");
    REFUSED(attn_attention_parse("full", NULL, &err), "attention");
    REFUSED(attn_attention_check(NULL, false, &err), "attention");
    REFUSED(attn_attention_check_keys(NULL, 1, &err), "attention");
    REFUSED(attn_sink_create_file_in(NULL, "a", &sink, &err), "directory");
    REFUSED(attn_records_open(NULL, NULL, false, NULL, &err), "item");
    REFUSED(attn_records_write(NULL, NULL, &err), "records");
    REFUSED(attn_records_flush(NULL, &err), "records");
    REFUSED(attn_records_finish(NULL, &err), "records");
    REFUSED(attn_records_commit(NULL, &err), "records");
    REFUSED(attn_question_ask(&(struct attn_question_call){0}, NULL, NULL, &err), "question");
    REFUSED(attn_question_ask(&call, NULL, NULL, &err), "host");
    REFUSED(attn_question_picture(&(struct attn_question_call){0}, NULL, NULL, &err), "question");
    REFUSED(attn_question_picture(&call, NULL, NULL, &err), "picture");
    ck_assert_int_eq(attn_question_picture(&call, NULL, &picture, NULL), ATTN_OK);
    ck_assert_uint_eq(picture.view.rows, ATTN_ROLE_LAYER);
    call.question = "generate";
    REFUSED(attn_question_ask(&call, NULL, NULL, &err), "there is no question 'generate'");
    call.question = "lenses";
    REFUSED(attn_question_picture(&call, NULL, &picture, &err), "'lenses'");
    ck_assert_int_eq(attn_pool_n_thread(NULL), 1);
    ck_assert(attn_host_tokenizer(host, &tokenizer, NULL) == ATTN_OK &&
              attn_tokenizer_token(tokenizer, 5, NULL) != NULL);
    ck_assert(attn_sink_create_memory(&sink, NULL) == ATTN_OK && attn_sink_bytes(sink, NULL));
    attn_sink_free(sink);
    attn_selection_free(selection);
    attn_session_free(session);
    attn_run_free(run);
    attn_host_free(host);
}
END_TEST

/* What is no text, and what a later version may have written. */
START_TEST(structs_of_later_versions_are_refused)
{
    const struct attn_cell cell = {.type = ATTN_VALUE_TEXT, .size = 1};
    struct attn_cell newer_cell = attn_cell_missing();
    struct attn_dims newer = {.n_layer = 1, .n_head = 2, .n_kv_head = 2, .later = {zeros}};
    const struct attn_dims pair = {
        .n_layer = 2, .n_head = 2, .n_kv_head = 2, .n_position = 3, .encoder = &newer};
    const struct attn_table_picture picture = {.view = {.columns = ATTN_ROLE_HEAD}};
    struct attn_column column = {.name = "head", .type = ATTN_VALUE_TEXT, .later = {zeros}};
    struct attn_host *host = attn_open_host("fable", NULL);
    struct attn_output output = {0};
    struct attn_selection *selection;
    struct attn_table *table;

    REFUSED(attn_selection_create(&newer, &selection, &err), "dims");
    REFUSED(attn_selection_create(&pair, &selection, &err), "dims");
    REFUSED(attn_host_check_outputs(host, &output, 1, &err), "format");
    REFUSED(attn_table_picture_check(&output, &err), "format");
    REFUSED(attn_table_create("a", &column, 1, &table, &err), "column");
    column.later[0] = NULL;
    ck_assert_int_eq(attn_table_create("a", &column, 1, &table, NULL), ATTN_OK);
    REFUSED(attn_table_append(table, &cell, 1, &err), "text");
    newer_cell.later[0] = zeros;
    REFUSED(attn_table_append(table, &newer_cell, 1, &err), "cells");
    REFUSED(attn_table_picture_write(table, &picture, NULL, &output, &err), "rows");
    ck_assert(attn_heads_keep_types(host, "a", NULL) == ATTN_OK);
    ck_assert(attn_heads_keep_types(host, "b", NULL) == ATTN_OK);
    attn_table_free(table);
    attn_host_free(host);
}
END_TEST

/* --- What is no choice ------------------------------------------------------------------------ */

START_TEST(numbers_that_are_no_choice_have_no_name)
{
    char name[ATTN_SITE_ARCHIVE_NAME_SIZE];

    for (int i = 0; i < 2; i++) {
        const int bad = i == 0 ? no_choice : below_choices;

        ck_assert_str_eq(attn_status_text(bad), "unknown status");
        ck_assert_str_eq(attn_request_stage_text(bad), "");
        ck_assert_str_eq(attn_reason_text(bad), "");
        ck_assert_ptr_null(attn_site_name(bad));
        ck_assert_int_eq(attn_site_layout(bad), ATTN_LAYOUT_VECTOR);
        ck_assert(!attn_site_is_in_layer(bad));
        ck_assert_uint_eq(attn_site_archive_name(bad, 0, name), 0);
        ck_assert_str_eq(name, "");
        ck_assert_ptr_null(attn_measure_name(bad));
        ck_assert_ptr_null(attn_measure_help(bad));
        ck_assert(!attn_measure_is_count(bad));
        ck_assert_ptr_null(attn_generation_end_text(bad));
        (void)attn_colormap_color(attn_colormap_at(0), bad, 1 << 20);
        (void)attn_colormap_color(attn_colormap_at(0), bad, -1);
    }
}
END_TEST

START_TEST(attentions_have_no_other_choices)
{
    for (int i = 0; i < 2; i++) {
        const int bad = i == 0 ? no_choice : below_choices;
        struct attn_attention attention = ATTN_ATTENTION_DEFAULT;
        struct attn_dims dims = {.n_layer = 1, .sites = ATTN_SITES(ATTN_SITE_Z)};
        char kind[ATTN_ATTENTION_TEXT_SIZE];

        attention.kind = bad;
        attn_attention_set_dims(&attention, &dims);
        ck_assert(attn_sites_are_equal(dims.sites, ATTN_SITES(ATTN_SITE_Z)));
        REFUSED(attn_attention_check(&attention, false, &err), "kind");
        ck_assert_uint_eq(attn_attention_text(&attention, kind), 0);
#define BAD(field)                                                                                 \
    SPOILED(attention, ATTN_ATTENTION_DEFAULT, attention.field = bad,                              \
            attn_attention_check(&attention, false, &err), #field)
        BAD(mask);
        BAD(masking);
        BAD(similarity);
        BAD(algorithm);
        BAD(feature);
#undef BAD
    }
}
END_TEST

/* A request, with all that it may point to. */
struct asked {
    struct attn_request request;
    struct attn_attention_change change;
    struct attn_attention layers[16];
    struct attn_edit edit;
    struct attn_picture_options picture;
};

static void fill(struct asked *asked)
{
    *asked = (struct asked){
        .request = ask(),
        .change = {.parts = ATTN_PART_KIND | ATTN_PART_MASK, .to = ATTN_ATTENTION_DEFAULT},
        .edit = ATTN_EDIT_DEFAULT,
        .picture = ATTN_PICTURE_OPTIONS_DEFAULT};
    for (size_t k = 0; k < 16; k++)
        asked->layers[k] = ATTN_ATTENTION_DEFAULT;
    asked->request.outputs.picture = &asked->picture;
    asked->request.attention.change = &asked->change;
}

static void set_kinds(struct asked *asked, int bad)
{
    for (size_t i = 0; i < 16; i++)
        asked->layers[i].kind = bad;
    asked->request.attention.layers = asked->layers, asked->request.attention.change = NULL;
}

static struct attn_edit *edit(struct asked *asked)
{
    asked->request.edits.items = &asked->edit, asked->request.edits.n = 1;
    return &asked->edit;
}

START_TEST(requests_have_no_other_choices)
{
    struct attn_host *host = attn_open_host("fable", NULL);
    struct attn_result result = {0};
    struct asked asked;

    for (int i = 0; i < 2; i++) {
        const int bad = i == 0 ? no_choice : below_choices;

#define BAD(change, word)                                                                          \
    fill(&asked), change;                                                                          \
    REFUSED(attn_run_request(host, &asked.request, &result, &err), word)
        BAD(asked.request.reading.special = bad, "special");
        BAD(asked.request.reading.special_tokens = bad, "special_tokens");
        BAD(asked.change.to.kind = bad, "kind");
        BAD(asked.change.to.mask = bad, "mask");
        BAD(set_kinds(&asked, bad), "kind");
        BAD(edit(&asked)->at.site = bad, "site");
        BAD(edit(&asked)->op = bad, "op");
        BAD(asked.picture.figure = bad, "figure");
        BAD(asked.picture.theme = bad, "theme");
        BAD(asked.picture.depth = bad, "depth");
        BAD(asked.picture.dpi = 1e6 * bad, "dpi");
        BAD(asked.picture.font_size = 1e6 * bad, "font_size");
        BAD(asked.picture.figure_width = 1e6 * bad, "figure_width");
#undef BAD
    }
    attn_host_free(host);
}
END_TEST

START_TEST(hosts_models_and_sessions_have_no_other_choices)
{
    struct attn_host *host = attn_open_host("fable", NULL);
    const struct attn_model *model = attn_host_model(host);
    struct attn_source source = {0};
    struct attn_model *opened;
    struct attn_host *made;
    struct attn_session *session;

    ck_assert(attn_builtin_find("fable", &source));
    for (int i = 0; i < 2; i++) {
        const int bad = i == 0 ? no_choice : below_choices;
        struct attn_host_options options = ATTN_HOST_OPTIONS_DEFAULT;
        struct attn_model_options how = ATTN_MODEL_OPTIONS_DEFAULT;
        struct attn_session_options feed = ATTN_SESSION_OPTIONS_DEFAULT;

#define HOST(change, word)                                                                         \
    SPOILED(options, ATTN_HOST_OPTIONS_DEFAULT, options.change,                                    \
            attn_host_open("fable", &options, &made, &err), word)
        HOST(load = bad, "load");
        HOST(compute = bad, "compute");
        HOST(gemm = bad, "gemm");
        HOST(isa = bad, "isa");
        HOST(n_thread = i == 0 ? INT_MAX : INT_MIN, "threads");
#undef HOST
#define MODEL(field)                                                                               \
    SPOILED(how, ATTN_MODEL_OPTIONS_DEFAULT, how.field = bad,                                      \
            attn_model_open(&source, &how, &opened, &err), #field)
        MODEL(load);
        MODEL(compute);
#undef MODEL
#define SESSION(field)                                                                             \
    SPOILED(feed, ATTN_SESSION_OPTIONS_DEFAULT, (feed.n_max = 4, feed.field = bad),                \
            attn_session_create(model, &feed, &session, &err), #field)
        SESSION(cache);
        SESSION(gemm);
        SESSION(isa);
#undef SESSION
    }
    attn_host_free(host);
}
END_TEST

START_TEST(experiments_have_no_other_choices)
{
    struct attn_host *host = attn_open_host("fable", NULL);
    const struct attn_request request = ask();
    struct attn_items_options file = ATTN_ITEMS_OPTIONS_DEFAULT;
    struct attn_items *items;
    struct attn_ablate_sum sum = ATTN_ABLATE_SUM_DEFAULT;
    struct attn_table *table;

    for (int i = 0; i < 2; i++) {
        const int bad = i == 0 ? no_choice : below_choices;
        struct attn_ablate_args args = ATTN_ABLATE_ARGS_DEFAULT;

#define ABLATE(field, word)                                                                        \
    SPOILED(args, ATTN_ABLATE_ARGS_DEFAULT, args.field = bad,                                      \
            attn_ablate(host, &request, &args, &table, &sum, &err), word)
        ABLATE(by, "by");
        ABLATE(replacement, "replacement");
        ABLATE(tower, "tower");
        ABLATE(answer.metric, "metric");
#undef ABLATE
        file.form = bad;
        REFUSED(attn_items_open(&file, &items, &err), "form");
    }
    attn_host_free(host);
}
END_TEST

/* --- Structs and lists ------------------------------------------------------------------------ */

START_TEST(structs_without_their_size_are_refused)
{
    struct attn_host *host = attn_open_host("fable", NULL);
    const struct attn_request good = ask();
    struct attn_request request = {0};
    struct attn_picture_options picture = {0};
    struct attn_result result = {0};
    struct attn_ablate_sum ablated = ATTN_ABLATE_SUM_DEFAULT;
    struct attn_patch_sum patched = ATTN_PATCH_SUM_DEFAULT;
    struct attn_score_sum scored = ATTN_SCORE_SUM_DEFAULT;
    struct attn_diff_sum differs = ATTN_DIFF_SUM_DEFAULT;
    struct attn_generation made = ATTN_GENERATION_DEFAULT;
    struct attn_table *table;
    struct attn_catalog_found found;
    struct attn_host *opened;
    struct attn_session *session;
    struct attn_explainer *explainer;
    struct attn_encoding encoding = {0};
    const struct attn_tokenizer *tokenizer;
    const struct attn_item_calls calls = {.next = give_nothing, .done = take_nothing};

    ck_assert_int_eq(attn_host_tokenizer(host, &tokenizer, NULL), ATTN_OK);
    REFUSED(attn_catalog_find(&(struct attn_catalog){0}, "fable", &found, &err), "size");
    REFUSED(attn_host_open("fable", &(struct attn_host_options){0}, &opened, &err), "size");
    REFUSED(attn_run_request(host, &request, &result, &err), "size");
    request = good, request.outputs.picture = &picture;
    REFUSED(attn_run_request(host, &request, &result, &err), "size");
    REFUSED(attn_run_many(host, &(struct attn_many_options){0}, &calls, &err), "size");
    REFUSED(attn_session_create(attn_host_model(host), &(struct attn_session_options){0}, &session,
                                &err),
            "size");
    REFUSED(attn_attend(&(struct attn_attend_args){0}, &err), "size");
    REFUSED(attn_explainer_create(&(struct attn_explain_args){0}, &explainer, &err), "size");
    REFUSED(attn_tokenizer_encode(tokenizer, sentence, 3, &(struct attn_encode_options){0},
                                  &encoding, &err),
            "size");
    REFUSED(attn_ablate(host, &good, &(struct attn_ablate_args){0}, &table, &ablated, &err),
            "size");
    REFUSED(attn_attribute(host, &good, &(struct attn_attribute_args){0}, &table, &err), "size");
    REFUSED(attn_diff(host, &good, &(struct attn_diff_args){0}, &table, &differs, &err), "size");
    REFUSED(attn_generate(host, &good, &(struct attn_generate_args){0}, &made, &err), "size");
    REFUSED(attn_lens(host, &good, &(struct attn_lens_args){0}, &table, &err), "size");
    REFUSED(attn_patch(host, &good, &(struct attn_patch_args){0}, &table, &patched, &err), "size");
    REFUSED(attn_score(host, &good, &(struct attn_score_args){0}, &table, &scored, &err), "size");
    REFUSED(attn_heads(host, &good, &(struct attn_heads_args){0}, &table, &err), "size");
    ablated.size = patched.size = scored.size = differs.size = made.size = 0;
    REFUSED(attn_ablate(host, &good, NULL, &table, &ablated, &err), "size");
    REFUSED(attn_diff(host, &good, NULL, &table, &differs, &err), "size");
    REFUSED(attn_generate(host, &good, NULL, &made, &err), "size");
    REFUSED(attn_patch(host, &good, NULL, &table, &patched, &err), "size");
    REFUSED(attn_score(host, &good, NULL, &table, &scored, &err), "size");
    attn_host_free(host);
}
END_TEST

/* A program that was compiled with an earlier version has room for its fields alone. */
START_TEST(results_are_not_written_beyond_the_size_of_the_caller)
{
    struct attn_host *host = attn_open_host("fable", NULL);
    const struct attn_request request = ask();
    struct attn_score_sum sum = ATTN_SCORE_SUM_DEFAULT;
    struct attn_table *table;

    sum.size = offsetof(struct attn_score_sum, nats);
    sum.nats = -1;
    ck_assert_int_eq(attn_score(host, &request, NULL, &table, &sum, NULL), ATTN_OK);
    ck_assert_uint_gt(sum.n_token, 0);
    ck_assert_double_eq(sum.nats, -1);
    ck_assert_uint_eq(sum.size, offsetof(struct attn_score_sum, nats));
    attn_table_free(table);
    attn_host_free(host);
}
END_TEST

/* As one_head.c invites: a failure without a message. */
static enum attn_status fail_silently(void *user, const struct attn_trace_event *event,
                                      struct attn_error *err)
{
    (void)event, (void)err;
    return (enum attn_status)(*(const int *)user);
}

/* A program that was compiled with a later version may fill what this one does not know. */
START_TEST(fields_of_later_versions_are_refused)
{
    struct attn_host *host = attn_open_host("fable", NULL);
    const size_t n_layer = attn_model_config(attn_host_model(host))->n_layer;
    struct attn_attention layers[16];
    struct attn_attention_change change = {0};
    struct attn_edit edit = ATTN_EDIT_DEFAULT;
    struct attn_request request = ask();
    struct attn_answer_args answer = {.target = " are"};
    struct attn_source source = {.directory = "models/fable"};
    struct attn_places places_of_text = {0};
    struct attn_trace trace = {.on_event = fail_silently};
    struct attn_result result = {0};
    struct attn_model *model;
    struct attn_run *run;
    const void **const places[] = {request.predict.later,
                                   places_of_text.later,
                                   request.reading.later,
                                   request.attention.later,
                                   request.selection.later,
                                   request.edits.later,
                                   request.outputs.later,
                                   change.later,
                                   edit.later,
                                   request.input.later,
                                   request.source.later,
                                   answer.later};

    ck_assert_uint_le(n_layer, 16);
    for (size_t i = 0; i < n_layer; i++)
        layers[i] = ATTN_ATTENTION_DEFAULT;
    edit.at.site = ATTN_SITE_Z;
    request.attention.layers = layers, request.attention.change = &change;
    request.edits.items = &edit, request.edits.n = 1;
    request.predict.answer = &answer;
    request.reading.places = &places_of_text;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        *places[i] = sentence;
        REFUSED(attn_run_request(host, &request, &result, &err), "has fields");
        *places[i] = NULL;
    }
    source.later[3] = sentence;
    REFUSED(attn_model_open(&source, NULL, &model, &err), "has fields");
    request = ask();
    ck_assert_int_eq(attn_run_prepare(host, &request, &run, NULL), ATTN_OK);
    trace.selection = attn_run_selection(run), trace.later[1] = sentence;
    REFUSED(attn_run_perform(run, &trace, &result, &err), "has fields");
    attn_run_free(run);
    attn_host_free(host);
}
END_TEST

START_TEST(lists_that_are_lacking_are_named)
{
    struct attn_host *host = attn_open_host("fable", NULL);
    const struct attn_request good = ask();
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_ablate_args ablate = ATTN_ABLATE_ARGS_DEFAULT;
    struct attn_lens_args lens = ATTN_LENS_ARGS_DEFAULT;
    struct attn_attribute_args attribute = ATTN_ATTRIBUTE_ARGS_DEFAULT;
    struct attn_score_args score = ATTN_SCORE_ARGS_DEFAULT;
    struct attn_heads_args heads = ATTN_HEADS_ARGS_DEFAULT;
    struct attn_diff_args pair = ATTN_DIFF_ARGS_DEFAULT;
    struct attn_items_options file = ATTN_ITEMS_OPTIONS_DEFAULT;
    struct attn_study_args study = ATTN_STUDY_ARGS_DEFAULT;
    struct attn_diff_sum compared = ATTN_DIFF_SUM_DEFAULT;
    const char *const nothing[1] = {NULL};
    static const float number[1] = {1};
    struct attn_intervention made = {.op = ATTN_EDIT_MASK, .positions = {.text = "0"}};
    struct attn_request request = good;
    struct attn_result result = {0};
    struct attn_ablate_sum ablated = ATTN_ABLATE_SUM_DEFAULT;
    struct attn_score_sum scored = ATTN_SCORE_SUM_DEFAULT;
    struct attn_session *session;
    struct attn_table *table;

    request.edits.n = 1;
    REFUSED(attn_run_request(host, &request, &result, &err), "edits");
    request = good, request.outputs.n = 1;
    REFUSED(attn_run_request(host, &request, &result, &err), "outputs");
    request = good, request.outputs.n_option = 1;
    REFUSED(attn_run_request(host, &request, &result, &err), "options");
    request = good, request.predict.n_next = 1;
    REFUSED(attn_run_request(host, &request, &result, &err), "next");
    request.predict.next = nothing;
    REFUSED(attn_run_request(host, &request, &result, &err), "next");
    request = good, request.predict.n_next_ids = 1;
    REFUSED(attn_run_request(host, &request, &result, &err), "next_ids");
    request.predict.next_ids = &(struct attn_label_ids){.n = 1, .name = "5"};
    REFUSED(attn_run_request(host, &request, &result, &err), "next_ids");
    request = good, request.edits.n_intervention = 1;
    REFUSED(attn_run_request(host, &request, &result, &err), "interventions");
    request.edits.interventions = &made;
    REFUSED(attn_run_request(host, &request, &result, &err), "knockouts");
    made.keys.text = "0", made.later[1] = number;
    REFUSED(attn_run_request(host, &request, &result, &err), "'interventions' has fields");
    made = ATTN_INTERVENTION_DEFAULT, made.heads.n = 1;
    REFUSED(attn_run_request(host, &request, &result, &err), "heads");
    made = ATTN_INTERVENTION_DEFAULT, made.op = ATTN_EDIT_FUNCTION;
    REFUSED(attn_run_request(host, &request, &result, &err), "'op' of an intervention");
    made.op = ATTN_EDIT_REPLACE;
    REFUSED(attn_run_request(host, &request, &result, &err), "patches");
    made.values.data = number, made.at.site = ATTN_N_SITE;
    REFUSED(attn_run_request(host, &request, &result, &err), "site");
    made.at.site = ATTN_SITE_Z, made.at.stack = ATTN_STACK_TOWER + 1;
    REFUSED(attn_run_request(host, &request, &result, &err), "'stack' is 5");
    made.at.stack = ATTN_STACK_ONLY;
    made.at.site = ATTN_SITE_LOGITS;
    REFUSED(attn_run_request(host, &request, &result, &err), "patches");
    made.at.site = ATTN_SITE_Z, made.at.layer = -1;
    REFUSED(attn_run_request(host, &request, &result, &err), "patches");
    made.at.layer = 0, made.at.head = -2;
    REFUSED(attn_run_request(host, &request, &result, &err), "patches");
    made.at.head = 0;
    REFUSED(attn_run_request(host, &request, &result, &err), "blocks.0.attn.hook_z");
    made = ATTN_INTERVENTION_DEFAULT, made.op = ATTN_EDIT_ADD;
    REFUSED(attn_run_request(host, &request, &result, &err), "steer");
    made.values.rank = 1, made.values.data = number, made.at.site = ATTN_SITE_LOGITS;
    REFUSED(attn_run_request(host, &request, &result, &err), "steer");
    made.at.site = ATTN_SITE_Z, made.at.layer = -1;
    REFUSED(attn_run_request(host, &request, &result, &err), "steer");
    made.at.layer = 0;
    REFUSED(attn_run_request(host, &request, &result, &err), "names no head");
    made.at.head = 0;
    REFUSED(attn_run_request(host, &request, &result, &err), "has the shape");
    made.values.rank = 3, made.values.shape[2] = 1;
    REFUSED(attn_run_request(host, &request, &result, &err), "has the shape");
    made.values.rank = 0;
    REFUSED(attn_run_request(host, &request, &result, &err), "has the shape");
    made.values.rank = -1;
    REFUSED(attn_run_request(host, &request, &result, &err), "has the shape");
    request = good, request.input.text = NULL;
    REFUSED(attn_run_request(host, &request, &result, &err), "");
    request = good, request.input.text = NULL, request.input.n_id = 3;
    REFUSED(attn_run_request(host, &request, &result, &err), "");
    options.n_max = 4, options.n_edit = 1;
    REFUSED(attn_session_create(attn_host_model(host), &options, &session, &err), "edits");
    ablate.n_reference = 1;
    REFUSED(attn_ablate(host, &good, &ablate, &table, &ablated, &err), "references");
    file.n_input = 1;
    REFUSED(attn_items_open(&file, &study.items, &err), "inputs");
    ablate.study = lens.study = attribute.study = score.study = heads.study = &study;
    ablate.n_reference = 0;
    REFUSED(attn_ablate(host, &good, &ablate, &table, &ablated, &err), "items");
    REFUSED(attn_lens(host, &good, &lens, &table, &err), "items");
    REFUSED(attn_attribute(host, &good, &attribute, &table, &err), "items");
    REFUSED(attn_score(host, &good, &score, &table, &scored, &err), "items");
    REFUSED(attn_heads(host, &good, &heads, &table, &err), "items");
    pair.study = &study;
    REFUSED(attn_diff(host, &good, &pair, &table, &compared, &err), "items");
    attn_host_free(host);
}
END_TEST

START_TEST(lists_of_numbers_without_numbers_are_refused)
{
    struct attn_host *host = attn_open_host("fable", NULL);
    struct attn_ablate_args ablate = ATTN_ABLATE_ARGS_DEFAULT;
    struct attn_ablate_sum ablated = ATTN_ABLATE_SUM_DEFAULT;
    struct attn_ablate_set set = {.heads = {.n = 1}, .name = "set"};
    struct attn_item_place place = {.name = "here"};
    const int64_t first[] = {0};
    struct attn_places places = {.n = 1}, others = {.others = &places};
    struct attn_request request = ask();
    struct attn_result result = {0};
    struct attn_table *table;

    ablate.answer.target = " the", ablate.sets = &set, ablate.n_set = 1;
    REFUSED(attn_ablate(host, &request, &ablate, &table, &ablated, &err), "heads");
    request.selection.queries.text = "here";
    request.reading.places = &others;
    REFUSED(attn_run_request(host, &request, &result, &err), "places");
    places.items = &place;
    REFUSED(attn_run_request(host, &request, &result, &err), "places");
    place.spec.n = 1;
    REFUSED(attn_run_request(host, &request, &result, &err), "places");
    place.spec.items = first, place.name = NULL;
    REFUSED(attn_run_request(host, &request, &result, &err), "places");
    place.name = "key:here", request.selection.queries.text = "key:here";
    REFUSED(attn_run_request(host, &request, &result, &err), "no key 'here' with a text");
    attn_host_free(host);
}
END_TEST

START_TEST(fields_that_an_operation_ignores_are_refused)
{
    static const enum attn_edit_op ops[] = {ATTN_EDIT_ZERO,    ATTN_EDIT_MEAN, ATTN_EDIT_UNIFORM,
                                            ATTN_EDIT_REPLACE, ATTN_EDIT_ADD,  ATTN_EDIT_SCALE};
    struct attn_host *host = attn_open_host("fable", NULL);
    static const float number[1] = {1};
    struct attn_intervention made = ATTN_INTERVENTION_DEFAULT;
    struct attn_request request = ask();
    struct attn_result result = {0};

    request.edits.interventions = &made, request.edits.n_intervention = 1;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        const bool ablates = i < 3;

        made = ATTN_INTERVENTION_DEFAULT, made.op = ops[i], made.values.data = number;
        made.keys.text = "0";
        REFUSED(attn_run_request(host, &request, &result, &err), "`keys` has no effect");
        made.keys.text = NULL;
        if (ablates)
            made.positions.text = "0";
        else
            made.heads.text = "0.0";
        REFUSED(attn_run_request(host, &request, &result, &err),
                ablates ? "`positions` has no effect" : "`heads` has no effect");
    }
    attn_host_free(host);
}
END_TEST

/* The rules of parameters see a list of numbers as they see a text. */
START_TEST(lists_of_numbers_that_have_no_effect_are_refused)
{
    static const int64_t first[] = {0}, second[] = {1};
    static const struct attn_location head = {.layer = 1};
    const struct attn_number_list at = {.items = first, .n = 1};
    struct attn_host *host = attn_open_host("fable", NULL);
    struct attn_score_args score = ATTN_SCORE_ARGS_DEFAULT;
    struct attn_score_sum scored = ATTN_SCORE_SUM_DEFAULT;
    struct attn_attribute_args attribute = ATTN_ATTRIBUTE_ARGS_DEFAULT;
    const struct attn_request request = ask();
    struct attn_table *table;

    score.answer.at = at;
    REFUSED(attn_score(host, &request, &score, &table, &scored, &err), "`at` and `metric` need");
    attribute.score.queries = (struct attn_number_list){.items = second, .n = 1};
    attribute.score.keys = at;
    attribute.score.head = (struct attn_head_list){.items = &head, .n = 1};
    attribute.baseline_keep = at;
    REFUSED(attn_attribute(host, &request, &attribute, &table, &err), "`baseline_keep` and");
    attribute.baseline_keep.n = 0, attribute.answer.at = at;
    REFUSED(attn_attribute(host, &request, &attribute, &table, &err), "`at` and `score`");
    attribute.answer.at.n = 0, attribute.method = ATTN_ATTRIBUTE_IG;
    REFUSED(attn_attribute(host, &request, &attribute, &table, &err), "`method` and `score`");
    attn_host_free(host);
}
END_TEST

/* --- Attention on arrays ---------------------------------------------------------------------- */

enum { HEADS = 2, QUERIES = 3, KEYS = 4, WIDTH = 5 };

static const float numbers[HEADS * KEYS * WIDTH];

static enum attn_status ignore(void *user, const struct attn_trace_event *event,
                               struct attn_error *err)
{
    (void)user, (void)event, (void)err;
    return ATTN_OK;
}

static struct attn_attend_args good_args(const struct attn_trace *trace)
{
    struct attn_attend_args args = ATTN_ATTEND_ARGS_DEFAULT;

    args.n_head = args.n_kv_head = HEADS;
    args.n_query = QUERIES, args.n_key = KEYS;
    args.d_head = args.d_value = WIDTH;
    args.q = args.k = args.v = numbers;
    args.trace = trace;
    return args;
}

START_TEST(arrays_that_are_lacking_are_named)
{
    struct attn_trace trace = {.on_event = ignore};
    struct attn_attend_args args = good_args(&trace);
    const struct attn_dims dims = attn_attend_dims(&args);
    struct attn_selection *selection;
    struct attn_error ignored = {0};

    ck_assert_int_eq(attn_selection_create(&dims, &selection, &ignored), ATTN_OK);
    trace.selection = selection;
    ck_assert_int_eq(attn_attend(&args, &ignored), ATTN_OK);
    REFUSED(attn_attend(NULL, &err), "'q'");
    args.k = NULL;
    REFUSED(attn_attend(&args, &err), "'k'");
    args = good_args(&trace), args.q = NULL;
    REFUSED(attn_attend(&args, &err), "'q'");
    args = good_args(&trace), args.scores = numbers;
    REFUSED(attn_attend(&args, &err), "'scores'");
    args.q = args.k = NULL, args.attention.algorithm = ATTN_ALGORITHM_BLOCKWISE;
    REFUSED(attn_attend(&args, &err), "'blockwise'");
    args = good_args(&trace), args.trace = NULL;
    REFUSED(attn_attend(&args, &err), "'trace'");
    args = good_args(&trace), trace.on_event = NULL;
    REFUSED(attn_attend(&args, &err), "'on_event'");
    trace = (struct attn_trace){.on_event = ignore};
    REFUSED(attn_attend(&args, &err), "'selection'");
    attn_selection_free(selection);
}
END_TEST

/* A capture for fewer keys has less room than the events have cells. */
START_TEST(selections_of_other_arrays_are_refused)
{
    struct attn_trace trace = {.on_event = ignore};
    const struct attn_attend_args args = good_args(&trace);

    for (int i = 0; i < 6; i++) {
        struct attn_dims dims = attn_attend_dims(&args);
        size_t *const sizes[] = {&dims.n_head,   &dims.n_kv_head, &dims.n_position,
                                 &dims.n_source, &dims.d_value,   &dims.d_head};
        struct attn_selection *selection;

        *sizes[i] -= 1;
        ck_assert_int_eq(attn_selection_create(&dims, &selection, NULL), ATTN_OK);
        trace.selection = selection;
        REFUSED(attn_attend(&args, &err), "selection");
        attn_selection_free(selection);
    }
}
END_TEST

START_TEST(sizes_that_no_array_has_are_refused)
{
    static const size_t sizes[] = {0, SIZE_MAX, SIZE_MAX / 2 + 1, (size_t)1 << 33};
    struct attn_trace trace = {.on_event = ignore};
    const struct attn_attend_args good = good_args(&trace);
    const struct attn_dims dims = attn_attend_dims(&good);
    struct attn_selection *selection;

    ck_assert_int_eq(attn_selection_create(&dims, &selection, NULL), ATTN_OK);
    trace.selection = selection;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int which = 0; which < 6; which++) {
            struct attn_attend_args args = good;
            size_t *const fields[] = {&args.n_head, &args.n_kv_head, &args.n_query,
                                      &args.n_key,  &args.d_head,    &args.d_value};

            *fields[which] = sizes[i];
            REFUSED(attn_attend(&args, &err), "");
        }
    }
    attn_selection_free(selection);
}
END_TEST

START_TEST(attention_on_arrays_has_no_other_choices)
{
    struct attn_trace trace = {.on_event = ignore};
    const struct attn_attend_args good = good_args(&trace);
    const struct attn_dims dims = attn_attend_dims(&good);
    struct attn_selection *selection;

    ck_assert_int_eq(attn_selection_create(&dims, &selection, NULL), ATTN_OK);
    trace.selection = selection;
    for (int i = 0; i < 2; i++) {
        const int bad = i == 0 ? no_choice : below_choices;
        struct attn_attend_args args = good;

#define BAD(field, word) SPOILED(args, good, args.field = bad, attn_attend(&args, &err), word)
        BAD(gemm, "gemm");
        BAD(isa, "isa");
        BAD(compute, "compute");
        BAD(attention.kind, "kind");
        BAD(attention.mask, "mask");
#undef BAD
    }
    attn_selection_free(selection);
}
END_TEST

START_TEST(sizes_that_no_memory_holds_are_no_memory)
{
    struct attn_dims dims = {.n_layer = SIZE_MAX, .n_head = SIZE_MAX, .n_position = 4};
    struct attn_host *host = attn_open_host("fable", NULL);
    const struct attn_request request = ask();
    struct attn_run *run = prepare(host, &request);
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_error found = {0};
    struct attn_selection *made;
    struct attn_session *session;

    ck_assert_int_eq(attn_selection_create(&dims, &made, &found), ATTN_NO_MEMORY);
    options.n_max = SIZE_MAX;
    REFUSED(attn_session_create(attn_host_model(host), &options, &session, &err), "positions");
    options.n_max = 4, options.n_source = SIZE_MAX;
    REFUSED(attn_session_create(attn_host_model(host), &options, &session, &err), "source");
    attn_run_free(run);
    attn_host_free(host);
}
END_TEST

/* --- Places that there are not ---------------------------------------------------------------- */

START_TEST(captures_have_no_other_places)
{
    static const int others[] = {-1, -2, INT_MIN, INT_MAX, 1000};
    struct attn_host *host = attn_open_host("fable", NULL);
    const struct attn_request request = ask();
    struct attn_run *run = prepare(host, &request);
    struct attn_result result = {0};
    struct attn_capture *capture;

    ck_assert_int_eq(attn_capture_create(attn_run_selection(run), &capture, NULL), ATTN_OK);
    ck_assert_int_eq(attn_run_perform(run, attn_capture_trace(capture), &result, NULL), ATTN_OK);
    ck_assert_ptr_nonnull(attn_capture_head(
        capture, &(struct attn_location){.site = ATTN_SITE_PATTERN, .layer = 0, .head = 0}));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        ck_assert_ptr_null(attn_capture_head(
            capture,
            &(struct attn_location){.site = ATTN_SITE_PATTERN, .layer = 0, .head = others[i]}));
        ck_assert_ptr_null(attn_capture_head(
            capture,
            &(struct attn_location){.site = ATTN_SITE_PATTERN, .layer = others[i], .head = 0}));
        ck_assert_ptr_null(attn_capture_head(
            capture,
            &(struct attn_location){.site = (enum attn_site)others[i], .layer = 0, .head = 0}));
        ck_assert_ptr_null(attn_capture_tensor(
            capture, &(struct attn_location){.site = ATTN_SITE_PATTERN, .layer = others[i]}));
        ck_assert_ptr_null(attn_capture_tensor(
            capture, &(struct attn_location){.site = (enum attn_site)others[i], .layer = 0}));
        ck_assert(!attn_capture_has_cell(
            capture, &(struct attn_location){.site = ATTN_SITE_PATTERN, .layer = others[i]}, 0));
        ck_assert(!attn_capture_has_cell(
            capture, &(struct attn_location){.site = (enum attn_site)others[i], .layer = 0}, 0));
    }
    ck_assert(!attn_capture_has_cell(
        capture, &(struct attn_location){.site = ATTN_SITE_PATTERN, .layer = 0}, SIZE_MAX));
    ck_assert_ptr_null(attn_capture_head(
        capture, &(struct attn_location){.site = ATTN_SITE_RESID_PRE, .layer = 0, .head = 0}));
    attn_capture_free(capture);
    attn_result_release(&result);
    attn_run_free(run);
    attn_host_free(host);
}
END_TEST

START_TEST(selections_have_no_other_places)
{
    static const int others[] = {-1, -2, INT_MIN, INT_MAX, 2};
    const struct attn_dims dims = {.n_layer = 2,
                                   .n_head = 2,
                                   .n_kv_head = 2,
                                   .n_position = 2,
                                   .sites = ATTN_SITES(ATTN_SITE_PATTERN)};
    struct attn_selection *selection;
    size_t shape[3];

    ck_assert_int_eq(attn_selection_create(&dims, &selection, NULL), ATTN_OK);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        ck_assert(!attn_selection_has_head(selection,
                                           &(struct attn_location){.layer = others[i], .head = 0}));
        ck_assert(!attn_selection_has_head(selection,
                                           &(struct attn_location){.layer = 0, .head = others[i]}));
        ck_assert(!attn_selection_has_tensor_head(
            selection,
            &(struct attn_location){.layer = others[i], .head = 0, .site = ATTN_SITE_K}));
        ck_assert(!attn_selection_has_tensor_head(
            selection,
            &(struct attn_location){.layer = 0, .head = others[i], .site = ATTN_SITE_K}));
        ck_assert(!attn_selection_has_query(selection, ATTN_STACK_ONLY, (size_t)others[i]));
        ck_assert(!attn_selection_wants_block(selection, ATTN_SITE_PATTERN, others[i]));
        ck_assert(!attn_selection_wants_block(selection, (enum attn_site)others[i], 0));
        ck_assert_int_eq(attn_selection_shape(
                             selection,
                             &(struct attn_location){.site = ATTN_SITE_PATTERN, .layer = others[i]},
                             shape),
                         0);
        if (others[i] != ATTN_ALL_HEADS)
            REFUSED(attn_selection_add_head(
                        selection, &(struct attn_location){.layer = 0, .head = others[i]}, &err),
                    "head");
        if (others[i] != ATTN_ALL_LAYERS)
            REFUSED(attn_selection_add_head(
                        selection, &(struct attn_location){.layer = others[i], .head = 0}, &err),
                    "layer");
        REFUSED(attn_selection_add_queries(selection, ATTN_STACK_ONLY, (size_t)others[i], 1, &err),
                "queries");
    }
    REFUSED(attn_selection_add_queries(selection, ATTN_STACK_ONLY, 1, SIZE_MAX, &err), "queries");
    attn_selection_free(selection);
}
END_TEST

START_TEST(tables_have_no_other_cells)
{
    struct attn_table *table;

    ck_assert_int_eq(attn_catalog_list(NULL, &table, NULL), ATTN_OK);
    ck_assert_int_eq(attn_table_cell(table, 0, 0).type, ATTN_VALUE_TEXT);
    ck_assert_int_eq(attn_table_cell(table, attn_table_n_row(table), 0).type, ATTN_VALUE_MISSING);
    ck_assert_int_eq(attn_table_cell(table, 0, SIZE_MAX).type, ATTN_VALUE_MISSING);
    ck_assert_ptr_null(attn_table_column(table, attn_table_n_column(table)));
    attn_table_free(table);
}
END_TEST

/* --- Observers -------------------------------------------------------------------------------- */

START_TEST(an_observer_that_fails_silently_fails_the_run)
{
    static const int statuses[] = {ATTN_IO, ATTN_CANCELED, ATTN_INVALID, 99, -1};
    struct attn_host *host = attn_open_host("fable", NULL);

    attn_folder_enter();
    for (size_t i = 0; i < 2 * sizeof statuses / sizeof *statuses; i++) {
        int status = statuses[i / 2];
        const struct attn_output output = {.format = attn_format_find("npz"), .path = "a.npz"};
        struct attn_request request = ask();
        struct attn_result result = {0};
        struct attn_error err = {0};
        struct attn_run *run;

        request.outputs.items = &output, request.outputs.n = i % 2;
        run = prepare(host, &request);
        const struct attn_trace trace = {.selection = attn_run_labels(run)->selection,
                                         .on_event = fail_silently,
                                         .user = &status};

        ck_assert_int_eq((int)attn_run_perform(run, &trace, &result, &err), status);
        ck_assert_int_eq((int)err.status, status);
        ck_assert_msg(strstr(err.message, "on_event") != NULL, "%s", err.message);
        ck_assert_uint_eq(attn_folder_count(), 0);
        attn_run_free(run);
    }
    attn_folder_leave();
    attn_host_free(host);
}
END_TEST

static enum attn_status give_one(void *user, struct attn_item **item, struct attn_error *err)
{
    static struct attn_item one;
    int *n = user;

    (void)err;
    one.input.text = sentence, one.input.n_text = strlen(sentence);
    *item = (*n)++ > 0 ? NULL : &one;
    return ATTN_OK;
}

static enum attn_status fail_to_give(void *user, struct attn_item **item, struct attn_error *err)
{
    (void)user, (void)item, (void)err;
    return ATTN_IO;
}

static enum attn_status fail_to_take(void *user, const struct attn_item_result *result,
                                     struct attn_error *err)
{
    (void)user, (void)result, (void)err;
    return ATTN_IO;
}

static enum attn_status fail_to_hear(void *user, int32_t id, const char *token, size_t size,
                                     struct attn_error *err)
{
    (void)user, (void)id, (void)token, (void)size, (void)err;
    return ATTN_IO;
}

START_TEST(other_functions_that_fail_silently_fail_too)
{
    struct attn_host *host = attn_open_host("fable", NULL);
    const struct attn_request request = ask();
    struct attn_generate_args args = ATTN_GENERATE_ARGS_DEFAULT;
    struct attn_many_options options = ATTN_MANY_OPTIONS_DEFAULT;
    struct attn_generation made = ATTN_GENERATION_DEFAULT;
    struct attn_error err = {0};
    int n = 0;
    const struct attn_item_calls calls[] = {{.next = fail_to_give, .done = take_nothing},
                                            {.next = give_one, .done = fail_to_take, .user = &n}};

    for (size_t i = 0; i < 2; i++) {
        err = (struct attn_error){0};
        ck_assert_int_eq(attn_run_many(host, &options, &calls[i], &err), ATTN_IO);
        ck_assert_msg(strstr(err.message, i == 0 ? "next" : "done") != NULL, "%s", err.message);
    }
    err = (struct attn_error){0};
    args.n_most = 2, args.on_token = fail_to_hear;
    ck_assert_int_eq(attn_generate(host, &request, &args, &made, &err), ATTN_IO);
    ck_assert_msg(strstr(err.message, "on_token") != NULL, "%s", err.message);
    attn_host_free(host);
}
END_TEST

START_TEST(observers_that_lack_a_part_are_refused)
{
    struct attn_host *host = attn_open_host("fable", NULL);
    const struct attn_request request = ask();
    struct attn_run *run = prepare(host, &request);
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_trace trace = {.selection = attn_run_labels(run)->selection};
    struct attn_result result = {0};
    struct attn_session *session;

    options.n_max = 4, options.trace = &trace;
    REFUSED(attn_run_perform(run, &trace, &result, &err), "on_event");
    REFUSED(attn_session_create(attn_host_model(host), &options, &session, &err), "on_event");
    trace = (struct attn_trace){.on_event = ignore};
    REFUSED(attn_run_perform(run, &trace, &result, &err), "selection");
    REFUSED(attn_session_create(attn_host_model(host), &options, &session, &err), "selection");
    attn_run_free(run);
    attn_host_free(host);
}
END_TEST

START_TEST(a_run_is_performed_once)
{
    struct attn_host *host = attn_open_host("fable", NULL);
    const struct attn_request request = ask();
    struct attn_run *run = prepare(host, &request);
    struct attn_result result = {0};
    struct attn_table *table;

    ck_assert_int_eq(attn_run_perform(run, NULL, &result, NULL), ATTN_OK);
    REFUSED(attn_run_perform(run, NULL, &result, &err), "once");
    REFUSED(attn_head_measures(run, ATTN_MEASURE_BIT(ATTN_MEASURE_ENTROPY), &table, &err), "once");
    attn_result_release(&result);
    attn_run_free(run);
    attn_host_free(host);
}
END_TEST

/* --- Siblings --------------------------------------------------------------------------------- */

/* The widths of one model, the room of another. */
START_TEST(selections_of_other_models_are_refused)
{
    struct attn_host *host = attn_open_host("fable", NULL);
    const struct attn_model *model = attn_host_model(host);

    for (int i = 0; i < 6; i++) {
        struct attn_dims dims = attn_config_dims(attn_model_config(model), 4);
        size_t *const sizes[] = {&dims.n_layer, &dims.n_head,  &dims.d_head,
                                 &dims.d_model, &dims.n_vocab, &dims.d_mlp};
        struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
        struct attn_trace trace = {.on_event = ignore};
        struct attn_selection *selection;
        struct attn_session *session;

        *sizes[i] -= 1;
        ck_assert_int_eq(attn_selection_create(&dims, &selection, NULL), ATTN_OK);
        trace.selection = selection, options.trace = &trace, options.n_max = 4;
        REFUSED(attn_session_create(model, &options, &session, &err), "selection");
        attn_selection_free(selection);
    }
    attn_host_free(host);
}
END_TEST

/* A selection for fewer positions than are fed: only these are kept. */
START_TEST(captures_of_shorter_texts_keep_what_they_have_room_for)
{
    struct attn_host *host = attn_open_host("fable", NULL);
    const struct attn_model *model = attn_host_model(host);
    const struct attn_dims dims = attn_config_dims(attn_model_config(model), 2);
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    static const int32_t ids[5] = {1, 2, 3, 4, 5};
    struct attn_selection *selection;
    struct attn_capture *capture;
    struct attn_session *session;

    ck_assert_int_eq(attn_selection_create(&dims, &selection, NULL), ATTN_OK);
    ck_assert_int_eq(attn_selection_set_sites(selection, dims.sites, NULL), ATTN_OK);
    ck_assert_int_eq(attn_capture_create(selection, &capture, NULL), ATTN_OK);
    options.n_max = 5, options.trace = attn_capture_trace(capture);
    ck_assert_int_eq(attn_session_create(model, &options, &session, NULL), ATTN_OK);
    ck_assert_int_eq(attn_session_feed(session, ids, 5, NULL), ATTN_OK);
    attn_session_free(session);
    attn_capture_free(capture);
    attn_selection_free(selection);
    attn_host_free(host);
}
END_TEST

START_TEST(hosts_without_a_model_are_said)
{
    struct attn_host *host = open_host_of_arrays();
    const struct attn_request request = ask();
    struct attn_result result = {0};
    struct attn_ablate_sum ablated = ATTN_ABLATE_SUM_DEFAULT;
    struct attn_patch_sum patched = ATTN_PATCH_SUM_DEFAULT;
    struct attn_score_sum scored = ATTN_SCORE_SUM_DEFAULT;
    struct attn_diff_sum differs = ATTN_DIFF_SUM_DEFAULT;
    struct attn_generation made = ATTN_GENERATION_DEFAULT;
    const struct attn_tokenizer *tokenizer;
    struct attn_table *table;
    const struct attn_item_calls calls = {.next = give_nothing, .done = take_nothing};

    REFUSED(attn_host_tokenizer(host, &tokenizer, &err), "model");
    REFUSED(attn_run_request(host, &request, &result, &err), "model");
    REFUSED(attn_run_many(host, NULL, &calls, &err), "model");
    REFUSED(attn_ablate(host, &request, NULL, &table, &ablated, &err), "model");
    REFUSED(attn_attribute(host, &request, NULL, &table, &err), "model");
    REFUSED(attn_diff(host, &request, NULL, &table, &differs, &err), "model");
    REFUSED(attn_generate(host, &request, NULL, &made, &err), "model");
    REFUSED(attn_lens(host, &request, NULL, &table, &err), "model");
    REFUSED(attn_patch(host, &request, NULL, &table, &patched, &err), "model");
    REFUSED(attn_score(host, &request, NULL, &table, &scored, &err), "model");
    REFUSED(attn_similarity(host, &request, 0, &table, &err), "model");
    REFUSED(attn_heads(host, &request, NULL, &table, &err), "model");
    attn_host_free(host);
}
END_TEST

START_TEST(outputs_without_a_format_or_a_place_are_refused)
{
    struct attn_host *host = attn_open_host("fable", NULL);
    struct attn_request request = ask();
    struct attn_output output = {.path = "a.npz"};
    struct attn_result result = {0};

    request.outputs.items = &output, request.outputs.n = 1;
    REFUSED(attn_run_request(host, &request, &result, &err), "format");
    output = (struct attn_output){.format = attn_format_find("npz")};
    REFUSED(attn_run_request(host, &request, &result, &err), "sink");
    REFUSED(attn_host_check_outputs(host, &(struct attn_output){.path = "a"}, 1, &err), "format");
    attn_host_free(host);
}
END_TEST

START_TEST(a_file_is_not_written_to_after_its_commit)
{
    struct attn_host *host = attn_open_host("fable", NULL);
    struct attn_request request = ask();
    struct attn_output output = {.format = attn_format_find("npz")};
    struct attn_result result = {0};
    struct attn_sink *sink;
    size_t size = 1;

    attn_folder_enter();
    ck_assert_int_eq(attn_sink_create_file("a", &sink, NULL), ATTN_OK);
    attn_sink_write(sink, "a", 1);
    ck_assert_ptr_null(attn_sink_bytes(sink, &size));
    ck_assert_uint_eq(size, 0);
    ck_assert_int_eq(attn_sink_commit(sink, NULL), ATTN_OK);
    ck_assert_int_eq(attn_sink_commit(sink, NULL), ATTN_OK); /* nothing was left to do */
    output.sink = sink, request.outputs.items = &output, request.outputs.n = 1;
    REFUSED(attn_run_request(host, &request, &result, &err), "committed");
    attn_sink_write(sink, "b", 1);
    REFUSED(attn_sink_commit(sink, &err), "committed");
    attn_sink_free(sink);
    attn_folder_leave();
    attn_host_free(host);
}
END_TEST

START_TEST(records_are_not_written_to_after_their_commit)
{
    const struct attn_records_item item = {.format = "jsonl", .path = "a"};
    const struct attn_item none = {.number = 0};
    const struct attn_item_result outcome = {.item = &none, .failure = ATTN_REASON_EMPTY};
    const struct attn_records_item unknown = {.format = "nonsense", .path = "b"};
    struct attn_records_form form = ATTN_RECORDS_FORM_DEFAULT;
    struct attn_records *records;

    attn_folder_enter();
    REFUSED(attn_records_open(&unknown, &form, false, &records, &err), "nonsense");
    REFUSED(attn_records_open(&item, &(struct attn_records_form){0}, false, &records, &err),
            "size");
    ck_assert_int_eq(attn_records_open(&item, &form, false, &records, NULL), ATTN_OK);
    ck_assert_int_eq(attn_records_write(records, &outcome, NULL), ATTN_OK);
    ck_assert_int_eq(attn_records_finish(records, NULL), ATTN_OK);
    ck_assert_int_eq(attn_records_commit(records, NULL), ATTN_OK);
    REFUSED(attn_records_write(records, &outcome, &err), "committed");
    REFUSED(attn_records_flush(records, &err), "committed");
    attn_records_free(records);
    attn_folder_leave();
}
END_TEST

START_TEST(a_session_that_failed_must_be_reset)
{
    int status = ATTN_IO;
    struct attn_host *host = attn_open_host("fable", NULL);
    const struct attn_request request = ask();
    struct attn_run *run = prepare(host, &request);
    const struct attn_trace trace = {
        .selection = attn_run_labels(run)->selection, .on_event = fail_silently, .user = &status};
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    static const int32_t ids[3] = {1, 2, 3}, bad[1] = {-1};
    struct attn_error failure = {0};
    struct attn_session *session;
    const float *logits;

    options.n_max = 3, options.trace = &trace;
    ck_assert_int_eq(attn_session_create(attn_host_model(host), &options, &session, NULL), ATTN_OK);
    REFUSED(attn_session_feed(session, ids, 0, &err), "tokens");
    REFUSED(attn_session_feed(session, ids, SIZE_MAX, &err), "too many");
    REFUSED(attn_session_feed(session, bad, 1, &err), "-1");
    REFUSED(attn_session_logits(session, &logits, &err), "logits");
    REFUSED(attn_session_rewind(session, 1, &err), "back");
    ck_assert_int_eq(attn_session_feed(session, ids, 3, &failure), ATTN_IO);
    ck_assert_msg(strstr(failure.message, "on_event") != NULL, "%s", failure.message);
    REFUSED(attn_session_feed(session, ids, 3, &err), "reset");
    attn_session_free(session);
    attn_run_free(run);
    attn_host_free(host);
}
END_TEST

START_TEST(explanations_need_what_they_explain)
{
    struct attn_host *host = attn_open_host("fable", NULL);
    struct attn_request request = ask();
    struct attn_run *run;
    struct attn_explain_args args = ATTN_EXPLAIN_ARGS_DEFAULT;
    struct attn_explainer *explainer;

    request.selection.heads = "1.2", request.selection.queries.text = "-1";
    run = prepare(host, &request);
    REFUSED(attn_explainer_create(&args, &explainer, &err), "selection");
    args.selection = attn_run_labels(run)->selection;
    REFUSED(attn_explainer_create(&args, &explainer, &err), "attention");
    args.attention = attn_model_config(attn_host_model(host))->attention;
    args.n_edit = 1;
    REFUSED(attn_explainer_create(&args, &explainer, &err), "edits");
    attn_run_free(run);
    attn_host_free(host);
}
END_TEST

ATTN_SUITE("callers' mistakes", null_is_named_by_every_public_function,
           null_is_named_by_functions_of_the_library, structs_of_later_versions_are_refused,
           numbers_that_are_no_choice_have_no_name, attentions_have_no_other_choices,
           requests_have_no_other_choices, hosts_models_and_sessions_have_no_other_choices,
           experiments_have_no_other_choices, structs_without_their_size_are_refused,
           results_are_not_written_beyond_the_size_of_the_caller,
           fields_of_later_versions_are_refused, lists_that_are_lacking_are_named,
           lists_of_numbers_without_numbers_are_refused,
           lists_of_numbers_that_have_no_effect_are_refused,
           fields_that_an_operation_ignores_are_refused, arrays_that_are_lacking_are_named,
           selections_of_other_arrays_are_refused, sizes_that_no_array_has_are_refused,
           attention_on_arrays_has_no_other_choices, sizes_that_no_memory_holds_are_no_memory,
           captures_have_no_other_places, selections_have_no_other_places,
           tables_have_no_other_cells, an_observer_that_fails_silently_fails_the_run,
           other_functions_that_fail_silently_fail_too, observers_that_lack_a_part_are_refused,
           a_run_is_performed_once, selections_of_other_models_are_refused,
           captures_of_shorter_texts_keep_what_they_have_room_for, hosts_without_a_model_are_said,
           outputs_without_a_format_or_a_place_are_refused,
           a_file_is_not_written_to_after_its_commit, records_are_not_written_to_after_their_commit,
           a_session_that_failed_must_be_reset, explanations_need_what_they_explain)
