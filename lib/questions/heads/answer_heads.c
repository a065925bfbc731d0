#include "heads/answer_heads.h"

#include "ablate/ablate.h"
#include "attribute/attribute.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/given.h"
#include "circuit/circuit_internal.h"
#include "forward/session.h"
#include "frame/drawn.h"
#include "frame/questions_internal.h"
#include "heads/answer_foil.h"
#include "means/rows.h"
#include "measures/head_kind.h"
#include "run/run_pass.h"
#include "tables/text_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ID_SIZE = 16, MOST_HEADS = 8 };
enum {
    PART,
    WRITES,
    MISSING,
    POSITION,
    TOKEN,
    WEIGHT,
    TYPE,
    OF_TARGET,
    OF_FOIL,
    UNCHANGED,
    N_COLUMN
};

static const struct attn_column columns[N_COLUMN] = {
    [PART] = ATTN_COLUMN_WITH("part", TEXT, NAME, .role = ATTN_ROLE_WRITER),
    [WRITES] = ATTN_COLUMN_REAL("writes", 4, "logits", SIGNED),
    [MISSING] = ATTN_COLUMN_REAL("missing", 4, "logits", SIGNED),
    [POSITION] = ATTN_COLUMN_OF(POSITION, "position", INTEGER),
    [TOKEN] = ATTN_COLUMN_OF(TOKEN, "token", TEXT),
    [WEIGHT] = ATTN_COLUMN_REAL("weight", 2, NULL, SHARE),
    [TYPE] = ATTN_COLUMN("type", TEXT),
    [OF_TARGET] = ATTN_COLUMN_REAL("writes_target", 4, "logits", SIGNED),
    [OF_FOIL] = ATTN_COLUMN_REAL("writes_foil", 4, "logits", SIGNED),
    [UNCHANGED] = ATTN_COLUMN_REAL("unchanged", 4, "logits", SIGNED),
};

/* What a part writes of target and foil against the mean of all logits; NaN: unknown. */
struct sides {
    double target, foil;
};

struct answer {
    struct attn_run *run; /* owns */
    struct attn_answer_args asked;
    int32_t target, foil;              /* of these tokens */
    int64_t position;                  /* after this */
    struct attn_wiring edges;          /* owns; the parts */
    size_t n;                          /* number of parts */
    struct attn_circuit_place *places; /* [n] owns; with what they write */
    struct sides *sides;               /* [n] owns */
    double *missing;                   /* [n] owns; NaN: unknown */
    double *base; /* [n] owns; what parts write without the edits of the request */
    size_t heads[MOST_HEADS], n_head; /* the parts that have rows, the largest first */
    bool is_edited;                   /* the request has edits */
    struct attn_buffer tokens;        /* owns; the text of all tokens, */
    int64_t *ends;                    /* [T] owns; and where each ends in it */
    struct attn_table *table;         /* owns */
    double sum;                       /* of all that is written */
};

/* --- The question ----------------------------------------------------------------------------- */

/* Finds the position of the question of REQUEST: of its `at`, else of its query, else the last. */
static enum attn_status find_position(const struct attn_request *request, struct answer *answer,
                                      struct attn_error *err)
{
    const struct attn_number_list *queries = &request->selection.queries;
    struct attn_answer_args args = {.metric = ATTN_ANSWER_KL, .at = answer->asked.at};
    struct attn_answer found;
    unsigned char *flags;
    size_t n = 0;
    enum attn_status status;

    ATTN_TRY(attn_run_find_answer(answer->run, &args, &found, err));
    answer->position = (int64_t)found.position;
    if (attn_number_list_is_given(&args.at) || !attn_number_list_is_given(queries))
        return ATTN_OK;
    ATTN_TRY(ATTN_ALLOC(flags, attn_asked_n(answer->run), err));
    status = attn_asked_positions(answer->run, queries, "queries", flags, err);
    for (size_t i = 0; status == ATTN_OK && i < attn_asked_n(answer->run); i++)
        if (flags[i]) {
            answer->position = (int64_t)i;
            n++;
        }
    attn_free(flags);
    return status != ATTN_OK || n == 1
               ? status
               : attn_refuse(err, ATTN_STAGE_OPTIONS,
                             "'`figure answer`' shows the heads of one query of a text alone");
}

/* Finds target and foil: those that are given, else by the next words in SESSION. */
static enum attn_status find_words(struct attn_session *session, struct answer *answer,
                                   struct attn_error *err)
{
    struct attn_answer_args *asked = &answer->asked;
    const size_t n = attn_model_config(attn_asked_model(answer->run))->n_vocab;
    struct attn_next_words next = {.run = answer->run,
                                   .session = session,
                                   .text = &answer->tokens,
                                   .position = (size_t)answer->position,
                                   .n_vocab = n};
    struct attn_scored *ranked = NULL;
    struct attn_answer found;
    float *logits;
    enum attn_status status = ATTN_ALLOC(logits, n, err);

    next.logits = logits;
    ATTN_THEN(status, ATTN_ALLOC(ranked, 2 * n, err));
    ATTN_THEN(status, attn_session_logits_at(session, next.position, 1, logits, err));
    next.ranked = ranked;
    if (status == ATTN_OK) {
        attn_logits_rank(logits, n, ranked);
        answer->target = attn_next_target(&next);
    }
    if (!asked->target && !asked->target_id)
        asked->target_id = &answer->target;
    ATTN_THEN(status, attn_run_find_answer(answer->run, asked, &found, err));
    if (status == ATTN_OK) {
        answer->target = found.target;
        answer->foil = found.foil;
    }
    if (!asked->foil && !asked->foil_id)
        ATTN_THEN(status, attn_next_foil(&next, answer->target, &answer->foil, err));
    attn_free(logits);
    attn_free(ranked);
    asked->target = NULL;
    asked->target_id = &answer->target;
    asked->foil = answer->foil == ATTN_FOIL_NOTHING ? "" : NULL;
    asked->foil_id = answer->foil == ATTN_FOIL_NOTHING ? NULL : &answer->foil;
    return status;
}

/* --- The parts -------------------------------------------------------------------------------- */

static struct attn_cell named_cell(const struct attn_table *table, size_t row, const char *name)
{
    return attn_table_cell(table, row, attn_table_find(table, name));
}

/* Returns the number of the part of ROW of a table with the columns part, layer and head; biases
 * belong to the embedding, which is number 0. */
static size_t part_of(const struct answer *answer, const struct attn_table *table, size_t row)
{
    const struct attn_cell part = named_cell(table, row, "part");
    const size_t kind = attn_cell_word(&part, "head mlp"), n_head = answer->edges.config->n_head;

    if (kind == SIZE_MAX)
        return 0;
    return 1 + (size_t)named_cell(table, row, "layer").integer * (n_head + 1) +
           (kind == 0 ? (size_t)named_cell(table, row, "head").integer : n_head);
}

static double side_of(bool has_sides, const struct attn_table *parts, size_t row, const char *name)
{
    return has_sides ? named_cell(parts, row, name).real : (double)NAN;
}

/* Adds what each part of REQUEST writes of the question to places[].sum, and with HAS_SIDES to
 * sides. */
static enum attn_status split(const struct attn_request *request, bool has_sides,
                              struct answer *answer, struct attn_error *err)
{
    struct attn_attribute_args args = ATTN_ATTRIBUTE_ARGS_DEFAULT;
    struct attn_table *parts;

    args.answer = answer->asked;
    args.sides = has_sides ? ATTN_SIDES_MEAN : ATTN_SIDES_NONE;
    ATTN_TRY(attn_attribute(attn_asked_host(answer->run), request, &args, &parts, err));
    for (size_t i = 0; i < attn_table_n_row(parts); i++) {
        const size_t part = part_of(answer, parts, i);

        if (attn_table_total(parts, i) < SIZE_MAX)
            continue;
        answer->places[part].sum += named_cell(parts, i, "attribution").real;
        answer->sides[part].target += side_of(has_sides, parts, i, "attribution_target");
        answer->sides[part].foil += side_of(has_sides, parts, i, "attribution_foil");
    }
    attn_table_free(parts);
    return ATTN_OK;
}

/* Finds where heads look, the question, and what each part writes of it: two passes over PLAIN, the
 * request without its edits, and with edits one over REQUEST. */
static enum attn_status find_parts(const struct attn_request *plain,
                                   const struct attn_request *request, bool has_sides,
                                   struct answer *answer, struct attn_error *err)
{
    struct attn_session *session = NULL;
    enum attn_status status;

    ATTN_TRY(
        attn_wiring_list(attn_model_config(attn_asked_model(answer->run)), &answer->edges, err));
    answer->n = answer->edges.n_writer;
    ATTN_TRY(ATTN_ALLOC(answer->places, answer->n, err));
    ATTN_TRY(ATTN_ALLOC(answer->sides, answer->n, err));
    ATTN_TRY(ATTN_ALLOC(answer->missing, answer->n, err));
    ATTN_TRY(ATTN_ALLOC(answer->base, answer->n, err));
    for (size_t i = 0; i < answer->n; i++) {
        answer->places[i].position = (size_t)answer->position;
        answer->missing[i] = (double)NAN;
    }
    status =
        attn_circuit_find_places(&answer->edges, NULL, answer->run, &session, answer->places, err);
    ATTN_THEN(status, find_words(session, answer, err));
    attn_session_free(session);
    ATTN_TRY(status);
    answer->asked.at = (struct attn_number_list){.items = &answer->position, .n = 1};
    has_sides = has_sides && answer->foil != ATTN_FOIL_NOTHING;
    ATTN_TRY(split(plain, has_sides && !answer->is_edited, answer, err));
    for (size_t i = 0; i < answer->n; i++)
        answer->base[i] = answer->places[i].sum;
    if (!answer->is_edited)
        return ATTN_OK;
    for (size_t i = 0; i < answer->n; i++) {
        answer->places[i].sum = 0;
        answer->sides[i] = (struct sides){0, 0};
    }
    return split(request, has_sides, answer, err);
}

/* Finds the heads with the largest |writes| without edits, of those that write anything. */
static void find_heads(struct answer *answer)
{
    for (size_t w = 1; w < answer->n; w++) {
        const double size = fabs(answer->base[w]);
        size_t i = answer->n_head;

        if (answer->edges.writers[w].kind != ATTN_WIRE_NODE_HEAD || !(size > 0))
            continue;
        while (i > 0 && size > fabs(answer->base[answer->heads[i - 1]]))
            i--;
        if (i == MOST_HEADS)
            continue;
        answer->n_head += answer->n_head < MOST_HEADS;
        memmove(answer->heads + i + 1, answer->heads + i,
                (answer->n_head - 1 - i) * sizeof *answer->heads);
        answer->heads[i] = w;
    }
}

/* Finds what the question loses without each of the heads that are listed, by a run from its layer
 * on, if that takes about two seconds or less. */
static enum attn_status find_missing(const struct attn_request *given, struct answer *answer,
                                     struct attn_error *err)
{
    static const double most = 2e11; /* multiplications */
    const struct attn_config *config = answer->edges.config;
    const double cost =
        12 * (double)config->d_model * (double)config->d_model * (double)attn_asked_n(answer->run);
    struct attn_ablate_args args = ATTN_ABLATE_ARGS_DEFAULT;
    struct attn_ablate_sum runs = ATTN_ABLATE_SUM_DEFAULT;
    struct attn_request request = *given;
    struct attn_table *table;
    char heads[MOST_HEADS * ATTN_WIRE_NODE_NAME_SIZE + MOST_HEADS] = "";
    double sum = 0;

    for (size_t i = 0; i < answer->n_head; i++) {
        char name[ATTN_WIRE_NODE_NAME_SIZE];
        const struct attn_wire_node *node = &answer->edges.writers[answer->heads[i]];

        attn_wire_node_name(node, name);
        snprintf(heads + strlen(heads), sizeof heads - strlen(heads), "%s%s", i > 0 ? "," : "",
                 name);
        sum += cost * (double)(config->n_layer - node->layer);
    }
    if (*heads == '\0' || sum > most)
        return ATTN_OK;
    args.answer = answer->asked;
    args.answer.metric = ATTN_ANSWER_LOGIT_DIFF;
    request.selection.heads = heads;
    ATTN_TRY(attn_ablate(attn_asked_host(answer->run), &request, &args, &table, &runs, err));
    for (size_t i = 1; i < attn_table_n_row(table); i++) /* after the base */
        answer->missing[part_of(answer, table, i)] = -named_cell(table, i, "change").real;
    attn_table_free(table);
    return ATTN_OK;
}

/* --- The table -------------------------------------------------------------------------------- */

static struct attn_cell cell_of(double number)
{
    return isnan(number) ? (struct attn_cell){0} : attn_cell_real(number);
}

/* A row: of a head, or of several. */
struct group {
    const char *name;
    struct attn_circuit_place place;
    struct sides sides;
    double base;
};

/* Appends the row of GROUP, whose loss changes the answer by MISSING; NAN is not measured. */
static enum attn_status append(struct answer *answer, const struct group *group, double missing,
                               struct attn_error *err)
{
    const struct attn_circuit_place *place = &group->place;
    struct attn_cell cells[N_COLUMN] = {[PART] = attn_cell_string(group->name),
                                        [WRITES] = attn_cell_real(place->sum),
                                        [MISSING] = cell_of(missing),
                                        [WEIGHT] = cell_of(place->weight),
                                        [OF_TARGET] = cell_of(group->sides.target),
                                        [OF_FOIL] = cell_of(group->sides.foil),
                                        [UNCHANGED] =
                                            cell_of(answer->is_edited ? group->base : (double)NAN)};

    if (!isnan(place->weight)) {
        cells[POSITION] = attn_cell_integer((int64_t)place->key);
        cells[TOKEN] = attn_asked_token(answer->run, place->key);
    }
    if (place->kind)
        cells[TYPE] = attn_cell_string(attn_head_kind_shown(place->kind)->name);
    return attn_table_append(answer->table, cells, N_COLUMN, err);
}

static void add(const struct answer *answer, size_t w, int sign, struct group *group)
{
    group->place.sum += sign * answer->places[w].sum;
    group->sides.target += sign * answer->sides[w].target;
    group->sides.foil += sign * answer->sides[w].foil;
    group->base += sign * answer->base[w];
}

static enum attn_status list(struct answer *answer, struct attn_error *err)
{
    struct group groups[] = {{.name = "MLPs", .place.weight = (double)NAN},
                             {.name = "embedding", .place.weight = (double)NAN},
                             {.name = "other heads", .place.weight = (double)NAN}};

    ATTN_TRY(attn_table_create("answer", columns, N_COLUMN, &answer->table, err));
    for (size_t w = 0; w < answer->n; w++) {
        const enum attn_wire_node_kind kind = answer->edges.writers[w].kind;

        answer->sum += answer->places[w].sum;
        add(answer, w, 1, &groups[w == 0 ? 1 : kind == ATTN_WIRE_NODE_HEAD ? 2 : 0]);
    }
    for (size_t i = 0; i < answer->n_head; i++) {
        const size_t w = answer->heads[i];
        char name[ATTN_WIRE_NODE_NAME_SIZE];

        attn_wire_node_name(&answer->edges.writers[w], name);
        const struct group head = {name, answer->places[w], answer->sides[w], answer->base[w]};

        ATTN_TRY(append(answer, &head, answer->missing[w], err));
        add(answer, w, -1, &groups[2]);
    }
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        ATTN_TRY(append(answer, &groups[i], (double)NAN, err));
    return ATTN_OK;
}

/* Lists the tokens of the text, and where each ends. */
static enum attn_status list_tokens(struct answer *answer, struct attn_error *err)
{
    const size_t n = attn_asked_n(answer->run);

    ATTN_TRY(ATTN_ALLOC(answer->ends, n, err));
    for (size_t i = 0; i < n; i++) {
        const struct attn_cell token = attn_asked_token(answer->run, i);

        if (token.type == ATTN_VALUE_TEXT)
            attn_buffer_append(&answer->tokens, token.text, token.size);
        else
            attn_buffer_append_format(&answer->tokens, " %d",
                                      (int)attn_asked_text(answer->run)->ids[i]);
        answer->ends[i] = (int64_t)answer->tokens.size;
    }
    return attn_buffer_check(&answer->tokens, err);
}

/* Returns the text of token ID; of one without text "id 5", written to NAME; "" of nothing. */
static struct attn_cell name_of(const struct answer *answer, int32_t id, char name[ID_SIZE])
{
    const struct attn_tokenizer *tokenizer = attn_asked_tokenizer(answer->run);
    size_t size = 0;
    const char *text =
        tokenizer && id != ATTN_FOIL_NOTHING ? attn_tokenizer_token(tokenizer, id, &size) : NULL;

    if (id == ATTN_FOIL_NOTHING)
        return attn_cell_text("", 0);
    snprintf(name, ID_SIZE, "id %d", (int)id);
    return text ? attn_cell_text(text, size) : attn_cell_string(name);
}

static enum attn_status make(struct attn_host *host, const struct attn_request *given,
                             unsigned more, struct answer *answer, struct attn_error *err)
{
    static const struct attn_column about[] = {ATTN_COLUMN("target", TEXT),
                                               ATTN_COLUMN("foil", TEXT),
                                               ATTN_COLUMN_OF(POSITION, "position", INTEGER),
                                               ATTN_COLUMN_OF(TOKEN, "token", TEXT),
                                               ATTN_COLUMN_REAL("sum", 4, "logits", SIGNED),
                                               ATTN_COLUMN("tokens", TEXT),
                                               ATTN_COLUMN("ends", LIST)};
    struct attn_request request = *given, plain;
    char ids[2][ID_SIZE];

    request.on_note = NULL; /* the run sends the same notes */
    request.on_part = NULL;
    request.on_progress = NULL;
    request.selection = (struct attn_request_selection){.queries = given->selection.queries};
    request.predict = (struct attn_request_predict){0};
    request.outputs = (struct attn_request_outputs){.precision = -1};
    if (given->predict.answer)
        answer->asked = *given->predict.answer;
    answer->asked.metric = ATTN_ANSWER_AUTO;
    plain = request;
    plain.edits = (struct attn_request_edits){0};
    answer->is_edited = memcmp(&plain.edits, &request.edits, sizeof plain.edits) != 0;
    ATTN_TRY(attn_run_open(host, NULL, &plain, &answer->run, err));
    if (attn_asked_source(answer->run)->n > 0 ||
        attn_before_n_own(attn_run_before(answer->run).before) > 0)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "'`figure answer`' shows the heads of one query of a text alone");
    ATTN_TRY(list_tokens(answer, err));
    ATTN_TRY(find_position(&request, answer, err));
    request.selection.queries = plain.selection.queries = (struct attn_number_list){0};
    ATTN_TRY(find_parts(&plain, &request, more & ATTN_ANSWER_SIDES, answer, err));
    find_heads(answer);
    if (more & ATTN_ANSWER_MISSING)
        ATTN_TRY(find_missing(&request, answer, err));
    ATTN_TRY(list(answer, err));
    const struct attn_cell facts[] = {
        name_of(answer, answer->target, ids[0]),
        name_of(answer, answer->foil, ids[1]),
        attn_cell_integer(answer->position),
        attn_asked_token(answer->run, (size_t)answer->position),
        attn_cell_real(answer->sum),
        attn_cell_text(attn_buffer_string(&answer->tokens), answer->tokens.size),
        attn_cell_list(answer->ends, attn_asked_n(answer->run))};

    return attn_table_set_about(answer->table, about, facts, sizeof facts / sizeof *facts, err);
}

enum attn_status attn_answer_heads(struct attn_host *host, const struct attn_request *given,
                                   unsigned more, struct attn_table **table,
                                   struct attn_table_picture *picture, struct attn_error *err)
{
    ATTN_NEED(err, host, table, picture);
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct answer answer = {.run = NULL};
    enum attn_status status =
        attn_error_at(attn_options_read(given, &request, err), ATTN_STAGE_OPTIONS, err);

    ATTN_THEN(status, attn_trial_check_host(host, err));
    ATTN_THEN(status, make(host, &request, more, &answer, err));
    if (status == ATTN_OK)
        *picture = (struct attn_table_picture){
            .view = {ATTN_VIEW_OF(WRITER, WRITER, WRITES), .figure = ATTN_FIGURE_ANSWER,
                     .quantity = "what parts write of the answer, above the words at which they "
                                 "look"},
            .model = attn_model_name(attn_host_model(host)),
            .texts = {{.text = request.input.text, .n = request.input.n_text}}};
    attn_run_free(answer.run);
    attn_wiring_release(&answer.edges);
    attn_free(answer.places);
    attn_free(answer.sides);
    attn_free(answer.missing);
    attn_free(answer.base);
    attn_free(answer.ends);
    attn_buffer_release(&answer.tokens);
    ATTN_RETURN_MADE(status, table, answer.table, attn_table_free);
}
