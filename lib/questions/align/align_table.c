/* align_table.c - the table of `align`: its columns, rows and pictures. */
#include "align/align_internal.h"

#include "base/buffer.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <string.h>

enum {
    STACK,
    LAYER,
    HEAD,
    METHOD,
    LINE,
    SOURCE_INDEX,
    SOURCE,
    WORD_INDEX,
    WORD,
    WEIGHT,
    COSINE, /* the same column, for hidden states */
    LINKED,
    MARK,
    TS,
    WITHIN,
    MASS,
    CHANCE,
    N = ATTN_ALIGN_SCORES,
    LINKS,
    SURE,
    POSSIBLE,
    PRECISION,
    RECALL,
    AER,
    TOKENS,
    ROW_TYPE,
    N_COLUMN
};

enum {
    SHOW_SCORES = 2,
    SHOW_HEADS = 4,
    SHOW_HIDDEN = 8,
    SHOW_TOKENS = 16,
    SHOW_LINKS = 32,
    SHOW_LINES = 64,
    SHOW_PAIRS = 128,
    SHOW_WEIGHTS = 256,
    SHOW_COSINES = 512,
    SHOW_SOFT = 1024
};

const struct attn_column attn_align_columns[ATTN_ALIGN_N_COLUMN] = {
    [STACK] = ATTN_COLUMN_STACK("stack", .shown = SHOW_SCORES),
    [LAYER] = ATTN_COLUMN_OF(LAYER, "layer", INTEGER, .shown = SHOW_SCORES),
    [HEAD] = ATTN_COLUMN_OF(HEAD, "head", INTEGER, .shown = SHOW_HEADS),
    [METHOD] = ATTN_COLUMN("method", TEXT, .shown = SHOW_HIDDEN,
                           .help = "how links were made from hidden states"),
    [LINE] = ATTN_COLUMN("links", TEXT, .shown = SHOW_LINES,
                         .help = "word of the source - word of the text, from 0: 0-0 1-2"),
    [SOURCE_INDEX] = ATTN_COLUMN("source_index", INTEGER, .shown = SHOW_PAIRS,
                                 .help = "number of the word of the source, from 0"),
    [SOURCE] = ATTN_COLUMN("source", TEXT, .quantity = "source", .shown = SHOW_PAIRS),
    [WORD_INDEX] = ATTN_COLUMN("word_index", INTEGER, .shown = SHOW_PAIRS,
                               .help = "number of the word of the text, from 0"),
    [WORD] = ATTN_COLUMN("word", TEXT, .quantity = "text", .shown = SHOW_PAIRS),
    [WEIGHT] = ATTN_COLUMN_QUANTITY("weight", 6, NULL, SHARE, "weight between words",
                                    .shown = SHOW_WEIGHTS),
    [COSINE] = ATTN_COLUMN_QUANTITY("weight", 6, NULL, SIGNED, "cosine between words",
                                    .shown = SHOW_COSINES),
    [LINKED] =
        ATTN_COLUMN("linked", BOOLEAN, .shown = SHOW_SOFT, .help = "whether they are linked"),
    [MARK] = ATTN_COLUMN("mark", TEXT, .shown = SHOW_SOFT,
                         .help = "S for a sure link of gold, P for a possible one, else empty"),
    [TS] = ATTN_COLUMN_RATE("ts", 6, "share of tokens that look where they should",
                            ATTN_TRAIT_DERIVED, .shown = SHOW_TOKENS),
    [WITHIN] = ATTN_COLUMN_RATE("within", 6, NULL, ATTN_TRAIT_DERIVED, .shown = SHOW_TOKENS,
                                .help = "ts among the keys of the source, 0 to 1"),
    [MASS] =
        ATTN_COLUMN_DERIVED("mass", 6, SHARE, "weight on the linked tokens", .shown = SHOW_TOKENS),
    [CHANCE] = ATTN_COLUMN_DERIVED("chance", 6, SHARE, NULL, .shown = SHOW_TOKENS,
                                   .help = "ts of heads that look anywhere in the source, 0 to 1"),
    [N] = ATTN_COLUMN_OF(COUNT, "n", INTEGER, .traits = ATTN_TRAIT_COUNT, .shown = SHOW_SCORES),
    [LINKS] = ATTN_COLUMN_WITH("n_link", INTEGER, COUNT, .shown = SHOW_LINKS,
                               .help = "number of links, |A|"),
    [SURE] = ATTN_COLUMN_WITH("n_sure", INTEGER, COUNT, .shown = SHOW_LINKS,
                              .help = "number of sure links of gold, |S|"),
    [POSSIBLE] = ATTN_COLUMN_WITH("n_possible", INTEGER, COUNT, .shown = SHOW_LINKS,
                                  .help = "number of sure and possible links of gold, |P|"),
    [PRECISION] = ATTN_COLUMN_RATE("precision", 6, "precision of the links", ATTN_TRAIT_DERIVED,
                                   .shown = SHOW_LINKS),
    [RECALL] = ATTN_COLUMN_RATE("recall", 6, "recall of the links", ATTN_TRAIT_DERIVED,
                                .shown = SHOW_LINKS),
    [AER] =
        ATTN_COLUMN_RATE("aer", 6, "alignment error rate", ATTN_TRAIT_DERIVED, .shown = SHOW_LINKS),
    [TOKENS] = ATTN_COLUMN_WITH("n_token", INTEGER, COUNT, .shown = SHOW_TOKENS,
                                .help = "number of tokens whose word has a sure link"),
    [ROW_TYPE] = ATTN_COLUMN_ROW_TYPE,
};

const struct attn_table_view attn_align_views[ATTN_ALIGN_N_VIEW] = {
    {.rows = ATTN_TABLE_COLUMN(WORD_INDEX),
     .detail = ATTN_TABLE_COLUMN(WORD),
     .columns = ATTN_TABLE_COLUMN(SOURCE_INDEX),
     .texts = ATTN_TABLE_COLUMN(SOURCE),
     .values = ATTN_TABLE_COLUMN(WEIGHT),
     .cells = ATTN_TABLE_COLUMN(MARK),
     .asked = "of text and source"},
    {.rows = ATTN_ROLE_LAYER,
     .columns = ATTN_TABLE_COLUMN(METHOD),
     .values = ATTN_TABLE_COLUMN(RECALL)},
    {ATTN_VIEW_OF(LAYER, HEAD, TS)},
    {ATTN_VIEW_OF(LAYER, HEAD, RECALL)},
};

uint64_t attn_align_shows(const void *state)
{
    const struct attn_align_run *align = state;
    const struct attn_align_args *args = align->args;
    const bool is_hidden = align->kind == ATTN_ALIGN_HIDDEN;

    if (args->evaluates)
        return SHOW_SCORES | (is_hidden ? SHOW_HIDDEN : SHOW_HEADS) |
               (align->kind == ATTN_ALIGN_ATTENTION ? SHOW_TOKENS : SHOW_LINKS);
    return (args->is_soft ? SHOW_SOFT : 0) |
           (args->is_line                                          ? SHOW_LINES
            : is_hidden && align->rule.method != ATTN_LINK_SOFTMAX ? SHOW_PAIRS | SHOW_COSINES
                                                                   : SHOW_PAIRS | SHOW_WEIGHTS);
}

static struct attn_cell cell_of_word(const struct attn_align_side *side, size_t word)
{
    const struct attn_text_word *at = &side->words.items[word];

    return attn_cell_text(side->text + at->begin, at->end - at->begin);
}

/* Appends the links of the item, or all pairs of words. */
static enum attn_status append_links(struct attn_align_run *align, struct attn_error *err)
{
    const size_t n = align->sides[1].words.n, n_cell = align->sides[0].words.n * n;
    struct attn_cell row[N_COLUMN] = {attn_cell_missing()};
    struct attn_buffer line = {0};
    enum attn_status status = ATTN_OK;

    for (size_t i = 0; i < n_cell && status == ATTN_OK; i++) {
        if (!align->links[i] && !align->args->is_soft)
            continue;
        attn_buffer_append_format(&line, "%s%zu-%zu", line.size > 0 ? " " : "", i / n, i % n);
        if (align->args->is_line)
            continue;
        row[SOURCE_INDEX] = attn_cell_integer((int64_t)(i / n));
        row[SOURCE] = cell_of_word(&align->sides[0], i / n);
        row[WORD_INDEX] = attn_cell_integer((int64_t)(i % n));
        row[WORD] = cell_of_word(&align->sides[1], i % n);
        row[WEIGHT] = row[COSINE] = attn_cell_real(align->x[i]);
        row[LINKED] = attn_cell_boolean(align->links[i]);
        row[MARK] = align->gold[i] == ATTN_LINK_SURE       ? attn_cell_text("S", 1)
                    : align->gold[i] == ATTN_LINK_POSSIBLE ? attn_cell_text("P", 1)
                                                           : attn_cell_missing();
        status = attn_frame_append(&align->frame, row, err);
    }
    ATTN_THEN(status, attn_buffer_check(&line, err));
    row[LINE] = attn_cell_text(attn_buffer_string(&line), line.size);
    if (status == ATTN_OK && align->args->is_line)
        status = attn_frame_append(&align->frame, row, err);
    attn_buffer_release(&line);
    return status;
}

static struct attn_cell share_of(double part, double whole)
{
    return whole > 0 ? attn_cell_real(part / whole) : attn_cell_missing();
}

/* Computes the derived columns from sums over items (attn_fold_derive_fn). */
enum attn_status attn_align_derive(const void *args, const struct attn_fold_means *means,
                                   struct attn_error *err)
{
    (void)args;
    (void)err;
    for (size_t i = 0; i < means->n_row && i * ATTN_ALIGN_N_MORE < means->n_more; i++) {
        struct attn_cell *row = means->rows + i * N_COLUMN;
        const double *more = means->more + i * ATTN_ALIGN_N_MORE;
        const double n = (double)row[N].integer, links = (double)row[LINKS].integer;
        const double sure = (double)row[SURE].integer;
        const double hits = round(more[0] * n), hits_sure = round(more[1] * n);

        for (int k = 0; k < ATTN_ALIGN_N_MORE; k++)
            row[TS + k] = attn_cell_real(more[k]);
        row[PRECISION] = share_of(hits, links);
        row[RECALL] = share_of(hits_sure, sure);
        row[AER] = share_of(links + sure - hits - hits_sure, links + sure);
    }
    return ATTN_OK;
}

/* Appends ROW; its derived columns are computed from MORE. */
static enum attn_status append_score(struct attn_align_run *align, struct attn_cell *row,
                                     const double more[ATTN_ALIGN_N_MORE], struct attn_error *err)
{
    const struct attn_fold_means means = {
        .rows = row, .n_row = 1, .more = more, .n_more = ATTN_ALIGN_N_MORE};

    memcpy(align->more + align->n_more, more, ATTN_ALIGN_N_MORE * sizeof *more);
    align->n_more += ATTN_ALIGN_N_MORE;
    row[N] = attn_cell_integer(1);
    ATTN_TRY(attn_align_derive(NULL, &means, err));
    return attn_frame_append(&align->frame, row, err);
}

/* Appends a row with the counts of the current links, for LAYER and HEAD unless they are
 * negative. */
static enum attn_status append_counts(struct attn_align_run *align, int layer, int head,
                                      struct attn_error *err)
{
    const struct attn_location at = attn_align_at(align, (size_t)(layer < 0 ? 0 : layer), head);
    struct attn_cell row[N_COLUMN] = {attn_cell_missing()};
    struct attn_link_counts counts = {0};
    const char *given = align->args->method;
    const char *method = given && strcmp(given, "auto") != 0 ? given : "argmax";

    attn_links_count(align->links, align->gold, align->sides[0].words.n * align->sides[1].words.n,
                     &counts);
    if (layer >= 0)
        attn_location_put(&at, &row[STACK]);
    row[HEAD] = head < 0 ? attn_cell_missing() : attn_cell_integer(head);
    row[METHOD] = attn_cell_text(method, strlen(method));
    if (head < 0 && align->kind == ATTN_ALIGN_CROSS) /* the mean over heads */
        row[ROW_TYPE] = attn_cell_string(ATTN_ROW_TOTAL);
    row[LINKS] = attn_cell_integer((int64_t)counts.links);
    row[SURE] = attn_cell_integer((int64_t)counts.sure);
    row[POSSIBLE] = attn_cell_integer((int64_t)counts.possible);
    return append_score(align, row,
                        (double[ATTN_ALIGN_N_MORE]){(double)counts.hits, (double)counts.hits_sure},
                        err);
}

/* Returns true if the gold has a sure link from source word WORD (or SIZE_MAX) to word WORD_OF of
 * the text. */
static bool is_sure(const struct attn_align_run *align, size_t word, size_t word_of)
{
    return word != SIZE_MAX && word_of != SIZE_MAX &&
           align->gold[word * align->sides[1].words.n + word_of] == ATTN_LINK_SURE;
}

/* Appends what a decoder head looks at, over the tokens that have a sure link. */
static enum attn_status append_looks(struct attn_align_run *align, int layer, int head,
                                     struct attn_error *err)
{
    const struct attn_text_words *source = &align->sides[0].words, *text = &align->sides[1].words;
    const size_t n = attn_asked_n(align->frame.run), before = align->args->is_shifted;
    const struct attn_location at = attn_align_at(align, (size_t)layer, head);
    const float *pattern = attn_capture_head(align->frame.capture, &at);
    struct attn_cell row[N_COLUMN] = {attn_cell_missing()};
    double sums[ATTN_ALIGN_N_MORE] = {0};
    size_t n_token = 0;

    for (size_t t = before; t < n; t++) {
        const float *weights = attn_align_weights(align, pattern, t - before, n);
        size_t best = 0, best_source = SIZE_MAX, n_linked = 0;
        double mass = 0;

        for (size_t i = 0; i < source->n; i++)
            n_linked += is_sure(align, i, text->of[t]);
        if (n_linked == 0)
            continue;
        for (size_t key = 0; key + before <= t; key++) {
            best = weights[key] > weights[best] ? key : best;
            if (source->of[key] == SIZE_MAX)
                continue;
            if (best_source == SIZE_MAX || weights[key] > weights[best_source])
                best_source = key;
            mass += is_sure(align, source->of[key], text->of[t]) ? (double)weights[key] : 0;
        }
        n_token++;
        sums[0] += is_sure(align, source->of[best], text->of[t]);
        sums[1] += best_source != SIZE_MAX && is_sure(align, source->of[best_source], text->of[t]);
        sums[2] += mass;
        sums[3] += source->of[best] == SIZE_MAX ? 0 : (double)n_linked / (double)source->n;
    }
    if (n_token == 0)
        return attn_refuse(err, ATTN_STAGE_INPUT, "no token of its text has a sure link");
    for (int i = 0; i < ATTN_ALIGN_N_MORE; i++)
        sums[i] /= (double)n_token;
    attn_location_put(&at, &row[STACK]);
    row[HEAD] = attn_cell_integer(head);
    row[TOKENS] = attn_cell_integer((int64_t)n_token);
    return append_score(align, row, sums, err);
}

/* Appends the score of the mean over the selected heads of layers FIRST to LAST, or of one HEAD of
 * layer FIRST. */
static enum attn_status append_score_of(struct attn_align_run *align, int first, int last, int head,
                                        struct attn_error *err)
{
    if (align->kind == ATTN_ALIGN_ATTENTION)
        return head < 0 ? ATTN_OK : append_looks(align, first, head, err);
    attn_align_by_heads(align, first, last, head);
    return append_counts(align, first == last ? first : -1, head, err);
}

/* Appends the scores of all heads, of each layer's mean over heads and, if heads of several layers
 * are selected, of the mean over all of them. */
static enum attn_status append_heads(struct attn_align_run *align, struct attn_error *err)
{
    int n_layer = 0;

    for (int layer = align->first; layer <= align->last; layer++) {
        bool has_heads = false;

        for (int head = 0; head < (int)align->frame.config->n_head; head++) {
            const struct attn_location at = attn_align_at(align, (size_t)layer, head);

            if (!attn_align_uses(align, &at))
                continue;
            has_heads = true;
            ATTN_TRY(append_score_of(align, layer, layer, head, err));
        }
        if (has_heads)
            ATTN_TRY(append_score_of(align, layer, layer, -1, err));
        n_layer += has_heads;
    }
    return attn_head_list_is_given(&align->args->heads) && n_layer > 1
               ? append_score_of(align, align->first, align->last, -1, err)
               : ATTN_OK;
}

enum attn_status attn_align_append(struct attn_align_run *align, struct attn_error *err)
{
    const bool evaluates = align->args->evaluates;

    if (evaluates && align->kind != ATTN_ALIGN_HIDDEN)
        return append_heads(align, err);
    if (align->kind != ATTN_ALIGN_HIDDEN)
        attn_align_by_heads(align, align->first, align->last, -1);
    for (int layer = align->first; align->kind == ATTN_ALIGN_HIDDEN && layer <= align->last;
         layer++) {
        if (!align->layers[layer])
            continue;
        ATTN_TRY(attn_align_by_vectors(align, layer, err));
        if (evaluates)
            ATTN_TRY(append_counts(align, layer, -1, err));
    }
    return evaluates ? ATTN_OK : append_links(align, err);
}
