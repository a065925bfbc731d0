/* word_rows.c - a row for each word of a text, or of each of many texts: the sums over its tokens.
 * The tokens come from attn_run_many, which reads a long text in windows, with what a decoder
 * computes for each beside its surprisal. Sums are double and in the order of indices, so they do
 * not depend on threads or on how rows are split into events. */
#include "base/buffer.h"
#include "base/elementary.h"
#include "base/memory.h"
#include "base/pool_internal.h"
#include "base/status_internal.h"
#include "base/text/given.h"
#include "base/text/utf8.h"
#include "frame/questions_internal.h"
#include "frame/text_words.h"
#include "input/talk.h"
#include "kernels/kernels.h"
#include "predict/logits.h"
#include "run/run_pass.h"
#include "score/score_internal.h"
#include "stream/items_internal.h"
#include "stream/token_reader.h"
#include "tensors/token_text.h"
#include "tokenizer/tokenizer_internal.h"
#include "tokenizer/words.h"
#include "towers/prompt/picture_prompt.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- The numbers of a token ------------------------------------------------------------------- */

/*
 * The numbers of a token, in bits. p is the distribution before it, and S are the tokens that begin
 * with white space, and the end of the text.
 *
 *     SPACE           -log2 of the sum of p over S, if the token begins with white space and is
 *                     not the first of the text, else 0
 *     END             the same of the distribution after the last token; other tokens have none
 *     ENTROPY         -sum p log2 p
 *     NAE .. EMD      of its row of weights, the mean over the heads (cmd/manual/words.md)
 *     LENS + l        its surprisal if the stream before layer l is read by the output layer
 */
enum token_number { OF_SPACE, OF_END, OF_ENTROPY, OF_NAE, OF_DNAE, OF_MD, OF_EMD, OF_LENS };

/* What all texts share. Zeroed; release_measures ends it. */
struct token_measures {
    struct attn_token_reader reader; /* what attn_run_many takes; borrows from this struct */
    unsigned which;                  /* bits of enum attn_word_measure */
    const struct attn_model *model;
    const struct attn_tokenizer *tokenizer;
    float *spaces; /* [n_vocab] owns; 1 for the tokens of S, else 0; or NULL */
};

enum { LENS_ROWS = 64 };

/* The reading of one text. */
struct reading {
    const struct token_measures *measures;
    const struct attn_token_text *text;
    /* ATTENTION: the row before of each head [L, H, n], its nae [L, H], the current row [n]; own */
    float *before, *row;
    double *nae, *logs; /* logs [n]: ln i */
    size_t n_head;      /* number of heads that were seen */
    /* LENS: a session that reads rows of the stream, the rows [LENS_ROWS, D], their logits; own */
    struct attn_session *lens;
    float *stream, *logits;
    struct attn_store *store; /* owns all of these arrays */
};

static double *number_of(const struct reading *reading, size_t token, size_t which)
{
    return &reading->text->numbers[token * reading->measures->reader.n_number + which];
}

static bool begins_with_space(const struct attn_tokenizer *tokenizer, int32_t id)
{
    size_t size = 0;
    uint32_t c;
    const char *text = attn_tokenizer_token(tokenizer, id, &size);

    return text && size > 0 && attn_utf8_decode(text, size, &c) > 0 && attn_utf8_is_white_space(c);
}

/* --- The distribution before a token ---------------------------------------------------------- */

struct rows {
    const struct reading *reading;
    const struct attn_trace_event *event;
};

/* Reads row TASK of the logits (attn_task_fn). */
static void read_logits(void *context, size_t task, int worker)
{
    const struct rows *rows = context;
    const struct reading *reading = rows->reading;
    const struct token_measures *measures = reading->measures;
    const struct attn_token_text *text = reading->text;
    const size_t n = rows->event->n_col, at = rows->event->row0 + task + 1;
    const float *logits = rows->event->data + task * rows->event->ld;
    const bool has_space = measures->which & ATTN_WORD_SPACE;
    struct attn_exp_sums sums = {.mask = measures->spaces};
    double total, space;

    (void)worker;
    if (at < text->from)
        return;
    total = attn_kernels_find(ATTN_ISA_BEST)->log_sum_exp(logits, n, &sums);
    space = -attn_log(sums.masked) / M_LN2;
    if (at < text->n) {
        const int32_t id = attn_asked_text(text->run)->ids[at];

        text->surprisal[at] = total - (double)logits[id];
        *number_of(reading, at, OF_ENTROPY) = sums.entropy / M_LN2;
        if (has_space)
            *number_of(reading, at, OF_SPACE) = at != text->first && measures->spaces[id] > 0 &&
                                                        begins_with_space(measures->tokenizer, id)
                                                    ? space
                                                    : 0;
    }
    if (at == text->end && has_space)
        *number_of(reading, at - 1, OF_END) = space;
}

/* Reads rows of the stream before a layer, which the output layer turns into logits. */
static enum attn_status read_stream(struct reading *reading, const struct attn_trace_event *event,
                                    struct attn_error *err)
{
    const struct attn_token_text *text = reading->text;
    const struct attn_config *config = attn_model_config(attn_asked_model(text->run));
    const struct attn_location end = attn_dims_end(attn_asked_dims(text->run));
    const size_t n_vocab = config->n_vocab;

    for (size_t begin = 0, n; begin < event->n_row; begin += n) {
        n = event->n_row - begin < LENS_ROWS ? event->n_row - begin : LENS_ROWS;
        for (size_t i = 0; i < n; i++)
            memcpy(reading->stream + i * event->n_col, event->data + (begin + i) * event->ld,
                   event->n_col * sizeof *reading->stream);
        attn_session_reset(reading->lens);
        ATTN_TRY(attn_session_feed_layer(reading->lens, &end, reading->stream, NULL, n, err));
        for (size_t i = 0; i < n; i++) {
            const size_t at = event->row0 + begin + i + 1;

            if (at >= text->n || at < text->from)
                continue;
            ATTN_TRY(attn_session_logits_at(reading->lens, i, 1, reading->logits, err));
            *number_of(reading, at, OF_LENS + (size_t)event->at.layer) =
                attn_logits_surprisal(reading->logits, n_vocab,
                                      attn_asked_text(text->run)->ids[at]) /
                M_LN2;
        }
    }
    return ATTN_OK;
}

/* --- The weights of a token ------------------------------------------------------------------- */

/* Copies row R of EVENT, which has gaps, to ROW [n_col]. */
static void copy_row(const struct attn_trace_event *event, size_t r, float *row)
{
    const float *data = event->data + r * event->ld;

    memset(row, 0, event->n_col * sizeof *row);
    for (size_t k = 0; k < event->n_kept[r]; k++)
        row[event->keys[r * event->ld + k]] = data[k];
}

/* Adds the numbers of row I of a head: ROW [i + 1] after BEFORE [i], whose entropy is *NAE. LOG is
 * ln i. */
static void add_row(const struct reading *reading, size_t i, double log, const float *row,
                    const float *before, double *nae)
{
    double weight = 0, moved = 0, run = 0, work = 0, entropy = 0;

    for (size_t k = 0; k < i; k++) {
        const double difference = (double)row[k] - (double)before[k];

        weight += (double)row[k];
        run += difference;
        moved += fabs(difference);
        work += fabs(run);
    }
    if (i >= 2 && weight > 0) /* the weights before i, divided by their sum */
        entropy =
            (attn_kernels_find(ATTN_ISA_BEST)->entropy(row, i, NULL) / weight + attn_log(weight)) /
            log;
    *number_of(reading, i, OF_NAE) += entropy;
    if (i > 0) {
        *number_of(reading, i, OF_DNAE) += fabs(entropy - *nae);
        *number_of(reading, i, OF_MD) += moved + (double)row[i];
        *number_of(reading, i, OF_EMD) += work / (double)i;
    }
    *nae = entropy;
}

static void read_pattern(struct reading *reading, const struct attn_trace_event *event)
{
    const size_t n = reading->text->n;
    const size_t head =
        (size_t)event->at.layer * attn_model_config(attn_asked_model(reading->text->run))->n_head +
        (size_t)event->at.head;
    float *last = reading->before + head * n; /* the row before */
    const float *before = last;

    reading->n_head += event->row0 == 0;
    for (size_t r = 0; r < event->n_row; r++) {
        const float *row = event->data + r * event->ld;
        const size_t i = event->row0 + r;

        if (event->keys) {
            copy_row(event, r, reading->row);
            row = reading->row;
        }
        if (i + 1 >= reading->text->from) /* that of token from - 1 is needed for the next */
            add_row(reading, i, reading->logs[i], row, before, &reading->nae[head]);
        before = row;
        if (event->keys || r + 1 == event->n_row)
            before = memcpy(last, row, (i + 1) * sizeof *row);
    }
}

/* --- The reader ------------------------------------------------------------------------------- */

static enum attn_status add(void *state, const struct attn_trace_event *event,
                            struct attn_error *err)
{
    struct reading *reading = state;
    struct rows rows = {reading, event};

    if (event->at.site == ATTN_SITE_LOGITS)
        attn_pool_run(reading->text->pool, event->n_row, read_logits, &rows);
    else if (event->at.site == ATTN_SITE_RESID_PRE)
        return read_stream(reading, event, err);
    else
        read_pattern(reading, event);
    return ATTN_OK;
}

static void end(void *state)
{
    struct reading *reading = state;

    for (size_t i = 0; reading->row && i < reading->text->n; i++)
        for (size_t which = OF_NAE; which <= OF_EMD; which++)
            *number_of(reading, i, which) /= (double)reading->n_head;
    attn_session_free(reading->lens);
    attn_store_release(&reading->store);
    attn_free(reading);
}

static enum attn_status begin_attention(struct reading *reading, struct attn_error *err)
{
    const struct attn_config *config = attn_model_config(attn_asked_model(reading->text->run));
    const size_t n = reading->text->n, n_head = config->n_layer * config->n_head;

    ATTN_TRY(ATTN_STORE_ALLOC(&reading->store, reading->before, attn_size_mul(n_head, n), err));
    ATTN_TRY(ATTN_STORE_ALLOC(&reading->store, reading->nae, n_head, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&reading->store, reading->logs, n, err));
    for (size_t i = 2; i < n; i++)
        reading->logs[i] = attn_log((double)i);
    for (size_t i = 0; i < n; i++)
        for (size_t which = OF_NAE; which <= OF_EMD; which++)
            if (i > 0 || which == OF_NAE)
                *number_of(reading, i, which) = 0;
    return ATTN_STORE_ALLOC(&reading->store, reading->row, n, err);
}

static enum attn_status begin_lens(struct reading *reading, struct attn_error *err)
{
    const struct attn_config *config = attn_model_config(attn_asked_model(reading->text->run));
    struct attn_pass pass = attn_run_pass(reading->text->run);

    ATTN_TRY(ATTN_STORE_ALLOC(&reading->store, reading->stream, (size_t)LENS_ROWS * config->d_model,
                              err));
    ATTN_TRY(ATTN_STORE_ALLOC(&reading->store, reading->logits, config->n_vocab, err));
    pass.options.has_logits = true;
    pass.options.n_max = LENS_ROWS;
    pass.options.pool = NULL;
    return attn_pass_start(&pass, &reading->lens, err);
}

static enum attn_status begin(void *user, const struct attn_token_text *text, void **state,
                              struct attn_error *err)
{
    const struct token_measures *measures = user;
    struct reading *reading;
    enum attn_status status = ATTN_OK;

    ATTN_TRY(ATTN_ALLOC(reading, 1, err));
    reading->measures = measures;
    reading->text = text;
    if (text->first < text->n && measures->which & ATTN_WORD_SPACE)
        *number_of(reading, text->first, OF_SPACE) = 0;
    if (measures->which & ATTN_WORD_ATTENTION)
        status = begin_attention(reading, err);
    if (status == ATTN_OK && measures->which & ATTN_WORD_LENS)
        status = begin_lens(reading, err);
    ATTN_RETURN_MADE(status, state, reading, end);
}

/* Marks S. */
static enum attn_status find_spaces(struct token_measures *measures, struct attn_error *err)
{
    const struct attn_config *config = attn_model_config(measures->model);

    ATTN_TRY(ATTN_ALLOC(measures->spaces, config->n_vocab, err));
    for (size_t id = 0; id < config->n_vocab; id++)
        measures->spaces[id] = (config->n_end_id > 0 && config->end_ids[0] == (int64_t)id) ||
                               begins_with_space(measures->tokenizer, (int32_t)id);
    return ATTN_OK;
}

/* Initializes MEASURES for texts of the model of HOST. */
static enum attn_status begin_measures(struct token_measures *measures, struct attn_host *host,
                                       const struct attn_tokenizer *tokenizer, unsigned which,
                                       struct attn_error *err)
{
    const struct attn_model *model = attn_host_model(host);
    const struct attn_config *config = attn_model_config(model);
    struct attn_site_set sites = {0};

    measures->which = which;
    measures->model = model;
    measures->tokenizer = tokenizer;
    if (which & (ATTN_WORD_SPACE | ATTN_WORD_ENTROPY))
        attn_sites_add(&sites, ATTN_SITE_LOGITS);
    if (which & ATTN_WORD_LENS)
        attn_sites_add(&sites, ATTN_SITE_RESID_PRE);
    if (which & ATTN_WORD_ATTENTION)
        attn_sites_add(&sites, ATTN_SITE_PATTERN);
    measures->reader = (struct attn_token_reader){
        .sites = sites,
        .n_number = OF_LENS + (which & ATTN_WORD_LENS ? config->n_layer : 0),
        .begin = begin,
        .add = add,
        .end = end,
        .user = measures};
    return attn_sites_have(sites, ATTN_SITE_LOGITS) ? find_spaces(measures, err) : ATTN_OK;
}

static void release_measures(struct token_measures *measures)
{
    attn_free(measures->spaces);
}

/* --- Words ------------------------------------------------------------------------------------ */

enum {
    POSITION,
    WORD,
    NATS,
    BITS,
    TOKENS,
    SPACE_BEFORE,
    SPACE_AFTER,
    BITS_TRAILING,
    ENTROPY,
    NAE, /* the columns of the lens stand before it */
    DNAE,
    MD,
    EMD,
    ROW_TYPE,
    N_COLUMN
};

/* The other columns are shown by the bits of their measures. */
enum { SHOW_WORD = 32 };

#define SURPRISAL_COLUMN(name, ...)                                                                \
    ATTN_COLUMN_QUANTITY(name, 4, name, POSITIVE, "surprisal", .traits = ATTN_TRAIT_SURPRISAL,     \
                         __VA_ARGS__)

static const struct attn_column columns[N_COLUMN] = {
    [POSITION] = ATTN_COLUMN_OF(POSITION, "word_index", INTEGER,
                                .help = "number of the word in its text, from 0"),
    [WORD] = ATTN_COLUMN_OF(TOKEN, "word", TEXT, .shown = SHOW_WORD | ATTN_SHOWN_ALONE,
                            .help = "the word"),
    [NATS] = SURPRISAL_COLUMN("nats", .shown = 0),
    [BITS] = SURPRISAL_COLUMN("bits", .shown = 0),
    [TOKENS] = ATTN_COLUMN_WITH("n_token", INTEGER, COUNT, .help = "number of tokens of the word"),
    [SPACE_BEFORE] = ATTN_COLUMN_REAL("space_before", 4, "bits", POSITIVE, .shown = ATTN_WORD_SPACE,
                                      .help = "surprisal of the white space before it; 0 without"),
    [SPACE_AFTER] = ATTN_COLUMN_REAL("space_after", 4, "bits", POSITIVE, .shown = ATTN_WORD_SPACE,
                                     .help = "surprisal of white space or the end after it"),
    [BITS_TRAILING] = ATTN_COLUMN_REAL(
        "bits_trailing", 4, "bits", POSITIVE, .shown = ATTN_WORD_SPACE,
        .help = "bits - space_before + space_after: a word pays for the space after it"),
    [ENTROPY] = ATTN_COLUMN_REAL("entropy_bits", 4, "bits", POSITIVE, .shown = ATTN_WORD_ENTROPY,
                                 .help = "-sum p log2 p before its first token, from 0"),
    [NAE] = ATTN_COLUMN_REAL("nae", 4, NULL, POSITIVE, .shown = ATTN_WORD_ATTENTION,
                             .help = "normalized entropy of weights on earlier tokens, a sum"),
    [DNAE] = ATTN_COLUMN_REAL("dnae", 4, NULL, POSITIVE, .shown = ATTN_WORD_ATTENTION,
                              .help = "|nae - nae of the token before|, summed over its tokens"),
    [MD] = ATTN_COLUMN_REAL("md", 4, NULL, POSITIVE, .shown = ATTN_WORD_ATTENTION,
                            .help = "sum of |weight - weight of the row before|, from 0"),
    [EMD] = ATTN_COLUMN_REAL("emd", 4, NULL, POSITIVE, .shown = ATTN_WORD_ATTENTION,
                             .help = "earth mover's distance of the rows of md, keys from 0 to 1"),
    [ROW_TYPE] = ATTN_COLUMN_ROW_TYPE,
};

struct word_scoring {
    struct attn_frame frame;
    const struct attn_score_args *args;
    const struct attn_tokenizer *tokenizer; /* or NULL */
    const struct attn_item *first;          /* the first item; or NULL */
    bool has_noted;                         /* the note about the first word was sent */
    size_t n_lens;                          /* number of columns of the lens */
    struct token_measures measures;         /* owns */
    struct attn_buffer text;      /* owns; the current one; what belongs to no word is blank */
    struct attn_text_words words; /* owns; its words */
};

/* --- The words of a text ---------------------------------------------------------------------- */

/* Whether token I of TEXT belongs to no word: the tokenizer or a template added it, or it is not
 * asked for. ANSWER is the first token of the answer with which a conversation ends, or 0. */
static bool is_left_out(const struct word_scoring *scoring, const struct attn_sequence *text,
                        size_t answer, size_t i)
{
    const bool is_chat = answer > 0 || !text->encoding.n;

    return i < answer || !attn_picture_prompt_is_scored(text, i) ||
           (text->encoding.n && text->encoding.texts[i] == ATTN_TEXT_NONE) ||
           (is_chat && scoring->tokenizer &&
            attn_tokenizer_is_special(scoring->tokenizer, text->ids[i]));
}

/* Makes the text of tokens whose own text is not known, or is two texts. PLACES [2, n] receives
 * where each token begins, and where each ends. */
static void join_tokens(struct word_scoring *scoring, const struct attn_sequence *text,
                        size_t *places)
{
    const char *piece = attn_words_piece(scoring->tokenizer);
    const bool is_spaced = piece || attn_tokenizer_kind(scoring->tokenizer) == ATTN_TOKENIZER_WORD;

    for (size_t i = 0; i < text->n; i++) {
        const size_t n = text->tokens.sizes[i];
        const size_t n_piece = piece ? attn_word_piece_size(text->tokens.bytes[i], n, piece) : 0;

        if (is_spaced && n_piece == 0 && i > 0)
            attn_buffer_append_char(&scoring->text, ' ');
        places[i] = scoring->text.size;
        attn_buffer_append(&scoring->text, text->tokens.bytes[i] + n_piece, n - n_piece);
        places[text->n + i] = scoring->text.size;
    }
}

/* Finds the words of the text of RESULT, whose tokens lie at the offsets of ENCODING. */
static enum attn_status find_words(struct word_scoring *scoring,
                                   const struct attn_item_result *result,
                                   const struct attn_encoding *encoding, struct attn_error *err)
{
    const struct attn_sequence *text = result->text;
    const size_t answer = attn_score_first(result);
    struct attn_buffer *made = &scoring->text;

    ATTN_TRY(attn_buffer_check(made, err));
    for (size_t i = 0; i < text->n; i++)
        if (is_left_out(scoring, text, answer, i) && encoding->end[i] <= made->size)
            memset(made->data + encoding->begin[i], ' ', encoding->end[i] - encoding->begin[i]);
    attn_text_words_release(&scoring->words);
    ATTN_TRY(
        attn_text_words_split(made->data, made->size, &result->item->words, &scoring->words, err));
    ATTN_TRY(attn_text_words_assign(encoding, made->data, made->size, 0, &scoring->words, err));
    for (size_t i = 0; i < text->n; i++)
        if (is_left_out(scoring, text, answer, i))
            scoring->words.of[i] = SIZE_MAX;
    return ATTN_OK;
}

/* Reads the text of RESULT, and finds its words. */
static enum attn_status read_words(struct word_scoring *scoring,
                                   const struct attn_item_result *result, struct attn_error *err)
{
    const struct attn_sequence *text = result->text;
    struct attn_encoding joined = {.n = text->n};
    size_t *places;
    enum attn_status status;

    attn_buffer_reset(&scoring->text);
    if (text->encoding.n == text->n && !text->input->pair) {
        attn_buffer_append(&scoring->text, text->input->text, text->input->n_text);
        return find_words(scoring, result, &text->encoding, err);
    }
    ATTN_TRY(ATTN_NEW(places, attn_alloc(attn_size_mul(2, text->n), sizeof *places, err)));
    joined.begin = places;
    joined.end = places + text->n;
    join_tokens(scoring, text, places);
    status = find_words(scoring, result, &joined, err);
    attn_free(places);
    return status;
}

/* --- The rows --------------------------------------------------------------------------------- */

/* Returns the sum of the number WHICH over the tokens BEGIN .. END-1. */
static double sum_of(const struct attn_item_result *result, size_t n_number, size_t begin,
                     size_t end, size_t which)
{
    double sum = 0;

    for (size_t i = begin; i < end; i++)
        sum += result->numbers[i * n_number + which];
    return sum;
}

/* Fills ROW with the measures of the tokens BEGIN .. END-1 of a word with BITS. */
static void fill_measures(const struct word_scoring *scoring, const struct attn_item_result *result,
                          size_t begin, size_t end, double bits, struct attn_cell *row)
{
    const size_t n_number = scoring->measures.reader.n_number, n_lens = scoring->n_lens;
    const double *first = result->numbers + begin * n_number;
    const double *last = result->numbers + (end - 1) * n_number;
    const size_t text_end = result->n_token - result->text->encoding.n_back;
    const double after = end < text_end ? last[n_number + OF_SPACE] : last[OF_END];

    row[SPACE_BEFORE] = attn_cell_real_or_missing(first[OF_SPACE]);
    row[SPACE_AFTER] = attn_cell_real_or_missing(after);
    row[BITS_TRAILING] = attn_cell_real_or_missing(bits - first[OF_SPACE] + after);
    row[ENTROPY] = attn_cell_real_or_missing(first[OF_ENTROPY]);
    for (size_t i = 0; i + 1 < n_lens; i++)
        row[NAE + i] = attn_cell_real_or_missing(sum_of(result, n_number, begin, end, OF_LENS + i));
    for (size_t i = 0; i <= OF_EMD - OF_NAE; i++)
        row[NAE + n_lens + i] =
            attn_cell_real_or_missing(sum_of(result, n_number, begin, end, OF_NAE + i));
    if (n_lens > 0)
        row[NAE + n_lens - 1] = attn_cell_real_or_missing(bits);
}

/* Appends the row of word NUMBER, the tokens BEGIN .. END-1, to ROWS. */
static enum attn_status append_word(struct word_scoring *scoring,
                                    const struct attn_item_result *result, size_t begin, size_t end,
                                    const struct attn_rows *rows, struct attn_error *err)
{
    const size_t number = scoring->words.of[begin];
    const struct attn_text_word *word = &scoring->words.items[number];
    struct attn_cell row[ATTN_MOST_COLUMNS] = {attn_cell_missing()};
    double nats = 0;

    for (size_t i = begin; i < end; i++)
        nats += result->surprisal[i];
    row[POSITION] = attn_cell_integer((int64_t)number);
    row[WORD] = attn_cell_text(scoring->text.data + word->begin, word->end - word->begin);
    row[NATS] = attn_cell_real_or_missing(nats);
    row[BITS] = attn_cell_real_or_missing(nats / M_LN2);
    row[TOKENS] = attn_cell_integer((int64_t)(end - begin));
    if (result->numbers)
        fill_measures(scoring, result, begin, end, nats / M_LN2, row);
    return attn_rows_append(rows, row, err);
}

static enum attn_status append_words(struct word_scoring *scoring,
                                     const struct attn_item_result *result,
                                     const struct attn_rows *rows, struct attn_error *err)
{
    struct attn_score_sum *sum = scoring->frame.sum;
    const size_t *of = scoring->words.of;

    for (size_t begin = 0, end; begin < result->n_token; begin = end) {
        end = begin + 1;
        while (end < result->n_token && of[end] == of[begin])
            end++;
        if (of[begin] != SIZE_MAX)
            ATTN_TRY(append_word(scoring, result, begin, end, rows, err));
    }
    for (size_t i = 0; i < result->n_token; i++)
        if (!isnan(result->surprisal[i]) && of[i] != SIZE_MAX) {
            sum->n_token++;
            sum->nats += result->surprisal[i];
        }
    return ATTN_OK;
}

/* Notes once that the first word of a text of a decoder has no score. */
static void note_first(struct word_scoring *scoring, const struct attn_item_result *result)
{
    const struct attn_request *request = &scoring->frame.request;

    if (scoring->has_noted || scoring->frame.config->is_encoder ||
        request->reading.special_tokens > ATTN_SPECIAL_TOKENS_ON || result->text->encoding.n == 0 ||
        result->text->encoding.n_front > 0)
        return;
    scoring->has_noted = true;
    attn_note(request->on_note, request->user, ATTN_NOTE_NO_SCORE, ATTN_NO_FIRST_SCORE,
              "the first word of a text");
}

/* Appends the rows of a text (attn_answer_fn). */
static enum attn_status find_rows(void *user, struct attn_item_result *result,
                                  struct attn_error *err)
{
    struct word_scoring *scoring = user;
    struct attn_rows rows = scoring->frame.rows;

    if (result->item->answer.target || result->item->answer.target_id)
        return attn_error_set(err, ATTN_INVALID, "it has a target, and words have none");
    if (scoring->frame.stream)
        ATTN_TRY(attn_rows_begin(&rows, attn_score_words.table.name, &result->answer.rows, err));
    ATTN_TRY(read_words(scoring, result, err));
    note_first(scoring, result);
    return append_words(scoring, result, &rows, err);
}

/* --- The procedure ---------------------------------------------------------------------------- */

/* Refuses what `measures` and words are not about. */
static enum attn_status check_first(const struct word_scoring *scoring, struct attn_error *err)
{
    const struct attn_item *first = scoring->first;
    const struct attn_request *request = &scoring->frame.request;
    const char *what = !first                                            ? NULL
                       : first->pair != ATTN_ITEM_SINGLE                 ? "a pair of texts"
                       : first->answer.target || first->answer.target_id ? "a target"
                                                                         : NULL;

    if (what)
        return attn_error_set(err, ATTN_INVALID,
                              "`by word` with `measures` is of whole texts, and the items have %s",
                              what);
    if (!scoring->tokenizer)
        return attn_error_set(err, ATTN_INVALID,
                              "words need the text of tokens, and these tokens have none");
    if (scoring->frame.request.selection.heads && !(scoring->args->measures & ATTN_WORD_ATTENTION))
        return attn_error_set(err, ATTN_INVALID,
                              "`heads` are of the measure attention, and `measures` lacks it");
    if ((scoring->args->measures & ~(unsigned)ATTN_WORD_SURPRISAL) == 0)
        return ATTN_OK;
    if (scoring->frame.config->is_encoder)
        return attn_error_set(
            err, ATTN_INVALID,
            "`measures` but surprisal are measures of causal models, and '%s' is "
            "an encoder",
            attn_quote_string(attn_model_name(attn_host_model(scoring->frame.host))).text);
    what = attn_chat_is_wanted(&request->chat) || (first && first->messages)       ? "conversation"
           : attn_input_is_picture(&request->input) || (first && first->images[0]) ? "picture"
                                                                                   : NULL;
    if (what)
        return attn_error_set(err, ATTN_INVALID,
                              "`measures` but surprisal are of a text, and this is a %s", what);
    return ATTN_OK;
}

/* Chooses the heads of `attention`: those of the request, else those of the last layer. */
static void choose_heads(struct word_scoring *scoring, const char *heads)
{
    struct attn_frame *frame = &scoring->frame;
    char *last;

    frame->request.selection.heads = heads;
    if (heads || !(scoring->args->measures & ATTN_WORD_ATTENTION))
        return;
    last = attn_frame_alloc(frame, 24, 1);
    if (last)
        snprintf(last, 24, "%zu.*", frame->config->n_layer - 1);
    frame->request.selection.heads = last;
    attn_note(frame->request.on_note, frame->request.user, ATTN_NOTE_HEADS,
              "attention is that of the heads of the last layer; `heads` names others");
}

static enum attn_status prepare(void *state, struct attn_error *err)
{
    struct word_scoring *scoring = state;
    struct attn_frame *frame = &scoring->frame;
    const char *heads = frame->request.selection.heads;

    scoring->args = frame->args;
    ATTN_TRY(attn_score_prepare(frame, &scoring->tokenizer, err));
    if (frame->stream)
        ATTN_TRY(attn_stream_first(frame->stream, &scoring->first, err));
    if (scoring->args->measures & ATTN_WORD_LENS)
        scoring->n_lens = frame->config->n_layer + 1;
    ATTN_TRY(attn_error_at(check_first(scoring, err), ATTN_STAGE_OPTIONS, err));
    attn_question_choose_nothing(&frame->request);
    choose_heads(scoring, heads);
    ATTN_TRY(attn_frame_memory(frame, err));
    return begin_measures(&scoring->measures, frame->host, scoring->tokenizer,
                          scoring->args->measures, err);
}

static uint64_t shows(const void *state)
{
    const struct word_scoring *scoring = state;
    const struct attn_study_args *study = scoring->args->study;
    size_t n_label;
    const char *const *labels = attn_items_labels(study ? study->items : NULL, &n_label);
    bool has_word = false;

    for (size_t i = 0; i < n_label; i++)
        has_word = has_word || strcmp(labels[i], columns[WORD].name) == 0;
    return (has_word ? 0 : SHOW_WORD) | (scoring->args->measures & ~(unsigned)ATTN_WORD_SURPRISAL);
}

static enum attn_status ask(void *state, struct attn_error *err)
{
    struct word_scoring *scoring = state;
    struct attn_frame *frame = &scoring->frame;
    const bool has_more = scoring->args->measures & ~(unsigned)ATTN_WORD_SURPRISAL;
    const struct attn_many_options options = {.size = sizeof options,
                                              .request = &frame->request,
                                              .has_surprisal = true,
                                              .stride = scoring->args->stride,
                                              .tokens =
                                                  has_more ? &scoring->measures.reader : NULL};
    const struct attn_item_calls calls = {.find = find_rows, .user = scoring};

    return frame->stream ? attn_stream_run(frame->stream, frame->host, &options, &calls, err)
                         : attn_score_only(frame, options.tokens, find_rows, err);
}

static void release(void *state)
{
    struct word_scoring *scoring = state;

    attn_text_words_release(&scoring->words);
    attn_buffer_release(&scoring->text);
    release_measures(&scoring->measures);
}

static const struct attn_table_view views[] = {
    {ATTN_VIEW_OF(POSITION, POSITION, BITS), .texts = ATTN_ROLE_TOKEN, .asked = "of each word"},
};

/* Performs CALL with columns for the layers of the model, if the lens is asked for, and over items
 * without a table. */
static enum attn_status perform(const struct attn_procedure_call *call, struct attn_error *err)
{
    struct attn_score_args args = ATTN_SCORE_ARGS_DEFAULT;
    struct attn_column own[ATTN_MOST_COLUMNS];
    char names[ATTN_MOST_COLUMNS][32];
    struct attn_procedure procedure = attn_score_words;
    const struct attn_model *model = call->host ? attn_host_model(call->host) : NULL;
    size_t n = 0;

    (void)attn_options_read(call->given, &args, NULL); /* a failure is reported by the procedure */
    procedure.items.is_listed = procedure.items.is_ragged = args.study;
    if (model && args.measures & ATTN_WORD_LENS)
        n = attn_model_config(model)->n_layer + 1;
    if (n + N_COLUMN > ATTN_MOST_COLUMNS)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "the measure lens has a column for each of %zu layers, expected at most "
                           "%d",
                           n - 1, ATTN_MOST_COLUMNS - N_COLUMN - 1);
    memcpy(own, columns, NAE * sizeof *own);
    memcpy(own + NAE + n, columns + NAE, (N_COLUMN - NAE) * sizeof *own);
    for (size_t l = 0; l < n; l++) {
        snprintf(names[l], sizeof names[l], "bits_l%zu", l);
        own[NAE + l] = columns[ENTROPY];
        own[NAE + l].name = names[l];
        own[NAE + l].shown = ATTN_WORD_LENS;
    }
    procedure.table.columns = own;
    procedure.table.n_column = N_COLUMN + n;
    return attn_procedure_perform(&procedure, call, err);
}

const struct attn_procedure attn_score_words = {
    .table.name = ATTN_TABLE_SCORE_BY_WORD,
    ATTN_SCORE(struct word_scoring),
    ATTN_PROCEDURE_TABLE(columns, views),
    .check = attn_score_check,
    .prepare = prepare,
    .shows = shows,
    .ask = ask,
    .perform = perform,
    .release = release,
};
