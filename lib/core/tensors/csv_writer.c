/*
 * csv_writer.c - one file per matrix: DIR/L00H03.pattern.csv, DIR/L00.resid_post.csv,
 * DIR/logits.csv; for arrays DIR/B00H03.pattern.csv. A single matrix can be written to a file
 * NAME.csv, or to a stream: the pattern of the only head, if no sites were chosen.
 *
 * The labels of rows and columns are as `3|eat`: unique, and never begin with a character that a
 * spreadsheet takes for a formula. RFC 4180 quoting, but \n ends a line. A file is open from its
 * first row to its last. If a run is fed in one step, few files are open at a time; if it is fed in
 * many steps, all are open, as far as the system allows.
 */
#include "formats/quoting.h"
#include "tensors/format_internal.h"
#include "tensors/token_text.h"
#include "tensors/writer.h"

#include "base/memory.h"
#include "base/sink_internal.h"
#include "base/status_internal.h"
#include "base/text/fixed_text.h"
#include "trace/trace_internal.h"

/* A matrix with rows still to come. */
struct csv_file {
    struct attn_location at;
    size_t image, n_row_left;
    struct attn_sink *sink; /* owns, unless it is the writer's sink */
};

/* The labels of positions or keys, concatenated, quoted where needed. */
struct csv_labels {
    struct attn_buffer text;
    size_t *ends; /* [n] owns */
};

struct csv_writer {
    struct attn_writer base;
    struct attn_token_texts tokens[2]; /* labels of the text, and of the source */
    struct csv_labels labels[2];
    bool has_pattern_alone; /* other sites are left out */
    struct csv_file *files; /* [n_file] owns */
    size_t n_file, capacity;
    struct attn_buffer header; /* buffer for the first row of a file */
};

/* Makes the label `3|eat` for each of N positions, or `3` without tokens. */
static enum attn_status make_labels(struct csv_labels *labels, size_t n,
                                    const struct attn_token_texts *tokens, struct attn_error *err)
{
    struct attn_buffer label = {0};

    ATTN_TRY(ATTN_ALLOC(labels->ends, n, err));
    for (size_t i = 0; i < n; i++) {
        size_t size;
        const char *text = attn_token_text(tokens, i, &size);

        label.size = 0;
        attn_buffer_append_format(&label, tokens->n > 0 ? "%zu|" : "%zu", i);
        attn_buffer_append(&label, text, size);
        if (!label.has_failed)
            attn_csv_field_append(&labels->text, label.data, label.size);
        labels->ends[i] = labels->text.size;
    }
    labels->text.has_failed |= label.has_failed;
    attn_buffer_release(&label);
    return attn_buffer_check(&labels->text, err);
}

/* Appends the label of position I; if the layer attends to a source, of the source. */
static void append_label(struct attn_buffer *text, const struct csv_writer *w, bool is_key,
                         const struct attn_location *at, size_t i)
{
    const struct csv_labels *labels =
        &w->labels[!attn_writer_has_own_rows(&w->base, at) ||
                   (is_key && !attn_writer_has_own_keys(&w->base, at))];
    size_t begin = i > 0 ? labels->ends[i - 1] : 0;

    attn_buffer_append(text, labels->text.data + begin, labels->ends[i] - begin);
}

/* Lists the file of the head AT, or that of each image. */
static enum attn_status list_head(struct attn_writer *writer, const struct attn_location *at,
                                  struct attn_error *err)
{
    const size_t n = attn_writer_n_image(writer, at->site);

    for (size_t i = 0; i < n; i++)
        if (n == 1 || attn_writer_extent_of(writer, at, i).n_row > 0)
            ATTN_TRY(attn_writer_list_file(writer, at, i, err));
    return ATTN_OK;
}

/* Lists a file for each matrix. */
static enum attn_status list_files(struct attn_writer *writer, struct attn_error *err)
{
    for (struct attn_selection_walk at = {0}; attn_selection_next(writer->labels.selection, &at);) {
        const int n_head = (int)attn_writer_dims(writer, &at.at)->n_head;
        const bool has_heads = attn_site_has_heads(at.at.site);

        for (int head = 0; head < (has_heads ? n_head : 1); head++)
            if (!has_heads || attn_writer_has_head(writer, &at.at, head)) {
                at.at.head = head;
                ATTN_TRY(list_head(writer, &at.at, err));
            }
    }
    return ATTN_OK;
}

/* Opens the file of EVENT and writes the column labels: tokens for matrices, numbers for
 * vectors. */
static enum attn_status open_file(struct csv_writer *w, const struct attn_trace_event *event,
                                  const struct attn_place *place, struct csv_file **file,
                                  struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(w->base.labels.selection);
    const bool is_matrix = attn_site_has_keys(event->at.site);
    struct attn_sink *sink = w->base.sink;

    ATTN_TRY(ATTN_GROW(w->files, w->capacity, w->n_file + 1, err));
    if (!sink)
        ATTN_TRY(attn_writer_create_file(&w->base, &event->at, event->sequence, &sink, err));
    *file = &w->files[w->n_file++];
    **file = (struct csv_file){event->at, event->sequence, place->extent.n_row, sink};
    attn_buffer_reset(&w->header);
    attn_buffer_append_string(&w->header, attn_writer_row_name(&w->base, event->at.site));
    for (size_t i = 0; i < place->extent.n_col; i++) {
        attn_buffer_append_char(&w->header, ',');
        if (is_matrix)
            append_label(&w->header, w, true, &event->at,
                         i + attn_site_first_row(event->at.site, dims));
        else
            attn_buffer_append_format(&w->header, "%zu", i);
    }
    attn_buffer_append_char(&w->header, '\n');
    attn_sink_write(sink, w->header.data, w->header.size);
    return attn_buffer_check(&w->header, err);
}

/* Appends row R (attn_row_text_fn). */
static void append_row(const struct attn_writer *writer, const struct attn_trace_event *event,
                       const struct attn_place *place, size_t r, struct attn_buffer *text)
{
    const struct csv_writer *w = (const struct csv_writer *)writer;
    bool is_key = attn_site_has_key_rows(event->at.site);

    if (attn_site_has_own_rows(event->at.site))
        attn_buffer_append_format(text, "%zu", event->row0 + r);
    else if (!attn_site_is_pooled(event->at.site, attn_selection_dims(writer->labels.selection)))
        append_label(text, w, is_key, &event->at, event->row0 + r);
    attn_row_append_text(text, attn_event_row(event, r), place->extent.n_col,
                         writer->options.precision, "");
    attn_buffer_append_char(text, '\n');
}

static enum attn_status event_csv(struct attn_writer *writer, const struct attn_trace_event *event,
                                  const struct attn_place *place, struct attn_error *err)
{
    struct csv_writer *w = (struct csv_writer *)writer;
    struct csv_file *file = NULL;
    struct attn_sink *sink;

    if (w->has_pattern_alone && event->at.site != ATTN_SITE_PATTERN)
        return ATTN_OK;
    for (size_t i = w->n_file; !file && i-- > 0;)
        if (w->files[i].at.site == event->at.site && w->files[i].image == event->sequence &&
            attn_location_compare(&w->files[i].at, &event->at) == 0)
            file = &w->files[i];
    if (!file)
        ATTN_TRY(open_file(w, event, place, &file, err));
    sink = file->sink;
    ATTN_TRY(attn_writer_write_rows(writer, event, place, append_row, sink, err));
    ATTN_TRY(attn_sink_check(sink, err));
    file->n_row_left -= event->n_row < file->n_row_left ? event->n_row : file->n_row_left;
    if (file->n_row_left > 0)
        return ATTN_OK;
    *file = w->files[--w->n_file];
    return sink == writer->sink ? ATTN_OK
                                : attn_directory_commit_file(writer->directory, sink, err);
}

/* Refuses several patterns in one stream or file. FIRST is of them. */
static enum attn_status refuse_patterns(const struct attn_writer *writer, size_t n,
                                        struct attn_location first, struct attn_error *err)
{
    const struct attn_selection *selection = writer->labels.selection;
    const bool has_stacks = attn_dims_has_stacks(attn_selection_dims(selection));
    const struct attn_array_axes *axes = writer->labels.axes;
    char one[64] = "";
    size_t used = 0;

    for (first.head = 0; !attn_selection_has_head(selection, &first);)
        first.head++;
    if (!axes)
        attn_fixed_text_append(one, sizeof one, &used, "select one, as with `heads %s%s%d.%d`, ",
                               has_stacks ? attn_model_stack_name(first.stack) : "",
                               has_stacks ? ":" : "", first.layer, first.head);
    else if (axes->n_batch == 1)
        attn_fixed_text_append(one, sizeof one, &used, "select one, as with `heads %d`, ",
                               first.head);
    attn_error_set(err, ATTN_INVALID, "%zu patterns are selected, one %s of `csv` holds one", n,
                   writer->owns_sink ? "file" : "stream");
    return attn_error_hint(err, "%sgive a directory%s, or `tidy %s`", one,
                           writer->owns_sink ? ", a name without .csv at its end" : "",
                           writer->owns_sink ? "FILE" : "-");
}

static enum attn_status open_csv(struct attn_writer *writer, struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(writer->labels.selection);
    struct csv_writer *w = (struct csv_writer *)writer;
    struct attn_selection_walk walk = {0};
    struct attn_location first = {.layer = ATTN_NO_LAYER};
    size_t n_matrix = 0, n_pattern = 0;

    ATTN_TRY(attn_token_texts_init(w->tokens, &writer->labels, err));
    ATTN_TRY(make_labels(&w->labels[0], dims->n_position, &w->tokens[0], err));
    /* the patches of a tower are no source of its decoder */
    ATTN_TRY(make_labels(&w->labels[1], dims->encoder ? dims->encoder->n_position : dims->n_source,
                         &w->tokens[1], err));
    if (writer->directory)
        return list_files(writer, err);
    while (attn_selection_next(writer->labels.selection, &walk)) {
        const size_t n_head = attn_writer_extent(writer, &walk.at).n_head;

        n_matrix += n_head * attn_writer_n_image(writer, walk.at.site);
        if (walk.at.site != ATTN_SITE_PATTERN)
            continue;
        if (n_pattern == 0)
            first = walk.at;
        n_pattern += n_head;
    }
    w->has_pattern_alone = writer->options.has_usual_sites && n_pattern == 1;
    if (n_matrix == 1 || w->has_pattern_alone)
        return ATTN_OK;
    if (writer->options.has_usual_sites && n_pattern > 0)
        return refuse_patterns(writer, n_pattern, first, err);
    attn_error_set(err, ATTN_INVALID, "%zu matrices are selected, one %s of CSV holds one",
                   n_matrix, writer->owns_sink ? "file" : "stream");
    return attn_error_hint(err,
                           "select one, as with `sites pattern` `heads 0.0`, or give a directory%s",
                           writer->owns_sink ? ", a name without .csv at its end" : "");
}

static void release_csv(struct attn_writer *writer)
{
    struct csv_writer *w = (struct csv_writer *)writer;

    for (size_t i = 0; i < w->n_file; i++)
        if (w->files[i].sink != writer->sink)
            attn_sink_free(w->files[i].sink);
    attn_free(w->files);
    for (int i = 0; i < 2; i++) {
        attn_free(w->labels[i].ends);
        attn_buffer_release(&w->labels[i].text);
    }
    attn_token_texts_release(w->tokens, 2);
    attn_buffer_release(&w->header);
}

const struct attn_format attn_csv_format = {
    .name = "csv",
    .holds_stacks = true,
    .argument = "DIR",
    .help = "write one CSV file per matrix into DIR; a single matrix also into a file, if its name "
            "ends in .csv, or with '-' to standard output: of one head the pattern, unless `sites` "
            "are given",
    .table_help = "write the table as CSV into FILE instead of text; '-' is standard output",
    .medium = ATTN_MEDIUM_DECIMAL,
    .title = "CSV",
    .is_directory = true,
    .suffix = ".csv",
    .is_suggested = true,
    .tensors =
        &(const struct attn_writer_ops){
            .size = sizeof(struct csv_writer),
            .open = open_csv,
            .event = event_csv,
            .release = release_csv,
        },
    .has_tables = true,
    .table_form = ATTN_TABLE_CSV,
};
