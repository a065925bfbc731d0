/* circuit.c - see circuit.h. Both runs are those of a patching procedure (patch_internal.h). */
#include "circuit/circuit_internal.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/given.h"
#include "circuit/patch_internal.h"
#include "frame/questions_internal.h"
#include "measures/head_kind.h"
#include "stream/csv_reader.h"
#include "tables/table_order.h"
#include "tables/text_table.h"

#include <math.h>
#include <string.h>

/* --- Files of circuits ------------------------------------------------------------------------ */

/* Files of circuits: tables with the columns `from` and `to`. */

typedef char node_name[ATTN_WIRE_NODE_NAME_SIZE];

/* A file that is read. */
struct reading {
    const struct attn_wiring *edges;
    const char *path;
    node_name *writers, *readers; /* [n_writer], [n_reader] own */
    unsigned char *chosen;        /* [n_reader, n_writer] */
};

static enum attn_status list_names(struct reading *reading, struct attn_error *err)
{
    const struct attn_wiring *edges = reading->edges;

    ATTN_TRY(ATTN_ALLOC(reading->writers, edges->n_writer, err));
    ATTN_TRY(ATTN_ALLOC(reading->readers, edges->n_reader, err));
    for (size_t w = 0; w < edges->n_writer; w++)
        attn_wire_node_name(&edges->writers[w], reading->writers[w]);
    for (size_t r = 0; r < edges->n_reader; r++)
        attn_wire_node_name(&edges->readers[r], reading->readers[r]);
    return ATTN_OK;
}

static size_t find_name(node_name *names, size_t n, const char *text, size_t size)
{
    size_t i = 0;

    while (i < n && (strlen(names[i]) != size || memcmp(names[i], text, size) != 0))
        i++;
    return i;
}

/* Takes the edge between the nodes FROM [n_from] and TO [n_to]. */
static enum attn_status take_edge(struct reading *reading, const char *from, size_t n_from,
                                  const char *to, size_t n_to, struct attn_error *err)
{
    const struct attn_wiring *edges = reading->edges;
    const size_t w = find_name(reading->writers, edges->n_writer, from, n_from);
    const size_t r = find_name(reading->readers, edges->n_reader, to, n_to);

    if (w == edges->n_writer || r == edges->n_reader || w >= edges->readers[r].n_read)
        return attn_error_set(err, ATTN_FORMAT,
                              "'%s' to '%s' in '%s' is no edge of the model, expected a beginning "
                              "such as '%s', and an end after it such as '%s'",
                              attn_quote(from, n_from).text, attn_quote(to, n_to).text,
                              attn_quote_string(reading->path).text, reading->writers[1],
                              reading->readers[edges->n_reader - 2]);
    reading->chosen[r * edges->n_writer + w] = 1;
    return ATTN_OK;
}

/* Takes the edge of each line of FILE, which CSV parses. */
static enum attn_status take_lines(struct reading *reading, const struct attn_file *file,
                                   struct attn_csv_reader *csv, struct attn_error *err)
{
    const char *at = (const char *)file->data, *end = at + file->size;
    size_t from = SIZE_MAX, to = SIZE_MAX;

    for (bool is_first = true; at < end; is_first = false) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const size_t n = (size_t)((stop ? stop : end) - at);

        if (is_first)
            csv->separator = memchr(at, '\t', n) ? '\t' : ',';
        ATTN_TRY(is_first ? attn_csv_reader_begin(csv, at, n, err)
                          : attn_csv_reader_read(csv, at, n, err));
        for (size_t i = 0; is_first && i < csv->n_column; i++) {
            from = strcmp(csv->columns[i].name, "from") == 0 ? i : from;
            to = strcmp(csv->columns[i].name, "to") == 0 ? i : to;
        }
        if (from == SIZE_MAX || to == SIZE_MAX)
            return attn_error_set(err, ATTN_FORMAT,
                                  "'%s' has no columns 'from' and 'to', expected a table of edges",
                                  attn_quote_string(reading->path).text);
        if (!is_first)
            ATTN_TRY(take_edge(reading, csv->columns[from].text, csv->columns[from].size,
                               csv->columns[to].text, csv->columns[to].size, err));
        at = stop ? stop + 1 : end;
    }
    return ATTN_OK;
}

/* Marks the edges of the table PATH, as CSV, in CHOSEN [n_reader, n_writer], which is zeroed.
 * Errors have a stage. */
static enum attn_status read_file(const char *path, const struct attn_wiring *edges,
                                  unsigned char *chosen, struct attn_error *err)
{
    struct reading reading = {.edges = edges, .path = path, .chosen = chosen};
    struct attn_csv_reader csv = {.separator = ','};
    struct attn_file file = {0};
    enum attn_status status = attn_file_open(path, ATTN_READ, &file, err);

    ATTN_THEN(status, list_names(&reading, err));
    ATTN_THEN(status, take_lines(&reading, &file, &csv, err));
    attn_csv_reader_release(&csv);
    attn_free(reading.writers);
    attn_free(reading.readers);
    attn_file_release(&file);
    return attn_error_at(status, ATTN_STAGE_INPUT, err);
}

enum { DEFAULT_POINTS = 5 };

enum { SHOW_SCORES = 2, SHOW_CURVE = 4, SHOW_RANDOM = 8, SHOW_PLACES = 16 };

static const struct attn_column columns[ATTN_CIRCUIT_N_COLUMN] = {
    [ATTN_CIRCUIT_FROM] =
        ATTN_COLUMN_WITH("from", TEXT, NAME, .role = ATTN_ROLE_WRITER, .shown = SHOW_SCORES),
    [ATTN_CIRCUIT_TO] =
        ATTN_COLUMN_WITH("to", TEXT, NAME, .role = ATTN_ROLE_READER, .shown = SHOW_SCORES),
    [ATTN_CIRCUIT_SCORE] = ATTN_COLUMN_QUANTITY(
        "score", 6, NULL, SIGNED, "estimated effect of an edge",
        .traits = ATTN_TRAIT_DERIVED | ATTN_TRAIT_RANKED, .shown = SHOW_SCORES),
    [ATTN_CIRCUIT_OWN] = ATTN_COLUMN_DERIVED("own", 6, SIGNED, NULL, .shown = SHOW_PLACES,
                                             .help = "sum of the scores of all edges of FROM"),
    [ATTN_CIRCUIT_POSITION] = ATTN_COLUMN_OF(POSITION, "position", INTEGER, .shown = SHOW_PLACES),
    [ATTN_CIRCUIT_TOKEN] = ATTN_COLUMN_OF(TOKEN, "token", TEXT, .shown = SHOW_PLACES),
    [ATTN_CIRCUIT_TYPE] = ATTN_COLUMN("type", TEXT, .shown = SHOW_PLACES,
                                      .help = "type of the head that writes; empty without one"),
    [ATTN_CIRCUIT_KEY] = ATTN_COLUMN_OF(KEY, "key", INTEGER, .shown = SHOW_PLACES),
    [ATTN_CIRCUIT_LOOKS_AT] =
        ATTN_COLUMN("looks_at", TEXT, .shown = SHOW_PLACES, .help = "text of the token at key"),
    [ATTN_CIRCUIT_WEIGHT] = ATTN_COLUMN_REAL("weight", 6, NULL, SHARE, .shown = SHOW_PLACES,
                                             .help = "weight of position on key, 0 to 1"),
    [ATTN_CIRCUIT_EDGES] =
        ATTN_COLUMN_WITH("n_edge", INTEGER, NAME, .quantity = "edges", .shown = SHOW_CURVE,
                         .help = "number of edges of the circuit"),
    [ATTN_CIRCUIT_KEPT] = ATTN_COLUMN_WITH("n_kept", INTEGER, NAME, .shown = SHOW_CURVE,
                                           .help = "edges on a way from the input to the logits"),
    [ATTN_CIRCUIT_VALUE] = ATTN_COLUMN_QUANTITY("value", 6, NULL, SIGNED, "@", .shown = SHOW_CURVE),
    [ATTN_CIRCUIT_FAITHFULNESS] = ATTN_COLUMN_REAL(
        "faithfulness", 6, NULL, SIGNED, .traits = ATTN_TRAIT_DERIVED | ATTN_TRAIT_BOUNDED,
        .shown = SHOW_CURVE, .help = "(m - m_corrupted) / (m_clean - m_corrupted), m the answer"),
    [ATTN_CIRCUIT_CONTROL] = ATTN_COLUMN_DERIVED("control", 6, SIGNED, NULL, .shown = SHOW_RANDOM,
                                                 .help = "mean faithfulness of random circuits"),
    [ATTN_CIRCUIT_CONTROL_SD] =
        ATTN_COLUMN_DERIVED("control_sd", 6, POSITIVE, NULL, .shown = SHOW_RANDOM,
                            .help = "standard deviation (n - 1) of control"),
    [ATTN_CIRCUIT_ROW_TYPE] = ATTN_COLUMN_ROW_TYPE,
};

/* --- The question ----------------------------------------------------------------------------- */

static const int methods[] = {ATTN_CIRCUIT_EAP_IG, ATTN_CIRCUIT_EAP, ATTN_CIRCUIT_EAP_IG_RIEMANN};

static const struct attn_param param_rows[] = {
    ATTN_PARAM(
        SWITCH, "direction", NULL, struct attn_circuit_args, is_to_restore,
        "noise (default): what the clean answer loses if an edge is corrupted; restore: what "
        "the corrupted text gains if it is clean",
        .words = "noise|restore"),
    ATTN_PARAM(
        METHOD, "method", "eap-ig[:N][:riemann]|eap", struct attn_circuit_args, method,
        "eap-ig[:N] (default): the mean gradient at N points (5) between both texts, of "
        "Gauss and Legendre; eap-ig:N:riemann: at k/N of the way from the corrupted text, k "
        "from 0, as the program EAP-IG takes them; eap: that of the patched text, in five feeds",
        .words = "eap-ig|eap|eap-ig:riemann",
        .meant = "eap_ig=eap-ig|ig=eap-ig|attribution_patching=eap", .values = methods,
        .second = offsetof(struct attn_circuit_args, n_point)),
    ATTN_PARAM(TEXT, "curve", "auto|SIZES", struct attn_circuit_args, curve,
               "run circuits with these numbers of edges, 10,20,50, or auto: 10, 20, 50, 100 ... "
               "and all. Prints which share of the clean answer each circuit keeps"),
    ATTN_PARAM(
        SWITCH, "select", NULL, struct attn_circuit_args, is_by_score,
        "for `curve` and `size`, which edges a circuit takes: greedy (default), which begins with "
        "the logits and adds the edge with the largest score among those that end in a part of the "
        "circuit; top, the edges with the largest scores",
        .words = "greedy|top"),
    ATTN_PARAM(
        COUNT, "size", "N", struct attn_circuit_args, n_edge,
        "return the edges of the circuit with N edges, without those on no way from the "
        "input to the logits; default: all edges. Large scores below 0 are chosen, too: such "
        "edges work against the answer, so that more edges can carry less",
        .least = 1),
    ATTN_PARAM(TEXT, "evaluate", "FILE", struct attn_circuit_args, evaluate,
               "run the circuit with the edges of FILE, a table as CSV that `attn-cli circuit` "
               "wrote"),
    ATTN_PARAM(
        SEEDED, "control", "R[:SEED]", struct attn_circuit_args, n_random,
        "for `curve` and `evaluate`, also run R circuits of as many random edges for each circuit, "
        "and print the mean and the standard deviation of their faithfulness; default: 10; 0: no "
        "random circuits",
        .second = offsetof(struct attn_circuit_args, seed)),
};

static const struct attn_param_list params = ATTN_PARAM_LIST("Edges", param_rows);

static const struct attn_param input_rows[] = {
    ATTN_PATCH_TEXTS(struct attn_circuit_args, "the text whose answer is explained"),
};

static const struct attn_param_list input_params = {.heading = "Texts",
                                                    .items = input_rows,
                                                    .n = sizeof input_rows / sizeof *input_rows,
                                                    .is_input = true};

static const struct attn_param_part parts[] = {
    ATTN_QUESTION_ANSWER(struct attn_circuit_args),
    {&params, 0},
    {&input_params, 0},
};

static const struct attn_param_rule rules[] = {
    {.given = "clean|corrupted|clean_ids|corrupted_ids",
     .excludes = "items",
     .message = "@ and # are given, expected one of them"},
    {.given = "select", .needs = "curve|size", .hint = "`curve auto`"},
    {.given = "control", .needs = "curve|evaluate", .hint = "`curve auto`"},
    {.given = "curve|evaluate",
     .excludes = "size",
     .message = "@ prints what circuits keep, # the edges of one"},
    {.given = "evaluate",
     .excludes = "curve|select|method|direction",
     .message = "@ runs the circuit of a file, and # chooses one by scores"},
};

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
        "by gradients, which share of the difference of both answers is lost if this edge\n"
        "alone is patched: the effect of `attn-cli patch` with `path`.\n"
        "\n"
        "Scores are about the difference of these two texts, and straight lines through a\n"
        "model that is none: some are far off. They do not add up to 1. Edges that only\n"
        "work together show nothing alone.\n"
        "\n"
        "With `curve` circuits are run: parts read the corrupted text, except through the\n"
        "edges of the circuit. A circuit that keeps the answer of this pair is one of\n"
        "many; it does not say that the rest does nothing elsewhere. Compare it with the\n"
        "column `control`.\n",
    .examples = "  attn-cli circuit `clean` \"The keys near the door\" \\\n"
                "      `corrupted` \"The key near the door\" `target` ' are' `foil` ' is'\n",
    ATTN_QUESTION_PARAMS(parts, rules),
    ATTN_QUESTION_ARGS(struct attn_circuit_args, .size = sizeof(struct attn_circuit_args),
                       .n_random = 10, .kept_bytes = ATTN_PART_SUMS_KEPT),
    .procedure = &procedure,
};

/* --- The procedure ---------------------------------------------------------------------------- */

/* Whether circuits are run. */
static bool has_runs(const struct attn_circuit_args *args)
{
    return args->curve || args->evaluate;
}

static enum attn_status check_args(const void *given, struct attn_error *err)
{
    const struct attn_circuit_args *args = given;

    return attn_is_choice(args->method, ATTN_N_CIRCUIT_METHOD, "method", err) ? ATTN_OK
                                                                              : ATTN_INVALID;
}

static enum attn_status choose(void *state, struct attn_error *err)
{
    struct attn_circuit_state *circuit = state;

    circuit->args = circuit->patch.frame.args;
    if (circuit->args->study && circuit->args->study->paired)
        return attn_error_set(err, ATTN_INVALID,
                              "a score is a share of the mean difference of both texts, and "
                              "`paired` has none");
    if (circuit->args->study && circuit->args->study->n_bootstrap > 0 && !has_runs(circuit->args))
        return attn_error_set(err, ATTN_INVALID,
                              "`bootstrap` needs `curve` or `evaluate`: scores of edges have no "
                              "intervals");
    if (circuit->args->study && circuit->args->study->group_by && circuit->args->n_edge > 0)
        return attn_error_set(err, ATTN_INVALID,
                              "`group_by` has the scores of several groups, and `size` is one "
                              "circuit");
    /* with a plan nothing is scored, and the replies are read as in noise */
    circuit->pair = (struct attn_patch_args){.size = sizeof circuit->pair,
                                             .corrupted = circuit->args->corrupted,
                                             .answer = circuit->args->answer,
                                             .direction = circuit->args->is_to_restore &&
                                                                  !circuit->patch.frame.plan
                                                              ? ATTN_PATCH_DIRECTION_RESTORE
                                                              : ATTN_PATCH_DIRECTION_NOISE};
    circuit->patch.args = &circuit->pair;
    circuit->patch.site = ATTN_SITE_Q;
    circuit->patch.is_by_head = true;
    attn_question_choose_nothing(&circuit->patch.frame.request);
    return ATTN_OK;
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
    struct attn_circuit_state *circuit = state;
    struct attn_patching *patch = &circuit->patch;

    ATTN_TRY(attn_wiring_check(patch->frame.run, err));
    ATTN_TRY(attn_patch_prepare(patch, err));
    ATTN_TRY(attn_error_at(attn_patch_check_gradients(patch, err), ATTN_STAGE_OPTIONS, err));
    return attn_error_at(attn_wiring_list(patch->frame.config, &patch->edges, err),
                         ATTN_STAGE_MODEL, err);
}

/* --- Scores ----------------------------------------------------------------------------------- */

/* Reports for an item the sums of its edges, followed by the difference of both runs. */
static enum attn_status report_sums(struct attn_circuit_state *circuit, size_t n, double whole,
                                    struct attn_error *err)
{
    const struct attn_wiring *edges = &circuit->patch.edges;
    struct attn_frame *frame = &circuit->patch.frame;
    double *numbers = attn_frame_alloc(frame, n + 1, sizeof *numbers);
    size_t at = 0;

    ATTN_TRY(attn_frame_memory(frame, err));
    for (size_t r = 0; r < edges->n_reader; r++)
        for (size_t w = 0; w < edges->readers[r].n_read; w++)
            numbers[at++] = circuit->scores[r * edges->n_writer + w];
    numbers[at] = whole;
    return attn_frame_report_more(frame, numbers, n + 1, err);
}

/* Fills in ROW where WRITER works. */
static void put_place(const struct attn_circuit_state *circuit, size_t writer, double whole,
                      struct attn_cell *row)
{
    const struct attn_circuit_place *place = &circuit->places[writer];
    const struct attn_token_bytes *tokens = &attn_asked_text(circuit->patch.frame.run)->tokens;
    const bool has_key = !isnan(place->weight), has_texts = tokens->bytes != NULL;

    row[ATTN_CIRCUIT_OWN] = attn_cell_real_or_missing(
        circuit->patch.can_restore ? place->sum / whole + 0.0 : (double)NAN);
    row[ATTN_CIRCUIT_POSITION] = attn_cell_integer((int64_t)place->position);
    if (has_texts)
        row[ATTN_CIRCUIT_TOKEN] =
            attn_cell_text(tokens->bytes[place->position], tokens->sizes[place->position]);
    if (place->kind)
        row[ATTN_CIRCUIT_TYPE] = attn_cell_string(place->kind->name);
    if (!has_key)
        return;
    row[ATTN_CIRCUIT_KEY] = attn_cell_integer((int64_t)place->key);
    row[ATTN_CIRCUIT_WEIGHT] = attn_cell_real(place->weight);
    if (has_texts)
        row[ATTN_CIRCUIT_LOOKS_AT] =
            attn_cell_text(tokens->bytes[place->key], tokens->sizes[place->key]);
}

static enum attn_status append_rows(struct attn_circuit_state *circuit, double whole,
                                    struct attn_error *err)
{
    const struct attn_wiring *edges = &circuit->patch.edges;
    char from[ATTN_WIRE_NODE_NAME_SIZE], to[ATTN_WIRE_NODE_NAME_SIZE];

    for (size_t r = 0; r < edges->n_reader; r++) {
        attn_wire_node_name(&edges->readers[r], to);
        for (size_t w = 0; w < edges->readers[r].n_read; w++) {
            const double sum = circuit->scores[r * edges->n_writer + w];

            attn_wire_node_name(&edges->writers[w], from);
            struct attn_cell row[ATTN_CIRCUIT_N_COLUMN] = {
                [ATTN_CIRCUIT_FROM] = attn_cell_string(from),
                [ATTN_CIRCUIT_TO] = attn_cell_string(to),
                [ATTN_CIRCUIT_SCORE] = attn_cell_real_or_missing(
                    circuit->patch.can_restore ? sum / whole + 0.0 : (double)NAN)};

            if (circuit->places)
                put_place(circuit, w, whole, row);
            ATTN_TRY(attn_frame_append(&circuit->patch.frame, row, err));
        }
    }
    return ATTN_OK;
}

/* Whether the table is a circuit of a pair, whose parts have places. */
static bool has_places(const struct attn_circuit_args *args)
{
    return args->n_edge > 0 && !args->study;
}

/* Finds where the parts work, from their sums by position, and notes both replies as facts. */
static enum attn_status find_places(struct attn_circuit_state *circuit, const double *sums,
                                    struct attn_error *err)
{
    struct attn_patching *patch = &circuit->patch;
    const bool is_to_noise = attn_patch_is_to_noise(patch->args);
    const struct attn_reply *clean = is_to_noise ? &patch->base_reply : &patch->source_reply;
    const struct attn_reply *other = is_to_noise ? &patch->source_reply : &patch->base_reply;
    static const struct attn_column about[] = {ATTN_COLUMN_REAL("clean", 6, NULL, SIGNED),
                                               ATTN_COLUMN_REAL("corrupted", 6, NULL, SIGNED),
                                               ATTN_COLUMN("instead", TEXT)};
    const struct attn_token_bytes *tokens = &attn_asked_text(patch->frame.other)->tokens;
    struct attn_cell cells[] = {attn_cell_real(clean->value), attn_cell_real(other->value),
                                attn_cell_missing()};
    struct attn_circuit_place *places =
        attn_frame_alloc(&patch->frame, patch->edges.n_writer, sizeof *places);

    ATTN_TRY(attn_frame_memory(&patch->frame, err));
    ATTN_TRY(attn_circuit_find_places(&patch->edges, sums, patch->frame.run, NULL, places, err));
    circuit->places = places;
    if (tokens->bytes)
        cells[2] =
            attn_cell_text(tokens->bytes[places[0].position], tokens->sizes[places[0].position]);
    return attn_table_set_about(patch->frame.rows.table, about, cells, sizeof about / sizeof *about,
                                err);
}

/* Sets the scores of all edges, and both replies. */
static enum attn_status find_scores(struct attn_circuit_state *circuit, struct attn_error *err)
{
    struct attn_patching *patch = &circuit->patch;
    struct attn_wiring *edges = &patch->edges;
    const enum attn_circuit_method method = circuit->args->method;
    struct attn_wire_scores asked = {.answer = &patch->answer,
                                     .is_riemann = method == ATTN_CIRCUIT_EAP_IG_RIEMANN,
                                     .has_clean_source = circuit->args->is_to_restore,
                                     .n_point = method == ATTN_CIRCUIT_EAP ? 0
                                                : circuit->args->n_point > 0
                                                    ? circuit->args->n_point
                                                    : DEFAULT_POINTS,
                                     .kept_bytes = circuit->args->kept_bytes};

    double *scores =
        attn_frame_alloc(&patch->frame, edges->n_reader * edges->n_writer, sizeof *scores);

    if (has_places(circuit->args))
        asked.places = attn_frame_alloc(
            &patch->frame, edges->n_writer * attn_asked_n(patch->frame.run), sizeof *asked.places);
    ATTN_TRY(attn_frame_memory(&patch->frame, err));
    ATTN_TRY(attn_wiring_open(patch->base, patch->source, &patch->frame.session, edges, err));
    ATTN_TRY(attn_patch_read_source(patch, err));
    ATTN_TRY(attn_wiring_score(edges, &asked, &patch->base_reply, scores, err));
    circuit->scores = scores;
    ATTN_TRY(attn_patch_check_difference(patch, err));
    return asked.places ? find_places(circuit, asked.places, err) : ATTN_OK;
}

static enum attn_status ask(void *state, struct attn_error *err)
{
    struct attn_circuit_state *circuit = state;
    struct attn_patching *patch = &circuit->patch;
    struct attn_wiring *edges = &patch->edges;
    const struct attn_circuit_plan *plan = patch->frame.plan;
    const size_t n = edges->n_edge;
    double whole;

    if (plan)
        circuit->scores = plan->scores;
    else
        ATTN_TRY(find_scores(circuit, err));
    if (has_runs(circuit->args)) {
        ATTN_TRY(attn_circuit_run_curve(circuit, err));
        attn_patch_report_base(patch);
        if (!patch->frame.item)
            attn_patch_note_runs(patch);
        return ATTN_OK;
    }
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
    const struct attn_circuit_args *args = given;
    double whole;

    if (means->is_paired || means->n_more == 0)
        return ATTN_OK;
    if (has_runs(args))
        return attn_circuit_curve_derive(args, means, err);
    whole = means->more[means->n_more - 1];
    ATTN_TRY(attn_circuit_check_difference(whole, err));
    for (size_t i = 0; i < means->n_row && i + 1 < means->n_more; i++)
        means->rows[i * ATTN_CIRCUIT_N_COLUMN + ATTN_CIRCUIT_SCORE] =
            attn_cell_real(means->more[i] / whole + 0.0);
    return ATTN_OK;
}

/* Names the command: its results need more than rows. */
static const char *beyond_rows(const void *args)
{
    (void)args;
    return "a circuit";
}

static uint64_t shows(const void *state)
{
    const struct attn_circuit_state *circuit = state;

    return !has_runs(circuit->args) ? SHOW_SCORES | (has_places(circuit->args) ? SHOW_PLACES : 0)
           : circuit->args->n_random == 0 ? SHOW_CURVE
                                          : SHOW_CURVE | SHOW_RANDOM;
}

static const struct attn_table_view views[] = {
    {ATTN_VIEW_OF(WRITER, READER, ATTN_CIRCUIT_SCORE)},
    {.rows = ATTN_TABLE_COLUMN(ATTN_CIRCUIT_EDGES),
     .columns = ATTN_TABLE_COLUMN(ATTN_CIRCUIT_EDGES),
     .values = ATTN_TABLE_COLUMN(ATTN_CIRCUIT_FAITHFULNESS),
     .traits = ATTN_VIEW_SEQUENCE | ATTN_VIEW_SERIES,
     .quantity = "faithfulness"},
};

/* Describes the picture. Over items there is no single pair of texts. */
static void draw(const void *given, struct attn_drawn *drawn)
{
    const struct attn_circuit_args *args = given;
    const struct attn_model *model = drawn->host ? attn_host_model(drawn->host) : NULL;
    const struct attn_config *config = model ? attn_model_config(model) : NULL;

    if (config && config->n_kv_head > 0)
        drawn->picture->n_sharing = config->n_head / config->n_kv_head;
    if (has_runs(args))
        attn_drawn_ask(drawn, args->n_random > 0 ? "of circuits and of random ones"
                                                 : "of circuits, without random ones");
    else
        drawn->picture->view.quantity =
            args->is_to_restore ? "estimated share of @ restored" : "estimated share of @ lost";
    if (!has_runs(args))
        attn_drawn_ask(drawn, "by edge");
    if (!args->study)
        attn_drawn_name_pair(drawn, "clean", "corrupted", &args->corrupted);
}

static void release(void *state)
{
    struct attn_circuit_state *circuit = state;

    attn_wiring_release(&circuit->patch.edges);
}

/* Reads *SCORES [n_reader, n_writer], which the caller owns, from TABLE, which has all edges in
 * their order. */
static enum attn_status read_scores(const struct attn_wiring *edges, const struct attn_table *table,
                                    double **scores, struct attn_error *err)
{
    const size_t column = attn_table_find(table, columns[ATTN_CIRCUIT_SCORE].name);
    size_t row = 0;

    ATTN_TRY(ATTN_ALLOC(*scores, edges->n_reader * edges->n_writer, err));
    for (size_t r = 0; r < edges->n_reader; r++)
        for (size_t w = 0; w < edges->readers[r].n_read; w++)
            (*scores)[r * edges->n_writer + w] = attn_table_cell(table, row++, column).real;
    return ATTN_OK;
}

/* Computes the mean scores over all items of ARGS, in a separate pass. The caller owns *SCORES. */
static enum attn_status score_items(const struct attn_procedure_call *call,
                                    const struct attn_circuit_args *args,
                                    const struct attn_wiring *edges, double **scores,
                                    struct attn_error *err)
{
    static const char *const shard[] = {
        "`curve` runs the circuits of the mean scores over all items, and a shard reads some of "
        "them",
        NULL};
    struct attn_circuit_args each = *args, defaults = ATTN_CIRCUIT_ARGS_DEFAULT;
    struct attn_procedure first = procedure;
    struct attn_table *table = NULL;
    const struct attn_procedure_call own = {call->host, call->request, NULL,
                                            &defaults,  &table,        NULL};
    enum attn_status status;

    each.curve = NULL;
    first.table.sort = NULL;
    status = attn_procedure_perform_first(&first, &own, &each, shard, err);
    ATTN_THEN(status, read_scores(edges, table, scores, err));
    attn_table_free(table);
    return status;
}

/* --- The circuit of `size` -------------------------------------------------------------------- */

/* Copies the rows of *TABLE, all edges in their order, that are CHOSEN [n_reader, n_writer], sorted
 * by their scores. */
static enum attn_status take_rows(const struct attn_wiring *edges, const unsigned char *chosen,
                                  struct attn_table **table, struct attn_error *err)
{
    const struct attn_table_order order = {.size = sizeof order,
                                           .sort = columns[ATTN_CIRCUIT_SCORE].name};
    const size_t n = attn_table_n_column(*table);
    struct attn_cell *cells = attn_alloc(n, sizeof *cells, err);
    struct attn_table *taken = NULL, *sorted = NULL;
    size_t row = 0;
    enum attn_status status = cells
                                  ? attn_table_create(attn_table_name(*table),
                                                      attn_table_column(*table, 0), n, &taken, err)
                                  : ATTN_NO_MEMORY;

    ATTN_THEN(status, attn_table_copy_about(*table, taken, err));
    for (size_t r = 0; r < edges->n_reader; r++)
        for (size_t w = 0; w < edges->readers[r].n_read; w++, row++) {
            for (size_t i = 0; status == ATTN_OK && i < n; i++)
                cells[i] = attn_table_cell(*table, row, i);
            if (status == ATTN_OK && chosen[r * edges->n_writer + w])
                status = attn_table_append(taken, cells, n, err);
        }
    ATTN_THEN(status, attn_table_sort(taken, &order, &sorted, err));
    attn_free(cells);
    attn_table_free(taken);
    if (status == ATTN_OK) {
        attn_table_free(*table);
        *table = sorted;
    }
    return status;
}

/* Chooses the edges of `size`, or all of them. */
static enum attn_status choose_edges(const struct attn_circuit_args *args,
                                     const struct attn_wiring *edges, const double *scores,
                                     unsigned char *chosen, size_t *n_kept, struct attn_error *err)
{
    size_t *order;
    enum attn_status status;

    ATTN_TRY(ATTN_ALLOC(order, edges->n_edge, err));
    status = attn_circuit_rank(edges, scores, !args->is_by_score, order, err);
    for (size_t i = 0; status == ATTN_OK && i < args->n_edge; i++)
        chosen[order[i]] = 1;
    attn_free(order);
    return status == ATTN_OK ? attn_circuit_prune(edges, chosen, n_kept, err) : status;
}

/* Runs the circuit CHOSEN, and random ones beside it: *FOUND has a row of it, and is the caller's.
 */
static enum attn_status run_circuit(const struct attn_procedure_call *call,
                                    const struct attn_circuit_args *args, unsigned char *chosen,
                                    struct attn_table **found, struct attn_error *err)
{
    enum { N_RANDOM = 5 };
    struct attn_circuit_args each = *args, defaults = ATTN_CIRCUIT_ARGS_DEFAULT;
    struct attn_circuit_plan plan = {.chosen = chosen};
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_procedure own = procedure;

    ATTN_TRY(attn_options_read(call->request, &request, err));
    request.on_note = NULL; /* the scores have sent the same notes */
    each.evaluate = "this circuit";
    each.n_edge = 0;
    each.n_random = N_RANDOM;
    own.plan = &plan;
    own.table.sort = NULL;
    return attn_procedure_perform(
        &own, &(struct attn_procedure_call){call->host, &request, &each, &defaults, found, NULL},
        err);
}

/* Appends the name that paths have for the input, the token of the first edge from it, and a zero
 * byte, and the same for the logits, the target. */
static void name_ends(const struct attn_circuit_args *args, const struct attn_table *table,
                      struct attn_buffer *names)
{
    const char *target = args->answer.target ? args->answer.target : "logits";
    struct attn_cell token = attn_cell_string("input");
    size_t size = strlen(target);

    for (size_t row = attn_table_n_row(table); row-- > 0;) {
        const struct attn_cell from =
            attn_table_cell(table, row, attn_table_find(table, columns[ATTN_CIRCUIT_FROM].name));
        const struct attn_cell at =
            attn_table_cell(table, row, attn_table_find(table, columns[ATTN_CIRCUIT_TOKEN].name));

        if (attn_cell_word(&from, "input") == 0 && at.type == ATTN_VALUE_TEXT)
            token = at;
    }
    token.text = attn_text_trim(token.text, &token.size);
    attn_buffer_append(names, token.text, token.size);
    attn_buffer_append_char(names, '\0');
    target = attn_text_trim(target, &size);
    attn_buffer_append(names, target, size);
    attn_buffer_append_char(names, '\0');
}

/* Adds to the facts about TABLE, the edges of CIRCUIT: what they keep of the answer, and random
 * ones, by the row of FOUND; and the paths. */
static enum attn_status add_facts(const struct attn_circuit_args *args,
                                  const struct attn_wiring *edges,
                                  const struct attn_circuit_plan *circuit,
                                  const struct attn_table *found, struct attn_table *table,
                                  struct attn_error *err)
{
    static const int shown[] = {ATTN_CIRCUIT_EDGES, ATTN_CIRCUIT_FAITHFULNESS,
                                ATTN_CIRCUIT_CONTROL};
    enum { N_SHOWN = sizeof shown / sizeof *shown, N_BEFORE = 3, N_FACT = N_SHOWN + N_BEFORE + 1 };
    const struct attn_table *before = attn_table_about(table);
    struct attn_column about[N_FACT];
    struct attn_cell cells[N_FACT];
    struct attn_buffer names = {0}, paths = {0};
    enum attn_status status;

    for (size_t i = 0; i < N_SHOWN; i++) {
        about[i] = columns[shown[i]];
        cells[i] = attn_table_cell(found, 0, attn_table_find(found, about[i].name));
    }
    for (size_t i = 0; i < N_BEFORE; i++) {
        about[N_SHOWN + i] = *attn_table_column(before, i);
        cells[N_SHOWN + i] = attn_table_cell(before, 0, i);
    }
    about[N_FACT - 1] = (struct attn_column)ATTN_COLUMN("paths", TEXT);
    name_ends(args, table, &names);
    status = attn_buffer_check(&names, err);
    if (status == ATTN_OK)
        status = attn_circuit_paths(
            edges, circuit->scores, circuit->chosen,
            (const char *[]){names.data, names.data + strlen(names.data) + 1}, &paths, err);
    cells[N_FACT - 1] = attn_cell_text(paths.data, paths.size);
    ATTN_THEN(status, attn_table_set_about(table, about, cells, N_FACT, err));
    attn_buffer_release(&names);
    attn_buffer_release(&paths);
    return status;
}

/* Replaces *TABLE, the scores of all edges, by those of the circuit. */
static enum attn_status take_circuit(const struct attn_procedure_call *call,
                                     const struct attn_circuit_args *args,
                                     const struct attn_wiring *edges, struct attn_error *err)
{
    struct attn_table **table = call->table;
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    unsigned char *chosen = attn_alloc(edges->n_reader, edges->n_writer, err);
    struct attn_table *found = NULL;
    double *scores = NULL;
    enum attn_status status = chosen ? read_scores(edges, *table, &scores, err) : ATTN_NO_MEMORY;
    size_t n_kept = 0;

    ATTN_THEN(status, choose_edges(args, edges, scores, chosen, &n_kept, err));
    ATTN_THEN(status, take_rows(edges, chosen, table, err));
    if (status == ATTN_OK && has_places(args) && n_kept > 0)
        status = run_circuit(call, args, chosen, &found, err);
    if (status == ATTN_OK && found)
        status =
            add_facts(args, edges, &(struct attn_circuit_plan){scores, chosen}, found, *table, err);
    ATTN_THEN(status, attn_options_read(call->request, &request, err));
    if (status == ATTN_OK && args->n_edge > n_kept)
        attn_note(request.on_note, request.user, ATTN_NOTE_PATCH_RUNS,
                  "%zu of the %zu edges lie on a way from the input to the logits", n_kept,
                  args->n_edge);
    attn_free(chosen);
    attn_free(scores);
    attn_table_free(found);
    return status;
}

/* --- The call --------------------------------------------------------------------------------- */

/* Finds what all items share: the mean scores of a curve, or the edges of a file. */
static enum attn_status make_plan(const struct attn_procedure_call *call,
                                  const struct attn_circuit_args *args,
                                  const struct attn_wiring *edges, struct attn_circuit_plan *plan,
                                  struct attn_error *err)
{
    if (!args->evaluate)
        return score_items(call, args, edges, &plan->scores, err);
    ATTN_TRY(ATTN_ALLOC(plan->chosen, edges->n_reader * edges->n_writer, err));
    return read_file(args->evaluate, edges, plan->chosen, err);
}

/* Performs CALL with complete ARGS. */
static enum attn_status perform_with(const struct attn_procedure_call *call,
                                     const struct attn_circuit_args *args,
                                     const struct attn_wiring *edges, struct attn_error *err)
{
    const bool has_plan = args->evaluate || (args->curve && args->study);
    const bool has_circuit = args->n_edge > 0;
    struct attn_procedure asked = procedure;
    struct attn_circuit_plan plan = {.scores = NULL};
    enum attn_status status = has_plan ? make_plan(call, args, edges, &plan, err) : ATTN_OK;

    asked.plan = has_plan ? &plan : NULL;
    asked.table.sort = has_runs(args) || has_circuit ? NULL : procedure.table.sort;
    ATTN_THEN(status, attn_procedure_perform(&asked, call, err));
    if (status == ATTN_OK && has_circuit)
        status = take_circuit(call, args, edges, err);
    attn_free(plan.scores);
    attn_free(plan.chosen);
    return status;
}

static enum attn_status perform(const struct attn_procedure_call *call, struct attn_error *err)
{
    struct attn_circuit_args args = ATTN_CIRCUIT_ARGS_DEFAULT;
    struct attn_wiring edges = {.n = 0};
    enum attn_status status;

    if (!attn_is_given(call->host, "host", err))
        return ATTN_INVALID;
    ATTN_TRY(attn_error_at(attn_options_read(call->given, &args, err), ATTN_STAGE_OPTIONS, err));
    ATTN_TRY(attn_host_check_model(call->host, err));
    status = attn_wiring_list(attn_model_config(attn_host_model(call->host)), &edges, err);
    if (status == ATTN_OK && args.n_edge > edges.n_edge)
        status = attn_refuse(err, ATTN_STAGE_OPTIONS, "`size` is %zu, and the model has %zu edges",
                             args.n_edge, edges.n_edge);
    ATTN_THEN(status, perform_with(call, &args, &edges, err));
    attn_wiring_release(&edges);
    return status;
}

static const struct attn_procedure procedure = {
    ATTN_PATCH_PROCEDURE,
    .table.name = ATTN_TABLE_CIRCUIT,
    .state_size = sizeof(struct attn_circuit_state),
    .items.study = offsetof(struct attn_circuit_args, study),
    .question = &attn_question_circuit,
    .table.sort = "score",
    .release = release,
};

ATTN_ASKS(circuit)
