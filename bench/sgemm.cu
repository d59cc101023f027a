// The peer of examples/sgemm.ph in CUDA C++, first configuration: one block of 256 threads computes a 32 x 32 tile of
// C = alpha * A @ B + beta * C, with tiles of A and B in shared memory and ragged edges guarded.
constexpr int TileM = 32, TileN = 32, TileK = 8, Threads = 256;
constexpr int PerThread = TileM * TileN / Threads;

extern "C" __global__ void __launch_bounds__(Threads)
    sgemm(const float* A, const float* B, float* C, float alpha, float beta, long M, long K, long N) {
    __shared__ float a[TileM][TileK], b[TileK][TileN];
    const long row = blockIdx.x * (long)TileM, column = blockIdx.y * (long)TileN;
    const int n = threadIdx.x % TileN, m = threadIdx.x / TileN * PerThread;
    float sum[PerThread] = {};
    for (long k = 0; k < K; k += TileK) {
        for (int i = threadIdx.x; i < TileM * TileK; i += Threads) {
            const long r = row + i / TileK, c = k + i % TileK;
            a[i / TileK][i % TileK] = r < M && c < K ? A[r * K + c] : 0.0f;
        }
        for (int i = threadIdx.x; i < TileK * TileN; i += Threads) {
            const long r = k + i / TileN, c = column + i % TileN;
            b[i / TileN][i % TileN] = r < K && c < N ? B[r * N + c] : 0.0f;
        }
        __syncthreads();
        for (int step = 0; step < TileK; ++step)
            for (int i = 0; i < PerThread; ++i) sum[i] += a[m + i][step] * b[step][n];
        __syncthreads();
    }
    for (int i = 0; i < PerThread; ++i) {
        const long r = row + m + i, c = column + n;
        if (r < M && c < N) C[r * N + c] = alpha * sum[i] + beta * C[r * N + c];
    }
}
