-- alexnet - five convolutions and three fully connected layers, for 224x224 or 227x227; 62,378,344 weights in 16 arrays.
-- --variant v0.8:  as MXNet from 2016 on.
--           v0.7:  the pool before the normalization, as MXNet before that.
--           torch: the narrower one of torchvision, without normalization; 61,100,840 weights for 224x224.
-- --groups N (1): the second, fourth and fifth convolution in N groups; 2 as on two GPUs in 2012.
-- --pools ceil|floor: floor as MXNet from July 2016 on, 50,844,008 weights for 224x224; torch always uses floor.
-- --dropout P (0.5).  Blocks: the convolutions.
-- Sources: Krizhevsky, Sutskever, Hinton, "ImageNet classification with deep convolutional neural networks", NIPS 2012;
-- mxnet, example/image-classification/symbols/alexnet.py.  Pools round up, as MXNet did before, so that 224 and 227 have
-- equal weights.  torch: Krizhevsky, "One weird trick", 2014, as in torchvision, models/alexnet.py.

local parts = require "parts"
local groups, drop = parts.whole("groups", 1, 1), parts.number("dropout", 0.5)
local variant = parts.word("variant", { "v0.8", "v0.7", "torch" })
local torch = variant == "torch"
local ceil = not torch and parts.word("pools", { "ceil", "floor" }) == "ceil"
local width = torch and { 64, 192, 384, 256, 256 } or { 96, 256, 384, 384, 256 }

local function pool(x, i)
	return maxpool{x, kernel = 3, stride = 2, ceil = ceil, name = "pool" .. i}
end

local function norm_and_pool(x, i)
	if torch then
		return pool(x, i)
	elseif variant == "v0.7" then
		return lrn{pool(x, i), knorm = 1, name = "lrn" .. i}
	end
	return pool(lrn{x, name = "lrn" .. i}, i)
end

local function factory(x, i, kernel, pad, parts_of)
	x = conv{x, width[i], kernel = kernel, stride = i == 1 and 4 or 1, pad = pad, groups = parts_of, name = "conv" .. i}
	return relu{x, name = "relu" .. i}
end

local function full(x, i)
	return relu{fc{x, 4096, name = "fc" .. i}, name = "relu" .. 5 + i}
end

local function let_go(x, i)
	return drop > 0 and dropout{x, drop, name = "drop" .. i} or x
end

local x = data(3, 224, 224)
-- As in vgg; with normal:0.01 in all layers, as in 2012, outputs of small images differ by too little to learn from.
parts.photographs("msra,fc*=xavier:0.5", 0.01)
x = block(norm_and_pool(factory(x, 1, 11, torch and 2 or 0, 1), 1))
x = block(norm_and_pool(factory(x, 2, 5, 2, groups), 2))
x = block(factory(x, 3, 3, 1, 1))
x = block(factory(x, 4, 3, 1, groups))
x = block(pool(factory(x, 5, 3, 1, groups), 3))
x = flatten(x)
if torch then
	x = full(let_go(full(let_go(x, 1), 1), 2), 2)
else
	x = let_go(full(let_go(full(x, 1), 1), 2), 2)
end
return softmax(fc{x, input.classes or 1000, name = "fc3"})
