/*
 * first_number.c - how much attention one head of a built-in model pays from one token to another.
 *
 *     cc first_number.c -o first_number $(pkg-config --cflags --libs attn)
 */
#include <attn/attn.h>

#include <stdio.h>

int main(void)
{
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_result result = {0};
    struct attn_error err = {0};
    struct attn_host *host;
    struct attn_capture *capture;

    request.input.text = "Once upon a time", request.input.n_text = 16;
    if (attn_host_open("fable", NULL, &host, &err) != ATTN_OK ||
        attn_run_capture(host, &request, &capture, &result, &err) != ATTN_OK)
        return fprintf(stderr, "first_number: %s\n", err.message), 1;
    const struct attn_location at = {.site = ATTN_SITE_PATTERN, .layer = 2, .head = 1};
    const float *pattern = attn_capture_head(capture, &at);    /* [T, T] */
    printf("%.4f\n", (double)pattern[5 * result.n_token + 1]); /* from token 5 to token 1 */
    attn_capture_free(capture);
    attn_host_free(host);
}
