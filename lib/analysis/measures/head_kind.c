#include "measures/head_kind.h"

#include <math.h>
#include <string.h>

/* clang-format off */
enum { N_NAMED = ATTN_MIX_START + 1 };

static const struct attn_head_kind kinds[ATTN_N_HEAD_KIND] = {
    [ATTN_MIX_SELF] = {"self", "self", 's', 0x009e73, "the token itself"},
    [ATTN_MIX_PREVIOUS] = {"previous", "prev.", 'p', 0x0072b2, "the previous token"},
    [ATTN_MIX_NEXT] = {"next", "next", '>', 0x005f87, "the next token"},
    [ATTN_MIX_INDUCTION] = {"induction", "induct.", 'i', 0xd55e00,
                            "what followed the token earlier"},
    [ATTN_MIX_DUPLICATE] = {"duplicate", "duplic.", 'd', 0xcc79a7, "earlier places of the token"},
    [ATTN_MIX_MARKS] = {"marks", "marks", 'm', 0x7b5ea7, "punctuation"},
    [ATTN_MIX_START] = {"start", "start", '.', 0xb8a000, "the start of a sentence"},
    [ATTN_MIX_NEAR] = {"near", "near", 'n', 0x4fa3d9, "tokens up to four away"},
    [ATTN_MIX_SENTENCE] = {"sentence", "sent.", 't', 0x9cc9e8, "the tokens of its sentence"},
    [ATTN_MIX_ELSEWHERE] = {"elsewhere", "elsewh.", 'e', 0x8a9aa8, "tokens of other sentences"},
    [ATTN_HEAD_KIND_EVEN] = {"even", "even", '=', 0xb0a898, "all tokens alike"},
    [ATTN_HEAD_KIND_BROAD] = {"broad", "broad", 'b', 0x8f8577, "many tokens"},
    [ATTN_HEAD_KIND_MIXED] = {"mixed", "mixed", '?', 0x7d8590, "no kind of token in particular"},
    [ATTN_HEAD_KIND_PARKS] = {"parks", "parks", '-', 0xe69f00,
                              "hardly anything: its weight is parked"},
};

/* The names of two kinds, in the order of enum attn_mix_class. */
#define NAMES_WITH(first) \
    {first " + self", first " + previous", first " + next", first " + induction", \
     first " + duplicate", first " + marks", first " + start"}
static const char *const pairs[N_NAMED][N_NAMED] = {
    [ATTN_MIX_SELF] = NAMES_WITH("self"),
    [ATTN_MIX_PREVIOUS] = NAMES_WITH("previous"),
    [ATTN_MIX_NEXT] = NAMES_WITH("next"),
    [ATTN_MIX_INDUCTION] = NAMES_WITH("induction"),
    [ATTN_MIX_DUPLICATE] = NAMES_WITH("duplicate"),
    [ATTN_MIX_MARKS] = NAMES_WITH("marks"),
    [ATTN_MIX_START] = NAMES_WITH("start"),
};
/* clang-format on */

const struct attn_head_kind *attn_head_kind_at(size_t i)
{
    return &kinds[i];
}

/* What no view tells apart. */
static const struct attn_head_kind other = {"else", "else", 'e', 0x8f8577, "something else"};

const struct attn_head_kind *attn_head_kind_shown(const struct attn_head_kind *kind)
{
    if (!kind)
        return NULL;
    switch ((int)(kind - kinds)) {
    case ATTN_MIX_SELF:
    case ATTN_MIX_PREVIOUS:
    case ATTN_MIX_INDUCTION:
    case ATTN_MIX_DUPLICATE:
    case ATTN_MIX_MARKS:
        return kind;
    case ATTN_HEAD_KIND_PARKS:
        return &kinds[ATTN_MIX_MARKS];
    default:
        return &other;
    }
}

const struct attn_head_kind *attn_head_kind_find(const char *name, size_t size)
{
    const char *blank = memchr(name, ' ', size);

    size = blank ? (size_t)(blank - name) : size;
    for (size_t i = 0; i < ATTN_N_HEAD_KIND; i++)
        if (strlen(kinds[i].name) == size && memcmp(kinds[i].name, name, size) == 0)
            return &kinds[i];
    return strlen(other.name) == size && memcmp(other.name, name, size) == 0 ? &other : NULL;
}

/* The shares of the rest of a head, and of an even head; and those of `induction` and `duplicate`
 * in the rows with an earlier place of their token, NaN if there are too few. */
struct shares {
    double own[ATTN_N_MIX_CLASS], even[ATTN_N_MIX_CLASS], entropy, induction, duplicate;
};

static struct shares find_shares(const struct attn_head_mix *mix)
{
    enum { FEWEST_ROWS = 8 };
    const double repeated = mix->n_repeated >= FEWEST_ROWS ? mix->repeated : (double)NAN;
    struct shares shares = {
        .entropy = mix->most_entropy > 0 ? mix->entropy / mix->most_entropy : 0,
        .induction = mix->weights[ATTN_MIX_INDUCTION] / repeated,
        .duplicate = mix->weights[ATTN_MIX_DUPLICATE] / repeated,
    };
    double own = 0, even = 0;

    for (size_t k = 0; k < ATTN_N_MIX_CLASS; k++)
        own += mix->weights[k], even += mix->even[k];
    for (size_t k = 0; k < ATTN_N_MIX_CLASS; k++) {
        shares.own[k] = mix->weights[k] / own; /* NaN if all is parked */
        shares.even[k] = mix->even[k] / even;
    }
    return shares;
}

/* Returns the largest of the shares before class END of which SKIPPED is none. */
static size_t find_largest(const double *shares, size_t end, size_t skipped)
{
    size_t largest = skipped == 0;

    for (size_t k = largest + 1; k < end; k++)
        largest = k != skipped && shares[k] > shares[largest] ? k : largest;
    return largest;
}

/* Whether near classes, and with IS_SENTENCE those of the sentence, have at least LEAST and 1.5
 * times what an even head gives them. */
static bool is_local(const struct shares *s, bool is_sentence, double least)
{
    static const enum attn_mix_class local[] = {ATTN_MIX_SELF, ATTN_MIX_PREVIOUS, ATTN_MIX_NEXT,
                                                ATTN_MIX_NEAR, ATTN_MIX_SENTENCE};
    double own = 0, even = 0;

    for (size_t i = 0; i < 4 + (size_t)is_sentence; i++)
        own += s->own[local[i]], even += s->even[local[i]];
    return own >= least && own >= 1.5 * even;
}

static bool stands_out(const struct shares *s, size_t k)
{
    return s->own[k] >= 0.15 && (s->own[k] >= 2 * s->even[k] || s->own[k] - s->even[k] >= 0.15);
}

/* Returns the kind of a head, and stores the name of two in *name. */
static size_t find_kind(const struct shares *s, double park, double threshold, const char **name)
{
    double lifted[N_NAMED];
    size_t k = find_largest(s->own, N_NAMED, N_NAMED), second;

    if (s->induction > threshold && !(s->duplicate > s->induction))
        return ATTN_MIX_INDUCTION;
    if (s->duplicate > threshold)
        return ATTN_MIX_DUPLICATE;
    if (park >= 0.9)
        return ATTN_HEAD_KIND_PARKS;
    if (s->entropy >= 0.9)
        return ATTN_HEAD_KIND_EVEN;
    if (s->own[k] >= threshold)
        return k;
    if (is_local(s, false, 0.5))
        return ATTN_MIX_NEAR;
    for (size_t i = 0; i < N_NAMED; i++)
        lifted[i] = stands_out(s, i) ? s->own[i] : 0;
    k = find_largest(lifted, N_NAMED, N_NAMED);
    second = find_largest(lifted, N_NAMED, k);
    if (lifted[k] + lifted[second] >= 0.3) { /* in the order of the kinds, not of noise */
        *name = lifted[second] <= 0 ? NULL : k < second ? pairs[k][second] : pairs[second][k];
        return k;
    }
    if (is_local(s, true, 0.55))
        return ATTN_MIX_SENTENCE;
    if (s->entropy >= 0.45)
        return ATTN_HEAD_KIND_BROAD;
    return s->own[ATTN_MIX_ELSEWHERE] >= fmax(0.15, 0.5 * s->even[ATTN_MIX_ELSEWHERE])
               ? ATTN_MIX_ELSEWHERE
               : ATTN_HEAD_KIND_MIXED;
}

struct attn_head_type attn_head_type_of(const struct attn_head_mix *mix, double threshold)
{
    enum { FIRST_ROW = 4 };
    const struct shares s = find_shares(mix);
    const size_t largest = find_largest(s.own, ATTN_N_MIX_CLASS, ATTN_N_MIX_CLASS);
    struct attn_head_type type = {.park = mix->parked / mix->n_row};

    if (!(mix->n_row > 0) || isnan(type.park) || (isnan(s.own[0]) && type.park < 0.9))
        return type;
    memcpy(type.shares, s.own, sizeof type.shares);
    if (!isnan(s.own[0])) {
        type.largest = &kinds[largest];
        type.weight = s.own[largest];
    }
    if (mix->n_row < ATTN_HEAD_TYPE_TOKENS - FIRST_ROW)
        return type;
    type.kind = &kinds[find_kind(&s, type.park, threshold > 0 ? threshold : 0.5, &type.name)];
    type.name = type.name ? type.name : type.kind->name;
    return type;
}

size_t attn_head_bar(const double *shares, double park,
                     struct attn_head_part parts[ATTN_HEAD_PARTS])
{
    double end = 0;
    size_t n = 0;

    for (size_t k = 0; k <= ATTN_N_MIX_CLASS; k++) {
        const bool is_last = k == ATTN_N_MIX_CLASS;
        const double size = is_last ? park : shares[k] * (1 - park);

        if (!(size > 0)) /* NaN, too */
            continue;
        parts[n++] = (struct attn_head_part){&kinds[is_last ? ATTN_HEAD_KIND_PARKS : k], end,
                                             is_last ? 1 : fmin(end + size, 1)};
        end += size;
    }
    return n;
}
