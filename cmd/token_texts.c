/* token_texts.c - see token_texts.h. */
#include "token_texts.h"

#include "command.h"
#include "report.h"

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
        if (!texts->bytes[i]) { /* a row of the embedding that no text leads to */
            texts->bytes[i] = "";
            texts->sizes[i] = 0;
        }
    }
    return EXIT_DONE;
}

void token_texts_release(struct token_texts *texts)
{
    free(texts->bytes);
    free(texts->sizes);
    *texts = (struct token_texts){0};
}
