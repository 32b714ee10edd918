/* cmd_service.c - what an operator asks: `assay runner`, `assay debug`, `assay doctor`.
 *
 * `doctor` looks at this machine only, apart from one question to the controller. Each of its
 * findings is ok, missing but optional ("-"), or BAD, and says how to mend it. docs/DEBUG.md
 * tells when to use which command. */
#include "cli/call.h"
#include "cli/print.h"

#include "base/mem.h"
#include "base/proc.h"
#include "base/str.h"
#include "ml/ops/ops.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void runner_rows(const json_t *answer)
{
    static const char *const heads[] = { "id",    "name",   "state",    "devices",
                                         "lanes", "engine", "last seen" };
    struct table *t = table_new(heads, ARRAY_LEN(heads));
    size_t i;
    json_t *row;

    json_array_foreach(json_object_get(answer, "runners"), i, row)
    {
        char when[40];
        print_when(json_object_get(row, "last_seen"), when, sizeof(when));
        table_cell(t, "%" JSON_INTEGER_FORMAT, json_integer_value(json_object_get(row, "id")));
        table_cell(t, "%s", print_text(row, "name"));
        table_cell(t, "%s", print_text(row, "state"));
        table_cell(t, "%zu", json_array_size(json_object_get(row, "devices")));
        table_cell(t, "%" JSON_INTEGER_FORMAT, json_integer_value(json_object_get(row, "lanes")));
        table_cell(t, "%s", print_text(row, "numeric_sig"));
        table_cell(t, "%s", when);
    }
    table_print(t, stdout);
    json_array_foreach(json_object_get(answer, "runners"), i, row)
    {
        if (json_is_string(json_object_get(row, "reason")))
            printf("runner %" JSON_INTEGER_FORMAT ": %s\n",
                   json_integer_value(json_object_get(row, "id")), print_text(row, "reason"));
    }
}

/* Finds a runner by its id or its name. */
static int runner_id(struct client *client, const char *text, int64_t *id, struct err *err)
{
    json_t *answer = NULL, *row = NULL;
    size_t i;

    if (str_i64(text, 1, INT64_MAX, id, NULL) == 0)
        return 0;
    if (client_list(client, "/runners", "runners", CLIENT_BY_NEXT, INT64_MAX, &answer, err) < 0)
        return -1;
    *id = 0;
    json_array_foreach(json_object_get(answer, "runners"), i, row)
    {
        if (str_eq(json_string_value(json_object_get(row, "name")), text))
            *id = json_integer_value(json_object_get(row, "id"));
    }
    json_decref(answer);
    return *id ? 0
               : err_set(err, ERR_NOTFOUND,
                         "no runner is called \"%.60s\": 'assay runner ls' lists them", text);
}

int cmd_runner(const struct cmd *cmd, int argc, char **argv)
{
    struct call c;
    json_t *answer = NULL;
    int64_t id = 0;
    int rc = call_begin(&c, cmd, CALL_PLAIN, argc, argv, 1, 2);

    if (rc >= 0)
        return call_end(&c, rc);
    if (strcmp(c.op[0], "ls") == 0 && c.n == 1)
        rc = client_list(c.client, "/runners", "runners", CLIENT_BY_NEXT, INT64_MAX, &answer,
                         &c.err);
    else if ((strcmp(c.op[0], "drain") == 0 || strcmp(c.op[0], "enable") == 0) && c.n == 2)
        rc = runner_id(c.client, c.op[1], &id, &c.err) < 0
                 ? -1
                 : client_post(c.client, NULL, &answer, &c.err, "/runners/%" PRId64 "/%s", id,
                               c.op[0]);
    else
        return call_end(&c, cli_usage_verb(cmd, c.op[0]));
    if (rc < 0)
        return call_end(&c, cli_fail(&c.err));
    if (c.o.common.json)
        print_json(answer);
    else if (json_object_get(answer, "runners"))
        runner_rows(answer);
    else
        printf("runner %" PRId64 ": %s\n", id, print_text(answer, "state"));
    json_decref(answer);
    return call_end(&c, CLI_OK);
}

int cmd_debug(const struct cmd *cmd, int argc, char **argv)
{
    struct call c;
    json_t *answer = NULL, *body = json_object(), *args = json_array();
    char id_text[24];
    int64_t id = 0;
    int rc = call_begin(&c, cmd, CALL_PLAIN, argc, argv, 1, CLI_MAX_OPERANDS);

    /* "debug trial" takes STUDY/NUMBER as every command does; the controller's own verb takes the
     * id. */
    if (rc < 0 && c.n == 2 && strcmp(c.op[0], "trial") == 0 && strchr(c.op[1], '/')) {
        if (call_trial_id(c.client, c.op[1], &id, &c.err) < 0)
            rc = cli_fail(&c.err);
        snprintf(id_text, sizeof(id_text), "%" PRId64, id);
        c.op[1] = id_text;
    }
    for (int i = 1; rc < 0 && i < c.n; i++)
        json_array_append_new(args, json_string(c.op[i]));
    json_object_set_new(body, "args", args);
    if (rc < 0 && c.n > 0) {
        char verb[200];
        client_quote(c.op[0], verb, sizeof(verb));
        rc = CLI_OK;
        if (client_post(c.client, body, &answer, &c.err, "/debug/%s", verb) < 0) {
            rc = cli_fail(&c.err);
            if (strstr(c.err.text, "nothing at this address"))
                fprintf(stderr, "(debug commands need a controller that was started with --dev)\n");
        } else {
            print_json(answer);
        }
    }
    json_decref(answer);
    json_decref(body);
    return call_end(&c, rc);
}

/* ---- doctor: what works on this machine, what is missing, and the command that mends it ---- */

struct finding {
    const char *what;
    char result[160];
    char mend[160];
    bool ok, is_optional;
};

static void find_gpu(struct finding *f)
{
    void *nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);

    *f = (struct finding){ .what = "GPU", .is_optional = true };
    f->ok = nvml != NULL;
    snprintf(f->result, sizeof(f->result), "%s",
             nvml ? "NVIDIA driver found"
                  : "no NVIDIA driver: trials run on the CPU, everything works");
    if (nvml)
        dlclose(nvml);
}

/* The part of the program that trains on GPUs. Opening it initialises no device. */
static void find_cuda(struct finding *f)
{
    struct err err = { 0 };

    *f = (struct finding){ .what = "CUDA half", .is_optional = true };
    f->ok = ml_cuda_open(&err) != NULL;
    snprintf(f->result, sizeof(f->result), "%s",
             f->ok ? "installed; measured on one kind of GPU so far, an NVIDIA H100"
                   : "not installed: GPUs are not used");
    if (!f->ok)
        snprintf(f->mend, sizeof(f->mend), "install NVIDIA's nvcc, then: make");
}

static void find_temp(struct finding *f)
{
    const char *base = getenv("TMPDIR");

    if (!base || !base[0])
        base = "/tmp";
    *f = (struct finding){ .what = "temporary folder", .ok = access(base, W_OK | X_OK) == 0 };
    snprintf(f->result, sizeof(f->result), "%.120s %s", base,
             f->ok ? "is writable" : "is not writable");
    if (!f->ok)
        snprintf(f->mend, sizeof(f->mend), "set TMPDIR to a folder you own");
}

/* How many runners fit: told for the door that has least room left. */
static void find_room(struct finding *f, const json_t *health)
{
    const json_t *doors = json_object_get(health, "connections"), *door = NULL;
    const char *name = NULL, *least = NULL;
    json_int_t open = 0, most = 0;

    json_object_foreach((json_t *)doors, name, door)
    {
        json_int_t n = json_integer_value(json_object_get(door, "open")),
                   m = json_integer_value(json_object_get(door, "most"));

        if (!least || m - n < most - open)
            least = name, open = n, most = m;
    }
    *f = (struct finding){ .what = "connections", .is_optional = true };
    f->ok = least && open < most / 10 * 9;
    if (!least)
        snprintf(f->result, sizeof(f->result), "not known: no controller answers");
    else
        snprintf(f->result, sizeof(f->result),
                 "%" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT
                 " in use (%s); a runner takes one, and one for each device that waits",
                 open, most, str_eq(least, "tcp") ? "TCP" : "Unix socket");
    if (least && !f->ok)
        snprintf(f->mend, sizeof(f->mend),
                 "raise max_connections and the controller's limit of open files (LimitNOFILE)");
}

static void find_server(struct finding *f, struct finding *room, const struct cli_common *common)
{
    struct err err = { 0 };
    json_t *health = NULL;
    struct client *c = client_of(common, &err);

    *f = (struct finding){ .what = "controller", .is_optional = true };
    if (c)
        client_timeout_ms(c, 2000);
    f->ok = c && client_get(c, &health, &err, "/health") == 0;
    if (f->ok)
        snprintf(f->result, sizeof(f->result), "answers at %.120s", client_server(c));
    else
        snprintf(f->result, sizeof(f->result), "%.150s", err.text);
    if (!f->ok)
        snprintf(f->mend, sizeof(f->mend),
                 "assay serve  (not needed by 'assay fit' and 'assay run')");
    find_room(room, health);
    json_decref(health);
    client_free(c);
}

static void find_machine(struct finding *f)
{
    char bytes[40];

    *f = (struct finding){ .what = "machine", .ok = true };
    str_fmt_bytes(proc_memory_bytes(), bytes, sizeof(bytes));
    snprintf(f->result, sizeof(f->result), "%d physical cores, %s memory", proc_physical_cores(),
             bytes);
}

static const struct conf_opt doctor_opts[] = { CLI_COMMON(struct call_opts) };

int cmd_backup(const struct cmd *cmd, int argc, char **argv)
{
    struct call c;
    json_t *answer = NULL, *body = NULL;
    int rc = call_begin(&c, cmd, CALL_PLAIN, argc, argv, 0, 1);

    if (rc >= 0)
        return call_end(&c, rc);
    body = c.n == 1 ? json_pack("{s:s}", "name", c.op[0]) : json_object();
    rc = client_post(c.client, body, &answer, &c.err, "/backup");
    json_decref(body);
    if (rc != 0)
        return call_end(&c, cli_fail(&c.err));
    json_int_t missing = json_integer_value(json_object_get(answer, "missing"));
    if (c.o.common.json)
        print_json(answer);
    else
        printf("%s\n", print_text(answer, "path"));
    if (missing > 0)
        fprintf(stderr,
                "%" JSON_INTEGER_FORMAT
                " files are not in it, because the data folder has lost them\n",
                missing);
    json_decref(answer);
    return call_end(&c, CLI_OK);
}

int cmd_doctor(const struct cmd *cmd, int argc, char **argv)
{
    struct call_opts o = { 0 };
    struct finding all[6];
    const char *op[CLI_MAX_OPERANDS];
    json_t *doc = json_array();
    int n = 0, bad = 0,
        rc = cli_args(cmd, doctor_opts, ARRAY_LEN(doctor_opts), &o, argc, argv, op, 0, 0, &n);

    if (rc >= 0)
        goto out;
    find_machine(&all[0]);
    find_gpu(&all[1]);
    find_cuda(&all[2]);
    find_temp(&all[3]);
    find_server(&all[4], &all[5], &o.common);
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        const struct finding *f = &all[i];
        bad += !f->ok && !f->is_optional;
        json_array_append_new(doc, json_pack("{s:s, s:b, s:b, s:s, s:s}", "what", f->what, "ok",
                                             f->ok, "optional", f->is_optional, "result", f->result,
                                             "mend", f->mend));
        if (!o.common.json)
            printf("%-4s %-17s %s%s%s\n",
                   f->ok            ? "ok"
                   : f->is_optional ? "-"
                                    : "BAD",
                   f->what, f->result, f->mend[0] ? "\n                       mend: " : "",
                   f->mend);
    }
    if (o.common.json)
        print_json(doc);
    rc = bad ? CLI_FAILED : CLI_OK;
out:
    json_decref(doc);
    conf_fini(&o, doctor_opts, ARRAY_LEN(doctor_opts));
    return rc;
}
