/* data.c - bytes in and out: resumable uploads in parts, blobs by their hash, and datasets made of
 * them. Committing an upload hashes its file on a thread, so the answer is deferred: the blob's row
 * is added in a later turn of the loop, and the answer leaves after that turn's commit. */
#include "web/api/handlers.h"

#include "base/jsonx.h"
#include "base/str.h"
#include "web/api/blob.h"
#include "web/request/send.h"

#include <stdio.h>
#include <string.h>

/* ---- uploads ---- */

static int upload_new(struct web_req *r, struct err *err)
{
    static const char *const keys[] = { "trial", "task", "fence" };
    struct ctl_upload_by by = { .is_limited = r->who.token > 0 && r->who.role != CTL_RUNNER };
    char id[33] = "";

    if (r->json &&
        (jsonx_only(r->json, NULL, keys, ARRAY_LEN(keys), err) < 0 ||
         jsonx_i64(r->json, NULL, "trial", JSONX_OPTIONAL, 1, INT64_MAX, &by.trial, err) < 0 ||
         jsonx_i64(r->json, NULL, "task", JSONX_OPTIONAL, 1, INT64_MAX, &by.task, err) < 0 ||
         jsonx_i64(r->json, NULL, "fence", JSONX_OPTIONAL, 0, INT64_MAX, &by.fence, err) < 0))
        return -1;
    (void)!snprintf(by.who, sizeof by.who, "%.40s (token %lld)", r->who.name,
                    (long long)r->who.token);
    if (ctl_upload_new(r->ctl, &by, id, err) < 0)
        return -1;
    return web_json(r, 201, json_pack("{s:s, s:i}", "id", id, "size", 0));
}

static int upload_show(struct web_req *r, struct err *err)
{
    int64_t size = 0;

    if (ctl_upload_size(r->ctl, r->vars[0], &size, err) < 0)
        return -1;
    return web_json(r, 200, json_pack("{s:s, s:I}", "id", r->vars[0], "size", (json_int_t)size));
}

static int upload_part(struct web_req *r, struct err *err)
{
    int64_t offset = -1, size = 0;

    if (web_arg_i64(r, "offset", 0, INT64_MAX, &offset, err) < 0)
        return -1;
    if (offset < 0)
        return err_at(err, "offset", "offset is needed: where in the file this part begins");
    if (r->body_len == 0)
        return err_set(err, ERR_ARG, "the part is empty");
    if (ctl_upload_write(r->ctl, r->vars[0], offset, r->body, r->body_len, err) < 0 ||
        ctl_upload_size(r->ctl, r->vars[0], &size, err) < 0)
        return -1;
    return web_json(r, 200, json_pack("{s:s, s:I}", "id", r->vars[0], "size", (json_int_t)size));
}

static int upload_drop(struct web_req *r, struct err *err)
{
    if (ctl_upload_drop(r->ctl, r->vars[0], err) < 0)
        return -1;
    return web_fixed(r, 204, NULL, "", 0);
}

struct commit {
    char sha256[SHA256_HEX];
    char kind[32];
};

/* Adds the blob's row, in a savepoint like any request. The file is durable by then, so the row
 * never names a file that a power cut could take away. */
static int blob_row_add(struct web_req *r, const struct commit *c, int64_t bytes, struct err *err)
{
    int rc = 0;

    if (ctl_request_begin(r->ctl, err) < 0)
        return -1;
    rc = ctl_blob_add(r->ctl, c->sha256, bytes, c->kind, err);
    if (rc == 0)
        rc = ctl_upload_named(r->ctl, r->vars[0], c->sha256, err);
    if (ctl_request_end(r->ctl, rc == 0, rc == 0 ? err : NULL) < 0)
        return -1;
    return rc;
}

static void on_hashed(void *arg, int64_t bytes, const struct err *failed)
{
    struct web_req *r = arg;
    struct commit *c = r->state;
    struct err err = { 0 };

    if (!r->web) {
        /* The server has ended meanwhile, and perhaps the controller too: only the request is
         * released. */
        web_send(r);
    } else if (failed) {
        web_fail(r, failed);
    } else if (blob_row_add(r, c, bytes, &err) < 0) {
        web_fail(r, &err);
    } else {
        web_json(r, 200, json_pack("{s:s, s:I}", "sha256", c->sha256, "bytes", (json_int_t)bytes));
        web_finish(r, true);
    }
    web_release(r);
}

static int upload_commit(struct web_req *r, struct err *err)
{
    static const char *const keys[] = { "sha256", "kind" };
    const char *sha256 = NULL, *kind = "upload";
    struct commit *c = arena_alloc(&r->arena, sizeof *c);

    if (jsonx_only(r->json, NULL, keys, ARRAY_LEN(keys), err) < 0 ||
        jsonx_str(r->json, NULL, "sha256", JSONX_REQUIRED, SHA256_HEX - 1, &sha256, err) < 0 ||
        jsonx_str(r->json, NULL, "kind", JSONX_OPTIONAL, sizeof c->kind - 1, &kind, err) < 0)
        return -1;
    if (!str_sha256_ok(sha256))
        return err_at(err, "sha256", "a hash is 64 lower-case hexadecimal digits");
    if (!str_name_ok(kind))
        return err_at(err, "kind", "a kind is a short name");
    str_copy(c->sha256, sizeof c->sha256, sha256);
    str_copy(c->kind, sizeof c->kind, kind);
    r->state = c;
    r->is_deferred = true;
    web_hold(r);
    if (ctl_upload_commit(r->ctl, r->vars[0], c->sha256, on_hashed, r, err) < 0) {
        web_release(r);
        r->is_deferred = false;
        return -1;
    }
    return 0;
}

/* ---- blobs ---- */

static int blob_show(struct web_req *r, struct err *err)
{
    if (!str_sha256_ok(r->vars[0]))
        return err_set(err, ERR_NOTFOUND, "a blob's address is its hash, 64 hexadecimal digits");
    web_header_add(r, "Cache-Control", "private, max-age=31536000, immutable");
    return web_blob(r, r->vars[0], err);
}

/* ---- datasets ---- */

static int dataset_create(struct web_req *r, struct err *err)
{
    json_t *out = NULL;

    if (ctl_dataset_create(r->ctl, r->json, &out, err) < 0)
        return -1;
    return web_json(r, 201, out);
}

static int dataset_list(struct web_req *r, struct err *err)
{
    json_t *out = NULL;

    return ctl_datasets(r->ctl, &out, err) < 0 ? -1 : web_json(r, 200, out);
}

static int dataset_show(struct web_req *r, struct err *err)
{
    json_t *out = NULL;

    return ctl_dataset_get(r->ctl, r->vars[0], &out, err) < 0 ? -1 : web_json(r, 200, out);
}

static int dataset_delete(struct web_req *r, struct err *err)
{
    if (ctl_dataset_delete(r->ctl, r->vars[0], err) < 0)
        return -1;
    return web_fixed(r, 204, NULL, "", 0);
}

static const struct web_route routes[] = {
    { WEB_POST, "/api/v1/uploads", upload_new, WEB_UPLOADERS, WEB_JSON_MAY, NULL, "Begin an upload",
      "UploadNew", "Upload" },
    { WEB_GET, "/api/v1/uploads/{upload}", upload_show, WEB_UPLOADERS, 0, NULL,
      "How much of an upload has arrived", NULL, "Upload" },
    { WEB_PUT, "/api/v1/uploads/{upload}", upload_part, WEB_UPLOADERS, WEB_RAW, "offset",
      "One part of at most 4 MiB; offset is at most the size there is", "Bytes", "Upload" },
    { WEB_DELETE, "/api/v1/uploads/{upload}", upload_drop, WEB_UPLOADERS, 0, NULL,
      "Forget an upload", NULL, NULL },
    { WEB_POST, "/api/v1/uploads/{upload}/commit", upload_commit, WEB_UPLOADERS, WEB_JSON, NULL,
      "Check the hash and make the upload a blob", "UploadCommit", "Blob" },
    { WEB_GET, "/api/v1/blobs/{sha256}", blob_show, WEB_UPLOADERS, 0, NULL,
      "The bytes of a blob; takes Range", NULL, "Bytes" },
    { WEB_POST, "/api/v1/datasets", dataset_create, WEB_USERS, WEB_WRITE | WEB_JSON | WEB_ADMIT,
      NULL, "Make a dataset of a blob; reading it is a task of a runner", "DatasetNew", "Dataset" },
    { WEB_GET, "/api/v1/datasets", dataset_list, WEB_VIEWERS, 0, NULL, "List datasets", NULL,
      "DatasetList" },
    { WEB_GET, "/api/v1/datasets/{dataset}", dataset_show, WEB_VIEWERS, 0, NULL,
      "One dataset: state, rows, schema", NULL, "Dataset" },
    { WEB_DELETE, "/api/v1/datasets/{dataset}", dataset_delete, WEB_USERS, WEB_WRITE, NULL,
      "Delete a dataset that no study uses", NULL, NULL },
};
const struct web_table web_data_table = { routes, ARRAY_LEN(routes) };
