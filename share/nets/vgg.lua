-- vgg - 3x3 convolutions in five groups, its blocks, with a pool after each; 16 layers have 138,357,544 weights in 32 arrays.
-- --layers 11|13|16|19 (16); --norm bn: batch norm after each convolution; --dropout P (0.5); --width N (4096) of the
-- fully connected layers.  For 32x32 and 10 classes 16 layers have 33,638,218 weights.
-- Sources: Simonyan and Zisserman, "Very deep convolutional networks", ICLR 2015; mxnet,
-- example/image-classification/symbols/vgg.py, with its names of layers.

local parts = require "parts"
local groups = parts.depth({ { 11, { 1, 1, 2, 2, 2 } }, { 13, { 2, 2, 2, 2, 2 } }, { 16, { 2, 2, 3, 3, 3 } },
	{ 19, { 2, 2, 4, 4, 4 } } }, 16)
local norm = parts.word("norm", { "none", "bn" }) == "bn"
local drop, width = parts.number("dropout", 0.5), parts.whole("width", 4096, 1)
local channels = { 64, 128, 256, 512, 512 }

-- He's rule for inputs that are no padding, which is much of a small map, and for a pool, which doubles the mean square:
-- activations neither vanish nor grow.
local function he(x, pooled)
	return (pooled and 3 or 6) * (3 * x.h) / (3 * x.h - 2) * (3 * x.w) / (3 * x.w - 2)
end

local x = data(3, 224, 224)
local rule = "msra"
for g, n in ipairs(groups) do
	if not norm then
		rule = rule .. string.format(",conv%d_*=xavier:%.4g", g, he(x))
		rule = g > 1 and rule .. string.format(",conv%d_1_*=xavier:%.4g", g, he(x, true)) or rule
	end
	for i = 1, n do
		local name = g .. "_" .. i
		x = conv{x, channels[g], kernel = 3, pad = 1, name = "conv" .. name}
		if norm then
			x = bn{x, name = "bn" .. name}
		end
		x = relu{x, name = "relu" .. name}
	end
	x = block(maxpool{x, kernel = 2, stride = 2, name = "pool" .. g})
end
-- With He's weights in the full layers the first steps would be too large.
parts.photographs(rule .. ",fc*=xavier:0.5", norm and 0.05 or 0.01)
x = flatten(x)
for i = 6, 7 do
	x = relu{fc{x, width, name = "fc" .. i}, name = "relu" .. i}
	if drop > 0 then
		x = dropout{x, drop, name = "drop" .. i}
	end
end
return softmax(fc{x, input.classes or 1000, name = "fc8"})
