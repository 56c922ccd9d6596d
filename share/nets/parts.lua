-- parts - what the other nets share: readers of options, and groups of layers.

local parts = {}

-- --name as a number of at least least, and at most most.
function parts.number(name, default, least, most)
	local n = tonumber(opt[name] or default)
	if not n or n < (least or 0) or n > (most or n) or n == math.huge then
		error("--" .. name .. ": " .. opt[name] .. " is not a number " ..
			(most and "from " .. (least or 0) .. " to " .. most or "of at least " .. (least or 0)), 0)
	end
	return n
end

-- Text as a whole number of at least least, or nil.
local function whole(text, least)
	local n = math.tointeger(tonumber(text))
	return n and n >= least and n or nil
end

-- --name as a whole number of at least least.
function parts.whole(name, default, least)
	return whole(opt[name] or default, least) or
		error("--" .. name .. ": " .. opt[name] .. " is not a whole number of at least " .. least, 0)
end

-- --name as one of the words in list; the first is the default.
function parts.word(name, list)
	for _, word in ipairs(list) do
		if word == (opt[name] or list[1]) then
			return word
		end
	end
	error("--" .. name .. ": " .. opt[name] .. " is none of " .. table.concat(list, ", "), 0)
end

-- --name as whole numbers from 1 with commas between: "200,100".
function parts.widths(name, default)
	local text, list, from = opt[name] or default, {}, 1
	for i = 1, #text + 1 do
		if i > #text or text:sub(i, i) == "," then
			list[#list + 1] = whole(text:sub(from, i - 1), 1) or
				error("--" .. name .. ": '" .. text .. "' is not whole numbers from 1 with commas between", 0)
			from = i + 1
		end
	end
	return list
end

-- Which of the nets was asked for by --layers, of a list of { layers, what it has }: what it has, and the layers.  what: of
-- which images or variant they are.
function parts.depth(nets, default, what)
	local layers, depths = tonumber(opt.layers or default), {}
	for i, net in ipairs(nets) do
		if net[1] == layers then
			return net[2], net[1]
		end
		depths[i] = net[1]
	end
	error("--layers: " .. opt.layers .. " is none of " .. table.concat(depths, ", ") .. (what and ", the nets " .. what or ""), 0)
end

-- Convolution, batch norm, ReLU.  o: kernel, stride, pad, bias, eps, momentum, and the names of conv, bn and relu.
function parts.cbr(x, k, o)
	x = conv{x, k, kernel = o.kernel or 1, stride = o.stride or 1, pad = o.pad or 0, bias = o.bias ~= false, name = o.conv}
	return relu{bn{x, eps = o.eps or 1e-5, momentum = o.momentum, name = o.bn}, name = o.relu}
end

-- What training uses unless options say otherwise: photographs normalized as torchvision does.
function parts.photographs(init, lr)
	defaults{init = init, lr = lr, mean = {123.675, 116.28, 103.53}, std = {58.395, 57.12, 57.375}}
end

-- The same for MNIST, by its own mean and deviation.
function parts.digits(init, lr)
	defaults{init = init, lr = lr, mean = 33.3184, std = 78.567}
end

return parts
