-- inception-bn - batch normalized inception for ImageNet, 224x224 or 227x227; 11,295,240 weights in 278 arrays.
-- --variant full: the wider one for the 21,841 classes of the full ImageNet, 33,619,969 weights.
-- --pools ceil|floor: ceil rounds up as MXNet did until July 2016; floor rounds down as later, with a border of 1 in the
-- blocks that halve.
-- --bn-momentum M (0.9): what running statistics keep of their old value in a step; 0.1 as MXNet until November 2015.
-- Source: mxnet, example/image-classification, symbol_inception-bn.py and -full.py (2015, 2016), with their names of
-- layers; Ioffe and Szegedy, "Batch normalization", ICML 2015.

local parts = require "parts"
local full = parts.word("variant", { "1k", "full" }) == "full"
local ceil, momentum = parts.word("pools", { "ceil", "floor" }) == "ceil", parts.number("bn-momentum", 0.9, 0, 1)

local function factory(x, k, name, kernel, stride, pad)
	return parts.cbr(x, k, { kernel = kernel, stride = stride, pad = pad, momentum = momentum, conv = "conv_" .. name,
		bn = "bn_" .. name, relu = "relu_" .. name })
end

-- The branches that A and B have in common: 3x3, and 3x3 twice.
local function threes(x, name, r3, k3, rd, kd, stride)
	local a = factory(x, r3, name .. "_3x3_reduce")
	a = factory(a, k3, name .. "_3x3", 3, stride, 1)
	local b = factory(x, rd, name .. "_double_3x3_reduce")
	b = factory(b, kd, name .. "_double_3x3_0", 3, 1, 1)
	b = factory(b, kd, name .. "_double_3x3_1", 3, stride, 1)
	return a, b
end

local function A(x, name, k1, r3, k3, rd, kd, kind, proj)
	local a = factory(x, k1, name .. "_1x1")
	local b, c = threes(x, name, r3, k3, rd, kd, 1)
	local d = pool{x, kind, kernel = 3, pad = 1, name = kind .. "_pool_" .. name .. "_pool"}
	return block(concat{a, b, c, factory(d, proj, name .. "_proj"), name = "ch_concat_" .. name .. "_chconcat"})
end

local function B(x, name, r3, k3, rd, kd)
	local a, b = threes(x, name, r3, k3, rd, kd, 2)
	local c = maxpool{x, kernel = 3, stride = 2, pad = ceil and 0 or 1, ceil = ceil, name = "max_pool_" .. name .. "_pool"}
	return block(concat{a, b, c, name = "ch_concat_" .. name .. "_chconcat"})
end

local x = data(3, 224, 224)
-- The 1,024 outputs of the pool are positive.  With He's weights in the last layer the first scores would be large, and
-- the loss would jump between classes instead of falling.
parts.photographs("msra,fc1*=normal:0.01", 0.02)
x = factory(x, full and 96 or 64, "1", 7, 2, 3)
x = block(maxpool{x, kernel = 3, stride = 2, ceil = ceil, name = "pool_1"})
x = factory(x, full and 128 or 64, "2_red")
x = factory(x, full and 288 or 192, "2", 3, 1, 1)
x = block(maxpool{x, kernel = 3, stride = 2, ceil = ceil, name = "pool_2"})
if full then
	x = A(x, "3a", 96, 96, 96, 96, 144, "avg", 48)
	x = A(x, "3b", 96, 96, 144, 96, 144, "avg", 96)
	x = B(x, "3c", 192, 240, 96, 144)
else
	x = A(x, "3a", 64, 64, 64, 64, 96, "avg", 32)
	x = A(x, "3b", 64, 64, 96, 64, 96, "avg", 64)
	x = B(x, "3c", 128, 160, 64, 96)
end
x = A(x, "4a", 224, 64, 96, 96, 128, "avg", 128)
x = A(x, "4b", 192, 96, 128, 96, 128, "avg", 128)
x = A(x, "4c", 160, 128, 160, 128, 160, "avg", 128)
x = A(x, "4d", 96, 128, 192, 160, full and 96 or 192, "avg", 128)
x = B(x, "4e", 128, 192, 192, 256)
x = A(x, "5a", 352, 192, 320, 160, 224, "avg", 128)
x = A(x, "5b", 352, 192, 320, 192, 224, "max", 128)
x = globalavg{x, name = "global_pool"}
x = fc{flatten(x), input.classes or (full and 21841 or 1000), name = "fc1"}
return softmax{x, name = "softmax"}
