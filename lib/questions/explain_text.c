/* explain_text.c - the arithmetic of one row as text: its input, and a table for each step. */
#include "questions/explain_internal.h"

#include "attention/attend.h"
#include "attention/attention_internal.h"
#include "base/escape.h"
#include "base/fixed_text.h"
#include "base/status_internal.h"
#include "formats/float_text.h"
#include "forward/rotary.h"
#include "input/picture_prompt.h"
#include "tables/document.h"
#include "tables/table_internal.h"
#include "tensors/token_text.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    SHOWN_NUMBERS = 8, /* numbers of a vector in brackets */
    SHOWN_KEYS = 16    /* in addition to the strongest key */
};

struct explaining {
    const struct attn_explained_run *run; /* run of the row */
    const struct attn_explanation *row;
    struct attn_document document;
    struct attn_explained_grid grids[ATTN_N_EXPLAINED_TABLE]; /* own */
    int n_step;                                               /* number of the current step */
};

static ATTN_PRINTF(2, 3) void say(struct explaining *e, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    attn_document_text_list(&e->document, format, arguments);
    va_end(arguments);
}

/* --- Tokens and vectors ----------------------------------------------------------------------- */

/* A formatted vector: "[0.1794 1.8951 0.4954]". */
struct vector_text {
    char text[SHOWN_NUMBERS * 48]; /* a float32 with four digits needs at most 44 bytes */
};

static struct vector_text vector_text(const float *x, size_t n)
{
    struct vector_text vector;
    size_t used = 0;

    attn_fixed_text_append(vector.text, sizeof vector.text, &used, "[");
    for (struct attn_slot s = {.n = n, .limit = SHOWN_NUMBERS, .extra = SIZE_MAX};
         attn_slot_next(&s);) {
        attn_fixed_text_append(vector.text, sizeof vector.text, &used, s.first > 0 ? "  " : "");
        if (s.is_gap)
            attn_fixed_text_append(vector.text, sizeof vector.text, &used, "...");
        else
            attn_fixed_text_append(vector.text, sizeof vector.text, &used, "%.4f",
                                   attn_printed((double)x[s.first]));
    }
    attn_fixed_text_append(vector.text, sizeof vector.text, &used, "]");
    return vector;
}

static void add_title(struct explaining *e)
{
    size_t size;
    const char *token = attn_explained_token(e->run->labels, false, e->row->query, &size);

    if (e->run->config) {
        const char *stack = attn_model_stack_name(e->row->at.stack);

        say(e, "%s%slayer %d, ", stack, stack[0] ? " " : "", e->row->at.layer);
    }
    say(e, "head %d, query %zu%s", e->row->at.head, e->row->query, token ? ": " : "");
    attn_document_escaped(&e->document, token, size);
    say(e, "\n\n");
}

/* --- Origin of q, k and v --------------------------------------------------------------------- */

/* Returns true if attention reads the normalized input of the block. */
static bool has_norm_before(const struct explaining *e)
{
    const struct attn_config *config = e->run->config;
    const bool is_bare = config->begins_without_norm && e->row->at.layer == 0 &&
                         e->row->at.stack != ATTN_STACK_CROSS;

    return config->norm != ATTN_NORM_NONE && !is_bare &&
           (config->norm_place == ATTN_NORM_PRE || config->norm_place == ATTN_NORM_AROUND);
}

/* Adds "norm(x) W_Q + b_Q". */
static void add_projection(struct explaining *e, const char *input, bool is_normed, char letter)
{
    say(e, is_normed ? "norm(%s)" : "%s", input);
    if (e->run->config->has_projections)
        say(e, " W_%c", letter);
    if (e->run->config->has_projections && e->run->config->has_qkv_bias)
        say(e, " + b_%c", letter);
}

static void add_input(struct explaining *e)
{
    const struct attn_config *config = e->run->config;
    const struct attn_explanation *row = e->row;
    const bool is_first = row->at.layer == 0 && row->at.stack != ATTN_STACK_CROSS;
    const unsigned char *region = e->run->labels->region;
    const bool is_cell = region && region[row->query] == ATTN_REGION_PICTURE;

    say(e, "  x = %s", vector_text(row->x, row->dims->d_model).text);
    if (row->at.stack == ATTN_STACK_CROSS)
        say(e, ", what self-attention gives in this layer at this position");
    else if (!is_first)
        say(e, ", what layer %d gives at this position", row->at.layer - 1);
    else
        say(e, config->image.patch_height > 0 || is_cell ? ", the picture at this position"
               : e->run->labels->ids                     ? ", the embedding of the token"
               : config->stack.n_mel > 0 ? ", what the convolutions make of the sound"
                                         : ", as given");
    if (is_first && e->run->labels->ids && !is_cell && config->embed_scale > 0)
        say(e, " times %.4f", config->embed_scale);
    if (is_first && config->positions == ATTN_POSITIONS_LEARNED)
        say(e, config->image.patch_height > 0 ? ", with what was learned of the position"
               : config->stack.n_mel > 0      ? " plus the embedding of its position"
                                              : " plus that of its position");
    if (is_first && config->has_embed_norm)
        say(e, ", normalized");
    say(e, "\n  q = ");
    add_projection(e, "x", has_norm_before(e), 'Q');
    say(e, " = %s\n",
        vector_text(row->rotation.projected ? row->rotation.projected : row->q, row->dims->d_head)
            .text);
}

/* Whether the model numbers positions in another way than from 0 on, as beside a picture. */
static bool has_own_numbers(const struct attn_explanation *row)
{
    return row->rotation.numbers[0] != row->query;
}

/* Whether the position has a row and a column. */
static bool is_of_cell(const struct attn_explanation *row)
{
    return row->rotation.numbers[1] != row->rotation.numbers[0] ||
           row->rotation.numbers[2] != row->rotation.numbers[0];
}

/* Adds the number of the query's position, or its numbers in a picture. */
static void add_position(struct explaining *e, const struct attn_rope *rope)
{
    const size_t *numbers = e->row->rotation.numbers;

    if (!is_of_cell(e->row)) {
        say(e, "%s, %zu", has_own_numbers(e->row) ? " number" : "", numbers[0]);
        return;
    }
    say(e, " numbers, ");
    if (rope->sections[0] > 0)
        say(e, "%zu for the picture, ", numbers[0]);
    say(e, "%zu for the row and %zu for the column", numbers[1], numbers[2]);
}

/* Adds how q is prepared for the product: normalized, and rotated by its position. */
static void add_turning(struct explaining *e)
{
    const struct attn_explanation *row = e->row;
    const bool is_joined = e->run->config->qk_norm == ATTN_QK_NORM_ALL_HEADS;
    const bool is_late = e->run->config->qk_norm_is_late;
    const struct attn_rope *rope = &e->run->config->rope[attn_location_index(&row->at)];
    const double growth = (double)attn_rope_query_factor(rope, row->rotation.numbers[0]);

    if (row->rotation.has_qk_norm && !is_late)
        say(e, "  norm(q) = %s, %s\n", vector_text(row->rotation.normed, row->dims->d_head).text,
            is_joined ? "all heads at once" : "each head by itself");
    if (row->rotation.n_pair == 0) {
        say(e, "  This layer turns no positions.\n");
        return;
    }
    say(e, "  rot_q = %s turned by its position",
        row->rotation.has_qk_norm && !is_late ? "norm(q)" : "q");
    add_position(e, rope);
    if (is_late)
        say(e, ", then normalized, each head by itself");
    if (growth > 1)
        say(e, ", times %.6g", growth);
    say(e, ", = %s\n", vector_text(row->q, row->dims->d_head).text);
    say(e,
        row->rotation.turns_neighbours ? "  Component 2i turns with 2i + 1"
                                       : "  Component i turns with i + %zu",
        row->rotation.n_pair);
    say(e, " by the angle position * f_i, f = %s",
        vector_text(row->rotation.frequencies, row->rotation.n_pair).text);
    if (2 * row->rotation.n_pair < row->dims->d_head)
        say(e, "; components from %zu on stay", 2 * row->rotation.n_pair);
    if (is_of_cell(row))
        say(e, "; the position is the row from i = %zu on, and the column from i = %zu on",
            rope->sections[0], rope->sections[0] + rope->sections[1]);
    say(e, ".\n");
}

static void add_keys_and_values(struct explaining *e)
{
    const struct attn_config *config = e->run->config;
    const struct attn_explanation *row = e->row;
    const size_t n_shared = config->n_head / config->n_kv_head;
    const size_t first = n_shared * (size_t)row->kv_head;
    const bool is_normed = has_norm_before(e) && !row->is_cross;
    const char *input = row->is_cross ? "s_j" : "x_j";

    say(e, "  k_j = ");
    add_projection(e, input, is_normed, 'K');
    say(e, ", v_j = ");
    add_projection(e, input, is_normed, 'V');
    say(e, ", of each %s%s\n", row->is_cross ? "row s_j of the source" : "position j",
        row->is_cross && config->source_positions == ATTN_POSITIONS_LEARNED
            ? ", with that of its position added"
            : "");
    if (e->row->rotation.n_pair > 0)
        say(e, "  rot_k_j = %s turned by %s j%s\n",
            row->rotation.has_qk_norm && !config->qk_norm_is_late ? "norm(k_j)" : "k_j",
            has_own_numbers(row) ? "the numbers of position" : "position",
            config->qk_norm_is_late ? ", then normalized" : "");
    if (n_shared > 1)
        say(e, "  Heads %zu-%zu share these, which are of key/value head %d.\n", first,
            first + n_shared - 1, row->kv_head);
}

/* Adds the step for attention on arrays, in which q is given. */
static void add_arrays(struct explaining *e)
{
    const struct attn_attend_args *arrays = e->run->arrays;
    const size_t n_shared = arrays->n_head / arrays->n_kv_head;

    if (!e->row->q)
        return;
    say(e, "  q = %s\n", vector_text(e->row->q, e->row->dims->d_head).text);
    if (n_shared > 1)
        say(e, "  Keys and values are those of head %d, one for %zu heads of queries.\n",
            e->row->kv_head, n_shared);
}

static void add_visible(struct explaining *e)
{
    const struct attn_explanation *row = e->row;
    char kind[ATTN_ATTENTION_TEXT_SIZE];
    const bool is_causal = row->attention->mask == ATTN_MASK_CAUSAL && !row->is_cross &&
                           row->n_visible == row->query + 1;

    say(e, "  The query may look at ");
    if (row->n_visible == 0)
        say(e, "none of the %zu keys: all weights are 0, and so is z", row->n_key);
    else if (row->n_visible == row->n_key)
        say(e, row->n_key == 1 ? "the one key" : "all %zu keys", row->n_key);
    else
        say(e, "%zu of the %zu keys", row->n_visible, row->n_key);
    if (is_causal)
        say(e, row->query > 0 ? ", itself and those before it" : ", itself");
    if (row->attention->kind != ATTN_ATTENTION_FULL) {
        attn_attention_text(row->attention, kind);
        say(e, ", as %s says", kind);
    }
    say(e, ".\n");
    if (row->is_rounded)
        say(e, "  q, k, v and what v is multiplied by are rounded to bfloat16.\n");
}

/* --- 1. How well each key fits ---------------------------------------------------------------- */

/* Adds a table of the row after an empty line. */
static void add_table(struct explaining *e, enum attn_explained_table which)
{
    const struct attn_explained_grid *grid = &e->grids[which];
    const struct attn_document_view view = {.text = ATTN_TEXT_COLUMNS,
                                            .columns = grid->columns,
                                            .n_column = attn_table_n_column(grid->table),
                                            .indent = which == ATTN_EXPLAINED_LAYER ? 2 : 0,
                                            .has_headings = which != ATTN_EXPLAINED_LAYER};

    say(e, "\n");
    attn_document_table(&e->document, grid->table, &view);
}

static void add_scores(struct explaining *e)
{
    if (!e->grids[ATTN_EXPLAINED_FITS].table)
        return;
    say(e, "\n%d. How well each key fits: its components times those of q, added up", ++e->n_step);
    if (e->row->attention->similarity == ATTN_SIMILARITY_COSINE)
        say(e, ",\n   divided by the lengths of both, |q| = %.4f and |k|: their cosine",
            e->row->q_length);
    say(e, ".\n");
    if (e->row->rotation.n_pair > 0)
        say(e, "   q and k are rot_q and rot_k here.\n");
    if (e->row->dims->d_head > ATTN_EXPLAINED_ITEMS)
        say(e, "   Those between are not shown, only what they add up to.\n");
    add_table(e, ATTN_EXPLAINED_FITS);
}

/* --- 2. The softmax --------------------------------------------------------------------------- */

/* Adds how a score is computed: "score q.k / (sqrt(2) + 0.1) = q.k / 1.5142". */
static void add_scale(struct explaining *e)
{
    const struct attn_explanation *row = e->row;
    const struct attn_attention *attention = row->attention;
    const double cap = attention->score_cap;

    if (!row->q && attention->eps == 0) { /* then d_head is 1 */
        say(e, "   score   as given\n");
        return;
    }
    say(e, "   %s  %s", cap > 0 ? "scaled" : "score ", attn_explanation_fit(row));
    if (attention->factor != 1)
        say(e, " * %.4f", attention->factor);
    if (attention->is_scaled && attention->eps > 0)
        say(e, " / (sqrt(%zu) + %g), the square root of d_head plus eps: %.4f", row->dims->d_head,
            attention->eps, row->divisor);
    else if (attention->is_scaled)
        say(e, " / sqrt(%zu), the square root of d_head: %.4f", row->dims->d_head, row->divisor);
    else if (attention->factor == 1)
        say(e, " as it is, without a scale");
    if (attention->bias)
        say(e, " + bias");
    say(e, "\n");
    if (attention->bias && attention->bias->farthest > 0)
        say(e, "   bias    learned, for the position of the key less that of the query\n");
    else if (attention->bias)
        say(e,
            attention->bias->is_of_key
                ? "   bias    %g * the position of the key, in bfloat16, and scaled (ALiBi)\n"
                : "   bias    %g * (the position of the key - that of the query) (ALiBi)\n",
            (double)attention->bias->slopes[row->at.head]);
    if (cap > 0)
        say(e, "   score   %g * tanh(scaled / %g), which never passes %g\n", cap, cap, cap);
}

static void add_weights(struct explaining *e)
{
    const struct attn_explanation *row = e->row;

    say(e, "\n%d. The weights: a softmax turns scores into shares of 1.\n", ++e->n_step);
    add_scale(e);
    say(e, "   exp     e to the power of score less the largest score, %.4f\n",
        attn_printed((double)row->keys[row->largest].score));
    if (row->attention->masking != ATTN_MASKING_INF) { /* the mask is applied after the softmax */
        say(e, "   share   exp / sum of all exp, %.4f\n", attn_printed(row->exponential_sum));
        say(e, "   weight  0 where the mask hides the key, else share");
        if (row->attention->masking == ATTN_MASKING_RENORMALIZE)
            say(e, " / sum of these, %.4f", attn_printed(row->visible_share));
        say(e, "\n");
    } else {
        say(e, "   weight  exp / sum of all exp, %.4f\n", attn_printed(row->exponential_sum));
    }
    if (row->sink)
        say(e, "   sink    a score of the head that has no key: its weight takes no value\n");
    if (attn_explanation_has_dropout(row))
        say(e, "   kept    0 where the weight is dropped, else weight / (1 - %g)\n",
            row->attention->dropout);
    add_table(e, ATTN_EXPLAINED_WEIGHTS);
}

/* --- 3. The weighted sum ---------------------------------------------------------------------- */

static void add_context(struct explaining *e)
{
    if (!e->grids[ATTN_EXPLAINED_VALUES].table)
        return;
    say(e, "\n%d. The context vector z: each value times its weight w, added up.\n", ++e->n_step);
    add_table(e, ATTN_EXPLAINED_VALUES);
}

/* --- 4. The output of the layer --------------------------------------------------------------- */

static void add_layer(struct explaining *e)
{
    const struct attn_config *config = e->run->config;
    const bool is_normed =
        config && config->norm != ATTN_NORM_NONE &&
        (config->norm_place == ATTN_NORM_POST || config->norm_place == ATTN_NORM_AROUND);

    if (!config || (config->n_head == 1 && !config->has_out_proj))
        return;
    say(e, "\n%d. What the layer gives: the z of all heads side by side%s%s%s%s", ++e->n_step,
        config->has_out_proj ? ", times W_O" : "",
        config->has_out_proj && config->has_out_bias ? ", plus b_O" : "",
        is_normed ? ", normalized" : "", config->has_layer_scale ? ", times the layer scale" : "");
    if (config->residual_scale > 0)
        say(e, ", times %g", config->residual_scale);
    say(e, ".\n");
    if (config->has_residual)
        say(e, "   Added to x%s it is what the block goes on with%s.\n",
            config->has_parallel_residual ? ", with what the MLP makes of x," : "",
            config->norm_place == ATTN_NORM_SUM ? ", normalized" : "");
    if (e->grids[ATTN_EXPLAINED_LAYER].table)
        add_table(e, ATTN_EXPLAINED_LAYER);
}

/* --- The document ----------------------------------------------------------------------------- */

static enum attn_status make_tables(struct explaining *e, struct attn_error *err)
{
    const struct attn_explanation *row = e->row;
    const bool is_shown[ATTN_N_EXPLAINED_TABLE] = {
        [ATTN_EXPLAINED_FITS] = row->n_cell > 0 && row->q,
        [ATTN_EXPLAINED_WEIGHTS] = row->n_cell > 0,
        [ATTN_EXPLAINED_VALUES] = row->n_cell > 0 && row->z,
        [ATTN_EXPLAINED_LAYER] = e->run->config && row->attn_out};

    for (int i = 0; i < ATTN_N_EXPLAINED_TABLE; i++)
        if (is_shown[i])
            ATTN_TRY(attn_explanation_tabulate(row, e->run, (enum attn_explained_table)i,
                                               SHOWN_KEYS, &e->grids[i], err));
    return ATTN_OK;
}

static void fill(struct explaining *e)
{
    add_title(e);
    if (e->run->config) {
        add_input(e);
        if (e->row->rotation.normed)
            add_turning(e);
        add_keys_and_values(e);
    } else {
        add_arrays(e);
    }
    add_visible(e);
    if (e->row->n_cell > 0) {
        add_scores(e);
        add_weights(e);
        add_context(e);
    }
    add_layer(e);
}

enum attn_status attn_explanation_print(const struct attn_explanation *row,
                                        const struct attn_explained_run *run, struct attn_sink *out,
                                        struct attn_error *err)
{
    const struct attn_labels labels = attn_labels_of_stack(run->labels);
    const struct attn_explained_run of_stack = {run->config, run->arrays, &labels};
    struct explaining e = {.run = &of_stack, .row = row};
    enum attn_status status;

    status = make_tables(&e, err);
    if (status == ATTN_OK) {
        fill(&e);
        status = attn_document_write(&e.document, ATTN_FORM_TEXT, out, err);
    }
    attn_document_release(&e.document);
    for (int i = 0; i < ATTN_N_EXPLAINED_TABLE; i++)
        attn_table_free(e.grids[i].table);
    return attn_error_at(status, ATTN_STAGE_OUTPUT, err);
}
