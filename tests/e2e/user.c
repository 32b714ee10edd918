/* user.c - the restless client. A submission whose answer was lost is repeated under the same name; "the name is taken" then
 * means that the first one had arrived. */
#include "tests/e2e/user.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"
#include "cli/problem.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { OPEN_MAX = 3, UPLOAD_MAX = 300000, DATASETS_MAX = 12 };

struct user {
    struct ledger *ledger;
    struct client *client;
    char dir[128], dataset[64];
    struct rng rng;
    pthread_t thread;
    atomic_bool stop, quiet;
    atomic_int ended;
    int64_t open[OPEN_MAX];
    int n_open, submitted, uploads, datasets;
};

/* An error that a dying controller explains, or a full one. Anything else is a finding. */
static bool is_expected(struct user *u, const struct err *err, const char *what)
{
    if (err->code == ERR_UNREACHABLE || err->code == ERR_BUSY || err->code == ERR_FULL)
        return true;
    ledger_fail(u->ledger, "%s: %s: %s", what, err_code_name(err->code), err->text);
    return false;
}

static void write_random(struct user *u, const char *path, uint32_t n)
{
    FILE *f = fopen(path, "w");

    CHECK(f);
    for (uint32_t i = 0; i < n; i++)
        fputc((int)(rng_u32(&u->rng) & 255), f);
    fclose(f);
}

static void upload(struct user *u)
{
    char path[200], sha256[SHA256_HEX] = "";
    struct err err = { 0 };

    (void)!snprintf(path, sizeof path, "%s/upload.bin", u->dir);
    write_random(u, path, 1 + rng_below(&u->rng, UPLOAD_MAX));
    if (client_upload(u->client, path, sha256, &err) == 0)
        ledger_blob(u->ledger, sha256, "upload");
    else
        is_expected(u, &err, "upload");
    unlink(path);
    u->uploads++;
}

static void make_dataset(struct user *u)
{
    char path[200], name[32], sha256[SHA256_HEX] = "";
    struct err err = { 0 };
    json_t *row = NULL, *body = NULL;

    if (u->datasets >= DATASETS_MAX)
        return;
    (void)!snprintf(name, sizeof name, "extra%d", u->datasets);
    (void)!snprintf(path, sizeof path, "%s/%s.csv", u->dir, name);
    const struct problem *p = problem_find("twonorm", NULL);
    problem_write(p, 50, 1000 + (uint64_t)u->datasets, path, NULL);
    if (client_upload(u->client, path, sha256, &err) < 0) {
        is_expected(u, &err, "upload of a table");
    } else {
        body = json_pack("{s:s, s:s, s:s}", "name", name, "blob", sha256, "file_name", "extra.csv");
        if (client_post(u->client, body, &row, &err, "/datasets") == 0) {
            ledger_dataset(u->ledger, json_i64(row, "id"));
            u->datasets++;
        } else {
            is_expected(u, &err, "dataset");
        }
    }
    json_decref(body);
    json_decref(row);
    unlink(path);
}

static json_t *spec_new(const struct user *u, const char *name)
{
    /* A small network: the defaults train for half a minute, longer under a sanitizer. */
    json_t *spec = json_pack(
        "{s:s, s:s, s:s, s:i, s:i, s:{s:i}, s:[{s:s}, {s:s}, {s:s}, {s:s}, {s:s, s:i, s:i, s:i}]}",
        "name", name, "dataset", u->dataset, "target", "class", "seed", u->submitted + 1,
        "parallel", 4, "budget", "trials", 10, "space", "family", "linear", "family", "boost",
        "family", "forest", "family", "extra_trees", "family", "mlp", "epochs", 6, "width", 16,
        "members", 1);

    switch (u->submitted % 3) {
    case 0:
        json_object_set_new(spec, "sampler", json_string("testhash"));
        json_object_set_new(spec, "scheduler", json_string("testhash"));
        break;
    case 1:
        json_object_set_new(spec, "deterministic", json_false());
        json_object_set_new(spec, "validation", json_string("holdout"));
        break;
    default:
        break;
    }
    return spec;
}

static void submit(struct user *u)
{
    char name[32];
    struct err err = { 0 };
    json_t *row = NULL, *spec = NULL;
    int rc = 0;

    if (u->n_open >= OPEN_MAX || atomic_load(&u->quiet))
        return;
    (void)!snprintf(name, sizeof name, "study%d", u->submitted);
    spec = spec_new(u, name);
    rc = client_post(u->client, spec, &row, &err, "/studies");
    if (rc < 0 && err.code == ERR_CONFLICT)
        rc = client_get(u->client, &row, &err, "/studies/%s", name);
    if (rc == 0) {
        u->open[u->n_open++] = json_i64(row, "id");
        ledger_study(u->ledger, json_i64(row, "id"));
        u->submitted++;
    } else {
        is_expected(u, &err, "submit");
    }
    json_decref(spec);
    json_decref(row);
}

static void look_at_trials(struct user *u, int64_t study)
{
    struct err err = { 0 };
    json_t *all = NULL, *row = NULL;
    size_t i = 0;

    if (client_get(u->client, &all, &err, "/studies/%" PRId64 "/trials?limit=1000", study) < 0)
        is_expected(u, &err, "trials");
    json_array_foreach(json_object_get(all, "trials"), i, row) ledger_trial(u->ledger, row);
    json_decref(all);
}

static void look_at_study(struct user *u, int at)
{
    struct err err = { 0 };
    json_t *row = NULL;
    const char *state = NULL;

    look_at_trials(u, u->open[at]);
    if (client_get(u->client, &row, &err, "/studies/%" PRId64, u->open[at]) < 0)
        is_expected(u, &err, "study");
    state = json_text(row, "state");
    if (str_eq(state, "completed") || str_eq(state, "failed") || str_eq(state, "stopped")) {
        u->open[at] = u->open[--u->n_open];
        atomic_fetch_add(&u->ended, 1);
        if (json_text(row, "artifact")[0])
            ledger_blob(u->ledger, json_text(row, "artifact"), "model");
    }
    json_decref(row);
}

/* A model that the leaderboard offers downloads, and is what it says it is. */
static void fetch_model(struct user *u, int64_t study)
{
    struct err err = { 0 };
    json_t *board = NULL, *trial = NULL, *row = NULL;
    char path[64], sha256[SHA256_HEX] = "";
    size_t i = 0;
    int64_t id = 0;

    if (client_get(u->client, &board, &err, "/studies/%" PRId64 "/leaderboard", study) < 0)
        is_expected(u, &err, "leaderboard");
    json_array_foreach(json_object_get(board, "rows"), i, row)
    {
        if (json_is_true(json_object_get(row, "artifact")) &&
            (id == 0 || rng_below(&u->rng, 3) == 0))
            id = json_i64(row, "trial");
    }
    json_decref(board);
    if (id == 0)
        return;
    (void)!snprintf(path, sizeof path, "/trials/%" PRId64 "/artifact", id);
    if (client_get(u->client, &trial, &err, "/trials/%" PRId64, id) < 0)
        is_expected(u, &err, "trial");
    else if (api_download_sha(u->client, path, sha256, &err) < 0 && err.code != ERR_NOTFOUND)
        is_expected(u, &err, "artifact"); /* not found: a better one took its place meanwhile */
    else if (sha256[0] && json_text(trial, "artifact")[0] &&
             !str_eq(sha256, json_text(trial, "artifact")))
        ledger_fail(u->ledger, "the model of trial %" PRId64 " hashes to %s, not %s", id, sha256,
                    json_text(trial, "artifact"));
    json_decref(trial);
}

static void act(struct user *u)
{
    uint32_t what = rng_below(&u->rng, 100);

    if (u->n_open < OPEN_MAX && what < 30)
        submit(u);
    else if (what < 45)
        upload(u);
    else if (what < 55 && !atomic_load(&u->quiet))
        make_dataset(u);
    else if (u->n_open > 0 && what < 85)
        look_at_study(u, (int)rng_below(&u->rng, (uint32_t)u->n_open));
    else if (u->n_open > 0)
        fetch_model(u, u->open[rng_below(&u->rng, (uint32_t)u->n_open)]);
}

static void *run(void *arg)
{
    struct user *u = arg;

    while (!atomic_load(&u->stop)) {
        act(u);
        pause_ms(5 + rng_below(&u->rng, 30));
    }
    return NULL;
}

struct user *user_start(const struct service *s, struct ledger *ledger, const char *dataset,
                        uint64_t seed)
{
    struct user *u = mem_zalloc(sizeof *u);

    u->ledger = ledger;
    u->client = service_client(s);
    str_copy(u->dir, sizeof u->dir, s->dir);
    str_copy(u->dataset, sizeof u->dataset, dataset);
    rng_init(&u->rng, seed, 2);
    CHECK(pthread_create(&u->thread, NULL, run, u) == 0);
    return u;
}

void user_submit_no_more(struct user *u)
{
    atomic_store(&u->quiet, true);
}

int user_studies_ended(struct user *u)
{
    return atomic_load(&u->ended);
}

void user_stop(struct user *u)
{
    if (!u)
        return;
    atomic_store(&u->stop, true);
    pthread_join(u->thread, NULL);
    client_free(u->client);
    mem_free(u);
}
