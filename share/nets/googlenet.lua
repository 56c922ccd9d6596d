-- googlenet - inception without batch norm, for 224x224; 6,998,552 weights in 116 arrays.
-- Sources: Szegedy et al., "Going deeper with convolutions", CVPR 2015, without its two heads for training;
-- mxnet, example/image-classification/symbols/googlenet.py, layers named as there.  Pools round up.

local function factory(x, k, name, kernel, stride, pad)
	x = conv{x, k, kernel = kernel or 1, stride = stride or 1, pad = pad or 0, name = "conv_" .. name}
	return relu{x, name = "relu_" .. name}
end

local function halve(x, name)
	return maxpool{x, kernel = 3, stride = 2, ceil = true, name = name}
end

local function block(x, name, k1, r3, k3, r5, k5, proj)
	local a = factory(x, k1, name .. "_1x1")
	local b = factory(factory(x, r3, name .. "_3x3_reduce"), k3, name .. "_3x3", 3, 1, 1)
	local c = factory(factory(x, r5, name .. "_5x5_reduce"), k5, name .. "_5x5", 5, 1, 2)
	local d = maxpool{x, kernel = 3, pad = 1, name = "max_pool_" .. name .. "_pool"}
	return concat{a, b, c, factory(d, proj, name .. "_proj"), name = "ch_concat_" .. name .. "_chconcat"}
end

local x = data(3, 224, 224)
x = halve(factory(x, 64, "conv1", 7, 2, 3), "pool1")
x = factory(factory(x, 64, "conv2"), 192, "conv3", 3, 1, 1)
x = halve(x, "pool3")
x = block(x, "in3a", 64, 96, 128, 16, 32, 32)
x = block(x, "in3b", 128, 128, 192, 32, 96, 64)
x = halve(x, "pool4")
x = block(x, "in4a", 192, 96, 208, 16, 48, 64)
x = block(x, "in4b", 160, 112, 224, 24, 64, 64)
x = block(x, "in4c", 128, 128, 256, 24, 64, 64)
x = block(x, "in4d", 112, 144, 288, 32, 64, 64)
x = block(x, "in4e", 256, 160, 320, 32, 128, 128)
x = halve(x, "pool5")
x = block(x, "in5a", 256, 160, 320, 32, 128, 128)
x = block(x, "in5b", 384, 192, 384, 48, 128, 128)
x = globalavg{x, name = "global_pool"}
return softmax{fc{flatten(x), input.classes or 1000, name = "fc1"}, name = "softmax"}
