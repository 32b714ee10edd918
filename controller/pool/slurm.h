/* slurm.h - what is said to Slurm's commands and what they answer. Pure: nothing is started here
 * (command.h does that). The text form of squeue is read rather than --json, because it is the same
 * in all versions since 2014, while the JSON of squeue changed with most releases.
 *
 * A job is known by its name, so a restarted controller finds its own jobs again: "assay-", a word
 * that belongs to the data folder, a point, the pool's name, and "+" if the job is one of those
 * that are kept while they have no work. */
#ifndef CONTROLLER_POOL_SLURM_H
#define CONTROLLER_POOL_SLURM_H

#include "base/buf.h"
#include "controller/pool/conf.h"

enum { SLURM_ARGS_MAX = 160, SLURM_ID_MAX = 40, SLURM_WORD_MAX = 17, SLURM_LIST_MAX = 8 << 20 };

enum slurm_state {
    SLURM_PENDING,
    SLURM_LATE, /* pending, and not because of a lack of room: held, or not to begin yet */
    SLURM_RUNNING,
    SLURM_LEAVING /* it is being ended, or stands still: no work can be expected of it */
};
extern const char *const slurm_state_name[];

struct slurm_job {
    char id[SLURM_ID_MAX]; /* "123", or "123_4" of an array */
    char pool[POOL_NAME_MAX + 1];
    bool is_kept;
    enum slurm_state state;
    char says[24];   /* Slurm's own word for the state */
    char reason[60]; /* why it is pending; "" = none */
    char node[60];   /* "" = none yet */
};

/* The arguments of one command; the strings live in `text`. */
struct slurm_command {
    const char *argv[SLURM_ARGS_MAX];
    int argc;
    struct buf text; /* what the command reads from its standard input: the script of sbatch */
    char *own[SLURM_ARGS_MAX];
    int n_own;
};
void slurm_command_fini(struct slurm_command *c);

void slurm_squeue(struct slurm_command *c);
/* n jobs of this pool; with n > 1 as an array. */
int slurm_sbatch(struct slurm_command *c, const struct pool_conf *p, const char *word, int n,
                 bool is_kept, struct err *err);
/* Pending jobs only: one that has begun meanwhile stays, and its runner ends when it is idle. */
void slurm_scancel(struct slurm_command *c, const char *const *ids, int n);
/* Tells the runners of running jobs to hand back their work and end. */
void slurm_terminate(struct slurm_command *c, const char *const *ids, int n);

/* Reads what squeue printed: this controller's jobs, in a new array. */
int slurm_read_jobs(const char *out, const char *word, struct slurm_job **jobs, int *n,
                    struct err *err);
/* Reads what sbatch printed: the id of the job or of the array. */
int slurm_read_id(const char *out, char id[SLURM_ID_MAX], struct err *err);
/* The first line of what a command printed to its standard error, without "sbatch: error:". */
void slurm_complaint(const char *text, char *out, size_t size);

#endif
