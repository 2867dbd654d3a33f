// Columns of updates, judged on a GPU. A column is one parameter of one run over all M clients.
//
// Compiled at run time for each number of clients (M) and each task:
//   DETECT    the reputation rule: which values are accepted, the median of each column, rejections by client
//   REWEIGHT  residual-based re-weighting: scores by client, and values of low confidence put on the line
//   MIDDLE    the mean of each sorted column without its first and last values (median, trimmed mean)
// and the weighted mean of (rectified) columns.
//
// Up to 16 clients, a thread has a column in its registers and computes every slope. Beyond, a warp has a column, client
// (or rank) i in lane i mod 32, and finds the repeated-median slope by the search of eitr/robust/repeated_median.py:
// trials count, for each row, its slopes of at most b; few rows stay undecided, and only theirs are computed. Trials
// run in float32 on offsets from the median; everything that is kept is computed in float64. Where rounding could have
// misled the search (a result within a hair of the bracket), the column is computed in full.
//
// Sums over columns are integers, or float64 in a fixed order: the same input gives the same bits.

typedef long long i64;

#define DETECT 0
#define REWEIGHT 1
#define MIDDLE 2

#ifndef TASK
#define TASK DETECT
#endif
#ifndef M
#define M 100
#endif

#define INFINITE __int_as_float(0x7f800000)
#define ABSOLUTE_SCALE 1e-7
#define RELATIVE_SCALE 2.4e-7
#define FACTOR (1.48 * (M + 4) / (M - 1))

// The middle of the M-1 slopes of a row, and of the M rows: of an even number, the mean of two.
#define INNER_LOW ((M - 2) / 2)
#define INNER_HIGH ((M - 1) / 2)
#define OUTER_LOW ((M - 1) / 2)
#define OUTER_HIGH (M / 2)
// The residual rule takes its scale from the residuals without the smallest.
#define SPREAD_LOW (TASK == REWEIGHT ? (M - 2) / 2 + 1 : (M - 1) / 2)
#define SPREAD_HIGH (TASK == REWEIGHT ? (M - 1) / 2 + 1 : M / 2)
// So many equal neighbours make the slope 0 (see _start in repeated_median.py).
#define TIED ((M - 1) / 2 + 2 > M / 2 + 1 ? (M - 1) / 2 + 2 : M / 2 + 1)

struct Line {
    double middle, slope, intercept, scale;
};

__device__ __forceinline__ double clamped(double value, double reach) {
    return fmin(fmax(value, -reach), reach);
}

// ---------------------------------------------------------------------------------------------------------------------
#if M <= 16
// A thread a column.

template <int L, typename T> __device__ __forceinline__ void sort(T (&a)[L]) {
#pragma unroll
    for (int pass = 0; pass < L; pass++)
#pragma unroll
        for (int i = pass & 1; i + 1 < L; i += 2) {
            T low = min(a[i], a[i + 1]), high = max(a[i], a[i + 1]);
            a[i] = low;
            a[i + 1] = high;
        }
}

// Equal values stay in the order of the clients: neighbours change places only where the first is larger.
__device__ __forceinline__ void sort_with_clients(float (&a)[M], int (&client)[M]) {
#pragma unroll
    for (int pass = 0; pass < M; pass++)
#pragma unroll
        for (int i = pass & 1; i + 1 < M; i += 2) {
            bool swap = a[i] > a[i + 1];
            float low = swap ? a[i + 1] : a[i], high = swap ? a[i] : a[i + 1];
            int one = swap ? client[i + 1] : client[i], two = swap ? client[i] : client[i + 1];
            a[i] = low;
            a[i + 1] = high;
            client[i] = one;
            client[i + 1] = two;
        }
}

__device__ __forceinline__ double repeated_median(const double (&offset)[M]) {
    float inner[M];
#pragma unroll
    for (int row = 0; row < M; row++) {
        float slope[M - 1];
#pragma unroll
        for (int other = 0; other < M; other++)
            if (other != row) {
                double rise = other > row ? offset[other] - offset[row] : offset[row] - offset[other];
                slope[other < row ? other : other - 1] = (float)(rise * (1.0 / (other > row ? other - row : row - other)));
            }
        sort(slope);
        inner[row] = 0.5f * (slope[INNER_LOW] + slope[INNER_HIGH]);
    }
    sort(inner);
    return 0.5 * ((double)inner[OUTER_LOW] + (double)inner[OUTER_HIGH]);
}

__device__ __forceinline__ Line fit(const float (&value)[M], double reach, double (&residual)[M]) {
    Line line;
    line.middle = 0.5 * ((double)value[OUTER_LOW] + (double)value[OUTER_HIGH]);
    double offset[M], other[M];
#pragma unroll
    for (int i = 0; i < M; i++) offset[i] = clamped((double)value[i] - line.middle, reach);
    line.slope = repeated_median(offset);
    if (TASK == REWEIGHT) {
        line.intercept = line.slope * (-0.5 * (M - 1));
    } else {
#pragma unroll
        for (int i = 0; i < M; i++) other[i] = offset[i] - line.slope * i;
        sort(other);
        line.intercept = 0.5 * (other[OUTER_LOW] + other[OUTER_HIGH]);
    }
#pragma unroll
    for (int i = 0; i < M; i++) {
        residual[i] = offset[i] - line.slope * i - line.intercept;
        other[i] = fabs(residual[i]);
    }
    sort(other);
    line.scale = FACTOR * (0.5 * (other[SPREAD_LOW] + other[SPREAD_HIGH])) + ABSOLUTE_SCALE;
    float size[M];
#pragma unroll
    for (int i = 0; i < M; i++) size[i] = (float)fabs(offset[i] + line.middle);
    sort(size);
    line.scale += RELATIVE_SCALE * (0.5 * ((double)size[OUTER_LOW] + (double)size[OUTER_HIGH]));
    return line;
}

extern "C" __global__ void __launch_bounds__(128)
columns(const float *updates, const double *reach, const double *delta, const double *bounds, const int *drop,
        unsigned char *accepted, double *medians, int *negative, float *restricted, double *scores, float *models,
        int parameters) {
    const int run = blockIdx.y, thread = threadIdx.x, lane = thread & 31, warp = thread >> 5;
    const i64 first = (i64)run * M * parameters;
    __shared__ int rejected[M];
    __shared__ double part[M][4];
    if (thread < M) rejected[thread] = 0;
    __syncthreads();
    double mine[M];
#pragma unroll
    for (int i = 0; i < M; i++) mine[i] = 0.0;
    const i64 column = (i64)blockIdx.x * 128 + thread;
    if (column < parameters) {
        float value[M];
        int client[M];
#pragma unroll
        for (int i = 0; i < M; i++) {
            value[i] = updates[first + (i64)i * parameters + column];
            client[i] = i;
        }
        sort_with_clients(value, client);
        if (TASK == MIDDLE) {
            int out = drop[run];
            double lowest = 0.0, highest = 0.0, sum = 0.0;
#pragma unroll
            for (int i = 0; i < M; i++) {
                if (i == out) lowest = value[i];
                if (i == M - 1 - out) highest = value[i];
            }
#pragma unroll
            for (int i = 0; i < M; i++)
                if (i >= out && i < M - out) sum += (double)value[i] - lowest;
            models[(i64)run * parameters + column] = (float)fmin(fmax(lowest + sum / (M - 2 * out), lowest), highest);
        } else {
            double residual[M];
            Line line = fit(value, reach[run], residual);
            double least = delta[run];
            if (TASK == DETECT) {
                medians[(i64)run * parameters + column] = line.middle;
#pragma unroll
                for (int i = 0; i < M; i++) {
                    bool inside = least * fabs(residual[i]) < bounds[run * M + i] * line.scale;
                    accepted[first + (i64)client[i] * parameters + column] = inside;
                    if (!inside) atomicAdd(&rejected[client[i]], 1);
                }
            } else {
                double sure[M], mean = 0.0, square = 0.0;
#pragma unroll
                for (int i = 0; i < M; i++) {
                    double limit = bounds[run * M + i] * line.scale, size = fabs(residual[i]);
                    sure[i] = size > limit ? limit / size : 1.0;
                    mean += sure[i];
                }
                mean /= M;
#pragma unroll
                for (int i = 0; i < M; i++) square += (sure[i] - mean) * (sure[i] - mean);
                double deviation = sqrt(square / M);
#pragma unroll
                for (int i = 0; i < M; i++) {
                    double fitted = line.slope * i + line.intercept + line.middle;
                    restricted[first + (i64)client[i] * parameters + column] = sure[i] < least ? (float)fitted : value[i];
#pragma unroll
                    for (int who = 0; who < M; who++)
                        if (client[i] == who) mine[who] += sure[i] * deviation;
                }
            }
        }
    }
    if (TASK == DETECT) {
        __syncthreads();
        if (thread < M && rejected[thread]) atomicAdd(&negative[run * M + thread], rejected[thread]);
    }
    if (TASK == REWEIGHT) {
#pragma unroll
        for (int i = 0; i < M; i++) {
            for (int step = 16; step > 0; step >>= 1) mine[i] += __shfl_down_sync(0xffffffffu, mine[i], step);
            if (lane == 0) part[i][warp] = mine[i];
        }
        __syncthreads();
        if (thread < M)
            scores[((i64)run * gridDim.x + blockIdx.x) * M + thread] =
                (part[thread][0] + part[thread][1]) + (part[thread][2] + part[thread][3]);
    }
}

#else
// ---------------------------------------------------------------------------------------------------------------------
// A warp a column.

#define K ((M + 31) / 32)
#define EVERYBODY 0xffffffffu
#define WARPS (M <= 256 ? 8 : 4)
#define COLUMNS (M <= 128 ? 32 : M <= 256 ? 16 : 8)
#define STRIDE (M | 1)
#define PLACES (K * 32)
#define FEW (M % 2 == 0 ? 6 : 12)
#define TRIALS 14
#define ONE_BY_ONE 28
#define HAIR 2.5e-7

// A set of rows is K words that every lane holds: row i is bit i mod 32 of word i / 32.

template <int L> __device__ __forceinline__ int size_of(const unsigned (&set)[L]) {
    int found = 0;
#pragma unroll
    for (int k = 0; k < L; k++) found += __popc(set[k]);
    return found;
}

__device__ __forceinline__ unsigned rows_of_word(int k) {
    return M - 32 * k >= 32 ? EVERYBODY : (1u << (M - 32 * k)) - 1;
}

__device__ __forceinline__ bool has(unsigned word, int lane) { return (word >> lane) & 1; }

// The value of order t (from 0) among the rows of a set; `up_to` becomes how many of them are at most that value.
template <int L, typename T> __device__ __forceinline__ T pick(const T (&value)[L], const unsigned (&given)[L], int t,
                                                               int &up_to) {
    unsigned in[L];
#pragma unroll
    for (int k = 0; k < L; k++) in[k] = given[k];
    int before = 0;
    while (true) {
        unsigned word = in[0];
        int most = __popc(word), size = most;
        T held = value[0];
#pragma unroll
        for (int k = 1; k < L; k++) {
            int here = __popc(in[k]);
            size += here;
            held = here > most ? value[k] : held;
            word = here > most ? in[k] : word;
            most = max(most, here);
        }
        int from = (word >> 16) ? 15 + __ffs(word >> 16) : __ffs(word) - 1;
        T pivot = __shfl_sync(EVERYBODY, held, from & 31);
        unsigned low[L];
#pragma unroll
        for (int k = 0; k < L; k++) low[k] = __ballot_sync(EVERYBODY, value[k] <= pivot) & in[k];
        int more = size_of(low);
        if (more == 0) {  // the pivot is not a number: there is no order to look for
            up_to = before + size;
            return pivot;
        }
        if (t >= more) {
#pragma unroll
            for (int k = 0; k < L; k++) in[k] &= ~low[k];
            t -= more;
            before += more;
        } else if (t == more - 1) {  // the pivot is the largest of those
            up_to = before + more;
            return pivot;
        } else if (more < size) {
#pragma unroll
            for (int k = 0; k < L; k++) in[k] = low[k];
        } else {  // the pivot is the largest of all: leave it out, and its equals
#pragma unroll
            for (int k = 0; k < L; k++) low[k] = __ballot_sync(EVERYBODY, value[k] < pivot) & in[k];
            if (t >= size_of(low)) {
                up_to = before + more;
                return pivot;
            }
#pragma unroll
            for (int k = 0; k < L; k++) in[k] = low[k];
        }
    }
}

template <int L, typename T>
__device__ __forceinline__ T least_above(const T (&value)[L], const unsigned (&given)[L], T than, int lane) {
    T found = (T)INFINITE;
#pragma unroll
    for (int k = 0; k < L; k++)
        if (has(given[k], lane) && value[k] > than) found = min(found, value[k]);
    for (int step = 16; step > 0; step >>= 1) found = min(found, __shfl_xor_sync(EVERYBODY, found, step));
    return found;
}

// The mean of the values of order `low` and `high`, which is `low` or the next.
template <int L, typename T>
__device__ __forceinline__ T middle_of(const T (&value)[L], const unsigned (&given)[L], int low, int high, int lane) {
    int up_to;
    T one = pick(value, given, low, up_to);
    T two = high < up_to ? one : least_above(value, given, one, lane);
    return (T)0.5 * (one + two);
}

// The rank of each of the lane's values in the column that lies in `buffer`; equal values by client.
__device__ __forceinline__ void ranked(const float *buffer, const float (&value)[K], int lane, int (&rank)[K]) {
#pragma unroll
    for (int k = 0; k < K; k++) rank[k] = 0;
#pragma unroll
    for (int block = 0; block < K; block++)
#pragma unroll 2
        for (int place = 0; place < 32; place += 4) {
            float4 four = *reinterpret_cast<const float4 *>(buffer + 32 * block + place);
            float there[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
            for (int q = 0; q < 4; q++)
#pragma unroll
                for (int k = 0; k < K; k++) {
                    if (block < k) rank[k] += there[q] <= value[k];
                    if (block > k) rank[k] += there[q] < value[k];
                    if (block == k)
                        rank[k] += there[q] < value[k] || (there[q] == value[k] && place + q < lane);
                }
        }
}

// For each row, how many of its slopes are at most the trial: pairs that do not rise after tilting.
__device__ __forceinline__ void count_slopes(const float *tilted, const float (&here)[K], int lane, int (&count)[K]) {
#pragma unroll
    for (int k = 0; k < K; k++) count[k] = 0;
#pragma unroll
    for (int block = 0; block < K; block++)
#pragma unroll 2
        for (int place = 0; place < 32; place += 4) {
            if (32 * block + place >= M) break;
            float4 four = *reinterpret_cast<const float4 *>(tilted + 32 * block + place);
            float there[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
            for (int q = 0; q < 4; q++) {
                if (32 * block + 32 > M && 32 * block + place + q >= M) continue;
#pragma unroll
                for (int k = 0; k < K; k++) {
                    if (block < k) count[k] += there[q] >= here[k];
                    if (block > k) count[k] += there[q] <= here[k];
                    if (block == k)
                        count[k] += (place + q > lane && there[q] <= here[k]) || (place + q < lane && there[q] >= here[k]);
                }
            }
        }
}

// The next trial: see _narrow and _interpolate in repeated_median.py.
__device__ __forceinline__ float next_trial(float trial, int at_most, int above, int attempt, float lower, float upper,
                                            float split_low, float split_high, int below, int left) {
    if (upper == INFINITE) return trial * (1.03f + 0.3f * (0.5f - (float)at_most / M)) * exp2f((float)(attempt * attempt));
    if (lower == 0.0f) return trial * (0.98f - 0.25f * (0.5f - (float)above / M)) * exp2f(-(float)(attempt * attempt));
    int first = below, last = below + left, aim;
    if (OUTER_LOW - first > last - OUTER_HIGH - 1) {
        aim = OUTER_LOW - 1;
        if (split_low < upper) {
            upper = split_low;
            last = OUTER_HIGH;
        }
    } else {
        aim = OUTER_HIGH + 2;
        if (split_high > lower) {
            lower = split_high;
            first = OUTER_HIGH;
        }
    }
    float share = fminf(fmaxf((aim - first + 0.5f) / (last - first + 1.0f), 0.03f), 0.97f);
    if (4.0f * lower < upper) return lower * exp2f(share * log2f(upper / lower));
    return lower + (upper - lower) * share;
}

// The median slope from a row to all others. Rows that no trial decided have it between `lower` and `upper`.
__device__ __forceinline__ double inner_median(const double (&offset)[K], const double *inverse, int row, double here,
                                               int lane, double lower, double upper) {
    double slope[K];
    unsigned others[K], within[K];
    int less = 0;
#pragma unroll
    for (int k = 0; k < K; k++) {
        int gap = lane + 32 * k - row;
        slope[k] = (gap > 0 ? offset[k] - here : here - offset[k]) * inverse[min(abs(gap), M - 1)];
        others[k] = __ballot_sync(EVERYBODY, gap != 0) & rows_of_word(k);
        unsigned under = __ballot_sync(EVERYBODY, slope[k] <= lower) & others[k];
        within[k] = __ballot_sync(EVERYBODY, slope[k] <= upper) & others[k] & ~under;
        less += __popc(under);
    }
    bool bracketed = INNER_LOW >= less && INNER_LOW < less + size_of(within);
#pragma unroll
    for (int k = 0; k < K; k++) within[k] = bracketed ? within[k] : others[k];
    int up_to;
    double one = pick(slope, within, bracketed ? INNER_LOW - less : INNER_LOW, up_to);
    if (bracketed) up_to += less;
    double two = INNER_HIGH < up_to ? one : least_above(slope, others, one, lane);
    return 0.5 * (one + two);
}

// Siegel's repeated median of a column of sorted offsets; `buffer` holds them in float32, `tilted` is scratch.
__device__ __forceinline__ double repeated_median(const double (&offset)[K], float *buffer, float *tilted,
                                                  const double *inverse, int lane) {
    bool tied = false;
#pragma unroll
    for (int k = 0; k < K; k++) {
        int end = lane + 32 * k + TIED - 1;
        tied = tied || (end < M && buffer[min(end, M - 1)] == buffer[lane + 32 * k]);
    }
    if (__ballot_sync(EVERYBODY, tied)) return 0.0;

    float here[K];
    unsigned candidate[K];
    int count[K];
#pragma unroll
    for (int k = 0; k < K; k++) {
        here[k] = (float)offset[k];
        candidate[k] = rows_of_word(k);
        count[k] = 0;
    }
    // Start at the median rise over a third of the ranks, from 32 of them.
    const int third = M / 3;
    int place = lane * (M - third) / 32, unused;
    float rise[1] = {buffer[place + third] - buffer[place]};
    unsigned all[1] = {EVERYBODY};
    float trial = pick(rise, all, 15, unused) / third;
    if (!(trial > 0.0f)) trial = (buffer[M - 1] - buffer[0]) / (M - 1);
    float lower = 0.0f, upper = INFINITE, split_low = INFINITE, split_high = 0.0f;
    int below = 0, left = M;
    for (int attempt = 0; attempt < TRIALS && left > FEW; attempt++) {
        float now[K];
#pragma unroll
        for (int k = 0; k < K; k++) now[k] = here[k] - trial * (float)(lane + 32 * k);
        if (left > ONE_BY_ONE) {
            __syncwarp();
#pragma unroll
            for (int k = 0; k < K; k++) tilted[lane + 32 * k] = now[k];
            __syncwarp();
            count_slopes(tilted, now, lane, count);
        } else {
#pragma unroll
            for (int k = 0; k < K; k++)
                for (unsigned waiting = candidate[k]; waiting; waiting &= waiting - 1) {
                    int from = __ffs(waiting) - 1, found = 0;
                    float there = __shfl_sync(EVERYBODY, now[k], from);
                    unsigned before = (1u << from) - 1;
#pragma unroll
                    for (int other = 0; other < K; other++) {
                        // Rows before this one count where they are not lower, rows behind where they are not higher.
                        unsigned up = other < k ? EVERYBODY : other > k ? 0u : before;
                        unsigned down = other > k ? EVERYBODY : other < k ? 0u : ~before & ~(1u << from);
                        unsigned falls = 0;
                        if (other <= k) falls |= __ballot_sync(EVERYBODY, now[other] >= there) & up;
                        if (other >= k) falls |= __ballot_sync(EVERYBODY, now[other] <= there) & down;
                        found += __popc(falls & rows_of_word(other));
                    }
                    if (lane == from) count[k] = found;
                }
        }
        int at_most = below, above = M - below - left;
        unsigned sure_low[K], sure_high[K];
#pragma unroll
        for (int k = 0; k < K; k++) {
            sure_low[k] = __ballot_sync(EVERYBODY, count[k] > INNER_HIGH) & candidate[k];
            sure_high[k] = __ballot_sync(EVERYBODY, count[k] <= INNER_LOW) & candidate[k];
            at_most += __popc(sure_low[k]);
            above += __popc(sure_high[k]);
        }
        if (at_most > OUTER_HIGH) {
            upper = trial;
#pragma unroll
            for (int k = 0; k < K; k++) candidate[k] &= ~sure_high[k];
        } else if (above >= M - OUTER_LOW) {
            lower = trial;
            below = at_most;
#pragma unroll
            for (int k = 0; k < K; k++) candidate[k] &= ~sure_low[k];
        } else {
            split_low = fminf(split_low, trial);
            split_high = fmaxf(split_high, trial);
        }
        left = size_of(candidate);
        trial = next_trial(trial, at_most, above, attempt, lower, upper, split_low, split_high, below, left);
    }
    // The second pass, if there has to be one, takes all rows and no bracket.
    double low_end = lower, high_end = upper, size = fmax(fabs((double)buffer[0]), fabs((double)buffer[M - 1]));
    while (true) {
        double inner[K];
#pragma unroll
        for (int k = 0; k < K; k++) {
            inner[k] = 0.0;
            for (unsigned waiting = candidate[k]; waiting; waiting &= waiting - 1) {
                int from = __ffs(waiting) - 1;
                double there = __shfl_sync(EVERYBODY, offset[k], from);
                double found = inner_median(offset, inverse, from + 32 * k, there, lane, low_end, high_end);
                if (lane == from) inner[k] = found;
            }
        }
        int up_to;
        double one = 0.0, two = 0.0;
        bool whole = OUTER_LOW >= below && OUTER_HIGH < below + left;
        if (whole) {
            one = pick(inner, candidate, OUTER_LOW - below, up_to);
            two = OUTER_HIGH - below < up_to ? one : least_above(inner, candidate, one, lane);
        }
        bool sure = whole && (low_end <= 0.0 || one >= low_end + HAIR * size) && two <= high_end - HAIR * size;
        if (sure || left == M) return 0.5 * (one + two);
        low_end = -1e300;
        high_end = 1e300;
        below = 0;
        left = M;
#pragma unroll
        for (int k = 0; k < K; k++) candidate[k] = rows_of_word(k);
    }
}

extern "C" __global__ void __launch_bounds__(WARPS * 32)
columns(const float *updates, const double *reach, const double *delta, const double *bounds, const int *drop,
        unsigned char *accepted, double *medians, int *negative, float *restricted, double *scores, float *models,
        int parameters) {
    __shared__ float tile[COLUMNS * STRIDE];
    __shared__ __align__(16) float sorted[WARPS][PLACES];
    __shared__ __align__(16) float scratch[WARPS][PLACES];
    __shared__ double off_line[WARPS][PLACES];
    __shared__ double inverse[M], bound[M];
    __shared__ unsigned verdict[M];
    const int run = blockIdx.y, thread = threadIdx.x, lane = thread & 31, warp = thread >> 5;
    const i64 start = (i64)blockIdx.x * COLUMNS, first = (i64)run * M * parameters;
    const int width = (int)min((i64)COLUMNS, (i64)parameters - start);
    for (int i = thread; i < M; i += WARPS * 32) {
        inverse[i] = i ? 1.0 / i : 0.0;
        bound[i] = TASK == MIDDLE ? 0.0 : bounds[run * M + i];
        verdict[i] = 0;
    }
    for (int at = thread; at < M * COLUMNS; at += WARPS * 32) {
        int i = at / COLUMNS, c = at % COLUMNS;
        tile[c * STRIDE + i] = c < width ? updates[first + (i64)i * parameters + start + c] : 0.0f;
    }
    __syncthreads();
    float *buffer = sorted[warp], *tilted = scratch[warp];
    double *residuals = off_line[warp];
    const double furthest = TASK == MIDDLE ? 0.0 : reach[run], least = TASK == MIDDLE ? 0.0 : delta[run];
    bool valid[K];
    unsigned rows[K];
    double mine[K];
#pragma unroll
    for (int k = 0; k < K; k++) {
        valid[k] = lane + 32 * k < M;
        rows[k] = rows_of_word(k);
        mine[k] = 0.0;
    }
    for (int c = warp; c < width; c += WARPS) {
        float value[K];
        int rank[K];
        __syncwarp();
#pragma unroll
        for (int k = 0; k < K; k++) {
            value[k] = valid[k] ? tile[c * STRIDE + lane + 32 * k] : INFINITE;
            buffer[lane + 32 * k] = value[k];
        }
        __syncwarp();
        ranked(buffer, value, lane, rank);
        __syncwarp();
#pragma unroll
        for (int k = 0; k < K; k++)
            if (valid[k]) buffer[rank[k]] = value[k];
        __syncwarp();
        float ordered[K];
#pragma unroll
        for (int k = 0; k < K; k++) ordered[k] = buffer[lane + 32 * k];
        if (TASK == MIDDLE) {
            int out = drop[run];
            double lowest = buffer[out], highest = buffer[M - 1 - out], sum = 0.0;
#pragma unroll
            for (int k = 0; k < K; k++)
                if (lane + 32 * k >= out && lane + 32 * k < M - out) sum += (double)ordered[k] - lowest;
            for (int step = 16; step > 0; step >>= 1) sum += __shfl_xor_sync(EVERYBODY, sum, step);
            if (lane == 0)
                models[(i64)run * parameters + start + c] =
                    (float)fmin(fmax(lowest + sum / (M - 2 * out), lowest), highest);
            continue;
        }
        Line line;
        line.middle = 0.5 * ((double)buffer[OUTER_LOW] + (double)buffer[OUTER_HIGH]);
        double offset[K], other[K];
        __syncwarp();
#pragma unroll
        for (int k = 0; k < K; k++) {
            offset[k] = valid[k] ? clamped((double)ordered[k] - line.middle, furthest) : 0.0;
            buffer[lane + 32 * k] = valid[k] ? (float)offset[k] : INFINITE;
        }
        __syncwarp();
        line.slope = repeated_median(offset, buffer, tilted, inverse, lane);
        if (TASK == REWEIGHT) {
            line.intercept = line.slope * (-0.5 * (M - 1));
        } else {
#pragma unroll
            for (int k = 0; k < K; k++) other[k] = offset[k] - line.slope * (lane + 32 * k);
            line.intercept = middle_of(other, rows, OUTER_LOW, OUTER_HIGH, lane);
        }
#pragma unroll
        for (int k = 0; k < K; k++) {
            double residual = offset[k] - line.slope * (lane + 32 * k) - line.intercept;
            residuals[lane + 32 * k] = residual;
            other[k] = fabs(residual);
        }
        line.scale = FACTOR * middle_of(other, rows, SPREAD_LOW, SPREAD_HIGH, lane) + ABSOLUTE_SCALE;
        // Where all values have one sign, the median magnitude is that of the median.
        if (buffer[0] + line.middle < 0.0 && buffer[M - 1] + line.middle > 0.0) {
            float size[K];
#pragma unroll
            for (int k = 0; k < K; k++) size[k] = (float)fabs(offset[k] + line.middle);
            line.scale += RELATIVE_SCALE * middle_of(size, rows, OUTER_LOW, OUTER_HIGH, lane);
        } else {
            line.scale += RELATIVE_SCALE * fabs(line.middle);
        }
        __syncwarp();
        if (TASK == DETECT) {
            if (lane == 0) medians[(i64)run * parameters + start + c] = line.middle;
#pragma unroll
            for (int k = 0; k < K; k++)
                if (valid[k] && least * fabs(residuals[rank[k]]) < bound[rank[k]] * line.scale)
                    atomicOr(&verdict[lane + 32 * k], 1u << c);
        } else {
            double sure[K], mean = 0.0, square = 0.0;
#pragma unroll
            for (int k = 0; k < K; k++) {
                double limit = valid[k] ? bound[rank[k]] * line.scale : 1.0;
                double size = valid[k] ? fabs(residuals[rank[k]]) : 0.0;
                sure[k] = size > limit ? limit / size : 1.0;
                mean += valid[k] ? sure[k] : 0.0;
            }
            for (int step = 16; step > 0; step >>= 1) mean += __shfl_xor_sync(EVERYBODY, mean, step);
            mean /= M;
#pragma unroll
            for (int k = 0; k < K; k++) square += valid[k] ? (sure[k] - mean) * (sure[k] - mean) : 0.0;
            for (int step = 16; step > 0; step >>= 1) square += __shfl_xor_sync(EVERYBODY, square, step);
            double deviation = sqrt(square / M);
#pragma unroll
            for (int k = 0; k < K; k++)
                if (valid[k]) {
                    mine[k] += sure[k] * deviation;
                    if (sure[k] < least)
                        tile[c * STRIDE + lane + 32 * k] = (float)(line.slope * rank[k] + line.intercept + line.middle);
                }
        }
    }
    if (TASK == MIDDLE) return;
    __syncthreads();
    if (TASK == DETECT) {
        unsigned used = width == 32 ? 0xffffffffu : (1u << width) - 1;
        for (int at = thread; at < M * COLUMNS; at += WARPS * 32) {
            int i = at / COLUMNS, c = at % COLUMNS;
            if (c < width) accepted[first + (i64)i * parameters + start + c] = (verdict[i] >> c) & 1;
        }
        for (int i = thread; i < M; i += WARPS * 32) {
            int refused = width - __popc(verdict[i] & used);
            if (refused) atomicAdd(&negative[run * M + i], refused);
        }
    } else {
        for (int at = thread; at < M * COLUMNS; at += WARPS * 32) {
            int i = at / COLUMNS, c = at % COLUMNS;
            if (c < width) restricted[first + (i64)i * parameters + start + c] = tile[c * STRIDE + i];
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < K; k++) off_line[warp][lane + 32 * k] = mine[k];
        __syncthreads();
        for (int i = thread; i < M; i += WARPS * 32) {
            double sum = 0.0;
            for (int w = 0; w < WARPS; w++) sum += off_line[w][i];
            scores[((i64)run * gridDim.x + blockIdx.x) * M + i] = sum;
        }
    }
}
#endif

// ---------------------------------------------------------------------------------------------------------------------
// The weighted mean of each column around its origin; with verdicts, of rectified values around the median.

extern "C" __global__ void __launch_bounds__(256)
means(const float *updates, const double *shares, const double *medians, const double *reach,
      const unsigned char *accepted, float *models, int rectify, int parameters) {
    const int run = blockIdx.y;
    const i64 column = (i64)blockIdx.x * 256 + threadIdx.x, first = (i64)run * M * parameters;
    if (column >= parameters) return;
    const double origin = rectify ? medians[(i64)run * parameters + column] : (double)updates[first + column];
    const double furthest = reach[run];
    double sum = 0.0, lowest = 1e300, highest = -1e300;
#pragma unroll 4
    for (int i = 0; i < M; i++) {
        double value = updates[first + (i64)i * parameters + column];
        value = fmin(fmax(value, origin - furthest), origin + furthest);
        if (rectify && !accepted[first + (i64)i * parameters + column]) value = origin;
        sum += shares[run * M + i] * (value - origin);
        lowest = fmin(lowest, value);
        highest = fmax(highest, value);
    }
    models[(i64)run * parameters + column] = (float)fmin(fmax(origin + sum, lowest), highest);
}
