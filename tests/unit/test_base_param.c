/*
 * test_base_param.c - parameters that are told once: their values from text, and what does not go
 * together.
 */
#include "params/param_internal.h"
#include "params/param_rules.h"
#include "tests/support/suite.h"

#include <stddef.h>
#include <string.h>

struct pair {
    const char *value;
    const void *items;
    size_t n;
    const char *name;
    size_t later;
};

struct place {
    const char *name, *spec;
    const void *items;
    size_t n;
};

struct args {
    size_t top, n_point, n_text, n_set, n_place;
    uint64_t seed;
    double threshold;
    const char *target;
    const char *const *texts;
    const struct pair *sets;
    const int32_t *target_id, *ids;
    size_t n_id;
    const struct place *places;
    const void *cells;
    const char *mask;
    int per, method, baseline;
    bool is_to_noise, has_effect, is_scaled;
    unsigned given;
};

enum {
    TOP,
    PER,
    DIRECTION,
    METHOD,
    CONTROL,
    TARGET,
    ID,
    REAL,
    BELOW,
    CLOSED,
    SEED,
    TEXTS,
    SETS,
    PLACES,
    CELLS,
    SCALE,
    VALUES,
    FLAG,
    IDS,
    MASK,
    PAIR,
    KEPT
};

static const int values[] = {3, 1}, truths[] = {1, 0};

static const struct attn_param rows[] = {
    [TOP] = ATTN_PARAM(COUNT, "top", "K", struct args, top, "", .least = 1, .most = 9),
    [PER] = ATTN_PARAM(CHOICE, "per", NULL, struct args, per, "", .words = "sum|token|word",
                       .meant = "average=token"),
    [DIRECTION] = ATTN_PARAM(SWITCH, "direction", NULL, struct args, is_to_noise, "",
                             .words = "restore|noise"),
    [METHOD] =
        ATTN_PARAM(METHOD, "estimate", "atp|ig[:N]", struct args, method, "", .words = "atp|ig",
                   .values = values, .second = offsetof(struct args, n_point)),
    [CONTROL] = ATTN_PARAM(SEEDED, "control", "N[:SEED]", struct args, top, "", .least = 1,
                           .second = offsetof(struct args, seed)),
    [TARGET] = ATTN_PARAM(TEXT, "target", "TEXT", struct args, target, ""),
    [ID] = ATTN_PARAM(ID, "target_id", "ID", struct args, target_id, ""),
    [REAL] = ATTN_PARAM(REAL, "threshold", "X", struct args, threshold, ""),
    [BELOW] = ATTN_PARAM(REAL, "min_p", "P", struct args, threshold, "", .most = 1),
    [CLOSED] = ATTN_PARAM(REAL, "dpi", "N", struct args, threshold, "", .least = 10, .most = 2400,
                          .traits = ATTN_PARAM_IS_CLOSED),
    [SEED] = ATTN_PARAM(SEED, "seed", "S", struct args, seed, "", .most = UINT32_MAX),
    [TEXTS] = ATTN_PARAM(TEXTS, "stop", "TEXT", struct args, texts, "",
                         .second = offsetof(struct args, n_text)),
    [SETS] = ATTN_PARAM(NAMED, "set", "[NAME=]HEADS", struct args, sets, "",
                        .second = offsetof(struct args, n_set), .least = sizeof(struct pair)),
    [PLACES] = ATTN_PARAM(PLACES, "positions", "NAME=SPEC", struct args, places, "",
                          .second = offsetof(struct args, n_place)),
    [CELLS] = ATTN_PARAM(MASK, "mask", "causal|none|FILE.npy", struct args, cells, "",
                         .words = "causal|none", .second = offsetof(struct args, mask)),
    [SCALE] = ATTN_PARAM(SWITCH, "scale", NULL, struct args, is_scaled, "", .words = "on|off",
                         .values = truths, .mark = 4, .marks = offsetof(struct args, given)),
    [VALUES] = ATTN_PARAM(CHOICE, "baseline", NULL, struct args, baseline, "", .words = "auto|mask",
                          .values = values),
    [FLAG] = ATTN_PARAM(FLAG, "effect", NULL, struct args, has_effect, ""),
    [IDS] =
        ATTN_PARAM(IDS, "ids", "LIST", struct args, ids, "", .second = offsetof(struct args, n_id)),
    [MASK] = ATTN_PARAM(IDS, "key_mask", "LIST", struct args, ids, "",
                        .second = offsetof(struct args, n_id), .most = 1),
    [PAIR] = ATTN_PARAM(SIZED, "pair", "TEXT", struct args, target, "",
                        .second = offsetof(struct args, n_text)),
    [KEPT] = ATTN_PARAM_KEPT(COUNT, "generated", "N", "", .least = 1),
};

static void expect(struct args *args, int row, const char *text, const char *wanted)
{
    struct attn_error err = {0};
    const enum attn_status status = attn_param_set(&rows[row], args, "--it", text, &err);

    ck_assert_str_eq(err.message, wanted);
    ck_assert_int_eq(status, *wanted ? ATTN_INVALID : ATTN_OK);
}

START_TEST(values_are_read_by_their_types)
{
    const struct args plain = {.top = 0};
    struct args args = plain;

    expect(&args, TOP, "9", "");
    expect(&args, PER, "word", "");
    expect(&args, DIRECTION, "noise", "");
    expect(&args, METHOD, "ig:7", "");
    ck_assert(args.top == 9 && args.per == 2 && args.is_to_noise);
    ck_assert(args.method == values[1] && args.n_point == 7);
    expect(&args, CONTROL, "3:5", "");
    ck_assert(args.top == 3 && args.seed == 5);
    expect(&args, SEED, "4294967295", "");
    expect(&args, CLOSED, "2400", "");
    ck_assert_double_eq(args.threshold, 2400);
    expect(&args, REAL, "1.5", "");
    expect(&args, VALUES, "auto", "");
    expect(&args, FLAG, "true", "");
    expect(&args, TARGET, " are", "");
    ck_assert(args.seed == UINT32_MAX && args.threshold == 1.5 && args.baseline == 3);
    ck_assert(args.has_effect && strcmp(args.target, " are") == 0);
    expect(&args, PAIR, "two words", "");
    ck_assert(strcmp(args.target, "two words") == 0 && args.n_text == 9);
    expect(&args, CELLS, "mask.npy", "");
    ck_assert(!args.cells && strcmp(args.mask, "mask.npy") == 0 && args.given == 0);
    expect(&args, SCALE, "on", "");
    ck_assert(args.is_scaled && args.given == 4);
    expect(&args, SCALE, "off", "");
    ck_assert(!args.is_scaled);
    ck_assert(attn_param_is_set(&rows[TARGET], &args, &plain));
    ck_assert(!attn_param_is_set(&rows[TOP], &plain, &plain));
}
END_TEST

START_TEST(lists_grow_and_are_freed)
{
    struct args args = {.top = 2};
    struct attn_buffer text = {0};

    expect(&args, KEPT, "7", "");
    ck_assert_uint_eq(args.top, 2);
    expect(&args, ID, "17", "");
    ck_assert_int_eq(*args.target_id, 17);
    expect(&args, TEXTS, ".", "");
    expect(&args, TEXTS, "!", "");
    ck_assert(args.n_text == 2 && args.texts[0][0] == '.' && args.texts[1][0] == '!');
    expect(&args, IDS, " 5 17,\t3 , 0\n", "");
    ck_assert(args.n_id == 4 && args.ids[0] == 5 && args.ids[1] == 17 && args.ids[2] == 3 &&
              args.ids[3] == 0);
    expect(&args, IDS, "", ""); /* an empty list is given, too */
    ck_assert(args.n_id == 0 && args.ids);
    expect(&args, SETS, "copying=3.2", "");
    expect(&args, SETS, "1.*", "");
    ck_assert_uint_eq(args.n_set, 2);
    ck_assert_str_eq(args.sets[0].name, "copying");
    ck_assert_str_eq(args.sets[0].value, "3.2");
    ck_assert_ptr_null(args.sets[1].name);
    ck_assert_str_eq(args.sets[1].value, "1.*");
    expect(&args, PLACES, "subject=keys", "");
    expect(&args, PLACES, "end=-1", "");
    ck_assert_uint_eq(args.n_place, 2);
    ck_assert_str_eq(args.places[1].name, "end");
    ck_assert_str_eq(args.places[1].spec, "-1");
    ck_assert(attn_param_write(&rows[PLACES], &args, 1, &text));
    ck_assert(attn_param_write(&rows[SETS], &args, 0, &text));
    ck_assert(attn_param_write(&rows[SETS], &args, 1, &text));
    ck_assert(attn_param_write(&rows[TEXTS], &args, 1, &text));
    ck_assert(!attn_param_write(&rows[TEXTS], &args, 2, &text));
    ck_assert_str_eq(attn_buffer_string(&text), "end=-1copying=3.21.*!");
    attn_buffer_release(&text);
    for (int row = 0; row <= KEPT; row++)
        attn_param_release(&rows[row], &args);
    ck_assert(!args.target_id && !args.texts && !args.sets && !args.ids && !args.places);
}
END_TEST

START_TEST(values_out_of_range_are_refused)
{
    struct args args = {.top = 2};

    expect(&args, TOP, "10", "'--it' is '10', expected a whole number 1 to 9");
    expect(&args, KEPT, "0", "'--it' is '0', expected a whole number 1 to 9223372036854775807");
    expect(&args, PER, "mean", "'--it' is 'mean', expected sum|token|word");
    expect(&args, METHOD, "atp:3",
           "unknown --it 'atp:3', expected atp, ig, or ig:N with N from 1 to 100000");
    expect(&args, CONTROL, "0", "'--it' is '0', expected N or N:SEED, N from 1");
    expect(&args, ID, "-1", "'--it' is '-1', expected a whole number 0 to 2147483647");
    expect(&args, REAL, "-1", "'--it' is '-1', expected a number from 0");
    expect(&args, BELOW, "1", "'--it' is '1', expected a number from 0 to less than 1");
    expect(&args, IDS, "1,,2", "'1,,2' has an empty item, expected a token id");
    expect(&args, IDS, "1,2,", "'1,2,' has an empty item, expected a token id");
    expect(&args, IDS, "1 -2", "'-2' is not a token id");
    expect(&args, MASK, "1,no", "'no' is not 0 or 1");
    expect(&args, CLOSED, "2401", "'--it' is '2401', expected a number from 10 to 2400");
    expect(&args, SETS, "=1", "'--it' is '=1', expected [NAME=]HEADS");
    expect(&args, PLACES, "keys", "'--it' is 'keys', expected NAME=SPEC");
    expect(&args, CELLS, ".npy",
           "'--it' is '.npy', expected causal, none or a file whose name ends in .npy");
    expect(&args, SCALE, "1", "'--it' is '1', expected on|off");
    ck_assert(args.top == 2 && !args.target_id && !args.sets && !args.ids);
    ck_assert(!args.places && args.given == 0);
}
END_TEST

START_TEST(the_meant_word_is_in_the_hint)
{
    struct args args = {.top = 0};
    struct attn_error err = {0};

    ck_assert_int_eq(attn_param_set(&rows[PER], &args, "per", "averag", &err), ATTN_INVALID);
    ck_assert_str_eq(err.hint, "did you mean 'token'?");
}
END_TEST

/* An attn_param_given_fn: USER is a list of names, "verify|verify:0". */
static bool is_given(void *user, const char *name)
{
    return attn_param_find_word(user, name, strlen(name)) >= 0;
}

START_TEST(the_first_rule_that_does_not_hold_is_reported)
{
    static const struct attn_param_rule rules[] = {
        {.given = "per|regions", .needs = "items|texts"},
        {.given = "limit", .when = "items", .needs = "per", .message = "@ needs `per`: a row each"},
        {.given = "verify", .unless = "verify:0", .excludes = "items"},
        {.given = "top_p:0", .message = "@ is 0, expected above 0"},
        {.given = "pair",
         .excludes = "ids|embeds",
         .message = "@ is a text, which # does not take"},
        {.given = "foil", .needs = "target", .time = ATTN_PARAM_VALUES},
    };
    static struct {
        char given[32];
        const char *message;
    } cases[] = {
        {"target", ""},
        {"regions", "`regions` needs `items`"},
        {"regions|texts", ""},
        {"limit", ""},
        {"limit|items", "`limit` needs `per`: a row each"},
        {"verify|items", "`verify` and `items` do not go together"},
        {"verify|verify:0|items", ""},
        {"top_p", ""},
        {"top_p|top_p:0", "`top_p` is 0, expected above 0"},
        {"pair|embeds", "`pair` is a text, which `embeds` does not take"},
        {"foil", ""},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct attn_error err = {0};

        attn_param_rules_check(&(struct attn_param_rules){rules, sizeof rules / sizeof *rules},
                               ATTN_PARAM_GIVEN, is_given, cases[i].given, &err);
        ck_assert_str_eq(err.message, cases[i].message);
    }
}
END_TEST

ATTN_SUITE("base param", values_are_read_by_their_types, lists_grow_and_are_freed,
           values_out_of_range_are_refused, the_meant_word_is_in_the_hint,
           the_first_rule_that_does_not_hold_is_reported)
