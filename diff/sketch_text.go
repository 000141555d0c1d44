package diff

import "encoding/base64"

// MarshalText writes the sketch in base64, for JSON.
func (s Sketch) MarshalText() ([]byte, error) {
	b, err := s.MarshalBinary()
	if err != nil {
		return nil, err
	}
	return base64.StdEncoding.AppendEncode(nil, b), nil
}

// UnmarshalText replaces the sketch by the one that MarshalText wrote.
func (s *Sketch) UnmarshalText(text []byte) error {
	b, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil {
		return err
	}
	return s.UnmarshalBinary(b)
}

// IsZero says whether nothing was added.
func (s Sketch) IsZero() bool { return s.Count() == 0 }
