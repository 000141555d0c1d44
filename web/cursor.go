package web

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// A cursor is opaque: the last item's place in its order, after a seal that binds it to the list and the order that gave
// it out. It holds a place and no position, so that lists may grow between two pages without an item lost or shown
// twice.

// sealSize is how many bytes of a digest tell a cursor from what was not given out here.
const sealSize = 6

func (q query) seal() []byte {
	window := strconv.FormatBool(q.text("since") != "" || q.text("until") != "") // where that makes another list
	of := sha256.Sum256([]byte(q.request.URL.Path + "\x00" + q.text("sort") + "\x00" + q.text("order") + "\x00" + window))
	return of[:sealSize]
}

// cursorFor is the cursor of the page that follows an item at this place.
func (q query) cursorFor(place string) *string {
	cursor := base64.RawURLEncoding.EncodeToString(append(q.seal(), place...))
	return &cursor
}

// place reads the parameter cursor, empty without one.
func (q query) place() (string, error) {
	cursor := q.text("cursor")
	if cursor == "" {
		return "", nil
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(b) <= sealSize || string(b[:sealSize]) != string(q.seal()) {
		return "", badCursor(cursor)
	}
	return string(b[sealSize:]), nil
}

func badCursor(cursor string) error {
	return refuse(http.StatusBadRequest, "cursor=%q was not given out by a page before of this list in this order; leave it out to start over", cursor)
}

// list is the form of every list in the API.
type list[T any] struct {
	Items []T     `json:"items"`
	Next  *string `json:"next"`
}

// writeList sorts short lists by key, goes on after the cursor and cuts at the limit.
func writeList[T any](w http.ResponseWriter, q query, items []T, key func(T) string) error {
	limit, err := q.number("limit", itemsShown, itemsMost)
	if err != nil {
		return err
	}
	after, err := q.place()
	if err != nil {
		return err
	}
	slices.SortStableFunc(items, func(a, b T) int { return strings.Compare(key(a), key(b)) })
	if after != "" {
		i, found := slices.BinarySearchFunc(items, after, func(item T, k string) int { return strings.Compare(key(item), k) })
		if found {
			i++
		}
		items = items[i:]
	}
	answer := list[T]{Items: items}
	if len(items) > limit {
		answer.Items, answer.Next = items[:limit], q.cursorFor(key(items[limit-1]))
	}
	return writeKnown(w, q.request, answer)
}
