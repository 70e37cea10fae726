// node --test integrations/test.mjs: the pieces against a stand-in for Copydesk, nginx for real if it is installed.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import test from 'node:test'

import { startNginx } from './nginx.mjs'

const here = new URL('.', import.meta.url).pathname
const CHROME = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36'

/** A module of this folder, which has no package.json to say that it is one. */
const load = (file) =>
  import('data:text/javascript,' + encodeURIComponent(readFileSync(path.join(here, file), 'utf8')))

/** Runs with another fetch and gives the requests that were made of Copydesk. */
async function withFetch(answer, run) {
  const real = globalThis.fetch
  const sent = []
  globalThis.fetch = async (target, init) => {
    if (target instanceof Request) return answer
    sent.push({ target, key: init.headers.authorization, event: JSON.parse(init.body) })
    return new Response('{}', { status: sent.length === 1 && answer.status === 200 ? 503 : 200 })
  }
  try {
    await run()
  } finally {
    globalThis.fetch = real
  }
  return sent
}

const page = (type, status = 200) => new Response('x', { status, headers: { 'content-type': type } })

test('the Worker tells of pages, and again when it was told to come later', async () => {
  const worker = (await load('cloudflare-worker/worker.js')).default
  const env = { COPYDESK_URL: 'https://c.example', COPYDESK_PROJECT: 'docs', COPYDESK_KEY: 'k' }
  const ask = (response, init = {}) =>
    withFetch(response, async () => {
      const waits = []
      const headers = { 'user-agent': CHROME, 'cf-ray': '1', 'cf-connecting-ip': '192.0.2.1', ...init.headers }
      const request = new Request('https://docs.example.com/x?y', { method: init.method, headers })
      assert.equal(await worker.fetch(request, env, { waitUntil: (it) => waits.push(it) }), response)
      await Promise.all(waits)
    })
  const [first, again, ...more] = await ask(page('text/html; charset=utf-8'))
  assert.equal(more.length, 0)
  assert.deepEqual(first, again)
  assert.equal(first.target, 'https://c.example/v1/analytics/docs/events')
  assert.equal(first.key, 'Bearer k')
  const { timestamp, ...event } = first.event
  assert.ok(Math.abs(Date.now() - timestamp) < 60_000)
  const plain = { url: 'https://docs.example.com/x?y', userAgent: CHROME, ip: '192.0.2.1', method: 'GET', status: 200, id: '1' }
  assert.deepEqual(event, plain)
  assert.equal((await ask(page('text/html', 404)))[0].event.status, 404)
  assert.equal((await ask(page('text/markdown'))).length, 2)
  assert.equal((await ask(page('image/png'))).length, 0)
  assert.equal((await ask(page('text/html'), { method: 'POST' })).length, 0)
  assert.equal((await ask(page('text/html'), { headers: { 'sec-purpose': 'prefetch' } })).length, 0)
})

test('the Next.js middleware tells of pages and lets them through', async () => {
  const { middleware, config } = await load('nextjs/middleware.js')
  Object.assign(process.env, { COPYDESK_URL: 'https://c.example', COPYDESK_PROJECT: 'docs', COPYDESK_KEY: 'k' })
  const ask = (method) =>
    withFetch(page('text/html', 404), async () => {
      const waits = []
      const headers = new Headers({ 'user-agent': CHROME, 'x-forwarded-for': '192.0.2.1, 10.0.0.1', accept: 'text/html' })
      const request = { method, headers, nextUrl: new URL('https://docs.example.com/x?y') }
      assert.equal(middleware(request, { waitUntil: (it) => waits.push(it) }), undefined)
      await Promise.all(waits)
    })
  const [{ target, event }, ...more] = await ask('GET')
  assert.equal(more.length, 0)
  assert.equal(target, 'https://c.example/v1/analytics/docs/events')
  assert.equal(event.path, '/x?y')
  assert.equal(event.ip, '192.0.2.1')
  assert.equal(event.userAgent, CHROME)
  assert.ok(event.id && event.timestamp)
  assert.equal((await ask('POST')).length, 0)
  const source = new RegExp('^' + config.matcher[0].source + '$')
  for (const it of ['/', '/guide', '/guide.md', '/v1.2/x', '/llms.txt']) assert.ok(source.test(it), it)
  for (const it of ['/_next/static/x.js', '/api/x', '/logo.svg', '/app.css']) assert.ok(!source.test(it), it)
})

const hasNginx = () => {
  try {
    execFileSync('nginx', ['-v'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

test('nginx tells of pages, and is not fooled by quotes', { skip: !hasNginx() && 'nginx is not installed' }, async () => {
  const told = []
  const catcher = http.createServer((request, response) => {
    let body = ''
    request.on('data', (data) => (body += data))
    request.on('end', () => {
      told.push({ url: request.url, method: request.method, headers: request.headers, event: JSON.parse(body) })
      response.end('{}')
      catcher.emit('told')
    })
  })
  catcher.listen(0, '127.0.0.1')
  await once(catcher, 'listening')
  const upstream = `http://127.0.0.1:${catcher.address().port}`
  const { port, ask, stop } = await startNginx((piece) => piece.replace('https://copydesk.example.com', upstream))
  try {
    const first = once(catcher, 'told')
    await ask('/x?y', { 'user-agent': CHROME, accept: 'text/markdown' })
    await first
    await ask('/not-told?a="b"', { 'user-agent': CHROME })
    await ask('/ahead', { 'user-agent': CHROME, 'sec-purpose': 'prefetch' })
    assert.equal(await ask('/_copydesk'), 404, 'it is nobody else’s business')
    const last = once(catcher, 'told')
    await ask('/quoted', { 'user-agent': 'x","path":"/evil' })
    await last
    assert.deepEqual(
      told.map(({ event }) => [event.path, event.userAgent, event.accept, event.ip]),
      [
        ['/x?y', CHROME, 'text/markdown', '127.0.0.1'],
        ['/quoted', '', '', '127.0.0.1'],
      ],
    )
    const [{ url, method, headers, event }] = told
    assert.deepEqual([url, method], ['/v1/analytics/docs/events', 'POST'])
    assert.equal(headers.authorization, 'Bearer copydesk_KEY')
    assert.equal(headers['content-type'], 'application/json')
    assert.match(event.id, /^[0-9a-f]{32}$/)
    assert.equal(headers['x-copydesk-authority'], `127.0.0.1:${port}`)
    assert.ok(!('x-copydesk-signature' in headers), 'what is not there is not sent')
  } finally {
    await stop()
    catcher.close()
  }
})
