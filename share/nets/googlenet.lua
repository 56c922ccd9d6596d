-- googlenet - the inception net of 2014, for 224x224; 6,998,552 weights in 116 arrays.
-- --variant plain: without batch norm, with MXNet's names of layers.
--           torch: that of torchvision, with its names of layers: batch norm after each convolution, 3x3 instead of the
--                  paper's 5x5, and a last pool of 2x2; 6,624,904 weights in 173 arrays.
-- --dropout P before the last layer (0; torch 0.2).
-- Blocks: the layers before the first pool, those before the second, and the nine inception modules.
-- Sources: Szegedy et al., "Going deeper with convolutions", CVPR 2015, without its two auxiliary classifiers;
-- mxnet, example/image-classification/symbols/googlenet.py; torchvision, models/googlenet.py.  Pools round up.

local parts = require "parts"
local torch = parts.word("variant", { "plain", "torch" }) == "torch"
local drop = parts.number("dropout", torch and 0.2 or 0)
local branch = torch and { "branch1", "branch2.0", "branch2.1", "branch3.0", "branch3.1", "branch4.1" } or
	{ "1x1", "3x3_reduce", "3x3", "5x5_reduce", "5x5", "proj" }

local function factory(x, k, name, kernel, stride, pad)
	if torch then
		return parts.cbr(x, k, { kernel = kernel, stride = stride, pad = pad, bias = false, eps = 1e-3,
			conv = name .. ".conv", bn = name .. ".bn", relu = name .. ".relu" })
	end
	x = conv{x, k, kernel = kernel or 1, stride = stride or 1, pad = pad or 0, name = "conv_" .. name}
	return relu{x, name = "relu_" .. name}
end

local function halve(x, name, kernel)
	return maxpool{x, kernel = kernel or 3, stride = 2, ceil = true, name = name}
end

local function inception(x, name, k1, r3, k3, r5, k5, proj)
	local before, kernel, pad = "in" .. name .. "_", 5, 2
	if torch then
		before, kernel, pad = "inception" .. name .. ".", 3, 1
	end
	local a = factory(x, k1, before .. branch[1])
	local b = factory(factory(x, r3, before .. branch[2]), k3, before .. branch[3], 3, 1, 1)
	local c = factory(factory(x, r5, before .. branch[4]), k5, before .. branch[5], kernel, 1, pad)
	local d = maxpool{x, kernel = 3, pad = 1, name = "max_pool_in" .. name .. "_pool"}
	return concat{a, b, c, factory(d, proj, before .. branch[6]), name = "ch_concat_in" .. name .. "_chconcat"}
end

local x = data(3, 224, 224)
-- Without batch norm the activations grow: with He's weights the first steps would be too large.
parts.photographs(torch and "msra" or "xavier:4.5", 0.01)
x = block(halve(factory(x, 64, "conv1", 7, 2, 3), "pool1"))
x = factory(factory(x, 64, "conv2"), 192, "conv3", 3, 1, 1)
x = block(halve(x, "pool3"))
x = block(inception(x, "3a", 64, 96, 128, 16, 32, 32))
x = block(inception(x, "3b", 128, 128, 192, 32, 96, 64))
x = halve(x, "pool4")
x = block(inception(x, "4a", 192, 96, 208, 16, 48, 64))
x = block(inception(x, "4b", 160, 112, 224, 24, 64, 64))
x = block(inception(x, "4c", 128, 128, 256, 24, 64, 64))
x = block(inception(x, "4d", 112, 144, 288, 32, 64, 64))
x = block(inception(x, "4e", 256, 160, 320, 32, 128, 128))
x = halve(x, "pool5", torch and 2)
x = block(inception(x, "5a", 256, 160, 320, 32, 128, 128))
x = block(inception(x, "5b", 384, 192, 384, 48, 128, 128))
x = flatten(globalavg{x, name = "global_pool"})
if drop > 0 then
	x = dropout{x, drop, name = "drop1"}
end
return softmax{fc{x, input.classes or 1000, name = torch and "fc" or "fc1"}, name = "softmax"}
