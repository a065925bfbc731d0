/*
 * test_restarts.c - what begins in the middle of a model, as experiments do, has the bits of what
 * began at its tokens: of every family, and of every combination of parts that a block may have.
 */
#include "tests/support/families.h"
#include "tests/support/kept.h"
#include "tests/support/made_up_model.h"
#include "tests/support/sessions.h"
#include "tests/support/suite.h"
#include "tool.h"
#include "trace/site_set.h"
#include "trials/trial.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const directories[] = {"models/tiny-gpt2",
                                          "tests/fixtures/attn-bidirectional",
                                          "tests/fixtures/attn-cross",
                                          "tests/fixtures/attn-grouped",
                                          "tests/fixtures/attn-mlp",
                                          "tests/fixtures/attn-mlp-stack",
                                          "tests/fixtures/attn-multi-query",
                                          "tests/fixtures/attn-only-2l",
                                          "tests/fixtures/attn-plain",
                                          "tests/fixtures/attn-rms",
                                          "tests/fixtures/attn-source-positions",
                                          "tests/fixtures/attn-stack",
                                          "tests/fixtures/attn-values",
                                          ATTN_FAMILY_DIRECTORIES};
enum { N_DIRECTORY = sizeof directories / sizeof *directories };
enum { N_ID = 6, N_PACK = 3, MOST_CHANGES = 256 };

static const int32_t ids[N_ID] = {1, 5, 3, 0, 6, 2};

/* Every tensor of a run over one sequence. Captures do not count checks, which Check tells its
 * parent of one by one: there are millions of rows. */
struct kept {
    struct attn_selection *selection;
    struct attn_capture *capture;
};

/* A model, and the sequences that are fed to it: of all ids, and the first of them. */
struct subject {
    const char *name;
    struct attn_model *model; /* borrowed */
    const struct attn_config *config;
    const float *source; /* [ATTN_MADE_UP_SOURCE, d_source], or NULL */
    bool is_made_up;
    size_t n; /* sequences */
    struct attn_session_sequence sequences[N_PACK];
    struct kept whole[N_PACK], part[N_PACK];
};

typedef void (*check_fn)(struct subject *subject);

static size_t n_tensor, n_change; /* compared so far */

static bool has_cross(const struct attn_config *config)
{
    bool has = false;

    for (size_t layer = 0; layer < config->n_layer; layer++)
        has = has || config->is_cross[layer];
    return has;
}

static const float *make_source(void)
{
    static float source[ATTN_MADE_UP_SOURCE * 64];

    for (size_t i = 0; i < sizeof source / sizeof *source; i++)
        source[i] = (float)(i % 7) / 4 - 0.75F;
    return source;
}

static void with_model(const char *name, struct attn_model *model, bool is_made_up, check_fn check)
{
    struct subject subject = {
        .name = name, .model = model, .config = attn_model_config(model), .is_made_up = is_made_up};

    ck_assert_uint_ge(subject.config->n_vocab, 7);
    ck_assert_uint_le(subject.config->d_source, 64);
    subject.source = has_cross(subject.config) ? make_source() : NULL;
    subject.n = subject.source != NULL ? 1 : N_PACK;
    for (size_t i = 0; i < subject.n; i++)
        subject.sequences[i] = (struct attn_session_sequence){.ids = ids, .n = N_ID - 2 * i};
    check(&subject);
}

/* Calls CHECK with each model of a directory, and with each that is made up. Returns how many. */
static size_t with_all_models(check_fn check)
{
    size_t n = N_DIRECTORY;

    for (size_t i = 0; i < N_DIRECTORY; i++) {
        const struct attn_source source = {.directory = directories[i]};
        struct attn_error err = {0};
        struct attn_model *model;

        ck_assert_msg(attn_model_open(&source, NULL, &model, &err) == ATTN_OK, "%s", err.message);
        with_model(directories[i], model, false, check);
        attn_model_free(model);
    }
    for (size_t i = 0; i < ATTN_N_MADE_UP_MODEL; i += attn_one_of(3)) {
        char name[ATTN_MADE_UP_NAME_SIZE];
        struct attn_model *model = attn_made_up_model(i, name);

        if (model == NULL)
            continue;
        with_model(name, model, true, check);
        attn_model_free(model);
        n++;
    }
    return n;
}

/* --- Tensors ---------------------------------------------------------------------------------- */

static void keep_all(const struct subject *subject, size_t sequence, struct kept *kept)
{
    struct attn_dims dims = attn_config_dims(subject->config, subject->sequences[sequence].n);
    struct attn_error err = {0};

    dims.n_source = subject->source != NULL ? ATTN_MADE_UP_SOURCE : 0;
    attn_attention_set_dims(subject->config->attention, &dims);
    ck_assert_msg(attn_selection_create(&dims, &kept->selection, &err) == ATTN_OK &&
                      attn_selection_set_sites(kept->selection, dims.sites, &err) == ATTN_OK &&
                      attn_capture_create(kept->selection, &kept->capture, &err) == ATTN_OK,
                  "%s", err.message);
}

static void release(struct kept *kept, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        attn_capture_free(kept[i].capture);
        attn_selection_free(kept[i].selection);
    }
}

/* An attn_trace_fn: to the capture of the event's sequence. */
static enum attn_status keep(void *user, const struct attn_trace_event *event,
                             struct attn_error *err)
{
    const struct subject *subject = user;
    const struct attn_trace *trace = attn_capture_trace(subject->part[event->sequence].capture);

    return trace->on_event(trace->user, event, err);
}

static struct attn_session *open_session(const struct subject *subject, enum attn_cache cache,
                                         const struct attn_trace *trace)
{
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_session *session;
    struct attn_error err = {0};

    options.cache = cache;
    options.n_sequence = cache == ATTN_CACHE_ONE_LAYER ? subject->n : 1;
    options.n_max = N_ID * options.n_sequence;
    options.n_source = subject->source != NULL ? ATTN_MADE_UP_SOURCE : 0;
    options.trace = trace;
    ck_assert_msg(attn_session_create(subject->model, &options, &session, &err) == ATTN_OK,
                  "%s: %s", subject->name, err.message);
    if (subject->source != NULL)
        ck_assert(attn_session_set_source(session, subject->source, ATTN_MADE_UP_SOURCE, &err) ==
                  ATTN_OK);
    return session;
}

/* What a whole feed of each sequence tells. */
static void record_whole(struct subject *subject)
{
    for (size_t i = 0; i < subject->n; i++) {
        struct attn_error err = {0};
        struct attn_session *session;

        keep_all(subject, i, &subject->whole[i]);
        session = open_session(subject, ATTN_CACHE_ALL_LAYERS,
                               attn_capture_trace(subject->whole[i].capture));
        ck_assert_msg(attn_session_feed(session, ids, subject->sequences[i].n, &err) == ATTN_OK,
                      "%s: %s", subject->name, err.message);
        attn_session_free(session);
    }
}

/* Compares the numbers of SITE; of qk those that no mask leaves out, as more need not be computed.
 */
static bool is_same(const struct subject *subject, size_t i, enum attn_site site, int layer)
{
    const struct attn_capture *whole = subject->whole[i].capture, *part = subject->part[i].capture;
    const float *a = attn_kept(whole, site, layer);
    const float *b = attn_kept(part, site, layer);
    size_t shape[3], n = 1;
    const int rank = attn_selection_shape(
        subject->whole[i].selection, &(struct attn_location){.site = site, .layer = layer}, shape);

    for (int dimension = 0; dimension < rank; dimension++)
        n *= shape[dimension];
    if (site != ATTN_SITE_QK)
        return memcmp(a, b, n * sizeof *a) == 0;
    for (size_t at = 0; at < n; at++)
        if (attn_kept_cell(whole, ATTN_SITE_PATTERN, layer, at) &&
            (a[at] != b[at] || signbit(a[at]) != signbit(b[at])))
            return false;
    return true;
}

/* Sites of LAYER from FIRST on, of the layers after it and of the model, of sequence I. */
static void compare_from(const struct subject *subject, size_t i, int layer, enum attn_site first)
{
    const struct attn_selection *selection = subject->whole[i].selection;
    const int n_layer = (int)subject->config->n_layer;

    for (int at = layer; at <= n_layer; at++)
        for (int site = at == layer ? (int)first : 0; site < ATTN_N_SITE; site++) {
            const bool is_in_layer = attn_site_is_in_layer((enum attn_site)site);

            if (site == ATTN_SITE_EMBED || (site == ATTN_SITE_SINK && first == ATTN_SITE_Z) ||
                is_in_layer != (at < n_layer) ||
                !attn_layer_keeps(selection, (enum attn_site)site, at))
                continue;
            if (!is_same(subject, i, (enum attn_site)site, is_in_layer ? at : ATTN_NO_LAYER))
                ck_abort_msg("%s: from %s of layer %d, sequence %zu: %s of layer %d differs",
                             subject->name, attn_site_name(first), layer, i,
                             attn_site_name((enum attn_site)site), at);
            n_tensor++;
        }
}

/* What LAYER reads, or what the output does. */
static const float *resid_of(const struct subject *subject, size_t i, int layer)
{
    const struct attn_capture *whole = subject->whole[i].capture;

    return layer < (int)subject->config->n_layer
               ? attn_kept(whole, ATTN_SITE_RESID_PRE, layer)
               : attn_kept(whole, ATTN_SITE_RESID_POST, layer - 1);
}

/* All sequences side by side, from LAYER on, and there from z where HAS_Z. */
static void restart_pack(struct subject *subject, struct attn_session *session, int layer,
                         bool has_z)
{
    const float *resid[N_PACK], *z[N_PACK];

    for (size_t i = 0; i < subject->n; i++) {
        resid[i] = resid_of(subject, i, layer);
        if (has_z)
            z[i] = attn_kept(subject->whole[i].capture, ATTN_SITE_Z, layer);
        keep_all(subject, i, &subject->part[i]);
    }
    attn_session_reset(session);
    attn_feed_pack(session, layer, resid, has_z ? z : NULL, subject->sequences, subject->n);
    for (size_t i = 0; i < subject->n; i++)
        compare_from(subject, i, layer, has_z ? ATTN_SITE_Z : ATTN_SITE_RESID_PRE);
    release(subject->part, subject->n);
}

static void restart_packs(struct subject *subject)
{
    struct attn_trace trace = {.on_event = keep, .user = subject};
    struct attn_session *session;

    record_whole(subject);
    trace.selection = subject->whole[0].selection;
    session = open_session(subject, ATTN_CACHE_ONE_LAYER, &trace);
    for (int layer = 0; layer < (int)subject->config->n_layer; layer++)
        for (int has_z = 0; has_z < 2; has_z++)
            restart_pack(subject, session, layer, has_z != 0);
    if (attn_sites_have(attn_config_dims(subject->config, 1).sites, ATTN_SITE_RESID_POST))
        restart_pack(subject, session, (int)subject->config->n_layer, false);
    attn_session_free(session);
    release(subject->whole, subject->n);
}

START_TEST(packs_from_any_layer_or_its_z_have_the_tensors_of_whole_feeds)
{
    ck_assert_uint_gt(with_all_models(restart_packs), 480 / attn_one_of(3));
    ck_assert_uint_gt(n_tensor, 0);
}
END_TEST

/* N_ROW positions at a time, from position FIRST on. */
static void feed_steps(const struct subject *subject, struct attn_session *session, int layer,
                       size_t first, size_t n_row)
{
    const float *resid = resid_of(subject, 0, layer);
    struct attn_error err = {0};

    for (size_t n; first < N_ID; first += n) {
        n = n_row < N_ID - first ? n_row : N_ID - first;
        ck_assert_msg(attn_feed_layer(session, layer, resid + first * subject->config->d_model, n,
                                      &err) == ATTN_OK,
                      "%s: %s", subject->name, err.message);
    }
}

/* Whether every layer may be fed in steps. */
static bool takes_steps(const struct attn_config *config)
{
    bool takes = true;

    for (size_t layer = 0; layer < config->n_layer; layer++)
        takes =
            takes && (config->is_cross[layer] || config->attention[layer].mask == ATTN_MASK_CAUSAL);
    return takes;
}

/* One sequence in steps of N_ROW, then again from where it was taken back to. */
static void restart_in_steps(struct subject *subject, int layer, size_t n_row, size_t n_kept)
{
    struct attn_session *session;

    keep_all(subject, 0, &subject->part[0]);
    session =
        open_session(subject, ATTN_CACHE_ALL_LAYERS, attn_capture_trace(subject->part[0].capture));
    feed_steps(subject, session, layer, 0, n_row);
    compare_from(subject, 0, layer, ATTN_SITE_RESID_PRE);
    ck_assert(attn_session_rewind(session, n_kept, NULL) == ATTN_OK);
    feed_steps(subject, session, layer, n_kept, 2);
    compare_from(subject, 0, layer, ATTN_SITE_RESID_PRE);
    attn_session_free(session);
    release(subject->part, 1);
}

static void restart_steps(struct subject *subject)
{
    if (!takes_steps(subject->config))
        return;
    record_whole(subject);
    for (int layer = 0; layer < (int)subject->config->n_layer; layer++) {
        if (!subject->is_made_up || layer % 2 == 0)
            restart_in_steps(subject, layer, 1, 3);
        if (!subject->is_made_up || layer % 2 == 1)
            restart_in_steps(subject, layer, 4, 5);
    }
    release(subject->whole, subject->n);
}

START_TEST(steps_from_any_layer_have_the_tensors_of_whole_feeds)
{
    with_all_models(restart_steps);
    ck_assert_uint_gt(n_tensor, 0);
}
END_TEST

/* --- Experiments ------------------------------------------------------------------------------ */

/* What is changed in a run, and how it replies. */
struct changes {
    struct attn_edit edits[MOST_CHANGES];
    struct attn_trial_change items[MOST_CHANGES]; /* [n] */
    size_t n;
};

static bool has_heads(enum attn_site site)
{
    return attn_site_layout(site) != ATTN_LAYOUT_VECTOR;
}

static void add_change(struct changes *changes, enum attn_site site, int layer, int head)
{
    const size_t n = changes->n++;
    struct attn_edit *edit = &changes->edits[n];

    *edit = ATTN_EDIT_DEFAULT;
    edit->at.site = site;
    edit->at.layer = layer;
    edit->at.head = head;
    edit->row0 = n % 3; /* all positions, or but the first */
    edit->row1 = n % 5 == 0 ? N_ID - 1 : SIZE_MAX;
    edit->op = n % 2 == 0 ? ATTN_EDIT_ZERO : ATTN_EDIT_SCALE;
    edit->factor = 0.25F;
    if (site == ATTN_SITE_MLP_POST && n % 2 == 0)
        edit->col0 = 1, edit->col1 = 2; /* a neuron */
    changes->items[n] = (struct attn_trial_change){n, 1};
}

/* Each site from FIRST on in each layer, of one head and of all; then sets of neighbours, which are
 * of several layers; then nothing. Of models that are made up a layer for each site: there are
 * many. */
static void list_changes(const struct subject *subject, const struct attn_dims *dims,
                         enum attn_site first, struct changes *changes)
{
    const bool is_linear = subject->config->attention[0].kind == ATTN_ATTENTION_LINEAR;
    size_t n_edit;

    changes->n = 0;
    for (int layer = (int)dims->n_layer - 1; layer >= 0; layer--)
        for (int site = (int)first; site < ATTN_N_SITE; site++) {
            const bool is_matrix = attn_site_layout((enum attn_site)site) == ATTN_LAYOUT_MATRIX;

            if ((site > ATTN_SITE_RESID_POST && site < ATTN_SITE_ROUTER_LOGITS) ||
                site == ATTN_SITE_EXPERT_INDICES || /* which nothing is made of */
                !attn_sites_have(dims->sites, site) || site == ATTN_SITE_RECEIVED ||
                !attn_layer_has(dims, (enum attn_site)site, layer) || (is_linear && is_matrix) ||
                (subject->is_made_up && (site + layer + subject->config->n_kv_head) % 3 != 0))
                continue;
            add_change(changes, (enum attn_site)site, layer, ATTN_ALL_HEADS);
            if (has_heads((enum attn_site)site))
                add_change(changes, (enum attn_site)site, layer, (layer + site) % 2 == 0 ? 0 : -1);
        }
    n_edit = changes->n;
    for (size_t i = 0; i + 9 <= n_edit; i += 5)
        changes->items[changes->n++] = (struct attn_trial_change){i, 9};
    changes->items[changes->n++] = (struct attn_trial_change){0, 0};
    ck_assert_uint_le(changes->n, MOST_CHANGES);
}

/* All but the count of rows: rows that nothing needs are not computed and count as changed, and
 * which these are depends on where a run begins. */
static void compare_replies(const struct subject *subject, const struct changes *changes, size_t i,
                            const struct attn_trial_outcome *late,
                            const struct attn_trial_outcome *whole)
{
    const struct attn_trial_change *change = &changes->items[i];
    const struct attn_edit *edit = change->n_edit > 0 ? &changes->edits[change->first] : NULL;
    const bool is_equal =
        late->reply.value == whole->reply.value && late->reply.kl == whole->reply.kl &&
        late->reply.total == whole->reply.total && late->reply.first == whole->reply.first;

    if (!is_equal)
        ck_abort_msg(
            "%s: change %zu, %s of layer %d and %zu more: %a, KL %a; of a whole run %a, KL %a",
            subject->name, i, edit != NULL ? attn_site_name(edit->at.site) : "nothing",
            edit != NULL ? edit->at.layer : -1, change->n_edit, late->reply.value, late->reply.kl,
            whole->reply.value, whole->reply.kl);
}

/* Every change, begun as late as may be, and from the start. */
static void try_changes(const struct subject *subject, struct attn_host *host,
                        const struct attn_request *request, enum attn_site first)
{
    static const enum attn_answer_metric metrics[] = {ATTN_ANSWER_LOG_PROB, ATTN_ANSWER_CE};
    static struct attn_trial_outcome late[MOST_CHANGES], whole[MOST_CHANGES];
    static struct changes changes;
    const int32_t target = 4;
    struct attn_answer_args args = {.target_id = &target,
                                    .metric = metrics[n_change % 2],
                                    .at = {.text = n_change % 4 == 0 ? "2" : NULL}};
    struct attn_error err = {0};
    struct attn_trials trials;
    struct attn_answer answer;
    struct attn_run *run;

    ck_assert_msg(attn_run_prepare(host, request, &run, &err) == ATTN_OK, "%s: %s", subject->name,
                  err.message);
    list_changes(subject, attn_selection_dims(run->selection), first, &changes);
    ck_assert_msg(attn_run_find_answer(run, &args, &answer, &err) == ATTN_OK, "%s", err.message);
    ck_assert_msg(attn_trials_start(run, &answer, first, &trials, &err) == ATTN_OK, "%s: %s",
                  subject->name, err.message);
    ck_assert(trials.can_skip);
    ck_assert_msg(attn_trials_perform(&trials, changes.edits, changes.items, changes.n, late,
                                      &err) == ATTN_OK,
                  "%s: %s", subject->name, err.message);
    trials.can_skip = false;
    ck_assert(attn_trials_perform(&trials, changes.edits, changes.items, changes.n, whole, &err) ==
              ATTN_OK);
    for (size_t i = 0; i < changes.n; i++)
        compare_replies(subject, &changes, i, &late[i], &whole[i]);
    n_change += changes.n;
    attn_trials_release(&trials);
    attn_run_free(run);
}

static void try_model(struct subject *subject)
{
    const struct attn_ndarray source = {.name = "source",
                                        .rank = 2,
                                        .shape = {ATTN_MADE_UP_SOURCE, subject->config->d_source},
                                        .data = subject->source};
    struct attn_host_options options = ATTN_HOST_OPTIONS_DEFAULT;
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_host *host;

    if (subject->config->output == ATTN_OUTPUT_NONE)
        return;
    request.input.ids = ids, request.input.n_id = N_ID;
    if (subject->source != NULL)
        request.source.embeddings = &source;
    options.n_thread = 1;
    ck_assert(attn_host_create(NULL, &options, &host, NULL) == ATTN_OK);
    host->model = subject->model;
    try_changes(subject, host, &request, ATTN_SITE_Z);
    if (!subject->is_made_up || n_change % 2 == 0)
        try_changes(subject, host, &request, ATTN_SITE_RESID_PRE);
    host->model = NULL;
    attn_host_free(host);
}

START_TEST(changes_have_the_replies_of_whole_runs)
{
    with_all_models(try_model);
    ck_assert_uint_gt(n_change, 10000 / attn_one_of(3));
}
END_TEST

ATTN_SUITE("restarts", packs_from_any_layer_or_its_z_have_the_tensors_of_whole_feeds,
           steps_from_any_layer_have_the_tensors_of_whole_feeds,
           changes_have_the_replies_of_whole_runs)
