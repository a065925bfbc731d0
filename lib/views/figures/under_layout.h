/*
 * under_layout.h - where words and tiles stand in a picture of all heads of one query, in which
 * each head is a tile under the word at which it looks most, or among those that look everywhere or
 * that park. Figures and the page draw by it.
 *
 * The heads of a small model stand under their strongest keys, sinks among them. Of many, most park
 * (measures/parks.h), and would hide the others: those are a number, and the others stand under
 * their strongest keys beside the sinks.
 *
 * The words stand in a line, as far apart as their tiles need, and the tiles in as few rows as the
 * room permits. Without room for that, the picture is a list of the words that have tiles.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { ATTN_UNDER_FEW = 48 }; /* most heads that all stand under their strongest keys */

enum attn_under_place { ATTN_UNDER_WORD, ATTN_UNDER_EVERYWHERE, ATTN_UNDER_PARKS };

struct attn_under_aim {
    enum attn_under_place place;
    size_t key;    /* with the largest weight; of many heads beside sinks */
    size_t sink;   /* the sink with the largest weight; SIZE_MAX: none has any */
    double beside; /* the largest weight on a key that is no sink, 0 to 1 */
};

/* Returns the aim of a row of WEIGHTS [n]; those that are NaN count as 0. IS_SINK [n]; NULL if
 * sinks are unknown. IS_OF_MANY: the model has more than ATTN_UNDER_FEW heads. What a row has less
 * than 1 is on a sink that is no key. */
struct attn_under_aim attn_under_aim_of(const float *weights, const bool *is_sink, size_t n,
                                        bool is_of_many);

/* A word and its tiles. */
struct attn_under_group {
    double word;  /* width of the word in a line */
    double label; /* width of the text before its tiles in a list */

    /* computed: */
    size_t n;        /* tiles */
    double x, width; /* left end, and width */
    double y;        /* top of the first row of tiles */
    size_t across;   /* tiles in a row */
};

struct attn_under_tile {
    size_t group; /* index of its group */
    double x, y;  /* computed: upper left corner */
};

struct attn_under_layout {
    /* [n_group] borrowed; those after the words have tiles without a word, and only a label */
    struct attn_under_group *groups;
    struct attn_under_tile *tiles; /* [n_tile] borrowed */
    size_t n_word, n_group, n_tile;
    double left, right;             /* ends of the room */
    double tile_width, tile_height; /* with the gap after a tile */
    double tile_gap;
    double gap, most_gap; /* between words, at least and at most */
    double line;          /* height of the label above a group that stands below the words */
    size_t most_rows;     /* of tiles under a line of words; 0: by their number */
    bool is_leftwards;    /* a line of words runs from right to left */
    bool is_list;         /* never a line of words */
    bool is_flowing;      /* in a list, groups follow each other like words of a text */

    /* computed: */
    bool is_line;  /* false: it is a list, in which words without tiles have no place */
    double end;    /* right end */
    double bottom; /* below the last tile, from the first row of tiles */
};

void attn_under_lay_out(struct attn_under_layout *layout);
