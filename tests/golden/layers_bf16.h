/* layers_bf16 - how far PyTorch's bf16 is off in single layers, made by layers.py: what comes out, and what goes back. */
#ifndef TESTS_GOLDEN_LAYERS_BF16_H
#define TESTS_GOLDEN_LAYERS_BF16_H

static const double layers_lrn_bf16[] = { 0.003, 0.0014 };
static const double layers_lrn_even_bf16[] = { 0.0045, 0.0019 };
static const double layers_max_ceil_bf16[] = { 0.0079, 0.0028 };
static const double layers_avg_padded_bf16[] = { 0.0023, 0.0017 };
static const double layers_avg_inside_bf16[] = { 0.0034, 0.017 };
static const double layers_elu_bf16[] = { 0.0017, 0.0029 };
static const double layers_leaky_bf16[] = { 0.0037, 0.0019 };
static const double layers_gelu_bf16[] = { 0.003, 0.011 };
static const double layers_gelu_tanh_bf16[] = { 0.003, 0.011 };
static const double layers_swish_bf16[] = { 0.0035, 0.009 };
static const double layers_reflect_bf16[] = { 0.0058, 0.015 };
static const double layers_dilated_bf16[] = { 0.0023, 0.0065 };
static const double layers_groups_bf16[] = { 0.0028, 0.0026 };
static const double layers_plain_bf16[] = { 0.0035, 0.0073 };
static const double layers_relu_bf16[] = { 0.0038, 0.0074 };
static const double layers_tanh_bf16[] = { 0.002, 0.013 };
static const double layers_sigmoid_bf16[] = { 0.006, 0.0028 };
static const double layers_linear_bf16[] = { 0.0023, 0.0034 };
static const double layers_max_whole_bf16[] = { 0.0044, 0.017 };
static const double layers_avg_whole_bf16[] = { 0.0017, 0.0041 };
static const double layers_avg_bf16[] = { 0.0041, 0.0083 };
static const double layers_zeros_bf16[] = { 0.0043, 0.0037 };
static const double layers_add_bf16[] = { 0.0022, 0.0037 };
static const double layers_mul_bf16[] = { 0.0043, 0.0066 };
static const double layers_concat_bf16[] = { 0.0029, 0.0064 };
static const double layers_smooth_bf16[] = { 0.0025, 0.0057 };

#endif
