// node --test integrations/signatures.mjs: agents that sign their requests, through every piece, to a real server. Started
// by scripts/check-signatures, which says where the server is and who signs.
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import test from 'node:test'

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

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}

test('a signature that came through nginx counts once', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'copydesk-signed-'))
  cpSync(path.join(here, 'nginx'), folder, { recursive: true })
  const file = path.join(folder, 'copydesk-server.conf')
  const own = readFileSync(file, 'utf8')
    .replace('https://copydesk.example.com', COPYDESK_URL)
    .replace('/docs/', `/${COPYDESK_PROJECT}/`)
    .replace('copydesk_KEY', COPYDESK_KEY)
  writeFileSync(file, own)
  const port = await freePort()
  const conf = path.join(folder, 'nginx.conf')
  writeFileSync(
    conf,
    `daemon off; pid ${folder}/pid; error_log ${folder}/error.log;
     events {}
     http {
       access_log off; client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy;
       fastcgi_temp_path ${folder}/f; uwsgi_temp_path ${folder}/u; scgi_temp_path ${folder}/s;
       include ${folder}/copydesk-http.conf;
       server {
         listen 127.0.0.1:${port};
         location / { mirror /_copydesk; mirror_request_body off; default_type text/html; alias ${conf}; }
         include ${file};
       }
     }`,
  )
  execFileSync('nginx', ['-t', '-q', '-c', conf, '-e', path.join(folder, 'error.log')])
  const nginx = spawn('nginx', ['-c', conf, '-e', path.join(folder, 'error.log')])
  const ask = (method, headers) =>
    new Promise((resolve, reject) => {
      const request = http.request({ host: '127.0.0.1', port, path: '/nginx?a=b', method, headers, agent: false })
      request.on('response', (response) => response.resume().on('end', () => resolve(response.statusCode)))
      request.on('error', reject).end()
    })
  try {
    while (!(await ask('HEAD', {}).catch(() => 0))) await new Promise((resolve) => setTimeout(resolve, 50))
    const headers = { ...(await signed('https://docs.example.com/nginx?a=b')), host: 'docs.example.com' }
    await ask('GET', headers)
    assert.deepEqual(await seen('/nginx', 1), [0, 1])
    await ask('GET', headers)
    assert.deepEqual(await seen('/nginx', 2), [1, 1])
  } finally {
    nginx.kill()
    await once(nginx, 'exit')
    rmSync(folder, { recursive: true })
  }
})
