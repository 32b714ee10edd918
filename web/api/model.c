/* model.c - models: what one is, and what it predicts for rows in the body. Another process
 * predicts, so answers are deferred. Rows come as JSON or CSV, and answers leave as either; the
 * answer has the form of the rows unless `format` says otherwise. */
#include "web/api/handlers.h"

#include "base/str.h"
#include "web/request/fair.h"
#include "web/request/send.h"

#include <string.h>

struct waiting {
    bool out_csv;
};

static void on_answer(void *arg, const struct ctl_predicted *out, const struct err *failed)
{
    struct web_req *r = arg;
    const struct waiting *w = r->state;

    if (!r->web) {
        web_send(r); /* the server is gone, and the controller perhaps too */
    } else if (failed) {
        web_fail(r, failed);
    } else {
        if (out->note[0])
            web_header_add(r, "X-Assay-Note", out->note);
        web_bytes(r, 200, w->out_csv ? "text/csv; charset=utf-8" : "application/json", out->bytes,
                  out->len);
        web_finish(r, false);
    }
    web_release(r);
}

static int ask(struct web_req *r, struct ctl_predict *p, struct err *err)
{
    struct waiting *w = arena_alloc(&r->arena, sizeof *w);

    w->out_csv = p->out_csv;
    p->model = r->vars[0];
    r->state = w;
    r->is_deferred = true;
    web_hold(r);
    if (ctl_model_predict(r->ctl, fair_line_of(r), p, on_answer, r, err) == 0)
        return 0;
    web_release(r);
    r->is_deferred = false;
    return -1;
}

static int model_show(struct web_req *r, struct err *err)
{
    struct ctl_predict p = { .describes = true, .threshold = -1 };

    return ask(r, &p, err);
}

/* 1 = the argument is the second word, 0 = it is the first or absent. */
static int word(const struct web_req *r, const char *key, const char *first, const char *second,
                struct err *err)
{
    const char *text = web_arg(r, key);

    if (!text || str_eq(text, first))
        return 0;
    if (str_eq(text, second))
        return 1;
    return err_at(err, key, "must be %s or %s", first, second);
}

/* The body's form: 1 = CSV, 0 = JSON. */
static int body_is_csv(const struct web_req *r, struct err *err)
{
    const char *type = web_header(r, "Content-Type");

    if (type && str_starts(type, "text/csv"))
        return 1;
    if (!type || str_starts(type, "application/json") ||
        str_starts(type, "application/x-www-form-urlencoded")) /* what curl -d says */
        return 0;
    return err_set(err, ERR_ARG,
                   "rows come as application/json or text/csv (header Content-Type), not as %.60s",
                   type);
}

static int threshold_read(const struct web_req *r, double *out, struct err *err)
{
    const char *text = web_arg(r, "threshold");

    *out = -1;
    if (!text)
        return 0;
    if (str_f64(text, out, NULL) < 0 || !(*out >= 0 && *out <= 1))
        return err_at(err, "threshold", "must be a number from 0 to 1");
    return 0;
}

static int interval_read(const struct web_req *r, double *out, struct err *err)
{
    const char *text = web_arg(r, "interval");

    if (text && (str_f64(text, out, NULL) < 0 || !(*out > 0 && *out < 1)))
        return err_at(err, "interval", "must be a number between 0 and 1, such as 0.9");
    return 0;
}

static int model_predict(struct web_req *r, struct err *err)
{
    struct ctl_predict p = { .body = r->body, .n = r->body_len };
    int in = body_is_csv(r, err), out = 0, lack = 0, bad = 0;

    if (in < 0 || threshold_read(r, &p.threshold, err) < 0 ||
        interval_read(r, &p.interval, err) < 0 ||
        (out = word(r, "format", "json", "csv", err)) < 0 ||
        (lack = word(r, "missing_columns", "error", "missing", err)) < 0 ||
        (bad = word(r, "bad_cells", "missing", "error", err)) < 0)
        return -1;
    if (r->body_len == 0)
        return err_set(err, ERR_ARG, "the body is empty: rows are needed");
    p.in_csv = in == 1;
    p.out_csv = web_arg(r, "format") ? out == 1 : p.in_csv;
    p.may_lack = lack == 1;
    p.refuses = bad == 1;
    return ask(r, &p, err);
}

static const struct web_route routes[] = {
    { WEB_GET, "/api/v1/models/{model}", model_show, WEB_VIEWERS, 0, NULL,
      "What a model is: its task, target, classes and columns", NULL, "Model" },
    { WEB_POST, "/api/v1/models/{model}/predict", model_predict, WEB_VIEWERS, WEB_RAW | WEB_ADMIT,
      "format,missing_columns,bad_cells,threshold,interval", "What a model predicts for rows",
      "PredictRows", "Predictions" },
};
const struct web_table web_model_table = { routes, ARRAY_LEN(routes) };
