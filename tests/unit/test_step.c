/*
 * test_step.c - which equations of a block run together depends on what is watched and edited:
 * logits do not.
 */
#include "base/pool.h"
#include "model/config_fields.h"
#include "tests/support/families.h"
#include "tests/support/recording.h"
#include "tests/support/suite.h"
#include "trace/site_set.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 40 };

static const char *const directories[] = {"tests/fixtures/gpt2-long",
                                          "tests/fixtures/attn-only-norm",
                                          "tests/fixtures/attn-mlp",
                                          "tests/fixtures/attn-only-2l",
                                          "models/fable",
                                          ATTN_FAMILY_DIRECTORIES};
enum { N_DIRECTORY = sizeof directories / sizeof *directories };

struct trial {
    struct attn_model *model;
    struct attn_session_options options;
    struct attn_dims dims;
    int32_t ids[MOST];
    size_t n_logit;
    float *plain; /* [n_logit] logits of a session without a trace and edits */
    float *found; /* [n_logit] */
};

/* Logits of all positions of a session with the options of TRIAL. */
static void run(const struct trial *trial, float *logits)
{
    struct attn_session *session;
    struct attn_error err = {0};
    const size_t n = trial->dims.n_position;

    ck_assert_msg(attn_session_create(trial->model, &trial->options, &session, &err) == ATTN_OK,
                  "%s", err.message);
    ck_assert_msg(attn_session_feed(session, trial->ids, n, &err) == ATTN_OK, "%s", err.message);
    ck_assert_msg(attn_session_logits_at(session, 0, n, logits, &err) == ATTN_OK, "%s",
                  err.message);
    attn_session_free(session);
}

static void open_trial(struct trial *trial, const char *directory, enum attn_compute compute,
                       int n_thread)
{
    const struct attn_source source = {.directory = directory};
    struct attn_model_options model_options = ATTN_MODEL_OPTIONS_DEFAULT;
    const struct attn_config *config;
    struct attn_error err = {0};
    size_t n;

    model_options.compute = compute;
    ck_assert(attn_model_open(&source, &model_options, &trial->model, &err) == ATTN_OK);
    config = attn_model_config(trial->model);
    n = config->n_ctx < MOST ? config->n_ctx : MOST;
    for (size_t i = 0; i < n; i++)
        trial->ids[i] = (int32_t)((5 * i + 1) % config->n_vocab);
    trial->dims = attn_config_dims(config, n);
    trial->options = ATTN_SESSION_OPTIONS_DEFAULT;
    trial->options.n_max = n;
    trial->options.has_logits = true;
    ck_assert(attn_pool_create(n_thread, &trial->options.pool, &err) == ATTN_OK);
    trial->n_logit = n * config->n_vocab;
    ck_assert_uint_gt(trial->n_logit, 0);
    trial->plain = calloc(2 * trial->n_logit, sizeof *trial->plain);
    ck_assert_ptr_nonnull(trial->plain);
    trial->found = trial->plain + trial->n_logit;
    run(trial, trial->plain);
}

static void close_trial(struct trial *trial)
{
    attn_pool_free(trial->options.pool);
    attn_model_free(trial->model);
    free(trial->plain);
}

/* A trace that is told of SITES and does nothing. */
static enum attn_status ignore(void *user, const struct attn_trace_event *event,
                               struct attn_error *err)
{
    (void)user, (void)event, (void)err;
    return ATTN_OK;
}

static void run_watched(struct trial *trial, struct attn_site_set sites, float *logits)
{
    struct attn_trace trace = {.on_event = ignore};
    struct attn_selection *selection;
    struct attn_error err = {0};

    ck_assert(attn_selection_create(&trial->dims, &selection, &err) == ATTN_OK);
    ck_assert(attn_selection_set_sites(selection, sites, &err) == ATTN_OK);
    trace.selection = selection;
    trial->options.trace = &trace;
    run(trial, logits);
    trial->options.trace = NULL;
    attn_selection_free(selection);
}

static bool has_site(const struct trial *trial, int site)
{
    return attn_sites_have(trial->dims.sites, site);
}

static void check_watching(const char *directory, enum attn_compute compute, int n_thread)
{
    struct trial trial;

    open_trial(&trial, directory, compute, n_thread);
    run_watched(&trial, trial.dims.sites, trial.found);
    ck_assert_mem_eq(trial.found, trial.plain, trial.n_logit * sizeof *trial.plain);
    for (int site = 0; site < ATTN_N_SITE; site++) {
        if (!has_site(&trial, site))
            continue;
        run_watched(&trial, ATTN_SITES(site), trial.found);
        ck_assert_msg(memcmp(trial.found, trial.plain, trial.n_logit * sizeof *trial.plain) == 0,
                      "'%s' with %d threads: logits differ when '%s' is watched", directory,
                      n_thread, attn_site_name((enum attn_site)site));
    }
    close_trial(&trial);
}

START_TEST(watching_a_site_changes_no_logit)
{
    for (int i = 0; i < N_DIRECTORY; i++)
        for (int n_thread = 1; n_thread <= 3; n_thread += 2) {
            check_watching(directories[i], ATTN_COMPUTE_F32, n_thread);
            check_watching(directories[i], ATTN_COMPUTE_BF16, n_thread);
        }
}
END_TEST

/* An edit of a site has its effect whether or not the site is watched. */
static void check_edit(struct trial *trial, int site)
{
    const size_t size = trial->n_logit * sizeof *trial->plain;
    float *watched = malloc(size);
    struct attn_edit edit = ATTN_EDIT_DEFAULT;

    ck_assert_ptr_nonnull(watched);
    edit.at.site = (enum attn_site)site;
    edit.op = ATTN_EDIT_SCALE;
    edit.factor = 0.5F;
    trial->options.edits = &edit;
    trial->options.n_edit = 1;
    run(trial, trial->found);
    run_watched(trial, trial->dims.sites, watched);
    ck_assert_msg(memcmp(trial->found, watched, size) == 0, "logits differ when '%s' is watched",
                  attn_site_name(edit.at.site));
    ck_assert_msg(memcmp(trial->found, trial->plain, size) != 0, "an edit of '%s' changes nothing",
                  attn_site_name(edit.at.site));
    trial->options.edits = NULL;
    trial->options.n_edit = 0;
    free(watched);
}

START_TEST(an_edit_changes_logits_whether_watched_or_not)
{
    for (int i = 0; i < N_DIRECTORY; i++) {
        struct trial trial;

        open_trial(&trial, directories[i], ATTN_COMPUTE_F32, 1);
        for (int site = 0; site < ATTN_N_SITE; site++)
            if (has_site(&trial, site) && site != ATTN_SITE_SINK &&
                site != ATTN_SITE_EXPERT_INDICES) /* which nothing is made of */
                check_edit(&trial, site);
        close_trial(&trial);
    }
}
END_TEST

ATTN_SUITE("steps", watching_a_site_changes_no_logit, an_edit_changes_logits_whether_watched_or_not)
