/*
 * test_selection.c - the selection syntax, what it keeps, the shapes that follow, and site lists.
 */
#include "attn.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/suite.h"
#include "trace/blocks_internal.h"
#include "trace/trace_internal.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const struct attn_dims dims = {
    .n_layer = 12,
    .n_head = 6,
    .n_kv_head = 2,
    .d_model = 30,
    .d_head = 5,
    .d_value = 4,
    .d_mlp = 7,
    .n_vocab = 100,
    .n_position = 9,
    .sites = {{~(UINT64_C(1) << ATTN_SITE_LOGITS), (UINT64_C(1) << (ATTN_N_SITE - 64)) - 1}}};

static struct attn_selection *make(void)
{
    struct attn_selection *selection;
    struct attn_error err = {0};

    ck_assert(attn_selection_create(&dims, &selection, &err) == ATTN_OK);
    return selection;
}

static unsigned long flags_of_layers(const struct attn_selection *s)
{
    unsigned long flags = 0;

    for (int i = 0; i < (int)dims.n_layer; i++)
        flags |=
            (unsigned long)(attn_selection_count_heads(s, &(struct attn_location){.layer = i}) > 0)
            << i;
    return flags;
}

START_TEST(number_lists_name_what_they_say)
{
    static const struct {
        const char *spec;
        unsigned long flags;
    } rows[] = {
        {"0", 0x001},     {"0,2-4", 0x01d}, {"0-11+2", 0x555}, {"-1", 0x800},  {"-12", 0x001},
        {"3,1,3", 0x00a}, {"all", 0xfff},   {"10-11", 0xc00},  {"5-5", 0x020}, {"0-11+11", 0x801},
        {"1-3+9", 0x002}, {"-1,-2", 0xc00}, {"2,all", 0xfff},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct attn_selection *s = make();
        struct attn_error err = {0};

        ck_assert_msg(attn_selection_set_layers(s, rows[i].spec, &err) == ATTN_OK, "%s: %s",
                      rows[i].spec, err.message);
        ck_assert_msg(flags_of_layers(s) == rows[i].flags, "%s gave %lx", rows[i].spec,
                      flags_of_layers(s));
        attn_selection_free(s);
    }
}
END_TEST

START_TEST(bad_lists_are_refused_with_the_valid_range_and_change_nothing)
{
    static const char *const specs[] = {
        "",     ",",     "1,",    ",1",  "12",  "-13", "-0",   "3-1",
        "1-",   "1--2",  "1-12",  "a",   "1 ",  " 1",  "+1",   "1+2",
        "1-3+", "1-3+0", "1-3+x", "0x1", "1.5", "*",   "all2", "99999999999999999999",
        "1-3-5"};

    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct attn_selection *s = make();
        struct attn_error err = {0};

        ck_assert(attn_selection_set_layers(s, "2", &err) == ATTN_OK);
        ck_assert_msg(attn_selection_set_layers(s, specs[i], &err) == ATTN_INVALID, "'%s' passed",
                      specs[i]);
        ck_assert_ptr_nonnull(strstr(err.message, "expected numbers from 0 to 11"));
        ck_assert_ptr_nonnull(strstr(err.message, "layer"));
        ck_assert_uint_eq(flags_of_layers(s), 4);
        attn_selection_free(s);
    }
}
END_TEST

START_TEST(heads_may_be_given_with_their_layer)
{
    static const struct {
        const char *spec;
        int layer;
        unsigned flags;
    } rows[] = {
        {"1", 0, 0x02},         {"1", 11, 0x02},    {"5.1", 5, 0x02},     {"5.1", 4, 0},
        {"L5H1", 5, 0x02},      {"L5H1", 6, 0},     {"9.*", 9, 0x3f},     {"9.*", 8, 0},
        {"*.2", 7, 0x04},       {"*.*", 3, 0x3f},   {"0-1.3-5", 1, 0x38}, {"0-1.3-5", 2, 0},
        {"3,5.1", 5, 0x0a},     {"3,5.1", 6, 0x08}, {"-1.-1", 11, 0x20},  {"-1.-1", 10, 0},
        {"L0H0,L1H*", 1, 0x3f},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct attn_selection *s = make();
        struct attn_error err = {0};
        unsigned flags = 0;

        ck_assert_msg(attn_selection_set_heads(s, rows[i].spec, &err) == ATTN_OK, "%s: %s",
                      rows[i].spec, err.message);
        for (int h = 0; h < (int)dims.n_head; h++)
            flags |= (unsigned)attn_selection_has_head(
                         s, &(struct attn_location){.layer = rows[i].layer, .head = h})
                     << h;
        ck_assert_msg(flags == rows[i].flags, "%s gave %x in layer %d", rows[i].spec, flags,
                      rows[i].layer);
        attn_selection_free(s);
    }
}
END_TEST

START_TEST(bad_head_lists_are_refused)
{
    static const char *const specs[] = {"6",  "12.0", "0.6", "0.",   ".0",    "0.1.2", "L0",
                                        "LH", "L0H",  "H1",  "L0H6", "L12H0", "0.1,",  "l0h1"};

    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct attn_selection *s = make();

        ck_assert_msg(attn_selection_set_heads(s, specs[i], NULL) == ATTN_INVALID, "'%s' passed",
                      specs[i]);
        ck_assert(attn_selection_is_all_heads(s));
        attn_selection_free(s);
    }
}
END_TEST

START_TEST(kept_is_heads_and_layers)
{
    struct attn_selection *s = make();

    ck_assert(attn_selection_set_heads(s, "5.1,9.*", NULL) == ATTN_OK);
    ck_assert(attn_selection_set_layers(s, "5-8", NULL) == ATTN_OK);
    ck_assert(attn_selection_has_head(s, &(struct attn_location){.layer = 5, .head = 1}));
    ck_assert(!attn_selection_has_head(s, &(struct attn_location){.layer = 9, .head = 0}));
    ck_assert_uint_eq(attn_selection_count_heads(s, &(struct attn_location){.layer = 9}), 0);
    ck_assert(attn_selection_wants_block(s, ATTN_SITE_PATTERN, 5));
    ck_assert(!attn_selection_wants_block(s, ATTN_SITE_PATTERN, 6));
    ck_assert(!attn_selection_wants_block(s, ATTN_SITE_RESID_PRE, 6)); /* not among the sites */
    ck_assert(attn_selection_set_sites(s, ATTN_SITES(ATTN_SITE_RESID_PRE), NULL) == ATTN_OK);
    ck_assert(attn_selection_wants_block(s, ATTN_SITE_RESID_PRE, 6));
    ck_assert(!attn_selection_is_all_heads(s));
    attn_selection_free(s);
}
END_TEST

static unsigned long flags_of_heads(const struct attn_selection *s, int layer)
{
    unsigned long flags = 0;

    for (int h = 0; h < (int)dims.n_head; h++)
        flags |= (unsigned long)attn_selection_has_head(
                     s, &(struct attn_location){.layer = layer, .head = h})
                 << h;
    return flags;
}

START_TEST(the_first_kept_head_replaces_all_and_the_next_are_added)
{
    struct attn_selection *s = make();

    ck_assert(attn_selection_add_head(s, &(struct attn_location){.layer = 5, .head = 1}, NULL) ==
              ATTN_OK);
    ck_assert_uint_eq(flags_of_heads(s, 5), 0x02);
    ck_assert_uint_eq(flags_of_heads(s, 4), 0);
    ck_assert(attn_selection_add_head(s, &(struct attn_location){.layer = 5, .head = 4}, NULL) ==
              ATTN_OK);
    ck_assert(attn_selection_add_head(
                  s, &(struct attn_location){.layer = 9, .head = ATTN_ALL_HEADS}, NULL) == ATTN_OK);
    ck_assert_uint_eq(flags_of_heads(s, 5), 0x12);
    ck_assert_uint_eq(flags_of_heads(s, 9), 0x3f);
    ck_assert(attn_selection_add_head(s,
                                      &(struct attn_location){.layer = ATTN_ALL_LAYERS, .head = 3},
                                      NULL) == ATTN_OK);
    ck_assert_uint_eq(flags_of_heads(s, 0), 0x08);
    ck_assert_uint_eq(flags_of_heads(s, 5), 0x1a);
    attn_selection_free(s);
}
END_TEST

START_TEST(a_kept_head_is_added_to_those_of_a_list)
{
    struct attn_selection *s = make();

    ck_assert(attn_selection_set_heads(s, "5.1,9.*", NULL) == ATTN_OK);
    ck_assert(attn_selection_add_head(s, &(struct attn_location){.layer = 5, .head = 0}, NULL) ==
              ATTN_OK);
    ck_assert_uint_eq(flags_of_heads(s, 5), 0x03);
    ck_assert_uint_eq(flags_of_heads(s, 9), 0x3f);
    ck_assert(attn_selection_set_heads(s, "0.0", NULL) == ATTN_OK);
    ck_assert_uint_eq(flags_of_heads(s, 5), 0);
    attn_selection_free(s);
}
END_TEST

START_TEST(heads_that_are_not_there_are_refused_and_change_nothing)
{
    static const int heads[][2] = {{12, 0}, {0, 6}, {-2, 0}, {0, -2}, {-1, 6}, {INT_MAX, INT_MIN}};

    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        struct attn_selection *s = make();
        struct attn_error err = {0};

        ck_assert(attn_selection_add_head(
                      s, &(struct attn_location){.layer = heads[i][0], .head = heads[i][1]},
                      &err) == ATTN_INVALID);
        ck_assert_ptr_nonnull(strstr(err.message, heads[i][0] == 0
                                                      ? "layers from 0 to 11 and heads from 0 to 5"
                                                      : "expected 0 to 11"));
        ck_assert(attn_selection_is_all_heads(s));
        attn_selection_free(s);
    }
}
END_TEST

static unsigned long flags_of_queries(const struct attn_selection *s)
{
    unsigned long flags = 0;

    for (size_t i = 0; i < dims.n_position; i++)
        flags |= (unsigned long)attn_selection_has_query(s, ATTN_STACK_ONLY, i) << i;
    return flags;
}

START_TEST(the_first_kept_queries_replace_all_and_the_next_are_added)
{
    struct attn_selection *s = make();

    ck_assert(attn_selection_add_queries(s, ATTN_STACK_ONLY, 2, 3, NULL) == ATTN_OK);
    ck_assert_uint_eq(flags_of_queries(s), 0x01c);
    ck_assert_uint_eq(attn_selection_n_query(s), 3);
    ck_assert(attn_selection_add_queries(s, ATTN_STACK_ONLY, 4, 2, NULL) == ATTN_OK);
    ck_assert_uint_eq(flags_of_queries(s), 0x03c);
    ck_assert_uint_eq(attn_selection_n_query(s), 4);
    ck_assert(attn_selection_add_queries(s, ATTN_STACK_ONLY, 8, 1, NULL) == ATTN_OK);
    ck_assert_uint_eq(flags_of_queries(s), 0x13c);
    ck_assert(attn_selection_set_queries(s, ATTN_STACK_ONLY, "0", NULL) == ATTN_OK);
    ck_assert(attn_selection_add_queries(s, ATTN_STACK_ONLY, 1, 1, NULL) == ATTN_OK);
    ck_assert_uint_eq(flags_of_queries(s), 0x003);
    ck_assert(attn_selection_add_queries(s, ATTN_STACK_ONLY, 0, 9, NULL) == ATTN_OK);
    ck_assert(attn_selection_is_all_queries(s, ATTN_STACK_ONLY));
    attn_selection_free(s);
}
END_TEST

START_TEST(queries_that_are_not_there_are_refused_and_change_nothing)
{
    static const size_t spans[][2] = {{9, 1}, {0, 10}, {8, 2}, {1, SIZE_MAX}, {SIZE_MAX, 2}};
    struct attn_selection *s = make();
    struct attn_error err = {0};

    for (size_t i = 0; i < sizeof spans / sizeof *spans; i++) {
        ck_assert(attn_selection_add_queries(s, ATTN_STACK_ONLY, spans[i][0], spans[i][1], &err) ==
                  ATTN_INVALID);
        ck_assert_ptr_nonnull(strstr(err.message, "expected numbers from 0 to 8"));
        ck_assert(attn_selection_is_all_queries(s, ATTN_STACK_ONLY));
    }
    ck_assert(attn_selection_add_queries(s, ATTN_STACK_ONLY, 3, 0, &err) == ATTN_INVALID);
    ck_assert(attn_selection_is_all_queries(s, ATTN_STACK_ONLY));
    attn_selection_free(s);
}
END_TEST

START_TEST(a_key_value_head_is_kept_when_it_serves_a_kept_head)
{
    struct attn_selection *s = make();

    ck_assert(attn_selection_set_heads(s, "0.2,1.3", NULL) == ATTN_OK);
    ck_assert(attn_selection_has_tensor_head(
                  s, &(struct attn_location){.layer = 0, .head = 0, .site = ATTN_SITE_K}) &&
              !attn_selection_has_tensor_head(
                  s, &(struct attn_location){.layer = 0, .head = 1, .site = ATTN_SITE_K}));
    ck_assert(!attn_selection_has_tensor_head(
                  s, &(struct attn_location){.layer = 1, .head = 0, .site = ATTN_SITE_K}) &&
              attn_selection_has_tensor_head(
                  s, &(struct attn_location){.layer = 1, .head = 1, .site = ATTN_SITE_K}));
    attn_selection_free(s);
}
END_TEST

static void check_shape(const struct attn_selection *s, enum attn_site site, int rank,
                        const size_t *expected)
{
    size_t shape[3] = {0};

    ck_assert_int_eq(
        attn_selection_shape(s, &(struct attn_location){.site = site, .layer = 0}, shape), rank);
    for (int i = 0; i < rank; i++)
        ck_assert_msg(shape[i] == expected[i], "%s: dimension %d is %zu, expected %zu",
                      attn_site_name(site), i, shape[i], expected[i]);
}

START_TEST(shapes_follow_the_selection)
{
    struct attn_selection *s = make();

    check_shape(s, ATTN_SITE_PATTERN, 3, (const size_t[]){6, 9, 9});
    ck_assert(attn_selection_set_heads(s, "0,1", NULL) == ATTN_OK);
    ck_assert(attn_selection_set_queries(s, ATTN_STACK_ONLY, "-1,2-6+2", NULL) == ATTN_OK);
    ck_assert_uint_eq(attn_selection_n_query(s), 4);
    check_shape(s, ATTN_SITE_PATTERN, 3, (const size_t[]){2, 4, 9});
    check_shape(s, ATTN_SITE_Q, 3, (const size_t[]){4, 2, 5});
    check_shape(s, ATTN_SITE_K, 3, (const size_t[]){9, 1, 5});
    check_shape(s, ATTN_SITE_V, 3, (const size_t[]){9, 1, 4});
    check_shape(s, ATTN_SITE_Z, 3, (const size_t[]){4, 2, 4});
    check_shape(s, ATTN_SITE_RESID_PRE, 2, (const size_t[]){4, 30});
    check_shape(s, ATTN_SITE_MLP_PRE, 2, (const size_t[]){4, 7});
    attn_selection_free(s);
}
END_TEST

START_TEST(queries_of_an_encoder_are_positions_of_the_source)
{
    const struct attn_dims encoder = {.n_layer = 2,
                                      .n_head = 3,
                                      .n_kv_head = 3,
                                      .n_position = 4,
                                      .sites = ATTN_SITES(ATTN_SITE_PATTERN)},
                           both = {.n_layer = 4,
                                   .n_head = 2,
                                   .n_kv_head = 2,
                                   .n_position = 5,
                                   .n_source = 4,
                                   .has_pairs = true,
                                   .is_cross = (const bool[]){false, true, false, true},
                                   .sites = ATTN_SITES(ATTN_SITE_PATTERN),
                                   .encoder = &encoder};
    static const struct attn_location head = {ATTN_STACK_ENCODER, 1, 2, ATTN_SITE_PATTERN},
                                      listed = {ATTN_STACK_ENCODER, 0, 1, ATTN_SITE_PATTERN},
                                      cross = {ATTN_STACK_CROSS, 1, 0, ATTN_SITE_PATTERN};
    static const struct attn_location beyond = {ATTN_STACK_CROSS, 1, 2, ATTN_SITE_PATTERN};
    struct attn_selection *s, *copy, *alone;
    struct attn_error err = {0};
    size_t shape[3];

    ck_assert(attn_selection_create(&both, &s, NULL) == ATTN_OK);
    ck_assert(attn_selection_add_queries(s, ATTN_STACK_ENCODER, 3, 1, NULL) == ATTN_OK);
    ck_assert(attn_selection_add_queries(s, ATTN_STACK_ENCODER, 4, 1, NULL) == ATTN_INVALID);
    ck_assert(attn_selection_set_queries(s, ATTN_STACK_CROSS, "0,4", NULL) == ATTN_OK);
    ck_assert(attn_selection_set_heads(s, "encoder:0.1,cross:*", NULL) == ATTN_OK);
    ck_assert(attn_selection_add_head(s, &head, NULL) == ATTN_OK);
    ck_assert(attn_selection_has_head(s, &listed));
    ck_assert(attn_selection_add_head(s, &beyond, &err) == ATTN_INVALID);
    ck_assert_str_eq(err.message,
                     "there is no head '1.2', expected layers from 0 to 1 and heads from 0 to 1");
    ck_assert(attn_selection_copy(s, &copy, NULL) == ATTN_OK);
    attn_selection_free(s);
    ck_assert(!attn_selection_has_query(copy, ATTN_STACK_ENCODER, 0));
    ck_assert(attn_selection_has_query(copy, ATTN_STACK_ENCODER, 3));
    ck_assert(attn_selection_has_query(copy, ATTN_STACK_DECODER, 4));
    ck_assert(!attn_selection_has_query(copy, ATTN_STACK_DECODER, 3));
    ck_assert_int_eq(attn_selection_shape(copy, &head, shape), 3);
    ck_assert(shape[0] == 1 && shape[1] == 1 && shape[2] == 4);
    ck_assert_int_eq(attn_selection_shape(copy, &cross, shape), 3);
    ck_assert(shape[0] == 2 && shape[1] == 2 && shape[2] == 4);
    ck_assert(attn_selection_copy_stack(copy, ATTN_STACK_ENCODER, &alone, NULL) == ATTN_OK);
    ck_assert(attn_selection_has_head(alone, &head) && !attn_selection_has_head(alone, &cross));
    ck_assert(!attn_selection_has_query(alone, ATTN_STACK_ONLY, 0));
    attn_selection_free(alone);
    attn_selection_free(copy);
}
END_TEST

START_TEST(a_tower_has_what_its_prefix_names_and_a_picture_has_sizes_of_its_own)
{
    const struct attn_picture_dims picture = {
        .n = 3, .n_row = 2, .n_col = 5, .grid_rows = 2, .grid_cols = 10, .height = 4, .width = 10};
    struct attn_dims tower = {.n_layer = 2,
                              .n_head = 3,
                              .n_kv_head = 3,
                              .n_position = 40,
                              .picture = picture,
                              .is_of_decoder = true,
                              .sites = attn_sites_all()};
    const struct attn_dims both = {.n_layer = 4,
                                   .n_head = 2,
                                   .n_kv_head = 2,
                                   .d_model = 6,
                                   .n_position = 33,
                                   .picture = picture,
                                   .sites = attn_sites_all(),
                                   .encoder = &tower};
    const struct attn_location map = {.site = ATTN_SITE_PICTURE_MAP_TILES, .layer = 3},
                               features = {.site = ATTN_SITE_IMAGE_FEATURES,
                                           .layer = ATTN_NO_LAYER},
                               of_tower = {.site = ATTN_SITE_PATTERN,
                                           .stack = ATTN_STACK_TOWER,
                                           .layer = 1},
                               beyond = {.stack = ATTN_STACK_TOWER, .layer = 2};
    struct attn_error err = {0};
    char name[ATTN_SITE_ARCHIVE_NAME_SIZE];
    struct attn_selection *s;
    size_t shape[3];

    tower.picture.n_chosen = 2;
    ck_assert(attn_selection_create(&both, &s, NULL) == ATTN_OK);
    ck_assert(!attn_selection_wants(s, &of_tower));
    ck_assert(attn_selection_set_sites(s, attn_sites_all(), NULL) == ATTN_OK);
    ck_assert_msg(!attn_selection_wants(s, &of_tower), "sites without a prefix are the decoder's");
    ck_assert(attn_selection_add_sites(s, ATTN_STACK_ENCODER, ATTN_SITES(ATTN_SITE_PATTERN),
                                       NULL) == ATTN_INVALID);
    ck_assert(attn_selection_add_sites(s, ATTN_STACK_TOWER, ATTN_SITES(ATTN_SITE_PATTERN), NULL) ==
              ATTN_OK);
    ck_assert(attn_selection_set_heads(s, "tower:1.2,3.1", NULL) == ATTN_OK);
    ck_assert(attn_selection_wants(s, &of_tower));
    ck_assert(attn_selection_add_head(s, &beyond, &err) == ATTN_INVALID);
    ck_assert_str_eq(err.message, "there is no layer 2, expected 0 to 1");
    ck_assert(attn_selection_set_queries(s, ATTN_STACK_ONLY, "7", NULL) == ATTN_OK);
    ck_assert_int_eq(attn_selection_shape(s, &of_tower, shape), 3);
    ck_assert(shape[0] == 1 && shape[1] == 40 && shape[2] == 40);
    ck_assert_int_eq(attn_selection_shape(s, &map, shape), 3);
    ck_assert_msg(shape[0] == 1 && shape[1] == 2 && shape[2] == 10, "whatever the queries are");
    ck_assert_int_eq(attn_selection_shape(s, &features, shape), 2);
    ck_assert(shape[0] == 30 && shape[1] == 6);
    attn_location_archive_name(&of_tower, name);
    ck_assert_str_eq(name, "tower.1.attn.hook_pattern");
    attn_selection_free(s);
}
END_TEST

START_TEST(site_lists_take_names_aliases_and_globs)
{
    const struct attn_site_set computed =
        attn_sites_without(attn_sites_all(), attn_sites_derived());
    const struct {
        const char *list;
        struct attn_site_set sites;
    } rows[] = {
        {"pattern", ATTN_SITES(ATTN_SITE_PATTERN)},
        {"attention,context", ATTN_SITES(ATTN_SITE_PATTERN, ATTN_SITE_Z)},
        {"resid_*", ATTN_SITES(ATTN_SITE_RESID_PRE, ATTN_SITE_RESID_MID, ATTN_SITE_RESID_POST)},
        {"?", ATTN_SITES(ATTN_SITE_Q, ATTN_SITE_K, ATTN_SITE_V, ATTN_SITE_Z)},
        {"*", computed},
        {"*,rollout", attn_sites_join(computed, ATTN_SITES(ATTN_SITE_ROLLOUT))},
        {"value_*", ATTN_SITES(ATTN_SITE_VALUE_ZEROING)},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct attn_site_set sites = {0};

        ck_assert(attn_sites_parse(rows[i].list, &sites, NULL) == ATTN_OK);
        ck_assert_msg(attn_sites_are_equal(sites, rows[i].sites), "%s gave %lx", rows[i].list,
                      (unsigned long)sites.words[0]);
    }
}
END_TEST

START_TEST(unknown_sites_are_refused_with_the_list_of_known_ones)
{
    static const char *const lists[] = {"", "patern", "pattern,", "Pattern", "x*", "pattern, z"};

    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        struct attn_error err = {0};
        struct attn_site_set sites = {{77}};

        ck_assert(attn_sites_parse(lists[i], &sites, &err) == ATTN_INVALID);
        ck_assert_ptr_nonnull(strstr(err.message, "attn_scores,pattern,pattern_dropped"));
        ck_assert(sites.words[0] == 77 && sites.words[1] == 0);
    }
}
END_TEST

START_TEST(sites_the_model_lacks_are_dropped_from_globs_and_refused_alone)
{
    struct attn_selection *s = make();
    struct attn_error err = {0};

    ck_assert(attn_selection_set_sites(s, ATTN_SITES(ATTN_SITE_LOGITS), &err) == ATTN_INVALID);
    ck_assert_ptr_nonnull(strstr(err.message, "logits"));
    ck_assert(attn_selection_has_site(s, ATTN_SITE_PATTERN));
    ck_assert(attn_selection_set_sites(s, attn_sites_all(), NULL) == ATTN_OK);
    ck_assert(attn_sites_are_equal(attn_selection_sites(s), dims.sites));
    attn_selection_free(s);
}
END_TEST

START_TEST(archive_names_are_those_of_transformer_lens)
{
    char name[ATTN_SITE_ARCHIVE_NAME_SIZE];

    ck_assert_uint_eq(attn_site_archive_name(ATTN_SITE_PATTERN, 3, name), strlen(name));
    ck_assert_str_eq(name, "blocks.3.attn.hook_pattern");
    attn_site_archive_name(ATTN_SITE_MLP_POST, 0, name);
    ck_assert_str_eq(name, "blocks.0.mlp.hook_post");
    attn_site_archive_name(ATTN_SITE_LN_FINAL, ATTN_NO_LAYER, name);
    ck_assert_str_eq(name, "ln_final.hook_normalized");
}
END_TEST

START_TEST(a_failing_allocation_leaves_the_selection_as_it_was)
{
    for (long n = 0;; n++) {
        struct attn_selection *s = NULL;
        enum attn_status status;

        attn_alloc_fail_at(n);
        status = attn_selection_create(&dims, &s, NULL);
        if (status == ATTN_OK)
            status = attn_selection_set_layers(s, "1", NULL);
        if (status == ATTN_OK)
            status = attn_selection_set_heads(s, "1.2", NULL);
        if (status == ATTN_OK)
            status = attn_selection_set_queries(s, ATTN_STACK_ONLY, "3", NULL);
        attn_alloc_fail_off();
        attn_selection_free(s);
        if (status == ATTN_OK)
            break;
        ck_assert_int_eq(status, ATTN_NO_MEMORY);
        ck_assert_int_lt(n, 100);
    }
}
END_TEST

ATTN_SUITE("selection", number_lists_name_what_they_say,
           bad_lists_are_refused_with_the_valid_range_and_change_nothing,
           heads_may_be_given_with_their_layer, bad_head_lists_are_refused,
           kept_is_heads_and_layers, the_first_kept_head_replaces_all_and_the_next_are_added,
           a_kept_head_is_added_to_those_of_a_list,
           heads_that_are_not_there_are_refused_and_change_nothing,
           the_first_kept_queries_replace_all_and_the_next_are_added,
           queries_that_are_not_there_are_refused_and_change_nothing,
           a_key_value_head_is_kept_when_it_serves_a_kept_head, shapes_follow_the_selection,
           queries_of_an_encoder_are_positions_of_the_source,
           a_tower_has_what_its_prefix_names_and_a_picture_has_sizes_of_its_own,
           site_lists_take_names_aliases_and_globs,
           unknown_sites_are_refused_with_the_list_of_known_ones,
           sites_the_model_lacks_are_dropped_from_globs_and_refused_alone,
           archive_names_are_those_of_transformer_lens,
           a_failing_allocation_leaves_the_selection_as_it_was)
