package normalize

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// traffic draws n values of a set, all alike or the k-th one 1/k as often as the first.
func traffic(seed uint64, values []string, n int, alike bool) []string {
	random := rand.New(rand.NewPCG(seed, 1))
	sums := make([]float64, len(values))
	total := 0.0
	for i := range values {
		weight := 1.0
		if !alike {
			weight = 1 / float64(i+1)
		}
		total += weight
		sums[i] = total
	}
	drawn := make([]string, n)
	for i := range drawn {
		at, _ := slices.BinarySearch(sums, random.Float64()*total)
		drawn[i] = values[min(at, len(values)-1)]
	}
	return drawn
}

func numbered(format string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(format, spelled(i))
	}
	return list
}

// spelled is a number in letters, which no shape takes for an id.
func spelled(n int) string {
	word := ""
	for ; n > 0 || word == ""; n /= 10 {
		word = [...]string{"nu", "ba", "du", "ti", "ko", "pa", "si", "fe", "lo", "ma"}[n%10] + word
	}
	return word
}

// ask names requests that all succeed, and answers how often each name was given.
func ask(names *Names, targets ...string) map[string]int {
	given := map[string]int{}
	for _, target := range targets {
		name, _ := names.Route("GET", target, 200)
		given[name]++
	}
	return given
}

// nameOf is the name that a request has now, without anything being learnt from it.
func nameOf(names *Names, target string) string {
	name, _ := names.Route("GET", target, 0)
	return name
}

// A fixed API keeps all its names, however its requests are spread, and whatever is asked for that is not there.
func TestWellUsedNamesDoNotFold(t *testing.T) {
	for _, size := range []int{40, 64, 120} {
		for _, alike := range []bool{true, false} {
			for seed := range uint64(5) {
				var names Names
				resources := numbered("/api/%s", size)
				for i, target := range traffic(seed, resources, 5_000, alike) {
					ask(&names, target, "/health")
					names.Route("GET", fmt.Sprintf("/api/scan-%s.php", spelled(i)), 404)
				}
				if c := names.Counts(); c.Folds != 0 || c.Other != 0 {
					t.Errorf("%d names, alike %v, seed %d: %+v", size, alike, seed, c)
				}
				for _, target := range resources {
					if got := nameOf(&names, target); got != "GET "+target && got != "GET /api/{id}" {
						t.Errorf("%s is named %s", target, got)
					}
				}
			}
		}
	}
}

// Slugs fold soon, whether all are asked for alike or a few much more often, and then for good.
func TestSlugsFold(t *testing.T) {
	for _, alike := range []bool{true, false} {
		var names Names
		given := ask(&names, traffic(7, numbered("/products/%s-shoes", 2_000), 20_000, alike)...)
		c := names.Counts()
		if c.Folds != 1 || c.Other != 0 || c.Routes > 1+keptWords {
			t.Errorf("alike %v: %+v", alike, c)
		}
		if alike && c.Routes != 1 {
			t.Errorf("slugs that are all alike have %d routes", c.Routes)
		}
		if len(given) > mostWords+1 {
			t.Errorf("alike %v: %d names were given on the way", alike, len(given))
		}
		if got := nameOf(&names, "/products/never-seen"); got != "GET /products/{id}" {
			t.Errorf("a slug that comes later is named %s", got)
		}
		if got := nameOf(&names, "/products/8f14e45f-ceea-467f-9575-1c2a5d1e3b0a"); got != "GET /products/{id}" {
			t.Errorf("an id beside the slugs is named %s", got)
		}
		if got := nameOf(&names, "/products/"); strings.Contains(got, "{id}") {
			t.Errorf("the list of products is named %s", got)
		}
	}
}

// What stands out of a long tail keeps its name: /users/me is no user's name.
func TestWhatStandsOutIsKept(t *testing.T) {
	var names Names
	for i := range 100 {
		ask(&names, "/users/me", "/users/search", "/users/u-"+spelled(i))
	}
	for target, want := range map[string]string{
		"/users/me": "GET /users/me", "/users/search": "GET /users/search", "/users/u-nu": "GET /users/{id}",
		"/users/17": "GET /users/{id}", "/users/new": "GET /users/{id}",
	} {
		if got := nameOf(&names, target); got != want {
			t.Errorf("%s is named %s, want %s", target, got, want)
		}
	}
	ask(&names, slices.Repeat([]string{"/users/new"}, 10_000)...)
	if got := nameOf(&names, "/users/new"); got != "GET /users/{id}" {
		t.Errorf("what becomes popular after the fold is named %s", got)
	}
	folds, _ := names.Folds()
	if len(folds) != 1 || folds[0].Place != "/users" || !slices.Equal(folds[0].Kept, []string{"me", "search"}) {
		t.Errorf("folds: %+v", folds)
	}
}

// A service that answers 200 to everything is scanned: its resources keep their names, what was scanned is one route.
func TestScanOfAServiceThatNeverSaysNo(t *testing.T) {
	var names Names
	resources := numbered("/%s", 40)
	for i, target := range traffic(3, resources, 3_000, false) {
		ask(&names, target)
		if i > 1_500 {
			ask(&names, fmt.Sprintf("/%s.php", spelled(i)))
		}
	}
	for _, target := range resources {
		if got := nameOf(&names, target); got != "GET "+target {
			t.Errorf("%s is named %s", target, got)
		}
	}
	if c := names.Counts(); c.Routes != 41 {
		t.Errorf("%+v", c)
	}
}

// Sessions ask for the same user's pages many times, so that no name is rare; there are too many all the same.
func TestUsersWithSessionsFold(t *testing.T) {
	var names Names
	for i := range 1_000 {
		for range 10 {
			ask(&names, "/u/user-"+spelled(i)+"/feed", "/u/user-"+spelled(i)+"/photos")
		}
	}
	if c := names.Counts(); c.Routes != 2 || c.Folds != 1 || c.Other != 0 {
		t.Errorf("%+v", c)
	}
}

// Places below a fold are laid together, and fold by what they hold together.
func TestFoldsBelowAFold(t *testing.T) {
	var names Names
	for i := range 200 {
		user := "/u/user-" + spelled(i)
		ask(&names, user, user+"/albums/"+spelled(3*i), user+"/albums/"+spelled(3*i+1)+"/songs", user+"/albums/17")
		names.Route("DELETE", user+"/albums/"+spelled(3*i), 204)
	}
	var got []string
	names.root.each(func(b *branch) { got = append(got, routesBelow(b)...) })
	slices.Sort(got)
	want := []string{"DELETE /u/{id}/albums/{id}", "GET /u/{id}", "GET /u/{id}/albums/{id}", "GET /u/{id}/albums/{id}/songs"}
	if !slices.Equal(got, want) {
		t.Errorf("routes %q, want %q", got, want)
	}
	folds, _ := names.Folds()
	if len(folds) != 2 || folds[0].Place != "/u" || folds[1].Place != "/u/{id}/albums" {
		t.Errorf("folds: %+v", folds)
	}
}

func routesBelow(b *branch) (list []string) {
	for _, r := range b.routes {
		list = append(list, r.name)
	}
	b.each(func(next *branch) { list = append(list, routesBelow(next)...) })
	return list
}

// A place that folded under one user and not under another keeps what it kept, once the users are one.
func TestKeptWordsOutliveAFoldAbove(t *testing.T) {
	var names Names
	for i := range 100 {
		ask(&names, "/u/alice/files/"+spelled(i))
		if i < 10 {
			ask(&names, "/u/alice/files/latest")
		}
	}
	ask(&names, "/u/bob/files/latest", "/u/bob/files/mine")
	for i := range 300 {
		ask(&names, slices.Repeat([]string{"/u/user-" + spelled(i) + "/files/latest"}, 25)...)
	}
	for target, want := range map[string]string{
		"/u/zoe/files/latest": "GET /u/{id}/files/latest", "/u/bob/files/mine": "GET /u/{id}/files/{id}",
		"/u/alice/files/nu": "GET /u/{id}/files/{id}",
	} {
		if got := nameOf(&names, target); got != want {
			t.Errorf("%s is named %s, want %s", target, got, want)
		}
	}
}

// When names are many the widest place gives way, though none of its values is rare; small places never do.
func TestCrowdedNamesFoldTheWidestPlace(t *testing.T) {
	var names Names
	for range 3 {
		for i := range 100 {
			for j := range 4 {
				ask(&names, "/wide/"+spelled(i)+"/"+spelled(j))
			}
		}
		for i := range 20 {
			for j := range 10 {
				ask(&names, "/narrow/"+spelled(i)+"/"+spelled(j))
			}
		}
	}
	folds, _ := names.Folds()
	if len(folds) != 1 || folds[0].Place != "/wide" {
		t.Errorf("folds: %+v", folds)
	}
	if c := names.Counts(); c.Routes != 204 || c.Other != 0 {
		t.Errorf("%+v", c)
	}
}

// What is not there teaches nothing: it is counted with the ids, or with all that is below.
func TestWhatIsNotFoundTeachesNothing(t *testing.T) {
	var names Names
	ask(&names, "/users/17/orders", "/users/me")
	for _, c := range []struct {
		target string
		status int
		want   string
	}{
		{"/users/zed", 404, "GET /users/{id}"},
		{"/users/zed/orders", 404, "GET /users/*"},
		{"/users/18/orders", 404, "GET /users/{id}/orders"},
		{"/users/me", 500, "GET /users/me"},
		{"/wp-content/plugins/x.php", 404, "GET /*"},
		{"/.env", 403, "GET /{id}"},
		{"/.env", 0, "GET /{id}"},
		{"/", 404, "GET /"},
		{"/users/zed", 200, "GET /users/zed"},
		{"/users/zed", 404, "GET /users/zed"},
	} {
		if got, _ := names.Route("GET", c.target, c.status); got != c.want {
			t.Errorf("%s answered %d is named %s, want %s", c.target, c.status, got, c.want)
		}
	}
	if got, _ := names.Route("FROB", "/users/me", 405); got != "(other) /users/me" {
		t.Errorf("a method that is not allowed is named %s", got)
	}
}

// The shape that rules go by is the same before and after a fold.
func TestShapesAreNotLearnt(t *testing.T) {
	var names Names
	_, before := names.Route("GET", "/products/red-shoes/17", 200)
	for i := range 100 {
		ask(&names, "/products/"+spelled(i)+"/17")
	}
	name, after := names.Route("GET", "/products/red-shoes/17", 200)
	if name != "GET /products/{id}/{id}" || before != after || after != "GET /products/red-shoes/{id}" {
		t.Errorf("named %s, shapes %s and %s", name, before, after)
	}
}

// Whatever clients make up, memory and names are bounded, and what is beyond is counted.
func TestNamesAreBounded(t *testing.T) {
	var names Names
	distinct := map[string]bool{}
	random := rand.New(rand.NewPCG(1, 2))
	before := heap()
	const requests = 50_000
	for i := range requests {
		word := func() string { return spelled(random.IntN(1 << 30)) }
		for _, target := range []string{
			"/" + word(), "http://" + word() + ".example/" + word() + "/" + word(), "/api" + strings.Repeat("/"+word(), 1+i%30),
			fmt.Sprintf("/a%d/b%d/c%d/d%d", random.IntN(30), random.IntN(30), random.IntN(30), random.IntN(30)),
		} {
			for _, method := range []string{"GET", fmt.Sprintf("FOO%d", i)} {
				name, _ := names.Route(method, target, []int{200, 404, 200}[i%3])
				distinct[names.Current(name)] = true
			}
		}
		names.Given(word())
	}
	c := names.Counts()
	if c.Routes > maxRoutes || c.Given > maxGiven || c.Routes+c.Given > maxNames || c.Branches > maxBranches+maxSegments || len(distinct) > 4*maxRoutes {
		t.Errorf("%d names were given, %+v", len(distinct), c)
	}
	if c.Other == 0 {
		t.Error("what was beyond the bounds was not counted")
	}
	if grown := heap() - before; grown > 8<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
	if got, _ := names.Route("FOO99999", "/", 200); !strings.HasPrefix(got, OtherRoute) {
		t.Errorf("a method made up is named %s", got)
	}
	runtime.KeepAlive(&names)
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// A given name is itself until there are too many.
func TestGivenNames(t *testing.T) {
	var names Names
	for i := range maxGiven {
		if got := names.Given(spelled(i)); got != spelled(i) {
			t.Fatalf("%s is named %s", spelled(i), got)
		}
	}
	if got := names.Given("one more"); got != OtherRoute {
		t.Errorf("one too many is named %s", got)
	}
	if got := names.Given(spelled(3)); got != spelled(3) {
		t.Errorf("%s is named %s", spelled(3), got)
	}
	if c := names.Counts(); c.Given != maxGiven || c.Other != 1 {
		t.Errorf("%+v", c)
	}
}

// A process that takes up the folds and the names of another names what comes as that would have.
func TestNamesAreRestored(t *testing.T) {
	var first Names
	for i := range 100 {
		ask(&first, "/users/me", "/users/u-"+spelled(i)+"/posts/"+spelled(i), "/static/"+spelled(i%60))
	}
	var second Names
	folds, _ := first.Folds()
	second.Restore(folds)
	again, _ := second.Folds()
	if fmt.Sprint(folds) != fmt.Sprint(again) {
		t.Errorf("restored %v as %v", folds, again)
	}
	known := map[string]int64{}
	for _, name := range routesBelow(&first.root) {
		known[name] = 2
	}
	second.Learn(known)
	if got, want := second.Counts(), first.Counts(); got != want {
		t.Errorf("restored %+v as %+v", want, got)
	}
	for _, target := range []string{"/users/me", "/users/zoe/posts/x", "/users/zoe", "/static/nu", "/static/17", "/x/y"} {
		if got, want := nameOf(&second, target), nameOf(&first, target); got != want {
			t.Errorf("%s was named %s, and is %s", target, want, got)
		}
	}
	for i := range 100 { // the 60 names learnt before are no longer rare; others are
		ask(&second, "/static/more-"+spelled(i))
	}
	if got := nameOf(&second, "/static/nu"); got != "GET /static/{id}" {
		t.Errorf("after many more it is named %s", got)
	}
}

// Of names that are learnt all at once those that stand out are kept, wherever they come in the list.
func TestNamesAreLearntTogether(t *testing.T) {
	var names Names
	known := map[string]int64{"GET /p/zebra": 50, "GET /p/aardvark": 50, "POST /p/": 3, OtherRoute: 7, "GET *": 1}
	for i := range 100 {
		known["GET /p/m-"+spelled(i)] = 1
	}
	names.Learn(known)
	got := routesBelow(&names.root)
	slices.Sort(got)
	if want := []string{"GET /p/aardvark", "GET /p/zebra", "GET /p/{id}", "POST /p/"}; !slices.Equal(got, want) {
		t.Errorf("learnt %q, want %q", got, want)
	}
}

// Many name at once.
func TestNamesAreSharedByMany(t *testing.T) {
	var names Names
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := range 2_000 {
				name, _ := names.Route("GET", fmt.Sprintf("/p/%s/%s", spelled(i%500), spelled(worker)), 200)
				names.Current(name)
				names.Given(spelled(i))
				names.Folds()
				names.Counts()
			}
		})
	}
	all.Wait()
	if c := names.Counts(); c.Routes != 8 || c.Folds != 1 {
		t.Errorf("%+v", c)
	}
}

// Whatever is asked in whatever order: a name that was given becomes the one that the request has now, no request is lost
// when routes are laid together, and the figures kept are those one would count.
func TestNamesAgreeWithThemselves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var names Names
		seed := rapid.Uint64().Draw(t, "seed")
		widths := rapid.SliceOfN(rapid.IntRange(1, 150), 1, 4).Draw(t, "widths")
		random := rand.New(rand.NewPCG(seed, 3))
		asked := map[string]string{}
		taught, other := int64(0), int64(0)
		for range rapid.IntRange(1, 1_500).Draw(t, "requests") {
			target := ""
			for _, width := range widths {
				target += "/" + spelled(random.IntN(1+random.IntN(width)))
				if random.IntN(4) == 0 {
					break
				}
			}
			name, _ := names.Route("GET", target, 200)
			asked[target] = name
			if name == OtherRoute {
				other++
			} else {
				taught++
			}
		}
		if c := names.Counts(); c.Other != other || c.Routes > maxRoutes {
			t.Errorf("%d were named other, %+v", other, c)
		}
		for target, name := range asked {
			if now := nameOf(&names, target); name != OtherRoute && names.Current(name) != now {
				t.Errorf("%s was named %s, which became %s, and is now %s", target, name, names.Current(name), now)
			}
		}
		var routes, branches, folds int
		if sum := recount(t, &names.root, &routes, &branches, &folds); sum != taught {
			t.Errorf("%d requests were taught, the routes have %d", taught, sum)
		}
		if c := names.Counts(); routes != c.Routes || branches != c.Branches+1 || folds != c.Folds {
			t.Errorf("counted %d routes, %d branches, %d folds: %+v", routes, branches-1, folds, c)
		}
	})
}

func recount(t *rapid.T, b *branch, routes, branches, folds *int) (sum int64) {
	*branches++
	if b.folded {
		*folds++
	}
	most, rare := int64(0), 0
	for _, r := range b.routes {
		*routes++
		sum += r.requests
		most = max(most, r.requests)
		if want := r.method + " " + b.path(); r.name != want {
			t.Errorf("%s is called %s", want, r.name)
		}
	}
	for segment, next := range b.words {
		if next.segment != segment || b.folded && segment != "" && !b.kept[segment] {
			t.Errorf("%s holds %s as %s", b.path(), next.segment, segment)
		}
	}
	b.each(func(next *branch) {
		if next.above != b {
			t.Errorf("%s hangs elsewhere", next.segment)
		}
		sum += recount(t, next, routes, branches, folds)
		most = max(most, next.most)
		if next.isWord() && next.most == 1 {
			rare++
		}
	})
	if b.wide() {
		t.Errorf("%s is wide: %d words, %d rare", b.path(), len(b.words), b.rare)
	}
	if most != b.most || rare != b.rare {
		t.Errorf("%s: most %d, rare %d, counted %d and %d", b.path(), b.most, b.rare, most, rare)
	}
	return sum
}
