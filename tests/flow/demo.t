# demo.t - the demo's images are as documented, and a short demo runs from end to end.
. "$TOP/tests/tap.sh"
export PATH=$BUILD:$BUILD/share/demo:$PATH
cd "$T" || exit 1

ok "the demo's program draws images" pictures a 30 1
ok "the demo's program draws images again" pictures b 30 1
ok "the same seed gives the same images" diff -r a b
ok "the demo's program draws images with another seed" pictures c 30 2
is "$(diff -rq a c | grep -c differ)" 30 "another seed gives other images"
is "$(for d in a/*; do echo "$(basename "$d") $(ls "$d" | wc -l)"; done | tr '\n' ',')" \
	"checks 3,cross 3,diagonal 3,disk 3,dots 3,horizontal 3,ring 3,square 3,triangle 3,vertical 3," \
		"there are ten classes of the same size"
status 1 "a folder that cannot be created is an error" pictures none/a 1 1
status 2 "a malformed count is refused" pictures a many 1

# An MLP cannot learn the shapes well; a convolutional net learns most in an epoch.
final() { awk -F '\t' '$5 == "validation" { a = $10 } END { print a + 0 }' "$1"; }
pictures train 3600 1 && pictures test 1000 2 && im2rec train >train.rec && im2rec test >test.rec
status 0 "an MLP trains" pworker --net mlp --shape 3x28x28 --data train.rec --val test.rec --epochs 10 --batch 32 --lr 0.02 \
	--scale 0.0078125 --mean mean.bin --rand-crop --rand-mirror --seed 1
is "$(awk -v a="$(final out)" 'BEGIN { print (a > 0.11 && a < 0.6) }')" 1 \
	"the MLP's accuracy stays under 0.6: $(final out)"
if [ -n "${SAN:-}" ]; then
	skip "the demo" "a sanitizer makes it minutes longer"
elif ! pworker --net lenet --print --batch 1 --engine cpu >/dev/null 2>&1; then
	skip "the demo" "this build has no cpu engine, and ref takes hours"
else
	status 0 "a demo of one epoch exits with 0" "$TOP/share/demo/run" "$T/demo" 1
	is "$(awk -v a="$(final demo/log.tsv)" 'BEGIN { print (a > 0.35) }')" 1 \
		"the demo's net learns: $(final demo/log.tsv)"
	is "$(head -c 4 demo/accuracy.png | tail -c 3)" PNG "the demo draws a figure"
	like out '^validation accuracy 0\.[0-9]+ after' "the demo prints the validation accuracy"
	is "$(for p in /proc/[0-9]*; do [ "$(readlink "$p/cwd")" = "$T/demo" ] && echo "$p"; done)" "" \
		"the demo leaves no process"
fi
done_testing
