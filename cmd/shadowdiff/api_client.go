package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"shadowdiff/diff"
	"shadowdiff/store"
	"shadowdiff/web"
)

// apiClient speaks to the API of running services. What has not changed since the last look is not sent again.
type apiClient struct {
	http  *http.Client
	token string
	kept  map[string]keptAnswer // by address
}

// keptAnswer is the last answer with an entity tag.
type keptAnswer struct {
	tag  string
	body []byte
}

const (
	answerTime = 30 * time.Second // for one answer of the API
	answerMost = 256 << 20        // bytes of it
	keptMost   = 64 << 20         // bytes of one that is kept
)

// newAPIClient reads the token and the certificates.
func newAPIClient(tokenFile, ca string, env environment) (*apiClient, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return nil, fmt.Errorf("-ca: %w", err)
		}
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("-ca: %s holds no certificate in PEM", ca)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool}
	}
	token, _ := env("SHADOWDIFF_TOKEN")
	if tokenFile != "" {
		text, err := os.ReadFile(tokenFile)
		if err != nil {
			return nil, fmt.Errorf("-token-file: %w", err)
		}
		if token = strings.TrimSpace(string(text)); token == "" {
			return nil, fmt.Errorf("-token-file: %s is empty", tokenFile)
		}
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return nil, errors.New("the token holds white space or control characters, which no header can carry")
	}
	return &apiClient{
		http: &http.Client{
			Transport:     transport,
			Timeout:       answerTime,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // the token is for this address
		},
		token: token, kept: map[string]keptAnswer{},
	}, nil
}

// dashboardURL checks a -url and takes the slash from its end.
func dashboardURL(text string) (string, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "", errors.New("not a URL: give scheme and host, as http://127.0.0.1:8881") // the cause would repeat it, and a password in it
	case u.User != nil:
		return "", errors.New("a password in it would be seen by others; give the token with -token-file or SHADOWDIFF_TOKEN")
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return "", errors.New("give scheme and host, as http://127.0.0.1:8881")
	case u.RawQuery != "" || u.Fragment != "":
		return "", errors.New("give the dashboard's address without query and fragment")
	}
	return strings.TrimRight(u.String(), "/"), nil
}

// final is a fault that waiting does not mend.
type final struct{ error }

func (f final) Unwrap() error { return f.error }

// permanent tells whether waiting is no use.
func permanent(err error) bool {
	_, yes := errors.AsType[final](err)
	return yes
}

// errNoRun is that the service answers, and has no run of the name yet.
var errNoRun = errors.New("no such run yet")

// nothingHere is a 404 of the API: there is no such run, or no such route in it.
type nothingHere struct{ error }

// get reads an address of the API. Its error is final where the service has refused.
func (c *apiClient) get(ctx context.Context, base, path string, params url.Values, accept string) ([]byte, error) {
	address := base + path
	if len(params) > 0 {
		address += "?" + params.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, final{fmt.Errorf("%s: %w", base, err)}
	}
	req.Header.Set("Accept", accept)
	before := c.kept[address]
	if before.tag != "" {
		req.Header.Set("If-None-Match", before.tag)
	}
	resp, err := c.send(base, "gate", req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotModified && before.tag != "" {
		return before.body, nil
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, answerMost+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: the answer broke off: %w", base, err)
	case len(body) > answerMost:
		return nil, final{fmt.Errorf("%s: the answer to %s is longer than %d MiB", base, path, answerMost>>20)}
	case resp.StatusCode != http.StatusOK:
		return nil, refusal(base, resp, body)
	}
	delete(c.kept, address)
	if tag := resp.Header.Get("ETag"); tag != "" && len(body) <= keptMost {
		c.kept[address] = keptAnswer{tag, body}
	}
	return body, nil
}

// send sends a request of a command, with the token.
func (c *apiClient) send(base, command string, req *http.Request) (*http.Response, error) {
	req.Header.Set("User-Agent", "shadowdiff-"+command+"/"+readBuildInfo().Version)
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, unanswered(base, err)
	}
	return resp, nil
}

// unanswered words why there was no answer. A certificate that is not trusted stays so.
func unanswered(base string, err error) error {
	var cause *url.Error
	if errors.As(err, &cause) {
		err = cause.Err
	}
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	_, plain := errors.AsType[tls.RecordHeaderError](err)
	switch {
	case untrusted:
		return final{fmt.Errorf("%s: %w; give its authority with -ca", base, err)}
	case plain:
		return final{fmt.Errorf("%s: does not speak TLS; is it http?", base)}
	}
	return fmt.Errorf("%s: %w", base, err)
}

// refusal words an answer that is none, from the problem that the service sends.
func refusal(base string, resp *http.Response, body []byte) error {
	var problem struct{ Title, Detail string }
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if media != "application/problem+json" || json.Unmarshal(body, &problem) != nil {
		problem.Detail = "no shadowdiff answers here; give the dashboard's address (web.listen, or web.base_url)"
	}
	err := fmt.Errorf("%s: %s: %s", base, resp.Status, problem.Detail)
	switch {
	case media == "application/problem+json" && resp.StatusCode == http.StatusNotFound:
		return nothingHere{err}
	case resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusForbidden:
		return final{fmt.Errorf("%s: the token is wrong or missing: %s", base, problem.Detail)}
	case resp.StatusCode/100 == 3:
		return final{fmt.Errorf("%s: leads elsewhere, to %s; give the address that it leads to", base, resp.Header.Get("Location"))}
	case resp.StatusCode >= 500, resp.StatusCode == http.StatusTooManyRequests, resp.StatusCode == http.StatusRequestTimeout:
		return fmt.Errorf("%s: %s", base, resp.Status)
	}
	return final{err}
}

// undone says why something was not done: what only the service knows, as that its disk has no room, stands in the answer.
func undone(base string, resp *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return fmt.Errorf("%s: %s: the answer broke off: %w", base, resp.Status, err)
	}
	var problem struct{ Detail string }
	if resp.StatusCode >= 500 && json.Unmarshal(body, &problem) == nil && problem.Detail != "" {
		return fmt.Errorf("%s: %s", base, problem.Detail)
	}
	return refusal(base, resp, body)
}

// answer is GET /api/v1/equivalence.
type answer struct {
	Run store.Run `json:"run"`
	diff.Verdict
}

// equivalence reads the verdict of a run (empty: the one in force), or of one of its routes.
func (c *apiClient) equivalence(ctx context.Context, base, run, route string) (*answer, error) {
	params := url.Values{"confirmed": {"true"}, "limit": {"1000"}}
	if run != "" {
		params.Set("run", run)
	}
	if route != "" {
		params.Set("route", route)
	}
	a := new(answer)
	if err := c.read(ctx, base, "/api/v1/equivalence", params, a); err != nil {
		return nil, err
	}
	if a.Word == "" {
		return nil, final{fmt.Errorf("%s: no shadowdiff answers here: the answer has no verdict", base)}
	}
	return a, nil
}

// tallies reads all that a proxy has counted in a run.
func (c *apiClient) tallies(ctx context.Context, base, run string) (*web.Export, error) {
	params := url.Values{}
	if run != "" {
		params.Set("run", run)
	}
	e := new(web.Export)
	if err := c.read(ctx, base, "/api/v1/tallies", params, e); err != nil {
		return nil, err
	}
	if e.Version != web.ExportVersion || e.Tallies == nil {
		return nil, final{fmt.Errorf("%s: its counts are of form %d, and here form %d is known; use the same version of shadowdiff", base, e.Version, web.ExportVersion)}
	}
	if err := e.Tallies.Check(); err != nil {
		return nil, final{fmt.Errorf("%s: its counts are damaged: %w", base, err)}
	}
	return e, nil
}

// routes reads the verdict of every route of a run.
func (c *apiClient) routes(ctx context.Context, s proxied) (list []*diff.Verdict, err error) {
	params := url.Values{"run": {fmt.Sprint(s.run.ID)}, "limit": {"1000"}}
	for {
		var page struct {
			Items []struct {
				Route    string    `json:"route"`
				Compared int64     `json:"compared"`
				Word     diff.Word `json:"verdict"`
				More     *int64    `json:"more_needed"`
			} `json:"items"`
			Next *string `json:"next"`
		}
		if err := c.read(ctx, s.url, "/api/v1/routes", params, &page); err != nil {
			return nil, err
		}
		for _, item := range page.Items {
			list = append(list, &diff.Verdict{Route: &item.Route, Compared: item.Compared, Word: item.Word, MoreNeeded: item.More})
		}
		if page.Next == nil || len(page.Items) == 0 {
			return list, nil
		}
		params.Set("cursor", *page.Next)
	}
}

// report reads a service's report of a run.
func (c *apiClient) report(ctx context.Context, s proxied, format string) ([]byte, error) {
	params := url.Values{"run": {fmt.Sprint(s.run.ID)}, "format": {format}}
	return c.get(ctx, s.url, "/api/v1/report", params, "*/*")
}

// read decodes an answer that is JSON.
func (c *apiClient) read(ctx context.Context, base, path string, params url.Values, into any) error {
	body, err := c.get(ctx, base, path, params, "application/json")
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return final{fmt.Errorf("%s: the answer to %s is not what this version knows: %w", base, path, err)}
	}
	return nil
}
