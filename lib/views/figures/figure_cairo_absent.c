/* figure_cairo_absent.c - see figure_internal.h: stubs for builds that cannot load libraries,
 * static ones and WebAssembly. */
#include "figures/figure_internal.h"

#include "base/status_internal.h"

enum attn_status attn_figure_cairo_check(const char *name, struct attn_error *err)
{
    attn_error_set(err, ATTN_IO,
                   "'%s' needs libpangocairo-1.0.so.0, which this program, linked statically, "
                   "cannot open",
                   attn_quote_string(name).text);
    attn_error_hint(err, "`svg` needs nothing");
    return attn_error_at(ATTN_IO, ATTN_STAGE_OUTPUT, err);
}

enum attn_status attn_figure_png_write(const struct attn_shapes *shapes, struct attn_sink *sink,
                                       size_t *n_unknown, struct attn_error *err)
{
    (void)shapes, (void)sink, (void)n_unknown;
    return attn_figure_cairo_check("png", err);
}

enum attn_status attn_figure_pdf_write(const struct attn_shapes *shapes, struct attn_sink *sink,
                                       size_t *n_unknown, struct attn_error *err)
{
    (void)shapes, (void)sink, (void)n_unknown;
    return attn_figure_cairo_check("pdf", err);
}
