/* expected.c - see expected.h. */
#include "tests/support/expected.h"
#include "tests/support/assert.h"
#include "tests/support/npy.h"
#include "trace/trace_extra.h"

#include <stdio.h>

/* The arguments of one walk. */
struct walk {
    const char *folder;
    const struct attn_recording *recording;
    size_t row0;
    attn_expected_fn fn;
    void *user;
};

/* One file beside the record it speaks about. */
struct pair {
    enum attn_site site;
    int layer;
    size_t row0;
    const struct attn_recorded *record;
    struct attn_npy file;
};

/* Whether rows are counted head by head. */
static bool has_heads_first(enum attn_site site)
{
    return attn_site_layout(site) == ATTN_LAYOUT_MATRIX ||
           attn_site_layout(site) == ATTN_LAYOUT_RANK;
}

/* The axis of positions. */
static int position_axis(enum attn_site site)
{
    return has_heads_first(site) ? 1 : 0;
}

static void assert_same_shape(const struct pair *pair, const char *path)
{
    ck_assert_msg(pair->record->data != NULL, "'%s': the model lacks the site", path);
    ck_assert_msg(pair->file.rank == pair->record->rank, "'%s' has rank %d, the record %d", path,
                  pair->file.rank, pair->record->rank);
    for (int i = 0; i < pair->file.rank; i++) {
        const size_t found = pair->file.shape[i], whole = pair->record->shape[i];
        const bool is_part = i == position_axis(pair->site) && pair->row0 > 0;

        ck_assert_msg(is_part ? found + pair->row0 <= whole : found == whole,
                      "'%s': dimension %d is %zu, in the record %zu", path, i, found, whole);
    }
}

/* Row R of the file: rows of [H, T, S] are counted head by head, those of [T, H, n] by position. */
static void walk_row(const struct walk *walk, const struct pair *pair, size_t r)
{
    const struct attn_recorded *record = pair->record;
    const size_t *shape = pair->file.shape;
    struct attn_expected_row row = {.site = pair->site, .layer = pair->layer};
    size_t head = 0, at;

    if (pair->file.rank <= 2) {
        row.position = at = r + pair->row0;
        row.head = ATTN_ALL_HEADS;
    } else if (has_heads_first(pair->site)) {
        head = r / shape[1];
        row.position = r % shape[1] + pair->row0;
        at = head * record->shape[1] + row.position;
    } else {
        head = r % shape[1];
        row.position = r / shape[1] + pair->row0;
        at = row.position * record->shape[1] + head;
    }
    if (pair->file.rank == 3)
        row.head = (int)head;
    row.n = row.n_visible = shape[pair->file.rank - 1];
    if (record->is_causal && attn_site_layout(pair->site) == ATTN_LAYOUT_MATRIX)
        row.n_visible = row.position + 1;
    row.actual = record->data + at * row.n;
    row.expected = pair->file.values + r * row.n;
    walk->fn(walk->user, &row);
}

static size_t walk_site(const struct walk *walk, enum attn_site site, int layer)
{
    char name[ATTN_SITE_ARCHIVE_NAME_SIZE], path[512];
    struct pair pair = {.site = site, .layer = layer, .row0 = walk->row0};

    pair.record = attn_recording_find(walk->recording, site, layer);
    if (attn_site_layout(site) == ATTN_LAYOUT_KEY)
        pair.row0 = 0;
    attn_site_archive_name(site, layer, name);
    snprintf(path, sizeof path, "%s/%s.npy", walk->folder, name);
    if (!attn_npy_read(path, &pair.file))
        return 0;
    if (pair.row0 == (size_t)ATTN_EXPECTED_LAST_ROWS)
        pair.row0 = pair.record->shape[position_axis(site)] - pair.file.shape[position_axis(site)];
    assert_same_shape(&pair, path);
    for (size_t r = 0; r < pair.file.n / pair.file.shape[pair.file.rank - 1]; r++)
        walk_row(walk, &pair, r);
    attn_npy_release(&pair.file);
    return 1;
}

size_t attn_expected_each(const char *folder, const struct attn_recording *recording, size_t row0,
                          attn_expected_fn fn, void *user)
{
    const struct walk walk = {folder, recording, row0, fn, user};
    size_t n_site = walk_site(&walk, ATTN_SITE_EMBED, ATTN_NO_LAYER);

    for (size_t layer = 0; layer < recording->dims.n_layer; layer++)
        for (int site = 0; site < ATTN_N_SITE; site++)
            if (attn_site_is_in_layer((enum attn_site)site))
                n_site += walk_site(&walk, (enum attn_site)site, (int)layer);
    for (int site = 0; site < ATTN_N_SITE; site++)
        if (!attn_site_is_in_layer((enum attn_site)site) && site != ATTN_SITE_EMBED)
            n_site += walk_site(&walk, (enum attn_site)site, ATTN_NO_LAYER);
    return n_site;
}
