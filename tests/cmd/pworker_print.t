#!/usr/bin/env bash
# pworker_print.t - what --print says of a net: counts, and with a batch memory and kernels.
. "$TOP/tests/tap.sh"
cd "$T" || exit 1
export OMP_NUM_THREADS=1

status 0 "--print" pworker --net vgg --shape 3,32,32 --classes 10 --print
like out '^33638218 weights in 32 arrays, 0 running statistics, 332\.1 M multiply-adds' "... counts"
# --eps is the beginning of --epsilon, and the net's all the same; in a recipe too.
eps() { sed -n 's/^bn1 .* eps=\([^ ]*\) .*/\1/p'; }
is "$(pworker --net resnet --eps 1e-3 --print | eps)" 0.001 "a net's option with the beginning of another's name"
is "$(pworker --net resnet --eps=1e-3 --print | eps)" 0.001 "... with its value in the same word"
echo 'pworker --net resnet --eps 3e-3' >short
is "$(pworker @./short --print | eps)" 0.003 "... in a recipe"
status 2 "one that is neither's" pworker --net mlp --eps 1e-3 --print
like err "^pworker: .*mlp\.lua: this net has no option 'eps'" "... is told"

status 0 "--print --batch" pworker --net lenet --print --batch 100
like out '^batch 100: [0-9.]+ MB: activations [0-9.]+, weights 1\.7, gradients 1\.7, optimizer 1\.7, on the device' \
    "... says what training takes"
is "$(awk '/^batch/ { gsub(",", ""); s = $6 + $8 + $10 + $12 + $16 + $18 - $3; print (s < 0.35 && s > -0.35) }' out)" 1 \
    "... which adds up"
like out '^conv2 forward .+$' "... and each layer's kernel forward"
cpu=$(pworker --net lenet --print --batch 1 --engine cpu >/dev/null 2>&1 && echo cpu)
if [ -n "$cpu" ]; then
	like out '^conv1 weight .+$' "... and backward"
else
	skip "... and backward" "this build has no engine for processors"
fi
status 0 "--optimizer adam" pworker --net lenet --print --batch 100 --optimizer adam
like out 'gradients 1\.7, optimizer 3\.4, ' "... keeps two numbers a weight"
status 0 "--engine" pworker --net lenet --print --batch 100 --engine ref
like out '^ref: plain loops' "... is the one asked"
# Two floats for each output and sample, of 28x28 and what follows.
want=$((2 * 4 * 100 * (784 + 20*24*24*2 + 20*12*12 + 50*8*8*2 + 50*4*4*2 + 500*2 + 10*2)))
is "$(awk '/^batch/ { gsub(",", ""); print $6 }' out)" "$(awk -v n=$want 'BEGIN { printf "%.1f", n / 1e6 }')" \
    "... and its activations are all outputs and their gradients"
status 2 "an engine that is none" pworker --net lenet --print --batch 100 --engine abacus
for engine in $cpu ref; do
	status 1 "$engine: more than the machine has" pworker --net vgg --print --batch 65536 --engine $engine
	like err '^pworker: a batch of 65536: (layer [a-z0-9_]+: )?takes [0-9]+ MB, and this machine has [0-9]+ MB left$' \
		"... is refused, with both numbers"
done
if [ -n "$cpu" ] && [ "$(awk '/^MemAvailable/ { print int($2 / 1048576) }' /proc/meminfo)" -lt 40 ]; then
	status 1 "outputs that fit one by one, and not together" pworker --net vgg --print --batch 1024 --engine cpu
	like err '^pworker: a batch of 1024: takes [0-9]+ MB, and this machine has [0-9]+ MB left$' "... too"
else
	skip "outputs that fit one by one, and not together" "this machine has room for more, or this build no engine for processors"
fi
done_testing
