/* test_picture_maps.c - the cells that maps over a picture in a text show: those of its tiles, of
 * the whole picture, or both in one map. */
#include "tests/support/suite.h"
#include "towers/maps/picture_maps.h"
#include "towers/prompt/picture_prompt.h"

enum { N_POSITION = 8, WHOLE = 1, TILES = 3, N_WHOLE = 2, N_TILE = 3 };

/* A text of 8 positions: the whole picture in 1 x 2 cells, then its tiles in 1 x 3, then words. */
struct subject {
    struct attn_prompt_image image;
    unsigned char region[N_POSITION];
    int32_t image_of[N_POSITION];
    struct attn_sequence text;
    struct attn_selection *selection;
    struct attn_picture_maps *maps;
};

/* Opens S with two heads of one layer, whose last row has the weights ROWS. */
static void open_subject(struct subject *s, float rows[2][N_POSITION])
{
    const struct attn_dims dims = {.n_layer = 1,
                                   .n_head = 2,
                                   .n_kv_head = 2,
                                   .n_position = N_POSITION,
                                   .sites = ATTN_SITES(ATTN_SITE_PATTERN)};
    struct attn_error err;

    *s = (struct subject){.image = {.n_picture = 4,
                                    .rows = 1,
                                    .columns = N_WHOLE,
                                    .joined.side = 1,
                                    .grid_rows = 1,
                                    .grid_cols = N_TILE,
                                    .n_cell = N_WHOLE + N_TILE}};
    for (size_t i = 0; i < N_POSITION; i++) {
        const bool is_cell = i >= WHOLE && i < TILES + N_TILE;

        s->region[i] = is_cell ? ATTN_REGION_PICTURE : ATTN_REGION_OTHER;
        s->image_of[i] = is_cell ? 0 : -1;
    }
    s->text = (struct attn_sequence){.n = N_POSITION,
                                     .seen = {.images = &s->image,
                                              .n_image = 1,
                                              .n_picture = 4,
                                              .n_cell = N_WHOLE + N_TILE,
                                              .n_row = N_WHOLE + N_TILE,
                                              .region = s->region,
                                              .image_of = s->image_of,
                                              .n_prompt = N_POSITION}};
    ck_assert_int_eq(attn_selection_create(&dims, &s->selection, &err), ATTN_OK);
    ck_assert_int_eq(
        attn_picture_maps_create(
            &(struct attn_picture_maps_args){.text = &s->text, .selection = s->selection}, &s->maps,
            &err),
        ATTN_OK);
    for (int head = 0; head < 2; head++) {
        const struct attn_trace_event event = {.at = {.site = ATTN_SITE_PATTERN, .head = head},
                                               .row0 = N_POSITION - 1,
                                               .n_row = 1,
                                               .n_col = N_POSITION,
                                               .ld = N_POSITION,
                                               .data = rows[head]};

        attn_picture_maps_add(s->maps, &event);
    }
}

static void close_subject(struct subject *s)
{
    attn_picture_maps_free(s->maps);
    attn_selection_free(s->selection);
}

START_TEST(each_cell_of_the_whole_picture_adds_its_weight_to_the_tiles_that_it_covers)
{
    float rows[2][N_POSITION] = {{0, 0.3F, 0.15F, 0.1F, 0.2F, 0.05F, 0, 0.2F}};
    const struct attn_location at = {.site = ATTN_SITE_PICTURE_MAP};
    struct attn_map_choice choice = {0, ATTN_PICTURE_MEAN, ATTN_MAP_WHOLE};
    double map[N_TILE];
    struct subject s;
    size_t size[2];

    open_subject(&s, rows);
    attn_picture_maps_fill(s.maps, &at, choice, map);
    ck_assert_double_eq_tol(map[0], 0.3, 1e-7);
    ck_assert_double_eq_tol(map[1], 0.15, 1e-7);
    choice.layer = ATTN_MAP_TILES;
    attn_picture_maps_fill(s.maps, &at, choice, map);
    ck_assert_double_eq_tol(map[1], 0.2, 1e-7);
    choice.layer = ATTN_MAP_BOTH;
    attn_picture_maps_size(s.maps, 0, choice.layer, size);
    ck_assert_uint_eq(size[0], 1);
    ck_assert_uint_eq(size[1], N_TILE);
    /* each cell of the whole picture covers one tile and half of the one in the middle */
    attn_picture_maps_fill(s.maps, &at, choice, map);
    ck_assert_double_eq_tol(map[0], 0.1 + 0.3 * 2 / 3, 1e-7);
    ck_assert_double_eq_tol(map[1], 0.2 + 0.3 / 3 + 0.15 / 3, 1e-7);
    ck_assert_double_eq_tol(map[2], 0.05 + 0.15 * 2 / 3, 1e-7);
    close_subject(&s);
}
END_TEST

START_TEST(the_usual_layer_has_more_weight_in_the_mean_of_the_heads)
{
    static const struct {
        float whole[2], tiles[2]; /* of each head */
        size_t n;                 /* heads that are shown */
        enum attn_map_layer layer;
    } cases[] = {
        {{0.1F, 0}, {0.7F, 0}, 1, ATTN_MAP_TILES},
        {{0.7F, 0}, {0.1F, 0}, 1, ATTN_MAP_WHOLE},
        {{0.21F, 0}, {0.79F, 0}, 1, ATTN_MAP_BOTH},
        {{0.79F, 0}, {0.21F, 0}, 1, ATTN_MAP_BOTH},
        {{0.19F, 0}, {0.81F, 0}, 1, ATTN_MAP_TILES},
        {{0.81F, 0}, {0.19F, 0}, 1, ATTN_MAP_WHOLE},
        {{0.1F, 0.8F}, {0.7F, 0.1F}, 2, ATTN_MAP_BOTH},
        {{0.02F, 0.1F}, {0.1F, 0.8F}, 2, ATTN_MAP_TILES},
        {{0, 0}, {0, 0}, 2, ATTN_MAP_TILES},
    };
    static const struct attn_location ats[] = {{.site = ATTN_SITE_PICTURE_MAP},
                                               {.site = ATTN_SITE_PICTURE_MAP, .head = 1}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float rows[2][N_POSITION] = {{0}};
        struct subject s;

        for (int head = 0; head < 2; head++) {
            rows[head][WHOLE] = cases[i].whole[head];
            rows[head][TILES + 2] = cases[i].tiles[head];
        }
        open_subject(&s, rows);
        ck_assert_msg(attn_picture_maps_usual_layer(s.maps, 0, ats, cases[i].n) == cases[i].layer,
                      "case %zu", i);
        close_subject(&s);
    }
}
END_TEST

ATTN_SUITE("picture_maps",
           each_cell_of_the_whole_picture_adds_its_weight_to_the_tiles_that_it_covers,
           the_usual_layer_has_more_weight_in_the_mean_of_the_heads)
