/* reduce.c - sums over the ranks of one network by NCCL (contract: ml/ops/ops_reduce.h).
 *
 * A sum runs on a stream of its own. It begins after what the context's stream had queued when the
 * sum was asked for, and the context's stream can compute meanwhile; nccl_wait makes it wait for
 * the sum. NCCL's library is opened at run time, so a machine without it can do everything else.
 *
 * Compiled where nccl.h is found. It has not run yet, because it needs two devices. */
#include "ml/cuda/cuda.h"

#if !defined(ASSAY_EMULATE) && defined(__has_include)
#if __has_include(<nccl.h>)
#define HAS_NCCL 1
#endif
#endif

#ifdef HAS_NCCL
#include "base/mem.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <nccl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

_Static_assert(sizeof(ncclUniqueId) == ML_NCCL_ID_BYTES, "an id of another size");

/* LOOK_NS: nanoseconds between two looks at whether a sum is complete. LIMIT_S: seconds after which
 * ranks that did not begin the sum count as lost. */
enum { LOOK_NS = 20000, LIMIT_S = 120 };

/* The functions of the library, with the types of its header; filled in once by library_open. */
static struct {
    void *library;
    ncclResult_t (*id)(ncclUniqueId *);
    ncclResult_t (*init)(ncclComm_t *, int, ncclUniqueId, int);
    ncclResult_t (*sum)(const void *, void *, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t,
                        cudaStream_t);
    ncclResult_t (*trouble)(ncclComm_t, ncclResult_t *);
    ncclResult_t (*end)(ncclComm_t);
    const char *(*text)(ncclResult_t);
} nccl;

struct nccl_reduce {
    /* first, because a struct ml_reduce * is cast to a struct nccl_reduce * */
    struct ml_reduce reduce;
    struct ml_ctx *ctx;
    /* NULL once this rank has given up */
    ncclComm_t comm;
    cudaStream_t stream;
    /* ready: what is to be summed is computed; made: all sums that were begun are complete */
    cudaEvent_t ready, made;
    /* why this rank gave up; "" = it has not */
    char why[160];
};

/* Opens NCCL and finds its functions, at the first use. */
static int library_open(struct err *err)
{
    /* name in the library, where its address goes */
    struct {
        const char *name;
        void *at;
    } want[] = { { "ncclGetUniqueId", &nccl.id }, { "ncclCommInitRank", &nccl.init },
                 { "ncclAllReduce", &nccl.sum },  { "ncclCommGetAsyncError", &nccl.trouble },
                 { "ncclCommAbort", &nccl.end },  { "ncclGetErrorString", &nccl.text } };

    if (nccl.library)
        return 0;
    void *library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return err_set(err, ERR_DEVICE, "NCCL is not installed: %s", dlerror());
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        void *f = dlsym(library, want[i].name);
        if (!f) {
            dlclose(library);
            return err_set(err, ERR_DEVICE, "NCCL has no %s", want[i].name);
        }
        memcpy(want[i].at, &f, sizeof f);
    }
    nccl.library = library;
    return 0;
}

static int nccl_try(ncclResult_t rc, const char *what, struct err *err)
{
    return rc == ncclSuccess ? 0 : err_set(err, ERR_DEVICE, "NCCL, %s: %s", what, nccl.text(rc));
}

/* Aborts the communicator, so that the other ranks' sums fail too; keeps the first reason. */
static void give_up(struct nccl_reduce *r, const char *why)
{
    if (r->comm)
        nccl.end(r->comm);
    r->comm = NULL;
    if (!r->why[0])
        snprintf(r->why, sizeof r->why, "%.150s", why);
}

/* Gives up, and returns -1 with the reason. */
static int lost(struct nccl_reduce *r, const char *why, struct err *err)
{
    give_up(r, why);
    return err_set(err, ERR_DEVICE, "rank %d of %d ends: %s", r->reduce.rank, r->reduce.ranks,
                   r->why);
}

/* Queues the sum of x over the ranks, in place, after what the context's stream has queued. */
static int nccl_sum(struct ml_reduce *end, float *x, int64_t n, struct err *err)
{
    struct nccl_reduce *r = (struct nccl_reduce *)end;
    struct err why = { 0 };

    if (!r->comm)
        return lost(r, r->why, err);
    if (cuda_try(cudaEventRecord(r->ready, r->ctx->stream), &why) < 0 ||
        cuda_try(cudaStreamWaitEvent(r->stream, r->ready, 0), &why) < 0 ||
        nccl_try(nccl.sum(x, x, (size_t)n, ncclFloat, ncclSum, r->comm, r->stream), "a sum", &why) <
            0)
        return lost(r, why.text, err);
    return 0;
}

static bool is_late(const struct timespec *since)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec - since->tv_sec > LIMIT_S;
}

/* Waits until the sums are complete, then lets the context's stream go on. It polls instead of
 * blocking, because a rank that dies would leave the others' sums unfinished for ever: an error of
 * NCCL or LIMIT_S seconds end the wait. */
static int nccl_wait(struct ml_reduce *end, struct err *err)
{
    struct nccl_reduce *r = (struct nccl_reduce *)end;
    const struct timespec look = { 0, LOOK_NS };
    struct err why = { 0 };
    struct timespec since;

    if (!r->comm)
        return lost(r, r->why, err);
    clock_gettime(CLOCK_MONOTONIC, &since);
    if (cuda_try(cudaEventRecord(r->made, r->stream), &why) < 0)
        return lost(r, why.text, err);
    for (;;) {
        ncclResult_t trouble = ncclSuccess;
        cudaError_t rc = cudaEventQuery(r->made);
        if (rc == cudaSuccess)
            break;
        if (rc != cudaErrorNotReady) {
            cuda_try(rc, &why);
            return lost(r, why.text, err);
        }
        if (nccl_try(nccl.trouble(r->comm, &trouble), "asking for trouble", &why) < 0 ||
            nccl_try(trouble, "another rank", &why) < 0)
            return lost(r, why.text, err);
        if (is_late(&since))
            return lost(r, "another rank did not come to a sum in time", err);
        nanosleep(&look, NULL);
    }
    if (cuda_try(cudaStreamWaitEvent(r->ctx->stream, r->made, 0), &why) < 0)
        return lost(r, why.text, err);
    return 0;
}

static void nccl_leave(struct ml_reduce *end, const char *why)
{
    give_up((struct nccl_reduce *)end, why);
}

static const struct ml_reduce_ops ends = {
    .backend = "nccl", .sum = nccl_sum, .wait = nccl_wait, .leave = nccl_leave
};

static void nccl_close(struct ml_reduce *end)
{
    struct nccl_reduce *r = (struct nccl_reduce *)end;

    if (!r)
        return;
    give_up(r, "it was closed");
    if (r->ready)
        cudaEventDestroy(r->ready);
    if (r->made)
        cudaEventDestroy(r->made);
    if (r->stream)
        cudaStreamDestroy(r->stream);
    mem_free(r);
}

static int nccl_id(struct ml_nccl_id *out, struct err *err)
{
    ncclUniqueId id;

    if (library_open(err) < 0 || nccl_try(nccl.id(&id), "an id", err) < 0)
        return -1;
    memcpy(out->bytes, id.internal, sizeof out->bytes);
    return 0;
}

static struct ml_reduce *nccl_open(struct ml_ctx *ctx, const struct ml_nccl_id *id, int rank,
                                   int ranks, struct err *err)
{
    struct nccl_reduce *r;
    ncclUniqueId whole;

    if (library_open(err) < 0)
        return NULL;
    r = mem_zalloc(sizeof *r);
    r->reduce = (struct ml_reduce){ &ends, rank, ranks };
    r->ctx = ctx;
    memcpy(whole.internal, id->bytes, sizeof whole.internal);
    if (cuda_try(cudaSetDevice(ctx->index), err) == 0 &&
        cuda_try(cudaStreamCreateWithFlags(&r->stream, cudaStreamNonBlocking), err) == 0 &&
        cuda_try(cudaEventCreateWithFlags(&r->ready, cudaEventDisableTiming), err) == 0 &&
        cuda_try(cudaEventCreateWithFlags(&r->made, cudaEventDisableTiming), err) == 0 &&
        nccl_try(nccl.init(&r->comm, ranks, whole, rank), "meeting the other ranks", err) == 0)
        return &r->reduce;
    nccl_close(&r->reduce);
    return NULL;
}

#else
static int nccl_id(struct ml_nccl_id *out, struct err *err)
{
    (void)out;
    return err_set(err, ERR_DEVICE, "this program was built without NCCL");
}

static struct ml_reduce *nccl_open(struct ml_ctx *ctx, const struct ml_nccl_id *id, int rank,
                                   int ranks, struct err *err)
{
    (void)ctx, (void)id, (void)rank, (void)ranks;
    err_set(err, ERR_DEVICE, "this program was built without NCCL");
    return NULL;
}

static void nccl_close(struct ml_reduce *end)
{
    (void)end;
}
#endif

const struct ml_nccl_ops cuda_nccl_ops = { .id = nccl_id, .open = nccl_open, .close = nccl_close };
