// NVIDIA's own calculator: reads a line of numbers for each configuration, writes the blocks of an SM
// and what each resource allows.
#include <cstdio>

#include "cuda_occupancy.h"

int main(void) {
    int sm, warps, optin, shared_sm, reserved, threads, registers, shared, dynamic, barriers;
    while (scanf("%d %d %d %d %d %d %d %d %d %d", &sm, &warps, &shared_sm, &optin, &reserved, &threads,
                 &registers, &shared, &dynamic, &barriers) == 10) {
        cudaOccDeviceProp device;
        device.computeMajor = sm / 10;
        device.computeMinor = sm % 10;
        device.maxThreadsPerBlock = 1024;
        device.maxThreadsPerMultiprocessor = warps * 32;
        device.regsPerBlock = 65536;
        device.regsPerMultiprocessor = 65536;
        device.warpSize = 32;
        device.sharedMemPerBlock = 48 * 1024;
        device.sharedMemPerMultiprocessor = shared_sm;
        device.numSms = 1;
        device.sharedMemPerBlockOptin = optin;
        device.reservedSharedMemPerBlock = reserved;
        cudaOccFuncAttributes function;
        function.maxThreadsPerBlock = 1024;
        function.numRegs = registers;
        function.sharedSizeBytes = shared;
        function.maxDynamicSharedSizeBytes = dynamic;
        function.shmemLimitConfig = shared + dynamic > 48 * 1024 ? FUNC_SHMEM_LIMIT_OPTIN : FUNC_SHMEM_LIMIT_DEFAULT;
        function.numBlockBarriers = barriers;
        cudaOccDeviceState state;
        state.carveoutConfig = SHAREDMEM_CARVEOUT_DEFAULT;
        cudaOccResult result;
        int error = cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &function, &state, threads, dynamic);
        if (error) return error;
        printf("%d %d %d %d %d %d\n", result.activeBlocksPerMultiprocessor, result.blockLimitRegs,
               result.blockLimitSharedMem, result.blockLimitWarps, result.blockLimitBarriers,
               result.blockLimitBlocks);
    }
    return 0;
}
