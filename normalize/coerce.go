package normalize

import "fmt"

// newCoerce makes scalars that mean the same one value of one type. It is strict, since a text that is read for more than
// it says hides a difference: what is not wholly of a form named here stays as it is, and so do null, arrays and objects.
//
//	number  strings that are JSON numbers: "1.50", "1e3", "-0"; not " 1", "+1", ".5", "0x10", "1,000", nor "007", which
//	        may be a name. Neither true nor false.
//	string  numbers, as their canonical decimal text, 1.50 as "1.5"; true and false. A string stays, so "1.50" and 1.5
//	        differ: numbers are what to make of these.
//	bool    the strings "true", "false", "1", "0" and the numbers 1 and 0. Not True, yes or on: lower makes true of TRUE.
//	time    what readTime reads and has a zone, RFC 3339 and its kin, RFC 1123, and epochs in s or ms, as a string in
//	        RFC 3339's form in UTC, to the last digit sent. A time without a zone is no instant and stays.
//
// Its error says what else `to` may be.
func newCoerce(to string) (valueChange, error) {
	switch to {
	case "number":
		return toNumber, nil
	case "string":
		return toString, nil
	case "bool":
		return toBool, nil
	case "time":
		return toTime, nil
	}
	return nil, fmt.Errorf("%q: only number, string, bool and time are possible", to)
}

func toNumber(v *Value) bool {
	if v.Type != String || v.Text == "" || v.Text[0] != '-' && !isDigit(v.Text[0]) {
		return false
	}
	canonical, end, ok := scanNumber(v.Text, 0)
	if !ok || end != len(v.Text) {
		return false
	}
	v.Type, v.Text = Number, canonical
	return true
}

func toString(v *Value) bool {
	if v.Type != Number && v.Type != Bool {
		return false
	}
	v.Type = String
	return true
}

func toBool(v *Value) bool {
	if v.Type != String && v.Type != Number {
		return false
	}
	switch v.Text {
	case "true", "1":
		v.Type, v.Text = Bool, "true"
	case "false", "0":
		v.Type, v.Text = Bool, "false"
	default:
		return false
	}
	return true
}

func toTime(v *Value) bool {
	t, ok := readTime(v)
	if !ok || t.form == formLocal || t.form == formDate {
		return false
	}
	canonical := t.append(make([]byte, 0, 64))
	if v.Type == String && v.Text == string(canonical) {
		return false
	}
	v.Type, v.Text = String, string(canonical)
	return true
}
