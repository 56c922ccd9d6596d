# epochs.gp - the style of plog's figures: one figure of a picture on standard output.
#
# plog(1) loads this file for each figure, with these variables:
#   kind                  "png", "svg" or "text"
#   title                 of the picture
#   wide, high, panel, top, columns
#                         size of the picture, height of a figure and of the title, figures beside each other; in
#                         pixels, or columns and lines of text
#   k                     number of the figure, from 0
#   xlabel, ylabel        of the axes
#   from, to, low, most
#                         ranges of positions and values, fitted to the data
#   logarithmic, log_positions, whole
#                         the axis of values, or of positions, is logarithmic; positions are whole numbers
#   dots, rows            each run is a row of dots, and the number of rows
#   first, second         meaning of dashed and solid lines, or ""
#   lines                 blocks of $data: x and y
#   name, place, colour, mark, dashed, end_x, end_y
#                         of each line: its name and the height of that beside the figure (0..1), its style, and its end
#   longest               characters of the longest name

drawn = kind ne "text"
if (k == 0) {
	if (kind eq "png") { set terminal pngcairo size wide, high font "DejaVu Sans,11" background "white" }
	if (kind eq "svg") { set terminal svg size wide, high font "DejaVu Sans,13" background "white" }
	if (!drawn) { set terminal dumb size wide, high }
	set multiplot
	set border 3
	set tics nomirror noenhanced
}

# The place of the figure, and room for its names.
column = k % columns
row = k / columns
width = 1.0 * wide / columns
left = column * width + (drawn ? (dots ? 40 + 7.6 * longest : 70) : (dots ? 3 + longest : 8))
right = (column + 1) * width - (drawn ? (dots ? 30 : 30 + 8 * longest) : (dots ? 2 : 2 + longest))
upper = top + row * panel + (drawn ? 30 : 1)
lower = top + (row + 1) * panel - (drawn ? 60 : 3)
set lmargin at screen left / wide
set rmargin at screen right / wide
set tmargin at screen 1 - 1.0 * upper / high
set bmargin at screen 1 - 1.0 * lower / high

unset logscale
unset label
unset arrow
unset key
if (k == 0 && drawn) { set label 1000 title at screen 0.5, screen 1 - 22.0 / high center font ",14" noenhanced }
if (k == 0 && !drawn) { set label 1000 title at screen 0.5, screen 1 - 0.5 / high center noenhanced }
set xtics autofreq
set ytics autofreq
# Few lines of text have room for few values.
if (!drawn && !logarithmic && !dots && most > low) {
	step = 10.0 ** floor(log10((most - low) / 3))
	ratio = (most - low) / 3 / step
	set ytics step * (ratio < 1.5 ? 1 : ratio < 3.5 ? 2 : ratio < 7.5 ? 5 : 10)
}
if (drawn) { set grid lt 1 lw 0.5 lc rgb "#dddddd" }
if (first ne "" && drawn) { set key at graph 1, graph 1.02 right bottom horizontal noenhanced }

# The axis of values: whole decades, or 1, 2 and 5 in each if there are few.
axis = dots ? "x" : "y"
eval(sprintf("set %srange [%.9g:%.9g]", axis, low, most))
eval(sprintf("set format %s '%%h'", axis))
if (logarithmic) {
	eval(sprintf("set logscale %s; set %stics ()", axis, axis))
	decades = log10(most / low)
	do for [d = floor(log10(low)):ceil(log10(most))] {
		do for [digit in (decades < 3 ? "1 2 5" : "1")] {
			v = digit * 10.0 ** d
			if (v >= low && v <= most) { eval(sprintf("set %stics add ('%g' %.9g)", axis, v, v)) }
		}
	}
}
if (dots) {
	set xlabel ylabel noenhanced
	set yrange [rows + 0.7:0.3]
	set ytics ()
	do for [i = 1:lines] { if (name[i] ne "") { set ytics add (name[i] end_y[i]) } }
} else {
	set xlabel xlabel offset 0, (drawn ? 0.3 : 0) noenhanced
	set label 1001 ylabel at graph 0, graph 1 left offset (drawn ? -4 : -8), (drawn ? 0.9 : 1) noenhanced
	set format x "%.15g"
	# A point on an axis of text would be hidden.
	margin = log_positions ? 0 : (drawn ? 0.02 : 1.5 / (right - left)) * (to - from)
	set xrange [from - margin:to + margin]
	if (log_positions) { set logscale x; set format x "%g" }
	span = to - from
	if (whole && span < 16) { set xtics ceil(from), (drawn || span < 5 ? 1 : span < 9 ? 2 : 4) }
	if (whole && ceil(from) == floor(to)) { set xtics (ceil(from)) }
}

# Names stand at the ends of the lines.
letter(i) = substr("ABCDEFGHIJKLMNOPQRSTUVWXYZ", (i - 1) % 26 + 1, (i - 1) % 26 + 1)
do for [i = 1:lines] {
	if (name[i] ne "" && !dots) {
		if (drawn) {
			# A line may leave the axis.
			if (end_y[i] >= low && end_y[i] <= most) {
				set arrow i from first end_x[i], first end_y[i] to graph 1.012, graph place[i] nohead lw 0.5 \
					lc rgb colour[i]
			}
			set label i name[i] at graph 1.018, graph place[i] left textcolor rgb colour[i] noenhanced
		} else {
			set label i letter(i) . " " . name[i] at graph 1, graph place[i] left offset 1, 0 noenhanced
		}
	}
}

# Black samples in the key explain dashed and solid lines, or hollow and full dots.
samples = ""
if (first ne "" && drawn) {
	samples = dots ? ", keyentry with points pt 6 lc rgb 'black' title first, " . \
		"keyentry with points pt 7 lc rgb 'black' title second" : \
		", keyentry with lines dt 2 lw 1.5 lc rgb 'black' title first, " . \
		"keyentry with lines lw 2 lc rgb 'black' title second"
}
every = ""
do for [i = 1:lines] {
	style = !drawn ? sprintf("points pt %d", i) : dots ? sprintf("points pt %d", dashed[i] ? 6 : 7) : \
		sprintf("linespoints %s pt %s ps %g", dashed[i] ? "dt 2 lw 1.5" : "lw 2", \
		word("7 5 9 13 11", mark[i] % 5 + 1), !whole ? 0 : dashed[i] ? 0.3 : 0.5)
	every = every . (i > 1 ? ", " : "plot ") . sprintf("$data index %d using 1:2 with %s%s notitle", i - 1, style, \
		drawn ? " lc rgb '" . colour[i] . "'" : "")
}
eval(every . samples)
