/* emu.cpp - the scheduler of emu.h: a block's threads are fibers with stacks of their own, switched by a few instructions on
 * x86-64 and by swapcontext elsewhere. Memory of the "device" is one arena that is unreadable outside copies and launches. */
#include "tests/cuda/emu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <vector>

emu_fiber *emu_self;
emu_block *emu_here;

static enum emu_order order = EMU_FORWARD;
static uint64_t order_seed = 1;

enum { STACK_BYTES = 64 << 10, MAX_THREADS = 1024, MAX_DYNAMIC = 227 << 10 };
static const size_t ARENA_BYTES = (size_t)1 << 30;

extern "C" void emu_order_set(enum emu_order o, uint64_t seed)
{
    order = o;
    order_seed = seed ? seed : 1;
}

/* ---- fibers ---- */

#if defined(__x86_64__)
extern "C" void emu_switch(void **save, void *to);
__asm__(".text\n"
        ".globl emu_switch\n"
        "emu_switch:\n"
        "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
        "  movq %rsp, (%rdi)\n"
        "  movq %rsi, %rsp\n"
        "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
        "  ret\n");

static void *fiber_stack_new(unsigned char *stack, void (*entry)(void))
{
    void **sp = (void **)((uintptr_t)(stack + STACK_BYTES) & ~(uintptr_t)15);
    *--sp = NULL;
    *--sp = (void *)entry;
    for (int i = 0; i < 6; i++)
        *--sp = NULL;
    return sp;
}
#else
#include <ucontext.h>
static ucontext_t contexts[MAX_THREADS + 1];
static size_t contexts_used;
static void emu_switch(void **save, void *to)
{
    ucontext_t here;
    *save = &here;
    swapcontext(&here, (ucontext_t *)to);
}
static void *fiber_stack_new(unsigned char *stack, void (*entry)(void))
{
    ucontext_t *c = &contexts[contexts_used++ % MAX_THREADS];
    getcontext(c);
    c->uc_stack.ss_sp = stack;
    c->uc_stack.ss_size = STACK_BYTES;
    c->uc_link = NULL;
    makecontext(c, entry, 0);
    return c;
}
#endif

static void yield_to_scheduler(void)
{
    emu_switch(&emu_self->stack_pointer, emu_here->scheduler);
}

static void fiber_entry(void)
{
    emu_here->body(emu_here->arg);
    emu_self->state = EMU_DONE;
    emu_here->live--;
    emu_here->warps[emu_self->linear / 32].exited |= 1u << (emu_self->linear % 32);
    yield_to_scheduler();
    abort(); /* a finished fiber never runs again */
}

static void die(const char *what)
{
    const emu_block *b = emu_here;
    int shown = 0;

    fprintf(stderr, "emulation: kernel %s, block (%u,%u,%u): %s\n", b->kernel, b->index.x,
            b->index.y, b->index.z, what);
    for (unsigned i = 0; i < b->threads && shown < 4; i++) {
        const emu_fiber *f = &b->fibers[i];
        if (f->state == EMU_AT_BARRIER || f->state == EMU_AT_WARP) {
            fprintf(stderr, "  thread %u waits at line %d (%s)\n", i, f->line,
                    f->state == EMU_AT_BARRIER ? "block" : "warp");
            shown++;
        }
    }
    exit(3);
}

void emu_barrier(int site, int line)
{
    emu_block *b = emu_here;

    emu_self->site = site;
    emu_self->line = line;
    emu_self->state = EMU_AT_BARRIER;
    if (b->arrived == 0)
        b->barrier_site = site;
    else if (b->barrier_site != site)
        die("threads of one block wait at different barriers");
    b->arrived++;
    yield_to_scheduler();
}

void emu_warp_wait(uint32_t mask, int line)
{
    unsigned lane = emu_self->linear % 32, lanes = emu_here->threads - (emu_self->linear - lane);
    emu_warp *w = &emu_here->warps[emu_self->linear / 32];
    uint32_t there = lanes >= 32 ? 0xffffffffu : (1u << lanes) - 1,
             need = mask & there & ~w->exited;

    emu_self->line = line;
    w->arrived |= 1u << lane;
    if ((w->arrived & need) ==
        need) { /* the last one in goes on; the others see the generation move */
        w->arrived &= ~need;
        w->generation++;
        return;
    }
    emu_self->state = EMU_AT_WARP;
    emu_self->warp_generation = w->generation;
    yield_to_scheduler();
}

static uint32_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (uint32_t)(*state >> 33);
}

static void put_in_order(unsigned *turn, unsigned n, uint64_t *random)
{
    if (order != EMU_RANDOM)
        return;
    for (unsigned i = n - 1; i > 0; i--) {
        unsigned j = next_random(random) % (i + 1), t = turn[i];
        turn[i] = turn[j];
        turn[j] = t;
    }
}

/* Lets every ready fiber run once; returns how many did. */
static unsigned run_ready(emu_block *b, const unsigned *turn)
{
    unsigned ran = 0;

    for (unsigned k = 0; k < b->threads; k++) {
        emu_fiber *f = &b->fibers[turn[k]];
        if (f->state == EMU_AT_WARP && b->warps[f->linear / 32].generation != f->warp_generation)
            f->state = EMU_READY;
        if (f->state == EMU_READY) {
            emu_self = f;
            ran++;
            emu_switch(&b->scheduler, f->stack_pointer);
        }
    }
    return ran;
}

static unsigned open_barrier(emu_block *b)
{
    if (b->live == 0 || b->arrived != b->live)
        return 0;
    b->arrived = 0;
    for (unsigned i = 0; i < b->threads; i++)
        if (b->fibers[i].state == EMU_AT_BARRIER)
            b->fibers[i].state = EMU_READY;
    return 1;
}

static void run_block(emu_block *b, unsigned char *stacks)
{
    unsigned turn[MAX_THREADS];
    uint64_t random =
        order_seed + b->index.x * 7919u + b->index.y * 104729u + b->index.z * 1299709u;

    emu_here = b;
    b->live = b->threads;
    b->arrived = 0;
    memset(b->warps, 0, sizeof(*b->warps) * ((b->threads + 31) / 32));
    for (unsigned i = 0; i < b->threads; i++) {
        emu_fiber *f = &b->fibers[i];
        memset(f, 0, sizeof(*f));
        f->linear = i;
        f->thread.x = i % b->size.x;
        f->thread.y = i / b->size.x % b->size.y;
        f->thread.z = i / (b->size.x * b->size.y);
        f->stack_pointer = fiber_stack_new(stacks + (size_t)STACK_BYTES * i, fiber_entry);
        turn[i] = order == EMU_BACKWARD ? b->threads - 1 - i : i;
    }
    while (b->live > 0) {
        put_in_order(turn, b->threads, &random);
        unsigned ran = run_ready(b, turn);
        if (open_barrier(b) + ran == 0 && b->live > 0)
            die("no thread can go on: a divergent barrier or a partial warp mask");
    }
}

/* ---- device memory ---- */

static unsigned char *arena;
static size_t arena_used;
static int live_allocations, is_open;
static unsigned long long launches;

/* Open from the first launch or copy on, closed when the host waits for the stream: what it then reads of the device is
 * an error, while the many launches of a round cost two changes of protection and not two each. */
static void arena_open(bool on)
{
    if (!arena) {
        arena = (unsigned char *)mmap(NULL, ARENA_BYTES, PROT_NONE,
                                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (arena == MAP_FAILED)
            abort();
    }
    if (is_open != on && arena_used > 0)
        mprotect(arena, (arena_used + 4095) & ~(size_t)4095,
                 on ? PROT_READ | PROT_WRITE : PROT_NONE);
    is_open = on;
}

/* From block to block: 1 forward, n - 1 backward, else some number without a common divisor with n. */
static size_t block_stride(size_t n)
{
    size_t stride = order == EMU_FORWARD ? 1 : n - 1;

    for (size_t a = order_seed * 7919 % (n + 1); order == EMU_RANDOM && a > 1; a--) {
        size_t x = n, y = a;
        while (y) {
            size_t z = x % y;
            x = y;
            y = z;
        }
        if (x == 1)
            return a;
    }
    return stride;
}

void emu_launch(const char *kernel, dim3 grid, dim3 block, size_t dynamic_bytes,
                void (*body)(void *), void *arg)
{
    static emu_fiber fibers[MAX_THREADS];
    static emu_warp warps[MAX_THREADS / 32];
    static unsigned char *stacks;
    emu_block b = {};

    b.threads = block.x * block.y * block.z;
    if (b.threads == 0 || b.threads > MAX_THREADS || dynamic_bytes > MAX_DYNAMIC ||
        grid.y > 65535 || grid.z > 65535) {
        fprintf(stderr,
                "emulation: %s cannot be launched with %u threads, %zu bytes, grid %u x %u x %u\n",
                kernel, b.threads, dynamic_bytes, grid.x, grid.y, grid.z);
        exit(3);
    }
    if (!stacks)
        stacks =
            (unsigned char *)mmap(NULL, (size_t)MAX_THREADS * STACK_BYTES, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    b.kernel = kernel;
    b.grid = grid;
    b.size = block;
    b.fibers = fibers;
    b.warps = warps;
    b.body = body;
    b.arg = arg;
    b.dynamic = (unsigned char *)aligned_alloc(64, (dynamic_bytes + 127) & ~(size_t)63);
    launches++;
    arena_open(true);
    size_t n = (size_t)grid.x * grid.y * grid.z, stride = block_stride(n);
    for (size_t i = 0, at = order == EMU_FORWARD ? 0 : n - 1; i < n; i++, at = (at + stride) % n) {
        b.index.x = (unsigned)(at % grid.x);
        b.index.y = (unsigned)(at / grid.x % grid.y);
        b.index.z = (unsigned)(at / grid.x / grid.y);
        memset(b.dynamic, 0xff, dynamic_bytes);
        run_block(&b, stacks);
    }
    free(b.dynamic);
}

static int failing_malloc, fails_on;
static cudaError_t last_error; /* of any call, until somebody asks */

extern "C" void emu_fail_malloc(int nth)
{
    failing_malloc = nth;
    fails_on = 0;
}

extern "C" void emu_fail_malloc_from(int nth)
{
    failing_malloc = nth;
    fails_on = 1;
}

extern "C" int emu_malloc_failed(void)
{
    return failing_malloc < 0;
}

/* Room is given back from the top down. */
enum { ALLOCATIONS_MOST = 4096 };
static struct {
    size_t at;
    bool is_live;
} allocations[ALLOCATIONS_MOST];
static int n_allocations;

extern "C" cudaError_t cudaMalloc(void **out, size_t n)
{
    size_t at = (arena_used + 4095) & ~(size_t)4095;

    if (failing_malloc > 0 && --failing_malloc == 0) {
        failing_malloc = -1;
        return last_error = cudaErrorMemoryAllocation;
    }
    if ((failing_malloc < 0 && fails_on) || at + n > ARENA_BYTES ||
        n_allocations == ALLOCATIONS_MOST)
        return last_error = cudaErrorMemoryAllocation;
    arena_open(false); /* so that opening it covers what is new */
    *out = arena + at;
    arena_used = at + n;
    allocations[n_allocations].at = at;
    allocations[n_allocations++].is_live = true;
    live_allocations++;
    arena_open(true);
    memset(*out, 0xff, n);
    arena_open(false);
    return cudaSuccess;
}

extern "C" cudaError_t cudaFree(void *p)
{
    arena_open(false);
    for (int i = 0; p && i < n_allocations; i++) {
        if (allocations[i].is_live && arena + allocations[i].at == p) {
            allocations[i].is_live = false;
            live_allocations--;
        }
    }
    while (n_allocations > 0 && !allocations[n_allocations - 1].is_live)
        arena_used = allocations[--n_allocations].at;
    return cudaSuccess;
}

extern "C" unsigned long long emu_launches(void)
{
    return launches;
}

extern "C" int emu_device_bytes_live(void)
{
    return live_allocations;
}

extern "C" cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t n, int kind,
                                       cudaStream_t stream)
{
    (void)kind, (void)stream;
    arena_open(true);
    memcpy(to, from, n);
    return cudaSuccess;
}

extern "C" cudaError_t cudaMemsetAsync(void *p, int value, size_t n, cudaStream_t stream)
{
    (void)stream;
    if (emu_is_recording()) {
        emu_run("memset", dim3(1), dim3(1), 0, [=] { memset(p, value, n); });
        return cudaSuccess;
    }
    arena_open(true);
    memset(p, value, n);
    return cudaSuccess;
}

/* ---- graphs ---- */

struct recorded {
    const char *kernel;
    dim3 grid, block;
    size_t dynamic_bytes;
    void (*body)(void *), (*drop)(void *);
    void *arg;
};
/* A graph and what is made of it are one object, freed with the last of the two. */
struct graph {
    std::vector<recorded> launches;
    int refs;
};
static graph *recording;

bool emu_is_recording(void)
{
    return recording != NULL;
}

void emu_record(const char *kernel, dim3 grid, dim3 block, size_t dynamic_bytes,
                void (*body)(void *), void (*drop)(void *), void *arg)
{
    recording->launches.push_back({ kernel, grid, block, dynamic_bytes, body, drop, arg });
}

extern "C" cudaError_t cudaStreamBeginCapture(cudaStream_t stream, int mode)
{
    (void)stream, (void)mode;
    recording = new graph;
    recording->refs = 1;
    return cudaSuccess;
}

extern "C" cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *out)
{
    (void)stream;
    *out = recording;
    recording = NULL;
    return cudaSuccess;
}

extern "C" cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *out, cudaGraph_t from,
                                                     unsigned long long flags)
{
    (void)flags;
    ((graph *)from)->refs++;
    *out = from;
    return cudaSuccess;
}

extern "C" cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    (void)stream;
    for (const recorded &r : ((graph *)exec)->launches)
        emu_launch(r.kernel, r.grid, r.block, r.dynamic_bytes, r.body, r.arg);
    return cudaSuccess;
}

extern "C" cudaError_t cudaGraphDestroy(cudaGraph_t from)
{
    graph *g = (graph *)from;

    if (--g->refs > 0)
        return cudaSuccess;
    for (const recorded &r : g->launches)
        r.drop(r.arg);
    delete g;
    return cudaSuccess;
}

extern "C" cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    return cudaGraphDestroy(exec);
}

/* ---- the rest of the runtime ---- */

extern "C" cudaError_t cudaGetDeviceCount(int *n)
{
    *n = 1;
    return cudaSuccess;
}
extern "C" cudaError_t cudaSetDevice(int index)
{
    return index == 0 ? cudaSuccess : cudaErrorNoDevice;
}
extern "C" cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *out, int index)
{
    memset(out, 0, sizeof(*out));
    snprintf(out->name, sizeof(out->name), "emulation");
    return cudaSetDevice(index);
}
extern "C" cudaError_t cudaDeviceGetAttribute(int *out, int attribute, int index)
{
    *out = attribute == cudaDevAttrMultiProcessorCount ? 1 : MAX_DYNAMIC;
    return cudaSetDevice(index);
}
extern "C" cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    *total_bytes = ARENA_BYTES;
    *free_bytes = ARENA_BYTES - arena_used;
    return cudaSuccess;
}
extern "C" cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags)
{
    (void)flags;
    *out = NULL;
    return cudaSuccess;
}
extern "C" cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    (void)stream;
    return cudaSuccess;
}
extern "C" cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags)
{
    (void)flags;
    *out = malloc(1);
    return cudaSuccess;
}

extern "C" cudaError_t cudaEventDestroy(cudaEvent_t e)
{
    free(e);
    return cudaSuccess;
}

extern "C" cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t stream)
{
    (void)e, (void)stream;
    return cudaSuccess;
}

extern "C" cudaError_t cudaEventQuery(cudaEvent_t e)
{
    (void)e;
    return cudaSuccess;
}

extern "C" cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t e, unsigned flags)
{
    (void)stream, (void)e, (void)flags;
    return cudaSuccess;
}

extern "C" cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    (void)stream;
    arena_open(false);
    return cudaSuccess;
}
extern "C" cudaError_t cudaGetLastError(void)
{
    cudaError_t rc = last_error;

    last_error = cudaSuccess;
    return rc;
}
extern "C" const char *cudaGetErrorString(cudaError_t rc)
{
    return rc == cudaErrorMemoryAllocation ? "out of memory" : "emulated error";
}
