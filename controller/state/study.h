/* study.h - a study in memory: its row, its spec, what the spec means for its table, and one short
 * record per trial. Configurations are not kept in memory: they are read from the rows of their
 * trials when they are needed, because studies may have a million trials.
 *
 * Everything here can be built again from the rows and the journal (rows.h, settle/load.h). That is
 * also how a failed request is undone: memory is thrown away and read again. Whoever changes a
 * study calls ctl_touch first, and stores whatever a reload could not find out; the few facts that
 * a reload may forget say so. Used by all rooms of controller/ above this one, on the loop's
 * thread. */
#ifndef CONTROLLER_STATE_STUDY_H
#define CONTROLLER_STATE_STUDY_H

#include "controller/problem/problem.h"
#include "controller/problem/space.h"
#include "controller/state/ctl.h"
#include "proto/spec.h"
#include "store/study.h"
#include "store/trial.h"

struct search;
struct analysis;

/* The artifacts of the best 10 trials of a study and of the best 3 of each family are kept. */
enum { CTL_KEEP_BEST = 10, CTL_KEEP_FAMILY = 3 };
/* Paused trials that complete at the end of a search, at most (decide/rescue.h). */
enum { STUDY_MAX_RESCUE = 6 };
/* So many failures in a row pause the study: runners that cannot read its table (serve/table.h), or
 * one trial that fails by the machine (serve/retry.h). 1, 2, 4 and 8 s lie between the attempts. */
enum { TABLE_ATTEMPTS = 5, RETRY_ATTEMPTS = 5 };

/* A trial that failed by the machine: how often in a row, and when it may be tried again (monotonic
 * ms; 0 = now). See serve/retry.h. */
struct retry {
    int64_t number, next_ms;
    int fails;
};

/* Where a trial's configuration came from. The trial's row keeps the word in its info, as "source".
 * SRC_CONFIRM tries a trial that was cut once more on all folds (decide/confirm.h), as far as it can.
 * SRC_FIRST is part of the script too, but such a trial runs to its highest level whatever the
 * scheduler is: the baseline and the first configurations of some families (decide/script.c). */
enum trial_source {
    SRC_SCRIPT,
    SRC_SAMPLER,
    SRC_USER,
    SRC_RETRY,
    SRC_FIRST,
    SRC_CONFIRM,
    SRC_SOURCES
};
extern const char *const trial_source_name[SRC_SOURCES];

/* What memory holds of each trial, so that granting work, the plan and the leaderboard read no
 * rows. Its number is its place in study.trials + 1. trial_note (trial.h) fills it from the row. */
struct trial_mem {
    int64_t id;
    uint64_t config;        /* the first 64 bits of the configuration's hash */
    double score, score_se; /* NaN = none */
    double first_score;     /* of the first fold alone, of a completed trial; NaN = unknown */
    /* Its score block by block of rows (honest.h), of a completed trial of all folds; NULL =
     * unknown; owned by the study. */
    float *blocks;
    int n_blocks;
    /* How surely it ranks rows as their targets do, in standard errors of chance (ml/fit/fit_order.c); 0
     * = unknown. */
    float order;
    int64_t fit_us, predict_ns, model_bytes; /* of a completed trial; 0 = unknown */
    /* what a user's program told beside the score; NaN = none */
    double values[SPEC_MAX_OBJECTIVES - 1];
    int64_t work_us; /* computing time as far as it was told at levels and at the end */
    int64_t ended_at;
    uint8_t state, reason, source; /* enum trial_state, trial_reason, trial_source */
    int8_t family;                 /* place in study.families; 0 = the baseline */
    int16_t level, max_level, run_to, checkpoint_level;
    bool has_artifact;
    bool is_cut;  /* completed early because its time was over */
    bool is_part; /* cut so early that its score comes from some of the folds only */
    uint8_t
        confirm; /* of such a trial: 1 = a trial on all folds was made of it, 2 = and is completed */
    int16_t max_group; /* after a crash in a group: the most trials that may run with it; 0 = any
                          number. A reload forgets it. */
    uint32_t
        shape; /* a hash of family and shape key: trials that may train together have equal ones */
    uint8_t devices; /* that train it together (the parameter `devices` or `gpus`); up to 1: one */
    bool on_gpus;    /* and they must be GPUs */
    double growth;   /* measured size of its trees / size by the formula (memory.h); 0 = unknown */
};

/* The mean growth of one family's trees in this study (memory.c), as a sum of logarithms. */
struct memory_fit {
    double sum;
    int n;
};

/* What happened to a trial and no decision has taken into account yet. */
enum happening_kind {
    TRIAL_REPORTED, /* it reached a level below its highest one; level and score are set */
    TRIAL_ENDED     /* it is final; state, reason, level and score are set */
};
struct happening {
    enum happening_kind kind;
    int64_t number;
    enum trial_state state;
    enum trial_reason reason;
    int level;
    double score;
};

/* What the best trial's score is worth to a stranger (honest.h). */
struct honest {
    /* What a stranger should expect of the trial, and the standard error of that; NaN = unknown. */
    double score, se;
    /* By how much the trial's own score flatters, in the metric's unit; never negative. */
    double optimism;
    /* The same against the baseline: how much better, by the honest score, larger is better, and the
     * standard error of the difference on equal rows. NaN = unknown. */
    double gain, gain_se;
    /* How many trials it was the best of. */
    int compared;
};
/* The last answer, which holds until the board changes. */
struct honest_memo {
    int64_t number;
    int n_board;
    struct honest is;
    bool is_asked,
        wins_elsewhere; /* what honest.c found out of the folds that nothing was picked by */
};

/* The ensemble that was made while the search went on (decide/ensemble.h). All of it is in the row
 * (progress.h) but `n_board`, which a reload forgets. */
struct study_early {
    int64_t task;     /* the open task that makes one; 0 = none */
    int64_t tried_ms; /* how much of the time was used when one was asked for last; 0 = never */
    int64_t took_ms;  /* how long a runner took for the last one; 0 = unknown */
    int n_board;      /* of the study when one was asked for last */
    bool is_better;   /* than the best single model was then: there is a file of it */
    /* If is_better: the score of the trial that stood for the study when it ended, and by how much it
     * is better than the best single model by nested scores (study_gain). */
    double best, gain;
};

/* Takes the place of a study's rows in tests of decisions, which have no database. */
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
    struct problem
        problem; /* what the spec means for the table; is_ready once the table is known */
    struct study_space space;
    const struct family *families[STUDY_MAX_FAMILIES + 1]; /* [0] is the baseline */
    struct memory_fit memory[STUDY_MAX_FAMILIES + 1];      /* by the same places */
    int n_families;
    struct search *search; /* what decides (decide/search.h); NULL = nothing is decided; owned */
    json_t *
        /* the rungs as they stood when the search ended (decide/rungs.h); NULL before; owned */
        rungs,
        /* a list of {code, column, text} that the first worker told (serve/message.c); NULL =
         * nothing was told yet; owned */
        *warnings;

    /* Trials, and lists of their numbers. study_check says what must hold between them. */
    struct trial_mem *trials;
    int n_trials, cap_trials;
    int64_t count[TS_STATES]; /* trials in each state */
    int32_t *queue;           /* queued trials, ascending */
    int n_queue, cap_queue;
    int32_t *paused; /* paused trials, in no order */
    int n_paused, cap_paused;
    int32_t
        *board; /* completed trials with a score, best first, equal scores by number (board.h) */
    int n_board, cap_board;
    int32_t *kept; /* trials of the board whose artifact is kept, in no order */
    int n_kept, cap_kept;
    /* The numbers of completed and of kept trials when artifacts were last looked through: as long
     * as both are the same, no artifact can have become superfluous (trial_evict). */
    int64_t evict_completed;
    int evict_kept;
    /* The row of the trial that was made last, as it is stored, until somebody reads it (trial_load)
     * or changes it. Mostly it is granted at once. Its id is 0 if there is none. */
    struct trial_row newest;

    /* The clock of its budget (study_used_ms): what was used up to the last start or stop of the
     * clock, and the monotonic ms of its start; -1 = it stands. */
    int64_t used_base, clock_from;
    int64_t used_saved_ms; /* monotonic ms when used_ms was last stored */

    /* Measurements that no row holds. They survive a reload, but not a restart. */
    int64_t keep_ms;  /* the longest time from the answer `keep` to the arrival of the model */
    int64_t trial_us; /* how long the last trial that was answered had computed; 0 = none yet */

    /* The number of a trial for which devices of this kind are kept free (decide/gang.h); 0 = none.
     * A reload forgets it, and the trial waits for its turn again. */
    int64_t hold;
    char hold_kind[16];
    /* Devices granted to it, for the order among studies while such a trial waits; 0 = not counted
     * yet. A reload forgets it, too. */
    int64_t served;

    /* Decisions that were carried out and that rows show only in part. */
    int64_t probe; /* number of the trial that decides the validation; 0 = none */
    int64_t refit; /* the open task of the end, a refit or an ensemble; 0 = none */
    struct study_early early;
    bool is_ending_new; /* it has just begun to finish: open trials are to be ended (finish.c) */
    bool cuts_running;  /* then running trials are cancelled, too */
    /* numbers of the paused trials that complete at the end, best first, and the monotonic ms until
     * which they may wait for a runner */
    int64_t rescue[STUDY_MAX_RESCUE];
    int n_rescue;
    int64_t rescue_until;

    struct study_sheet
        *sheet; /* instead of rows, in tests; NULL = rows are in the database; borrowed */
    struct happening *happened; /* since the last decision, in the order of recording; owned */
    int n_happened, cap_happened;

    struct retry *retries; /* trials that fail by the machine; NULL = there never were any; owned */
    int n_retries;
    /* Its table could not be read (serve/table.h). A reload forgets these three, and the table is
     * simply tried again. */
    bool is_table_remade;  /* the wait is for the table to be made again, not for a runner */
    int table_fails;       /* failed attempts in a row */
    int64_t table_next_ms; /* monotonic ms of the next attempt; 0 = at once */

    int64_t touched_turn, touched_request; /* the last turn and request that changed it */
    int64_t asked_ms;    /* monotonic ms when somebody last asked for it (settle/load_beside.c) */
    bool needs_settling; /* something changed since it was last settled (settle/settle.h) */
    bool is_filling;     /* its rows are being read: the board is sorted only at the end of that */
    int64_t brief_best;  /* read for a list, without its trials: the id of its best one, 0 = none */
    struct honest_memo *honest; /* a cache of honest.h; NULL in some tests; owned */
    struct analysis *analysis;  /* a cache of view/analysis.h; NULL until somebody asks */
};

struct study *study_new(struct ctl *ctl);                /* empty; rows.h fills it */
void study_init(struct study *st, struct ctl *ctl);      /* the same in memory of the caller's */
void study_fini(struct study *st);                       /* search and analysis are closed before */
void study_delete(struct study *st);                     /* the same, and frees it */
struct study *study_loaded(struct ctl *ctl, int64_t id); /* NULL when it is not in memory */

/* Whether it is unfinished and is still being read after the start, beside the loop. Nothing may
 * change its rows before it is in memory. The second function begins and ends that. */
bool study_is_unread(const struct ctl *ctl, int64_t id);
void study_unread(struct ctl *ctl, int64_t id, bool is_unread);

/* Says that memory of this study may differ from its committed rows from now on: it is read again
 * if this request is undone or this turn's commit fails, and it is settled at the end of the
 * request. Called before the first change of a request. */
void ctl_touch(struct ctl *ctl, struct study *st);
/* The first half of ctl_touch, without the settling: for changes of the searchers' memory alone. */
void study_hold(struct study *st);
/* Notes what happened to a trial, for the next decision. Only trial.c calls it. */
void study_happened(struct study *st, struct happening h);

/* Says whether this event may happen now: 0, or -1 with ERR_CONFLICT. Asked before anything is
 * changed, so that a user's conflict costs no reload. */
int study_may(const struct study *st, enum study_event ev, struct err *err);
/* Changes the state, with its row and its line in the journal. reason may be NULL. data is the
 * journal's object; the call takes it over, and it may be NULL. */
int study_move(struct study *st, enum study_event ev, const char *reason, json_t *data,
               struct err *err);
/* Writes the row without a change of state. */
int study_save(struct study *st, struct err *err);
/* Adds a line to the study's journal that changes no row. */
int study_say(struct study *st, const char *event, const char *data, struct err *err);

/* Milliseconds of its budget that are used. Pauses do not count, nor does the time while the
 * controller was not running. */
int64_t study_used_ms(const struct study *st);
void study_clock_start(struct study *st); /* without effect on a clock that runs */
void study_clock_stop(struct study *st);

bool study_is_open(const struct study *st); /* queued, running or paused: trials may be created */
bool study_has_open_trials(const struct study *st);
/* Its table could not be read, and the next attempt is not due (serve/table.h). */
bool study_waits_for_table(const struct study *st);
/* The score, or its negative where smaller scores are better: larger is always better. */
double study_gain(const struct study *st, double score);

#endif
