/* page.c - the page's files. page.S embeds them in the program; each is compressed once, at its
 * first request. Its ETag is a hash of its content, so that a browser that has it gets a 304. Their
 * content security policy (req.c) allows nothing but these files: no inline script or style, no
 * other host, no frame. */
#include "web/api/handlers.h"

#include "base/str.h"
#include "web/http/gzip.h"

#include <stdio.h>
#include <string.h>

#define FILES(X)                                                        \
    X(index_html, "index.html", "text/html; charset=utf-8")             \
    X(style_css, "style.css", "text/css; charset=utf-8")                \
    X(study_css, "study.css", "text/css; charset=utf-8")                \
    X(board_css, "board.css", "text/css; charset=utf-8")                \
    X(new_css, "new.css", "text/css; charset=utf-8")                    \
    X(icon_svg, "icon.svg", "image/svg+xml")                            \
    X(app_js, "app.js", "text/javascript; charset=utf-8")               \
    X(api_js, "api.js", "text/javascript; charset=utf-8")               \
    X(dom_js, "dom.js", "text/javascript; charset=utf-8")               \
    X(format_js, "format.js", "text/javascript; charset=utf-8")         \
    X(studies_js, "studies.js", "text/javascript; charset=utf-8")       \
    X(new_js, "new.js", "text/javascript; charset=utf-8")               \
    X(study_js, "study.js", "text/javascript; charset=utf-8")           \
    X(board_js, "board.js", "text/javascript; charset=utf-8")           \
    X(filter_js, "filter.js", "text/javascript; charset=utf-8")         \
    X(chart_js, "chart.js", "text/javascript; charset=utf-8")           \
    X(scale_js, "scale.js", "text/javascript; charset=utf-8")           \
    X(metrics_js, "metrics.js", "text/javascript; charset=utf-8")       \
    X(search_js, "search.js", "text/javascript; charset=utf-8")         \
    X(importance_js, "importance.js", "text/javascript; charset=utf-8") \
    X(pareto_js, "pareto.js", "text/javascript; charset=utf-8")         \
    X(curve_js, "curve.js", "text/javascript; charset=utf-8")           \
    X(epochs_js, "epochs.js", "text/javascript; charset=utf-8")         \
    X(output_js, "output.js", "text/javascript; charset=utf-8")         \
    X(pipeline_js, "pipeline.js", "text/javascript; charset=utf-8")     \
    X(columns_js, "columns.js", "text/javascript; charset=utf-8")       \
    X(signin_js, "signin.js", "text/javascript; charset=utf-8")         \
    X(budget_js, "budget.js", "text/javascript; charset=utf-8")         \
    X(cells_js, "cells.js", "text/javascript; charset=utf-8")           \
    X(chips_js, "chips.js", "text/javascript; charset=utf-8")           \
    X(detail_js, "detail.js", "text/javascript; charset=utf-8")         \
    X(feed_js, "feed.js", "text/javascript; charset=utf-8")             \
    X(hold_js, "hold.js", "text/javascript; charset=utf-8")             \
    X(order_js, "order.js", "text/javascript; charset=utf-8")           \
    X(trials_js, "trials.js", "text/javascript; charset=utf-8")         \
    X(why_js, "why.js", "text/javascript; charset=utf-8")               \
    X(where_js, "where.js", "text/javascript; charset=utf-8")           \
    X(tables_js, "tables.js", "text/javascript; charset=utf-8")

#define X(sym, name, type) extern const char web_file_##sym[], web_file_##sym##_end[];
FILES(X)
#undef X

struct file {
    const char *name, *type, *from, *to;
    char etag[20]; /* with quotes; "" until the first request */
    void *gz;      /* lives for ever */
    size_t gz_len;
};

static struct file files[] = {
#define X(sym, name, type) { name, type, web_file_##sym, web_file_##sym##_end, "", NULL, 0 },
    FILES(X)
#undef X
};

static void compress_once(struct file *f)
{
    size_t n = (size_t)(f->to - f->from);
    char hash[SHA256_HEX];

    if (f->etag[0])
        return;
    sha256_hex(f->from, n, hash);
    (void)!snprintf(f->etag, sizeof f->etag, "\"%.16s\"", hash);
    f->gz = http_gzip(f->from, n, 9, &f->gz_len);
}

static int file_answer(struct web_req *r, struct file *f)
{
    compress_once(f);
    web_page_headers(r);
    web_header_add(r, "ETag", f->etag);
    web_header_add(r, "Cache-Control", "private, no-cache");
    web_header_add(r, "Vary", "Accept-Encoding");
    if (args_etag_ok(web_header(r, "If-None-Match"), f->etag))
        return web_fixed(r, 304, f->type, "", 0);
    if (!args_gzip_ok(web_header(r, "Accept-Encoding")))
        return web_fixed(r, 200, f->type, f->from, (size_t)(f->to - f->from));
    web_header_add(r, "Content-Encoding", "gzip");
    return web_fixed(r, 200, f->type, f->gz, f->gz_len);
}

static int page_index(struct web_req *r, struct err *err)
{
    (void)err;
    return file_answer(r, &files[0]);
}

static int page_file(struct web_req *r, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        if (strcmp(files[i].name, r->vars[0]) == 0)
            return file_answer(r, &files[i]);
    }
    return err_set(err, ERR_NOTFOUND, "there is no such file");
}

static const struct web_route routes[] = {
    { WEB_GET, "/", page_index, 0, WEB_OPEN | WEB_HTML, NULL, "The page", NULL, "Html" },
    { WEB_GET, "/static/{file}", page_file, 0, WEB_OPEN, NULL, "The page's files", NULL, "Bytes" },
};
const struct web_table web_page_table = { routes, ARRAY_LEN(routes) };
