/* blob.c - see blob.h. Checking a file against its hash may take a while and runs on a thread; the
 * answer is then sent from on_checked. */
#include "web/api/blob.h"

#include "base/str.h"
#include "web/request/send.h"

struct serving {
    char sha256[SHA256_HEX];
};

static int file_answer(struct web_req *r, const char *sha256, struct err *err)
{
    char path[1024];

    if (ctl_blob_path(r->ctl, sha256, path, sizeof path, err) < 0)
        return -1;
    return web_file(r, "application/octet-stream", path, sha256, err);
}

static void on_checked(void *arg, const struct err *failed)
{
    struct web_req *r = arg;
    const struct serving *s = r->state;
    struct err err = { 0 };

    if (!r->web)
        web_send(r); /* the server is gone, and the controller perhaps too */
    else if (failed)
        web_fail(r, failed);
    else if (file_answer(r, s->sha256, &err) < 0)
        web_fail(r, &err);
    else
        web_finish(r, false);
    web_release(r);
}

int web_blob(struct web_req *r, const char *sha256, struct err *err)
{
    struct serving *s = arena_alloc(&r->arena, sizeof *s);
    int rc = 0;

    str_copy(s->sha256, sizeof s->sha256, sha256);
    r->state = s;
    r->is_deferred = true;
    web_hold(r);
    rc = ctl_blob_check(r->ctl, sha256, on_checked, r, err);
    if (rc == 0)
        return 0;
    web_release(r);
    r->is_deferred = false;
    return rc < 0 ? -1 : file_answer(r, sha256, err);
}

int web_artifact(struct web_req *r, const char *sha256, const char *file_name, struct err *err)
{
    char disposition[512];

    args_disposition(file_name, disposition, sizeof disposition);
    web_header_add(r, "Content-Disposition", disposition);
    web_header_add(r, "X-Assay-SHA256", sha256);
    web_header_add(r, "Cache-Control", "private, no-cache"); /* tomorrow's best may be another */
    return web_blob(r, sha256, err);
}
