/* page_figure.c - see page_figure.h. */
#include "page/page_figure.h"

#include "base/sink_internal.h"
#include "base/version.h"
#include "figures/figure_internal.h"

#include <string.h>

/* The title of a figure, with references as it stands there. */
static void write_title(const char *svg, size_t n, struct attn_sink *sink)
{
    static const char opening[] = "<title>", none[] = "attention";
    const char *begin = memmem(svg, n, opening, sizeof opening - 1), *end = NULL;

    if (begin) {
        begin += sizeof opening - 1;
        end = memchr(begin, '<', n - (size_t)(begin - svg));
    }
    if (end && end > begin)
        attn_sink_write(sink, begin, (size_t)(end - begin));
    else
        attn_sink_write(sink, none, sizeof none - 1);
}

void attn_page_figure_write(const char *svg, size_t n, struct attn_sink *sink)
{
    static const char before[] =
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
        "base-uri 'none'; form-action 'none'\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"generator\" content=\"attn-cli " ATTN_VERSION "\">\n<title>";
    static const char between[] = "</title>\n</head>\n<body>\n", after[] = "</body>\n</html>\n";

    attn_sink_write(sink, before, sizeof before - 1);
    write_title(svg, n, sink);
    attn_sink_write(sink, between, sizeof between - 1);
    attn_sink_write(sink, svg, n);
    attn_sink_write(sink, after, sizeof after - 1);
}

enum attn_status attn_page_figure_draw(const struct attn_shapes *figure, struct attn_sink *sink,
                                       size_t *n_unknown, struct attn_error *err)
{
    struct attn_sink *svg = NULL;
    enum attn_status status = attn_sink_create_memory(&svg, err);

    *n_unknown = 0;
    if (status == ATTN_OK)
        status = attn_figure_svg_write(figure, svg, err);
    if (status == ATTN_OK)
        status = attn_sink_check(svg, err);
    if (status == ATTN_OK) {
        size_t n;
        const char *bytes = attn_sink_bytes(svg, &n);

        attn_page_figure_write(bytes, n, sink);
    }
    attn_sink_free(svg);
    return status;
}
