/* study.h - a study in memory: its row, its spec, what the spec resolved to, and one short record per trial (columns, never
 * configurations: those are read from their rows when needed). Everything here can be rebuilt from rows and journal by
 * study_load, which is also how a failed request is undone. Private to controller/. */
#ifndef CONTROLLER_STATE_STUDY_H
#define CONTROLLER_STATE_STUDY_H

#include "controller/problem/problem.h"
#include "controller/problem/space.h"
#include "controller/state/ctl.h"
#include "proto/spec.h"
#include "search/contract/sampler.h"
#include "search/contract/scheduler.h"
#include "store/study.h"
#include "store/trial.h"

struct ahead_slot;
struct analysis;

enum { CTL_KEEP_BEST = 10, CTL_KEEP_FAMILY = 3 };
/* Attempts in a row whose table a runner could not read, until the study pauses; 1, 2, 4 and 8 seconds lie between them. */
enum { TABLE_ATTEMPTS = 5, RETRY_ATTEMPTS = 5 };

/* A trial that failed by the machine (serve/retry.h): so often in a row, and when it may be tried again (0 = now). */
struct retry {
    int64_t number, next_ms;
    int fails;
};

/* Where a trial came from; the word is kept in its row's info as "source". FIRST: of the script too, but run to its top
 * whatever the scheduler is (the baseline, the first configurations of families: propose.c). */
enum trial_source { SRC_SCRIPT, SRC_SAMPLER, SRC_USER, SRC_RETRY, SRC_FIRST, SRC_SOURCES };
extern const char *const trial_source_name[SRC_SOURCES];

struct trial_mem { /* trial number = index + 1 */
    int64_t id;
    uint64_t config;                         /* the first 64 bits of its hash */
    double score;                            /* NaN = none */
    int64_t fit_us, predict_ns, model_bytes; /* of completed ones; 0 = unknown */
    int64_t ended_at;
    uint8_t state, reason, source;
    int8_t family; /* of study.families, 0 = the baseline */
    int16_t level, max_level, run_to, checkpoint_level;
    bool has_artifact, is_cut, is_part; /* is_part: completed with a score of some folds only */
    int16_t max_group; /* after a crash in a group: at most so many trials with it; 0 = any */
    double growth;     /* of its trees against the formula (memory.c); 0 = unknown */
};

struct memory_fit { /* memory.c: logarithms of what trees took / what the formula says */
    double sum;
    int n;
};

struct script_item {
    struct config config;
    enum trial_source source; /* SCRIPT or FIRST */
};

/* One run of a trial on a virtual worker of a deterministic study. */
struct plan_run {
    int64_t number, end;
    int from, to;
};
struct plan {
    int64_t now;
    int64_t next_number; /* the trial that is started next */
    int16_t *levels;     /* by number - 1: what each trial reached in the plan's order; owned */
    int n_levels, cap_levels;
    struct plan_run *runs;
    int n_runs, workers;
    bool
        is_filled; /* free workers were filled after the last event: asking again would not be the same study */
};

/* What happened to a trial and was not yet taken into account by a decision, in the order in which it was recorded. */
enum happening_kind {
    TRIAL_REPORTED, /* it reached a level below its top; level, score */
    TRIAL_ENDED     /* it is final; state, reason, level, score */
};
struct happening {
    enum happening_kind kind;
    int64_t number;
    enum trial_state state;
    enum trial_reason reason;
    int level;
    double score;
};

/* What the rows of a study would say, for a study without a database: tests of decisions are made on one. */
enum { SHEET_TRIALS = 64, SHEET_LEVELS = 12 };
struct study_sheet {
    struct config configs[SHEET_TRIALS];
    double reports[SHEET_TRIALS][SHEET_LEVELS]; /* by number - 1 and level; NaN = none */
};

struct study {
    struct ctl *ctl;
    struct study_row row;
    struct spec spec;
    bool is_deterministic;
    struct problem problem; /* resolved data; problem.is_ready */
    struct study_space space;
    const struct family *families[STUDY_MAX_FAMILIES + 1]; /* [0] = the baseline */
    struct memory_fit memory[STUDY_MAX_FAMILIES + 1];      /* likewise */
    int n_families;
    struct sampler *sampler; /* NULL until the data is ready */
    struct scheduler *scheduler;
    json_t *warm;  /* the warm start's trials (warm.h); NULL without; owned */
    json_t *rungs; /* as they stood when the search ended (rungs.h); NULL before; owned */
    struct script_item *script;            /* what is tried before the sampler, in order; owned */
    int n_script, script_pos, script_free; /* free: from here on the order follows results */
    struct sched_decision said;            /* the scheduler's answer to the last report (live.h) */
    struct plan plan;                      /* deterministic studies */
    bool is_exhausted;                     /* the space has no more points */
    const char *closing; /* why no more trials are made, NULL = they are; static text */

    struct trial_mem *trials;
    int n_trials, cap_trials;
    int64_t count[TS_STATES];
    int32_t *queue; /* numbers of queued trials, ascending */
    int n_queue, cap_queue;
    int32_t *paused; /* numbers of paused trials, in no order */
    int n_paused, cap_paused;
    int32_t *board; /* numbers of completed trials with a score, best first, ties by number */
    int n_board, cap_board;
    int32_t *kept; /* numbers of completed trials whose artifact is kept, in no order */
    int n_kept, cap_kept;
    int64_t evict_completed; /* completed and kept trials when artifacts were last looked through */
    int evict_kept;
    int64_t since_gain; /* trials that ended since the best score was reached */
    double best_score;  /* in plan or arrival order, for the stop rules; NaN = none */

    int64_t used_base;      /* ms of budget used when the clock was last started or stopped */
    int64_t clock_from;     /* monotonic ms when the clock was started; -1 = it stands */
    int64_t used_saved_ms;  /* monotonic time of the last store of used_ms */
    int64_t keep_ms;        /* longest time from `keep` to the artifact's arrival */
    int64_t trial_us;       /* what the last trial with an answer computed; 0 = none yet */
    int64_t expect_us;      /* what the next suggestion may take: the longest of the last ones */
    bool holds_suggestions; /* none is begun: a user's trial takes the next number first */
    int64_t recalled;       /* replay: the trial that the sampler was told of where it was begun */
    struct ahead_slot
        *ahead;    /* a suggestion made beside the loop (ahead.h); NULL before the first */
    int64_t probe; /* number of the trial that decides the validation; 0 = none */
    int64_t refit; /* open refit task, 0 = none */
    bool is_ending_new,
        cuts_running; /* it has just begun to finish; running trials are cancelled by that */
    int64_t rescue,
        rescue_until; /* number of the paused trial that is completed at the end (rescue.h), 0 = none; monotonic ms */

    struct study_sheet *sheet;  /* NULL: everything is in the database; borrowed */
    struct happening *happened; /* since the last decision; owned */
    int n_happened, cap_happened;

    struct retry *retries; /* trials that fail by the machine (serve/retry.h); NULL = never any */
    int n_retries;
    bool is_table_remade; /* its table waits for that, not for a runner */
    int table_fails;      /* attempts in a row whose table a runner could not read (table.h) */
    int64_t
        table_next_ms; /* monotonic time of the next one; 0 = at once. Both lost at a reload: tried anew */
    int64_t touched_turn, touched_request, asked_ms;
    bool needs_settling, is_settling;
    int64_t brief_best; /* of one without its trials (brief.c): the id of the best, 0 = none */
    bool is_filling;    /* from its rows: the board is sorted at the end */
    struct analysis *analysis; /* a cache of what the trials say; NULL until asked for */
};

struct study *study_new(struct ctl *ctl);           /* empty; rows.h fills it */
void study_init(struct study *st, struct ctl *ctl); /* the same in place */
void study_fini(struct study *st);                  /* its search and its analysis are closed */
void study_delete(struct study *st);                /* the same, and frees it */
struct study *study_loaded(struct ctl *ctl, int64_t id); /* NULL when it is not in memory */

/* Memory of this study no longer equals its committed rows. Called before the first change of a request. */
void ctl_touch(struct ctl *ctl, struct study *st);
/* The part of ctl_touch that is undone with the request: for changes of the searchers' memory alone. */
void study_hold(struct study *st);
/* Notes what happened to a trial; called by trial.c alone. */
void study_happened(struct study *st, struct happening h);

/* May this event happen now? Asked before anything is changed, so that a conflict costs no reload. */
int study_may(const struct study *st, enum study_event ev, struct err *err);
/* A change of state with its journal row. data is stolen, may be NULL. */
int study_move(struct study *st, enum study_event ev, const char *reason, json_t *data,
               struct err *err);
int study_save(struct study *st, struct err *err); /* its row, no change of state */
int study_fail(struct study *st, const char *reason, struct err *err);
/* A line in its journal that changes no row. */
int study_say(struct study *st, const char *event, const char *data, struct err *err);

/* The clock of its budget in time; pauses are left out. */
int64_t study_used_ms(const struct study *st);
void study_clock_start(struct study *st);
void study_clock_stop(struct study *st);

bool study_is_open(const struct study *st); /* more trials may be created */
bool study_has_open_trials(const struct study *st);
bool study_waits_for_table(
    const struct study *st); /* its table could not be read: tried again later (table.h) */
double study_gain(const struct study *st, double score); /* larger is better */

#endif
