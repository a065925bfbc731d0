/* token_texts.c - see token_texts.h. */
#include "token_texts.h"

#include "command.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>

int token_texts_find(const struct attn_tokenizer *tokenizer, const int32_t *ids, size_t n,
                     struct token_texts *texts)
{
    texts->bytes = calloc(n, sizeof(*texts->bytes));
    texts->sizes = calloc(n, sizeof(*texts->sizes));
    if (!texts->bytes || !texts->sizes)
        return report_no_memory();
    for (size_t i = 0; i < n; i++) {
        texts->bytes[i] = attn_tokenizer_token(tokenizer, ids[i], &texts->sizes[i]);
        if (texts->bytes[i])
            continue;
        if (!texts->made)
            texts->made = calloc(n, sizeof(*texts->made));
        if (!texts->made)
            return report_no_memory();
        texts->bytes[i] = texts->made[i];
        texts->sizes[i] =
            (size_t)snprintf(texts->made[i], sizeof(texts->made[i]), "[%d]", (int)ids[i]);
    }
    return EXIT_DONE;
}

void token_texts_release(struct token_texts *texts)
{
    free(texts->bytes);
    free(texts->sizes);
    free(texts->made);
    *texts = (struct token_texts){0};
}
