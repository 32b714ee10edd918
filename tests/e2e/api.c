/* api.c - what the end-to-end tests say to a service: the few calls that need a loop around them. A controller that is
 * being restarted is no failure here: calls that only look are tried again until their time is over. */
#include "tests/e2e/service.h"

#include "base/buf.h"
#include "base/io.h"
#include "base/jsonx.h"
#include "base/mem.h"
#include "base/str.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int64_t json_i64(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

const char *json_text(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));

    return s ? s : "";
}

struct client *service_client(const struct service *s)
{
    char url[128];
    struct client *c = NULL;

    (void)!snprintf(url, sizeof url, "unix:%s", s->sock);
    c = client_new(url, NULL, NULL);
    if (c)
        client_timeout_ms(c, 10000);
    return c;
}

static bool is_passing(const struct err *err)
{
    return err->code == ERR_UNREACHABLE || err->code == ERR_BUSY;
}

int api_dataset(struct client *c, const char *file, const char *name, int64_t limit_ms, int64_t *id,
                struct err *err)
{
    int64_t end = now_ms() + patience_ms(limit_ms);
    const char *base = strrchr(file, '/');
    char sha256[SHA256_HEX] = "", state[24] = "";
    json_t *row = NULL, *body = NULL;

    if (client_upload(c, file, sha256, err) < 0)
        return -1;
    body = json_pack("{s:s, s:s, s:s}", "name", name, "blob", sha256, "file_name",
                     base ? base + 1 : file);
    int rc = client_post(c, body, &row, err, "/datasets");
    json_decref(body);
    if (rc < 0)
        return -1;
    *id = json_i64(row, "id");
    str_copy(state, sizeof state, json_text(row, "state"));
    while (str_eq(state, "ingesting") && now_ms() < end) {
        pause_ms(10);
        json_decref(row);
        row = NULL;
        if (client_get(c, &row, err, "/datasets/%" PRId64, *id) == 0)
            str_copy(state, sizeof state, json_text(row, "state"));
        else if (!is_passing(err))
            return -1;
    }
    rc = str_eq(state, "ready") ? 0
                                : err_set(err, ERR_TIMEOUT, "dataset %s is %s: %.200s", name, state,
                                          json_text(row, "error"));
    json_decref(row);
    return rc;
}

int api_await_study(struct client *c, int64_t study, int64_t limit_ms, json_t **out,
                    struct err *err)
{
    int64_t end = now_ms() + patience_ms(limit_ms);
    char last[160] = "never seen";
    json_t *row = NULL;

    do {
        if (client_get(c, &row, err, "/studies/%" PRId64, study) == 0) {
            const char *state = json_text(row, "state");
            const json_t *n = json_object_get(row, "trials");
            bool ended =
                str_eq(state, "completed") || str_eq(state, "stopped") || str_eq(state, "failed");

            if (ended && out)
                *out = json_incref(row);
            (void)!snprintf(last, sizeof last,
                            "%s, trials: %d in all, %d queued, %d running, %d paused", state,
                            (int)json_i64(n, "total"), (int)json_i64(n, "queued"),
                            (int)json_i64(n, "running"), (int)json_i64(n, "paused"));
            json_decref(row);
            if (ended)
                return 0;
        } else if (!is_passing(err)) {
            return -1;
        }
        pause_ms(20);
    } while (now_ms() < end);
    return err_set(err, ERR_TIMEOUT, "study %" PRId64 " did not end within %" PRId64 " ms: %s",
                   study, limit_ms, last);
}

char *api_leaderboard_text(struct client *c, int64_t study, struct err *err)
{
    static const char *const varying[] = { "trial", "fit_us", "predict_ns_row" };
    json_t *board = NULL, *row = NULL;
    size_t i = 0;
    char *text = NULL;

    if (client_get(c, &board, err, "/studies/%" PRId64 "/leaderboard?limit=1000", study) < 0)
        return NULL;
    json_array_foreach(json_object_get(board, "rows"), i, row)
    {
        for (size_t k = 0; k < ARRAY_LEN(varying); k++)
            json_object_del(row, varying[k]);
    }
    text = jsonx_dump(json_object_get(board, "rows"));
    json_decref(board);
    return text;
}

int api_download_sha(struct client *c, const char *path, char sha256[SHA256_HEX], struct err *err)
{
    const char *base = getenv("TMPDIR");
    char file[200];
    struct buf bytes;
    int fd = -1, rc = -1;

    (void)!snprintf(file, sizeof file, "%s/download-XXXXXX", base ? base : "/tmp");
    fd = mkstemp(file);
    if (fd < 0)
        return err_errno(err, "%s", file);
    close(fd);
    if (client_download(c, path, file, err) == 0 &&
        io_read_file(file, (size_t)1 << 30, &bytes, err) == 0) {
        sha256_hex(bytes.data ? bytes.data : "", bytes.len, sha256);
        buf_fini(&bytes);
        rc = 0;
    }
    unlink(file);
    return rc;
}
