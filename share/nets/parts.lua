-- parts - what the nets beside it share: readers of options, and the layers that always come together.

local parts = {}

-- --name as a number of at least least.
function parts.number(name, default, least)
	local n = tonumber(opt[name] or default)
	if not n or n < (least or 0) then
		error("--" .. name .. ": " .. opt[name] .. " is not a number of at least " .. (least or 0), 0)
	end
	return n
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

-- --name as numbers between commas: "200,100".
function parts.numbers(name, default)
	local text, list, from = opt[name] or default, {}, 1
	for i = 1, #text + 1 do
		if i > #text or text:sub(i, i) == "," then
			local n = tonumber(text:sub(from, i - 1))
			if not n then
				error("--" .. name .. ": " .. text .. " is not numbers between commas", 0)
			end
			list[#list + 1] = n
			from = i + 1
		end
	end
	return list
end

-- Which of the depths in units was asked for by --layers: its entry.
function parts.depth(units, default)
	local layers = parts.number("layers", default)
	return units[layers] or error("--layers: there is no such net of " .. layers, 0), layers
end

-- Convolution, batch norm, ReLU.  o: kernel, stride, pad, bias, eps, and the names of conv, bn and relu.
function parts.cbr(x, k, o)
	x = conv{x, k, kernel = o.kernel or 1, stride = o.stride or 1, pad = o.pad or 0, bias = o.bias ~= false, name = o.conv}
	return relu{bn{x, eps = o.eps or 1e-5, name = o.bn}, name = o.relu}
end

return parts
