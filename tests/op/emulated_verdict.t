# emulated_verdict.t - make gpu without a GPU: its verdict on an emulated device that works, captures nothing or is absent.
. "$TOP/tests/tap.sh"
[ -e "$BUILD/tests/emu/tally-cuda.so" ] || { echo "1..0 # SKIP no cuda engine in this build"; exit 0; }
export TALLY_MODULES=$BUILD/tests/emu OMP_WAIT_POLICY=passive

# Stand-ins: compute-sanitizer runs its command; a PyTorch that takes 3 ms for a step, and fails with bf16.
mkdir "$T/bin"
cat >"$T/bin/compute-sanitizer" <<'SH'
#!/bin/sh
while [ "${1#--}" != "$1" ]; do shift 2; done
exec "$@"
SH
cat >"$T/bin/python" <<'SH'
#!/bin/sh
case "$*" in
-c*) echo 2.9 ;;
*bf16*) echo "no kernel of bf16" >&2; exit 3 ;;
*) printf 'ready\n3.5 3 2.5\n' ;;
esac
SH
chmod +x "$T"/bin/*

# All stages, with small nets; a broken test fails it.
verdict() {
	TALLY_MODULES=$BUILD/tests/emu GPU_REHEARSE=1 GPU_SECONDS=3600 PYTHON=$T/bin/python PATH=$T/bin:$PATH \
		"$TOP/tests/gpu/verdict" "$BUILD" /nonexistent
}
status 0 "the verdict succeeds on the emulated device" verdict
like "$T/out" '^PASS in [0-9]+ s; the report is ' "the verdict prints PASS and names its report"
for what in 'seam: [0-9]+ checks' 'layer: [0-9]+ checks' 'grad: [0-9]+ checks' 'scores: [0-9]+ checks' drop \
	'match: [0-9]+ checks' 'learn: [0-9]+ checks' 'two runs have the same bits' 'split: [0-9]+ checks' \
	'learn on two GPUs: [0-9]+ checks' 'two runs have the same bits on two GPUs' 'memcheck: seam' 'initcheck: seam'; do
	like "$T/out" "^ok   $what\$" "the verdict has run: $what"
done
is "$(grep -cE '^(no time left|left out)' "$T/out")" 0 "the verdict leaves nothing out"
is "$(grep -cE '^(inception28|resnet110|resnet50|fast) +2 tf32 +[0-9.]+ +3 +[0-9.]+ +3/0$' "$T/out")" 4 \
	"the verdict measures four nets beside PyTorch, whose steps take three CUDA graphs"
is "$(grep -cE '^(inception28|resnet110|resnet50|fast) +2 bf16 +[0-9.]+ +- +- +3/0$' "$T/out")" 4 \
	"a PyTorch that fails is a dash in the table"
is "$(grep -c '^PyTorch failed: lenet, bf16, compiled, batch 2: status 3$' "$BUILD/gpu-report.txt") $(grep -c \
	'^no kernel of bf16$' "$BUILD/gpu-report.txt")" "4 4" "the report has what PyTorch said when it failed"
ok "the report has all that the verdict prints" cmp "$T/out" <(grep -v 'PyTorch failed\|no kernel' "$BUILD/gpu-report.txt")

status 1 "the verdict exits with status 1 if the device captures no graph" env TALLY_EMU=nograph bash -c \
	"T='$T'; $(declare -f verdict); verdict"
is "$(tail -n 1 "$T/out" | grep -c '^FAIL: 8 failures in ')" 1 \
	"the verdict counts 8 failures if the device captures no graph"
status 1 "the verdict exits with status 1 without a device" env TALLY_EMU=none bash -c \
	"T='$T'; $(declare -f verdict); verdict"
is "$(cat "$T/out" "$T/err" | wc -l)" 1 "the verdict prints one line without a device"
like "$T/err" '^gpu: FAIL: .*no GPU: no device' "the verdict says that there is no device"
status 77 "GPU_NONE is the status of the verdict without a device" env TALLY_EMU=none GPU_NONE=77 bash -c \
	"T='$T'; $(declare -f verdict); verdict"

# bench/gpu with tests that are stand-ins, as is timeout: it cuts match, and no other test or also another one.
mkdir -p "$T/fake/tests/op"
for t in seam layer grad drop match; do
	printf '#!/bin/sh\necho ok 1\n' >"$T/fake/tests/op/${t}_test"
	chmod +x "$T/fake/tests/op/${t}_test"
done
cat >"$T/fake/timeout" <<'SH'
#!/bin/sh
shift 3
"$@"
case $1 in *"${CUT:-match}_test") exit 124 ;; esac
SH
chmod +x "$T/fake/timeout"
bench() { BUILD=$T/fake OUT=$T/gpu STORE=$T/gpu "$TOP/bench/gpu" --rehearse "$@"; }
status 0 "bench/gpu exits with status 0 if the clock cuts the test match" bench ops
is "$(grep -c '^tests	match	passed=1	failed=0	' "$T/gpu/gpu.tsv")" 1 "bench/gpu counts what match printed until then"
status 1 "bench/gpu exits with status 1 if another test does not end" env CUT=grad bash -c "T='$T'; $(declare -f bench); bench ops"
printf '#!/bin/sh\necho not ok 1\n' >"$T/fake/tests/op/match_test"
status 1 "bench/gpu exits with status 1 if match fails before the clock cuts it" bench ops
status 1 "bench/gpu exits with status 1 if a step fails" \
	env BUILD="$T/none" OUT="$T/gpu" STORE="$T/gpu" "$TOP/bench/gpu" --rehearse look
done_testing
