/* place.h - consecutive places for the threads of a block that have something to write. */
#ifndef ML_CUDA_PLACE_H
#define ML_CUDA_PLACE_H

/* Returns consecutive places from *counter on to the threads with is_taking != 0, and advances
 * *counter by their number; the other threads get a number without meaning. A vote counts each
 * warp, one atomic addition in shared memory places the warps, and one in global memory places the
 * block, so that a block makes one global addition instead of one a row. The order of warps and
 * blocks differs from run to run. All threads of the block call it together, in whole warps,
 * because it has barriers. */
__device__ static unsigned block_place(int is_taking, unsigned *counter)
{
    __shared__ unsigned count, base;
    unsigned vote, lane = threadIdx.x % 32, place = 0;

    if (threadIdx.x == 0)
        count = 0;
    __syncthreads();
    vote = __ballot_sync(0xffffffffu, is_taking);
    if (lane == 0)
        place = atomicAdd(&count, (unsigned)__popc(vote));
    place = __shfl_sync(0xffffffffu, place, 0);
    __syncthreads();
    if (threadIdx.x == 0)
        base = atomicAdd(counter, count);
    __syncthreads();
    return base + place + (unsigned)__popc(vote & ((1u << lane) - 1));
}

#endif
