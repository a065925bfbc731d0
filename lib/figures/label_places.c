/* label_places.c - see label_places.h. The sheet is a raster of whole units; each unit stores the
 * label or point that covers it. */
#include "figures/label_places.h"

#include "base/memory.h"

#include <math.h>
#include <stdint.h>

enum {
    N_NEAR = 16,      /* places beside a point */
    N_DIRECTION = 32, /* directions of places farther away */
    N_RING = 10,      /* distances of such places */
    FIRST_RING = 18,
    RING_STEP = 12,
    ASIDE = 3,         /* gap between a point and a label at its side */
    ABOVE = 1,         /* gap between a point and a label above or below */
    APART = 2,         /* gap between two labels on a line */
    MOST_MOVED = 2,    /* maximum labels that are moved to make room for one */
    MOST_TRIED = 4096, /* maximum moves on a sheet, so that many equal points take little time */
};

/* Owner of a unit of the raster; other values are 1 + the index of a label. */
#define FREE UINT32_C(0)
#define BLOCKED UINT32_MAX

/* A rectangle of whole units of the sheet. */
struct units {
    size_t left, top, right, bottom;
};

struct raster {
    const struct attn_label_sheet *sheet;
    struct attn_point_label *labels; /* borrowed */
    size_t width, height;
    uint32_t *owners; /* [height, width] owns; FREE, BLOCKED, or 1 + the index of a label */
    size_t n_tried;
};

static size_t clamp(double value, size_t most)
{
    return value <= 0 ? 0 : value >= (double)most ? most : (size_t)value;
}

/* Returns the units that BOX touches; WIDER is added at the left and at the right. */
static struct units units_of(const struct raster *raster, const double box[4], double wider)
{
    const struct attn_label_sheet *sheet = raster->sheet;

    return (struct units){clamp(floor(box[0] - sheet->left - wider), raster->width),
                          clamp(floor(box[1] - sheet->top), raster->height),
                          clamp(ceil(box[2] - sheet->left + wider), raster->width),
                          clamp(ceil(box[3] - sheet->top), raster->height)};
}

static void mark(struct raster *raster, const double box[4], uint32_t owner)
{
    const struct units units = units_of(raster, box, 0);

    for (size_t y = units.top; y < units.bottom; y++)
        for (size_t x = units.left; x < units.right; x++)
            raster->owners[y * raster->width + x] = owner;
}

static void mark_label(struct raster *raster, size_t i)
{
    mark(raster, raster->labels[i].box, (uint32_t)i + 1);
}

/* Returns the owner of the units of BOX: FREE, the only label in it, or BLOCKED if there are
 * several or BOX leaves the sheet. */
static uint32_t owner_of(const struct raster *raster, const double box[4])
{
    const struct attn_label_sheet *sheet = raster->sheet;
    const struct units units = units_of(raster, box, APART);
    uint32_t owner = FREE;

    if (box[0] < sheet->left || box[1] < sheet->top || box[2] > sheet->left + sheet->width ||
        box[3] > sheet->top + sheet->height)
        return BLOCKED;
    for (size_t y = units.top; y < units.bottom; y++)
        for (size_t x = units.left; x < units.right; x++) {
            const uint32_t here = raster->owners[y * raster->width + x];

            if (here == FREE || here == owner)
                continue;
            if (here == BLOCKED || owner != FREE)
                return BLOCKED;
            owner = here;
        }
    return owner;
}

/* Sets the box of LABEL. ACROSS and DOWN, -1 to 1, are its direction from the point; ASIDE and
 * ABOVE are its horizontal and vertical distance. */
static void set_box(const struct attn_label_sheet *sheet, struct attn_point_label *label,
                    double across, double down, double aside, double above)
{
    label->box[0] = label->x + (across - 1) * label->width / 2 + across * aside;
    label->box[1] = label->y + (down - 1) * sheet->line / 2 + down * above;
    label->box[2] = label->box[0] + label->width;
    label->box[3] = label->box[1] + sheet->line;
}

/* Sets the box of LABEL to place K beside its point: right, left, above, below, the corners, then
 * places between these. */
static void set_near(const struct attn_label_sheet *sheet, struct attn_point_label *label, int k)
{
    static const double across[N_NEAR] = {1, -1, 0,  0,  1,   1,   -1,   -1,
                                          1, 1,  -1, -1, 0.5, 0.5, -0.5, -0.5};
    static const double down[N_NEAR] = {0,    0,   -1,   1,   -1, 1, -1, 1,
                                        -0.5, 0.5, -0.5, 0.5, -1, 1, -1, 1};

    set_box(sheet, label, across[k], down[k], sheet->radius + ASIDE, sheet->radius + ABOVE);
}

/* Places label I beside its point if a place is free. Returns true if it was placed. */
static bool place_free(struct raster *raster, size_t i)
{
    struct attn_point_label *label = &raster->labels[i];

    for (int k = 0; k < N_NEAR && !label->is_placed; k++) {
        set_near(raster->sheet, label, k);
        label->is_placed = owner_of(raster, label->box) == FREE;
    }
    if (label->is_placed)
        mark_label(raster, i);
    return label->is_placed;
}

/* Places label I beside its point: at a free place, or at the place of one other label, which is
 * then moved elsewhere. At most DEPTH labels move in turn. */
static bool place_near(struct raster *raster, size_t i, int depth)
{
    struct attn_point_label *label = &raster->labels[i];

    if (place_free(raster, i) || depth == 0)
        return label->is_placed;
    for (int k = 0; k < N_NEAR && !label->is_placed; k++) {
        uint32_t owner;
        struct attn_point_label *other, before;

        set_near(raster->sheet, label, k);
        owner = owner_of(raster, label->box);
        if (owner == FREE || owner == BLOCKED)
            continue;
        other = &raster->labels[owner - 1];
        /* an owner without a place is just being moved */
        if (!other->is_placed || raster->n_tried == MOST_TRIED)
            continue;
        raster->n_tried++;
        before = *other;
        mark(raster, other->box, FREE);
        mark_label(raster, i);
        other->is_placed = false;
        label->is_placed = place_near(raster, owner - 1, depth - 1);
        if (label->is_placed)
            continue;
        mark(raster, label->box, FREE);
        *other = before;
        mark_label(raster, owner - 1);
    }
    return label->is_placed;
}

/* Sets the end of the line from the point to LABEL. Returns false if the line would cross a label
 * or another point. */
static bool set_line(const struct raster *raster, struct attn_point_label *label)
{
    const struct attn_label_sheet *sheet = raster->sheet;
    double away[2], length;

    label->end[0] = fmin(fmax(label->x, label->box[0] - 1), label->box[2] + 1);
    label->end[1] = fmin(fmax(label->y, label->box[1]), label->box[3]);
    away[0] = label->end[0] - label->x;
    away[1] = label->end[1] - label->y;
    length = sqrt(away[0] * away[0] + away[1] * away[1]);
    for (int k = 0; sheet->radius + 2 + k < length; k++) {
        const double at = sheet->radius + 2 + k;
        const double x = floor(label->x + away[0] * at / length - sheet->left);
        const double y = floor(label->y + away[1] * at / length - sheet->top);

        if (x >= 0 && y >= 0 && x < (double)raster->width && y < (double)raster->height &&
            raster->owners[(size_t)y * raster->width + (size_t)x] != FREE)
            return false;
    }
    return true;
}

/* Blocks the raster along the line to LABEL. */
static void mark_line(struct raster *raster, const struct attn_point_label *label)
{
    enum { N_PART = 16 };

    for (int k = 1; k <= N_PART; k++) {
        const double x = label->x + (label->end[0] - label->x) * k / N_PART;
        const double y = label->y + (label->end[1] - label->y) * k / N_PART;

        mark(raster, (double[]){x - 1, y - 1, x + 1, y + 1}, BLOCKED);
    }
}

/* Returns the cosine of K / N_DIRECTION of a full turn, bit-identical on all machines. */
static double cosine(int k)
{
    static const double quarter[] = {1, 0.9808, 0.9239, 0.8315, 0.7071, 0.5556, 0.3827, 0.1951, 0};
    enum { N_QUARTER = N_DIRECTION / 4 };
    const int part = k % N_QUARTER;

    switch (k / N_QUARTER % 4) {
    case 0:
        return quarter[part];
    case 1:
        return -quarter[N_QUARTER - part];
    case 2:
        return -quarter[part];
    default:
        return quarter[N_QUARTER - part];
    }
}

/* Places label I away from its point, at the end of a line, as near as possible. */
static void place_far(struct raster *raster, size_t i)
{
    struct attn_point_label *label = &raster->labels[i];

    for (int k = 0; k < N_RING * N_DIRECTION && !label->is_placed; k++) {
        const int direction = k % N_DIRECTION;
        const int ring = k / N_DIRECTION;
        const double distance = FIRST_RING + RING_STEP * ring;

        set_box(raster->sheet, label, cosine(direction), cosine(direction + 3 * N_DIRECTION / 4),
                distance, distance);
        label->is_placed = owner_of(raster, label->box) == FREE && set_line(raster, label);
    }
    if (!label->is_placed)
        return;
    label->has_line = true;
    mark_line(raster, label);
    mark_label(raster, i);
}

enum attn_status attn_label_places_find(const struct attn_label_sheet *sheet,
                                        struct attn_point_label *labels, size_t n,
                                        struct attn_error *err)
{
    const double r = sheet->radius;
    struct raster raster = {.sheet = sheet,
                            .labels = labels,
                            .width = (size_t)ceil(sheet->width),
                            .height = (size_t)ceil(sheet->height)};

    ATTN_TRY(ATTN_ALLOC(raster.owners, raster.width * raster.height, err));
    for (size_t i = 0; i < n; i++)
        mark(&raster,
             (double[]){labels[i].x - r, labels[i].y - r, labels[i].x + r, labels[i].y + r},
             BLOCKED);
    for (size_t i = 0; i < sheet->n_taken; i++)
        mark(&raster, sheet->taken[i], BLOCKED);
    for (size_t i = 0; i < n; i++)
        if (labels[i].width > 0)
            place_near(&raster, i, MOST_MOVED);
    for (size_t i = 0; i < n; i++)
        if (labels[i].width > 0 && !labels[i].is_placed)
            place_far(&raster, i);
    attn_free(raster.owners);
    return ATTN_OK;
}
