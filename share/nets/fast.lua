-- fast - a small net that learns CIFAR-10 in few epochs; 1,972,792 weights at 32x32.
-- A narrow first layer decorrelates 2x2 patches; it is named whiten and meant to be frozen.  Three groups of two
-- convolutions follow, which start as the identity.  Batch norm learns shifts only, and the outputs are scaled down.
-- --widths A,B,C (64,256,256); --smooth S (0.2) of labels.  Blocks: the first layer, then the groups.
-- Source: Jordan, "94% on CIFAR-10 in 3.29 seconds on a single GPU", 2024 (github.com/KellerJordan/cifar10-airbench).

local parts = require "parts"
local widths, smooth = parts.widths("widths", "64,256,256"), parts.number("smooth", 0.2)

local function norm(x, name)
	return gelu{bn{x, eps = 1e-12, momentum = 0.6, fix_gamma = true, name = name}, name = name .. "_gelu"}
end

local function convolve(x, k, name)
	return conv{x, k, kernel = 3, pad = 1, bias = false, begin = "identity", name = name}
end

local function group(x, k, name)
	x = maxpool{convolve(x, k, name .. "_conv1"), kernel = 2, stride = 2, name = name .. "_pool"}
	x = norm(x, name .. "_norm1")
	return norm(convolve(x, k, name .. "_conv2"), name .. "_norm2")
end

local x = data(3, 32, 32)
parts.photographs("msra", 0.05)
x = block(gelu(conv{x, 24, kernel = 2, begin = "whiten", name = "whiten"}))
for i, k in ipairs(widths) do
	x = block(group(x, k, "group" .. i))
end
x = flatten(globalmax(x))
x = fc{x, input.classes or 10, bias = false, name = "head"}
return softmax{scale{x, 1 / 9}, smooth = smooth}
