// Node's HTTP clients tell their stories: node client.mjs PROXY PRIMARY. Each story that has been told is a line of JSON on
// standard output, with what went wrong in it. The primary can be asked, around the proxy, what it has seen so far, and
// answers when it has: so no story waits by the clock.
import assert from 'node:assert/strict'
import http from 'node:http'
import http2 from 'node:http2'
import { text } from 'node:stream/consumers'

const [proxy, primary] = process.argv.slice(2)

// Agent keeps connections and counts those it makes.
class Agent extends http.Agent {
  made = 0

  constructor(maxSockets) {
    super({ keepAlive: true, maxSockets })
  }

  createConnection(...all) {
    this.made++
    return super.createConnection(...all)
  }
}

// ask sends one request and reads the answer to its end.
async function ask(path, { base = proxy, body, ...options } = {}) {
  const req = http.request(base + path, options)
  req.end(body)
  return answer(req)
}

async function answer(req) {
  const res = await response(req)
  const body = await text(res)
  return { status: res.statusCode, headers: res.headers, raw: res.rawHeaders, trailers: res.trailers, body }
}

function response(req) {
  return new Promise((resolve, reject) => req.once('response', resolve).once('error', reject))
}

// seen waits until the primary has seen so much of something.
async function seen(what, n = 1) {
  const res = await ask(`/seen?what=${what}&n=${n}`, { base: primary })
  assert.equal(res.status, 200, `the primary never saw ${what} ${n}`)
}

const stories = {
  async 'in turn on one connection'() {
    const agent = new Agent(1)
    const requests = [
      ['/echo'], ['/json', { method: 'HEAD' }], ['/empty'], ['/same', { headers: { 'If-None-Match': '"v1"' } }], ['/chunks'],
      ['/echo', { method: 'POST', body: 'x'.repeat(100000) }], ['/echo', { method: 'PUT', body: '' }], ['/broken'], ['/trailers'], ['/hints'],
      ['/echo', { method: 'DELETE' }], ['/json'],
    ]
    for (const [path, options] of [...requests, ...requests]) {
      const res = await ask(path, { agent, ...options })
      if (options?.method === 'POST') assert.equal(res.body, options.body)
      assert.equal(agent.made, 1, `${path} keeps the connection`)
    }
    agent.destroy()
  },

  async 'many at once on few connections'() {
    const agent = new Agent(8)
    const all = await Promise.all(Array.from({ length: 48 }, (_, i) =>
      ask('/echo', { agent, method: 'POST', body: `request ${i} `.repeat(i) })))
    for (const [i, res] of all.entries()) assert.equal(res.body, `request ${i} `.repeat(i))
    assert.equal(agent.made, 8)
    agent.destroy()
  },

  async 'headers as the primary sent them'() {
    const pairs = raw => raw.map((name, i) => i % 2 ? null : `${name}: ${raw[i + 1]}`).filter(Boolean).sort()
    for (const path of ['/json', '/silent', '/empty', '/same', '/moved', '/packed']) {
      const headers = { 'Accept-Encoding': 'gzip', Connection: 'close' }
      const [direct, through] = [await ask(path, { base: primary, headers }), await ask(path, { headers })]
      assert.deepEqual(pairs(through.raw), pairs(direct.raw), path)
      assert.equal(through.body, direct.body, path)
      assert.equal(through.status, direct.status, path)
    }
    assert.deepEqual((await ask('/json')).headers['set-cookie'], ['sid=1; Path=/; HttpOnly', 'seen=yes'])
  },

  async 'upload part by part'() {
    const req = http.request(proxy + '/upload?id=node', { method: 'POST' })
    for (let i = 0; i < 4; i++) {
      req.write(`part${i}`)
      await seen('node', 5 * (i + 1))
    }
    req.end()
    assert.equal((await answer(req)).body, 'part0part1part2part3')
  },

  async 'question and answer at once'() {
    const req = http.request(proxy + '/duplex', { method: 'POST' })
    req.write('part0')
    const res = await response(req)
    let i = 0
    for await (const part of res) {
      assert.equal(String(part), `part${i++}`)
      i < 4 ? req.write(`part${i}`) : req.end()
    }
    assert.equal(i, 4)
  },

  async 'trailers both ways'() {
    const req = http.request(proxy + '/trailers', { method: 'POST', headers: { 'Transfer-Encoding': 'chunked', Trailer: 'X-Checksum', TE: 'trailers' } })
    req.write('hello')
    req.addTrailers({ 'X-Checksum': '5d41' })
    req.end()
    const res = await answer(req)
    assert.equal(res.body, 'body')
    assert.equal(res.headers['x-got'], '5d41')
    assert.deepEqual({ ...res.trailers }, { 'x-sum': '4', 'x-late': 'unannounced' })
  },

  async 'expect, accepted'() {
    const req = http.request(proxy + '/echo', { method: 'POST', headers: { Expect: '100-continue', 'Content-Length': 5 } })
    let continued = 0
    req.on('continue', () => { continued++; req.end('hello') })
    const res = await answer(req)
    assert.equal(res.body, 'hello')
    assert.equal(continued, 1)
  },

  async 'expect, refused'() {
    const req = http.request(proxy + '/refuse', { method: 'POST', headers: { Expect: '100-continue', 'Content-Length': 5 } })
    let continued = 0
    req.on('continue', () => continued++)
    const res = await answer(req)
    req.destroy()
    assert.equal(res.status, 403)
    assert.equal(continued, 0)
  },

  async 'gone before the answer'() {
    const agent = new Agent(1)
    const req = http.get(proxy + '/wait?id=early', { agent })
    const failed = new Promise(resolve => req.once('error', resolve))
    await seen('asked-early')
    req.destroy()
    assert.equal((await failed).code, 'ECONNRESET')
    await seen('left-early')
    assert.equal((await ask('/echo', { agent })).status, 200)
    agent.destroy()
  },

  async 'gone in the answer'() {
    const res = await response(http.get(proxy + '/wait?id=late&words=first+words'))
    for await (const words of res) {
      assert.equal(String(words), 'first words')
      break // which destroys the answer
    }
    await seen('left-late')
  },

  async 'an answer that breaks off'() {
    for (const path of ['/cut', '/cut?length=10']) {
      const res = await response(http.get(proxy + path))
      let got = ''
      await assert.rejects(async () => { for await (const part of res) got += part }, { code: 'ECONNRESET' }, path)
      assert.equal(got, 'four')
      assert.equal(res.complete, false)
    }
  },

  async 'informational answers'() {
    const req = http.get(proxy + '/hints')
    const told = []
    req.on('information', info => told.push([info.statusCode, ...info.rawHeaders]))
    const res = await answer(req)
    assert.deepEqual(told, [[103, 'Link', '</a.css>; rel=preload', 'Link', '</b.js>; rel=preload']])
    assert.equal(res.headers['x-a'], '1')
    assert.equal(res.headers.link, undefined)
  },

  async 'events'() {
    const res = await response(http.get(proxy + '/events?id=node', { headers: { Accept: 'text/event-stream' } }))
    let i = 0
    for await (const event of res) {
      assert.equal(String(event), `id: ${i}\ndata: event ${i}\n\n`)
      if (++i === 5) break
      await ask('/next?id=node', { base: primary })
    }
    assert.equal(i, 5)
  },

  async 'an upgrade'() {
    const req = http.get(proxy + '/upgrade', { headers: { Connection: 'Upgrade', Upgrade: 'echo' } })
    const [res, socket, head] = await new Promise((resolve, reject) =>
      req.once('upgrade', (...all) => resolve(all)).once('error', reject))
    assert.equal(res.statusCode, 101)
    assert.equal(res.headers.upgrade, 'echo')
    let got = String(head) // what came right behind the head
    socket.on('data', part => { got += part; if (got === 'welcome') socket.write('one'); if (got === 'welcomeone') socket.end('two') })
    if (got === 'welcome') socket.write('one')
    await new Promise((resolve, reject) => socket.once('end', resolve).once('error', reject))
    assert.equal(got, 'welcomeonetwo') // the primary still speaks when this side has ended
  },

  async 'fetch'() {
    assert.deepEqual(await (await fetch(proxy + '/json')).json(), { price: 10 })
    assert.equal(await (await fetch(proxy + '/packed')).text(), 'tea '.repeat(1000))
    const moved = await fetch(proxy + '/moved')
    assert.equal(moved.redirected, true)
    assert.equal(moved.url, proxy + '/elsewhere?a=b')
    await moved.text()
    const parts = new ReadableStream({
      async start(controller) {
        for (let i = 0; i < 4; i++) {
          controller.enqueue(new TextEncoder().encode(`part${i}`))
          await seen('fetch', 5 * (i + 1))
        }
        controller.close()
      },
    })
    const uploaded = await fetch(proxy + '/upload?id=fetch', { method: 'POST', body: parts, duplex: 'half' })
    assert.equal(await uploaded.text(), 'part0part1part2part3')
    const leaving = new AbortController()
    const gone = fetch(proxy + '/wait?id=fetch', { signal: leaving.signal })
    await seen('asked-fetch')
    leaving.abort()
    await assert.rejects(gone, { name: 'AbortError' })
    await seen('left-fetch')
    await assert.rejects((await fetch(proxy + '/cut?length=10')).text())
  },

  async 'http2'() {
    const session = http2.connect(proxy)
    const failed = new Promise((_, reject) => session.once('error', reject))
    failed.catch(() => {})
    await Promise.race([failed, new Promise(resolve => session.once('remoteSettings', resolve))])
    const send = (headers, body, options) => new Promise((resolve, reject) => {
      const stream = session.request(headers, options)
      let head, trailers, informed = []
      stream.on('headers', h => informed.push(h[':status'])).on('response', h => { head = h }).on('trailers', h => { trailers = h })
      stream.once('wantTrailers', () => stream.sendTrailers({ 'x-checksum': '5d41' })).once('error', reject)
      text(stream).then(body => resolve({ head, trailers, informed, body }), reject)
      stream.end(body)
    })
    const all = await Promise.all(Array.from({ length: 100 }, (_, i) => send({ ':path': `/together?n=100&i=${i}` })))
    for (const [i, res] of all.entries()) assert.equal(res.body, String(i))
    const traded = await send({ ':method': 'POST', ':path': '/trailers', trailer: 'x-checksum', te: 'trailers' }, 'hello', { waitForTrailers: true })
    assert.equal(traded.body, 'body')
    assert.equal(traded.head['x-got'], '5d41')
    assert.equal(traded.trailers['x-sum'], '4')
    assert.equal(traded.trailers['x-late'], 'unannounced')
    const hinted = await send({ ':path': '/hints' })
    assert.deepEqual(hinted.informed, [103])
    assert.equal(hinted.head.link, undefined)
    await assert.rejects(send({ ':path': '/cut?length=10' }))
    const leaving = session.request({ ':path': '/wait?id=http2' })
    leaving.on('error', () => {})
    await seen('asked-http2')
    leaving.close(http2.constants.NGHTTP2_CANCEL)
    await seen('left-http2')
    assert.equal((await send({ ':path': '/json' })).body, '{"price":10}')
    session.close()
  },
}

for (const [story, tell] of Object.entries(stories)) {
  const limit = new Promise((_, reject) => setTimeout(reject, 15000, new Error('not told after 15 s')).unref())
  let error = ''
  try {
    await Promise.race([tell(), limit])
  } catch (e) {
    error = e.stack + (e.cause ? `\n${e.cause.stack}` : '')
  }
  console.log(JSON.stringify({ story, error }))
}
console.log(JSON.stringify({ told: Object.keys(stories).length }))
process.exit(0)
