/* job_start.c - what a program is given when it starts: its words, its environment, its files and
 * its checkpoint (docs/SPEC.md, "Programs of your own"). */
#include "trial-runner/command/job.h"

#include "base/jsonx.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "trial-runner/gpu.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the environment ---- */

static void set(json_t *env, const char *name, const char *fmt, ...) PRINTF_LIKE(3, 4);
static void set(json_t *env, const char *name, const char *fmt, ...)
{
    char text[2048];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    json_object_set_new(env, name, json_string(text));
}

/* Where things are, and how libraries and devices behave; nothing else of ours is inherited. */
static void inherit(json_t *env)
{
    static const char *const kept[] = { "PATH",     "TZ",          "LANG",           "LC_ALL",
                                        "LC_CTYPE", "VIRTUAL_ENV", "LD_LIBRARY_PATH" };

    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        const char *value = getenv(kept[i]);

        if (value && value[0])
            json_object_set_new(env, kept[i], json_string(value));
    }
    if (!json_object_get(env, "PATH"))
        json_object_set_new(env, "PATH", json_string("/usr/local/bin:/usr/bin:/bin"));
}

static json_t *environment_new(const struct job *j)
{
    const char *path = j->folder.path;
    json_t *env = json_object(), *own = command_environment_new(&j->command, j->params);
    int gpu = gpu_index(j->host->device);

    inherit(env);
    set(env, "HOME", "%s/work", path);
    set(env, "TMPDIR", "%s/tmp", path);
    set(env, "OMP_NUM_THREADS", "1");  /* a CPU device is one core */
    set(env, "PYTHONUNBUFFERED", "1"); /* else reports would wait in a buffer */
    set(env, "CUDA_VISIBLE_DEVICES", "%s", "");
    json_object_update(env, own);
    json_decref(own);
    if (gpu >= 0)
        set(env, "CUDA_VISIBLE_DEVICES", "%d", gpu);
    set(env, "ASSAY_STUDY", "%s", j->grant.study_name);
    set(env, "ASSAY_TRIAL", "%" PRId64, j->trial);
    set(env, "ASSAY_ATTEMPT", "%" PRId64, j->fence);
    set(env, "ASSAY_SEED", "%" PRIu64, j->grant.trials[0].seed >> 11); /* exact in a double */
    set(env, "ASSAY_PARAMS", "%s/work/params.json", path);
    set(env, "ASSAY_CHECKPOINT_DIR", "%s/checkpoint", path);
    set(env, "ASSAY_LEVEL", "%d", j->reached);
    set(env, "ASSAY_RUN_TO", "%d", j->to);
    set(env, "ASSAY_LEVELS", "%d", j->levels);
    set(env, "ASSAY_URL", "%s", j->inbox.url);
    set(env, "ASSAY_TOKEN", "%s", j->inbox.token);
    set(env, PROGRAM_MARK, "%s", j->host->mark);
    return env;
}

static int64_t memory_limit(const struct job *j)
{
    int64_t own = j->grant.trial_memory_bytes, device = j->host->memory_bytes;

    return own > 0 && (device <= 0 || own < device) ? own : device;
}

int job_start(struct job *j, struct err *err)
{
    json_t *words = command_words_new(&j->command, j->params), *env = environment_new(j);
    char work[640], name[80];
    struct program_conf c = { .words = words,
                              .environment = env,
                              .folder = work,
                              .uid = j->host->uid,
                              .processes = j->command.processes,
                              .file_bytes = j->command.disk_bytes,
                              .memory_bytes = memory_limit(j),
                              .cgroup = name };

    (void)snprintf(work, sizeof work, "%s/work", j->folder.path);
    (void)snprintf(name, sizeof name, "assay-%.40s-%.20s", j->host->mark, j->host->device);
    int rc = program_start(&j->program, &c, err);
    json_decref(words);
    json_decref(env);
    if (rc == 0) {
        j->attempt++;
        j->state = JOB_RUNS;
        j->end = END_NONE;
        j->began_ms = host_now(j->host);
        log_info("program.start trial=%" PRId64 " pid=%d program=\"%.80s\"", j->trial,
                 (int)j->program.pid, json_string_value(json_array_get(j->command.words, 0)));
    }
    return rc;
}

/* ---- what is kept with a checkpoint ---- */

json_t *job_state_json(const struct job *j)
{
    json_t *values = json_object();
    char key[16];

    for (int i = 1; i <= j->levels; i++) {
        (void)snprintf(key, sizeof key, "%d", i);
        if (isfinite(j->values[i]))
            json_object_set_new(values, key, json_real(j->values[i]));
    }
    return json_pack("{s:o, s:I}", "values", values, "spent_ms",
                     (json_int_t)j->before_ms + job_spent_ms(j));
}

void job_state_load(struct job *j, const json_t *state)
{
    json_t *values = json_object_get(state, "values"), *v = NULL;
    const char *key = NULL;

    json_object_foreach(values, key, v)
    {
        int64_t level = 0;

        if (str_i64(key, 1, j->levels, &level, NULL) == 0 && json_is_number(v)) {
            j->values[level] = json_number_value(v);
            j->reached = MAX(j->reached, (int)level);
        }
    }
    (void)jsonx_i64(state, NULL, "spent_ms", JSONX_OPTIONAL, 0, INT64_MAX / 4, &j->before_ms, NULL);
}
