/* prediction.c - see prediction.h. */
#include "prediction.h"

#include "command.h"
#include "print.h"
#include "report.h"

#include <string.h>

static const struct option prediction_rows[] = {
    {.name = "top",
     .argument = "K",
     .heading = "Prediction",
     .kind = OPTION_NUMBER,
     .min = 1,
     .max = INT32_MAX,
     .offset = offsetof(struct prediction_args, top),
     .help = "print the K most probable next tokens: probability, id, token"},
    {.name = "next",
     .argument = "TEXT",
     .heading = "Prediction",
     .kind = OPTION_LIST,
     .offset = offsetof(struct prediction_args, next),
     .help = "print the log-probability (natural) that TEXT follows; may be given several times"},
};

const struct option_group prediction_options = OPTION_GROUP(prediction_rows);

int prediction_print(const struct attn_predictions *found, struct attn_sink *out)
{
    int code = EXIT_DONE;
    for (size_t i = 0; code == EXIT_DONE && i < found->n_top; i++) {
        const struct attn_candidate *top = &found->top[i];
        if (found->has_positions)
            print(out, "%zu\t", top->position);
        print(out, "%.6f\t%d\t", top->probability, (int)top->id);
        if (top->token)
            code = print_escaped(out, top->token, top->token_size);
        print_text(out, "\n");
    }
    if (found->n_top > 0 && found->n_next > 0)
        print_text(out, "\n");
    for (size_t i = 0; code == EXIT_DONE && i < found->n_next; i++) {
        print(out, "%.6f\t", found->next[i].log_probability);
        code = print_escaped(out, found->next[i].text, strlen(found->next[i].text));
        print_text(out, "\n");
    }
    return code;
}
