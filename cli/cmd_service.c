/* cmd_service.c - runners, tokens, doctor and debug: what an operator asks. */
#include "cli/client.h"
#include "cli/cmd.h"
#include "cli/print.h"

#include "base/mem.h"
#include "base/proc.h"
#include "base/str.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct service_opts {
    struct cli_common common;
};
static const struct conf_opt opts[] = { CLI_COMMON(struct service_opts) };

struct call {
    struct service_opts o;
    struct client *client;
    const char *op[CLI_MAX_OPERANDS];
    int n;
    struct err err;
};

static int begin(struct call *c, const struct cmd *cmd, int argc, char **argv, int min, int max)
{
    memset(c, 0, sizeof(*c));
    int rc = cli_args(cmd, opts, ARRAY_LEN(opts), &c->o, argc, argv, c->op, min, max, &c->n);
    if (rc >= 0)
        return rc;
    c->client = client_of(&c->o.common, &c->err);
    return c->client ? -1 : cli_fail(&c->err);
}

static int end(struct call *c, int rc)
{
    client_free(c->client);
    conf_fini(&c->o, opts, ARRAY_LEN(opts));
    return rc;
}

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
}

int cmd_runner(const struct cmd *cmd, int argc, char **argv)
{
    struct call c;
    json_t *answer = NULL;
    int64_t id = 0;
    int rc = begin(&c, cmd, argc, argv, 1, 2);

    if (rc >= 0)
        return end(&c, rc);
    if (strcmp(c.op[0], "ls") == 0 && c.n == 1)
        rc = client_get(c.client, &answer, &c.err, "/runners");
    else if ((strcmp(c.op[0], "drain") == 0 || strcmp(c.op[0], "enable") == 0) && c.n == 2)
        rc = str_i64(c.op[1], 1, INT64_MAX, &id, &c.err) < 0
                 ? -1
                 : client_post(c.client, NULL, &answer, &c.err, "/runners/%" PRId64 "/%s", id,
                               c.op[0]);
    else
        return end(&c, (fprintf(stderr, "assay runner: usage: assay runner %s\n", cmd->operands),
                        CLI_USAGE));
    if (rc < 0)
        return end(&c, cli_fail(&c.err));
    if (c.o.common.json || !json_object_get(answer, "runners"))
        print_json(answer);
    else
        runner_rows(answer);
    json_decref(answer);
    return end(&c, CLI_OK);
}

int cmd_token(const struct cmd *cmd, int argc, char **argv)
{
    struct call c;
    json_t *answer = NULL, *body = NULL;
    char path[80];
    int rc = begin(&c, cmd, argc, argv, 1, 3);

    if (rc >= 0)
        return end(&c, rc);
    if (strcmp(c.op[0], "ls") == 0 && c.n == 1) {
        rc = client_get(c.client, &answer, &c.err, "/tokens");
    } else if (strcmp(c.op[0], "add") == 0 && c.n == 3) {
        body = json_pack("{s:s, s:s}", "name", c.op[1], "role", c.op[2]);
        rc = client_post(c.client, body, &answer, &c.err, "/tokens");
    } else if (strcmp(c.op[0], "rm") == 0 && c.n == 2) {
        snprintf(path, sizeof(path), "/tokens/%.40s", c.op[1]);
        rc = client_call(c.client, "DELETE", path, NULL, &answer, &c.err);
    } else {
        return end(&c, (fprintf(stderr, "assay token: usage: assay token %s\n", cmd->operands),
                        CLI_USAGE));
    }
    json_decref(body);
    if (rc < 0)
        return end(&c, cli_fail(&c.err));
    if (answer)
        print_json(answer);
    json_decref(answer);
    return end(&c, CLI_OK);
}

int cmd_debug(const struct cmd *cmd, int argc, char **argv)
{
    struct call c;
    json_t *answer = NULL, *body = json_object(), *args = json_array();
    int rc = begin(&c, cmd, argc, argv, 1, CLI_MAX_OPERANDS);

    for (int i = 1; rc < 0 && i < c.n; i++)
        json_array_append_new(args, json_string(c.op[i]));
    json_object_set_new(body, "args", args);
    if (rc < 0 && c.n > 0) {
        char verb[200];
        client_quote(c.op[0], verb, sizeof(verb));
        rc = CLI_OK;
        if (client_post(c.client, body, &answer, &c.err, "/debug/%s", verb) < 0)
            rc = cli_fail(&c.err);
        else
            print_json(answer);
    }
    json_decref(answer);
    json_decref(body);
    return end(&c, rc);
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

static void find_temp(struct finding *f)
{
    const char *base = getenv("TMPDIR");

    if (!base)
        base = "/tmp";
    *f = (struct finding){ .what = "temporary folder", .ok = access(base, W_OK | X_OK) == 0 };
    snprintf(f->result, sizeof(f->result), "%.120s %s", base,
             f->ok ? "is writable" : "is not writable");
    if (!f->ok)
        snprintf(f->mend, sizeof(f->mend), "set TMPDIR to a folder you own");
}

static void find_server(struct finding *f)
{
    struct err err = { 0 };
    json_t *health = NULL;
    struct client *c = client_new(NULL, NULL, &err);

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
                 "assay serve  (not needed for 'assay fit' and 'assay run')");
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

int cmd_doctor(const struct cmd *cmd, int argc, char **argv)
{
    struct service_opts o = { 0 };
    struct finding all[4];
    const char *op[CLI_MAX_OPERANDS];
    json_t *doc = json_array();
    int n = 0, bad = 0, rc = cli_args(cmd, opts, ARRAY_LEN(opts), &o, argc, argv, op, 0, 0, &n);

    if (rc >= 0)
        goto out;
    find_machine(&all[0]);
    find_gpu(&all[1]);
    find_temp(&all[2]);
    find_server(&all[3]);
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
    conf_fini(&o, opts, ARRAY_LEN(opts));
    return rc;
}
