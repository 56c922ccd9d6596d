# emulated_verdict.t - make gpu without a GPU: its verdict on an emulated device that works, captures nothing or is absent.
. "$TOP/tests/tap.sh"
[ -e "$BUILD/tests/emu/tally-cuda.so" ] || { echo "1..0 # SKIP no cuda engine in this build"; exit 0; }
export TALLY_MODULES=$BUILD/tests/emu OMP_WAIT_POLICY=passive

# With small nets; a broken test fails it.
verdict() { TALLY_MODULES=$BUILD/tests/emu GPU_REHEARSE=1 PYTHON=false "$TOP/tests/gpu/verdict" "$1" /nonexistent; }
status 0 "the verdict succeeds on the emulated device" verdict "$BUILD"
like "$T/out" '^PASS in [0-9]+ s; the report is ' "the verdict prints PASS and names its report"
is "$(grep -c '^ok ' "$T/out")" 3 "the verdict runs two tests and compares two runs"
is "$(grep -cE '^(inception28|resnet110|resnet50|fast) +2 (tf32|bf16) +[0-9.]+ +- +- +3/0$' "$T/out")" 8 \
	"the verdict measures four nets in two types, whose steps take three CUDA graphs"
ok "the verdict's report equals its output" cmp "$T/out" "$BUILD/gpu-report.txt"
status 1 "the verdict exits with status 1 if the device captures no graph" \
	env TALLY_EMU=nograph bash -c "$(declare -f verdict); verdict '$BUILD'"
is "$(tail -n 1 "$T/out" | grep -c '^FAIL: 8 failures in ')" 1 \
	"the verdict counts 8 failures if the device captures no graph"
status 1 "the verdict exits with status 1 without a device" \
	env TALLY_EMU=none bash -c "$(declare -f verdict); verdict '$BUILD'"
is "$(cat "$T/out" "$T/err" | wc -l)" 1 "the verdict prints one line without a device"
like "$T/err" '^gpu: FAIL: .*no GPU: no device' "the verdict says that there is no device"
status 1 "bench/gpu exits with status 1 if a step fails" \
	env BUILD="$T/none" OUT="$T/gpu" STORE="$T/gpu" "$TOP/bench/gpu" --rehearse look
done_testing
