/* input.c - see input.h. */
#include "cmd/args/input.h"

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

/* Reads a file of rows, [.., AXES], into ARRAY. */
static enum attn_status read_rows(const char *path, const char *axes, struct attn_ndarray *array,
                                  struct attn_error *err)
{
    return at_stage(ATTN_STAGE_INPUT, attn_ndarray_read(path, 2, 2, axes, array, err), err);
}

enum attn_status input_read(const struct prompt_args *prompt, const char *source,
                            struct input *input, struct attn_request *request,
                            struct attn_error *err)
{
    prompt_say_special(prompt, request);
    if (prompt->embeds) {
        ATTN_TRY(read_rows(prompt->embeds, "[T, d_model]", &input->embeddings, err));
        request->input.embeddings = &input->embeddings;
    } else if (prompt->ids) {
        ATTN_TRY(ids_parse(prompt->ids, &input->ids, &request->input.n_id, err));
        request->input.ids = input->ids;
    } else {
        ATTN_TRY(prompt_read(prompt, &input->text, err));
        request->input.text = input->text.data;
        request->input.n_text = input->text.size;
    }
    if (source && is_array(source)) {
        ATTN_TRY(read_rows(source, "[S, d_source]", &input->source, err));
        request->source.embeddings = &input->source;
    } else if (source) {
        request->source.text = source;
        request->source.n_text = strlen(source);
    }
    return ATTN_OK;
}

void input_release(struct input *input)
{
    attn_ndarray_release(&input->embeddings);
    attn_ndarray_release(&input->source);
    free(input->ids);
    text_release(&input->text);
}
