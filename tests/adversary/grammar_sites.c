/*
 * grammar_sites.c - lists of sites, as --sites takes them: names, other names, and globs with * and
 * ?.
 *
 * A valid list gives the sites that a matcher of our own finds.
 */
#include "tests/adversary/case.h"
#include "trace/trace_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ITEM = 5, N_NAME = ATTN_N_SITE + 3 };

/* The sites, then the three other names. */
static const struct {
    const char *name;
    enum attn_site site;
} names[N_NAME] = {
#define NAME_ROW(id, number, name, ...) {name, ATTN_SITE_##id},
    ATTN_SITE_MAP(NAME_ROW)
#undef NAME_ROW
        {"attention", ATTN_SITE_PATTERN},
    {"context", ATTN_SITE_Z},
    {"mixing", ATTN_SITE_MIXING_BAND},
};

static const char *const wrong[] = {
    "",   "nothing",   "Pattern", "pattern ",
    " z", "pattern.z", "q*q*q",   "????????????????????????????????",
    "z?", "resid_*x",  "0",       "blocks.0.attn.hook_z",
    "-",  "qkk"};
enum { N_WRONG = sizeof wrong / sizeof *wrong };

static const char *const defects[] = {"an item that names no site", "an empty list",
                                      "a name of 100 characters"};
enum { N_DEFECT = sizeof defects / sizeof *defects };

struct known {
    struct attn_site_set sites;
};

static bool matches(const char *glob, const char *name)
{
    if (*glob == '*')
        return matches(glob + 1, name) || (*name != '\0' && matches(glob, name + 1));
    if (*glob == '\0' || *name == '\0')
        return *glob == *name;
    return (*glob == '?' || *glob == *name) && matches(glob + 1, name + 1);
}

/* A name, some characters of it a '?', some of it a '*': it matches the name, and perhaps more. */
static void choose_item(struct attn_case *c, char item[64])
{
    const char *name = names[attn_case_below(c, N_NAME)].name;
    const bool is_glob = attn_case_chance(c, 60);
    size_t n = 0;

    for (size_t i = 0; name[i] != '\0'; i++) {
        if (is_glob && attn_case_chance(c, 10))
            item[n++] = '*';
        if (is_glob && attn_case_chance(c, 15))
            item[n++] = attn_case_chance(c, 70) ? '?' : '*';
        else
            item[n++] = name[i];
    }
    if (is_glob && attn_case_chance(c, 40))
        item[n++] = '*';
    item[n] = '\0';
}

static void put_wrong(struct attn_case *c, int defect, struct attn_buffer *out)
{
    if (defect == 0)
        attn_buffer_append_string(out, wrong[attn_case_below(c, N_WRONG)]);
    for (int i = 0; defect == 2 && i < 100; i++)
        attn_buffer_append_char(out, 'z');
}

static void make(struct attn_case *c)
{
    const struct attn_site_set rare = /* the model has none */
        ATTN_SITES(ATTN_SITE_PATTERN_DROPPED, ATTN_SITE_PATTERN_LOWRANK, ATTN_SITE_ROT_Q,
                   ATTN_SITE_ROT_K, ATTN_SITE_MLP_PRE_LINEAR, ATTN_SITE_NORMALIZED_RESID_MID,
                   ATTN_SITE_NORMALIZED_RESID_POST, ATTN_SITE_MLM_HEAD, ATTN_SITE_TEXT_EMBED,
                   ATTN_SITE_IMAGE_EMBED, ATTN_SITE_SENTENCE_EMBED, ATTN_SITE_CONTACTS,
                   ATTN_SITE_PICTURE_MAP, ATTN_SITE_PICTURE_MAP_TILES, ATTN_SITE_IMAGE_FEATURES,
                   ATTN_SITE_PIXEL_VALUES, ATTN_SITE_DEEPSTACK, ATTN_SITE_ROUTER_LOGITS,
                   ATTN_SITE_EXPERT_WEIGHTS, ATTN_SITE_EXPERT_INDICES, ATTN_SITE_GATE,
                   ATTN_SITE_MIXER_V, ATTN_SITE_MIXER_Q, ATTN_SITE_MIXER_K, ATTN_SITE_MIXER_GATE,
                   ATTN_SITE_DECAY, ATTN_SITE_BETA, ATTN_SITE_MIXING, ATTN_SITE_MIXING_BAND,
                   ATTN_SITE_MIXING_NORM, ATTN_SITE_MIXER_Z, ATTN_SITE_MIXER_OUT, ATTN_SITE_C2P,
                   ATTN_SITE_P2C, ATTN_SITE_CONV_OUT, ATTN_SITE_LAYER_INPUT, ATTN_SITE_LAYER_OUT,
                   ATTN_SITE_POOL_Q, ATTN_SITE_POOL_K, ATTN_SITE_POOL_V, ATTN_SITE_POOL_QK,
                   ATTN_SITE_POOL_ATTN_SCORES, ATTN_SITE_POOL_PATTERN, ATTN_SITE_POOL_Z);
    struct known *known = (struct known *)c->known.bytes;
    struct attn_buffer *out = attn_case_file(c, "list");
    const int defect = attn_case_defect(c, defects, N_DEFECT);
    struct attn_site_set sites, computed;
    bool is_shown = true;
    const size_t n = 1 + attn_case_below(c, MAX_ITEM), at = attn_case_below(c, n);

    for (size_t i = 0; i < n && defect != 1; i++) {
        char item[64];

        attn_buffer_append_string(out, i > 0 ? "," : "");
        if (defect >= 0 && i == at) {
            put_wrong(c, defect, out);
            continue;
        }
        choose_item(c, item);
        attn_buffer_append_string(out, item);
        sites = (struct attn_site_set){0};
        for (size_t k = 0; k < N_NAME; k++)
            if (matches(item, names[k].name))
                attn_sites_add(&sites, names[k].site);
        computed = attn_sites_without(sites, attn_sites_derived());
        if (!attn_sites_are_empty(computed)) /* a glob leaves the derived ones out */
            sites = computed;
        attn_sites_extend(&known->sites, sites);
        is_shown = is_shown && !attn_sites_are_empty(attn_sites_without(sites, rare));
        for (int site = 0; site < ATTN_N_SITE; site++) /* a run has them with a target alone */
            if (attn_sites_have(sites, site) && attn_site_is_of_metric((enum attn_site)site))
                is_shown = false;
    }
    /* An item of which the model has nothing is a mistake in usage there. */
    if (c->meant == ATTN_MEANT_REFUSED || is_shown)
        attn_case_run(c, 2, "run", "-q", "--sites=@list", "--ids", "1,2,3", "--npz", "out.npz",
                      NULL);
}

static enum attn_status take(struct attn_case *c, struct attn_error *err)
{
    const struct known *known = (const struct known *)c->known.bytes;
    const struct attn_buffer *bytes = attn_case_find(c, "list");
    char *list = attn_fuzz_string((const uint8_t *)bytes->data, bytes->size);
    struct attn_site_set sites = {0};
    const enum attn_status status = attn_sites_parse(list, &sites, err);

    if (c->meant == ATTN_MEANT_VALID)
        FUZZ_CHECK(attn_sites_are_equal(sites, known->sites));
    free(list);
    return status;
}

const struct attn_grammar attn_grammar_sites = {
    .name = "sites", .make = make, .take = take, .refused = FUZZ_BIT(ATTN_INVALID)};
