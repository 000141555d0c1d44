package web

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"shadowdiff/store"
)

// fieldColumns are those of GET /api/v1/fields?format=csv; they have the names and the meanings that JSON has.
const fieldColumns = "route,field,test,compared,raw,noise,candidate_only,control_only,both,ln_e,confirmed,confirmed_at,confirmed_on,first,last"

// csvPiece is how many bytes are sent at a time: a table may be far larger than what is to be held in memory.
const csvPiece = 64 << 10

// writeFieldsCSV answers with a table of RFC 4180: lines end in CR LF, texts are quoted, what is null is empty.
func (s *Server) writeFieldsCSV(w http.ResponseWriter, r *http.Request, snap *store.Snapshot, rows []fieldTest, next *string) error {
	if next != nil {
		linkNext(w, s.prefix, r, *next)
	}
	download(w, fmt.Sprintf("shadowdiff-run-%d-fields.csv", snap.Run.ID))
	w.Header().Set("Content-Type", "text/csv; charset=utf-8; header=present")
	out := append(make([]byte, 0, 2*csvPiece), fieldColumns+"\r\n"...)
	for _, row := range rows {
		if len(out) >= csvPiece {
			if _, err := w.Write(out); err != nil {
				return nil // the caller is gone: nobody to tell
			}
			out = out[:0]
		}
		out = appendFieldCSV(out, s.fieldItem(snap, row))
	}
	_, _ = w.Write(out)
	return nil
}

func appendFieldCSV(out []byte, f fieldItem) []byte {
	out = append(appendCell(out, f.Route), ',')
	out = append(appendCell(out, f.Field), ',')
	out = fmt.Appendf(out, "%s,%d,%d,%d,%d,%d,%d,", f.Test, f.Compared, f.Raw, f.Noise, f.CandidateOnly, f.ControlOnly, f.Both)
	out = strconv.AppendFloat(out, f.LnE, 'g', -1, 64)
	out = fmt.Appendf(out, ",%t,", f.Confirmed)
	if f.ConfirmedAt != nil {
		out = f.ConfirmedAt.AppendFormat(out, time.RFC3339Nano)
	}
	out = append(out, ',')
	if f.ConfirmedOn != nil {
		out = strconv.AppendInt(out, *f.ConfirmedOn, 10)
	}
	out = append(out, ',')
	out = append(f.First.AppendFormat(out, time.RFC3339Nano), ',')
	return append(f.Last.AppendFormat(out, time.RFC3339Nano), '\r', '\n')
}

// appendCell writes a text in quotation marks. One that a spreadsheet could take for a formula gets an apostrophe in
// front, and so does one that begins with an apostrophe: whoever takes one away has the text.
func appendCell(out []byte, text string) []byte {
	out = append(out, '"')
	if text != "" && strings.ContainsRune("'=+-@\t\r\n＝＋－＠", firstRune(text)) {
		out = append(out, '\'')
	}
	out = append(out, strings.ReplaceAll(text, `"`, `""`)...)
	return append(out, '"')
}

func firstRune(text string) rune {
	for _, r := range text {
		return r
	}
	return 0
}

// download names the file as which a browser keeps the answer.
func download(w http.ResponseWriter, name string) {
	w.Header().Set("Content-Disposition", "attachment; filename*=UTF-8''"+url.PathEscape(name))
}
