/* lens_table.c - the table of a lens: its columns, rows and pictures. */
#include "lens/lens_internal.h"

#include "frame/frame.h"
#include "predict/class_label.h"
#include "predict/logits.h"
#include "trace/trace_internal.h"
#include "trials/reply.h"

enum {
    STACK,
    LAYER,
    SITE,
    HEAD,
    POSITION,
    PLACE,
    RANK,
    MEAN_RANK, /* mean over queries or items */
    ID,
    TOKEN,
    PROB,
    LOGIT,
    VALUE,
    ENTROPY,
    KL,
    RIGHT,
    ROW_TYPE,
    N_COLUMN
};

enum {
    SHOW_STREAM = 2,
    SHOW_HEADS = 4,
    SHOW_POSITIONS = 8,
    SHOW_LIST = 16,
    SHOW_TARGET = 32,
    SHOW_RANK = 64,
    SHOW_MEAN = 128,
    SHOW_TOKENS = 256,
    SHOW_VALUE = 512,
    SHOW_RIGHT = 1024,
    SHOW_ENTROPY = 2048,
    SHOW_KL = 4096
};

const struct attn_column attn_lens_columns[ATTN_LENS_N_COLUMN] = {
    [STACK] = ATTN_COLUMN_STACK("stack"),
    [LAYER] = ATTN_COLUMN_OF(LAYER, "layer", INTEGER, .shown = SHOW_STREAM | SHOW_HEADS),
    [SITE] = ATTN_COLUMN_OF(SITE, "site", TEXT, .shown = SHOW_STREAM),
    [HEAD] = ATTN_COLUMN_OF(HEAD, "head", INTEGER, .shown = SHOW_HEADS),
    [POSITION] = ATTN_COLUMN_OF(POSITION, "position", INTEGER, .shown = SHOW_POSITIONS),
    [PLACE] = ATTN_COLUMN_OF(PLACE, "rank", INTEGER, .shown = SHOW_LIST),
    [RANK] = ATTN_COLUMN_WHOLE("target_rank", "rank of the target", .shown = SHOW_RANK),
    [MEAN_RANK] = ATTN_COLUMN_QUANTITY("target_rank", 2, NULL, POSITIVE, "rank of the target",
                                       .shown = SHOW_MEAN),
    [ID] = ATTN_COLUMN_OF(ID, "id", INTEGER, .shown = SHOW_TOKENS),
    [TOKEN] = ATTN_COLUMN_OF(TOKEN, "token", TEXT, .shown = SHOW_TOKENS),
    [PROB] = ATTN_COLUMN_QUANTITY("prob", 6, NULL, SHARE, "probability", .shown = SHOW_STREAM),
    [LOGIT] = ATTN_COLUMN_QUANTITY("logit", 4, NULL, SIGNED, "logit of the token",
                                   .shown = SHOW_HEADS | SHOW_TARGET),
    [VALUE] = ATTN_COLUMN_QUANTITY("value", 4, NULL, SIGNED, "@",
                                   .shown = SHOW_VALUE), /* with target and foil */
    [ENTROPY] = ATTN_COLUMN_QUANTITY("entropy", 4, "nats", POSITIVE, "entropy of the reading",
                                     .shown = SHOW_ENTROPY),
    [KL] = ATTN_COLUMN_QUANTITY("kl", 4, "nats", POSITIVE, "divergence from the last row",
                                .shown = SHOW_KL),
    [RIGHT] = ATTN_COLUMN_RIGHT(SHOW_RIGHT),
    [ROW_TYPE] = ATTN_COLUMN_ROW_TYPE,
};

_Static_assert((int)N_COLUMN == (int)ATTN_LENS_N_COLUMN, "columns of the lens");

const struct attn_table_view attn_lens_views[ATTN_LENS_N_VIEW] = {
    /* views of heads: for one text, for many texts */
    {ATTN_VIEW_OF(LAYER, HEAD, LOGIT), .detail = ATTN_ROLE_POSITION, .cells = ATTN_ROLE_TOKEN,
     .traits = ATTN_VIEW_TOKENS},
    {ATTN_VIEW_OF(LAYER, HEAD, LOGIT)},
    /* views of the stream: for one text, for many texts, for a target in many texts */
    {ATTN_VIEW_OF(LAYER, POSITION, PROB), .detail = ATTN_ROLE_SITE, .cells = ATTN_ROLE_TOKEN,
     .traits = ATTN_VIEW_STREAM | ATTN_VIEW_TOKENS},
    {ATTN_VIEW_OF(LAYER, PLACE, PROB), .detail = ATTN_ROLE_SITE, .traits = ATTN_VIEW_STREAM},
    {ATTN_VIEW_OF(LAYER, SITE, PROB), .traits = ATTN_VIEW_STREAM},
};

/* Returns true if all rows have the same position; if TABLE is NULL, true if the request has no
 * queries. */
static bool has_one_position(const struct attn_drawn *drawn)
{
    const struct attn_table *table = drawn->table;
    const size_t position = table ? attn_table_find_role(table, ATTN_ROLE_POSITION) : SIZE_MAX;

    if (!table)
        return drawn->request && !attn_number_list_is_given(&drawn->request->selection.queries);
    for (size_t i = 1; position < SIZE_MAX && i < attn_table_n_row(table); i++)
        if (attn_table_cell(table, i, position).integer !=
            attn_table_cell(table, 0, position).integer)
            return false;
    return true;
}

/* Returns true if the first row of TABLE has no probability, because the model gives scores. */
static bool lacks_probability(const struct attn_table *table)
{
    const size_t prob = attn_table_find(table, attn_lens_columns[PROB].name);

    return prob < SIZE_MAX && attn_table_n_row(table) > 0 &&
           attn_table_cell(table, 0, prob).type == ATTN_VALUE_MISSING;
}

/* Returns the role of the column that names the answers of TABLE; 0 if its rows are not answers. */
static unsigned role_of_answers(const struct attn_table *table)
{
    const size_t token = attn_table_find_role(table, ATTN_ROLE_TOKEN);

    if (!table || token == SIZE_MAX ||
        attn_table_find(table, attn_lens_columns[RANK].name) == SIZE_MAX ||
        attn_table_find_role(table, ATTN_ROLE_PLACE) < SIZE_MAX)
        return 0;
    for (size_t i = 0; i < attn_table_n_row(table); i++)
        if (attn_table_cell(table, i, token).type == ATTN_VALUE_MISSING)
            return ATTN_ROLE_ID; /* not all tokens have texts */
    return ATTN_ROLE_TOKEN;
}

/* Describes the picture. Each item has its own target, and a classifier with a single label needs
 * none. */
void attn_lens_draw(const void *given, struct attn_drawn *drawn)
{
    static const char *const quantities[2][2] = {
        {"probability of the most probable token", "probability of the target"},
        {"logit of the most probable token", "logit of the target"}};
    const struct attn_lens_args *args = given;
    const struct attn_table *table = drawn->table;
    const bool has_items = args->study;
    const bool is_given = args->answer.target || args->answer.target_id;
    const bool has_places = table && attn_table_find_role(table, ATTN_ROLE_PLACE) < SIZE_MAX;
    const bool has_target = is_given || (table ? !has_places : has_items && args->top == 0);
    const bool has_foil = args->answer.foil || args->answer.foil_id;
    const unsigned answers = role_of_answers(table);
    struct attn_table_view *view = &drawn->picture->view;

    drawn->has_answer =
        is_given || (has_items && attn_table_find(table, attn_lens_columns[VALUE].name) < SIZE_MAX);
    drawn->answer.metric = has_foil ? ATTN_ANSWER_LOGIT_DIFF
                           : args->reads_heads || has_places /* with a target: of a life */
                               ? ATTN_ANSWER_LOGIT
                               : ATTN_ANSWER_PROB;
    view->asked = args->reads_heads ? "by what each head adds alone"
                  : args->map       ? "read after each layer through a map"
                                    : "read after each layer";
    view->quantity = has_target && !has_items ? "@" : quantities[args->reads_heads][has_target];
    if (has_foil && !has_items && !has_places)
        view->values = ATTN_TABLE_COLUMN(VALUE);
    else if (table && lacks_probability(table))
        view->values = ATTN_TABLE_COLUMN(LOGIT), drawn->answer.metric = ATTN_ANSWER_LOGIT;
    if (!args->reads_heads && has_target && (args->study || has_one_position(drawn)))
        view->figure = ATTN_FIGURE_CURVE; /* with one number per layer */
    if (answers == 0)
        return;
    view->figure = ATTN_FIGURE_CURVE;
    view->columns = answers;
    view->quantity = "probability of the largest answers";
}

static uint64_t shows_readings(const struct attn_lens_run *lens)
{
    const struct attn_answer_args *asked = &lens->args->answer;
    const bool lists = attn_lens_lists_top(lens), is_mean = lens->is_mean;
    /* an item must have a target, which is checked later */
    const bool has_target =
        lens->frame.item ? !lists : asked->target || asked->target_id || attn_lens_has_first(lens);

    if (attn_lens_has_answers(lens))
        return SHOW_STREAM | SHOW_RANK | SHOW_TOKENS | SHOW_TARGET |
               (attn_lens_reads_mean(lens->frame.config) ? 0 : SHOW_POSITIONS);
    return (lens->args->reads_heads ? SHOW_HEADS : SHOW_STREAM) |
           (attn_lens_has_answers(lens) ? SHOW_TARGET | SHOW_RANK | SHOW_TOKENS : 0) |
           (is_mean || attn_lens_reads_mean(lens->frame.config) ? 0 : SHOW_POSITIONS) |
           (has_target ? SHOW_TARGET
            : is_mean  ? SHOW_LIST
                       : SHOW_LIST | SHOW_TOKENS) |
           (!has_target                             ? 0
            : is_mean || lens->frame.is_one_of_many ? SHOW_MEAN
                                                    : SHOW_RANK) |
           ((asked->foil || asked->foil_id) && !lists ? SHOW_VALUE : 0) |
           (lens->frame.item && !lists ? SHOW_RIGHT : 0);
}

uint64_t attn_lens_shows(const void *state)
{
    const struct attn_lens_run *lens = state;

    return shows_readings(lens) | (lens->args->measures & ATTN_LENS_ENTROPY ? SHOW_ENTROPY : 0) |
           (lens->args->measures & ATTN_LENS_KL ? SHOW_KL : 0);
}

/* Sets ID and TOKEN of ROW. */
static void put_token(const struct attn_lens_run *lens, int32_t id, struct attn_cell row[N_COLUMN])
{
    const struct attn_run *run = lens->frame.run;

    row[ID] = attn_cell_integer(id);
    row[TOKEN] = attn_model_has_labels(attn_asked_model(run))
                     ? attn_cell_string(attn_class_label(attn_asked_model(run), (size_t)id))
                     : attn_cell_token(attn_asked_tokenizer(run), id);
}

enum attn_status attn_lens_append(struct attn_lens_run *lens,
                                  const struct attn_lens_reading *reading, const double *values,
                                  struct attn_error *err)
{
    const size_t top = lens->top, n_vocab = lens->frame.config->n_vocab;
    struct attn_cell row[N_COLUMN] = {
        [SITE] = attn_cell_string(attn_site_name(reading->at.site)),
        [HEAD] = attn_cell_integer(reading->at.head),
        [POSITION] = attn_cell_integer((int64_t)reading->position),
        [ENTROPY] = attn_cell_real(lens->measured[0]),
        [KL] = attn_cell_real(lens->measured[1]),
    };

    attn_location_put(&reading->at, &row[STACK]);
    for (size_t i = 0; i < lens->n_answer; i++) {
        const int32_t id = lens->answers[i];

        put_token(lens, id, row);
        row[RANK] = attn_cell_real(attn_logits_place(lens->logits, n_vocab, id));
        row[PROB] = attn_cell_real(values[i]);
        row[LOGIT] = attn_cell_real((double)lens->logits[id]);
        ATTN_TRY(attn_frame_append(&lens->frame, row, err));
    }
    if (lens->n_answer > 0)
        return ATTN_OK;
    if (lens->answer.has_target) {
        row[RANK] = attn_cell_real(values[ATTN_LENS_RANK]);
        row[MEAN_RANK] = attn_cell_real(values[ATTN_LENS_RANK]);
        row[PROB] = attn_cell_real_or_missing(values[ATTN_LENS_PROB]);
        row[LOGIT] = attn_cell_real(values[ATTN_LENS_LOGIT]);
        row[VALUE] = attn_cell_real(values[ATTN_LENS_DIFFERENCE]);
        if (lens->n_query == 1 || lens->is_whole)
            row[RIGHT] = attn_reply_right(&lens->answer, values[ATTN_LENS_RIGHT]);
        return attn_frame_append(&lens->frame, row, err);
    }
    for (size_t i = 0; i < lens->n_value; i++) {
        const size_t place = i < top ? i : n_vocab - 1 - (i - top);
        const int32_t id = lens->ranked[place].id;

        row[PLACE] = attn_cell_integer(i < top ? (int64_t)i + 1 : -(int64_t)(i - top) - 1);
        put_token(lens, id, row);
        row[PROB] = row[LOGIT] = attn_cell_real(values[i]);
        ATTN_TRY(attn_frame_append(&lens->frame, row, err));
    }
    return ATTN_OK;
}
