/* nccl.c - see nccl.h. Under the emulation of tests/cuda/ the functions are the emulation's. */
#include "ml/cuda/nccl.h"

#include <stdlib.h>
#include <string.h>

#ifdef ASSAY_EMULATE
static void *library_open(struct err *err)
{
    const char *named = getenv("ASSAY_NCCL");

    /* so that tests can be a machine without NCCL */
    if (named && named[0] && strcmp(named, "emulated") != 0) {
        err_set(err, ERR_DEVICE, "NCCL is not installed: %s", named);
        return NULL;
    }
    return (void *)(uintptr_t)1;
}

static void *library_find(void *library, const char *name)
{
    (void)library;
    return emu_nccl_find(name);
}
#else
#include <dlfcn.h>

static void *library_open(struct err *err)
{
    const char *named = getenv("ASSAY_NCCL");
    void *library = dlopen(named && named[0] ? named : "libnccl.so.2", RTLD_NOW | RTLD_LOCAL);

    if (!library)
        err_set(err, ERR_DEVICE, "NCCL is not installed: %s", dlerror());
    return library;
}

static void *library_find(void *library, const char *name)
{
    return dlsym(library, name);
}
#endif

const struct nccl_api *cuda_nccl(struct err *err)
{
    static struct nccl_api api;
    static int is_open;
    /* the name in the library, and where its address goes */
    const struct {
        const char *name;
        void *at;
    } want[] = {
        { "ncclGetUniqueId", &api.id },
        { "ncclCommInitRank", &api.init },
        { "ncclSend", &api.send },
        { "ncclRecv", &api.recv },
        { "ncclGroupStart", &api.group_begin },
        { "ncclGroupEnd", &api.group_end },
        { "ncclCommGetAsyncError", &api.trouble },
        { "ncclCommAbort", &api.abort },
        { "ncclCommDestroy", &api.destroy },
        { "ncclGetErrorString", &api.text },
    };

    if (is_open)
        return &api;
    void *library = library_open(err);
    if (!library)
        return NULL;
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        void *f = library_find(library, want[i].name);
        if (!f) {
            err_set(err, ERR_DEVICE, "NCCL is older than 2.7: it has no %s", want[i].name);
            return NULL;
        }
        memcpy(want[i].at, &f, sizeof f);
    }
    is_open = 1;
    return &api;
}
