// node --test integrations/job/test.mjs: the script of the action against a stand-in for Copydesk that keeps one job.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import test from 'node:test'

const script = new URL('copydesk-job.sh', import.meta.url).pathname
const KEY = 'copydesk_planted'

/** What all programs on the machine were started with. */
const started = () =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
      } catch {
        return ''
      }
    })
    .join('\n')

/** Runs the script against a server that gives these answers, one after the other; the last one again and again. */
async function run(answers, environment = {}, during = () => {}) {
  const seen = []
  const server = http.createServer(async (request, response) => {
    let body = ''
    for await (const part of request) body += part
    assert.equal(request.headers.authorization, `Bearer ${KEY}`)
    assert.ok(!started().includes(KEY), 'the key is in nobody’s arguments')
    seen.push({ what: `${request.method} ${request.url}`, key: request.headers['idempotency-key'], body })
    const [status, answer, headers = {}] = answers.length > 1 ? answers.shift() : answers[0]
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify(answer))
    during(seen, child)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const folder = mkdtempSync(path.join(tmpdir(), 'copydesk-'))
  const output = path.join(folder, 'output')
  const env = {
    PATH: process.env.PATH,
    COPYDESK_URL: `http://127.0.0.1:${server.address().port}/`,
    COPYDESK_PROJECT: 'docs',
    COPYDESK_API_KEY: KEY,
    COPYDESK_PROMPT: 'Say "hello"\nto all.',
    COPYDESK_INTERVAL: '0',
    COPYDESK_OUTPUT: output,
    ...environment,
  }
  const child = spawn('sh', [script], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let told = ''
  child.stdout.on('data', (data) => (told += data))
  child.stderr.on('data', (data) => (told += data))
  const [code] = await once(child, 'close')
  server.close()
  const results = code === 2 ? '' : readFileSync(output, 'utf8')
  rmSync(folder, { recursive: true })
  return { code, told, seen, results }
}

const job = (status, more = {}) => ({ id: 'j1', status, outcome: null, prLink: null, message: null, ...more })

test('a job is created, followed and told of', async () => {
  const done = job('completed', { outcome: 'pr_created', prLink: 'https://h/pull/1', message: 'Done.\nAll of it.' })
  const { code, told, seen, results } = await run(
    [[429, { error: 'Wait.' }, { 'retry-after': '0' }], [201, job('active')], [200, job('active')], [503, {}], [200, done]],
    { COPYDESK_IDEMPOTENCY_KEY: 'run-1', COPYDESK_DRAFT: 'true', COPYDESK_BASE_REF: 'next' },
  )
  assert.equal(code, 0, told)
  assert.deepEqual(seen.map(({ what }) => what).slice(0, 3), [
    'POST /v2/agent/docs/job',
    'POST /v2/agent/docs/job',
    'GET /v2/agent/docs/job/j1',
  ])
  assert.equal(seen[0].key, 'run-1')
  assert.deepEqual(JSON.parse(seen[0].body), { prompt: 'Say "hello"\nto all.', baseRef: 'next', draft: true })
  assert.equal(
    results,
    'job-id=j1\nstatus=completed\noutcome=pr_created\npr-link=https://h/pull/1\nmessage=Done. All of it.\n',
  )
  assert.ok(told.includes('https://h/pull/1') && !told.includes(KEY))
})

test('a failed job fails the step', async () => {
  const failed = job('failed', { outcome: 'error', message: 'It broke.' })
  const { code, told } = await run([[201, job('active')], [200, failed]])
  assert.equal(code, 1)
  assert.ok(told.includes('It broke.'))
})

test('what cannot be created is said in the words of the server', async () => {
  const { code, told, seen } = await run([[403, { error: 'The key may only read.' }]])
  assert.deepEqual([code, seen.length], [2, 1])
  assert.ok(told.includes('The key may only read.'))
  const lost = await run([[502, {}]])
  assert.deepEqual([lost.code, lost.seen.length], [2, 1], 'without an idempotency key nothing is tried again')
  assert.equal((await run([[200, {}]], { COPYDESK_PROMPT: '' })).seen.length, 0)
})

test('a step that is stopped cancels its job', async () => {
  const stop = (seen, child) => seen.length === 2 && child.kill('SIGTERM')
  const { code, seen } = await run([[201, job('active')], [200, job('active')]], { COPYDESK_INTERVAL: '1' }, stop)
  assert.equal(code, 2)
  assert.equal(seen.at(-1).what, 'POST /v2/agent/docs/job/j1/cancel')
})
