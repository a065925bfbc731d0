#include "heads/answer_heads.h"

#include "attribute/attribute.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/given.h"
#include "circuit/circuit_internal.h"
#include "frame/asked.h"
#include "frame/drawn.h"
#include "frame/questions_internal.h"
#include "means/rows.h"
#include "measures/head_kind.h"
#include "measures/metric.h"
#include "run/run_pass.h"
#include "tables/text_table.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ID_SIZE = 16 }; /* "id 5" */
enum { PART, SHARE, VALUE, POSITION, TOKEN, WEIGHT, TYPE, N_COLUMN };

static const struct attn_column columns[N_COLUMN] = {
    [PART] = ATTN_COLUMN_WITH("part", TEXT, NAME, .role = ATTN_ROLE_WRITER),
    [SHARE] = ATTN_COLUMN_REAL("share", 2, NULL, SIGNED),
    [VALUE] = ATTN_COLUMN_REAL("value", 4, NULL, SIGNED),
    [POSITION] = ATTN_COLUMN_OF(POSITION, "position", INTEGER),
    [TOKEN] = ATTN_COLUMN_OF(TOKEN, "token", TEXT),
    [WEIGHT] = ATTN_COLUMN_REAL("weight", 2, NULL, SHARE),
    [TYPE] = ATTN_COLUMN("type", TEXT), /* last: left out where no head has one */
};

struct answer {
    struct attn_run *run;      /* owns */
    struct attn_result result; /* owns; the next tokens */
    const struct attn_candidate *target, *foil;
    struct attn_wiring edges;          /* owns; the parts */
    struct attn_circuit_place *places; /* [n_writer] owns; with what they write */
    struct attn_table *table;          /* owns */
    double sum;                        /* of all values */
    double left;                       /* percent of it that the rows so far leave */
    size_t n_column;
};

/* Returns true if the text has the token NEXT, and it is no particle: it begins with a capital
 * letter or a character that is not ASCII, or has four letters. */
static bool is_word_of_text(const struct answer *answer, const struct attn_candidate *next)
{
    size_t n = next->token_size, i = 0;
    const char *text = attn_text_trim(next->token, &n);

    while (i < attn_asked_n(answer->run) && attn_asked_text(answer->run)->ids[i] != next->id)
        i++;
    return i < attn_asked_n(answer->run) && n > 0 && !attn_metric_is_punctuation(text, n) &&
           (n >= 4 || (*text & 0x80) || (n > 1 && *text >= 'A' && *text <= 'Z'));
}

static enum attn_status choose(struct answer *answer, struct attn_error *err)
{
    const struct attn_candidate *top = answer->result.predictions.top;
    const size_t n = answer->result.predictions.n_top;

    if (n < 2 || top[n - 1].position != top[0].position) /* 0 with a source or a picture */
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "'`figure answer`' shows the heads of one query of a text alone");
    answer->target = &top[0];
    answer->foil = &top[1];
    for (size_t i = n; i-- > 1;)
        if (top[i].prob >= 0.001 * top[0].prob && is_word_of_text(answer, &top[i]))
            answer->foil = &top[i];
    return ATTN_OK;
}

/* Finds where heads look, the answer, and what each part writes, biases with the embedding: two
 * passes. REQUEST is of the run. */
static enum attn_status find_parts(struct attn_host *host, const struct attn_request *request,
                                   struct answer *answer, struct attn_error *err)
{
    const struct attn_config *config = attn_model_config(attn_asked_model(answer->run));
    struct attn_attribute_args args = ATTN_ATTRIBUTE_ARGS_DEFAULT;
    struct attn_table *parts;
    int64_t query;

    ATTN_TRY(attn_wiring_list(config, &answer->edges, err));
    ATTN_TRY(ATTN_ALLOC(answer->places, answer->edges.n_writer, err));
    if (attn_asked_source(answer->run)->n == 0 &&
        attn_before_n_own(attn_run_before(answer->run).before) == 0)
        ATTN_TRY(attn_circuit_find_places(&answer->edges, NULL, answer->run, &answer->result,
                                          answer->places, err));
    ATTN_TRY(choose(answer, err));
    query = (int64_t)answer->target->position;
    args.answer.target_id = &answer->target->id;
    args.answer.foil_id = &answer->foil->id;
    args.answer.at = (struct attn_number_list){.items = &query, .n = 1};
    ATTN_TRY(attn_attribute(host, request, &args, &parts, err));
    for (size_t i = 0; i < attn_table_n_row(parts); i++) {
        const struct attn_cell part = attn_table_cell(parts, i, attn_table_find(parts, "part"));
        const struct attn_cell head = attn_table_cell(parts, i, attn_table_find(parts, "head"));
        const struct attn_cell layer = attn_table_cell(parts, i, attn_table_find(parts, "layer"));
        const size_t kind = attn_cell_word(&part, "head mlp");
        const size_t after = kind == 0 ? (size_t)head.integer : config->n_head;
        const size_t w =
            kind == SIZE_MAX ? 0 : 1 + (size_t)layer.integer * (config->n_head + 1) + after;

        if (attn_table_total(parts, i) == SIZE_MAX)
            answer->places[w].sum +=
                attn_table_cell(parts, i, attn_table_find(parts, "attribution")).real;
    }
    attn_table_free(parts);
    return ATTN_OK;
}

/* Appends the row of PART, whose PLACE has its value and, of a head, its key. */
static enum attn_status append(struct answer *answer, const char *part,
                               const struct attn_circuit_place *place, bool is_last,
                               struct attn_error *err)
{
    const double share = is_last ? answer->left : round(100 * place->sum / answer->sum);
    struct attn_cell cells[N_COLUMN] = {[PART] = attn_cell_string(part),
                                        [SHARE] = attn_cell_real(share / 100),
                                        [VALUE] = attn_cell_real(place->sum)};

    answer->left -= share;
    if (!isnan(place->weight)) {
        cells[POSITION] = attn_cell_integer((int64_t)place->key);
        cells[TOKEN] = attn_asked_token(answer->run, place->key);
        cells[WEIGHT] = attn_cell_real(place->weight);
    }
    if (place->kind)
        cells[TYPE] = attn_cell_string(place->kind->name);
    return attn_table_append(answer->table, cells, answer->n_column, err);
}

/* Returns the text of NEXT; of a token without text "id 5", written to ID. */
static struct attn_cell name_of(const struct attn_candidate *next, char id[ID_SIZE])
{
    snprintf(id, ID_SIZE, "id %d", (int)next->id);
    return next->token ? attn_cell_text(next->token, next->token_size) : attn_cell_string(id);
}

static enum attn_status list(struct answer *answer, struct attn_error *err)
{
    enum { MOST_HEADS = 8 };
    const struct attn_wire_node *nodes = answer->edges.writers;
    struct attn_circuit_place mlps = {.weight = (double)NAN}, heads = mlps;

    double size = 0;

    answer->left = 100;
    answer->n_column = TYPE;
    for (size_t w = 0; w < answer->edges.n_writer; w++) {
        answer->n_column = answer->places[w].kind ? N_COLUMN : answer->n_column;
        answer->sum += answer->places[w].sum;
        size += fabs(answer->places[w].sum);
        mlps.sum += nodes[w].kind == ATTN_WIRE_NODE_MLP ? answer->places[w].sum : 0;
        heads.sum += nodes[w].kind == ATTN_WIRE_NODE_HEAD ? answer->places[w].sum : 0;
    }
    if (fabs(answer->sum) <= (double)FLT_EPSILON * size)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "the two most probable tokens tie, and '`figure answer`' divides the "
                           "difference of their logits among heads");
    ATTN_TRY(attn_table_create("answer", columns, answer->n_column, &answer->table, err));
    for (size_t i = 0; i < MOST_HEADS; i++) {
        struct attn_circuit_place *most = NULL;
        char name[ATTN_WIRE_NODE_NAME_SIZE];

        for (size_t w = 1; w < answer->edges.n_writer; w++)
            if (nodes[w].kind == ATTN_WIRE_NODE_HEAD && answer->places[w].sum != 0 &&
                (!most || fabs(answer->places[w].sum) > fabs(most->sum)))
                most = &answer->places[w];
        if (!most)
            break;
        attn_wire_node_name(&nodes[most - answer->places], name);
        ATTN_TRY(append(answer, name, most, false, err));
        heads.sum -= most->sum;
        most->sum = 0;
    }
    ATTN_TRY(append(answer, "MLPs", &mlps, false, err));
    ATTN_TRY(append(answer, "embedding", &answer->places[0], false, err));
    return append(answer, "other heads", &heads, true, err);
}

static enum attn_status make(struct attn_host *host, const struct attn_request *given,
                             struct answer *answer, struct attn_error *err)
{
    enum { MOST_NEXT = 1000 }; /* have a thousandth of the first */
    static const struct attn_column about[] = {ATTN_COLUMN("target", TEXT),
                                               ATTN_COLUMN("foil", TEXT),
                                               ATTN_COLUMN_REAL("sum", 4, NULL, SIGNED)};
    struct attn_request request = *given;
    char ids[2][ID_SIZE];

    request.on_note = NULL; /* the run sends the same notes */
    request.on_part = NULL;
    request.on_progress = NULL;
    request.selection = (struct attn_request_selection){.queries = given->selection.queries};
    request.predict = (struct attn_request_predict){.top = MOST_NEXT};
    request.outputs = (struct attn_request_outputs){.precision = -1};
    ATTN_TRY(attn_run_open(host, NULL, &request, &answer->run, err));
    request.selection.queries = (struct attn_number_list){0};
    request.predict.top = 0;
    ATTN_TRY(find_parts(host, &request, answer, err));
    ATTN_TRY(list(answer, err));
    const struct attn_cell facts[] = {name_of(answer->target, ids[0]),
                                      name_of(answer->foil, ids[1]), attn_cell_real(answer->sum)};

    return attn_table_set_about(answer->table, about, facts, sizeof facts / sizeof *facts, err);
}

enum attn_status attn_answer_heads(struct attn_host *host, const struct attn_request *given,
                                   struct attn_table **table, struct attn_table_picture *picture,
                                   struct attn_error *err)
{
    ATTN_NEED(err, host, table, picture);
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct answer answer = {.run = NULL};
    enum attn_status status =
        attn_error_at(attn_options_read(given, &request, err), ATTN_STAGE_OPTIONS, err);

    ATTN_THEN(status, attn_host_check_model(host, err));
    ATTN_THEN(status, make(host, &request, &answer, err));
    if (status == ATTN_OK)
        *picture = (struct attn_table_picture){
            .view = {ATTN_VIEW_OF(WRITER, WRITER, SHARE), .figure = ATTN_FIGURE_ANSWER,
                     .quantity =
                         "what heads write of the answer, above the words at which they look"},
            .model = attn_model_name(attn_host_model(host)),
            .texts = {{.text = request.input.text, .n = request.input.n_text}}};
    attn_run_free(answer.run);
    attn_result_release(&answer.result);
    attn_wiring_release(&answer.edges);
    attn_free(answer.places);
    ATTN_RETURN_MADE(status, table, answer.table, attn_table_free);
}
