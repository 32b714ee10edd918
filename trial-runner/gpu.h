/* gpu.h - which devices this machine offers. CPU: one device a physical core. GPUs are looked for by a child process
 * (--probe) that asks the engine's CUDA half, since a supervisor must never initialise CUDA and a broken driver may hang
 * or crash whoever asks it. A GPU is offered only when the CUDA half can train on it; one that is there but cannot be used
 * is named in the log with the reason. What a family has no form for on a GPU its worker trains on the CPU. */
#ifndef RUNNER_GPU_H
#define RUNNER_GPU_H

#include "base/err.h"
#include "proto/msg.h"

#include <stdint.h>

#define GPU_KIND "cuda" /* of a device; its id is this and its index */

/* "auto" (a device for each physical core, and the GPUs), "cpu", "cpu:N", "cuda" (GPUs only; none is an error).
 * memory_bytes: host memory of all together, 0 = three quarters of the machine's. Fills out[MSG_MAX_DEVICES]; returns how
 * many, or -1. Waits for the probe where a GPU may be, up to 20 s. */
int gpu_devices(const char *choice, int64_t memory_bytes, struct msg_device *out, struct err *err);
int gpu_index(const char *device); /* of a device's id; -1 = no GPU */

int gpu_probe_main(void); /* in the child: one JSON line a GPU on stdout */

#endif
