// A GPU in software, to run the kernels of columns.cu where there is no GPU. The threads of a block are fibers of one
// thread of the processor: each runs until it waits at a barrier, then the next one goes on. Real threads gave the same
// results, but 256 of them on two cores spend nearly all their time on being switched.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <ucontext.h>
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
static Index threadIdx, blockIdx, gridDim;
static ucontext_t scheduler;

struct Barrier {
    unsigned size, arrived = 0, generation = 0;
    void arrive_and_wait();
};
struct Warp {
    Barrier gate{32};
    unsigned char slots[32][8];
};
struct Fiber {
    static constexpr size_t STACK = 256 * 1024;
    ucontext_t context;
    std::vector<unsigned char> stack = std::vector<unsigned char>(STACK);
    bool ended = false;
};
static Warp *the_warp;
static Barrier *the_block;
static Fiber *the_fiber;

void Barrier::arrive_and_wait() {
    unsigned mine = generation;
    if (++arrived == size) {
        arrived = 0;
        generation++;
        return;
    }
    while (generation == mine) swapcontext(&the_fiber->context, &scheduler);
}

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

template <typename Kernel> static void run_fiber(unsigned low, unsigned high) {
    (*reinterpret_cast<Kernel *>((uintptr_t)low | (uintptr_t)high << 32))();
    the_fiber->ended = true;  // then uc_link leads back to the scheduler
}

template <typename Kernel> static void launch(unsigned across, unsigned down, unsigned threads, Kernel kernel) {
    auto address = reinterpret_cast<uintptr_t>(&kernel);
    std::vector<Fiber> fibers(threads);
    for (unsigned block = 0; block < across * down; block++) {
        Barrier all{threads};
        std::vector<Warp> warps(threads / 32);
        for (Fiber &fiber : fibers) {
            fiber.ended = false;
            getcontext(&fiber.context);
            fiber.context.uc_stack.ss_sp = fiber.stack.data();
            fiber.context.uc_stack.ss_size = Fiber::STACK;
            fiber.context.uc_link = &scheduler;
            // makecontext passes whole numbers only, so the address goes in two halves.
            makecontext(&fiber.context, (void (*)())run_fiber<Kernel>, 2, (unsigned)address, (unsigned)(address >> 32));
        }
        the_block = &all;
        blockIdx = {block % across, block / across};
        gridDim = {across, down};
        for (unsigned running = threads; running > 0;) {
            running = 0;
            for (unsigned t = 0; t < threads; t++) {
                if (fibers[t].ended) continue;
                threadIdx = {t, 0};
                the_warp = &warps[t / 32];
                the_fiber = &fibers[t];
                swapcontext(&scheduler, &the_fiber->context);
                running += !fibers[t].ended;
            }
        }
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
