/* cudnn - what device.c uses of cuDNN's header, for builds where it is not installed. */
#ifndef TESTS_EMU_CUDNN_H
#define TESTS_EMU_CUDNN_H

#include <cuda_runtime_api.h>

typedef enum { CUDNN_STATUS_SUCCESS = 0 } cudnnStatus_t;
typedef struct cudnnContext *cudnnHandle_t;
typedef void *cudnnBackendDescriptor_t;

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle);
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle);
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream);
const char *cudnnGetErrorString(cudnnStatus_t status);
size_t cudnnGetVersion(void);

#endif
