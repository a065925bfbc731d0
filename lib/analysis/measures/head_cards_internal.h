/*
 * head_cards_internal.h - fills and reads the cards of heads. For the library.
 *
 *     attn_head_cards_begin(cards, ats, n_head, &err);       // before the first text
 *     attn_card_reading_create(cards, n_query, &reading, &err);
 *     attn_card_reading_add(reading, head, &event);          // rows of the pattern
 *     attn_head_cards_add(cards, reading, &text, &err);      // the text is complete
 *     attn_head_cards_choose(cards);                         // after the last text
 *
 * The result does not depend on the order in which texts are added: sums are integers, and texts
 * are compared by their values and numbers. Memory does not grow with the number of texts: besides
 * the strongest texts of each head, a sample of the texts is kept.
 */
#pragma once

#include "base/buffer.h"
#include "formats/json_writer.h"
#include "measures/head_cards.h"
#include "run/item.h"
#include "run/run_internal.h"
#include "trace/location.h"
#include "trace/trace_internal.h"

#include <stdint.h>

enum {
    ATTN_PATTERN_SIDE = 24, /* tokens of the typical pattern */
    ATTN_CARD_EACH = 5,     /* texts of each part */
    ATTN_CARD_KEYS = 12,    /* largest weights of a row that are kept */
    ATTN_CARD_NEAR = 8,     /* ranges of distances on each side of 0 */
    ATTN_CARD_DISTANCES = 2 * ATTN_CARD_NEAR + 1,
    ATTN_CARD_SAMPLE = 256, /* texts of which the middle and the drawn ones are chosen */
    ATTN_CARD_WRITTEN = 5,  /* tokens that a key writes */
};

/* The smallest weight that is kept. */
#define ATTN_CARD_LEAST 0.005F

/* The parts of a card's texts: the strongest, those around the median, and drawn ones. */
enum attn_card_part { ATTN_CARD_STRONGEST, ATTN_CARD_MIDDLE, ATTN_CARD_DRAWN, ATTN_CARD_N_PART };

/* The tokens of a text. */
struct attn_card_text {
    bool has_texts;        /* tokens have texts; otherwise they are numbers */
    bool is_printed;       /* tokens are as they are printed; otherwise their bytes */
    uint64_t number;       /* number of the item */
    uint64_t draw;         /* random number by which texts are drawn; set by attn_head_cards_add */
    size_t n_user;         /* rows that refer to it; set by attn_head_cards_add */
    struct attn_buffer id; /* owns */
    size_t n_token, n_source;  /* tokens of the text, and of the source */
    struct attn_buffer tokens; /* owns; the tokens, then those of the source */
    size_t *ends;              /* [n_token + n_source] owns; where each token ends */
};

void attn_card_text_release(struct attn_card_text *text);

/* Shown for the second and later pieces of a character that is split into several tokens. */
#define ATTN_PIECE "\xc2\xb7"

/* Copies the tokens of RUN to TEXT, which must be {0}: as they are printed if IS_PRINTED, otherwise
 * their bytes in the vocabulary. ITEM may be NULL. Release TEXT after a failure, too. */
enum attn_status attn_card_text_read(const struct attn_run *run, const struct attn_item *item,
                                     bool is_printed, struct attn_card_text *text,
                                     struct attn_error *err);

/* Returns token I of TEXT; tokens of the source follow those of the text. */
const char *attn_card_token(const struct attn_card_text *text, size_t i, size_t *size);

/* Writes TEXT as {id, tokens, source}, printable. */
void attn_card_text_push(struct attn_json_writer *json, const struct attn_card_text *text);

struct attn_card_key {
    uint32_t key;
    float weight;
};

/* Stores the N_MOST largest weights of ROW, of equal ones the first, in KEYS [row.n], in the order
 * of their keys. Returns their number. */
size_t attn_card_keys_read(struct attn_row row, size_t n_most, struct attn_card_key *keys);

/* The row of a text in which a head looks most strongly at a key that is neither a park nor the
 * query itself or, in a source, neither the first nor the last (attn_metric_find_key). */
struct attn_card_row {
    struct attn_card_text *text; /* NULL: none */
    double value;                /* weight of that key */
    uint32_t query, key;
    uint32_t n_key;
    struct attn_card_key keys[ATTN_CARD_KEYS]; /* [n_key] keys in ascending order */
    float *vector; /* [n_vector] owns; value vector of the key, of the strongest texts; or NULL */
};

/* The tokens that a key writes: those whose logits the head's output raises most if it looks at
 * that key alone. */
struct attn_card_writing {
    struct attn_buffer key;                       /* owns; the key's token; all are printable */
    struct attn_buffer tokens[ATTN_CARD_WRITTEN]; /* own */
    size_t n_token;
};

struct attn_card_head {
    struct attn_location at;
    bool is_cross;     /* keys are positions of the source */
    bool is_of_source; /* a head of the encoder beside a decoder: its text is the source */
    size_t n_text;     /* texts with a value */
    uint64_t n_row;    /* rows of which distances are counted */
    /* Sums of weights, each times 2^32. A distance is the number of positions from the key to the
     * query; see attn_card_distance_name. */
    int64_t cells[ATTN_PATTERN_SIDE * ATTN_PATTERN_SIDE];
    uint32_t n_cell[ATTN_PATTERN_SIDE * ATTN_PATTERN_SIDE];
    int64_t distances[ATTN_CARD_DISTANCES];
    struct attn_card_row strongest[ATTN_CARD_EACH]; /* the largest value first; own vectors */
    struct attn_card_row *sample; /* [ATTN_CARD_SAMPLE] owns; parallel to the sample of texts */
    size_t capacity;              /* of `sample` */
    /* after attn_head_cards_choose; borrowed from `strongest` and `sample` */
    const struct attn_card_row *rows[ATTN_CARD_N_PART][ATTN_CARD_EACH];
    size_t n[ATTN_CARD_N_PART];
    struct attn_card_writing writings[ATTN_CARD_EACH]; /* [n_writing] own */
    size_t n_writing;
};

struct attn_monitor;

struct attn_head_cards {
    struct attn_monitor *monitor; /* owns; held while a text is added */
    struct attn_card_head *heads; /* [n_head] owns */
    size_t n_head;
    struct attn_card_text *sample[ATTN_CARD_SAMPLE]; /* [n_sample] own */
    size_t n_sample, n_text, n_vector;
    bool has_all; /* the sample has all texts */
};

/* Gives CARDS the heads ATS [n]. N_VECTOR is the width of a value vector; 0: none are kept. */
enum attn_status attn_head_cards_begin(struct attn_head_cards *cards,
                                       const struct attn_location *ats, size_t n, size_t n_vector,
                                       struct attn_error *err);

/* What the heads do in one text. */
struct attn_card_reading;

/* Creates a reading of a text. N_KEY is the largest number of keys. SOURCE_MASK is borrowed; NULL:
 * no key is masked. The caller frees *reading. */
enum attn_status attn_card_reading_create(const struct attn_head_cards *cards, size_t n_key,
                                          const int32_t *source_mask,
                                          struct attn_card_reading **reading,
                                          struct attn_error *err);
void attn_card_reading_free(struct attn_card_reading *reading); /* NULL is allowed */

/* Says where the text and the encoder's text park weight (measures/parks.h), before the first row.
 * Both are borrowed; NULL: on the first key. */
void attn_card_reading_park(struct attn_card_reading *reading, const bool *const is_parked[2]);

/* Keeps the value vectors of EVENT, an event of v, for the rows of the same layer. */
enum attn_status attn_card_reading_keep(struct attn_card_reading *reading,
                                        const struct attn_trace_event *event,
                                        struct attn_error *err);

/* Adds the rows of EVENT, an event of the pattern, to the head with index HEAD. KV_HEAD is its
 * key/value head. */
void attn_card_reading_add(struct attn_card_reading *reading, size_t head, int kv_head,
                           bool is_cross, const struct attn_trace_event *event);

/* Adds READING, which is complete, and TEXT, which becomes empty. May be called on any thread. */
enum attn_status attn_head_cards_add(struct attn_head_cards *cards,
                                     struct attn_card_reading *reading, struct attn_card_text *text,
                                     struct attn_error *err);

/* Chooses the texts of each head: the strongest; those in the middle, and the drawn ones, both of
 * the rest of the sample. */
void attn_head_cards_choose(struct attn_head_cards *cards);

/* Returns the index in CARDS of the head that AT names, or SIZE_MAX if CARDS lacks it. */
size_t attn_head_cards_find(const struct attn_head_cards *cards, const struct attn_location *at);

/* Returns the mean weight of a cell of the pattern; NaN if it is masked in all texts. */
float attn_card_cell(const struct attn_card_head *head, size_t query, size_t key);

/* Returns the share of the weight at distance I, below ATTN_CARD_DISTANCES. */
double attn_card_distance(const struct attn_card_head *head, size_t i);

/* Returns the name of distance I: "-2" for a key after the query, "0", "3-4", "65+". */
const char *attn_card_distance_name(size_t i);
