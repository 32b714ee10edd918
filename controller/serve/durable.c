/* durable.c - the thread that syncs the database's log (durable.h).
 *
 * The thread sleeps until `asked` is raised, syncs, raises `synced` to the same number and wakes the
 * loop through a descriptor. It uses the store for store_sync only, which needs nothing that the
 * loop's thread changes meanwhile.
 *
 * If the sync fails, the process ends here. The kernel may have dropped the pages that it could not
 * write, so a second sync may succeed and prove nothing, and what was committed afterwards would
 * rest on a hole in the log. The next start reads what the disk really holds; nothing of it was
 * acknowledged. */
#include "controller/serve/durable.h"

#include "base/log.h"
#include "base/mem.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct durable {
    struct store *store;
    void (*on_done)(void *arg);
    void *arg;
    struct loop_watch *watch;
    int wake_fd;
    int64_t begun,
        done; /* syncs that were asked for, and that on_done was called for: the loop's */
    pthread_t thread;
    pthread_mutex_t lock; /* guards the members below */
    pthread_cond_t more;
    int64_t asked, synced;
    bool ending;
};

static void sync_or_end(struct store *store)
{
    struct err err = { 0 };

    if (store_sync(store, &err) == 0)
        return;
    log_error("ctl.sync err=\"%s\" note=\"the process ends: nothing that the disk may lack was "
              "acknowledged, and the next start reads what it holds\"",
              err.text);
    _exit(1);
}

static void *thread_main(void *arg)
{
    struct durable *d = arg;

    pthread_mutex_lock(&d->lock);
    while (!d->ending) {
        int64_t asked = d->asked;
        uint64_t one = 1;

        if (asked == d->synced) {
            pthread_cond_wait(&d->more, &d->lock);
            continue;
        }
        pthread_mutex_unlock(&d->lock);
        sync_or_end(d->store);
        pthread_mutex_lock(&d->lock);
        d->synced = asked;
        pthread_cond_broadcast(&d->more);
        (void)!write(d->wake_fd, &one, sizeof one);
    }
    pthread_mutex_unlock(&d->lock);
    return NULL;
}

/* Tells the owner, on the loop's thread, of a sync that has ended. */
static void tell(struct durable *d)
{
    pthread_mutex_lock(&d->lock);
    bool is_over = d->synced == d->begun;
    pthread_mutex_unlock(&d->lock);
    if (!is_over || d->done == d->begun)
        return; /* durable_wait has told it already */
    d->done = d->begun;
    d->on_done(d->arg);
}

static void on_wake(int fd, void *arg)
{
    uint64_t count = 0;

    (void)!read(fd, &count, sizeof count);
    tell(arg);
}

static int thread_start(struct durable *d)
{
    sigset_t all, old;
    int rc = 0;

    sigfillset(&all); /* signals are handled on the loop's thread */
    pthread_sigmask(SIG_SETMASK, &all, &old);
    rc = pthread_create(&d->thread, NULL, thread_main, d);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return rc;
}

struct durable *durable_new(struct store *store, struct loop *loop, void (*on_done)(void *arg),
                            void *arg)
{
    struct durable *d = mem_zalloc(sizeof *d);

    d->store = store;
    d->on_done = on_done;
    d->arg = arg;
    d->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->more, NULL);
    if (d->wake_fd >= 0 && thread_start(d) == 0) {
        d->watch = loop_watch_new(loop, d->wake_fd, on_wake, d);
        return d;
    }
    if (d->wake_fd >= 0)
        close(d->wake_fd);
    mem_free(d);
    return NULL;
}

void durable_begin(struct durable *d)
{
    CHECK(d->done == d->begun);
    d->begun++;
    pthread_mutex_lock(&d->lock);
    d->asked = d->begun;
    pthread_cond_broadcast(&d->more);
    pthread_mutex_unlock(&d->lock);
}

bool durable_is_busy(const struct durable *d)
{
    return d->done < d->begun;
}

void durable_wait(struct durable *d)
{
    pthread_mutex_lock(&d->lock);
    while (d->synced < d->begun)
        pthread_cond_wait(&d->more, &d->lock);
    pthread_mutex_unlock(&d->lock);
    tell(d);
}

void durable_free(struct durable *d)
{
    if (!d)
        return;
    CHECK(!durable_is_busy(d));
    pthread_mutex_lock(&d->lock);
    d->ending = true;
    pthread_cond_broadcast(&d->more);
    pthread_mutex_unlock(&d->lock);
    pthread_join(d->thread, NULL);
    loop_watch_free(d->watch);
    close(d->wake_fd);
    pthread_mutex_destroy(&d->lock);
    pthread_cond_destroy(&d->more);
    mem_free(d);
}
