package web

// laidOpen lays equal values out in lines that were kept as wholes.
func laidOpen(lines []line) []line {
	var out []line
	for i := range lines {
		if l := &lines[i]; l.lump == nil {
			out = append(out, *l)
		} else {
			o := opener{to: l.lump.lines()}
			o.value(l.lump, l.Key, l.Depth)
			out = append(out, o.out...)
		}
	}
	return out
}

// unfolded is the part of a fold whose lines have the numbers from and to, both included.
func unfolded(fold *line, from, to int) []line {
	o := opener{at: fold.N - 1, from: from - 1, to: to}
	for i := range fold.Fold {
		if l := &fold.Fold[i]; l.lump != nil {
			o.value(l.lump, l.Key, l.Depth)
		} else {
			o.add(*l)
		}
	}
	return o.out
}

// opener lays values out that all three answers have alike, as far as their lines lie in a span.
type opener struct {
	at       int // lines gone by
	from, to int // of these the lines behind from are wanted, up to to
	out      []line
}

func (o *opener) add(l line) {
	o.at++
	if o.at > o.from && o.at <= o.to {
		l.N, l.To = o.at, o.at
		o.out = append(o.out, l)
	}
}

func (o *opener) value(n *node, key string, depth int) {
	if o.at >= o.to || o.at+n.lines() <= o.from {
		o.at += n.lines()
		return
	}
	l := line{Depth: depth, Key: key, Same: true}
	put := func(text string) {
		for side := range l.Cells {
			l.Cells[side] = cell{Role: roleWords[side], Before: cut(text)}
		}
		o.add(l)
	}
	if len(n.kids) == 0 {
		put(n.compact())
		return
	}
	put(string(n.open))
	for i, kid := range n.kids {
		switch {
		case n.open == '[':
			o.value(kid, "", depth+1)
		case n.member(n.keys[i]) == kid: // of several under one key the last counts
			o.value(kid, n.keys[i], depth+1)
		}
	}
	l.Key = ""
	put(string(closing(n.open)))
}

// number numbers lines as they stand when nothing is folded, and tells how many they are.
func number(lines []line) int {
	n := 0
	for i := range lines {
		lines[i].N = n + 1
		n += lines[i].lines()
		lines[i].To = n
	}
	return n
}

// foldEqual puts runs of equal lines behind one line that can be opened; so many of them stay beside what differs.
func foldEqual(lines []line, around int) []line {
	const least = 3 // shorter runs are quicker read than opened
	var out []line
	for i := 0; i < len(lines); {
		j := i
		for j < len(lines) && lines[j].Same && lines[j].Fold == nil {
			j++
		}
		if j == i {
			out = append(out, lines[i])
			i++
			continue
		}
		from, to := i, j
		if i > 0 {
			from = min(i+around, j)
		}
		if j < len(lines) {
			to = max(j-around, from)
		}
		if size := sizeOf(lines[from:to]); size > least {
			out = append(out, lines[i:from]...)
			out = append(out, line{Depth: lines[from].Depth, Same: true, Fold: lines[from:to], Label: foldLabel(lines[from:to], size)})
			out = append(out, lines[to:j]...)
		} else {
			out = append(out, laidOpen(lines[i:j])...)
		}
		i = j
	}
	return out
}

// sizeOf is how many lines there are when nothing is folded.
func sizeOf(lines []line) (n int) {
	for i := range lines {
		n += lines[i].lines()
	}
	return n
}

// foldLabel says how much is folded, and the first names of it.
func foldLabel(lines []line, size int) string {
	var names []string
	for i := range lines {
		if lines[i].Depth == lines[0].Depth && lines[i].Key != "" && len(names) < 200 {
			names = append(names, lines[i].Key)
		}
	}
	label := things(int64(size), "equal line")
	if len(names) > 0 {
		label += ": " + listed(names, 6)
	}
	return label
}
