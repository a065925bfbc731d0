/* circuit_graph.c - files of circuits (circuit.h): the JSON of EAP-IG's graphs, whose edges are
 * named "a5.h1->a7.h2<q>", "m3->logits", and tables with the columns `from` and `to`. */
#include "circuit/circuit_internal.h"

#include "base/memory.h"
#include "base/sink.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "formats/json.h"
#include "formats/json_writer.h"
#include "stream/csv_reader.h"

#include <stdio.h>
#include <string.h>

/* Writes the name that EAP-IG gives to NODE: "a2.h5", of a reader "a3.h0<q>". */
static void name_in_graph(const struct attn_wire_node *node, char name[ATTN_WIRE_NODE_NAME_SIZE])
{
    switch (node->kind) {
    case ATTN_WIRE_NODE_HEAD:
        snprintf(name, ATTN_WIRE_NODE_NAME_SIZE, "a%zu.h%d", node->layer, node->head);
        break;
    case ATTN_WIRE_NODE_MLP:
        snprintf(name, ATTN_WIRE_NODE_NAME_SIZE, "m%zu", node->layer);
        break;
    case ATTN_WIRE_NODE_Q:
    case ATTN_WIRE_NODE_K:
    case ATTN_WIRE_NODE_V:
        snprintf(name, ATTN_WIRE_NODE_NAME_SIZE, "a%zu.h%d<%c>", node->layer, node->head,
                 node->kind == ATTN_WIRE_NODE_Q   ? 'q'
                 : node->kind == ATTN_WIRE_NODE_K ? 'k'
                                                  : 'v');
        break;
    default:
        attn_wire_node_name(node, name);
    }
}

enum attn_status attn_circuit_check_graph(const struct attn_config *config, struct attn_error *err)
{
    return config->n_kv_head == config->n_head
               ? ATTN_OK
               : attn_refuse(err, ATTN_STAGE_OPTIONS,
                             "a graph of EAP-IG has keys and values for each head, and here %zu "
                             "heads share %zu",
                             (size_t)config->n_head, (size_t)config->n_kv_head);
}

/* --- Writing ---------------------------------------------------------------------------------- */

static void append_config(struct attn_json_writer *json, const struct attn_config *config)
{
    attn_json_begin(attn_json_key(json, "cfg"), '{');
    attn_json_size(attn_json_key(json, "n_layers"), config->n_layer);
    attn_json_size(attn_json_key(json, "n_heads"), config->n_head);
    attn_json_bool(attn_json_key(json, "parallel_attn_mlp"), config->has_parallel_residual);
    attn_json_size(attn_json_key(json, "d_model"), config->d_model);
    attn_json_end(json);
}

/* Appends the writers and the logits. A writer is in the graph if one of its edges is. */
static void append_nodes(struct attn_json_writer *json, const struct attn_wiring *edges,
                         const unsigned char *chosen)
{
    char name[ATTN_WIRE_NODE_NAME_SIZE];

    attn_json_begin(attn_json_key(json, "nodes"), '{');
    for (size_t w = 0; w <= edges->n_writer; w++) {
        const bool is_end = w == edges->n_writer;
        bool is_in = is_end;

        for (size_t r = 0; !is_in && r < edges->n_reader; r++)
            is_in = chosen[r * edges->n_writer + w];
        name_in_graph(is_end ? &edges->readers[edges->n_reader - 1] : &edges->writers[w], name);
        attn_json_line(json);
        attn_json_begin(attn_json_key(json, name), '{');
        attn_json_bool(attn_json_key(json, "in_graph"), is_in);
        attn_json_end(json);
    }
    attn_json_end(json);
}

static void append_edges(struct attn_json_writer *json, const struct attn_wiring *edges,
                         const double *scores, const unsigned char *chosen)
{
    char name[2 * ATTN_WIRE_NODE_NAME_SIZE + 2];

    attn_json_begin(attn_json_key(json, "edges"), '{');
    for (size_t r = 0; r < edges->n_reader; r++)
        for (size_t w = 0; w < edges->readers[r].n_read; w++) {
            size_t n;

            name_in_graph(&edges->writers[w], name);
            n = strlen(name);
            memcpy(name + n, "->", 2);
            name_in_graph(&edges->readers[r], name + n + 2);
            attn_json_line(json);
            attn_json_begin(attn_json_key(json, name), '{');
            attn_json_double(attn_json_key(json, "score"), scores[r * edges->n_writer + w]);
            attn_json_bool(attn_json_key(json, "in_graph"), chosen[r * edges->n_writer + w]);
            attn_json_end(json);
        }
    attn_json_end(json);
}

enum attn_status attn_circuit_write(const char *path, const struct attn_wiring *edges,
                                    const double *scores, const unsigned char *chosen,
                                    struct attn_error *err)
{
    struct attn_buffer out = {0};
    struct attn_json_writer json = {.out = &out};
    struct attn_sink *sink = NULL;
    enum attn_status status;

    attn_json_begin(&json, '{');
    append_config(&json, edges->config);
    attn_json_line(&json);
    append_nodes(&json, edges, chosen);
    attn_json_line(&json);
    append_edges(&json, edges, scores, chosen);
    attn_json_end(&json);
    attn_buffer_append_char(&out, '\n');
    status = attn_buffer_check(&out, err);
    if (status == ATTN_OK)
        status = attn_sink_create_file(path, &sink, err);
    if (status == ATTN_OK) {
        attn_sink_write(sink, out.data, out.size);
        status = attn_sink_commit(sink, err);
    }
    attn_sink_free(sink);
    attn_buffer_release(&out);
    return attn_error_at(status, ATTN_STAGE_OUTPUT, err);
}

/* --- Reading ---------------------------------------------------------------------------------- */

typedef char node_name[ATTN_WIRE_NODE_NAME_SIZE];

/* A file that is read. */
struct reading {
    const struct attn_wiring *edges;
    const char *path;
    node_name *writers, *readers; /* [n_writer], [n_reader] own; names in the form of the file */
    unsigned char *chosen;        /* [n_reader, n_writer] */
};

static enum attn_status list_names(struct reading *reading,
                                   void (*name)(const struct attn_wire_node *, char *),
                                   struct attn_error *err)
{
    const struct attn_wiring *edges = reading->edges;

    ATTN_TRY(ATTN_ALLOC(reading->writers, edges->n_writer, err));
    ATTN_TRY(ATTN_ALLOC(reading->readers, edges->n_reader, err));
    for (size_t w = 0; w < edges->n_writer; w++)
        name(&edges->writers[w], reading->writers[w]);
    for (size_t r = 0; r < edges->n_reader; r++)
        name(&edges->readers[r], reading->readers[r]);
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

/* Takes the edges of the graph JSON. */
static enum attn_status take_graph(struct reading *reading, const struct attn_json *json,
                                   struct attn_error *err)
{
    const struct attn_config *config = reading->edges->config;
    const struct attn_node *root = attn_json_root(json);
    const struct attn_node *about = attn_node_find(root, "cfg");
    const struct attn_node *list = attn_node_find(root, "edges");
    size_t n_layer = config->n_layer, n_head = config->n_head;

    if (!list || !attn_node_is_object(list) || !about || !attn_node_is_object(about))
        return attn_error_set(err, ATTN_FORMAT,
                              "'%s' has no 'cfg' and 'edges', expected a graph of EAP-IG, or a "
                              "table as CSV with the columns 'from' and 'to'",
                              attn_quote_string(reading->path).text);
    ATTN_TRY(attn_json_get_size(json, about, "n_layers", 1, SIZE_MAX, &n_layer, err));
    ATTN_TRY(attn_json_get_size(json, about, "n_heads", 1, SIZE_MAX, &n_head, err));
    if (n_layer != config->n_layer || n_head != config->n_head)
        return attn_error_set(err, ATTN_FORMAT,
                              "'%s' is of %zu layers of %zu heads, the model has %zu of %zu",
                              attn_quote_string(reading->path).text, n_layer, n_head,
                              (size_t)config->n_layer, (size_t)config->n_head);
    for (const struct attn_node *edge = attn_node_first(list); edge; edge = attn_node_next(edge)) {
        const char *key = attn_node_key(edge), *arrow = strstr(key, "->");
        bool is_in = false;

        if (!attn_node_is_object(edge) || !arrow)
            return attn_error_set(err, ATTN_FORMAT, "'%s' in '%s' is no edge of a graph",
                                  attn_quote_string(key).text,
                                  attn_quote_string(reading->path).text);
        ATTN_TRY(attn_json_get_bool(json, edge, "in_graph", &is_in, err));
        if (is_in)
            ATTN_TRY(
                take_edge(reading, key, (size_t)(arrow - key), arrow + 2, strlen(arrow + 2), err));
    }
    return ATTN_OK;
}

static enum attn_status read_graph(struct reading *reading, const struct attn_file *file,
                                   struct attn_error *err)
{
    static const char *const names[] = {"cfg", "edges", NULL};
    struct attn_json *json = NULL;
    enum attn_status status;

    ATTN_TRY(attn_circuit_check_graph(reading->edges->config, err));
    ATTN_TRY(list_names(reading, name_in_graph, err));
    ATTN_TRY(attn_json_parse_named(file, names, &json, err));
    status = take_graph(reading, json, err);
    attn_json_free(json);
    return status;
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

static enum attn_status read_table(struct reading *reading, const struct attn_file *file,
                                   struct attn_error *err)
{
    struct attn_csv_reader csv = {.separator = ','};
    enum attn_status status;

    ATTN_TRY(list_names(reading, attn_wire_node_name, err));
    status = take_lines(reading, file, &csv, err);
    attn_csv_reader_release(&csv);
    return status;
}

enum attn_status attn_circuit_read(const char *path, const struct attn_wiring *edges,
                                   unsigned char *chosen, struct attn_error *err)
{
    struct reading reading = {.edges = edges, .path = path, .chosen = chosen};
    struct attn_file file = {0};
    enum attn_status status = attn_file_open(path, ATTN_READ, &file, err);
    size_t at = 0;

    while (status == ATTN_OK && at < file.size && strchr(" \t\r\n", ((const char *)file.data)[at]))
        at++;
    if (status == ATTN_OK)
        status = at < file.size && ((const char *)file.data)[at] == '{'
                     ? read_graph(&reading, &file, err)
                     : read_table(&reading, &file, err);
    attn_free(reading.writers);
    attn_free(reading.readers);
    attn_file_release(&file);
    return attn_error_at(status, ATTN_STAGE_INPUT, err);
}
