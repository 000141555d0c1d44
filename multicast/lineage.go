package multicast

import "slices"

// strayed reports whether the answers of an exchange tell of different data: in one of these headers two of them say
// something and not the same. An answer that does not have the header, as one that tells of a failure, is compared all the
// same: else a candidate that forgets it could not be found out.
func (ex *Exchange) strayed(lineage []string) bool {
	for _, name := range lineage {
		var told []string
		for i := range ex.Responses {
			res := &ex.Responses[i]
			values := res.Header[name]
			switch {
			case res.Outcome != OutcomeOK || len(values) == 0:
			case told == nil:
				told = values
			case !slices.Equal(told, values):
				return true
			}
		}
	}
	return false
}
