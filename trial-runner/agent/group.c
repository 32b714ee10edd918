/* group.c - the files and the run message of a grant; see group.h. A file is a `need`; while its
 * group lives, the need pins it in the cache. A missing checkpoint only costs the work it holds, so
 * the trial starts afresh, unless other devices train it too; any other missing file fails the whole
 * group. */
#include "trial-runner/agent/group.h"

#include "base/known.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A file that a group's work reads. */
struct need {
    struct group *group;
    char sha256[SHA256_HEX];
    char *path;    /* NULL until the file is here */
    int64_t trial; /* the trial whose checkpoint it is; 0 = a file of the whole group */
    bool is_pending, is_pinned;
};

/* ---- life ---- */

struct group *group_new(const struct group_env *env, int64_t run, struct msg_grant *grant,
                        int64_t deadline_at_ms)
{
    struct group *g = mem_zalloc(sizeof *g);
    const struct msg_grant *m = &g->grant;

    g->env = env;
    g->run = run;
    g->grant = *grant;
    *grant = (struct msg_grant){ 0 };
    g->deadline_at_ms = deadline_at_ms;
    for (int i = 0; m->kind == MSG_FIT && i < m->n_trials; i++)
        outbox_add(env->outbox, m->trials[i].trial, m->trials[i].fence, false, g);
    if (m->kind != MSG_FIT)
        outbox_add(env->outbox, m->task, m->fence, true, g);
    return g;
}

void group_free(struct group *g)
{
    if (!g)
        return;
    for (int i = 0; i < g->n_needs; i++) {
        struct need *n = &g->needs[i];

        if (n->is_pending)
            fetch_cancel(g->env->fetch, n);
        if (n->is_pinned)
            cache_unpin(g->env->cache, n->sha256);
        mem_free(n->path);
    }
    mem_free(g->needs);
    msg_grant_fini(&g->grant);
    mem_free(g);
}

bool group_is_held(const struct group *g)
{
    for (const struct held *h = outbox_first(g->env->outbox); h; h = h->next) {
        if (h->group == g)
            return true;
    }
    return false;
}

void group_fail(struct group *g, enum trial_reason reason, const char *why)
{
    struct outbox *b = g->env->outbox;

    g->ended = true;
    for (struct held *h = outbox_first(b); h; h = h->next) {
        if (h->group == g && h->state != HELD_OUT)
            outbox_push_failure(b, h, reason, why);
    }
}

/* ---- the run message ---- */

static const char *path_of(const struct group *g, const char *sha256)
{
    for (int i = 0; i < g->n_needs; i++) {
        if (g->needs[i].trial == 0 && strcmp(g->needs[i].sha256, sha256) == 0)
            return g->needs[i].path;
    }
    return NULL;
}

/* Sets the path and the mark that the file had when its hash was checked. The worker refuses a file
 * with another mark. */
static void set_path(json_t *msg, const char *key, const struct group *g, const char *sha256)
{
    const char *path = sha256[0] ? path_of(g, sha256) : NULL;
    char mark[FILE_MARK_TEXT], mark_key[40];

    if (!path)
        return;
    json_object_set_new(msg, key, json_string(path));
    snprintf(mark_key, sizeof mark_key, "%s_mark", key);
    file_mark_text(path, mark);
    json_object_set_new(msg, mark_key, json_string(mark));
}

static json_t *checkpoints_new(const struct group *g)
{
    json_t *j = json_object();
    char key[32];

    for (int i = 0; i < g->n_needs; i++) {
        if (g->needs[i].trial == 0 || !g->needs[i].path)
            continue;
        snprintf(key, sizeof key, "%" PRId64, g->needs[i].trial);
        json_object_set_new(j, key, json_string(g->needs[i].path));
    }
    return j;
}

/* The files of the models from which an ensemble is made. */
static json_t *models_new(const struct group *g)
{
    json_t *list = json_array();

    for (int i = 0; i < g->grant.n_models; i++) {
        const struct msg_model *m = &g->grant.models[i];
        json_array_append_new(list, json_pack("{s:s?, s:s?}", "artifact", path_of(g, m->artifact),
                                              "predictions", path_of(g, m->predictions)));
    }
    return list;
}

static void on_file(void *arg, const char *path, const struct err *err);

bool group_files_good(struct group *g)
{
    char path[4096];

    g->n_pending++; /* keeps it above 0 until the loop is done, so that on_files comes only once */
    for (int i = 0; i < g->n_needs; i++) {
        struct need *n = &g->needs[i];

        if (!n->path || (cache_find(g->env->cache, n->sha256, path, sizeof path) == 1 &&
                         strcmp(path, n->path) == 0))
            continue;
        if (n->is_pinned)
            cache_unpin(g->env->cache, n->sha256);
        mem_free(n->path);
        n->path = NULL;
        n->is_pinned = false;
        n->is_pending = true;
        g->n_pending++;
        fetch_get(g->env->fetch, n->sha256, on_file, n);
    }
    g->n_pending--;
    return g->n_pending == 0 && !g->ended;
}

int group_files_check(struct group *g, struct err *err)
{
    char path[4096];

    for (int i = 0; i < g->n_needs; i++) {
        const struct need *n = &g->needs[i];

        if (n->path && (cache_find(g->env->cache, n->sha256, path, sizeof path) != 1 ||
                        strcmp(path, n->path) != 0))
            return err_set(err, ERR_IO, "the file %s changed while it was in use", n->path);
    }
    return 0;
}

void group_send(struct group *g, struct process *process)
{
    struct msg_grant part = g->grant; /* borrows everything except the list of trials */
    json_t *msg = NULL;

    CHECK(!g->sent && !g->ended && g->n_pending == 0);
    if (!group_files_good(g))
        return;
    part.trials = mem_array((size_t)g->grant.n_trials + 1, sizeof *part.trials);
    part.n_trials = 0;
    for (int i = 0; i < g->grant.n_trials; i++) {
        const struct msg_trial *l = &g->grant.trials[i];
        const struct held *h =
            part.kind == MSG_FIT ? outbox_find(g->env->outbox, l->trial, l->fence, false) : NULL;

        if (part.kind != MSG_FIT || (h && h->group == g && h->state == HELD_WAITING))
            part.trials[part.n_trials++] = *l;
    }
    g->sent = true;
    if (part.kind == MSG_FIT && part.n_trials == 0) {
        g->ended = true;
        goto out;
    }
    msg = json_pack("{s:s, s:I, s:o, s:o, s:I}", "op", "run", "run", (json_int_t)g->run, "grant",
                    msg_grant_json_new(&part), "checkpoints", checkpoints_new(g), "deadline_at_ms",
                    (json_int_t)g->deadline_at_ms);
    CHECK(msg);
    set_path(msg, "frame", g, g->grant.data.frame);
    set_path(msg, "test_frame", g, g->grant.data.test_frame);
    set_path(msg, "source", g, g->grant.source);
    set_path(msg, "model", g, g->grant.model);
    if (part.kind == MSG_ENSEMBLE)
        json_object_set_new(msg, "models", models_new(g));
    process_send(process, msg);
out:
    mem_free(part.trials);
}

/* ---- files ---- */

static void on_file(void *arg, const char *path, const struct err *err)
{
    struct need *n = arg;
    struct group *g = n->group;

    CHECK(n->is_pending && g->n_pending > 0 && !n->path);
    n->is_pending = false;
    g->n_pending--;
    if (path) {
        cache_pin(g->env->cache, n->sha256);
        n->is_pinned = true;
        n->path = mem_strdup(path);
    } else if (n->trial != 0 && !g->grant.ranks) {
        log_warn("checkpoint.missing trial=%" PRId64 " err=\"%s\"", n->trial, err->text);
    } else {
        log_error("group.file group=%" PRId64 " err=\"%s\"", g->grant.group, err->text);
        /* If the controller has no such file, another runner would fail too: not our fault. */
        group_fail(g, err->code == ERR_NOTFOUND ? TR_DATA : TR_DEVICE, err->text);
    }
    if (g->n_pending == 0)
        g->env->on_files(g->env->arg);
}

static void add_need(struct group *g, const char *sha256, int64_t trial)
{
    struct need *n = &g->needs[g->n_needs];

    if (!sha256[0] || (trial == 0 && path_of(g, sha256)))
        return;
    *n = (struct need){ .group = g, .trial = trial, .is_pending = true };
    str_copy(n->sha256, sizeof n->sha256, sha256);
    g->n_needs++;
}

void group_fetch(struct group *g)
{
    const struct msg_grant *m = &g->grant;

    g->needs = mem_array((size_t)m->n_trials + 2 * (size_t)m->n_models + 4, sizeof *g->needs);
    add_need(g, m->data.frame, 0);
    add_need(g, m->data.test_frame, 0);
    add_need(g, m->source, 0);
    add_need(g, m->model, 0);
    for (int i = 0; i < m->n_models; i++) {
        add_need(g, m->models[i].artifact, 0);
        add_need(g, m->models[i].predictions, 0);
    }
    for (int i = 0; i < m->n_trials; i++)
        add_need(g, m->trials[i].checkpoint, m->trials[i].trial);
    g->n_pending = g->n_needs + 1; /* + 1: see group_files_good */
    for (int i = 0; i < g->n_needs; i++)
        fetch_get(g->env->fetch, g->needs[i].sha256, on_file, &g->needs[i]);
    g->n_pending--;
}
