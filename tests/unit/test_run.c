/*
 * test_run.c - a request served by a host: the bits of a session, predictions after chosen
 * positions, attention on arrays, failures with their stage, and several threads on one host.
 */
#include "extra.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/encoders.h"
#include "tests/support/kept.h"
#include "tests/support/suite.h"
#include "trace/site_set.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_CALLER = 4, N_ROUND = 3 };

static const char text[] = "The keys are";

static struct attn_host *open_host(const char *directory)
{
    const struct attn_source source = {.directory = directory};
    struct attn_host_options options = ATTN_HOST_OPTIONS_DEFAULT;
    struct attn_error err = {0};
    struct attn_host *host;

    options.n_thread = 2;
    ck_assert_msg(attn_host_create(directory ? &source : NULL, &options, &host, &err) == ATTN_OK,
                  "%s", err.message);
    return host;
}

static struct attn_request text_request(void)
{
    struct attn_request request = ATTN_REQUEST_DEFAULT;

    request.input.text = text;
    request.input.n_text = strlen(text);
    return request;
}

/* A run that a capture watches: the capture is the caller's, RESULT may be NULL. */
static struct attn_capture *capture_run(struct attn_host *host, const struct attn_request *request,
                                        struct attn_run **run)
{
    struct attn_result result = {0};
    struct attn_error err = {0};
    struct attn_capture *capture;

    ck_assert_msg(attn_run_prepare(host, request, run, &err) == ATTN_OK, "%s", err.message);
    ck_assert(attn_capture_create(attn_run_labels(*run)->selection, &capture, &err) == ATTN_OK);
    ck_assert_msg(attn_run_perform(*run, attn_capture_trace(capture), &result, &err) == ATTN_OK,
                  "%s", err.message);
    attn_result_release(&result);
    return capture;
}

/* The same pattern of layer 1 from a session that nothing stands in front of. */
static struct attn_capture *capture_session(const struct attn_host *host,
                                            const struct attn_labels *labels)
{
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    const size_t n = attn_selection_dims(labels->selection)->n_position;
    struct attn_error err = {0};
    struct attn_session *session;
    struct attn_capture *capture;

    ck_assert(attn_capture_create(labels->selection, &capture, &err) == ATTN_OK);
    options.n_max = n;
    options.trace = attn_capture_trace(capture);
    ck_assert(attn_session_create(attn_host_model(host), &options, &session, &err) == ATTN_OK);
    ck_assert(attn_session_feed(session, labels->ids, n, &err) == ATTN_OK);
    attn_session_free(session);
    return capture;
}

START_TEST(gives_the_bits_of_a_session)
{
    struct attn_host *host = open_host("models/tiny-gpt2");
    struct attn_request request = text_request();
    struct attn_run *run;

    request.selection.sites = "pattern,resid_post";
    struct attn_capture *seen = capture_run(host, &request, &run);
    const struct attn_labels *labels = attn_run_labels(run);
    struct attn_capture *expected = capture_session(host, labels);
    const struct attn_dims *dims = attn_selection_dims(labels->selection);
    const size_t n = dims->n_position, n_byte = dims->n_head * n * n * sizeof(float);
    struct attn_result result = {0};
    struct attn_error err = {0};

    ck_assert_uint_eq(n, 6);
    ck_assert_mem_eq(attn_kept(seen, ATTN_SITE_PATTERN, 1),
                     attn_kept(expected, ATTN_SITE_PATTERN, 1), n_byte);
    ck_assert_mem_eq(attn_kept(seen, ATTN_SITE_RESID_POST, 2),
                     attn_kept(expected, ATTN_SITE_RESID_POST, 2),
                     n * dims->d_model * sizeof(float));
    ck_assert_ptr_eq(attn_run_selection(run), labels->selection);
    attn_run_free(run); /* captures stay */
    attn_capture_free(seen);
    ck_assert(attn_run_capture(host, &request, &seen, &result, &err) == ATTN_OK);
    ck_assert_uint_eq(result.n_token, n);
    ck_assert_mem_eq(attn_kept(seen, ATTN_SITE_PATTERN, 1),
                     attn_kept(expected, ATTN_SITE_PATTERN, 1), n_byte);
    ck_assert_mem_eq(attn_kept_head(seen, ATTN_SITE_PATTERN, 1, 1),
                     attn_kept_head(expected, ATTN_SITE_PATTERN, 1, 1), n * n * sizeof(float));
    attn_capture_free(seen);
    attn_capture_free(expected);
    attn_host_free(host);
}
END_TEST

START_TEST(takes_a_selection_that_was_built_by_calls)
{
    struct attn_host *host = open_host("models/tiny-gpt2");
    struct attn_dims dims = attn_config_dims(attn_model_config(attn_host_model(host)), 6);
    struct attn_request request = text_request();
    struct attn_selection *selection;
    struct attn_error err = {0};
    struct attn_run *run = NULL;

    ck_assert(attn_selection_create(&dims, &selection, &err) == ATTN_OK);
    ck_assert(attn_selection_add_head(selection, &(struct attn_location){.layer = 2, .head = 1},
                                      &err) == ATTN_OK);
    request.selection.given = selection;
    struct attn_capture *capture = capture_run(host, &request, &run);

    ck_assert_ptr_eq(attn_run_labels(run)->selection, selection);
    ck_assert_ptr_nonnull(attn_kept(capture, ATTN_SITE_PATTERN, 2));
    ck_assert_ptr_null(attn_kept(capture, ATTN_SITE_PATTERN, 0));
    attn_capture_free(capture);
    attn_run_free(run);

    request.input.n_text = 3; /* "The": one position */
    ck_assert(attn_run_prepare(host, &request, &run, &err) == ATTN_INVALID);
    ck_assert_int_eq(err.stage, ATTN_STAGE_OPTIONS);
    ck_assert_ptr_nonnull(strstr(err.message, "the selection is for 6 positions"));
    attn_selection_free(selection);
    attn_host_free(host);
}
END_TEST

/* What REQUEST of HOST predicts. */
static struct attn_result serve(struct attn_host *host, const struct attn_request *request)
{
    struct attn_result result = {0};
    struct attn_error err = {0};

    ck_assert_msg(attn_run_request(host, request, &result, &err) == ATTN_OK, "%s", err.message);
    return result;
}

/* The most probable tokens after position p are those of the text that ends there. */
START_TEST(reads_a_knockout_as_it_is_typed)
{
    const char *const knockouts[] = {"\"a>b\",-1>the@x#2@2.*", "it>cat"}, *const bad = "it>";
    struct attn_edit_texts texts = {.knockouts = knockouts, .n_knockout = 2};
    struct attn_request_edits edits = {0};
    const struct attn_intervention *first;
    struct attn_error err = {0};

    ck_assert(attn_edit_texts_read(&texts, NULL, &edits, &err) == ATTN_OK);
    ck_assert_uint_eq(edits.n_intervention, 2);
    first = edits.interventions;
    ck_assert_str_eq(first->positions.text, "\"a>b\",-1");
    ck_assert_str_eq(first->keys.text, "the");
    ck_assert_str_eq(first->heads.text, "x#2@2.*");
    ck_assert_str_eq(first->name, knockouts[0]);
    ck_assert_ptr_null(first[1].heads.text);
    texts.knockouts = &bad, texts.n_knockout = 1;
    ck_assert(attn_edit_texts_read(&texts, NULL, &edits, &err) == ATTN_INVALID);
    ck_assert(err.stage == ATTN_STAGE_OPTIONS);
    attn_edit_texts_release(&texts);
}
END_TEST

/* Runs REQUEST with the edits GIVEN [n]. The caller frees the copied logits [*n_logit]. */
static float *logits_with(struct attn_host *host, struct attn_request request,
                          const struct attn_intervention *given, size_t n, size_t *n_logit)
{
    struct attn_run *run;

    request.edits.interventions = given, request.edits.n_intervention = n;
    request.selection.sites = "logits";
    struct attn_capture *seen = capture_run(host, &request, &run);
    const struct attn_dims *dims = attn_selection_dims(attn_run_labels(run)->selection);
    float *logits = malloc((*n_logit = dims->n_position * dims->n_vocab) * sizeof *logits);

    memcpy(logits, attn_kept(seen, ATTN_SITE_LOGITS, ATTN_NO_LAYER), *n_logit * sizeof *logits);
    attn_capture_free(seen);
    attn_run_free(run);
    return logits;
}

START_TEST(an_ablation_by_numbers_is_that_of_a_text)
{
    static const struct attn_location heads[] = {{.layer = 2, .head = 1}, {.layer = 0, .head = 0}},
                                      layer[] = {{.layer = 1, .head = ATTN_ALL_HEADS}};
    static const struct {
        const char *text;
        struct attn_intervention given;
    } rows[] = {
        {"2.1,0.0", {.op = ATTN_EDIT_ZERO, .heads = {.items = heads, .n = 2}}},
        {"2.1", {.op = ATTN_EDIT_ZERO, .at = {.site = ATTN_SITE_Z, .layer = 2, .head = 1}}},
        {"mean:1.*", {.op = ATTN_EDIT_MEAN, .heads = {.items = layer, .n = 1}}},
        {"uniform:2.1", {.op = ATTN_EDIT_UNIFORM, .at = {.layer = 2, .head = 1}}},
        {"mean:mlp_out:1",
         {.op = ATTN_EDIT_MEAN,
          .at = {.site = ATTN_SITE_MLP_OUT, .layer = 1, .head = ATTN_ALL_HEADS}}},
        /* the numbers are used */
        {"2.1,0.0", {.op = ATTN_EDIT_ZERO, .heads = {.text = "no", .items = heads, .n = 2}}},
    };
    struct attn_host *host = open_host("models/tiny-gpt2");
    const struct attn_request plain = text_request();
    size_t n;
    float *without = logits_with(host, plain, NULL, 0, &n);

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct attn_edit_texts texts = {.ablate = rows[i].text};
        struct attn_request_edits edits = {0};
        struct attn_error err = {0};

        ck_assert(attn_edit_texts_read(&texts, attn_host_model(host), &edits, &err) == ATTN_OK);
        float *by_text = logits_with(host, plain, edits.interventions, edits.n_intervention, &n);
        float *by_number = logits_with(host, plain, &rows[i].given, 1, &n);

        ck_assert_mem_eq(by_text, by_number, n * sizeof *by_text);
        ck_assert_mem_ne(by_text, without, n * sizeof *by_text);
        free(by_text);
        free(by_number);
        attn_edit_texts_release(&texts);
    }
    free(without);
    attn_host_free(host);
}
END_TEST

/* A head that the model lacks fails with the range of heads, or of layers. */
START_TEST(an_ablation_by_bad_numbers_fails)
{
    static const struct attn_location none[] = {{.layer = 9, .head = 0}};
    static const struct {
        struct attn_intervention given;
        const char *message;
    } rows[] = {
        {{.op = ATTN_EDIT_ZERO, .heads = {.items = none, .n = 1}},
         "ablate: there is no layer 9, expected 0 to 2"},
        {{.op = ATTN_EDIT_UNIFORM, .at = {.layer = 0, .head = 7}},
         "ablate: there is no head '0.7', expected layers from 0 to 2 and heads from 0 to 2"},
        {{.op = ATTN_EDIT_ZERO, .at = {.site = ATTN_SITE_Z, .layer = 0, .head = 7}},
         "ablate: 'z' names head 7, expected 0 to 2"},
        {{.op = ATTN_EDIT_MEAN, .at = {.site = ATTN_SITE_ROLLOUT}},
         "ablate: 'rollout' is of no tensor of a layer that can be edited"},
        {{.op = ATTN_EDIT_ZERO, .at = {.site = ATTN_SITE_Z}, .positions = {.text = "0"}},
         "ablate: `positions` has no effect on 'z'"},
    };
    struct attn_host *host = open_host("models/tiny-gpt2");
    struct attn_request request = text_request();

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct attn_result result = {0};
        struct attn_error err = {0};

        request.edits.interventions = &rows[i].given, request.edits.n_intervention = 1;
        ck_assert_int_eq(attn_run_request(host, &request, &result, &err), ATTN_INVALID);
        ck_assert_str_eq(err.message, rows[i].message);
        ck_assert(err.stage == ATTN_STAGE_OPTIONS);
        attn_result_release(&result);
    }
    attn_host_free(host);
}
END_TEST

/* What a file would hold can as well be an array in memory: here the tensor of another run. */
START_TEST(takes_a_patch_whose_array_is_in_memory)
{
    static const int32_t ids[] = {1, 2, 3, 4, 5, 6};
    struct attn_host *host = open_host("models/tiny-gpt2");
    struct attn_request request = text_request();
    struct attn_intervention patch = ATTN_INTERVENTION_DEFAULT;
    struct attn_run *clean, *run;

    request.selection.sites = "resid_mid";
    request.input.text = NULL, request.input.ids = ids, request.input.n_id = 6;
    struct attn_capture *from = capture_run(host, &request, &clean);
    const struct attn_dims dims = *attn_selection_dims(attn_run_labels(clean)->selection);
    const float *rows = attn_kept(from, ATTN_SITE_RESID_MID, 1);
    const size_t last = (dims.n_position - 1) * dims.d_model;

    patch.op = ATTN_EDIT_REPLACE;
    patch.at.site = ATTN_SITE_RESID_MID, patch.at.layer = 1, patch.positions.text = "-1";
    patch.values =
        (struct attn_ndarray){.rank = 2, .shape = {dims.n_position, dims.d_model}, .data = rows};
    request.input = text_request().input, request.edits.interventions = &patch,
    request.edits.n_intervention = 1;
    struct attn_capture *seen = capture_run(host, &request, &run);

    ck_assert_uint_eq(dims.n_position, 6);
    ck_assert_mem_eq(attn_kept(seen, ATTN_SITE_RESID_MID, 1) + last, rows + last,
                     dims.d_model * sizeof *rows);
    request.edits.n_intervention = 0;
    attn_capture_free(seen);
    attn_run_free(run);
    seen = capture_run(host, &request, &run);
    ck_assert_mem_ne(attn_kept(seen, ATTN_SITE_RESID_MID, 1) + last, rows + last,
                     dims.d_model * sizeof *rows);
    attn_capture_free(seen);
    attn_capture_free(from);
    attn_run_free(run);
    attn_run_free(clean);
    attn_host_free(host);
}
END_TEST

START_TEST(answers_top_at_each_chosen_position)
{
    static const int32_t ids[] = {308, 220, 401, 83, 83, 336};
    struct attn_host *host = open_host("models/tiny-gpt2");
    struct attn_request request = ATTN_REQUEST_DEFAULT;

    request.input.ids = ids;
    request.input.n_id = 6;
    request.predict.top = 3;
    request.selection.queries.text = "1,4-5";
    struct attn_result all = serve(host, &request);
    const size_t positions[] = {1, 4, 5};

    ck_assert(all.predictions.has_positions);
    ck_assert_uint_eq(all.predictions.n_top, 9);
    request.selection.queries.text = NULL;
    for (size_t i = 0; i < 3; i++) {
        request.input.n_id = positions[i] + 1;
        struct attn_result one = serve(host, &request);

        ck_assert(!one.predictions.has_positions);
        for (size_t j = 0; j < 3; j++) {
            const struct attn_candidate *seen = &all.predictions.top[3 * i + j];

            ck_assert_uint_eq(seen->position, positions[i]);
            ck_assert_int_eq(seen->id, one.predictions.top[j].id);
            ck_assert_double_eq(seen->prob, one.predictions.top[j].prob);
        }
        attn_result_release(&one);
    }
    attn_result_release(&all);
    attn_host_free(host);
}
END_TEST

START_TEST(makes_tables_of_predictions)
{
    char are[] = " are", is[] = " is";
    const char *const next[] = {are, is};
    struct attn_host *host = open_host("models/tiny-gpt2");
    struct attn_request request = text_request();
    struct attn_table *top, *continuations;
    struct attn_error err = {0};

    request.predict = (struct attn_request_predict){.top = 2, .next = next, .n_next = 2};
    request.selection.queries.text = "0,-1";
    struct attn_result result = serve(host, &request);
    char token[64];

    ck_assert_uint_lt(result.predictions.top[2].token_size, sizeof token);
    snprintf(token, sizeof token, "%s", result.predictions.top[2].token);
    attn_host_free(host); /* a result borrows nothing */
    memset(are, '?', 4);
    memset(is, '?', 3);
    ck_assert(attn_result_tables(&result, &top, &continuations, &err) == ATTN_OK);
    ck_assert_uint_eq(attn_table_n_row(top), 4);
    ck_assert_str_eq(attn_table_column(top, 0)->name, "position");
    ck_assert_int_eq(attn_table_cell(top, 2, 0).integer, 5);
    ck_assert_int_eq(attn_table_cell(top, 2, 2).integer, result.predictions.top[2].id);
    ck_assert_mem_eq(attn_table_cell(top, 2, 3).text, token, strlen(token));
    ck_assert_uint_eq(attn_table_n_row(continuations), 4);
    ck_assert_int_eq(attn_table_cell(continuations, 3, 0).integer, 5);
    ck_assert_double_eq(attn_table_cell(continuations, 3, 1).real,
                        result.predictions.next[3].log_prob);
    ck_assert_mem_eq(attn_table_cell(continuations, 3, 2).text, " is", 3);
    attn_table_free(top);
    attn_table_free(continuations);
    attn_result_release(&result);
}
END_TEST

START_TEST(attends_to_arrays_without_a_model)
{
    static const float q[] = {1, 0, 0, 1, 1, 1}, v[] = {1, 2, 3};
    const struct attn_ndarray queries = {.name = "q", .rank = 2, .shape = {3, 2}, .data = q};
    const struct attn_ndarray values = {.name = "v", .rank = 2, .shape = {3, 1}, .data = v};
    struct attn_host *host = open_host(NULL);
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_attention_change change = {.parts = ATTN_PART_MASK};
    struct attn_run *run;

    change.to.mask = ATTN_MASK_CAUSAL;
    request.attention.change = &change;
    request.input.q = request.input.k = &queries;
    request.input.v = &values;
    struct attn_capture *capture = capture_run(host, &request, &run);
    const float *z = attn_kept(capture, ATTN_SITE_Z, 0);
    const float *pattern = attn_kept(capture, ATTN_SITE_PATTERN, 0);

    ck_assert_double_eq((double)z[0], 1);
    ck_assert_double_eq_tol((double)pattern[3] + (double)pattern[4], 1, 1e-6);
    ck_assert_double_eq_tol((double)z[1], (double)pattern[3] + 2 * (double)pattern[4], 1e-6);
    ck_assert_double_eq((double)pattern[5], 0);
    attn_capture_free(capture);
    attn_run_free(run);
    attn_host_free(host);
}
END_TEST

/* Sets the parameter of LIST that VALUE, "scale=off", names in ARGS. */
static void set(const char *list, const char *value, struct attn_attention_args *args)
{
    const struct attn_param_list *params = attn_request_params_find(list);
    const size_t size = strcspn(value, "=");
    struct attn_error err = {0};

    for (size_t i = 0; i < params->n; i++)
        if (strlen(params->items[i].name) == size && !memcmp(params->items[i].name, value, size))
            ck_assert_int_eq(attn_param_set(&params->items[i], args, "it", value + size + 1, &err),
                             ATTN_OK);
}

START_TEST(an_attention_is_read_from_texts)
{
    static const struct {
        const char *attention[2], *dropout, *message;
        unsigned parts;
    } cases[] = {
        {{"attention=window:3", "mask=none"}, NULL, "", ATTN_PART_KIND | ATTN_PART_MASK},
        {{"scale=on", "eps=0.5"},
         "dropout=0.5",
         "",
         ATTN_PART_SCALE | ATTN_PART_EPS | ATTN_PART_DROPOUT},
        {{"attention=windo", "eps=1"}, NULL, "unknown attention 'windo', expected one of ", 0},
        {{"scale=off", "eps=1"}, NULL, "`eps` and `scale off` do not go together", 0},
        {{"scale=on", "attention=linear"}, NULL, "'linear' cannot have `scale`", 0},
        {{"masking=zero", "similarity=cosine"}, "seed=3", "`seed` needs `dropout`", 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct attn_attention_args args = {0};
        struct attn_error err = {0};
        enum attn_status status;

        set("attention", cases[i].attention[0], &args);
        set("attention", cases[i].attention[1], &args);
        if (cases[i].dropout)
            set("dropout", cases[i].dropout, &args);
        status = attn_attention_args_check(&args, &err);
        ck_assert_int_eq(status, *cases[i].message ? ATTN_INVALID : ATTN_OK);
        ck_assert_msg(strncmp(err.message, cases[i].message, strlen(cases[i].message)) == 0, "%s",
                      err.message);
        if (status == ATTN_OK)
            ck_assert_uint_eq(args.change.parts, cases[i].parts);
        ck_assert_int_eq(attn_attention_args_open(&args, &err), ATTN_OK);
        attn_attention_args_release(&args);
    }
    ck_assert_ptr_null(attn_request_params_find("none"));
}
END_TEST

START_TEST(the_cells_of_a_mask_are_a_file_or_those_of_a_program)
{
    static const struct attn_mask_array cells = {.rank = 2};
    struct attn_attention_args args = {.change.mask = &cells}, of_file = {0};
    struct attn_error err = {0};

    ck_assert_int_eq(attn_attention_args_check(&args, &err), ATTN_OK);
    ck_assert(args.change.parts == ATTN_PART_MASK && args.change.to.mask == ATTN_MASK_MATRIX);
    set("attention", "mask=missing.npy", &of_file);
    ck_assert_int_eq(attn_attention_args_check(&of_file, &err), ATTN_OK);
    ck_assert_int_eq(of_file.change.to.mask, ATTN_MASK_MATRIX);
    ck_assert_int_eq(attn_attention_args_open(&of_file, &err), ATTN_IO);
    ck_assert_int_eq(err.stage, ATTN_STAGE_INPUT);
    attn_attention_args_release(&of_file);
    attn_attention_args_release(NULL);
}
END_TEST

/* --- Failures --------------------------------------------------------------------------------- */

struct bad {
    struct attn_request request;
    enum attn_request_stage stage;
    const char *message; /* a part of it */
};

static struct bad bad_request(size_t i)
{
    static const int32_t ids[] = {5, 100000};
    static const float row[] = {1, 2, 3};
    static const struct attn_ndarray narrow = {
        .name = "x.npy", .rank = 2, .shape = {1, 3}, .data = row};
    static struct attn_output nowhere;
    struct bad bad = {.request = text_request(), .stage = ATTN_STAGE_OPTIONS};
    struct attn_request *request = &bad.request;

    nowhere = (struct attn_output){.format = attn_format_find("json"), .path = "missing/x.json"};
    switch (i) {
    case 0:
        request->selection.heads = "9.9";
        bad.message = "layer";
        break;
    case 1:
        request->source.text = "eat";
        request->source.n_text = 3;
        bad.message = "no layer of 'models/tiny-gpt2' attends to a second sequence";
        break;
    case 2:
        request->input = (struct attn_input){.ids = ids, .n_id = 2};
        bad.stage = ATTN_STAGE_INPUT;
        bad.message = "100000";
        break;
    case 3:
        request->input.n_text = 0;
        request->reading.example = "try this";
        bad.stage = ATTN_STAGE_INPUT;
        bad.message = "the text is empty";
        break;
    case 4:
        request->input = (struct attn_input){.embeddings = &narrow};
        bad.stage = ATTN_STAGE_INPUT;
        bad.message = "'x.npy' has the shape [1, 3], 'models/tiny-gpt2' takes embeddings of";
        break;
    case 5:
        request->input = (struct attn_input){.q = &narrow, .k = &narrow};
        bad.stage = ATTN_STAGE_INPUT;
        bad.message = "expected the arrays q, k and v";
        break;
    default:
        request->outputs.items = &nowhere;
        request->outputs.n = 1;
        bad.stage = ATTN_STAGE_OUTPUT;
        bad.message = "missing";
        break;
    }
    return bad;
}

START_TEST(says_at_which_stage_it_failed)
{
    struct attn_host *host = open_host("models/tiny-gpt2");

    for (size_t i = 0; i < 7; i++) {
        const struct bad bad = bad_request(i);
        struct attn_result result = {.n_token = 77};
        struct attn_error err = {0};

        ck_assert_msg(attn_run_request(host, &bad.request, &result, &err) != ATTN_OK, "%zu", i);
        ck_assert_msg(err.stage == bad.stage, "%zu: stage '%s'", i,
                      attn_request_stage_text(err.stage));
        ck_assert_msg(strstr(err.message, bad.message) != NULL, "%zu: %s", i, err.message);
        ck_assert_uint_eq(result.n_token, 77);
        if (bad.request.reading.example)
            ck_assert_str_eq(err.hint, "try this");
    }
    attn_host_free(host);
}
END_TEST

START_TEST(says_that_a_model_cannot_be_opened)
{
    const struct attn_source source = {.directory = "models/no-such-model"};
    struct attn_host_options options = ATTN_HOST_OPTIONS_DEFAULT;
    struct attn_error err = {0};
    struct attn_host *host = NULL;

    ck_assert(attn_host_create(&source, &options, &host, &err) == ATTN_IO);
    ck_assert_int_eq(err.stage, ATTN_STAGE_MODEL);
    ck_assert_ptr_null(host);
}
END_TEST

static void remember_note(void *user, enum attn_note code, const char *message)
{
    ck_assert(code == ATTN_NOTE_EDIT_IDLE || code == ATTN_NOTE_EDIT_ROWS);
    snprintf(user, 256, "%s", message);
}

START_TEST(tells_when_an_ablation_changes_nothing_that_is_wanted)
{
    struct attn_host *host = open_host("models/tiny-gpt2");
    struct attn_request request = text_request();
    struct attn_run *run;
    const struct attn_intervention head = {.op = ATTN_EDIT_ZERO, .heads = {.text = "2.2"}};
    char note[256] = "";

    request.edits.interventions = &head, request.edits.n_intervention = 1;
    request.selection.heads = "2.2";
    request.selection.sites = "pattern";
    request.on_note = remember_note;
    request.user = note;
    attn_capture_free(capture_run(host, &request, &run));
    attn_run_free(run);
    ck_assert_ptr_nonnull(strstr(note, "changed nothing that is shown"));
    request.selection.sites = "z";
    attn_capture_free(capture_run(host, &request, &run));
    attn_run_free(run);
    ck_assert_str_eq(note, "`ablate` changed 6 rows");
    attn_host_free(host);
}
END_TEST

static void append_note(void *user, enum attn_note code, const char *message)
{
    char *notes = user;

    ck_assert_int_eq(code, strstr(message, "nothing") ? ATTN_NOTE_EDIT_IDLE : ATTN_NOTE_EDIT_ROWS);
    snprintf(notes + strlen(notes), 1024 - strlen(notes), "%.60s|", message);
}

/* Of several edits those that change nothing, a line a list; an edit of logits only changes the
 * answer. */
START_TEST(names_the_edits_that_change_nothing)
{
    struct attn_host *host = open_host("models/tiny-gpt2");
    struct attn_request request = text_request();
    struct attn_edit_texts texts = {.ablate = "2.0,1.0,2.2,mean:2.*"};
    struct attn_edit edits[4];
    struct attn_error err = {0};
    struct attn_run *run;
    char notes[1024] = "";

    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++)
        edits[i] = ATTN_EDIT_DEFAULT;
    edits[0].at.site = ATTN_SITE_Z, edits[0].at.layer = 2, edits[0].at.head = 1;
    edits[1].at.site = ATTN_SITE_Z, edits[1].at.layer = 0;
    edits[2] = edits[1], edits[2].op = ATTN_EDIT_SCALE; /* of zeros */
    edits[3].at.site = ATTN_SITE_LOGITS, edits[3].op = ATTN_EDIT_SCALE, edits[3].factor = 2;
    request.edits.items = edits, request.edits.n = 4;
    ck_assert(attn_edit_texts_read(&texts, NULL, &request.edits, &err) == ATTN_OK);
    request.selection.queries.text = "0";
    request.selection.sites = "pattern";
    request.on_note = append_note, request.user = notes;
    attn_capture_free(capture_run(host, &request, &run));
    attn_run_free(run);
    ck_assert_str_eq(notes, "`ablate` '2.0,2.2,mean:2.*' changed nothing that is shown: w|"
                            "the edit 'z:2.1,z:0,logits' changed nothing that is shown: w|"
                            "`ablate` and the edit changed 24 rows|");
    notes[0] = '\0';
    request.predict.top = 1;
    attn_capture_free(capture_run(host, &request, &run));
    attn_run_free(run);
    ck_assert_str_eq(notes, "the edit 'z:0' changed nothing that is shown: what it names |"
                            "`ablate` and the edit changed 42 rows|");
    attn_edit_texts_release(&texts);
    attn_host_free(host);
}
END_TEST

/* Every allocation fails once: a request is served whole, or says that memory ran out. */
START_TEST(survives_every_failed_allocation)
{
    const char *const next[] = {" are"};
    struct attn_host *host = open_host("models/tiny-gpt2");
    struct attn_request request = text_request();
    const struct attn_intervention head = {.op = ATTN_EDIT_ZERO, .heads = {.text = "0.1"}};
    enum attn_status status = ATTN_NO_MEMORY;

    request.predict = (struct attn_request_predict){.top = 2, .next = next, .n_next = 1};
    request.edits.interventions = &head, request.edits.n_intervention = 1;
    request.selection.heads = "0-1";
    for (long n = 0; status != ATTN_OK; n++) {
        struct attn_result result = {0};
        struct attn_error err = {0};

        attn_alloc_fail_at(n);
        status = attn_run_request(host, &request, &result, &err);
        attn_alloc_fail_off();
        ck_assert_msg(status == ATTN_OK || status == ATTN_NO_MEMORY, "%ld: %s", n, err.message);
        attn_result_release(&result);
    }
    attn_host_free(host);
}
END_TEST

/* With a host of its own, whose files name the mask token. */
START_TEST(every_allocation_of_a_pair_may_fail)
{
    static const int32_t key_mask[] = {1, 1, 1, 1, 0, 1, 1};
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    char directory[ATTN_ENCODER_PATH_SIZE], path[ATTN_ENCODER_PATH_SIZE];
    const struct attn_source source = {.directory = directory};
    enum attn_status status = ATTN_NO_MEMORY;
    FILE *file;

    attn_encoders_unpack();
    attn_encoder_path("bert", directory);
    attn_encoder_path("bert/tokenizer_config.json", path);
    file = fopen(path, "w");
    ck_assert(file && fputs("{\"mask_token\": {\"content\": \"on\"}}", file) >= 0 &&
              fclose(file) == 0);
    request.input = (struct attn_input){.text = "on cat",
                                        .n_text = 6,
                                        .pair = "the cat",
                                        .n_pair = 7,
                                        .key_mask = key_mask,
                                        .n_key_mask = 7};
    request.predict.top = 1;
    for (long n = 0; status != ATTN_OK; n++) {
        struct attn_result result = {0};
        struct attn_host *host = NULL;
        struct attn_error err = {0};

        attn_alloc_fail_at(n);
        status = attn_host_create(&source, &ATTN_HOST_OPTIONS_DEFAULT, &host, &err);
        if (status == ATTN_OK)
            status = attn_run_request(host, &request, &result, &err);
        if (status == ATTN_OK) { /* a word of the second text */
            request.selection.queries.text = "cat#2";
            attn_result_release(&result);
            status = attn_run_request(host, &request, &result, &err);
            request.selection.queries.text = NULL;
        }
        attn_alloc_fail_off();
        ck_assert_msg(status == ATTN_OK || status == ATTN_NO_MEMORY, "%ld: %s", n, err.message);
        if (status == ATTN_OK) {
            ck_assert_uint_eq(result.predictions.n_top, 1);
            ck_assert_uint_eq(result.predictions.top[0].position, 5);
        }
        attn_result_release(&result);
        attn_host_free(host);
    }
    attn_encoders_remove();
}
END_TEST

/* --- Threads ---------------------------------------------------------------------------------- */

struct caller {
    struct attn_host *host;
    int32_t id;  /* the most probable next token */
    double prob; /* its probability */
};

static void *call(void *argument)
{
    struct caller *caller = argument;
    struct attn_request request = text_request();

    request.predict.top = 1;
    for (int i = 0; i < N_ROUND; i++) {
        struct attn_result result = {0};

        if (attn_run_request(caller->host, &request, &result, NULL) != ATTN_OK)
            return NULL;
        caller->id = result.predictions.top[0].id;
        caller->prob = result.predictions.top[0].prob;
        attn_result_release(&result);
    }
    return NULL;
}

START_TEST(serves_several_threads_at_once)
{
    struct caller callers[N_CALLER];
    pthread_t threads[N_CALLER];
    struct attn_host *host = open_host("models/fable");

    for (int i = 0; i < N_CALLER; i++) {
        callers[i] = (struct caller){.host = host, .id = -1};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, call, &callers[i]), 0);
    }
    for (int i = 0; i < N_CALLER; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < N_CALLER; i++) {
        ck_assert_int_ne(callers[i].id, -1);
        ck_assert_int_eq(callers[i].id, callers[0].id);
        ck_assert_double_eq(callers[i].prob, callers[0].prob);
    }
    attn_host_free(host);
}
END_TEST

/* A vector of the program's own, at all positions; then nothing but a factor. */
START_TEST(takes_steering_whose_vector_is_in_memory)
{
    struct attn_host *host = open_host("models/tiny-gpt2");
    struct attn_request request = text_request();
    struct attn_intervention steering = ATTN_INTERVENTION_DEFAULT;
    struct attn_run *plain, *steered;

    request.selection.sites = "resid_mid";
    struct attn_capture *before = capture_run(host, &request, &plain);
    const struct attn_dims dims = *attn_selection_dims(attn_run_labels(plain)->selection);
    const float *rows = attn_kept(before, ATTN_SITE_RESID_MID, 1);
    float vector[64];

    ck_assert_uint_le(dims.d_model, 64);
    for (size_t i = 0; i < dims.d_model; i++)
        vector[i] = (float)i - 2;
    steering.at.site = ATTN_SITE_RESID_MID, steering.at.layer = 1;
    for (int is_added = 1; is_added >= 0; is_added--) {
        steering.op = is_added ? ATTN_EDIT_ADD : ATTN_EDIT_SCALE;
        steering.values =
            (struct attn_ndarray){.rank = is_added, .shape = {dims.d_model}, .data = vector};
        steering.factor = 0.5F; /* of what is multiplied alone */
        request.edits.interventions = &steering, request.edits.n_intervention = 1;
        struct attn_capture *after = capture_run(host, &request, &steered);
        const float *seen = attn_kept(after, ATTN_SITE_RESID_MID, 1);

        for (size_t i = 0; i < dims.n_position * dims.d_model; i++) {
            const float wanted = is_added ? rows[i] + vector[i % dims.d_model] : rows[i] * 0.5F;

            ck_assert_mem_eq(&seen[i], &wanted, sizeof wanted);
        }
        attn_capture_free(after);
        attn_run_free(steered);
    }
    attn_capture_free(before);
    attn_run_free(plain);
    attn_host_free(host);
}
END_TEST

/* The mean of column K of the cells of MATRIX [T, N], or VECTOR rows, that count; a matrix is
 * causal here. */
static double mean_of(const float *tensor, bool is_matrix, size_t n_row, size_t width,
                      size_t column)
{
    double sum = 0;
    size_t n = 0;

    for (size_t t = is_matrix ? column : 0; t < n_row; t++, n++)
        sum += (double)tensor[t * width + column];
    return sum / (double)n;
}

/* Compares what SEEN has of SITE in layer 1, of HEAD, with the means of PLAIN. */
static void check_means(const struct attn_capture *plain, const struct attn_capture *seen,
                        const struct attn_selection *selection, enum attn_site site, int head)
{
    const bool is_matrix = attn_site_layout(site) == ATTN_LAYOUT_MATRIX;
    const bool has_heads = attn_site_layout(site) != ATTN_LAYOUT_VECTOR;
    const int layer = attn_site_is_in_layer(site) ? 1 : ATTN_NO_LAYER;
    const float *before =
        has_heads ? attn_kept_head(plain, site, layer, head) : attn_kept(plain, site, layer);
    const float *after =
        has_heads ? attn_kept_head(seen, site, layer, head) : attn_kept(seen, site, layer);
    const struct attn_location at = {.site = site, .layer = layer};
    size_t shape[3];
    const int rank = attn_selection_shape(selection, &at, shape);
    const size_t n_row = shape[rank == 3 && is_matrix ? 1 : 0], width = shape[rank - 1];

    for (size_t t = 0; t < n_row; t++)
        for (size_t k = 0; k < width; k++) {
            const bool counts = !is_matrix || k <= t;
            const float expected =
                counts ? (float)mean_of(before, is_matrix, n_row, width, k) : before[t * width + k];

            ck_assert_msg(after[t * width + k] == expected, "%s [%zu, %zu] of head %d: %g not %g",
                          attn_site_name(site), t, k, head, (double)after[t * width + k],
                          (double)expected);
        }
}

/* As zero ablation, which SITE:LAYER[.HEAD] or SITE names, too. */
START_TEST(ablates_every_site_to_zero_and_to_its_mean)
{
    struct attn_host *host = open_host("models/tiny-gpt2");
    struct attn_request request = text_request();
    struct attn_run *run, *edited;

    request.selection.sites = "*";
    struct attn_capture *plain = capture_run(host, &request, &run);
    const struct attn_selection *selection = attn_run_labels(run)->selection;

    for (int site = 0; site < ATTN_N_SITE; site++) {
        const bool is_in_layer = attn_site_is_in_layer((enum attn_site)site);
        const bool has_heads = attn_site_layout((enum attn_site)site) != ATTN_LAYOUT_VECTOR;
        const struct attn_location at = {.site = (enum attn_site)site,
                                         .layer = is_in_layer ? 1 : ATTN_NO_LAYER};
        struct attn_intervention made = ATTN_INTERVENTION_DEFAULT;

        if (!attn_sites_have(attn_selection_dims(selection)->sites, site) ||
            !attn_capture_tensor(plain, &at))
            continue;
        made.op = ATTN_EDIT_MEAN;
        made.at = (struct attn_location){.site = (enum attn_site)site,
                                         .layer = is_in_layer ? 1 : 0,
                                         .head = has_heads ? 2 : ATTN_ALL_HEADS};
        request.edits.interventions = &made, request.edits.n_intervention = 1;
        struct attn_capture *seen = capture_run(host, &request, &edited);
        check_means(plain, seen, selection, (enum attn_site)site, 2);
        attn_capture_free(seen);
        attn_run_free(edited);
        made.op = ATTN_EDIT_ZERO;
        seen = capture_run(host, &request, &edited);
        ck_assert(has_heads ? *attn_kept_head(seen, (enum attn_site)site, 1, 2) == 0
                            : *attn_kept(seen, (enum attn_site)site,
                                         is_in_layer ? 1 : ATTN_NO_LAYER) == 0);
        attn_capture_free(seen);
        attn_run_free(edited);
    }
    attn_capture_free(plain);
    attn_run_free(run);
    attn_host_free(host);
}
END_TEST

/* Programs of other versions have smaller and larger structs. */
START_TEST(defaults_fit_the_size_of_a_program)
{
    struct {
        struct attn_request request;
        double newer;
    } larger;
    struct attn_request smaller;
    struct attn_edit edit;
    struct attn_lens_args lens;

    memset(&larger, 1, sizeof larger);
    ck_assert_ptr_eq(attn_request_init(&larger.request, sizeof larger), &larger.request);
    ck_assert_uint_eq(larger.request.size, sizeof larger);
    ck_assert_int_eq(larger.request.outputs.precision, -1);
    ck_assert(larger.newer == 0);
    memset(&smaller, 1, sizeof smaller);
    attn_request_init(&smaller, offsetof(struct attn_request, predict));
    ck_assert_uint_eq(smaller.size, offsetof(struct attn_request, predict));
    ck_assert_ptr_null(smaller.edits.items);
    ck_assert_uint_ne(smaller.predict.top, 0);
    ck_assert_ptr_null(attn_request_init(NULL, sizeof smaller));
    attn_edit_init(&edit, sizeof edit);
    ck_assert(edit.at.head == ATTN_ALL_HEADS && edit.row1 == SIZE_MAX);
    ck_assert_ptr_eq(attn_question_init("lens", &lens, sizeof lens), &lens);
    ck_assert(lens.size == sizeof lens);
    ck_assert_ptr_null(attn_question_init("lense", &lens, sizeof lens));
}
END_TEST

ATTN_SUITE("run", defaults_fit_the_size_of_a_program, gives_the_bits_of_a_session,
           an_ablation_by_numbers_is_that_of_a_text, an_ablation_by_bad_numbers_fails,
           takes_a_selection_that_was_built_by_calls, reads_a_knockout_as_it_is_typed,
           takes_a_patch_whose_array_is_in_memory, takes_steering_whose_vector_is_in_memory,
           answers_top_at_each_chosen_position, makes_tables_of_predictions,
           attends_to_arrays_without_a_model, an_attention_is_read_from_texts,
           the_cells_of_a_mask_are_a_file_or_those_of_a_program, says_at_which_stage_it_failed,
           says_that_a_model_cannot_be_opened,
           tells_when_an_ablation_changes_nothing_that_is_wanted,
           names_the_edits_that_change_nothing, ablates_every_site_to_zero_and_to_its_mean,
           survives_every_failed_allocation, every_allocation_of_a_pair_may_fail,
           serves_several_threads_at_once)
