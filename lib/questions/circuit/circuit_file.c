/* circuit_file.c - files of circuits (circuit.h): tables with the columns `from` and `to`. */
#include "circuit/circuit_internal.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "stream/csv_reader.h"

#include <string.h>

typedef char node_name[ATTN_WIRE_NODE_NAME_SIZE];

/* A file that is read. */
struct reading {
    const struct attn_wiring *edges;
    const char *path;
    node_name *writers, *readers; /* [n_writer], [n_reader] own */
    unsigned char *chosen;        /* [n_reader, n_writer] */
};

static enum attn_status list_names(struct reading *reading, struct attn_error *err)
{
    const struct attn_wiring *edges = reading->edges;

    ATTN_TRY(ATTN_ALLOC(reading->writers, edges->n_writer, err));
    ATTN_TRY(ATTN_ALLOC(reading->readers, edges->n_reader, err));
    for (size_t w = 0; w < edges->n_writer; w++)
        attn_wire_node_name(&edges->writers[w], reading->writers[w]);
    for (size_t r = 0; r < edges->n_reader; r++)
        attn_wire_node_name(&edges->readers[r], reading->readers[r]);
    return ATTN_OK;
}

static size_t find_name(node_name *names, size_t n, const char *text, size_t size)
{
    size_t i = 0;

    while (i < n && (strlen(names[i]) != size || memcmp(names[i], text, size) != 0))
        i++;
    return i;
}

/* Takes the edge between the nodes FROM [n_from] and TO [n_to]. */
static enum attn_status take_edge(struct reading *reading, const char *from, size_t n_from,
                                  const char *to, size_t n_to, struct attn_error *err)
{
    const struct attn_wiring *edges = reading->edges;
    const size_t w = find_name(reading->writers, edges->n_writer, from, n_from);
    const size_t r = find_name(reading->readers, edges->n_reader, to, n_to);

    if (w == edges->n_writer || r == edges->n_reader || w >= edges->readers[r].n_read)
        return attn_error_set(err, ATTN_FORMAT,
                              "'%s' to '%s' in '%s' is no edge of the model, expected a beginning "
                              "such as '%s', and an end after it such as '%s'",
                              attn_quote(from, n_from).text, attn_quote(to, n_to).text,
                              attn_quote_string(reading->path).text, reading->writers[1],
                              reading->readers[edges->n_reader - 2]);
    reading->chosen[r * edges->n_writer + w] = 1;
    return ATTN_OK;
}

/* Takes the edge of each line of FILE, which CSV parses. */
static enum attn_status take_lines(struct reading *reading, const struct attn_file *file,
                                   struct attn_csv_reader *csv, struct attn_error *err)
{
    const char *at = (const char *)file->data, *end = at + file->size;
    size_t from = SIZE_MAX, to = SIZE_MAX;

    for (bool is_first = true; at < end; is_first = false) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const size_t n = (size_t)((stop ? stop : end) - at);

        if (is_first)
            csv->separator = memchr(at, '\t', n) ? '\t' : ',';
        ATTN_TRY(is_first ? attn_csv_reader_begin(csv, at, n, err)
                          : attn_csv_reader_read(csv, at, n, err));
        for (size_t i = 0; is_first && i < csv->n_column; i++) {
            from = strcmp(csv->columns[i].name, "from") == 0 ? i : from;
            to = strcmp(csv->columns[i].name, "to") == 0 ? i : to;
        }
        if (from == SIZE_MAX || to == SIZE_MAX)
            return attn_error_set(err, ATTN_FORMAT,
                                  "'%s' has no columns 'from' and 'to', expected a table of edges",
                                  attn_quote_string(reading->path).text);
        if (!is_first)
            ATTN_TRY(take_edge(reading, csv->columns[from].text, csv->columns[from].size,
                               csv->columns[to].text, csv->columns[to].size, err));
        at = stop ? stop + 1 : end;
    }
    return ATTN_OK;
}

enum attn_status attn_circuit_read(const char *path, const struct attn_wiring *edges,
                                   unsigned char *chosen, struct attn_error *err)
{
    struct reading reading = {.edges = edges, .path = path, .chosen = chosen};
    struct attn_csv_reader csv = {.separator = ','};
    struct attn_file file = {0};
    enum attn_status status = attn_file_open(path, ATTN_READ, &file, err);

    ATTN_THEN(status, list_names(&reading, err));
    ATTN_THEN(status, take_lines(&reading, &file, &csv, err));
    attn_csv_reader_release(&csv);
    attn_free(reading.writers);
    attn_free(reading.readers);
    attn_file_release(&file);
    return attn_error_at(status, ATTN_STAGE_INPUT, err);
}
