/*
 * unigram.c - SentencePiece's unigram model.
 *
 * In one pass from left to right, `nodes` stores the best path to each place where a token may end
 * (Viterbi). Tokens are looked up by their keys, up to the longest.
 */
#include "tokenizer/models/models_internal.h"

#include "base/memory.h"
#include "base/text/number.h"
#include "base/text/utf8.h"
#include "tokenizer/tokenizer_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CANCEL_INTERVAL = 1 << 12 }; /* number of characters: some milliseconds */

static const double unk_penalty = 10;

/* The best path to a place in the piece: its last token. */
struct node {
    double score;
    size_t begin; /* where the token begins; NOWHERE: the place is not reachable */
    size_t next;  /* where the token that begins here ends, on the best path through the piece */
    int32_t id;
};

#define NOWHERE SIZE_MAX

void attn_unigram_model_finish(struct attn_unigram_model *model)
{
    const struct attn_vocabulary *vocabulary = model->vocabulary;
    const struct attn_vocabulary *ids = model->ids ? model->ids : vocabulary;
    double least = (double)INFINITY;

    for (size_t i = 0; i < model->n; i++)
        least = model->scores[i] < least ? model->scores[i] : least;
    for (size_t i = 0; i < vocabulary->n; i++) /* .spm files have fewer pieces than ids */
        if (vocabulary->entries[i].size > model->n_longest)
            model->n_longest = vocabulary->entries[i].size;
    model->unk_score = least - unk_penalty;
    for (unsigned byte = 0; byte < 256; byte++) {
        char key[8];

        snprintf(key, sizeof key, "<0x%02X>", byte);
        model->fallback_ids[byte] = attn_vocabulary_find_own(ids, model->is_foreign, key, 6);
    }
}

void attn_unigram_model_release(struct attn_unigram_model *model)
{
    attn_free(model->scores);
    *model = (struct attn_unigram_model){0};
}

/* --- Scores ----------------------------------------------------------------------------------- */

/* Returns 10 to the power N, for N in 0 to 308. */
static double power_of_ten(int n)
{
    static const double exact[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    char text[8];
    double power = 0;

    if ((size_t)n < sizeof exact / sizeof *exact)
        return exact[n];
    snprintf(text, sizeof text, "1e%d", n);
    (void)attn_parse_double(text, strlen(text), &power);
    return power;
}

/* Returns SIGNIFICAND times 10 to the power EXPONENT, rounded as often as serde_json does. */
static double scale(uint64_t significand, int64_t exponent)
{
    double value = (double)significand;

    for (; exponent < -308 && value != 0; exponent += 308)
        value /= 1e308;
    if (value == 0)
        return 0;
    if (exponent > 308)
        return (double)INFINITY;
    return exponent >= 0 ? value * power_of_ten((int)exponent)
                         : value / power_of_ten((int)-exponent);
}

bool attn_unigram_parse_score(const char *text, size_t size, double *score)
{
    const bool is_negative = size > 0 && *text == '-';
    bool is_fraction = false, is_full = false;
    uint64_t significand = 0;
    int64_t exponent = 0, written = 0;
    size_t i = is_negative;

    for (; i < size && text[i] != 'e' && text[i] != 'E'; i++) {
        const unsigned digit = (unsigned)(text[i] - '0');

        is_fraction = is_fraction || text[i] == '.';
        if (text[i] == '.')
            continue;
        /* Further digits are ignored. */
        is_full = is_full || significand > (UINT64_MAX - digit) / 10;
        if (!is_full)
            significand = significand * 10 + digit;
        exponent += is_full && !is_fraction ? 1 : !is_full && is_fraction ? -1 : 0;
    }
    i += i < size;
    i += i < size && text[i] == '+';
    if (i < size && !attn_parse_int(text + i, size - i, -100000, 100000, &written))
        written = text[i] == '-' ? -100000 : 100000;
    *score = scale(significand, exponent + written);
    if (is_negative)
        *score = -*score;
    return isfinite(*score);
}

/* --- The best path ---------------------------------------------------------------------------- */

/* Stores the path to END through token ID from BEGIN, if it is better than the one there. */
static void store_if_better(const struct attn_unigram_model *model, struct node *nodes,
                            size_t begin, size_t end, int32_t id, double score)
{
    struct node *node = &nodes[end];

    score += nodes[begin].score;
    if (model->ids) /* SentencePiece's sums are float32 */
        score = (double)(float)score;
    if (node->begin != NOWHERE && !(score > node->score))
        return;
    node->score = score;
    node->begin = begin;
    node->id = id;
}

static size_t character_size(const char *text, size_t size)
{
    uint32_t code_point;
    const size_t length = attn_utf8_decode(text, size, &code_point);

    return length > 0 ? length : 1;
}

/* Tries all tokens that begin at AT of PIECE. */
static enum attn_status add_edges(struct attn_lookup *lookup, const char *piece, size_t size,
                                  size_t at, struct attn_error *err)
{
    const struct attn_unigram_model *model = lookup->model;
    struct node *nodes = lookup->memory;
    const size_t first = character_size(piece + at, size - at);
    bool has_first = false;

    for (size_t end = at + first; end - at <= model->n_longest;
         end += character_size(piece + end, size - end)) {
        const int32_t id =
            attn_vocabulary_find_own(model->vocabulary, model->is_foreign, piece + at, end - at);

        if (end - at > lookup->budget)
            return attn_error_set(err, ATTN_UNSUPPORTED,
                                  "the tokenizer takes too long to find the tokens of the text");
        lookup->budget -= end - at;
        if (id >= 0) {
            store_if_better(model, nodes, at, end, id, model->scores[id]);
            has_first = has_first || end - at == first;
        }
        if (end == size)
            break;
    }
    if (!has_first)
        store_if_better(model, nodes, at, at + first, model->unk_id, model->unk_score);
    if (nodes[at + first].id < 0)
        return attn_error_set(err, ATTN_INVALID,
                              "the vocabulary has no token for '%s', and no unknown token",
                              attn_quote(piece + at, first).text);
    return ATTN_OK;
}

static enum attn_status find_best_path(struct attn_walk *walk, struct attn_lookup *lookup,
                                       const char *piece, size_t size, struct attn_error *err)
{
    struct node *nodes;
    size_t n_passed = 0;

    ATTN_TRY(attn_grow(&lookup->memory, &lookup->n_memory, size + 1, sizeof *nodes, err));
    nodes = lookup->memory;
    for (size_t i = 0; i <= size; i++)
        nodes[i] = (struct node){.begin = NOWHERE};
    for (size_t at = 0; at < size; at += character_size(piece + at, size - at)) {
        if (n_passed++ % CANCEL_INTERVAL == 0 && walk->options->cancel && *walk->options->cancel)
            return attn_error_set(err, ATTN_CANCELED, "canceled");
        ATTN_TRY(add_edges(lookup, piece, size, at, err));
    }
    for (size_t end = size; end > 0; end = nodes[end].begin)
        nodes[nodes[end].begin].next = end;
    return ATTN_OK;
}

/* --- The stage -------------------------------------------------------------------------------- */

/* Appends tokens for the bytes of SLICE, which are unknown: the token with exactly this text, else
 * the tokens of the bytes (in SentencePiece even if some of these are unknown), else the unknown
 * token. */
static enum attn_status push_unknown(struct attn_walk *walk, const struct attn_unigram_model *model,
                                     struct attn_slice slice, struct attn_error *err)
{
    const unsigned char *text = (const unsigned char *)attn_slice_text(slice);
    const size_t size = attn_slice_size(slice);
    const int32_t id = attn_vocabulary_find_own(model->ids ? model->ids : model->vocabulary,
                                                model->is_foreign, attn_slice_text(slice), size);
    const int32_t unk_id = model->ids ? model->ids_unk : model->unk_id;
    bool has_all = model->has_byte_fallback && id < 0;

    for (size_t i = 0; i < size && has_all && !model->ids; i++)
        has_all = model->fallback_ids[text[i]] >= 0;
    if (!has_all)
        return attn_encoding_push(walk->encoding, id >= 0 ? id : unk_id, slice.begin, slice.end,
                                  err);
    for (size_t i = 0; i < size; i++) {
        const int32_t byte_id = model->fallback_ids[text[i]];

        ATTN_TRY(attn_encoding_push(walk->encoding, byte_id >= 0 ? byte_id : unk_id,
                                    slice.begin + i, slice.begin + i + 1, err));
    }
    return ATTN_OK;
}

static enum attn_status run_unigram(struct attn_walk *walk, size_t at, struct attn_slice slice,
                                    struct attn_error *err)
{
    struct attn_lookup *lookup = walk->scratch[at];
    const struct attn_unigram_model *model = lookup->model;
    const char *text = attn_slice_text(slice);
    const size_t size = attn_slice_size(slice), begin = slice.begin;
    const struct node *nodes;

    ATTN_TRY(find_best_path(walk, lookup, text, size, err));
    nodes = lookup->memory;
    for (size_t from = 0, end; from < size; from = end) {
        int32_t id = nodes[nodes[from].next].id;
        const bool is_unk = id == model->unk_id;

        end = nodes[from].next;
        if (!is_unk && model->ids)
            id = attn_vocabulary_find(model->ids, text + from, end - from);
        if (!is_unk) {
            ATTN_TRY(attn_encoding_push(walk->encoding, id >= 0 ? id : model->ids_unk, begin + from,
                                        begin + end, err));
            continue;
        }
        while (end < size && nodes[nodes[end].next].id == model->unk_id)
            end = nodes[end].next;
        slice.begin = begin + from;
        slice.end = begin + end;
        ATTN_TRY(push_unknown(walk, model, slice, err));
    }
    return ATTN_OK;
}

const struct attn_text_stage_kind attn_unigram_stage = {
    .run = run_unigram, .begin = attn_lookup_begin, .end = attn_lookup_end};
