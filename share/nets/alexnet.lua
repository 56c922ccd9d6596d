-- alexnet - five convolutions and three full layers, for 224x224 or 227x227; 62,378,344 weights in 16 arrays.
-- --groups 2: the second, fourth and fifth convolution in two halves, as on two GPUs in 2012.
-- --pools floor: as mxnet's from July 2016 on, 50,844,008 weights for 224x224.
-- --variant v0.7: pool before normalization.  Initial weights normal:0.01; from xavier it does not learn.
-- Sources: Krizhevsky, Sutskever, Hinton, "ImageNet classification with deep convolutional neural networks", NIPS 2012;
-- mxnet, example/image-classification/symbols/alexnet.py.  Pools round up, as before, so that 224 and 227 have
-- equal weights.

local parts = require "parts"
local groups, drop = parts.number("groups", 1, 1), parts.number("dropout", 0.5)
local pool_first = parts.word("variant", { "v0.8", "v0.7" }) == "v0.7"
local ceil = parts.word("pools", { "ceil", "floor" }) == "ceil"

local function pool(x, i)
	return maxpool{x, kernel = 3, stride = 2, ceil = ceil, name = "pool" .. i}
end

local function norm_and_pool(x, i)
	if pool_first then
		return lrn{pool(x, i), knorm = 1, name = "lrn" .. i}
	end
	return pool(lrn{x, name = "lrn" .. i}, i)
end

local function factory(x, i, k, kernel, pad, parts_of)
	x = conv{x, k, kernel = kernel, stride = i == 1 and 4 or 1, pad = pad, groups = parts_of, name = "conv" .. i}
	return relu{x, name = "relu" .. i}
end

local x = data(3, 224, 224)
x = norm_and_pool(factory(x, 1, 96, 11, 0, 1), 1)
x = norm_and_pool(factory(x, 2, 256, 5, 2, groups), 2)
x = factory(x, 3, 384, 3, 1, 1)
x = factory(x, 4, 384, 3, 1, groups)
x = pool(factory(x, 5, 256, 3, 1, groups), 3)
x = flatten(x)
for i = 1, 2 do
	x = relu{fc{x, 4096, name = "fc" .. i}, name = "relu" .. 5 + i}
	if drop > 0 then
		x = dropout{x, drop, name = "drop" .. i}
	end
end
return softmax(fc{x, input.classes or 1000, name = "fc3"})
