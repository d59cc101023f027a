// SGEMM as a good hand makes it: C = alpha * A @ B + beta * C, a block of 256 threads for 128 x 128 outputs, 8 x 8 of
// them a thread, steps of 8 along K. Tiles of A (k-major) and B are staged in two buffers, the next one's global loads
// in flight during the products; every shared load is 16 bytes wide and free of bank conflicts. Extents are whole
// multiples of the tile.
constexpr int Tile = 128, Step = 8, Threads = 256, PadA = Tile + 4;

__device__ __forceinline__ void products(const float (&a)[Step][PadA], const float (&b)[Step][Tile], int m, int n,
                                         float (&sum)[8][8]) {
#pragma unroll
    for (int k = 0; k < Step; ++k) {
        float x[8], y[8];
        *reinterpret_cast<float4*>(x) = *reinterpret_cast<const float4*>(&a[k][m]);
        *reinterpret_cast<float4*>(x + 4) = *reinterpret_cast<const float4*>(&a[k][m + Tile / 2]);
        *reinterpret_cast<float4*>(y) = *reinterpret_cast<const float4*>(&b[k][n]);
        *reinterpret_cast<float4*>(y + 4) = *reinterpret_cast<const float4*>(&b[k][n + Tile / 2]);
#pragma unroll
        for (int i = 0; i < 8; ++i)
#pragma unroll
            for (int j = 0; j < 8; ++j) sum[i][j] += x[i] * y[j];
    }
}

__device__ __forceinline__ void stage(float (&a)[Step][PadA], float (&b)[Step][Tile], float4 fromA, float4 fromB) {
    const int row = threadIdx.x / 2, k = threadIdx.x % 2 * 4;
    a[k][row] = fromA.x;
    a[k + 1][row] = fromA.y;
    a[k + 2][row] = fromA.z;
    a[k + 3][row] = fromA.w;
    *reinterpret_cast<float4*>(&b[threadIdx.x / 32][threadIdx.x % 32 * 4]) = fromB;
}

extern "C" __global__ void __launch_bounds__(Threads)
    sgemm(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, float alpha, float beta,
          int N, int K) {
    __shared__ __align__(16) float a[2][Step][PadA], b[2][Step][Tile];
    const int m = threadIdx.x / 16 * 4, n = threadIdx.x % 16 * 4;
    const float* nextA = A + (size_t)(blockIdx.x * Tile + threadIdx.x / 2) * K + threadIdx.x % 2 * 4;
    const float* nextB = B + (size_t)(threadIdx.x / 32) * N + blockIdx.y * Tile + threadIdx.x % 32 * 4;
    float sum[8][8] = {};
    stage(a[0], b[0], *reinterpret_cast<const float4*>(nextA), *reinterpret_cast<const float4*>(nextB));
    __syncthreads();
    int now = 0;
    for (int k = Step; k < K; k += Step) {
        nextA += Step;
        nextB += (size_t)Step * N;
        const float4 fromA = *reinterpret_cast<const float4*>(nextA);
        const float4 fromB = *reinterpret_cast<const float4*>(nextB);
        products(a[now], b[now], m, n, sum);
        now ^= 1;
        stage(a[now], b[now], fromA, fromB);
        __syncthreads();
    }
    products(a[now], b[now], m, n, sum);
#pragma unroll
    for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 8; j += 4) {
            const size_t row = blockIdx.x * Tile + m + i % 4 + i / 4 * (Tile / 2);
            float4* out = reinterpret_cast<float4*>(&C[row * N + blockIdx.y * Tile + n + j / 4 * (Tile / 2)]);
            float4 c = *out;
            c.x = alpha * sum[i][j] + beta * c.x;
            c.y = alpha * sum[i][j + 1] + beta * c.y;
            c.z = alpha * sum[i][j + 2] + beta * c.z;
            c.w = alpha * sum[i][j + 3] + beta * c.w;
            *out = c;
        }
}
