package normalize

import "strings"

// Nearest returns the choice that word was most likely meant to be, or "" when none is near: at most one slip in three
// letters, or a beginning shared in full. Of equally near ones it takes the first.
func Nearest(word string, choices []string) string {
	if len(word) > 128 { // no slip: the cost grows with the square
		return ""
	}
	most := (len(word) + 2) / 3
	best, least := "", most+1
	for _, choice := range choices {
		d := distance(strings.ToLower(word), strings.ToLower(choice))
		if len(word) >= 3 && strings.HasPrefix(choice, word) {
			d = min(d, most)
		}
		if d < least && d < max(len(word), len(choice)) {
			best, least = choice, d
		}
	}
	return best
}

// distance is the optimal string alignment distance: insertions, deletions, substitutions and swaps of neighbours.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			slip := 1
			if a[i-1] == b[j-1] {
				slip = 0
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+slip)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}
