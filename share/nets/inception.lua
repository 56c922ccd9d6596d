-- inception - batch normalized inception for 28x28 crops of CIFAR-10; 1,652,826 weights in 78 arrays.
-- --pools ceil|floor: as in 2015, the pool that halves the image has no padding and rounds up.  floor, as from July 2016
-- on, has a border of 1 and rounds down; the sizes are equal.  Gamma is learned, as in 2015.
-- --bn-momentum M (0.9): what running statistics keep of their old value in a step; 0.1 as MXNet until November 2015.
-- Source: mxnet, example/image-classification/symbol_inception-bn-28-small.py (2015); Ioffe and Szegedy,
-- "Batch normalization", ICML 2015.

local parts = require "parts"
local ceil, momentum = parts.word("pools", { "ceil", "floor" }) == "ceil", parts.number("bn-momentum", 0.9, 0, 1)

local function factory(x, k, kernel, stride, pad, name)
	return parts.cbr(x, k, { kernel = kernel, stride = stride, pad = pad, momentum = momentum, conv = name, bn = name .. "_bn",
		relu = name .. "_relu" })
end

local function simple(x, k1, k3, name)
	local a = factory(x, k1, 1, 1, 0, name .. "_1x1")
	local b = factory(x, k3, 3, 1, 1, name .. "_3x3")
	return concat{a, b, name = name}
end

local function downsample(x, k3, name)
	local a = factory(x, k3, 3, 2, 1, name .. "_3x3")
	local b = maxpool{x, kernel = 3, stride = 2, pad = ceil and 0 or 1, ceil = ceil, name = name .. "_pool"}
	return concat{a, b, name = name}
end

local x = data(3, 28, 28)
parts.photographs("msra", 0.05)
x = block(factory(x, 96, 3, 1, 1, "conv1"))
x = block(simple(x, 32, 32, "in3a"))
x = block(simple(x, 32, 48, "in3b"))
x = block(downsample(x, 80, "in3c"))
x = block(simple(x, 112, 48, "in4a"))
x = block(simple(x, 96, 64, "in4b"))
x = block(simple(x, 80, 80, "in4c"))
x = block(simple(x, 48, 96, "in4d"))
x = block(downsample(x, 96, "in4e"))
x = block(simple(x, 176, 160, "in5a"))
x = block(simple(x, 176, 160, "in5b"))
x = globalavg{x, name = "pool"}
x = fc{flatten(x), input.classes or 10, name = "fc1"}
return softmax(x)
