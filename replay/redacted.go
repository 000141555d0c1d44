package replay

import (
	"errors"

	"shadowdiff/traffic"
)

// Redacted lists the places whose values were replaced in the recordings, as these tell.
func (c *Config) Redacted() (places []string, err error) {
	seen := map[string]bool{}
	for _, name := range c.Files {
		if name == "-" {
			continue
		}
		reader, err := traffic.Open(name, c.Format)
		if err != nil {
			return nil, err
		}
		for {
			_, err := reader.Next()
			if _, bad := errors.AsType[*traffic.Bad](err); !bad { // a record, behind which nothing more is told, or the end
				break
			}
		}
		for _, place := range reader.About().Redact {
			if !seen[place] {
				seen[place] = true
				places = append(places, place)
			}
		}
		reader.Close()
	}
	return places, nil
}
