package web

import "shadowdiff/multicast"

// shareText writes a share as the configuration does: 1%.
func shareText(s multicast.Share) string { return s.String() }

// parseShare reads a share as the configuration does.
func parseShare(text string) (multicast.Share, error) {
	var s multicast.Share
	err := s.UnmarshalText([]byte(text))
	return s, err
}
