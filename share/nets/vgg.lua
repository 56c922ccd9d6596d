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

local x = data(3, 224, 224)
-- With He's weights in the full layers the first step would be too large: the pools let the mean square of activations grow.
parts.photographs("msra,fc*=xavier:0.5", norm and 0.05 or 0.01)
for g, n in ipairs(groups) do
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
x = flatten(x)
for i = 6, 7 do
	x = relu{fc{x, width, name = "fc" .. i}, name = "relu" .. i}
	if drop > 0 then
		x = dropout{x, drop, name = "drop" .. i}
	end
end
return softmax(fc{x, input.classes or 1000, name = "fc8"})
