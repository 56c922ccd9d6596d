/* tensors_internal - what the formats of tensors know: serves tensors. */
#ifndef TENSOR_TENSORS_INTERNAL_H
#define TENSOR_TENSORS_INTERNAL_H

#include "tensor/tensors.h"

#define TENSORS_WORD	8u	/* bytes by which a format is told */

/* Each reads the table of the file t->fd of t->size bytes. */
int	 tensors_safe_read(struct tensors *t);
int	 tensors_params_read(struct tensors *t);
/* Whether the first bytes are a list's. */
bool	 tensors_params_knows(const uint8_t word[TENSORS_WORD]);
/* Whether they may be safetensors': 0, ERR_FORMAT or ERR_LIMIT. */
int	 tensors_safe_knows(const uint8_t word[TENSORS_WORD]);

/* Appends what stands in front of all data, and sets at of every tensor. */
int	 tensors_safe_head(struct tensors *t, struct buf *head);
int	 tensors_params_head(struct tensors *t, struct buf *head);
int	 tensors_onnx_head(struct tensors *t, struct buf *head);
/* Lists and models have a head in front of each array, and a list the names behind all. */
int	 tensors_params_array(const struct tensor *x, struct buf *head);
int	 tensors_onnx_array(const struct tensor *x, struct buf *head);
int	 tensors_params_tail(const struct tensors *t, struct buf *tail);

/* *sorted [n] by name, to be freed whatever is returned: 0, ERR_FORMAT (a name twice) or ERR_NOMEM. */
int	 tensors_sort(const struct tensors *t, const struct tensor ***sorted);
/* Appends a tensor and takes its shape's product: ERR_LIMIT when that is no size of memory. */
int	 tensors_append(struct tensors *t, const char *name, size_t n, struct tensor x);

#endif
