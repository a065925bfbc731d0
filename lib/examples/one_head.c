/*
 * one_head.c - a program of its own that uses libattn: what one attention head makes of a text.
 *
 *     cc one_head.c -o one_head $(pkg-config --cflags --libs attn)
 *     ./one_head models/tiny-gpt2 2.1 "The cat sat"
 *
 * Prints a row for each token: how its attention is divided among the tokens up to itself. To link
 * libattn.a, take `pkg-config --static --libs attn` with -l:libattn.a in place of -lattn.
 */
#include <attn/attn.h>

#include <stdio.h>
#include <string.h>

struct text {
    const char *bytes;
    struct attn_encoding tokens;
};

/* The library calls this with every rectangle of what was selected: here, rows of one pattern. */
static enum attn_status print_rows(void *user, const struct attn_trace_event *event,
                                   struct attn_error *err)
{
    (void)err;
    const struct text *text = user;
    const struct attn_encoding *tokens = &text->tokens;
    for (size_t i = 0; i < event->n_row; i++) {
        size_t query = event->row0 + i;
        const float *weights = event->data + i * event->ld;
        for (size_t key = 0; key < event->n_col && !(event->is_causal && key > query); key++)
            printf("%.4f ", (double)weights[key]);
        printf("|%.*s|\n", (int)(tokens->end[query] - tokens->begin[query]),
               text->bytes + tokens->begin[query]);
    }
    return ATTN_OK;
}

/* Runs MODEL over TEXT, watched at the pattern of one head. */
static enum attn_status run(const struct attn_model *model, int layer, int head, struct text *text,
                            struct attn_error *err)
{
    const struct attn_encoding *tokens = &text->tokens;
    struct attn_dims dims = attn_config_dims(attn_model_config(model), tokens->n);
    struct attn_selection *selection = NULL;
    struct attn_session *session = NULL;
    struct attn_site_set sites;
    struct attn_trace trace = {.on_event = print_rows, .user = text};
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    options.n_max = tokens->n;
    options.trace = &trace;

    enum attn_status status = attn_selection_create(&dims, &selection, err);
    if (status == ATTN_OK)
        status = attn_sites_parse("pattern", &sites, err);
    if (status == ATTN_OK)
        status = attn_selection_set_sites(selection, sites, err);
    if (status == ATTN_OK)
        status = attn_selection_add_head(
            selection, &(struct attn_location){.layer = layer, .head = head}, err);
    trace.selection = selection;
    if (status == ATTN_OK)
        status = attn_session_create(model, &options, &session, err);
    if (status == ATTN_OK)
        status = attn_session_feed(session, tokens->ids, tokens->n, err);
    attn_session_free(session);
    attn_selection_free(selection);
    return status;
}

int main(int argc, char **argv)
{
    int layer, head;

    if (argc != 4 || sscanf(argv[2], "%d.%d", &layer, &head) != 2) {
        fprintf(stderr, "usage: one_head DIRECTORY LAYER.HEAD TEXT\n");
        return 2;
    }
    struct attn_error err = {0};
    struct attn_source source = {.directory = argv[1]};
    struct attn_model *model = NULL;
    struct attn_tokenizer *tokenizer = NULL;
    struct text text = {.bytes = argv[3]};

    enum attn_status status = attn_model_open(&source, &ATTN_MODEL_OPTIONS_DEFAULT, &model, &err);
    if (status == ATTN_OK)
        status = attn_tokenizer_open(&source, &tokenizer, &err);
    if (status == ATTN_OK)
        status = attn_tokenizer_encode(tokenizer, text.bytes, strlen(text.bytes),
                                       &ATTN_ENCODE_DEFAULT, &text.tokens, &err);
    if (status == ATTN_OK)
        status = run(model, layer, head, &text, &err);
    if (status != ATTN_OK)
        fprintf(stderr, "one_head: %s\n", err.message);
    attn_encoding_release(&text.tokens);
    attn_tokenizer_free(tokenizer);
    attn_model_free(model);
    return status == ATTN_OK ? 0 : 1;
}
