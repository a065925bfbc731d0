/*
 * page_internal.h - interfaces between the parts of a page, which page_writer.c joins.
 *
 * A page is one document of JSON in a frame of styles and scripts (page_frame.c). The document has,
 * in this order,
 *
 *     schema, version, theme, nothing, colormaps     nothing: colors of cells without a value
 *     table, examples, atlas  of a question (page_question.c; heads/examples_page.c)
 *     model, ..., tensors     a run, its tokens and how it is shown first (attn_page_push_run)
 *     vectors, maps, picture, parks, ..., heads, predictions   what was found
 *     live, story, language   of a live page (page_live.c)
 *
 * of which a page has those that it needs. Tensors have their names in archives: {site, stack,
 * layer, shape [head, row, column], form, data}, where data has a string for each head by its
 * number: base64 of raw deflate (page_data.c). The forms are float32, least byte first, and levels
 * (page_writer.c), `root8` of one byte and `root16` of two. shared.js reads the document.
 */
#pragma once

#include "figures/table_picture.h"
#include "formats/json_writer.h"
#include "measures/analysis_internal.h"
#include "measures/head_kind.h"
#include "pictures/colormap_internal.h"
#include "pictures/levels.h"
#include "tensors/token_text.h"
#include "tensors/writer.h"

#include <string.h>

/* --- Heads (page_heads.c) -------------------------------------------------------------------- */

/*
 * For each head, while its rows arrive, the page collects measures and the kind that follows from
 * them, and the cells that levels cannot encode. Its weights are in its data block, from which the
 * viewer draws its thumbnail.
 *
 * A level encodes a weight in a byte: 0 is masked, otherwise 1 + round(254 sqrt(w)).
 */

/* X(ID): measures of a head, in the order in which the page lists them. */
#define ATTN_PAGE_MEASURE_MAP(X) X(FIRST) X(PREVIOUS) X(SELF) X(ENTROPY) X(FAR)

enum {
    ATTN_PAGE_MOST_CELLS = 160000000, /* maximum cells of the patterns of all heads, or of one of
                                         a page that pools some */
    ATTN_PAGE_WHOLE_CELLS = 32000000, /* up to this number no head is pooled */
    ATTN_PAGE_MOST_BYTES = 16000000,  /* maximum text of the blocks of heads that are not pooled */
    ATTN_PAGE_POOLED = 128,           /* maximum cells of a side of a head that is pooled */
};

struct attn_page_head {
    struct attn_location at; /* location in events */
    int group, number;       /* layer and head; for arrays, batch and head */
    bool is_source;          /* its keys are positions of a source */
    bool is_encoder; /* a head of an encoder: its queries are positions of the source, too */
    bool is_pooled;  /* the page has its rows pooled */
    size_t n_row, n_column;
    /* Of a page that pools some heads: */
    struct attn_sink *block; /* owns; the block of the whole rows; NULL: not kept */
    size_t n_byte;           /* its bytes */
    size_t step;             /* step x step cells of its rows are pooled; 0: none */
    size_t n_pooled_col;     /* number of pooled columns */
    unsigned char *pooled;   /* [n_pooled] levels of the pooled cells */
    size_t n_pooled;
    struct attn_mean_cell *line;      /* [n_pooled_col] the current pooled row */
    double values[ATTN_MOST_MEASURE]; /* NaN if unknown; set by attn_page_heads_end */
    /* of a live page over a corpus, otherwise of the run; kind NULL: unknown */
    struct attn_head_type type;
    size_t n_outside; /* number of weights below 0 or above 1 */
    /* "row,column,n" for each run of cells with NaN or infinity, as JSON */
    struct attn_buffer not_finite;
};

/* Initialize with = {0}; end with attn_page_heads_release, after a failed _init too. */
struct attn_page_heads {
    struct attn_store *store;     /* owns; has the arrays, also of each head */
    struct attn_page_head *items; /* [n] sorted by layer and head */
    size_t n, n_cell;             /* number of heads, and of cells of all heads with rows */
    size_t n_largest, n_widest;   /* most cells, and most columns, of a head */
    size_t n_whole;               /* number of heads whose rows are not pooled */
    const struct attn_selection *selection; /* borrowed; selection of the page */
    size_t *first_of_layer;                 /* [n_layer] */
    struct attn_measure_group measures;     /* owns */
    struct attn_measure_group of_encoder;   /* owns; of the heads of an encoder beside a decoder */
    struct attn_selection *encoder;         /* owns; the selection of these heads, or NULL */
};

enum attn_status attn_page_heads_init(struct attn_page_heads *heads, struct attn_writer *writer,
                                      struct attn_error *err);
void attn_page_heads_release(struct attn_page_heads *heads);

/* Prepares all heads to be pooled. */
enum attn_status attn_page_heads_pool(struct attn_page_heads *heads, struct attn_error *err);

/* Pools heads whose blocks are complete until the others have at most ATTN_PAGE_MOST_BYTES. First
 * go those whose place among the heads is the lowest in each of the kinds but `first`: an induction
 * head stays, though it gives most of its weight to the first token. The last one stays. */
void attn_page_heads_choose(struct attn_page_heads *heads);

/* Appends "61 of 270 heads have all cells, ..." if the page pools some. */
void attn_page_heads_append_pooled(const struct attn_page_heads *heads, struct attn_buffer *out);

/* Adds all rows of an event of the pattern to the measures of its head. Returns the head. */
struct attn_page_head *attn_page_heads_take(struct attn_page_heads *heads,
                                            const struct attn_trace_event *event,
                                            const struct attn_place *place);

/* Notes the cells of ROW that levels cannot encode. WEIGHTS [n_weight] are NaN where masked; later
 * columns are masked. */
void attn_page_head_take_row(struct attn_page_head *head, size_t row, const float *weights,
                             size_t n_weight);

/* Adds row R of EVENT, ROW of HEAD, to its pooled cells: means over rows of the
 * largest weight of a row, as in a terminal. A row with a single key, whose weight is 1, is left
 * out of cells with later rows. */
void attn_page_head_pool(struct attn_page_head *head, size_t row,
                         const struct attn_trace_event *event, size_t r);

/* Gives the heads without a type that of MIXES (writer options). Call after the last event. */
void attn_page_heads_type(struct attn_page_heads *heads, struct attn_head_mixes *const *mixes);

/* Sets the measures of HEAD. Call after its last row. */
void attn_page_heads_end(struct attn_page_heads *heads, struct attn_page_head *head);

/* Returns the level of a weight, given its SQUARE_ROOT, 0 to 1. TOP is 254, or 65534 for two
 * bytes. */
static inline unsigned attn_page_level(float square_root, float top)
{
    return 1 + (unsigned)(square_root * top + 0.5F);
}

/* --- Data (page_data.c) ---------------------------------------------------------------------- */

/*
 * The data blocks of a page: bytes compressed as raw deflate in base64, between pieces of text.
 *
 *     attn_page_data_create(pool, sink, &data, &err);
 *     attn_page_data_begin(data, &text);
 *     for each row:
 *         memcpy(attn_page_data_reserve(data, n), row, n);        // NULL: no memory
 *         attn_page_data_flush(data, &err);                       // now and then
 *     attn_page_data_end(data);
 *     attn_page_data_finish(data, &err);                          // all that waits is written
 *
 * Bytes are collected until there is work for all threads of the pool, which deflate pieces of 64
 * KiB independently. Each piece but the last ends with a full flush and is padded with empty blocks
 * to a multiple of 3 bytes, so that the base64 texts of pieces can be concatenated.
 */

struct attn_page_data;

/* POOL, which may be NULL, and SINK are borrowed. The caller frees *DATA. */
enum attn_status attn_page_data_create(struct attn_pool *pool, struct attn_sink *sink,
                                       struct attn_page_data **data, struct attn_error *err);

/* Begins a block after the JSON text BEFORE, which is embedded and emptied. */
void attn_page_data_begin(struct attn_page_data *data, struct attn_buffer *before);

/* Returns memory for N more bytes of the block, valid until the next call; NULL after a failure,
 * which attn_page_data_flush and attn_page_data_finish report. */
unsigned char *attn_page_data_reserve(struct attn_page_data *data, size_t n);

void attn_page_data_end(struct attn_page_data *data);

/* Writes an element with the id ID that holds BYTES [n], compressed as well as zlib can. */
enum attn_status attn_page_data_add(struct attn_page_data *data, const char *id, const void *bytes,
                                    size_t n, struct attn_error *err);

/* Writes the waiting pieces if there are enough. The caller checks the sink for errors. */
enum attn_status attn_page_data_flush(struct attn_page_data *data, struct attn_error *err);

/* Writes all waiting pieces. No block may be open. */
enum attn_status attn_page_data_finish(struct attn_page_data *data, struct attn_error *err);

void attn_page_data_free(struct attn_page_data *data); /* NULL is allowed */

/* Appends JSON to OUT, and empties it. `<`, `>`, `&` and line separators, which occur only in
 * strings, are escaped, so that no text can end the element of the document. */
void attn_page_embed(struct attn_buffer *out, struct attn_buffer *json);

/* --- A question (page_question.c) ----------------------------------------------------------- */

/*
 * The table of a question on a page: the member `table`, from which question.js draws a map and a
 * table; and a figure and a table as markup, for browsers without scripts. The member:
 *
 *     kind, title, model, asked      "ablate", "change of ... without each head", "fable", ...
 *     answer, metric, target, foil   what was measured; null: nothing was asked for
 *     texts [{name, text}]           the text, or the two of a pair
 *     columns [{name, type, role, heading, title, digits, is_signed, scale, is_share, cell}]
 *         heading, title  name and words with the unit
 *         digits          of a real that is written with fixed decimals
 *         scale           {low, high, is_signed, curve, ticks}; curve: "sqrt" or "linear"
 *         is_share, cell  how the map writes numbers: as percent, or with CELL decimals
 *     rows [[..]]                    a value a column; texts are printable
 *     n_label                        leading columns that name a group
 *     value                          the column that is drawn first
 *     map {kind, rows, columns, at, cell, is_pairs, is_ranked}
 *         kind     "grid", "tokens", or "figure": the figure alone
 *         rows, columns {title, n, n_main, positions, texts}
 *         at       row and column of each row of the table, one after the other; -1: nowhere
 *         cell     the column of texts that stand in the cells, or null
 *         is_ranked  the table is sorted by size first, not in the order of its rows
 *     colormap                       as asked for, or null
 *
 * Without a frame the member `svg` has the figure of a map of kind "figure".
 */
struct attn_page_question {
    struct attn_buffer title;     /* title, printable */
    struct attn_buffer view;      /* view without a script, as markup */
    bool has_examples, has_atlas; /* members of the document */
    /* the head with the largest number; layer ATTN_NO_LAYER: rows are not heads */
    struct attn_location head;
};

struct attn_page;

/* Writes the members `table`, `examples` and `atlas` of PAGE, and sets page->question; release it
 * after a failure, too. */
enum attn_status attn_page_question_init(struct attn_page *page, const struct attn_table *table,
                                         const struct attn_table_picture *drawn,
                                         struct attn_error *err);
void attn_page_question_release(struct attn_page_question *question);

/* --- Vectors (page_vectors.c) ---------------------------------------------------------------- */

/* The vectors from which weights are computed, for neurons.js, which shows the arithmetic of a row.
 * They are on the page if q, k, attn_scores and v are selected beside the pattern (rot_q and rot_k
 * with rotary positions), as tensors of float32. If they have more than 8 million
 * numbers, they are left out with a note. */
struct attn_page_vectors {
    bool are_there;
    enum attn_site query, key;
    size_t widest; /* columns of the widest row */
    float *row;    /* [widest] owns */
};

enum attn_status attn_page_vectors_init(struct attn_page_vectors *vectors,
                                        const struct attn_writer *writer, struct attn_error *err);

/* Writes the rows of an event of one of these sites, in document order; ignores other events. */
enum attn_status attn_page_vectors_take(struct attn_page *page,
                                        const struct attn_trace_event *event,
                                        const struct attn_place *place, struct attn_error *err);

/* Writes the member `vectors`: the tensors of the vectors, {query, key, n_head, n_kv_head}. */
void attn_page_vectors_push(struct attn_page *page);

/* --- The page (page_writer.c) ----------------------------------------------------------------- */

struct attn_page {
    struct attn_writer base;
    struct attn_writer *figure; /* owns; receives all events, if the page is a single figure */
    struct attn_sink *svg;      /* owns; output of `figure` */
    struct attn_page_heads heads;
    struct attn_page_data *data; /* owns */
    struct attn_page_vectors vectors;
    const struct attn_backdrop *picture; /* the picture over which heads are drawn; or NULL */
    bool has_question;
    struct attn_page_question question; /* owns */
    struct attn_token_texts names[2];   /* tokens of the text and of the source, for readers */
    struct attn_buffer title, heading;  /* title, unescaped, and heading, printable */
    struct attn_buffer text;            /* text of all tokens */
    struct attn_buffer predictions;     /* predictions as JSON, or empty */
    const char *rest;                   /* remaining part of the frame, from the next mark on */
    struct attn_buffer pending;         /* the part of the document that is not written yet */
    struct attn_json_writer json;       /* writes to `pending` */
    bool has_tensor;                    /* a tensor is open: */
    struct attn_location tensor;
    float top;  /* level of the weight 1, minus 1: 254 or 65534 */
    int n_byte; /* bytes of a cell in the data blocks, 1 or 2 */

    /* One row [columns of the widest head], owned. NaN: masked; infinity: not finite. */
    float *row;
    struct attn_buffer low; /* low bytes of the current head */
    size_t n_row;           /* rows of the current head so far */

    size_t start; /* index of the head that is shown first */
};

/* Copies row R of EVENT to ROW [n], with NaN for masked cells and infinity for NaN and infinity.
 * Returns the number of columns up to the last that is not masked. */
size_t attn_page_read_row(const struct attn_trace_event *event, size_t r, float *row, size_t n);

/* --- Numbers (page_numbers.c) ----------------------------------------------------------------- */

/* Writes the ticks of a legend: [[place on the ramp, number, text], ...]. Texts show the number
 * times UNIT; if UNIT is 100, the last one has a %. */
void attn_page_push_ticks(struct attn_json_writer *json, const struct attn_color_scale *scale,
                          struct attn_color_range range, double unit);

/* Writes the bar of a head of TYPE (attn_head_bar), a list: of each part its kind and where it
 * ends, 0 to 1; null for NULL. */
void attn_page_push_bar(struct attn_json_writer *json, const struct attn_head_type *type);

/* Writes the kinds of heads, [{name, letter, brief, words, hue}], without IS_WHOLE only their
 * names; a head has the index of its kind. */
void attn_page_push_kinds(struct attn_json_writer *json, bool is_whole);

/* Writes a number with N_DIGIT digits, independently of the locale; null if it is not finite. */
void attn_page_push_number(struct attn_json_writer *json, int n_digit, double value);

/* Writes the member `scale`, the ticks of the square roots of weights: {ticks, signed}. */
void attn_page_push_scale(struct attn_json_writer *json);

/* --- The run (page_run.c) -------------------------------------------------------------------- */

/* Writes the members of the run up to `tensors`, which it begins. `labels` and `source_labels` are
 * the labels of readers that differ from the tokens, by position: {"13": "\u00e9/1"}. */
void attn_page_push_run(struct attn_page *page);

/* Begins the tensor of the site at AT in FORM, unless it is open; ends the open one, if any. */
void attn_page_begin_tensor(struct attn_page *page, const struct attn_location *at,
                            const char *form);
void attn_page_end_tensor(struct attn_page *page);

/* Begins the member of the open tensor for a HEAD. */
void attn_page_key_head(struct attn_page *page, int head);

/* Begins and ends a block of data as the next value of the document. */
void attn_page_begin_block(struct attn_page *page);
void attn_page_end_block(struct attn_page *page);

/* Writes the size of the picture, the layout of its patches and the picture itself, a PNG file in
 * base64; and `maps`, if something is taken away from maps over a picture in the text. */
enum attn_status attn_page_push_picture(struct attn_page *page, struct attn_error *err);

/* Writes the members that follow the run: the parks, the head and query that are shown first, the
 * predictions, and the table of heads, {columns, rows}, whose rows end with their last value. */
void attn_page_push_findings(struct attn_page *page);

/* Appends PREDICTIONS as a table in JSON. */
void attn_page_append_predictions(struct attn_buffer *out,
                                  const struct attn_predictions *predictions);

/* Begins the member NAME of the page's object on a new line. Returns JSON. */
struct attn_json_writer *attn_page_push_key(struct attn_json_writer *json, const char *name);

/* Pushes `nothing`, the colors of cells without a value, and the `colormaps` that PAGE may need. */
void attn_page_push_colors(struct attn_json_writer *json, const struct attn_page *page);

static inline void attn_page_write_text(struct attn_sink *sink, const char *text)
{
    attn_sink_write(sink, text, strlen(text));
}

/* --- The frame (page_frame.c) ----------------------------------------------------------------- */

/* Returns true if documents stand in a frame; false in the WebAssembly module. */
bool attn_page_has_frame(void);

/* Write the frame before and after the document, the first into an empty sink. */
enum attn_status attn_page_frame_begin(struct attn_page *page, struct attn_error *err);
enum attn_status attn_page_frame_end(struct attn_page *page, struct attn_error *err);

/* Writes a page that contains one figure as SVG, without scripts, under the title of the figure.
 * The caller checks SINK for errors. */
enum attn_status attn_page_frame_figure(const struct attn_sink *svg, struct attn_sink *sink,
                                        struct attn_error *err);

/* --- The parts of a live page (page_live.c) -------------------------------------------------- */

/* Writes the members `live`, `story` and `language`. */
void attn_page_push_live(struct attn_page *page);

/* Writes the elements "live-module", "live-file-0", ..., which stand after the document. */
enum attn_status attn_page_live_attach(const struct attn_page *page, struct attn_error *err);

/* Returns true if TEXT is a text of the page that a translation may replace: a control, or another
 * text without numbers. */
bool attn_page_live_has_text(const char *text);
