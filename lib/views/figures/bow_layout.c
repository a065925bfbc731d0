/* bow_layout.c - see bow_layout.h. */
#include "figures/bow_layout.h"

#include "base/elementary.h"
#include "base/text/number.h"

#include <math.h>
#include <stdlib.h>

#define STEEP 0.6 /* the height grows with this power of the distance */

/* The bows on one side of the query. */
struct side {
    double width, away; /* of all bows, with gaps; and the distance of the farthest key */
    double inner;       /* width of those that have their feet */
};

/* Sets SIDES to the bows left and right of the query. */
static void find_sides(const struct attn_bow *bows, size_t n, double gap, struct side sides[2])
{
    sides[0] = sides[1] = (struct side){0};
    for (size_t i = 0; i < n; i++) {
        struct side *side = &sides[bows[i].away > 0];

        if (bows[i].away == 0)
            continue;
        side->width += bows[i].width + gap;
        side->away = fmax(side->away, fabs(bows[i].away));
    }
}

/* Nearest to the query first. */
static int compare_distances(const void *a, const void *b)
{
    const struct attn_bow *p = a, *q = b;
    const int order = attn_compare_numbers(fabs(p->away), fabs(q->away));

    return order != 0 ? order : p->key < q->key ? -1 : p->key > q->key;
}

/* The feet stand side by side. The nearer a key is, the farther its foot from the middle and the
 * lower its bow, so that no bow crosses or covers another: near their feet such curves rise by the
 * root of their length. */
void attn_bows_lay_out(struct attn_bow *bows, size_t n, double widest, double crown)
{
    const double gap = fmin(1.5, ATTN_BOW_GAPS / fmax(1, (double)n));
    struct side sides[2];
    double most, half;

    find_sides(bows, n, 0, sides);
    most = fmax(sides[0].width, sides[1].width);
    for (size_t i = 0; i < n; i++)
        bows[i].width *= fmin(1, widest / fmax(1, most));
    find_sides(bows, n, gap, sides);
    half = (sides[0].width + sides[1].width - gap) / 2;
    qsort(bows, n, sizeof *bows, compare_distances);
    for (size_t i = 0; i < n; i++) {
        struct attn_bow *bow = &bows[i];
        struct side *side = &sides[bow->away > 0];
        const double within = side->inner + bow->width / 2, away = fabs(bow->away);

        if (away == 0)
            continue;
        bow->foot = bow->away < 0 ? within - half : half - within;
        bow->high =
            fmin(crown, 18 + 0.3 * side->away) * attn_pow(away / side->away, STEEP) + within;
        side->inner += bow->width + gap;
    }
}
