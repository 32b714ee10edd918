/* study_run.c - what commands that follow a study share: signals, tables that become datasets,
 * results. Following itself is in follow.c. */
#include "cli/study_run.h"
#include "cli/imagepack.h"
#include "cli/print.h"
#include "cli/stdinfile.h"
#include "cli/tablehead.h"
#include "cli/tempdir.h"

#include "base/gz.h"
#include "base/mem.h"
#include "base/str.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SAVE_RESERVE_MS = 150 }; /* time kept for fetching the model, beside three slow answers */
enum { LATE_SAVE_MS = 10000 };  /* beyond the hard end, for fetching a model that is there */
enum { OLDEST_MS = 60000 };     /* a greater age means that the two clocks do not fit together */

static volatile sig_atomic_t interrupts;

static void on_interrupt(int signo)
{
    (void)signo;
    if (interrupts < 100)
        interrupts = interrupts + 1;
}

int study_run_interrupts(void)
{
    return (int)interrupts;
}

/* How long ago this process began. On a busy machine loading the program takes time too, and
 * --time counts it. Field 22 of /proc/self/stat is the start in clock ticks since the machine
 * started; the fields are counted behind the program's name, which stands in brackets. */
static int64_t process_age_ms(void)
{
    char line[1024] = "";
    unsigned long long began = 0;
    struct timespec now;
    FILE *f = fopen("/proc/self/stat", "re");
    long ticks = sysconf(_SC_CLK_TCK);

    if (f) {
        (void)!fread(line, 1, sizeof(line) - 1, f);
        fclose(f);
    }
    char *p = strrchr(line, ')');
    for (int field = 2; p && field < 22; field++)
        p = strchr(p + 1, ' ');
    if (!p || ticks <= 0 || clock_gettime(CLOCK_BOOTTIME, &now) < 0)
        return 0;
    began = strtoull(p, NULL, 10);
    int64_t age = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 -
                  (int64_t)(began * 1000 / (unsigned long long)ticks);
    return began > 0 && age > 0 && age < OLDEST_MS ? age : 0;
}

void study_run_init(struct study_run *s, struct client *client, struct local *local)
{
    struct sigaction sa = { .sa_handler = on_interrupt };

    memset(s, 0, sizeof(*s));
    s->client = client;
    s->local = local;
    clk_init_system(&s->clk);
    s->start_ms = clk_now_ms(&s->clk) - process_age_ms();
    sigemptyset(&sa.sa_mask);
    sigaction(SIGINT, &sa, NULL);
    sigaction(SIGTERM, &sa, NULL);
    /* a closed terminal counts as Ctrl-C, unless the program runs under nohup */
    if (signal(SIGHUP, SIG_IGN) != SIG_IGN)
        sigaction(SIGHUP, &sa, NULL);
    signal(SIGPIPE, SIG_IGN);
}

void study_run_pause_ms(int64_t ms)
{
    const struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

    nanosleep(&t, NULL); /* a signal ends it early, which is what we want */
}

int64_t study_run_poll_ms(const struct study_run *s)
{
    return str_starts(client_server(s->client), "unix:") ? STUDY_RUN_POLL_MS
                                                         : STUDY_RUN_POLL_REMOTE_MS;
}

/* The reserve grows with the slowest answer so far, because a busy machine will be slow at the
 * end too. */
static int64_t reserve_ms(const struct study_run *s)
{
    return MAX(SAVE_RESERVE_MS,
               MIN(SAVE_RESERVE_MS + 3 * s->slow_ms, (s->end_ms - s->start_ms) / 3));
}

bool study_run_is_late(const struct study_run *s)
{
    return s->end_ms && clk_now_ms(&s->clk) >= s->end_ms - reserve_ms(s);
}

static int check_going_on(struct study_run *s, struct err *err)
{
    if (interrupts > 0)
        return err_set(err, ERR_IO, "interrupted");
    if (study_run_is_late(s))
        return err_set(err, ERR_TIMEOUT, "the time limit came before the table was read");
    return s->local && !local_is_alive(s->local, err) ? -1 : 0;
}

/* Reports the columns of numbers or dates that hold other text too. */
static void tell_junk(const json_t *dataset, const char *file)
{
    size_t i;
    json_t *col;

    json_array_foreach(json_object_get(json_object_get(dataset, "schema"), "columns"), i, col)
    {
        int64_t n = json_integer_value(json_object_get(col, "not_numbers"));
        if (n > 0)
            print_not_read(file, json_string_value(json_object_get(col, "name")),
                           json_string_value(json_object_get(col, "kind")), n);
    }
}

int study_run_upload(struct study_run *s, const char *file, char sha256[SHA256_HEX],
                     struct err *err)
{
    struct image_pack pack;

    if (image_pack_open(&pack, file, 0, err) < 0)
        return -1;
    /* an upload may be large, so Ctrl-C must be able to end it */
    client_end_when(s->client, study_run_interrupts);
    int rc = client_upload(s->client, pack.path, sha256, err);
    client_end_when(s->client, NULL);
    image_pack_close(&pack);
    return rc;
}

int study_run_dataset(struct study_run *s, const char *file, const char *name,
                      const json_t *columns, json_t **out, struct err *err)
{
    char sha256[SHA256_HEX];
    const char *shown = stdinfile_name(file);
    const char *base = strrchr(shown, '/') ? strrchr(shown, '/') + 1 : shown;
    json_t *body = NULL, *row = NULL;
    int rc = -1;

    *out = NULL;
    if (study_run_upload(s, file, sha256, err) < 0)
        return -1;
    body = json_pack("{s:s, s:s, s:s}", "name", name, "blob", sha256, "file_name", base);
    if (!body) {
        err_set(err, ERR_ARG, "%s: the file's name is not UTF-8", file);
        goto out;
    }
    if (columns)
        json_object_set(body, "columns", (json_t *)columns);
    if (client_post(s->client, body, &row, err, "/datasets") < 0)
        goto out;
    int64_t id = json_integer_value(json_object_get(row, "id"));
    int64_t quiet_until_ms = clk_now_ms(&s->clk) + 5000;
    while (strcmp(print_text(row, "state"), "ingesting") == 0) {
        if (!s->local && clk_now_ms(&s->clk) >= quiet_until_ms) {
            fprintf(stderr, "waiting for a runner to read %s ('assay runner ls' lists them)\n",
                    shown);
            quiet_until_ms = INT64_MAX;
        }
        if (check_going_on(s, err) < 0)
            goto out;
        study_run_pause_ms(study_run_poll_ms(s) / 4 + 1);
        json_decref(row);
        row = NULL;
        if (client_get(s->client, &row, err, "/datasets/%" PRId64, id) < 0)
            goto out;
    }
    if (strcmp(print_text(row, "state"), "ready") != 0) {
        err_set(err, ERR_ARG, "%s", print_text(row, "error"));
        goto out;
    }
    tell_junk(row, shown);
    *out = row;
    row = NULL;
    rc = 0;
out:
    json_decref(body);
    json_decref(row);
    return rc;
}

/* Reads the header line of a table as text, to know which columns it has. */
static char *header_line_new(const char *file)
{
    enum { HEAD_MAX = 1 << 20 };
    char *text = mem_zalloc(HEAD_MAX + 1);
    struct gz *g = gz_open(file, NULL);
    long n, len = 0;

    while (g && len < HEAD_MAX &&
           (n = gz_read(g, text + len, (size_t)(HEAD_MAX - len), NULL)) > 0) {
        len += n;
        if (memchr(text, '\n', (size_t)len))
            break;
    }
    gz_close(g);
    text[strcspn(text, "\r\n")] = '\0';
    return text;
}

static bool header_has(const char *header, const char *name)
{
    size_t n = strlen(name);

    for (const char *p = header; (p = strstr(p, name)) != NULL; p++) {
        char before = p == header ? ',' : p[-1], after = p[n];
        if (strchr(",;\t|\"", before) && (after == '\0' || strchr(",;\t|\"", after)))
            return true;
    }
    return false;
}

/* The word that declares what a column of a schema is. */
static const char *type_word(const json_t *col, const char *type)
{
    static const char *const dates[][2] = {
        { "\"order\":\"dmy\"", "date_dmy" },      { "\"order\":\"mdy\"", "date_mdy" },
        { "\"order\":\"ymd\"", "date_ymd" },      { "\"order\":\"epoch_s\"", "epoch_s" },
        { "\"order\":\"epoch_ms\"", "epoch_ms" }, { "\"order\":\"yyyymmdd\"", "yyyymmdd" },
    };
    const char *kind = json_string_value(json_object_get(col, "kind"));
    const char *note = json_string_value(json_object_get(col, "note"));

    if (str_starts(type, "ignore"))
        return "ignore";
    for (size_t i = 0; kind && note && str_eq(kind, "date") && i < ARRAY_LEN(dates); i++) {
        if (strstr(note, dates[i][0]))
            return dates[i][1];
    }
    return kind ? kind : type;
}

/* What to say about a column so that it is read like one of a schema. */
static json_t *column_like_new(const json_t *col, const char *type)
{
    const char *note = json_string_value(json_object_get(col, "note"));
    json_t *o = note ? json_loads(note, 0, NULL) : NULL, *word = json_string(type_word(col, type));
    json_t *missing = json_object_get(o, "missing_only");

    if (missing)
        word = json_pack("{s:o, s:O}", "type", word, "missing", missing);
    json_decref(o);
    return word;
}

/* Of a table that is no CSV the first rows tell which columns it has. NULL = they cannot be read. */
static struct frame *first_rows_new(const char *file, struct tempdir *t)
{
    const struct csv_opts opts = { .name = file, .overrides_optional = true };
    struct frame *f = NULL;
    char path[300];

    if (tempdir_make(t, sizeof(t->path), NULL) < 0)
        return NULL;
    snprintf(path, sizeof(path), "%s/frame", t->path);
    f = tablehead_frame(file, &opts, path, NULL);
    return f;
}

json_t *study_run_columns_like_new(const json_t *dataset, const char *file)
{
    json_t *out = json_object();

    if (image_pack_is(file))
        return out;
    struct tempdir temp = { 0 };
    bool is_csv = tablehead_is_csv(file);
    char *header = is_csv ? header_line_new(file) : NULL;
    struct frame *f = is_csv ? NULL : first_rows_new(file, &temp);
    size_t i;
    json_t *col;

    json_array_foreach(json_object_get(json_object_get(dataset, "schema"), "columns"), i, col)
    {
        const char *name = json_string_value(json_object_get(col, "name"));
        const char *type = json_string_value(json_object_get(col, "type"));
        if (name && type && (header ? header_has(header, name) : f && frame_find(f, name) >= 0))
            json_object_set_new(out, name, column_like_new(col, type));
    }
    mem_free(header);
    frame_close(f);
    tempdir_end(&temp, false);
    return out;
}

/* One line about the trials that failed. It is left out where it cannot be had: the results count. */
static void print_failed(struct study_run *s, int64_t study)
{
    json_t *list = NULL, *now = NULL;

    if (study_run_is_late(s) ||
        client_get(s->client, &list, NULL,
                   "/studies/%" PRId64 "/trials?state=failed&sort=-number&limit=1", study) < 0)
        return;
    const json_t *last = json_array_get(json_object_get(list, "trials"), 0);
    if (last && client_get(s->client, &now, NULL, "/studies/%" PRId64, study) == 0) {
        int64_t n = json_integer_value(json_object_get(json_object_get(now, "trials"), "failed"));
        const char *detail = json_string_value(json_object_get(last, "detail"));
        printf("%" PRId64 " %s failed%s trial %" PRId64 ": %s\n", n, n == 1 ? "trial" : "trials",
               n == 1 ? "," : ", the last one",
               (int64_t)json_integer_value(json_object_get(last, "number")),
               detail ? detail : print_text(last, "reason"));
    }
    json_decref(list);
    json_decref(now);
}

/* What the model that was saved is worth to a stranger. It is left out where it cannot be had. */
static void print_estimate(struct study_run *s, int64_t study)
{
    json_t *now = NULL;
    char score[80];

    if (study_run_is_late(s) || client_get(s->client, &now, NULL, "/studies/%" PRId64, study) < 0)
        return;
    const json_t *best = json_object_get(now, "best"), *e = json_object_get(best, "estimate");
    const json_t *result = json_object_get(now, "result");
    const json_t *ensemble = json_object_get(result, "ensemble");
    const json_t *of_ensemble = json_object_get(ensemble, "estimate");
    int64_t number = json_integer_value(json_object_get(best, "number"));
    int64_t compared = json_integer_value(json_object_get(e, "compared"));
    const char *how =
        json_is_true(json_object_get(result, "refit")) ? ", refitted on all rows," : "";
    if (json_is_true(json_object_get(ensemble, "ships"))) {
        print_score(json_object_get(of_ensemble, "score"), json_object_get(of_ensemble, "se"),
                    score, sizeof(score));
        if (json_is_object(of_ensemble))
            printf("the ensemble ships; expect %s on new rows\n", score);
    } else if (json_is_true(json_object_get(e, "is_baseline"))) {
        printf("trial %" PRId64 ", the baseline, ships: no model is better by more than chance\n",
               number);
    } else if (json_number_value(json_object_get(e, "optimism")) > 0) {
        print_score(json_object_get(e, "score"), json_object_get(e, "se"), score, sizeof(score));
        printf("trial %" PRId64 "%s ships; as the best of %" PRId64 " expect %s on new rows\n",
               number, how, compared, score);
    } else if (json_is_string(json_object_get(now, "artifact"))) {
        printf("trial %" PRId64 "%s ships\n", number, how);
    }
    json_decref(now);
}

/* The first Ctrl-C asks for the model, the second to leave at once. */
static int was_asked_twice(void)
{
    return interrupts >= 2;
}

/* The output cannot be written: its disk is full, say. The model of a search that keeps no folder
 * would be lost with it, so it is saved among the temporary files, and the error tells where. */
static void save_spare(struct study_run *s, const char *api_path, struct err *err)
{
    const char *dir = getenv("TMPDIR");
    char file[240];
    int n = snprintf(file, sizeof(file), "%s/best-XXXXXX.assay", dir && dir[0] ? dir : "/tmp");
    int fd = n < (int)sizeof(file) ? mkstemps(file, (int)strlen(".assay")) : -1;

    if (fd < 0)
        return;
    close(fd);
    if (client_download(s->client, api_path, file, NULL) == 0) {
        const struct err was = *err;
        err_set(err, was.code, "%s; the model was saved as %s instead", was.text, file);
    } else {
        (void)unlink(file);
    }
}

static int save_model(struct study_run *s, int64_t study, const char *output, struct err *err)
{
    bool may_be_late = s->end_ms && s->has_model;
    char path[120];

    snprintf(path, sizeof(path), "/studies/%" PRId64 "/best/artifact", study);
    if (may_be_late)
        client_deadline(s->client, &s->clk, s->end_ms + LATE_SAVE_MS);
    client_end_when(s->client, was_asked_twice);
    int rc = client_download(s->client, path, output, err);
    if (rc < 0 && err && s->local && (err->code == ERR_FULL || err->code == ERR_IO))
        save_spare(s, path, err);
    client_end_when(s->client, NULL);
    if (may_be_late)
        client_deadline(s->client, &s->clk, s->end_ms);
    if (rc < 0 && err && (err->code == ERR_NOTFOUND || err->code == ERR_CONFLICT))
        err_set(err, ERR_NOTFOUND, "no trial has finished: there is no model");
    return rc;
}

int study_run_results(struct study_run *s, int64_t study, const char *output, int rows,
                      struct err *err)
{
    json_t *board = NULL;

    if (output && save_model(s, study, output, err) < 0)
        return -1;
    if (client_get(s->client, &board, err, "/studies/%" PRId64 "/leaderboard?limit=%d", study,
                   rows) < 0)
        return output && study_run_is_late(s) ? 0 : -1;
    int rc = json_array_size(json_object_get(board, "rows")) > 0
                 ? 0
                 : err_set(err, ERR_NOTFOUND, "no trial has finished: there is no model");
    if (rc == 0 && !s->quiet) {
        print_leaderboard(board, rows, stdout);
        print_failed(s, study);
        print_estimate(s, study);
    }
    json_decref(board);
    return rc;
}

int study_run_to_end(struct study_run *s, int64_t study, const char *output, struct err *err)
{
    json_t *last = NULL;
    int rc = study_run_follow(s, study, &last, err);

    if (rc == 0 && strcmp(print_text(last, "state"), "failed") == 0)
        rc = err_set(err, ERR_IO, "the search failed: %s", print_text(last, "reason"));
    if (rc == 0)
        rc = study_run_results(s, study, output, 10, err);
    if (rc == 0 && s->quiet && last)
        print_json(last);
    json_decref(last);
    return rc;
}

int study_run_exit_code(const struct err *err)
{
    int rc = cli_fail(err);

    return study_run_interrupts() > 0 ? CLI_INTERRUPTED : rc;
}
