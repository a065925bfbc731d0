/*
 * site_set.h - what can be done with sets of sites, struct attn_site_set (dims.h).
 *
 *     struct attn_site_set sites = ATTN_SITES(ATTN_SITE_PATTERN, ATTN_SITE_Z);
 *     attn_sites_add(&sites, ATTN_SITE_V);
 *     if (attn_sites_have(sites, ATTN_SITE_Z))
 *         sites = attn_sites_without(sites, ATTN_SITES(ATTN_SITE_V));
 */
#pragma once

#include "trace/dims.h"
#include "trace/site.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The set of the listed sites, of which there must be at least one. */
#define ATTN_SITES(...)                                                                            \
    attn_sites_of((const enum attn_site[]){__VA_ARGS__},                                           \
                  sizeof((const enum attn_site[]){__VA_ARGS__}) / sizeof(enum attn_site))

/* Adds SITE to SET. A number that is no site is ignored. */
static inline void attn_sites_add(struct attn_site_set *set, enum attn_site site)
{
    if ((unsigned)site < ATTN_N_SITE)
        set->words[site / 64] |= (uint64_t)1 << site % 64;
}

static inline bool attn_sites_have(struct attn_site_set set, enum attn_site site)
{
    return (unsigned)site < ATTN_N_SITE && (set.words[site / 64] >> site % 64 & 1) != 0;
}

static inline struct attn_site_set attn_sites_of(const enum attn_site *sites, size_t n)
{
    struct attn_site_set set = {0};

    for (size_t i = 0; i < n; i++)
        attn_sites_add(&set, sites[i]);
    return set;
}

/* Returns the set of all sites. */
static inline struct attn_site_set attn_sites_all(void)
{
    struct attn_site_set set = {0};

    for (int site = 0; site < ATTN_N_SITE; site++)
        attn_sites_add(&set, (enum attn_site)site);
    return set;
}

/* Returns the sites that are in A or in B. */
static inline struct attn_site_set attn_sites_join(struct attn_site_set a, struct attn_site_set b)
{
    for (int i = 0; i < 4; i++)
        a.words[i] |= b.words[i];
    return a;
}

/* Adds all sites of OTHERS to SET. */
static inline void attn_sites_extend(struct attn_site_set *set, struct attn_site_set others)
{
    *set = attn_sites_join(*set, others);
}

/* Returns the sites that are in A but not in B. */
static inline struct attn_site_set attn_sites_without(struct attn_site_set a,
                                                      struct attn_site_set b)
{
    for (int i = 0; i < 4; i++)
        a.words[i] &= ~b.words[i];
    return a;
}

/* Returns the sites that are in both A and B. */
static inline struct attn_site_set attn_sites_common(struct attn_site_set a, struct attn_site_set b)
{
    return attn_sites_without(a, attn_sites_without(a, b));
}

static inline bool attn_sites_are_equal(struct attn_site_set a, struct attn_site_set b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

static inline bool attn_sites_are_empty(struct attn_site_set set)
{
    const struct attn_site_set none = {{0}};

    return attn_sites_are_equal(set, none);
}

/* Whether A and B have a site in common. */
static inline bool attn_sites_meet(struct attn_site_set a, struct attn_site_set b)
{
    return !attn_sites_are_empty(attn_sites_common(a, b));
}
