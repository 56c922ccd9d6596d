# gpu.t - the GPU's engine in whole jobs: on a GPU where there is one, and its plans and steps on the CPU anywhere.
. "$TOP/tests/tap.sh"
PATH=$BUILD/share/demo:$PATH
cd "$T" || exit 1

pictures images 40 1 && im2rec images >a.rec || exit 1
train() { pworker --data a.rec --seed 5 --lr 0.05 "$@"; }
losses() { awk -F'\t' '$5 == "epoch" { print $9 }' "$1"; }	# LOG
# What an engine says of each epoch, beside ref's: within a part in a hundred.
alike() { paste "$1" "$2" | awk '{ d = $1 - $2; if (d < 0) d = -d; if (d > 0.01 * $2 + 1e-6) bad = 1 } END { exit bad || !NR }'; }

status 0 "ref trains" train --net lenet --batch 20 --epochs 3 --engine ref
losses "$T/out" >ref
if [ -e "$BUILD/tests/emu/tally-cuda.so" ]; then
	export TALLY_MODULES=$BUILD/tests/emu
	status 0 "the engine cuda without a GPU" train --net lenet --batch 20 --epochs 3 --engine cuda --save a
	losses "$T/out" >cuda
	ok "... learns what ref learns" alike cuda ref
	status 0 "... again" train --net lenet --batch 20 --epochs 3 --engine cuda --save b
	ok "... and has the same bits" cmp a-0003.safetensors b-0003.safetensors
	status 0 "... in bf16, with a worker and a server" dlaunch -n 1 -s 1 -x TALLY_MODULES pworker --data a.rec --seed 5 --net lenet \
		--batch 20 --steps 4 --engine cuda --dtype bf16
	status 1 "no device" env TALLY_EMU=none pworker --data a.rec --net lenet --engine cuda --steps 1
	like "$T/err" '^pworker: .*no GPU: no device$' "... is one line"
else
	skip "the engine cuda without a GPU" "this build has none"
fi

export TALLY_MODULES=$T
status 1 "no module" pworker --data a.rec --net lenet --engine cuda --steps 1
like "$T/err" '^pworker: .*no GPU: no module tally-cuda.so in ' "... is one line"
is "$(wc -l <"$T/err")" 1 "... and no more"

export TALLY_MODULES=$BUILD
if pworker --net lenet --print --batch 4 --engine cuda >/dev/null 2>why; then
	for net in lenet inception; do
		status 0 "$net on the GPU" train --net $net --shape 3x28x28 --batch 20 --epochs 3 --engine cuda
		losses "$T/out" >$net.gpu
		train --net $net --shape 3x28x28 --batch 20 --epochs 3 --engine ref >"$T/out" 2>/dev/null
		losses "$T/out" >$net.ref
		ok "... learns what ref learns" alike $net.gpu $net.ref
	done
else
	skip "lenet and inception on the GPU" "$(sed -n 's/.*\(no GPU.*\)/\1/p' why)"
fi
done_testing
