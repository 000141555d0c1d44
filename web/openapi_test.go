package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"shadowdiff/normalize"
)

// operation is what openapi.yaml says of one method of one path.
type operation struct {
	at         string // "GET /api/v1/routes"
	method     string
	path       string
	pointer    string // to it, in the document
	parameters map[string]map[string]any
	responses  map[string]any
	body       map[string]any // nil: none
}

// openapiFile is the description, read as its readers read it.
type openapiFile struct {
	doc        map[string]any
	operations map[string]*operation
	compiler   *jsonschema.Compiler
	mu         sync.Mutex // guards the compiler
}

// readOpenapi reads the description once for all tests.
var readOpenapi = sync.OnceValues(func() (*openapiFile, error) {
	f := &openapiFile{operations: map[string]*operation{}, compiler: jsonschema.NewCompiler()}
	var parsed any
	if err := yaml.Load(description, &parsed); err != nil {
		return nil, err
	}
	text, err := json.Marshal(parsed)
	if err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	f.doc = doc.(map[string]any)
	f.compiler.AssertFormat()
	if err := f.compiler.AddResource("https://shadowdiff.example/openapi.json", doc); err != nil {
		return nil, err
	}
	for path, item := range object(f.doc["paths"]) {
		shared := item.(map[string]any)["parameters"]
		for method, op := range object(item) {
			if method != "parameters" {
				f.add(strings.ToUpper(method), path, op.(map[string]any), shared)
			}
		}
	}
	return f, nil
})

func (f *openapiFile) add(method, path string, op map[string]any, shared any) {
	o := &operation{at: method + " " + path, method: method, path: path, parameters: map[string]map[string]any{}, responses: object(op["responses"])}
	o.pointer = "#/paths/" + escaped(path) + "/" + strings.ToLower(method)
	o.body = object(f.resolve(op["requestBody"]))
	for _, list := range []any{shared, op["parameters"]} {
		all, _ := list.([]any)
		for _, p := range all {
			p := object(f.resolve(p))
			o.parameters[p["in"].(string)+" "+p["name"].(string)] = p
		}
	}
	f.operations[o.at] = o
}

func object(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func escaped(part string) string {
	return strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(part)
}

// resolve follows a reference within the document.
func (f *openapiFile) resolve(v any) any {
	ref, is := object(v)["$ref"].(string)
	if !is {
		return v
	}
	var at any = f.doc
	for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		at = object(at)[part]
	}
	return at
}

// validate holds a value to the schema at a pointer of the document.
func (f *openapiFile) validate(pointer string, v any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	schema, err := f.compiler.Compile("https://shadowdiff.example/openapi.json" + pointer)
	if err != nil {
		return err
	}
	return schema.Validate(v)
}

// find returns what describes a request, nil if nothing does.
func (f *openapiFile) find(method, path string) *operation {
	path, _, _ = strings.Cut(path, "?")
	if method == http.MethodHead {
		method = http.MethodGet
	}
	var found *operation
	for _, o := range f.operations {
		pattern := regexp.MustCompile(`^` + regexp.MustCompile(`\\\{[^}]*\\\}`).ReplaceAllString(regexp.QuoteMeta(o.path), `[^/]+`) + `$`)
		if o.method == method && pattern.MatchString(path) && (found == nil || len(o.parameters) < len(found.parameters)) {
			found = o
		}
	}
	return found
}

// conforms holds an answer to its description.
func (f *openapiFile) conforms(method, path string, a answer) error {
	o := f.find(method, path)
	if o == nil {
		return fmt.Errorf("%s %s is not described", method, path)
	}
	status := fmt.Sprint(a.status)
	if o.responses[status] == nil {
		if a.status < http.StatusBadRequest {
			return fmt.Errorf("%s: %s is not described", o.at, status)
		}
		status = "default"
	}
	described := object(f.resolve(o.responses[status]))
	if described == nil {
		return fmt.Errorf("%s: neither %d nor a default is described", o.at, a.status)
	}
	label, _, _ := mime.ParseMediaType(a.header.Get("Content-Type"))
	content := object(described["content"])
	switch {
	case len(content) == 0 && a.body == "", method == http.MethodHead && a.body == "":
		return nil
	case content[label] == nil:
		return fmt.Errorf("%s %s: %d is sent as %q, described are %v", method, path, a.status, label, slices.Collect(maps.Keys(content)))
	case !strings.HasSuffix(label, "json") || a.header.Get("Content-Encoding") != "":
		return nil
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(a.body))
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	pointer := o.pointer + "/responses/" + status
	if ref, is := object(o.responses[status])["$ref"].(string); is {
		pointer = ref
	}
	if err := f.validate(pointer+"/content/"+escaped(label)+"/schema", v); err != nil {
		return fmt.Errorf("%s %s: the answer %d is not as openapi.yaml describes it: %w\n%.1500s", method, path, a.status, err, a.body)
	}
	return nil
}

// described holds an answer of the API that any test gets to its description.
func (r *rig) described(method, path string, a answer) {
	r.t.Helper()
	if f := openapiOf(r.t); f.find(method, path) != nil {
		if err := f.conforms(method, path, a); err != nil {
			r.t.Error(err)
		}
	}
}

func openapiOf(t testing.TB) *openapiFile {
	t.Helper()
	f, err := readOpenapi()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// The description itself is OpenAPI 3.1, by the schema of that, and says something of everything.
func TestTheDescriptionIsOpenAPI(t *testing.T) {
	f := openapiOf(t)
	text, err := os.ReadFile("testdata/openapi/schema.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("https://spec.openapis.org/oas/3.1/schema/2021-04-15", doc); err != nil {
		t.Fatal(err)
	}
	if err := c.MustCompile("https://spec.openapis.org/oas/3.1/schema/2021-04-15").Validate(f.doc); err != nil {
		t.Error(err)
	}
	ids := map[any]bool{}
	for _, o := range f.operations {
		op := object(object(object(f.doc["paths"])[o.path])[strings.ToLower(o.method)])
		if op["summary"] == nil || op["operationId"] == nil || ids[op["operationId"]] || op["tags"] == nil {
			t.Errorf("%s has the id %v and the summary %v", o.at, op["operationId"], op["summary"])
		}
		ids[op["operationId"]] = true
		for name, p := range o.parameters {
			if p["description"] == nil || p["schema"] == nil {
				t.Errorf("%s: %s has no description or no schema", o.at, name)
			}
		}
		for status := range o.responses {
			if r := object(f.resolve(o.responses[status])); r["description"] == nil {
				t.Errorf("%s: %s has no description", o.at, status)
			}
		}
	}
	used := map[string]bool{}
	f.walk("", f.doc, func(at string, v map[string]any) {
		if ref, is := v["$ref"].(string); is {
			used[ref] = true
			if f.resolve(v) == nil {
				t.Errorf("%s refers to %s, which is not there", at, ref)
			}
		}
		_, closed := v["additionalProperties"]
		_, strict := v["unevaluatedProperties"]
		if v["type"] == "object" && !closed && !strict && !slices.Contains([]string{"/components/schemas/Steadiness", "/components/schemas/OfRun"}, at) {
			t.Errorf("%s takes names that are not described", at)
		}
	})
	for kind, all := range object(f.doc["components"]) {
		for name := range object(all) {
			if ref := "#/components/" + kind + "/" + name; !used[ref] && kind != "securitySchemes" {
				t.Errorf("nothing uses %s", ref)
			}
		}
	}
}

func (f *openapiFile) walk(at string, v any, visit func(at string, v map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		visit(at, v)
		for name, inner := range v {
			f.walk(at+"/"+name, inner, visit)
		}
	case []any:
		for i, inner := range v {
			f.walk(fmt.Sprint(at, "/", i), inner, visit)
		}
	}
}

// Every address that scripts may ask is described, and nothing else is.
func TestEveryRouteIsDescribed(t *testing.T) {
	f := openapiOf(t)
	r := newRig(t, shop("1"), shop("2"), nil)
	there := map[string]bool{}
	err := chi.Walk(r.server.handler.(chi.Routes), func(method, path string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		if strings.HasPrefix(path, "/api/") || slices.Contains([]string{"/metrics", "/healthz", "/readyz", "/openapi.yaml"}, path) {
			there[method+" "+path] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for at := range there {
		if f.operations[at] == nil {
			t.Errorf("openapi.yaml does not describe %s", at)
		}
	}
	for at := range f.operations {
		if !there[at] {
			t.Errorf("openapi.yaml describes %s, which is not there", at)
		}
	}
	if got := r.do(http.MethodGet, "/openapi.yaml", ""); got.body != string(description) || got.header.Get("Content-Type") != "application/yaml" {
		t.Errorf("it is served as %q, %d bytes", got.header.Get("Content-Type"), len(got.body))
	}
}

// filledIn is a path with things in it that a rig has.
func filledIn(path string) string {
	return regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(path, "1")
}

// Every parameter that an address takes is described with its limits, and no other is.
func TestEveryParameterIsDescribed(t *testing.T) {
	f := openapiOf(t)
	r := newRig(t, shop("1"), shop("2"), nil)
	r.ask(3, "/products/1")
	for _, o := range f.operations {
		if slices.Contains([]string{"/metrics", "/healthz", "/readyz"}, o.path) {
			continue // of which nothing is asked
		}
		a := r.do(o.method, filledIn(o.path)+"?no_such_thing=1", "")
		var p problem
		decode(t, a.body, &p)
		if a.status != http.StatusBadRequest || !strings.Contains(p.Detail, `unknown parameter "no_such_thing"`) {
			t.Errorf("%s takes any parameter: %d %s", o.at, a.status, a.body)
			continue
		}
		var described []string
		for name := range o.parameters {
			if name, is := strings.CutPrefix(name, "query "); is {
				described = append(described, name)
			}
		}
		slices.Sort(described)
		slices.Sort(p.Parameters)
		if !slices.Equal(described, p.Parameters) {
			t.Errorf("%s takes %v, described are %v", o.at, p.Parameters, described)
		}
		for name, param := range o.parameters {
			r.tryLimits(f, o, name, object(f.resolve(param["schema"])))
		}
	}
}

// tryLimits asks with the values at which a parameter is still taken, and those at which it is not.
func (r *rig) tryLimits(f *openapiFile, o *operation, in string, schema map[string]any) {
	r.t.Helper()
	name, query := strings.CutPrefix(in, "query ")
	if !query || o.method != http.MethodGet {
		return
	}
	status := func(value string) int {
		return r.do(http.MethodGet, filledIn(o.path)+"?"+name+"="+value, "").status
	}
	if words, is := schema["enum"].([]any); is {
		ofAnother := slices.Contains([]string{
			"GET /api/v1/series test", "GET /api/v1/samples test", "GET /api/v1/samples at_field", "GET /api/v1/samples role", "GET /api/v1/samples is",
		}, o.at+" "+name) // parameter, and so refused without it
		for _, word := range words {
			if got := status(fmt.Sprint(word)); got == http.StatusBadRequest && !ofAnother {
				r.t.Errorf("%s refuses %s=%v", o.at, name, word)
			}
		}
		if got := status("no_such_word"); got != http.StatusBadRequest {
			r.t.Errorf("%s takes %s=no_such_word: %d", o.at, name, got)
		}
	}
	if most, is := schema["maximum"].(json.Number); is {
		if got := status(most.String()); got == http.StatusBadRequest {
			r.t.Errorf("%s refuses %s=%s", o.at, name, most)
		}
		a := r.do(http.MethodGet, filledIn(o.path)+"?"+name+"="+most.String()+"0", "")
		if a.status != http.StatusBadRequest || !strings.Contains(a.body, most.String()) {
			r.t.Errorf("%s, beyond the most of %s: %d %s", o.at, name, a.status, a.body)
		}
	}
	for _, param := range []string{"cursor", "since", "until"} {
		if name == param && status("zzz!") != http.StatusBadRequest {
			r.t.Errorf("%s takes %s=zzz!", o.at, name)
		}
	}
}

// Real answers, good ones and problems, are as they are described.
func TestAnswersAreAsDescribed(t *testing.T) {
	f := openapiOf(t)
	r := newRig(t, shop("1"), shop("2"), nil)
	rules, usage := []Rule{{Config: normalize.RuleConfig{Drop: "body.id"}, Exchanges: 2000}}, normalize.RuleUsage{}
	rules[0].Usage = usage
	r.rules.Store(&rules)
	r.comparer.Profile(r.db.Redactor)
	r.ask(40, "/products/1?token=hidden")
	r.ask(3, "/orders/1")
	r.reload = func(string) Reload {
		return Reload{Good: false, Faults: []Fault{{File: "f", Line: 1, Column: 2, Message: "no"}}}
	}
	seen := map[string]bool{}
	check := func(method, path, body string, headers ...string) {
		t.Helper()
		a := r.do(method, path, body, append(headers, uncompressed)...)
		if err := f.conforms(method, path, a); err != nil {
			t.Error(err)
		}
		if o := f.find(method, path); o != nil {
			seen[fmt.Sprint(o.at, " ", a.status)] = true
			if o.body != nil && a.status < 300 {
				v, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
				if err == nil {
					err = f.validate(o.pointer+"/requestBody/content/application~1json/schema", v)
				}
				if err != nil {
					t.Errorf("%s %s takes %s, which is not as described: %v", method, path, body, err)
				}
			}
		}
	}
	for _, o := range f.operations {
		if o.path == "/api/v1/events" {
			continue
		}
		if o.method == http.MethodGet {
			check(http.MethodGet, filledIn(o.path), "")
			check(http.MethodHead, filledIn(o.path), "")
		}
		check(o.method, filledIn(o.path)+"?no_such_thing=1", "")
		if o.parameters["query run"] != nil {
			check(o.method, filledIn(o.path)+"?run=nothing", "")
			check(o.method, filledIn(o.path)+"?run=1", "")
		}
		if o.parameters["query route"] != nil {
			check(o.method, filledIn(o.path)+"?route=GET+/products/{id}", "")
		}
		if o.parameters["query since"] != nil {
			check(o.method, filledIn(o.path)+"?since=1h", "")
		}
	}
	for _, c := range [][3]string{
		{"GET", "/api/v1/equivalence?since=1h&until=1m", ""},
		{"GET", "/api/v1/gate?pass=different,equivalent,undecided", ""},
		{"GET", "/api/v1/report?format=json", ""},
		{"GET", "/api/v1/fields?format=csv", ""},
		{"GET", "/api/v1/samples?format=har", ""},
		{"GET", "/api/v1/series?field=body.price&test=drift", ""},
		{"GET", "/api/v1/profile?route=GET+/products/{id}&field=body.price", ""},
		{"GET", "/api/v1/attributes?route=GET+/products/{id}&field=body.price", ""},
		{"GET", "/api/v1/runs/1/compare/current", ""},
		{"PATCH", "/api/v1/runs/1", `{"notes": "looked at"}`},
		{"PATCH", "/api/v1/runs/9", `{"notes": "looked at"}`},
		{"GET", "/api/v1/samples/99", ""},
		{"GET", "/api/v1/samples/1/curl?role=candidate", ""},
		{"PUT", "/api/v1/shadowing", `{"enabled": true, "sample": "50%"}`},
		{"PUT", "/api/v1/shadowing", `{"sample": "150%"}`},
		{"PUT", "/api/v1/shadowing", strings.Repeat(" ", 5000)},
		{"POST", "/api/v1/reload", ""},
		{"POST", "/api/v1/gate?pass=undecided", ""},
		{"GET", "/api/v1/activity", ""},
		{"DELETE", "/api/v1/nothing/at/all", ""},
	} {
		if f.find(c[0], c[1]) != nil {
			check(c[0], c[1], c[2])
		}
	}
	check("PUT", "/api/v1/shadowing", `{}`, "Content-Type: text/plain")
	r.become(func(i *Instance) { i.File, i.Phase = "shadowdiff.yaml", PhaseStopping })
	check("GET", "/readyz", "")
	check("POST", "/api/v1/reload", "")
	check("GET", "/api/v1/reload", "")
	r.reload = func(string) Reload { return Reload{Good: true, Changed: []string{"sample: 5%"}} }
	check("POST", "/api/v1/reload", "")
	for at, o := range f.operations {
		good := false
		for status := range o.responses {
			good = good || strings.HasPrefix(status, "2") && seen[at+" "+status]
		}
		if !good && o.method == http.MethodGet && o.path != "/api/v1/events" {
			t.Errorf("no good answer of %s was looked at: %v", at, slices.Sorted(maps.Keys(seen)))
		}
	}
	for _, at := range []string{"PUT /api/v1/shadowing 200", "PUT /api/v1/shadowing 400", "PUT /api/v1/shadowing 413", "PUT /api/v1/shadowing 415", "POST /api/v1/reload 200", "POST /api/v1/reload 409", "POST /api/v1/reload 422", "GET /readyz 503"} {
		if !seen[at] {
			t.Errorf("%s was not looked at", at)
		}
	}
}
