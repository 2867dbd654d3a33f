// A GPU in software: every thread of a block is a thread of the processor, and what a warp does together goes through a
// barrier. Slow, and enough to run the kernels of columns.cu where there is no GPU.
#include <algorithm>
#include <barrier>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#define __global__
#define __device__
#define __forceinline__ inline
#define __shared__ static
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))

using std::abs;
using std::max;
using std::min;

struct float4 {
    float x, y, z, w;
};
struct Index {
    unsigned x, y;
};
static thread_local Index threadIdx, blockIdx, gridDim;

struct Warp {
    std::barrier<> gate{32};
    unsigned char slots[32][8];
};
static thread_local Warp *the_warp;
static thread_local std::barrier<> *the_block;

static inline void __syncthreads() { the_block->arrive_and_wait(); }
static inline void __syncwarp() { the_warp->gate.arrive_and_wait(); }
template <typename T> static T exchanged(T value, unsigned from) {
    std::memcpy(the_warp->slots[threadIdx.x & 31], &value, sizeof(T));
    the_warp->gate.arrive_and_wait();
    T result;
    std::memcpy(&result, the_warp->slots[from & 31], sizeof(T));
    the_warp->gate.arrive_and_wait();
    return result;
}
static inline unsigned __ballot_sync(unsigned, bool yes) {
    the_warp->slots[threadIdx.x & 31][0] = yes;
    the_warp->gate.arrive_and_wait();
    unsigned result = 0;
    for (unsigned lane = 0; lane < 32; lane++) result |= (unsigned)the_warp->slots[lane][0] << lane;
    the_warp->gate.arrive_and_wait();
    return result;
}
template <typename T> static T __shfl_sync(unsigned, T value, int from) { return exchanged(value, from); }
template <typename T> static T __shfl_xor_sync(unsigned, T value, int step) {
    return exchanged(value, (threadIdx.x & 31) ^ step);
}
template <typename T> static T __shfl_down_sync(unsigned, T value, int step) {
    unsigned from = (threadIdx.x & 31) + step;
    return exchanged(value, from < 32 ? from : threadIdx.x & 31);
}
static inline int __popc(unsigned word) { return std::popcount(word); }
static inline int __ffs(unsigned word) { return word ? std::countr_zero(word) + 1 : 0; }
static inline float __int_as_float(int bits) { return std::bit_cast<float>(bits); }
static inline int atomicAdd(int *at, int value) { return __atomic_fetch_add(at, value, __ATOMIC_SEQ_CST); }
static inline unsigned atomicOr(unsigned *at, unsigned value) { return __atomic_fetch_or(at, value, __ATOMIC_SEQ_CST); }

template <typename Kernel> static void launch(unsigned across, unsigned down, unsigned threads, Kernel kernel) {
    for (unsigned y = 0; y < down; y++)
        for (unsigned x = 0; x < across; x++) {
            std::barrier<> block(threads);
            std::vector<std::unique_ptr<Warp>> warps;
            for (unsigned w = 0; w < threads / 32; w++) warps.push_back(std::make_unique<Warp>());
            std::vector<std::thread> running;
            for (unsigned t = 0; t < threads; t++)
                running.emplace_back([&, t] {
                    threadIdx = {t, 0};
                    blockIdx = {x, y};
                    gridDim = {across, down};
                    the_warp = warps[t / 32].get();
                    the_block = &block;
                    kernel();
                });
            for (auto &thread : running) thread.join();
        }
}

#include SOURCE

extern "C" void run_columns(int across, int down, int threads, const float *updates, const double *reach,
                            const double *delta, const double *bounds, const int *drop, unsigned char *accepted,
                            double *medians, int *negative, float *restricted, double *scores, float *models,
                            int parameters) {
    launch(across, down, threads, [=] {
        columns(updates, reach, delta, bounds, drop, accepted, medians, negative, restricted, scores, models, parameters);
    });
}

extern "C" void run_means(int across, int down, int threads, const float *updates, const double *shares,
                          const double *medians, const double *reach, const unsigned char *accepted, float *models,
                          int rectify, int parameters) {
    launch(across, down, threads,
           [=] { means(updates, shares, medians, reach, accepted, models, rectify, parameters); });
}
