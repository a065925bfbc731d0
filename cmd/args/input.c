/* input.c - see input.h. */
#include "cmd/args/input.h"

#include "cmd/line/command.h"
#include "cmd/line/report.h"

#include <stdlib.h>
#include <string.h>

static const struct option source_rows[] = {
    OPTION_AT(TEXT, "source", "TEXT|FILE.npy", 0,
              "the second sequence, for models with cross-attention: a text, or an array [S, "
              "d_source] when the name ends in .npy"),
};

const struct option_group source_options = OPTION_GROUP("Input", source_rows);

static bool is_array(const char *source)
{
    static const char ending[] = ".npy";
    size_t size = strlen(source), n = sizeof(ending) - 1;
    return size > n && strcmp(source + size - n, ending) == 0;
}

int input_read(const struct prompt_args *prompt, const char *source, struct input *input,
               struct attn_request *request)
{
    struct attn_error err = {0};
    enum attn_status status = ATTN_OK;
    int code = EXIT_DONE;
    prompt_say_special(prompt, request);
    if (prompt->embeds) {
        status = attn_ndarray_read(prompt->embeds, 2, 2, "[T, d_model]", &input->embeddings, &err);
        request->input.embeddings = &input->embeddings;
    } else if (prompt->ids) {
        code = ids_parse(prompt->ids, &input->ids, &request->input.n_id);
        request->input.ids = input->ids;
    } else {
        code = prompt_read(prompt, &input->text);
        request->input.text = input->text.data;
        request->input.n_text = input->text.size;
    }
    if (code != EXIT_DONE)
        return code;
    if (status == ATTN_OK && source && is_array(source)) {
        status = attn_ndarray_read(source, 2, 2, "[S, d_source]", &input->source, &err);
        request->source.embeddings = &input->source;
    } else if (source) {
        request->source.text = source;
        request->source.n_text = strlen(source);
    }
    return status == ATTN_OK ? EXIT_DONE : report(&err, EXIT_INPUT);
}

void input_release(struct input *input)
{
    attn_ndarray_release(&input->embeddings);
    attn_ndarray_release(&input->source);
    free(input->ids);
    text_release(&input->text);
}
