/* page_internal.h - the parts of a page: heads (page_heads.c), blocks of data (page_data.c),
 * gradients, vectors, the run (page_run.c) or experiment as JSON, the live part, and the view
 * without a script (page_first_view.c). page_writer.c joins them. */
#ifndef ATTN_PAGE_PAGE_INTERNAL_H
#define ATTN_PAGE_PAGE_INTERNAL_H

#include "analysis/metric.h"
#include "encode/colormap_internal.h"
#include "encode/json_writer.h"
#include "figures/table_picture.h"
#include "writers/token_text.h"
#include "writers/writer.h"

/* --- Heads (page_heads.c) -------------------------------------------------------------------- */

/*
 * Of each there are, beside its data block, as its rows come: a thumbnail, five measures, and
 * cells that levels leave out.
 *
 * A level is a weight in a byte: 0 is masked, else 1 + round(254 sqrt(w)). Thumbnails are levels of
 * at most 32 x 32 cells, each of k x k: the mean over its rows of the largest weight of a row, as
 * on a terminal. Where k is above 1 there are three of them: as it is, without the first key, and
 * without it and divided by what is left, as cells that are pooled cannot be divided later. Of a
 * run that is compared there are those of chosen and of exact attention, and the difference that is
 * farthest from 0, as 128 + 127 sqrt(w), with minus below 0.
 */

/* X(name, words, unit): measures of a head, in the order in which the page lists them. */
#define ATTN_PAGE_MEASURE_MAP(X)                                                                   \
    X(first, "first token", "")                                                                    \
    X(previous, "previous token", "")                                                              \
    X(self, "the token itself", "") X(entropy, "entropy", "nats") X(far, "far (none of these)", "")

enum {
#define ATTN_PAGE_MEASURE_ENUM(name, words, unit) ATTN_PAGE_##name,
    ATTN_PAGE_MEASURE_MAP(ATTN_PAGE_MEASURE_ENUM)
#undef ATTN_PAGE_MEASURE_ENUM
        ATTN_PAGE_N_MEASURE,
    ATTN_PAGE_THUMB = 32,   /* cells of the side of a thumbnail, at most */
    ATTN_PAGE_N_PLANE = 3,  /* thumbnails of a head that is pooled */
    ATTN_PAGE_ID_SIZE = 32, /* of "L0H3", "cross-L0H3" */
};

enum { ATTN_PAGE_MOST_CELLS = 160000000 }; /* of the patterns of all heads */

struct attn_page_head {
    char id[ATTN_PAGE_ID_SIZE];
    struct attn_location at; /* as events have it */
    int group, number;       /* layer and head, or batch and head of arrays */
    bool is_source;          /* its keys are rows of a source */
    bool is_encoder;         /* it is of an encoder: its queries are rows of the source, too */
    bool has_rows;           /* on the page; else it has only a thumbnail */
    size_t n_row, n_column;
    size_t k;                           /* k x k cells are pooled */
    size_t n_thumb_row, n_thumb_col;    /* of a thumbnail */
    size_t n_plane;                     /* of one set, 1 or ATTN_PAGE_N_PLANE */
    size_t n_thumb;                     /* of all, the difference too */
    unsigned char *thumb;               /* [n_thumb * rows * columns] owns; levels */
    struct attn_page_pool *pools;       /* owns; NULL unless pooled */
    double values[ATTN_PAGE_N_MEASURE]; /* or NaN; set by attn_page_heads_end */
    size_t n_outside;                   /* weights below 0 or above 1 */
    struct attn_buffer not_finite;      /* "row,column,n" of each run of such cells, as JSON */
};

/* Initialize with = {0}; end with attn_page_heads_release, after a failed _init too. */
struct attn_page_heads {
    struct attn_page_head *items;                               /* [n] owns; by layer and head */
    size_t n, n_cell;                                           /* of all of them */
    size_t n_whole;                                             /* that have rows on the page */
    const struct attn_selection *selection;                     /* borrowed; of the page */
    size_t *first_of_layer;                                     /* [n_layer] owns */
    struct attn_measurement *measurements[ATTN_PAGE_N_MEASURE]; /* owns */
};

enum attn_status attn_page_heads_init(struct attn_page_heads *heads, struct attn_writer *writer,
                                      struct attn_error *err);
void attn_page_heads_release(struct attn_page_heads *heads);

/* Keeps the rows of the first heads of each group, as many as have MOST cells in all; the others
 * have thumbnails. False if no head has so few. */
bool attn_page_heads_fit(struct attn_page_heads *heads, size_t most);

/* The head of an event, which is of the pattern or of a gradient of it. */
struct attn_page_head *attn_page_head_of(struct attn_page_heads *heads,
                                         const struct attn_trace_event *event,
                                         const struct attn_place *place);

/* Adds all rows of an event, which is of the pattern, to the measures. Returns its head. */
struct attn_page_head *attn_page_heads_take(struct attn_page_heads *heads,
                                            const struct attn_trace_event *event,
                                            const struct attn_place *place);

/* Takes ROW of HEAD for its thumbnail: WEIGHTS [n_column], NaN where they are masked. */
void attn_page_head_take_row(struct attn_page_head *head, size_t row, const float *weights);

/* The same of exact attention, and of CHOSEN minus EXACT. */
void attn_page_head_take_exact(struct attn_page_head *head, size_t row, const float *chosen,
                               const float *exact);

/* After the last row of HEAD: its measures become known. */
void attn_page_heads_end(struct attn_page_heads *heads, struct attn_page_head *head);

/* The level of the weight SQUARE_ROOT^2, 0 to 1; TOP is 254, or 65534 for two bytes. */
static inline unsigned attn_page_level(float square_root, float top)
{
    return 1 + (unsigned)(square_root * top + 0.5F);
}

/* Writes the name of the data of the head AT: "L0H3", or "cross-L0H3". */
void attn_page_head_id(const struct attn_location *at, char id[ATTN_PAGE_ID_SIZE]);

/* --- Data (page_data.c) ---------------------------------------------------------------------- */

/*
 * The data blocks of a page: bytes as base64 of raw deflate, each block in an element of its own,
 * which a browser does not show.
 *
 *     attn_page_data_create(pool, sink, &data, &err);
 *     attn_page_data_begin(data, "L0H3");
 *     for each row:
 *         memcpy(attn_page_data_reserve(data, n), row, n);        // NULL: no memory
 *         attn_page_data_flush(data, &err);                       // now and then
 *     attn_page_data_end(data);
 *     attn_page_data_finish(data, &err);                          // all that waits is written
 *
 * Bytes wait until there is work for all threads of the pool, which deflate pieces of 64 KiB, each
 * by itself. Raw deflate that ends with a full flush can be followed by more, and is filled with
 * empty blocks to a multiple of 3 bytes, as base64 can be followed by more then.
 */

struct attn_page_data;

/* POOL, which may be NULL, and SINK are borrowed. */
enum attn_status attn_page_data_create(struct attn_pool *pool, struct attn_sink *sink,
                                       struct attn_page_data **data, struct attn_error *err);

/* Begins the block ID, at most 31 characters that need no escape. */
void attn_page_data_begin(struct attn_page_data *data, const char *id);

/* Room for N more bytes of the block, until the next call; NULL after a failure, which
 * attn_page_data_flush and _finish return. */
unsigned char *attn_page_data_reserve(struct attn_page_data *data, size_t n);

void attn_page_data_end(struct attn_page_data *data);

/* Adds the block ID of BYTES [n], deflated as small as can be, and writes it. */
enum attn_status attn_page_data_add(struct attn_page_data *data, const char *id, const void *bytes,
                                    size_t n, struct attn_error *err);

/* Writes pieces when enough are waiting. The caller checks the sink for errors. */
enum attn_status attn_page_data_flush(struct attn_page_data *data, struct attn_error *err);

/* Writes all waiting pieces; between blocks. */
enum attn_status attn_page_data_finish(struct attn_page_data *data, struct attn_error *err);

void attn_page_data_free(struct attn_page_data *data); /* NULL is allowed */

/* --- An experiment (page_experiment.c) ------------------------------------------------------- */

/*
 * The table of an experiment on a page: as one JSON object, from which experiment.js draws a map
 * and a table, and as a figure and a table where no script runs.
 *
 *     kind, title, model, asked      "ablate", "change of ... without each head", "fable", ...
 *     answer, metric, target, foil   what was measured; null: nothing was asked for
 *     texts [{name, text}]           the text, or the two of a pair
 *     columns [{name, type, role, heading, title, number, is_signed, scale, cell}]
 *         heading, title  name and words with the unit
 *         number, cell    rules of its whole numbers, and of numbers in the map (page_numbers.c)
 *         scale           {low, high, is_signed, curve, words, ticks} in the map
 *     rows [[..]]                    a value a column; texts are printable
 *     texts_of_rows [[..]]           the texts of reals and booleans, as the tool prints them
 *     names                          of rows that are not on the map
 *     n_label                        leading columns that name a group
 *     value                          the column that is drawn first
 *     map {kind, rows, columns, at, cell, is_pairs, is_ranked}
 *         kind     "grid", "tokens", or "figure": the figure alone
 *         rows, columns {title, positions, texts, names, n_main}: labels, and whole names; of
 *                  tokens gaps, too: 1 where a blank stands before one
 *         at       row and column of each row of the table, one after the other; -1: nowhere
 *         cell     the column of texts that stand in the cells, or null
 *         is_ranked  the table is sorted by size first, not in the order of its rows
 *     look                           colors, theme, numbers in cells, as they were asked for
 *     nothing, colormaps             as the run has them
 */
struct attn_page_experiment {
    struct attn_buffer title;  /* printable */
    struct attn_buffer about;  /* markup */
    struct attn_buffer json;   /* the object */
    struct attn_buffer view;   /* markup */
    struct attn_location head; /* of the largest number; ATTN_NO_LAYER: the rows are no heads */
};

/* EXPERIMENT is = {0}; release it after a failure, too. */
enum attn_status attn_page_experiment_init(struct attn_page_experiment *experiment,
                                           const struct attn_table *table,
                                           const struct attn_table_picture *drawn,
                                           const struct attn_picture_options *picture,
                                           struct attn_error *err);
void attn_page_experiment_release(struct attn_page_experiment *experiment);

/* --- Gradients (page_gradients.c) ------------------------------------------------------------ */

/* What is selected of pattern_grad and pattern_x_grad beside the pattern, for gradients.js: of each
 * head a block "L0H3-pattern_grad" with the first 2 or 4 bytes of each cell's float32, twice as
 * many as the pattern has. All first bytes come before all second ones. NaN is masked, infinity is
 * not finite. "thumbs-pattern_grad" has the thumbnails of all heads in the same form, with 4 bytes:
 * of the cells that are pooled that which is farthest from 0. Pages of arrays, of comparisons and
 * live ones have none. */
enum { ATTN_PAGE_N_GRADIENT = 2, ATTN_PAGE_THUMB_BYTES = 4 };

struct attn_page_gradient {
    enum attn_site site;
    float *thumbs;  /* [cells of all heads] owns */
    size_t n_thumb; /* cells that are there */
    float most;     /* the largest size of a cell */
};

/* Initialize with = {0}; end with attn_page_gradients_release, after a failed _init too. */
struct attn_page_gradients {
    struct attn_page_gradient items[ATTN_PAGE_N_GRADIENT];
    size_t n;
    float *cells; /* [cells of the largest head] owns; those of the head that comes */
};

enum attn_status attn_page_gradients_init(struct attn_page_gradients *gradients,
                                          const struct attn_writer *writer,
                                          const struct attn_page_heads *heads,
                                          struct attn_error *err);
void attn_page_gradients_release(struct attn_page_gradients *gradients);

struct attn_page;

/* Takes the rows of an event of a listed site, in the order of a document, and writes each complete
 * head. */
enum attn_status attn_page_gradients_take(struct attn_page *page,
                                          const struct attn_trace_event *event,
                                          const struct attn_place *place, struct attn_error *err);

/* After the last head: the blocks of thumbnails. */
void attn_page_gradients_add_thumbs(struct attn_page *page);

/* --- Vectors (page_vectors.c) ---------------------------------------------------------------- */

/* The parts of the weights of a page, if q, k, attn_scores and v are selected beside the pattern
 * (rot_q and rot_k with rotary positions): float32, a block per head and site, from which
 * neurons.js draws the arithmetic of a row. More than 8 million numbers are left out with a
 * note. */
struct attn_page_vectors {
    bool are_there;
    enum attn_site query, key;
    size_t widest; /* columns of a row */
    float *row;    /* [widest] owns */
};

enum attn_status attn_page_vectors_init(struct attn_page_vectors *vectors,
                                        const struct attn_writer *writer, struct attn_error *err);

/* Writes the rows of an event, in the order of a document, where they are of such a site. */
enum attn_status attn_page_vectors_take(struct attn_page *page,
                                        const struct attn_trace_event *event,
                                        const struct attn_place *place, struct attn_error *err);

/* Writes an element that describes the blocks. */
enum attn_status attn_page_vectors_write(const struct attn_page *page, struct attn_error *err);

/* --- The page (page_writer.c) ----------------------------------------------------------------- */

struct attn_page {
    struct attn_writer base;
    struct attn_writer *figure; /* owns; takes all events of a page that is one figure */
    struct attn_sink *svg;      /* owns; its output */
    struct attn_page_heads heads;
    struct attn_page_data *data; /* owns */
    struct attn_page_gradients gradients;
    struct attn_page_vectors vectors;
    bool has_picture; /* heads are shown over the picture of the run */
    bool has_experiment;
    struct attn_page_experiment experiment; /* owns */
    /* tokens of the run and of its source, as in tables */
    struct attn_token_texts texts[2];
    struct attn_token_texts names[2];  /* the same for readers */
    struct attn_buffer title, heading; /* itself, and printable */
    struct attn_buffer text;           /* of all tokens */
    struct attn_buffer predictions;    /* JSON, or empty */
    const char *rest;                  /* of the document, from the next mark on */
    float top;                         /* the level of 1, without that of 0 */
    int n_byte;                        /* of a cell in the data blocks, 1 or 2 */

    /* A row [columns of the widest head] owns; NaN: masked, infinity: not finite. */
    float *row, *exact_row;
    struct attn_buffer low;                   /* low bytes of the head that comes */
    struct attn_buffer exact_high, exact_low; /* all bytes of its exact attention */
    size_t n_row;                             /* of it that came */

    /* Cells [n_kept] of the head that comes, and of the head that is shown first. Owns. */
    float *cells, *best;
    size_t n_kept; /* 0: no head is small enough */
    size_t start;  /* the head that is shown first */
    bool has_best; /* its cells are kept */
};

/* Row R of EVENT to ROW [n], with NaN where it is masked and infinity where it is not finite. */
void attn_page_read_row(const struct attn_trace_event *event, size_t r, float *row, size_t n);

/* --- Numbers (page_numbers.c) ----------------------------------------------------------------- */

/* How the page writes a kind of numbers: the function written of shared.js. Fields that are 0 are
 * left out of the JSON. */
struct attn_page_rule {
    const char *name;
    double factor; /* of the number, for percent */
    int figures;   /* in all; 0: digits after the point */
    double least;  /* with figures: smaller numbers have an exponent */
    int digits[3]; /* of numbers below below[0], of those below below[1], and of the others */
    double below[2];
    const char *zero, *unit;     /* of what rounds to 0, and after all others */
    const char *none, *infinite; /* in the place of no number; a dash by default */
    bool is_bare;                /* without a 0 before the point */
};

/* Pushes the value of RULE. */
void attn_page_push_rule(struct attn_json_writer *json, const struct attn_page_rule *rule);

/* Pushes the ticks of a legend: [[place on the ramp, number, text], ...], texts UNIT times as
 * large; with a unit of 100 the last has a %. */
void attn_page_push_ticks(struct attn_json_writer *json, const struct attn_color_scale *scale,
                          struct attn_color_range range, double unit);

/* Pushes a number of N_DIGIT digits in any locale, or null. */
void attn_page_push_number(struct attn_json_writer *json, int n_digit, double value);

/* Pushes `numbers`: the rules of weights, which have N_BYTE bytes in the blocks, and of other
 * numbers. The square root of a weight has 254 levels in a byte, so that a weight W is known to
 * sqrt(W) / 254, and has as many digits as this is good for. */
void attn_page_push_numbers(struct attn_json_writer *json, int n_byte);

/* X(CURVE, name, words): the scales of a page, in the order of its menu. */
#define ATTN_PAGE_CURVE_MAP(X)                                                                     \
    X(SQRT, "sqrt", "square root") X(LINEAR, "linear", "linear") X(LOG, "log", "logarithm")

/* Pushes `scales`, by which a reader can choose to see weights, with the ticks of their legends:
 * {"sqrt": {words, ticks, signed, fixed}}. `fixed` are those of the ends that were ASKED for, and
 * `extent` names these. */
void attn_page_push_scales(struct attn_json_writer *json, const struct attn_color_scale *asked);

/* --- Labels (page_labels.c) ------------------------------------------------------------------- */

/* Pushes the labels of positions; each list is null if it is the one before:
 *
 *     tokens      as they are
 *     texts       printable, as in tables
 *     labels      for readers, with the blanks around them
 *     names       without these; ' ' for a blank
 *     short       {"5": "counterintuit..."}: names that are cut in maps
 *     gaps        before each token 0: nothing, 1: a blank, 2: the end of a line; null: nothing
 *     source_...  the same for a source
 *     merged      the same for words, with the first token of each (firsts, source_firsts); null if
 *                 rows and columns cannot be words */
enum attn_status attn_page_push_tokens(struct attn_json_writer *json, const struct attn_page *page,
                                       struct attn_error *err);

/* --- The run (page_run.c) -------------------------------------------------------------------- */

/* The run as one JSON object in a hidden element: sizes, tokens, options, heads with their
 * measures, colours, predictions. Printable forms of texts have separate keys. */

/* Ends the id of the block of exact attention. */
#define ATTN_PAGE_EXACT "-exact"

/* Appends PREDICTIONS as an object, to be given later. */
void attn_page_append_predictions(struct attn_buffer *out,
                                  const struct attn_predictions *predictions);

/* Writes the element with the object. `<`, `>`, `&` and line separators are escapes, so that it
 * cannot end the element. */
enum attn_status attn_page_run_write(const struct attn_page *page, struct attn_error *err);

/* Begins the member NAME of the page's object on a new line. Returns JSON. */
struct attn_json_writer *attn_page_push_key(struct attn_json_writer *json, const char *name);

/* Pushes `nothing`, the colors of cells without a value, and all `colormaps`. */
void attn_page_push_colors(struct attn_json_writer *json);

/* Writes an element ID with an object in the same way. */
void attn_page_write_json(struct attn_sink *sink, const char *id, const struct attn_buffer *json);

enum { ATTN_PAGE_MOST_TEXT = 160 }; /* bytes of a text below the title */

/* Bytes of TEXT [size] that are shown in MOST bytes: it ends between characters, and where it can
 * between words. */
size_t attn_page_fit_text(const char *text, size_t size, size_t most);

/* Appends TEXT [size], printable and with references, of at most MOST bytes. */
void attn_page_append_text(struct attn_buffer *out, const char *text, size_t size, size_t most);

/* Writes the picture of the run as an element: base64 of a PNG file. */
enum attn_status attn_page_picture_write(const struct attn_page *page, struct attn_error *err);

/* The files of this folder, which are part of the library (page_files.S). */
struct attn_page_file {
    const char *begin, *end;
};

/* clang-format off */
#define EMBEDDED(name) extern const char attn_page_##name[], attn_page_##name##_end[];
EMBEDDED(html) EMBEDDED(css) EMBEDDED(shared_js) EMBEDDED(js)
EMBEDDED(policy) EMBEDDED(live_policy) EMBEDDED(more_policy) /* with the hashes of scripts */
EMBEDDED(figure_css) EMBEDDED(figure_policy)
EMBEDDED(experiment_css) EMBEDDED(experiment_js) EMBEDDED(neurons_css) EMBEDDED(neurons_js)
EMBEDDED(gradients_js) EMBEDDED(picture_css) EMBEDDED(picture_js)
EMBEDDED(live_css) EMBEDDED(live_js) EMBEDDED(stage_css) EMBEDDED(stage_js)
EMBEDDED(story_js) EMBEDDED(worker_js) EMBEDDED(wasi_js)
#undef EMBEDDED
/* clang-format on */
#define ATTN_PAGE_FILE(name) ((struct attn_page_file){attn_page_##name, attn_page_##name##_end})

    /* Appends FILE as the element TAG. */
    void attn_page_append_element(struct attn_buffer *out, const char *tag,
                                  struct attn_page_file file);

/* --- What makes it live (page_live.c) -------------------------------------------------------- */

/* Writes module, model and their facts: "live-module", "live-file-0", ..., "live", "live-steps",
 * and the script "live-worker". */
enum attn_status attn_page_live_write(const struct attn_page *page, struct attn_error *err);

/* Appends styles and scripts, those of an experiment among them, after the script of the page. */
void attn_page_live_append_scripts(struct attn_buffer *out);

/* --- The first view (page_first_view.c) ------------------------------------------------------ */

/* The page without a script: all heads as one picture, and a table of one of them. */

enum { ATTN_PAGE_MOST_ROWS = 64 }; /* and columns of a head that is shown as a table */

/* Writes both to the page's sink, whose failure is for the caller to look at. */
enum attn_status attn_page_first_view_write(const struct attn_page *page, struct attn_error *err);

/* Appends the name of a head: "layer 2, head 5", or for arrays "batch 0, head 3", "head 3". */
void attn_page_head_append_name(struct attn_buffer *out, const struct attn_page_head *head,
                                const struct attn_labels *labels);

/* Appends "2.5", or "cross:2.5", as `heads` takes it. */
void attn_page_head_append_place(struct attn_buffer *out, const struct attn_page_head *head);

/* Whether a live page has a control, or another text without numbers, that reads TEXT. */
bool attn_page_live_has_text(const char *text);

#endif
