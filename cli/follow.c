/* follow.c - follows one study to its end, for a person at a terminal (declared in study_run.h).
 *
 * Over a Unix socket the study's state is asked for often while the search is young or near its
 * end, so that short trials and the end are seen soon. Each question costs both sides about 0.5 ms,
 * which matters when they share one core with the trials; therefore the pauses grow with the age of
 * the search. Over a network it is asked for once a second.
 *
 * A controller that does not answer is asked again for ever; the progress line then says how
 * long it has been silent. */
#include "cli/print.h"
#include "cli/progress.h"
#include "cli/study_run.h"

#include "base/str.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { POLL_MOST_MS = 100, SILENT_MS = 3000 };

struct follow {
    struct study_run *s;
    int64_t study, begun_ms;
    int64_t heard_ms; /* the last answer */
    int64_t best;     /* number of the best trial so far; 0 = none */
    int64_t gain_ms;  /* when it became the best; INT64_MIN = not known */
    bool was_stopped; /* by us */
    bool has_warned;  /* the warnings were said */
    struct progress line;
};

static int64_t now_ms(const struct follow *f)
{
    return clk_now_ms(&f->s->clk);
}

/* The pause before the next question is a twentieth of the time since the start, so that the end
 * is noticed late by at most that share. */
static int64_t pause_of(const struct follow *f)
{
    const struct study_run *s = f->s;
    int64_t ms = (now_ms(f) - f->begun_ms) / 20;

    if (study_run_poll_ms(s) > POLL_MOST_MS)
        return study_run_poll_ms(s);
    if (s->end_ms)
        ms = MIN(ms, (s->end_ms - now_ms(f)) / 20);
    return MAX(STUDY_RUN_POLL_MS, MIN(ms, POLL_MOST_MS));
}

/* ---- the line ---- */

static double share_done(const struct follow *f, const json_t *study)
{
    const struct study_run *s = f->s;
    const json_t *budget = json_object_get(study, "budget");
    double trials = json_number_value(json_object_get(budget, "trials"));
    double by_trials = trials > 0 ? (double)print_ended_trials(study) / trials : 0, by_time = 0;

    if (s->end_ms > s->start_ms)
        by_time = (double)(now_ms(f) - s->start_ms) / (double)(s->end_ms - s->start_ms);
    else if (json_number_value(json_object_get(budget, "time_ms")) > 0)
        by_time = json_number_value(json_object_get(study, "used_ms")) /
                  json_number_value(json_object_get(budget, "time_ms"));
    return by_trials > by_time ? by_trials : by_time;
}

static int64_t left_of(const struct follow *f, const json_t *study)
{
    int64_t limit =
        json_integer_value(json_object_get(json_object_get(study, "budget"), "time_ms"));
    int64_t left = limit - json_integer_value(json_object_get(study, "used_ms"));

    if (f->s->end_ms)
        return MAX(f->s->end_ms - now_ms(f), 0);
    return limit > 0 ? MAX(left, 0) : -1;
}

/* Asks when the best trial ended, where that happened before this program began to follow. Uses
 * the controller's clock. */
static void ask_gain(struct follow *f, const json_t *best)
{
    json_t *trial = NULL;

    if (client_get(f->s->client, &trial, NULL, "/trials/%" JSON_INTEGER_FORMAT,
                   json_integer_value(json_object_get(best, "trial"))) < 0)
        return;
    int64_t ended = json_integer_value(json_object_get(trial, "ended_at"));
    if (ended > 0)
        f->gain_ms = now_ms(f) - MAX(clk_wall_ms(&f->s->clk) - ended, 0);
    json_decref(trial);
}

static void note_gain(struct follow *f, const json_t *best)
{
    int64_t number = json_integer_value(json_object_get(best, "number"));

    if (number == f->best)
        return;
    f->gain_ms = now_ms(f);
    if (f->best == 0 && f->s->is_attached)
        ask_gain(f, best);
    f->best = number;
}

static void draw(struct follow *f, const json_t *study)
{
    const json_t *best = json_object_get(study, "best"), *trials = json_object_get(study, "trials");
    char score[80];
    struct progress_facts p = { .state = print_text(study, "state"),
                                .why = json_is_string(json_object_get(study, "why"))
                                           ? print_text(study, "why")
                                           : NULL,
                                .started = json_integer_value(json_object_get(trials, "total")) -
                                           json_integer_value(json_object_get(trials, "queued")),
                                .running = json_integer_value(json_object_get(trials, "running")),
                                .done = print_ended_trials(study),
                                .gain_ms = -1,
                                .left_ms = left_of(f, study),
                                .share = share_done(f, study) };

    if (f->s->quiet)
        return;
    if (json_is_object(best)) {
        note_gain(f, best);
        print_score(json_object_get(best, "score"), NULL, score, sizeof(score));
        p.score = score;
        p.metric = print_text(study, "metric");
        p.family = print_text(best, "family");
        p.gain_ms = f->gain_ms == INT64_MIN ? -1 : now_ms(f) - f->gain_ms;
    }
    if (now_ms(f) - f->heard_ms >= SILENT_MS)
        p.silent_ms = now_ms(f) - f->heard_ms;
    progress_draw(&f->line, &p, now_ms(f));
}

/* ---- interrupts ---- */

static void say_detached(struct follow *f, const json_t *study)
{
    const char *server = f->s->server_option, *name = print_text(study, "name");
    char id[32], option[300] = "";

    (void)!snprintf(id, sizeof(id), "%" PRId64, f->study);
    if (!study)
        name = id; /* no answer has come so far */
    if (server)
        (void)!snprintf(option, sizeof(option), " --server %.250s", print_safe(server));
    progress_end(&f->line);
    if (f->was_stopped)
        fprintf(stderr, "detached: study %s is ending with its best model\n", name);
    else
        fprintf(stderr, "detached: study %s goes on without this terminal\n", name);
    fprintf(stderr, "  assay attach %s%s    follows it again\n", name, option);
    if (!f->was_stopped)
        fprintf(stderr, "  assay stop %s%s      ends it with its best model\n", name, option);
}

static void stop_study(struct follow *f)
{
    struct err why = { 0 };

    progress_end(&f->line);
    if (!f->s->quiet)
        fprintf(stderr, "stopping with the best model so far (Ctrl-C again leaves at once)\n");
    f->was_stopped = true;
    if (client_post(f->s->client, NULL, NULL, &why, "/studies/%" PRId64 "/stop", f->study) < 0)
        fprintf(stderr, "assay: the study could not be stopped: %s\n", print_safe(why.text));
}

/* Returns 0 to go on, 1 when detached, -1 to leave at once. */
static int obey_interrupts(struct follow *f, const json_t *study, struct err *err)
{
    int n = study_run_interrupts();

    if (n == 0)
        return 0;
    if (f->s->detaches || (n >= 2 && !f->s->local)) {
        say_detached(f, study);
        return 1;
    }
    if (n >= 2)
        return err_set(err, ERR_IO, "interrupted");
    if (!f->was_stopped)
        stop_study(f);
    return 0;
}

/* ---- the loop ---- */

static bool study_ended(const json_t *study)
{
    const char *state = print_text(study, "state");

    return strcmp(state, "completed") == 0 || strcmp(state, "stopped") == 0 ||
           strcmp(state, "failed") == 0;
}

/* A study that the controller paused for a reason that somebody must mend would be waited for in
 * vain: that is an error. */
static int check_stuck(const json_t *study, struct err *err)
{
    const char *reason = print_text(study, "reason");

    if (strcmp(print_text(study, "state"), "paused") != 0 || strcmp(reason, "-") == 0 ||
        strcmp(reason, "paused by a user") == 0)
        return 0;
    return err_set(err, ERR_IO, "study %s is paused: %s", print_text(study, "name"), reason);
}

/* Says once what the first worker found in the table. */
static void say_warnings(struct follow *f, const json_t *study)
{
    const json_t *list = json_object_get(study, "warnings");
    char text[1000];
    size_t i;
    json_t *w;

    if (f->has_warned || f->s->quiet || json_array_size(list) == 0)
        return;
    f->has_warned = true;
    progress_end(&f->line);
    json_array_foreach((json_t *)list, i, w)
    {
        str_copy(text, sizeof(text), print_text(w, "text"));
        if (f->s->advice)
            f->s->advice(w, text, sizeof(text));
        fprintf(stderr, "warning: %s\n", print_safe(text));
    }
}

/* Asks once. Returns 0 to go on, 1 when the study has ended, -1 on an error. */
static int look(struct follow *f, json_t **study, struct err *err)
{
    json_t *now = NULL;
    struct err why = { 0 };

    if (client_get(f->s->client, &now, &why, "/studies/%" PRId64, f->study) == 0) {
        json_decref(*study);
        *study = now;
        f->heard_ms = now_ms(f);
    } else if (why.code != ERR_UNREACHABLE && why.code != ERR_BUSY) {
        if (err)
            *err = why;
        return -1;
    }
    if (now)
        say_warnings(f, now);
    if (now && json_is_object(json_object_get(now, "best")))
        f->s->has_model = true;
    if (*study)
        draw(f, *study);
    if (now && check_stuck(now, err) < 0)
        return -1;
    return now && study_ended(now);
}

int study_run_follow(struct study_run *s, int64_t study, json_t **out, struct err *err)
{
    struct follow f = { .s = s, .study = study, .gain_ms = INT64_MIN };
    int rc = 0;

    CHECK(s->client);
    *out = NULL;
    f.begun_ms = f.heard_ms = now_ms(&f);
    progress_init(&f.line);
    for (;;) {
        if ((rc = obey_interrupts(&f, *out, err)) != 0)
            break;
        int64_t asked_ms = now_ms(&f);
        rc = look(&f, out, err);
        s->slow_ms = MAX(s->slow_ms, now_ms(&f) - asked_ms);
        if (rc != 0) {
            rc = rc > 0 ? 0 : -1;
            break;
        }
        if (s->local && !local_is_alive(s->local, err)) {
            rc = -1;
            break;
        }
        if (study_run_is_late(s))
            break; /* the best so far is what we save */
        study_run_pause_ms(pause_of(&f));
    }
    progress_end(&f.line);
    return rc;
}
