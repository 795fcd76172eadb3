// HOST_DEVICE marks a per-element formula that both the C++ compiler and nvcc translate, so that a
// kernel's CPU and CUDA twins share one text. The formula is always inlined: on the CPU it takes
// the instruction set of the loop around it.
#ifndef RONDO_KERNELS_HOST_DEVICE_H_
#define RONDO_KERNELS_HOST_DEVICE_H_

#ifdef __CUDACC__
#define HOST_DEVICE __host__ __device__ __forceinline__
#else
#define HOST_DEVICE inline __attribute__((always_inline))
#endif

#endif  // RONDO_KERNELS_HOST_DEVICE_H_
