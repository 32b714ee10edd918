/* share.h - which family the next trial of an automatic search should be of: the one for which the
 * time that is left is best spent. Only studies whose time counts ask (live.c), because the answer
 * depends on measured times; a deterministic study has no shares.
 *
 * A family is judged by what it may still reach and not by where it stands (Li, Jiang, Gao, Shao,
 * Zhang and Cui, Efficient automatic CASH via rising bandits, AAAI 2020): a curve of best scores
 * rises ever more slowly, so that its latest slope, held for all the time that is left, is an upper
 * bound. A family that would stay below the leader even so is behind. Here a curve's axis is time and
 * not trials, and the bound has the standard error of the difference on top.
 *
 *   early    it had fewer than SHARE_EARLY trials, and they are cheap beside the time left (the second
 *            one of a family that does not trail may be dearer): first
 *            configurations are guesses, and a family is not judged by its first guess; but one that
 *            trails has at most a twentieth of the time for them after the second
 *   leads    it has the best score; where dozens of its trials are as good but for next to nothing, it
 *            gets as little time as one that is behind
 *   open     it may still pass the leader
 *   behind   it cannot, by the bound; it gets a small share in case the bound was wrong
 *
 * Early families come first, in turn. The others share the time by fixed weights. */
#ifndef CONTROLLER_DECIDE_SHARE_H
#define CONTROLLER_DECIDE_SHARE_H

#include "controller/decide/action.h"
#include "controller/decide/search.h"

enum { SHARE_EARLY = 4 };

enum share_state { SHARE_NONE, SHARE_IS_EARLY, SHARE_LEADS, SHARE_OPEN, SHARE_BEHIND };
extern const char *const share_state_name[];

struct share_family {
    int tries, whole; /* trials; of them scored on all folds */
    int n_open;       /* trials that run or wait to be run */
    int open_to;      /* the highest level that one of these runs to */
    int64_t spent_us; /* time of its trials: computing, and 5 ms each for what else they take */
    double cost_us;   /* of a trial: the mean of those that ended; before, by its formula */
    /* Larger is better; NaN = none. best: of its whole trials. half: that when half of its time was
     * spent. first: of the first fold alone, of all trials that told it. reach: what it may reach. */
    double best, half, first, reach;
    int64_t best_number; /* 0 = none */
    int near;            /* whole trials as good as the best one but for next to nothing */
    enum share_state state;
};
struct shares {
    struct share_family of[STUDY_MAX_FAMILIES + 1]; /* by place in study.families; [0] is unused */
    int64_t left_us;  /* device time that is left; INT64_MAX = no limit */
    int64_t spent_us; /* by all families */
    int leader;       /* 0 = none yet */
};

/* Whether families of this study share its time by these rules. */
bool share_decides(const struct study *st);
void share_make(const struct study *st, struct shares *out);
/* The family of the next trial, as its place in study.families; 0 = no choice is made here. Says in
 * `out` what became of a family since the last time it was asked. */
int share_next(struct study *st, struct actions *out);
/* Families whose trials should not go on to higher levels now, as bits by place in study.families:
 * those that are behind, and those that have had much more time than is theirs, but never the one
 * that leads. */
uint64_t share_held(const struct study *st);
/* What a trial with this score on the first fold has won over the baseline there, as a part of what
 * the best trial has won; 1 where that is unknown. */
double share_part_won(const struct study *st, double score);
/* One sentence on why a family is in its state. */
void share_why(const struct study *st, const struct shares *s, int family, char *out, size_t size);

#endif
