/* reduce.c - sums over the ranks of one network by NCCL (contract: ml/ops/ops_reduce.h).
 *
 * A sum takes two exchanges on a stream of its own: every rank gets its share of the places from
 * all others and adds it up in the order of the ranks, then it sends its share of the sum to all.
 * So the bits do not depend on NCCL's choice of an algorithm: they are those of ml/net/net_reduce.c
 * and ml/ranks/link.c. A sum begins after what the context's stream had queued when it was asked
 * for, and the context's stream computes meanwhile.
 *
 * A rank that dies would leave the others' exchanges unfinished for ever. So nothing here waits
 * without looking at the ranks' other connection (nccl_conf.host), which notices, and the
 * communicator is then aborted. Meeting the others cannot be aborted by NCCL: it is done by a thread
 * that is left behind if it comes to that. */
#include "ml/cuda/nccl.h"

#include "base/mem.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* LOOK_NS: nanoseconds between two looks at whether the device is done. LOOKS: so many of them
 * between two looks at the other ranks. MEET_LOOK_NS: between two looks while ranks meet, and
 * HOST_LOOKS of them after NCCL has failed. */
enum { LOOK_NS = 20000, LOOKS = 250, MEET_LOOK_NS = 5000000, HOST_LOOKS = 200 };

struct nccl_reduce {
    /* first, because a struct ml_reduce * is cast to a struct nccl_reduce * */
    struct ml_reduce reduce;
    const struct nccl_api *api;
    struct ml_ctx *ctx;
    /* the same ranks on the hosts */
    struct ml_reduce *host;
    /* NULL once this rank has given up */
    struct nccl_comm *comm;
    cudaStream_t stream;
    /* ready: what is to be summed is computed; made: all sums that were begun are complete; done:
     * all that the context's stream was asked for is */
    cudaEvent_t ready, made, done;
    /* [ranks][share] what the others computed for this rank's share */
    float *part;
    int64_t share;
    /* why this rank gave up; "" = it has not */
    char why[160];
};

static struct nccl_reduce *end_of(struct ml_reduce *r)
{
    return (struct nccl_reduce *)r;
}

static int nccl_try(const struct nccl_reduce *r, int rc, const char *what, struct err *err)
{
    return rc == NCCL_SUCCESS || rc == NCCL_IN_PROGRESS
               ? 0
               : err_set(err, ERR_DEVICE, "NCCL, %s: %s", what, r->api->text(rc));
}

/* Aborts the communicator, so that what is queued ends; keeps the first reason. */
static void give_up(struct nccl_reduce *r, const char *why)
{
    if (r->comm)
        r->api->abort(r->comm);
    r->comm = NULL;
    if (!r->why[0])
        snprintf(r->why, sizeof r->why, "%.150s", why);
}

/* Gives up, and returns -1 with the reason. A rank that died may be noticed here before the hosts
 * notice it; they know which one it was, so they are given a moment. */
static int lost(struct nccl_reduce *r, const struct err *why, struct err *err)
{
    const struct timespec look = { 0, MEET_LOOK_NS };
    struct err of_hosts = { 0 };

    for (int i = 0; i < HOST_LOOKS && !of_hosts.code; i++) {
        if (r->host->ops->look(r->host, &of_hosts) == 0)
            nanosleep(&look, NULL);
    }
    if (of_hosts.code)
        why = &of_hosts;
    give_up(r, why->text);
    return err_set(err, why->code ? why->code : ERR_DEVICE, "%s", r->why);
}

/* ---- sums ---- */

static int64_t share_at(const struct nccl_reduce *r, int64_t n, int rank)
{
    return n * rank / r->reduce.ranks;
}

static int64_t share_floats(const struct nccl_reduce *r, int64_t n, int rank)
{
    return share_at(r, n, rank + 1) - share_at(r, n, rank);
}

/* One exchange with all others. is_first: their shares of x go out, this rank's parts come in; else
 * this rank's share of the sum goes out, the others' come in. */
static int exchange(struct nccl_reduce *r, float *x, int64_t n, bool is_first, struct err *err)
{
    const struct nccl_api *api = r->api;
    int me = r->reduce.rank, rc = api->group_begin();
    int64_t mine = share_floats(r, n, me);

    for (int k = 0; k < r->reduce.ranks && rc == NCCL_SUCCESS; k++) {
        int64_t theirs = share_floats(r, n, k);
        float *their_place = x + share_at(r, n, k), *my_place = x + share_at(r, n, me);
        if (k == me)
            continue;
        if (is_first ? theirs > 0 : mine > 0)
            rc = api->send(is_first ? their_place : my_place, (size_t)(is_first ? theirs : mine),
                           NCCL_FLOAT, k, r->comm, r->stream);
        if (rc == NCCL_SUCCESS && (is_first ? mine > 0 : theirs > 0))
            rc = api->recv(is_first ? r->part + k * r->share : their_place,
                           (size_t)(is_first ? mine : theirs), NCCL_FLOAT, k, r->comm, r->stream);
    }
    int ended = api->group_end();
    return nccl_try(r, rc == NCCL_SUCCESS ? ended : rc, "an exchange", err);
}

static int sum_queue(struct nccl_reduce *r, float *x, int64_t n, struct err *err)
{
    int me = r->reduce.rank;

    if (share_floats(r, n, me) > r->share || n / r->reduce.ranks > r->share)
        return err_set(err, ERR_ARG, "a sum of more numbers than the ranks were opened for");
    if (cuda_try(cudaEventRecord(r->ready, r->ctx->stream), err) < 0 ||
        cuda_try(cudaStreamWaitEvent(r->stream, r->ready, 0), err) < 0 ||
        exchange(r, x, n, true, err) < 0 ||
        cuda_reduce_add(r->stream, x + share_at(r, n, me), r->part, share_floats(r, n, me),
                        r->share, me, r->reduce.ranks, err) < 0)
        return -1;
    return exchange(r, x, n, false, err);
}

static int nccl_sum(struct ml_reduce *end, float *x, int64_t n, struct err *err)
{
    struct nccl_reduce *r = end_of(end);
    struct err why = { 0 };

    if (!r->comm)
        return err_set(err, ERR_DEVICE, "%s", r->why);
    return n > 0 && sum_queue(r, x, n, &why) < 0 ? lost(r, &why, err) : 0;
}

/* The context's stream goes on when the sums are complete; this thread does not wait. */
static int nccl_wait(struct ml_reduce *end, struct err *err)
{
    struct nccl_reduce *r = end_of(end);
    struct err why = { 0 };

    if (!r->comm)
        return err_set(err, ERR_DEVICE, "%s", r->why);
    if (cuda_try(cudaEventRecord(r->made, r->stream), &why) < 0 ||
        cuda_try(cudaStreamWaitEvent(r->ctx->stream, r->made, 0), &why) < 0)
        return lost(r, &why, err);
    return 0;
}

static void nccl_leave(struct ml_reduce *end, const char *why)
{
    give_up(end_of(end), why);
    end_of(end)->host->ops->leave(end_of(end)->host, why);
}

static int nccl_look(struct ml_reduce *end, struct err *err)
{
    struct nccl_reduce *r = end_of(end);
    struct err why = { 0 };
    int trouble = NCCL_SUCCESS;

    if (!r->comm)
        return err_set(err, ERR_DEVICE, "%s", r->why);
    /* the hosts first: they know which rank it was */
    if (r->host->ops->look(r->host, &why) < 0 ||
        nccl_try(r, r->api->trouble(r->comm, &trouble), "asking for trouble", &why) < 0 ||
        nccl_try(r, trouble, "another rank", &why) < 0)
        return lost(r, &why, err);
    return 0;
}

static const struct ml_reduce_ops over_nccl = { .backend = "nccl",
                                                .on_device = 1,
                                                .sum = nccl_sum,
                                                .wait = nccl_wait,
                                                .leave = nccl_leave,
                                                .look = nccl_look };

/* It polls, because a rank that dies would leave the work unfinished for ever. */
static int nccl_finish(struct ml_reduce *end, struct err *err)
{
    struct nccl_reduce *r = end_of(end);
    const struct timespec look = { 0, LOOK_NS };
    struct err why = { 0 };

    if (cuda_try(cudaEventRecord(r->done, r->ctx->stream), &why) < 0)
        return lost(r, &why, err);
    for (int i = 1;; i++) {
        cudaError_t rc = cudaEventQuery(r->done);
        if (rc == cudaSuccess)
            return 0;
        if (rc != cudaErrorNotReady) {
            (void)cuda_try(rc, &why);
            return lost(r, &why, err);
        }
        if (i % LOOKS == 0 && nccl_look(end, err) < 0)
            return -1;
        nanosleep(&look, NULL);
    }
}

/* ---- meeting ---- */

/* The thread that meets the others shares this with the rank that waits for it; whoever comes last
 * frees it. */
struct meeting {
    const struct nccl_api *api;
    int rank, ranks, device;
    struct nccl_id id;
    /* the rest is guarded by the lock */
    pthread_mutex_t lock;
    struct nccl_comm *comm;
    int rc;
    bool is_done, is_left;
};

/* A number to and from every other rank. NCCL connects two ranks at their first exchange and cannot
 * give that up, so it happens here, too. x: [2][ranks] on the device. */
static int greet(const struct meeting *m, struct nccl_comm *comm, float *x, cudaStream_t stream)
{
    int rc = m->api->group_begin();

    for (int k = 0; k < m->ranks && rc == NCCL_SUCCESS; k++) {
        if (k == m->rank)
            continue;
        rc = m->api->send(x + k, 1, NCCL_FLOAT, k, comm, stream);
        if (rc == NCCL_SUCCESS)
            rc = m->api->recv(x + m->ranks + k, 1, NCCL_FLOAT, k, comm, stream);
    }
    int ended = m->api->group_end();
    return rc == NCCL_SUCCESS ? ended : rc;
}

static int join(const struct meeting *m, struct nccl_comm **comm)
{
    cudaStream_t stream = NULL;
    float *x = NULL;

    cudaSetDevice(m->device);
    int rc = m->api->init(comm, m->ranks, m->id, m->rank);
    if (rc == NCCL_SUCCESS &&
        cudaMalloc((void **)&x, 2 * (size_t)m->ranks * sizeof *x) == cudaSuccess &&
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess) {
        rc = greet(m, *comm, x, stream);
        cudaStreamSynchronize(stream);
        cudaStreamDestroy(stream);
    }
    cudaFree(x);
    return rc;
}

static void meeting_free(struct meeting *m)
{
    pthread_mutex_destroy(&m->lock);
    mem_free(m);
}

static void *meet_run(void *arg)
{
    struct meeting *m = arg;
    struct nccl_comm *comm = NULL;
    int rc = join(m, &comm);

    pthread_mutex_lock(&m->lock);
    bool is_left = m->is_left;
    m->comm = comm;
    m->rc = rc;
    m->is_done = true;
    pthread_mutex_unlock(&m->lock);
    if (is_left) {
        if (comm)
            m->api->abort(comm);
        meeting_free(m);
    }
    return NULL;
}

/* Waits for the thread, and looks at the other ranks meanwhile. Frees m, or leaves it to the
 * thread. */
static int meet_wait(struct nccl_reduce *r, struct meeting *m, struct err *err)
{
    const struct timespec look = { 0, MEET_LOOK_NS };

    for (;;) {
        int rc = r->host->ops->look(r->host, err);
        pthread_mutex_lock(&m->lock);
        bool is_done = m->is_done;
        m->is_left = !is_done && rc < 0;
        pthread_mutex_unlock(&m->lock);
        if (is_done) {
            r->comm = m->comm;
            rc = rc < 0 ? -1 : nccl_try(r, m->rc, "meeting the other ranks", err);
            meeting_free(m);
            return rc;
        }
        if (rc < 0)
            return -1;
        nanosleep(&look, NULL);
    }
}

static int meet(struct nccl_reduce *r, const struct ml_nccl_id *id, struct err *err)
{
    struct meeting *m = mem_zalloc(sizeof *m);
    pthread_attr_t detached;
    pthread_t thread;

    m->api = r->api;
    m->rank = r->reduce.rank;
    m->ranks = r->reduce.ranks;
    m->device = r->ctx->index;
    pthread_mutex_init(&m->lock, NULL);
    memcpy(m->id.bytes, id->bytes, sizeof m->id.bytes);
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    int rc = pthread_create(&thread, &detached, meet_run, m);
    pthread_attr_destroy(&detached);
    if (rc != 0) {
        meeting_free(m);
        return err_set(err, ERR_DEVICE, "no thread to meet the other ranks");
    }
    return meet_wait(r, m, err);
}

/* ---- life ---- */

static void nccl_close(struct ml_reduce *end)
{
    struct nccl_reduce *r = end ? end_of(end) : NULL;

    if (!r)
        return;
    if (r->comm)
        r->api->destroy(r->comm);
    if (r->ready)
        cudaEventDestroy(r->ready);
    if (r->made)
        cudaEventDestroy(r->made);
    if (r->done)
        cudaEventDestroy(r->done);
    if (r->stream)
        cudaStreamDestroy(r->stream);
    cudaFree(r->part);
    mem_free(r);
}

static int nccl_is_there(struct err *err)
{
    return cuda_nccl(err) ? 0 : -1;
}

static int nccl_id(struct ml_nccl_id *out, struct err *err)
{
    const struct nccl_api *api = cuda_nccl(err);
    struct nccl_id id;
    int rc = api ? api->id(&id) : 0;

    if (!api)
        return -1;
    if (rc != NCCL_SUCCESS)
        return err_set(err, ERR_DEVICE, "NCCL, an id: %s", api->text(rc));
    memcpy(out->bytes, id.bytes, sizeof out->bytes);
    return 0;
}

static struct ml_reduce *nccl_open(struct ml_ctx *ctx, const struct ml_nccl_id *id,
                                   struct ml_reduce *host, int64_t most, struct err *err)
{
    const struct nccl_api *api = cuda_nccl(err);
    struct nccl_reduce *r;

    if (!api)
        return NULL;
    r = mem_zalloc(sizeof *r);
    r->reduce = (struct ml_reduce){ &over_nccl, host->rank, host->ranks };
    r->api = api;
    r->ctx = ctx;
    r->host = host;
    r->share = most / host->ranks + 1;
    if (cuda_try(cudaSetDevice(ctx->index), err) == 0 &&
        cuda_try(cudaStreamCreateWithFlags(&r->stream, cudaStreamNonBlocking), err) == 0 &&
        cuda_try(cudaEventCreateWithFlags(&r->ready, cudaEventDisableTiming), err) == 0 &&
        cuda_try(cudaEventCreateWithFlags(&r->made, cudaEventDisableTiming), err) == 0 &&
        cuda_try(cudaEventCreateWithFlags(&r->done, cudaEventDisableTiming), err) == 0 &&
        cuda_try(cudaMalloc((void **)&r->part, (size_t)(host->ranks * r->share) * sizeof *r->part),
                 err) == 0 &&
        meet(r, id, err) == 0)
        return &r->reduce;
    nccl_close(&r->reduce);
    return NULL;
}

const struct ml_nccl_ops cuda_nccl_ops = { .is_there = nccl_is_there,
                                           .id = nccl_id,
                                           .open = nccl_open,
                                           .close = nccl_close,
                                           .finish = nccl_finish };
