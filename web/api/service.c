/* service.c - the service itself: health, metrics, configuration, backup, and the description of
 * this API. */
#include "web/api/handlers.h"
#include "web/request/send.h"

#include "base/clk.h"
#include "base/io.h"
#include "base/jsonx.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/str.h"
#include "web/api/openapi.h"
#include "web/http/http_server.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { METRICS_MAX = 4 << 20 };

static const char *const door_names[] = { [HTTP_UNIX] = "unix", [HTTP_TCP] = "tcp" };

/* How many connections each door has, and how many with a token it takes. */
static json_t *doors_json(const struct web *web)
{
    json_t *out = json_object();

    for (int at = HTTP_UNIX; at <= HTTP_TCP; at++) {
        int64_t open = 0, room = http_server_room(web->http, (enum http_door)at, &open);

        if (room)
            json_object_set_new(
                out, door_names[at],
                json_pack("{s:I, s:I}", "open", (json_int_t)open, "most", (json_int_t)room));
    }
    return out;
}

static int health(struct web_req *r, struct err *err)
{
    json_t *out = NULL;

    if (ctl_health(r->ctl, &out, err) < 0)
        return -1;
    json_object_set_new(out, "connections", doors_json(r->web));
    return web_json(r, 200, out);
}

static int doors_metrics(const struct web *web, struct buf *out, struct err *err)
{
    if (buf_addf(out, err,
                 "# HELP assay_http_connections_max Connections with a token that a door takes.\n"
                 "# TYPE assay_http_connections_max gauge\n") < 0)
        return -1;
    for (int at = HTTP_UNIX; at <= HTTP_TCP; at++) {
        int64_t open = 0, room = http_server_room(web->http, (enum http_door)at, &open);

        if (room && buf_addf(out, err, "assay_http_connections_max{door=\"%s\"} %" PRId64 "\n",
                             door_names[at], room) < 0)
            return -1;
    }
    return 0;
}

static int web_metrics(const struct web *web, struct buf *out, struct err *err)
{
    if (buf_addf(out, err,
                 "# HELP assay_http_connections Open connections.\n"
                 "# TYPE assay_http_connections gauge\nassay_http_connections %" PRId64 "\n"
                 "# HELP assay_http_answers_total Answers sent, by class of status.\n"
                 "# TYPE assay_http_answers_total counter\n",
                 http_server_count(web->http)) < 0)
        return -1;
    for (int c = 2; c <= 5; c++) {
        if (buf_addf(out, err, "assay_http_answers_total{class=\"%dxx\"} %" PRId64 "\n", c,
                     web->answers[c]) < 0)
            return -1;
    }
    return doors_metrics(web, out, err);
}

static int metrics(struct web_req *r, struct err *err)
{
    struct buf out;
    int rc = 0;

    buf_init(&out, METRICS_MAX);
    rc = ctl_metrics(r->ctl, &out, err);
    if (rc == 0)
        rc = web_metrics(r->web, &out, err);
    if (rc == 0)
        web_bytes(r, 200, "text/plain; version=0.0.4; charset=utf-8", out.data, out.len);
    buf_fini(&out);
    return rc;
}

static int config(struct web_req *r, struct err *err)
{
    json_t *out = NULL;

    return ctl_config(r->ctl, &out, err) < 0 ? -1 : web_json(r, 200, out);
}

/* ---- backup, description ---- */

static void on_backed_up(void *arg, json_t *out, const struct err *err)
{
    struct web_req *r = arg;

    if (!r->web)
        json_decref(out);
    else if (out)
        web_json(r, 201, out);
    else
        web_problem(r, err);
    if (r->web)
        web_finish(r, false);
    else
        web_send(r);
    web_release(r);
}

static int backup(struct web_req *r, struct err *err)
{
    static const char *const keys[] = { "name" };
    char path[1024], made_up[64];
    const char *name = made_up;

    (void)!snprintf(made_up, sizeof made_up, "assay-%" PRId64, clk_wall_ms(loop_clk(r->web->loop)));
    if (r->json && (jsonx_only(r->json, NULL, keys, ARRAY_LEN(keys), err) < 0 ||
                    jsonx_str(r->json, NULL, "name", JSONX_OPTIONAL, 120, &name, err) < 0))
        return -1;
    /* A name, never a path: a token must not be a way to write anywhere on this machine. */
    if (!str_name_ok(name))
        return err_at(err, "name", "a backup's name may hold letters, digits, '.', '_' and '-'");
    if (snprintf(path, sizeof path, "%s/backups", ctl_data_dir(r->ctl)) >= (int)sizeof path - 128)
        return err_set(err, ERR_IO, "the data folder's path is too long");
    if (io_mkdirs(path, 0700, err) < 0)
        return -1;
    (void)!snprintf(path, sizeof path, "%s/backups/%s", ctl_data_dir(r->ctl), name);
    r->is_deferred = true;
    web_hold(r);
    if (ctl_backup(r->ctl, path, on_backed_up, r, err) == 0)
        return 0;
    web_release(r);
    r->is_deferred = false;
    return -1;
}

static int openapi(struct web_req *r, struct err *err)
{
    (void)err;
    return web_json(r, 200, openapi_new(r->web->tables));
}

static const struct web_route routes[] = {
    { WEB_GET, "/health", health, 0, WEB_OPEN, NULL, "Is the controller well? Needs no token", NULL,
      "Health" },
    { WEB_GET, "/metrics", metrics, WEB_VIEWERS, 0, NULL, "Counters as Prometheus text", NULL,
      "Text" },
    { WEB_GET, "/api/v1/health", health, WEB_ANYONE, 0, NULL,
      "The same as /health, for a token's check", NULL, "Health" },
    { WEB_GET, "/api/v1/config", config, WEB_USERS, 0, NULL, "The controller's options", NULL,
      "Any" },
    { WEB_POST, "/api/v1/backup", backup, WEB_ADMINS, WEB_JSON_MAY, NULL,
      "Copy the database and its files into a folder of the data folder's backups/", "BackupNew",
      "Backup" },
    { WEB_GET, "/api/v1/openapi.json", openapi, WEB_ANYONE, 0, NULL, "This description", NULL,
      "Any" },
};
const struct web_table web_service_table = { routes, ARRAY_LEN(routes) };
