// Attention in f32 without the score matrix in memory: a block of 128 threads for 64 queries, keys in blocks of 32,
// 64 values a head. A thread has 4 x 4 scores and 4 x 8 outputs of the same four rows, so that the running maximum and
// denominator stay in registers; eight neighbouring lanes share a row. Shared memory holds what several threads read.
// Rows are padded by 16 bytes, which keeps 16-byte loads of a column of rows free of bank conflicts.
constexpr int Queries = 64, Keys = 32, Depth = 64, Threads = 128, Pad = 4;

__device__ __forceinline__ float across(float value, bool sum) {
#pragma unroll
    for (int distance = 4; distance; distance /= 2) {
        const float other = __shfl_xor_sync(~0u, value, distance);
        value = sum ? value + other : fmaxf(value, other);
    }
    return value;
}

__device__ __forceinline__ float dot(float4 a, float4 b, float sum) {
    return a.x * b.x + (a.y * b.y + (a.z * b.z + (a.w * b.w + sum)));
}

template <int Rows, int Row>
__device__ __forceinline__ void copy(float (&to)[Rows][Row], const float* from, long first, long count) {
#pragma unroll
    for (int i = threadIdx.x; i < Rows * Depth / 4; i += Threads) {
        const int row = i / (Depth / 4), at = i % (Depth / 4) * 4;
        const float4 zero = make_float4(0, 0, 0, 0);
        const bool inside = first + row < count;
        *reinterpret_cast<float4*>(&to[row][at]) =
            inside ? *reinterpret_cast<const float4*>(&from[(first + row) * Depth + at]) : zero;
    }
}

extern "C" __global__ void __launch_bounds__(Threads)
    flash_attention(const float* __restrict__ Q, const float* __restrict__ K, const float* __restrict__ V,
                    float* __restrict__ O, float scale, long queries, long keys) {
    __shared__ __align__(16) float q[Queries][Depth + Pad], k[Keys][Depth + Pad], v[Keys][Depth], p[Queries][Keys + Pad];
    const int row = threadIdx.x / 8 * 4, lane = threadIdx.x % 8;
    copy(q, Q, blockIdx.x * (long)Queries, queries);
    float acc[4][8] = {}, top[4] = {-1e30f, -1e30f, -1e30f, -1e30f}, total[4] = {};
    for (long j = 0; j < keys; j += Keys) {
        __syncthreads();
        copy(k, K, j, keys);
        copy(v, V, j, keys);
        __syncthreads();
        float s[4][4] = {};
#pragma unroll
        for (int d = 0; d < Depth; d += 4) {
            float4 x[4], y[4];
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                x[i] = *reinterpret_cast<const float4*>(&q[row + i][d]);
                y[i] = *reinterpret_cast<const float4*>(&k[lane + 8 * i][d]);
            }
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int c = 0; c < 4; ++c) s[i][c] = dot(x[i], y[c], s[i][c]);
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            float most = -1e30f, sum = 0;
#pragma unroll
            for (int c = 0; c < 4; ++c) {
                s[i][c] = lane + 8 * c < keys - j ? s[i][c] * scale : -1e30f;
                most = fmaxf(most, s[i][c]);
            }
            const float next = fmaxf(top[i], across(most, false)), shrink = __expf(top[i] - next);
#pragma unroll
            for (int c = 0; c < 4; ++c) {
                const float weight = __expf(s[i][c] - next);
                p[row + i][lane + 8 * c] = weight;
                sum += weight;
            }
            total[i] = total[i] * shrink + across(sum, true);
            top[i] = next;
#pragma unroll
            for (int c = 0; c < 8; ++c) acc[i][c] *= shrink;
        }
        __syncwarp();  // a warp's rows are its own
#pragma unroll
        for (int step = 0; step < Keys; step += 4) {
            float weight[4][4];
#pragma unroll
            for (int i = 0; i < 4; ++i)
                *reinterpret_cast<float4*>(weight[i]) = *reinterpret_cast<const float4*>(&p[row + i][step]);
#pragma unroll
            for (int t = 0; t < 4; ++t) {
                float y[8];
                *reinterpret_cast<float4*>(y) = *reinterpret_cast<const float4*>(&v[step + t][lane * 4]);
                *reinterpret_cast<float4*>(y + 4) = *reinterpret_cast<const float4*>(&v[step + t][lane * 4 + Depth / 2]);
#pragma unroll
                for (int i = 0; i < 4; ++i)
#pragma unroll
                    for (int c = 0; c < 8; ++c) acc[i][c] += weight[i][t] * y[c];
            }
        }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const long at = blockIdx.x * (long)Queries + row + i;
        if (at < queries)
#pragma unroll
            for (int c = 0; c < 8; c += 4) {
                const float4 out = make_float4(acc[i][c] / total[i], acc[i][c + 1] / total[i], acc[i][c + 2] / total[i],
                                               acc[i][c + 3] / total[i]);
                *reinterpret_cast<float4*>(&O[at * Depth + lane * 4 + c / 4 * (Depth / 2)]) = out;
            }
    }
}
