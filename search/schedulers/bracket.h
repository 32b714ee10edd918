/* bracket.h - synchronous brackets: a number of trials start at a low rung, and when all of them
 * have come there, the best go on to the next rung. hyperband.c and sha.c consist of this; they
 * differ only in the plan of a ladder's nth bracket.
 *
 * Each ladder (a family and its number of levels) fills brackets of its own, one after the other. A
 * new trial joins the bracket that is being filled. When it is full the next one opens, even while
 * earlier brackets wait for their slowest trials. So a free worker has work as long as trials can
 * be started.
 *
 * A failed trial counts as arrived and last. A cancelled trial gives its place back while the
 * bracket fills, and is missing later. A trial that completed early competes in every rung with its
 * value. If no new trial can start, a bracket that is not full goes on with the trials it has:
 * floor(n / eta^i) of them at rung i, but at least one.
 *
 * The caller hears of decisions as scheduler.h says. The last trial to arrive goes on or stops at
 * once. The others are paused, and are either called (resume) or given up (retire). Trials nearer
 * to the top are called first, then smaller trial numbers. */
#ifndef SEARCH_SCHEDULERS_BRACKET_H
#define SEARCH_SCHEDULERS_BRACKET_H

#include "search/schedulers/roster.h"
#include "search/schedulers/rung.h"

enum { BRACKET_MAX_OPTIONS = 8 };
/* The options that the option tables of hyperband.c and sha.c begin with, and their rows. */
enum { BRACKET_ETA, BRACKET_MIN_LEVEL, BRACKET_PER_LEVEL, BRACKET_OPTIONS };
/* clang-format off */
#define BRACKET_OPTION_ROWS \
    [BRACKET_ETA] = { "eta", 2, RUNG_ETA_MAX, 3, true, "the best 1/eta of the trials go on from each rung" }, \
    [BRACKET_MIN_LEVEL] = { "min_level", 1, 1000000, 1, true, "lowest level at which trials are compared" }, \
    [BRACKET_PER_LEVEL] = { "per_level", 0, RUNG_MAX, 6, true, "a ladder of at most this many levels has a rung at each level" }
/* clang-format on */
enum { BRACKET_FINAL = 1 }; /* flag of a trial: ended early with a value that counts in all rungs */

struct bracket_plan {
    int n;               /* rungs */
    int level[RUNG_MAX]; /* rising, the last is the ladder's top */
    int64_t
        size[RUNG_MAX]; /* trials at each rung; size[0] = 0: no brackets, trials run as they come */
};

struct id_set { /* of trials, rising */
    int64_t *ids;
    size_t n, cap;
};

struct bracket {
    int ladder, nth;   /* of its ladder */
    int rung;          /* the rung at which its trials are, or to which they run */
    bool is_closed;    /* went on before it was full */
    int64_t n_in;      /* places taken */
    int64_t n_pending; /* trials that are RUNNING or CALLED */
    struct id_set members;
    double *best; /* the best value at each rung, NaN = none */
};

struct bracket_ladder {
    int family, max_level;
    int n_brackets, filling; /* filling: a bracket's index, -1 = none is */
};

struct bracket_table;
typedef void bracket_planner(const struct bracket_table *t, int max_level, int nth,
                             struct bracket_plan *out);

struct bracket_table {
    struct scheduler base;
    bracket_planner *plan;
    struct rung_rule rule;
    double options[BRACKET_MAX_OPTIONS]; /* all that decides */
    int n_options;
    struct roster roster; /* home = bracket */
    struct bracket *brackets;
    int n_brackets, cap_brackets;
    struct bracket_ladder *ladders;
    int n_ladders;
    struct id_set called, lost;
};

/* A table with its options from the setup, or the defaults of ops. Never fails. */
struct bracket_table *bracket_open(const struct scheduler_ops *ops, bracket_planner *plan,
                                   const struct search_setup *setup);
/* The other functions of struct scheduler_ops. */
void bracket_close(struct scheduler *s);
int bracket_start(struct scheduler *s, int64_t trial, int family, int max_level, struct err *err);
int bracket_report(struct scheduler *s, const struct observation *o, struct sched_decision *out,
                   struct err *err);
int bracket_resume(struct scheduler *s, int n, bool idle, struct sched_resume *out,
                   struct err *err);
int bracket_retire(struct scheduler *s, int n, bool closing, int64_t *trials, struct err *err);
int bracket_describe(const struct scheduler *s, int first, int n, struct sched_rung *out);

/* Private to bracket.c and bracket_describe.c. */
void bracket_plan_of(const struct bracket_table *t, const struct bracket *b,
                     struct bracket_plan *out);
struct bracket_ladder *bracket_ladder_at(struct bracket_table *t, int family, int max_level);
struct bracket *bracket_add(struct bracket_table *t, int ladder);
void id_set_add(struct id_set *s, int64_t id);

#endif
