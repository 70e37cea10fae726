// node --test integrations/signatures.mjs: agents that sign their requests, through every piece, to a real server. Started
// by scripts/check-signatures, which says where the server is and who signs.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import test from 'node:test'

import { startNginx } from './nginx.mjs'

const here = new URL('.', import.meta.url).pathname
const { COPYDESK_URL, COPYDESK_PROJECT, COPYDESK_KEY, NODE_FOLDER, SIGNING_KEY } = process.env
const { signatureHeaders } = await import(`${NODE_FOLDER}/web-bot-auth/dist/index.mjs`)
const { signerFromJWK } = await import(`${NODE_FOLDER}/web-bot-auth/dist/crypto.mjs`)
const signer = await signerFromJWK(JSON.parse(readFileSync(SIGNING_KEY, 'utf8')))
const CHROME = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36'

const load = (file) =>
  import('data:text/javascript,' + encodeURIComponent(readFileSync(path.join(here, file), 'utf8')))

/** The headers of a signed request of an agent that looks like a browser. */
async function signed(url) {
  const agent = { 'signature-agent': '"https://agent.example"' }
  const created = new Date()
  const params = { created, expires: new Date(created.getTime() + 300_000) }
  const made = await signatureHeaders(new Request(url, { headers: agent }), signer, params)
  return { ...agent, signature: made.Signature, 'signature-input': made['Signature-Input'], 'user-agent': CHROME }
}

/** How many people and how many AI agents saw a page, as soon as so many views of it are counted. */
async function seen(page, views) {
  for (let left = 200; ; left--) {
    const asked = await fetch(`${COPYDESK_URL}/v1/analytics/${COPYDESK_PROJECT}/views`, {
      headers: { authorization: `Bearer ${COPYDESK_KEY}` },
    })
    const found = (await asked.json()).views.find((it) => it.path === page)
    if (found?.total === views) return [found.human, found.ai]
    assert.ok(left, `${page}: ${JSON.stringify(found)}, not ${views} views`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

test('a signature that came through the Worker counts once', async () => {
  const worker = (await load('cloudflare-worker/worker.js')).default
  const url = 'https://docs.example.com/worker?a=b'
  const headers = await signed(url)
  const real = globalThis.fetch
  const answer = () => new Response('x', { headers: { 'content-type': 'text/html' } })
  globalThis.fetch = (target, init) => (target instanceof Request ? answer() : real(target, init))
  try {
    for (let times = 0; times < 2; times++) {
      const waits = []
      await worker.fetch(new Request(url, { headers }), process.env, { waitUntil: (it) => waits.push(it) })
      await Promise.all(waits)
    }
  } finally {
    globalThis.fetch = real
  }
  assert.deepEqual(await seen('/worker', 2), [1, 1])
})

test('a signature that came through the Next.js middleware counts once', async () => {
  const { middleware } = await load('nextjs/middleware.js')
  const url = 'https://docs.example.com/next?a=b'
  const headers = new Headers({ ...(await signed(url)), host: 'docs.example.com' })
  for (let times = 0; times < 2; times++) {
    const waits = []
    middleware({ method: 'GET', headers, nextUrl: new URL(url) }, { waitUntil: (it) => waits.push(it) })
    await Promise.all(waits)
  }
  assert.deepEqual(await seen('/next', 2), [1, 1])
})

test('a signature that came through nginx counts once', async () => {
  const nginx = await startNginx((piece) =>
    piece
      .replace('https://copydesk.example.com', COPYDESK_URL)
      .replace('/docs/', `/${COPYDESK_PROJECT}/`)
      .replace('copydesk_KEY', COPYDESK_KEY),
  )
  try {
    const headers = { ...(await signed('https://docs.example.com/nginx?a=b')), host: 'docs.example.com' }
    await nginx.ask('/nginx?a=b', headers)
    assert.deepEqual(await seen('/nginx', 1), [0, 1])
    await nginx.ask('/nginx?a=b', headers)
    assert.deepEqual(await seen('/nginx', 2), [1, 1])
  } finally {
    await nginx.stop()
  }
})
