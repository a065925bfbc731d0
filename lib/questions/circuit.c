/* circuit.c - see circuit.h. Both runs are those of a patching procedure (patch_internal.h). */
#include "questions/circuit_internal.h"

#include "base/escape.h"
#include "base/given.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/random.h"
#include "base/status_internal.h"
#include "questions/patch_internal.h"
#include "questions/questions.h"
#include "run/input_params.h"

#include <math.h>
#include <string.h>

enum { DEFAULT_POINTS = 5 };

enum { FROM, TO, SCORE, EDGES, KEPT, VALUE, FAITHFULNESS, RANDOM, RANDOM_SD, ROW_TYPE, N_COLUMN };

enum { SHOW_SCORES = 2, SHOW_CURVE = 4, SHOW_RANDOM = 8 };

static const struct attn_column columns[N_COLUMN] = {
    [FROM] = ATTN_COLUMN_WITH("from", TEXT, NAME, .shown = SHOW_SCORES),
    [TO] = ATTN_COLUMN_WITH("to", TEXT, NAME, .shown = SHOW_SCORES),
    [SCORE] = {.name = "score",
               .type = ATTN_VALUE_REAL,
               .notation = ATTN_NOTATION_FIXED,
               .digits = 6,
               .quantity = "estimated effect of an edge",
               .traits = ATTN_TRAIT_DERIVED | ATTN_TRAIT_RANKED,
               .shown = SHOW_SCORES},
    [EDGES] = ATTN_COLUMN("edges", INTEGER, .shown = SHOW_CURVE),
    [KEPT] = ATTN_COLUMN("kept", INTEGER, .shown = SHOW_CURVE),
    [VALUE] = ATTN_COLUMN_QUANTITY("value", 6, NULL, SIGNED, "@", .shown = SHOW_CURVE),
    [FAITHFULNESS] = ATTN_COLUMN_REAL("faithfulness", 6, NULL, SIGNED, .shown = SHOW_CURVE),
    [RANDOM] = ATTN_COLUMN_REAL("random", 6, NULL, SIGNED, .shown = SHOW_RANDOM),
    [RANDOM_SD] = ATTN_COLUMN_REAL("random_sd", 6, NULL, POSITIVE, .shown = SHOW_RANDOM),
    [ROW_TYPE] = ATTN_COLUMN_ROW_TYPE,
};

/* --- The question ----------------------------------------------------------------------------- */

static const int methods[] = {ATTN_CIRCUIT_EAP_IG, ATTN_CIRCUIT_EAP};

static const struct attn_param param_rows[] = {
    ATTN_PARAM(
        SWITCH, "direction", NULL, struct attn_circuit_args, is_to_restore,
        "noise (default): what the clean answer loses if an edge is corrupted; restore: what "
        "the corrupted text gains if it is clean",
        .words = "noise|restore"),
    ATTN_PARAM(METHOD, "method", "eap-ig[:N]|eap", struct attn_circuit_args, method,
               "eap-ig[:N] (default): the mean gradient at N points (5) between both texts; eap: "
               "that of the text which is patched, in five feeds",
               .words = "eap-ig|eap", .meant = "eap_ig=eap-ig|ig=eap-ig|attribution_patching=eap",
               .values = methods, .second = offsetof(struct attn_circuit_args, n_point)),
    ATTN_PARAM(TEXT, "curve", "auto|SIZES", struct attn_circuit_args, curve,
               "run circuits with these numbers of edges, 10,20,50, or auto: 10, 20, 50, 100 ... "
               "and all. Prints which share of the clean answer each circuit keeps"),
    ATTN_PARAM(
        SWITCH, "select", NULL, struct attn_circuit_args, is_by_score,
        "for `curve`, which edges a circuit takes: greedy (default), which begins with the logits "
        "and adds the edge with the largest score among those that end in a part of the circuit; "
        "top, the edges with the largest scores",
        .words = "greedy|top"),
    ATTN_PARAM(
        SEEDED, "random", "R[:SEED]", struct attn_circuit_args, n_random,
        "for `curve`, also run R circuits of as many random edges for each circuit, and print "
        "the mean and the standard deviation of their faithfulness; default: 10; 0: no random "
        "circuits",
        .second = offsetof(struct attn_circuit_args, seed)),
};

static const struct attn_param_list params = ATTN_PARAM_LIST("Edges", param_rows);

#define OTHER(kind, word, what, field, size, ...)                                                  \
    ATTN_PARAM(kind, word, what, struct attn_circuit_args, field, __VA_ARGS__,                     \
               .second = offsetof(struct attn_circuit_args, size))
#define CLEAN(kind, word, what, field, size, ...)                                                  \
    ATTN_PARAM(kind, word, what, struct attn_request, field, __VA_ARGS__,                          \
               .second = offsetof(struct attn_request, size), .home = ATTN_PARAM_OF_REQUEST,       \
               .traits = ATTN_PARAM_NO_KEYWORD)

static const struct attn_param input_rows[] = {
    CLEAN(INPUT, "clean", "TEXT", input, input.n_text, "the text whose answer is explained"),
    OTHER(INPUT, "corrupted", "TEXT", corrupted, corrupted.n_text,
          "the same text with a difference; it must have as many tokens"),
    CLEAN(IDS, "clean_ids", "LIST", input.ids, input.n_id, "token ids instead of `clean`: 5,17,3"),
    OTHER(IDS, "corrupted_ids", "LIST", corrupted.ids, corrupted.n_id,
          "token ids instead of `corrupted`", .traits = ATTN_PARAM_NO_KEYWORD),
};

static const struct attn_param_list input_params = {.heading = "Input",
                                                    .items = input_rows,
                                                    .n = sizeof input_rows / sizeof *input_rows,
                                                    .is_input = true};

static const struct attn_param_part parts[] = {
    {&attn_target_params, offsetof(struct attn_circuit_args, answer)},
    {&attn_foil_params, offsetof(struct attn_circuit_args, answer)},
    {&attn_at_params, offsetof(struct attn_circuit_args, answer)},
    {&attn_metric_params, offsetof(struct attn_circuit_args, answer)},
    {&params, 0},
    {&input_params, 0},
};

static const char twice[] = "@ is given as a text and as ids";

static const struct attn_param_rule rules[] = {
    {.given = "clean|corrupted|clean_ids|corrupted_ids",
     .excludes = "items",
     .message = "@ and # are given, expected one of them"},
    {.given = "select|random", .needs = "curve", .hint = "`curve auto`"},
    {.given = "curve",
     .excludes = "items",
     .message = "@ runs circuits of one pair, not of `items`",
     .time = ATTN_PARAM_BOTH},
    {.given = "clean", .excludes = "clean_ids", .message = twice},
    {.given = "corrupted", .excludes = "corrupted_ids", .message = twice},
};

static enum attn_status perform(const struct attn_procedure_call *call, struct attn_error *err);

static const struct attn_procedure procedure;

const struct attn_question attn_question_circuit = {
    .name = "circuit",
    .summary = "which edges between the parts carry the difference of two texts",
    .inputs = "clean|corrupted",
    .lacks = "image|source",
    .description =
        "Scores each edge from what one part writes into the residual stream to one later\n"
        "part that reads it: input, heads 2.5 and MLPs 2.mlp write; the q of a head, 3.1.q,\n"
        "the k and v of a key head, 3.0.k, MLPs and the logits read. A score estimates,\n"
        "by gradients, which share of the difference of both answers the patch of this\n"
        "edge alone would make, `attn-cli patch` with `path`. The largest come first.\n"
        "\n"
        "Scores are about the difference of these two texts, and straight lines through a\n"
        "model that is none: some are far off. They do not add up to 1. Edges that only\n"
        "work together show nothing alone.\n"
        "\n"
        "With `curve` circuits are run: parts read the corrupted text, except through the\n"
        "edges of the circuit. A circuit that keeps the answer of this pair is one of\n"
        "many; it does not say that the rest does nothing elsewhere. Compare it with the\n"
        "column `random`.\n",
    .examples = "  attn-cli circuit `clean` \"The keys near the door\" \\\n"
                "      `corrupted` \"The key near the door\" `target` ' are' `foil` ' is'\n",
    ATTN_QUESTION_PARAMS(parts, rules),
    ATTN_QUESTION_ARGS(struct attn_circuit_args, .size = sizeof(struct attn_circuit_args),
                       .n_random = 10, .kept_bytes = ATTN_PART_SUMS_KEPT),
    .procedure = &procedure,
};

/* --- The procedure ---------------------------------------------------------------------------- */

struct circuit {
    struct attn_patching patch; /* begins with the frame */
    const struct attn_circuit_args *args;
    struct attn_patch_args pair; /* of `patch` */
    double *scores;              /* [n_reader, n_writer] owned by the frame */
};

static enum attn_status check_args(const void *given, struct attn_error *err)
{
    const struct attn_circuit_args *args = given;

    return attn_is_choice(args->method, ATTN_N_CIRCUIT_METHOD, "method", err) ? ATTN_OK
                                                                              : ATTN_INVALID;
}

static enum attn_status choose(void *state, struct attn_error *err)
{
    struct circuit *circuit = state;

    circuit->args = circuit->patch.frame.args;
    if (circuit->args->study && circuit->args->study->paired)
        return attn_error_set(err, ATTN_INVALID,
                              "a score is a share of the mean difference of both texts, and "
                              "`paired` has none");
    circuit->pair = (struct attn_patch_args){.size = sizeof circuit->pair,
                                             .corrupted = circuit->args->corrupted,
                                             .answer = circuit->args->answer,
                                             .is_to_noise = !circuit->args->is_to_restore};
    circuit->patch.args = &circuit->pair;
    circuit->patch.site = ATTN_SITE_Q;
    circuit->patch.is_by_head = true;
    attn_frame_choose_nothing(&circuit->patch.frame.request);
    return ATTN_OK;
}

static unsigned pairs(const void *args)
{
    (void)args;
    return ATTN_ITEM_BIT(CLEAN_CORRUPTED);
}

static enum attn_status take_item(void *args, struct attn_request *request,
                                  const struct attn_item *item, struct attn_error *err)
{
    struct attn_circuit_args *given = args;

    (void)request;
    given->corrupted = item->other;
    return attn_item_answer(item, &given->answer, err);
}

static enum attn_status prepare(void *state, struct attn_error *err)
{
    struct circuit *circuit = state;
    struct attn_patching *patch = &circuit->patch;

    ATTN_TRY(attn_wiring_check(patch->frame.run, err));
    ATTN_TRY(attn_patch_prepare(patch, err));
    ATTN_TRY(attn_error_at(attn_patch_check_gradients(patch, err), ATTN_STAGE_OPTIONS, err));
    return attn_error_at(attn_wiring_list(patch->frame.config, &patch->edges, err),
                         ATTN_STAGE_MODEL, err);
}

/* --- The curve -------------------------------------------------------------------------------- */

/* Appends the size N to SIZES [*n_size], which has room for n_edge + 1. */
static void add_size(size_t *sizes, size_t *n_size, size_t n)
{
    if (*n_size == 0 || n > sizes[*n_size - 1])
        sizes[(*n_size)++] = n;
}

/* Reads the sizes of circuits, ascending, of N edges. */
static enum attn_status read_sizes(const char *curve, size_t n, size_t *sizes, size_t *n_size,
                                   struct attn_error *err)
{
    static const size_t steps[] = {1, 2, 5};
    int64_t size;

    if (strcmp(curve, "auto") == 0) {
        for (size_t unit = 10; unit < n; unit *= 10)
            for (size_t i = 0; i < 3 && unit * steps[i] < n; i++)
                add_size(sizes, n_size, unit * steps[i]);
        add_size(sizes, n_size, n);
        return ATTN_OK;
    }
    for (const char *at = curve;; at++) {
        const size_t n_byte = strcspn(at, ",");

        if (!attn_parse_int(at, n_byte, 1, (int64_t)n, &size) ||
            (*n_size > 0 && (size_t)size <= sizes[*n_size - 1]))
            return attn_refuse(
                err, ATTN_STAGE_OPTIONS,
                "`curve` is '%s', expected auto, or numbers of edges from 1 to %zu in "
                "ascending order, 10,20,50",
                attn_quote_string(curve).text, n);
        add_size(sizes, n_size, (size_t)size);
        at += n_byte;
        if (*at == '\0')
            return ATTN_OK;
    }
}

/* The circuits of a curve: of each size the one of the scores, then the random ones. */
struct curve {
    size_t *sizes, n_size, n_each, *order; /* arrays owned by the frame */
    struct attn_circuit *circuits;         /* [n_size, n_each] owned by the frame */
};

/* Takes the first edges of ORDER into circuit number K of each size. */
static void take_edges(const struct curve *curve, size_t k)
{
    for (size_t i = 0; i < curve->n_size; i++)
        for (size_t e = 0; e < curve->sizes[i]; e++)
            curve->circuits[i * curve->n_each + k].chosen[curve->order[e]] = 1;
}

/* Chooses the edges of all circuits. */
static enum attn_status choose_edges(struct circuit *circuit, struct curve *curve,
                                     struct attn_error *err)
{
    const struct attn_wiring *edges = &circuit->patch.edges;
    const size_t n = edges->n_edge, n_flag = edges->n_reader * edges->n_writer;
    const size_t n_circuit = curve->n_size * curve->n_each;
    struct attn_frame *frame = &circuit->patch.frame;
    unsigned char *flags = attn_frame_alloc(frame, n_circuit, n_flag);
    size_t *drawn = attn_frame_alloc(frame, 2 * n, sizeof *drawn), *list = drawn + n, at = 0;
    struct attn_random random;

    curve->circuits = attn_frame_alloc(frame, n_circuit, sizeof *curve->circuits);
    curve->order = attn_frame_alloc(frame, n, sizeof *curve->order);
    ATTN_TRY(attn_frame_memory(frame, err));
    for (size_t i = 0; i < n_circuit; i++)
        curve->circuits[i].chosen = flags + i * n_flag;
    ATTN_TRY(
        attn_circuit_rank(edges, circuit->scores, !circuit->args->is_by_score, curve->order, err));
    take_edges(curve, 0);
    for (size_t r = 0; r < edges->n_reader; r++)
        for (size_t w = 0; w < edges->readers[r].n_read; w++)
            list[at++] = r * edges->n_writer + w;
    attn_random_seed(&random, circuit->args->seed);
    for (size_t k = 1; k < curve->n_each; k++) {
        attn_random_permutation(&random, drawn, n);
        for (size_t i = 0; i < n; i++)
            curve->order[i] = list[drawn[i]];
        take_edges(curve, k);
    }
    return ATTN_OK;
}

static double faithfulness(const struct attn_patching *patch, double value)
{
    const double share = attn_patch_share(patch, value);

    return patch->args->is_to_noise ? 1 - share : share;
}

/* Appends the row of circuit number I of the curve. */
static enum attn_status append_circuit(struct circuit *circuit, const struct curve *curve, size_t i,
                                       struct attn_error *err)
{
    const struct attn_circuit *first = &curve->circuits[i * curve->n_each];
    struct attn_moments moments = {.n = 0};

    for (size_t k = 1; k < curve->n_each; k++)
        attn_moments_add(&moments, faithfulness(&circuit->patch, first[k].value));
    const struct attn_cell row[N_COLUMN] = {
        [EDGES] = attn_cell_integer((int64_t)curve->sizes[i]),
        [KEPT] = attn_cell_integer((int64_t)first->n_kept),
        [VALUE] = attn_cell_real(first->value),
        [FAITHFULNESS] = attn_cell_real(faithfulness(&circuit->patch, first->value)),
        [RANDOM] = attn_cell_real(moments.mean),
        [RANDOM_SD] = attn_cell_real_or_missing(attn_moments_sd(&moments))};

    return attn_frame_append(&circuit->patch.frame, row, err);
}

/* Runs the circuits of all sizes. */
static enum attn_status run_curve(struct circuit *circuit, struct attn_error *err)
{
    struct attn_patching *patch = &circuit->patch;
    struct attn_frame *frame = &patch->frame;
    struct attn_wiring *edges = &patch->edges;
    struct curve curve = {.n_each = 1 + circuit->args->n_random};

    curve.sizes = attn_frame_alloc(frame, edges->n_edge + 1, sizeof *curve.sizes);
    ATTN_TRY(attn_frame_memory(frame, err));
    ATTN_TRY(read_sizes(circuit->args->curve, edges->n_edge, curve.sizes, &curve.n_size, err));
    ATTN_TRY(choose_edges(circuit, &curve, err));
    attn_wiring_release(edges); /* now of the corrupted run */
    ATTN_TRY(attn_error_at(attn_wiring_list(frame->config, edges, err), ATTN_STAGE_MODEL, err));
    ATTN_TRY(attn_wiring_open(frame->other, frame->run, &frame->session, edges, err));
    attn_session_free(frame->session);
    frame->session = NULL;
    patch->answer.of = attn_run_answer_scope(frame->run);
    ATTN_TRY(attn_trials_start(frame->run, &patch->answer, ATTN_SITE_Q, &frame->trials, err));
    ATTN_TRY(
        attn_circuit_run(edges, &frame->trials, curve.circuits, curve.n_size * curve.n_each, err));
    for (size_t i = 0; i < curve.n_size; i++)
        ATTN_TRY(append_circuit(circuit, &curve, i, err));
    attn_patch_note_runs(patch);
    return ATTN_OK;
}

/* --- Scores ----------------------------------------------------------------------------------- */

/* Reports for an item the sums of its edges, followed by the difference of both runs. */
static enum attn_status report_sums(struct circuit *circuit, size_t n, double whole,
                                    struct attn_error *err)
{
    const struct attn_wiring *edges = &circuit->patch.edges;
    double *numbers;
    size_t at = 0;
    enum attn_status status;

    ATTN_TRY(ATTN_ALLOC(numbers, n + 1, err));
    for (size_t r = 0; r < edges->n_reader; r++)
        for (size_t w = 0; w < edges->readers[r].n_read; w++)
            numbers[at++] = circuit->scores[r * edges->n_writer + w];
    numbers[at] = whole;
    status = attn_frame_report_more(&circuit->patch.frame, numbers, n + 1, err);
    attn_free(numbers);
    return status;
}

static enum attn_status append_rows(struct circuit *circuit, double whole, struct attn_error *err)
{
    const struct attn_wiring *edges = &circuit->patch.edges;
    char from[ATTN_NODE_NAME_SIZE], to[ATTN_NODE_NAME_SIZE];

    for (size_t r = 0; r < edges->n_reader; r++) {
        attn_node_name(&edges->readers[r], to);
        for (size_t w = 0; w < edges->readers[r].n_read; w++) {
            const double sum = circuit->scores[r * edges->n_writer + w];

            attn_node_name(&edges->writers[w], from);
            const struct attn_cell row[N_COLUMN] = {
                [FROM] = attn_cell_string(from),
                [TO] = attn_cell_string(to),
                [SCORE] = attn_cell_real_or_missing(circuit->patch.can_restore ? sum / whole + 0.0
                                                                               : (double)NAN)};

            ATTN_TRY(attn_frame_append(&circuit->patch.frame, row, err));
        }
    }
    return ATTN_OK;
}

static enum attn_status ask(void *state, struct attn_error *err)
{
    struct circuit *circuit = state;
    struct attn_patching *patch = &circuit->patch;
    struct attn_wiring *edges = &patch->edges;
    const bool is_ig = circuit->args->method == ATTN_CIRCUIT_EAP_IG;
    const struct attn_wire_scores asked = {.answer = &patch->answer,
                                           .n_point = !is_ig ? 0
                                                      : circuit->args->n_point > 0
                                                          ? circuit->args->n_point
                                                          : DEFAULT_POINTS,
                                           .kept_bytes = circuit->args->kept_bytes};
    const size_t n = edges->n_edge;
    double whole;

    circuit->scores =
        attn_frame_alloc(&patch->frame, edges->n_reader * edges->n_writer, sizeof(double));
    ATTN_TRY(attn_frame_memory(&patch->frame, err));
    ATTN_TRY(attn_wiring_open(patch->base, patch->source, &patch->frame.session, edges, err));
    ATTN_TRY(attn_patch_read_source(patch, err));
    ATTN_TRY(attn_wiring_score(edges, &asked, &patch->base_reply, circuit->scores, err));
    ATTN_TRY(attn_patch_check_difference(patch, err));
    if (circuit->args->curve)
        return run_curve(circuit, err);
    whole = patch->source_reply.value - patch->base_reply.value;
    ATTN_TRY(attn_table_reserve(patch->frame.rows.table, n, err));
    ATTN_TRY(append_rows(circuit, whole, err));
    attn_patch_report_base(patch);
    if (patch->frame.item)
        return report_sums(circuit, n, whole, err);
    attn_patch_note_runs(patch);
    return ATTN_OK;
}

/* Computes scores, which are ratios of means (attn_fold_derive_fn). */
static enum attn_status derive(const void *given, const struct attn_fold_means *means,
                               struct attn_error *err)
{
    const double whole = means->n_more > 0 ? means->more[means->n_more - 1] : 0;

    (void)given;
    if (means->is_paired || means->n_more == 0)
        return ATTN_OK;
    if (!means->is_resample && fabs(whole) < ATTN_PATCH_SMALLEST_DIFFERENCE)
        return attn_error_set(err, ATTN_INVALID,
                              "the mean difference of clean and corrupted texts is %.3g: there is "
                              "no difference to explain",
                              whole);
    for (size_t i = 0; i < means->n_row && i + 1 < means->n_more; i++)
        means->rows[i * N_COLUMN + SCORE] = attn_cell_real(means->more[i] / whole + 0.0);
    return ATTN_OK;
}

/* Whether there is a number for each row, and one for the difference (attn_fold_fits_fn). */
static bool fits(const void *given, size_t n_row, size_t n_more)
{
    (void)given;
    return n_more == n_row + 1;
}

static uint64_t shows(const void *state)
{
    const struct circuit *circuit = state;

    return !circuit->args->curve          ? SHOW_SCORES
           : circuit->args->n_random == 0 ? SHOW_CURVE
                                          : SHOW_CURVE | SHOW_RANDOM;
}

static void release(void *state)
{
    struct circuit *circuit = state;

    attn_wiring_release(&circuit->patch.edges);
}

static const struct attn_procedure procedure = {
    .name = "circuit",
    .columns = columns,
    .n_column = N_COLUMN,
    .needs_output = true,
    .state_size = sizeof(struct circuit),
    .items.study = offsetof(struct attn_circuit_args, study),
    .items.take_item = take_item,
    .items.pairs = pairs,
    .items.derive = derive,
    .items.fits = fits,
    .question = &attn_question_circuit,
    .sort = "score",
    .check = check_args,
    .choose = choose,
    .prepare = prepare,
    .shows = shows,
    .ask = ask,
    .perform = perform,
    .release = release,
};

/* Performs CALL; a curve is not sorted. */
static enum attn_status perform(const struct attn_procedure_call *call, struct attn_error *err)
{
    const struct attn_circuit_args *args = call->args;
    struct attn_procedure asked = procedure;

    (void)attn_options_read(call->given, call->args, NULL); /* the caller reports a failure */
    asked.sort = args->curve ? NULL : procedure.sort;
    return attn_procedure_perform(&asked, call, err);
}

enum attn_status attn_circuit(struct attn_host *host, const struct attn_request *request,
                              const struct attn_circuit_args *given, struct attn_table **table,
                              struct attn_error *err)
{
    struct attn_circuit_args args = ATTN_CIRCUIT_ARGS_DEFAULT;

    return perform(&(struct attn_procedure_call){host, request, given, &args, table, NULL}, err);
}
