/* device.c - finds and opens the CUDA half. It is never linked in: the same program serves machines
 * with and without a GPU. Nothing here initialises CUDA; that happens in device_count, which only a
 * worker or a probe child may call. Called by the worker and by `assay doctor`. */
#include "ml/ops/ops.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *open_beside_program(void)
{
    static const char *const places[] = { "libassay-cuda.so", "../lib/assay/libassay-cuda.so" };
    char program[1024], path[1100];
    void *so = NULL;
    ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);

    if (n <= 0)
        return NULL;
    program[n] = '\0';
    char *slash = strrchr(program, '/');
    for (size_t i = 0; slash && !so && i < ARRAY_LEN(places); i++) {
        snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - program), program, places[i]);
        so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    return so;
}

const struct ml_ops *ml_cuda_open(struct err *err)
{
    const char *named = getenv("ASSAY_CUDA");
    void *so = named && named[0] ? dlopen(named, RTLD_NOW | RTLD_LOCAL) : open_beside_program();

    if (!so) {
        const char *why = dlerror();
        err_set(err, ERR_NOTFOUND, "no CUDA half: %s", why ? why : "not installed");
        return NULL;
    }
    ml_ops_export *get = NULL;
    *(void **)&get = dlsym(so, "assay_cuda_ops");
    const struct ml_ops *ops = get ? get() : NULL;
    if (!ops || ops->abi != ML_OPS_ABI) {
        err_set(err, ERR_VERSION, "the CUDA half is of another version (%d, this program wants %d)",
                ops ? ops->abi : 0, ML_OPS_ABI);
        dlclose(so);
        return NULL;
    }
    /* stays open as long as the process lives */
    return ops;
}
