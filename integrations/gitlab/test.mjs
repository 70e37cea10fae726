// node --test integrations/gitlab/test.mjs: the components hold the scripts as they are, and run in gitlab-ci-local, if that is
// in $COPYDESK_GENERATORS/gitlab/node_modules.
import assert from 'node:assert/strict'
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import test, { after } from 'node:test'

const here = new URL('.', import.meta.url).pathname
const local = path.join(process.env.COPYDESK_GENERATORS ?? '', 'gitlab/node_modules/.bin/gitlab-ci-local')
const skip = !(process.env.COPYDESK_GENERATORS && existsSync(local)) && 'gitlab-ci-local is not installed'
const root = mkdtempSync(path.join(tmpdir(), 'copydesk-'))
after(() => rmSync(root, { recursive: true, force: true }))

for (const name of ['job', 'check']) {
  test(`the component ${name} holds the script`, () => {
    const template = readFileSync(path.join(here, `templates/${name}.yml`), 'utf8')
    const [, held] = template.match(/<<'END_OF_COPYDESK'\n([^]*?) *END_OF_COPYDESK\n/)
    const script = readFileSync(path.join(here, `../${name}/copydesk-${name}.sh`), 'utf8')
    assert.equal(held.replace(/^ {6}/gm, ''), script, `copy ${name}/copydesk-${name}.sh into it again`)
    const [head] = template.split('\n---\n')
    for (const [, used] of template.matchAll(/\$\[\[ inputs\.([a-z-]+) \]\]/g)) {
      assert.ok(head.includes(`\n    ${used}:\n`), `${used} is an input`)
    }
  })
}

const yaml = spawnSync('python3', ['-c', 'import yaml'])
const without = yaml.status !== 0 && 'Python has no yaml'

/** The jobs of a component after GitLab has put its inputs in: as text, before anything reads it as YAML. */
function pasted(name, inputs) {
  const template = readFileSync(path.join(here, `templates/${name}.yml`), 'utf8')
  const end = template.indexOf('\n---\n')
  const parse = 'import json, sys, yaml; json.dump(list(yaml.safe_load_all(sys.stdin)), sys.stdout)'
  const parsed = (text) => JSON.parse(execFileSync('python3', ['-c', parse], { input: text, encoding: 'utf8' }))[0]
  const known = parsed(template.slice(0, end)).spec.inputs
  const text = template.slice(end + 5).replace(/\$\[\[ inputs\.([a-z-]+) \]\]/g, (_, input) => {
    const value = inputs[input] ?? known[input].default
    if (known[input].regex) assert.match(value, new RegExp(known[input].regex), input)
    return typeof value === 'string' ? value : JSON.stringify(value)
  })
  return parsed(text)
}

test('whatever a prompt says, it is what the job gets', { skip: without }, () => {
  for (const prompt of ['Replace "C:\\new" with \'it\'', '- a: b # no comment', '"Quoted"', '&x *y !z %w @v `u`', '{{ x }}: [']) {
    const { variables, rules } = pasted('job', { url: 'https://copydesk.example', project: 'docs', prompt })['update-docs']
    assert.equal(variables.COPYDESK_PROMPT, prompt)
    assert.deepEqual([variables.COPYDESK_DRAFT, variables.COPYDESK_MODEL], ['false', ''])
    assert.deepEqual(rules, [{ if: '$CI_COMMIT_TAG' }])
  }
  const lines = { url: 'https://copydesk.example', project: 'docs', prompt: 'One\nTwo' }
  assert.throws(() => pasted('job', lines), /prompt/, 'GitLab refuses a second line')
})

test('the check looks at every folder that is named', { skip: without }, () => {
  const program = path.join(root, 'told')
  writeFileSync(program, '#!/bin/sh\nfor one in "$@"; do printf "<%s>" "$one"; done\n')
  chmodSync(program, 0o755)
  for (const [folders, wanted] of [
    ['docs, more "docs",a\\b', '<--docs-path><docs><--docs-path><more "docs"><--docs-path><a\\b>'],
    ['docs', '<--docs-path><docs>'],
    ['', ''],
  ]) {
    const job = pasted('check', { program, 'docs-paths': folders, base: '' })['check-docs']
    const env = { PATH: process.env.PATH, TMPDIR: root, ...job.variables }
    const { status, stdout, stderr } = spawnSync('sh', ['-c', job.script.join('\n')], { env, cwd: root, encoding: 'utf8' })
    assert.equal(status, 0, stderr)
    assert.equal(stdout, `<check><--format><text>${wanted}<--><.>`)
  }
})

/** A repository that includes a component. */
function repository(name, inputs) {
  const folder = path.join(root, name)
  mkdirSync(path.join(folder, 'templates'), { recursive: true })
  // Without its image it runs in a shell, and needs no containers.
  const template = readFileSync(path.join(here, `templates/${name}.yml`), 'utf8').replace(/^  image:.*\n/m, '')
  writeFileSync(path.join(folder, `templates/${name}.yml`), template)
  const given = JSON.stringify({ include: [{ local: `templates/${name}.yml`, inputs: { rules: [{ when: 'on_success' }], ...inputs } }], stages: ['test', 'deploy'] })
  writeFileSync(path.join(folder, '.gitlab-ci.yml'), given)
  const git = (...args) => execFileSync('git', ['-c', 'user.name=A', '-c', 'user.email=a@example.com', ...args], { cwd: folder, stdio: 'ignore' })
  git('init', '-q', '-b', 'main')
  git('remote', 'add', 'origin', 'git@gitlab.example:acme/docs.git')
  git('add', '-A')
  git('commit', '-qm', 'Write the docs')
  return folder
}

const flags = (job) => ['--no-artifacts-to-source', job]

test('the check runs with its inputs', { skip }, () => {
  const program = path.join(root, 'program')
  writeFileSync(program, '#!/bin/sh\nfor one in "$@"; do printf "<%s>" "$one"; done\nexit "${STATUS:-0}"\n')
  chmodSync(program, 0o755)
  const folder = repository('check', { program, 'docs-paths': 'docs, guides', base: '' })
  const { status, stdout, stderr } = spawnSync(local, flags('check-docs'), { cwd: folder, encoding: 'utf8' })
  assert.equal(status, 0, stdout + stderr)
  assert.ok(stdout.includes('<check><--format><text><--docs-path><docs><--docs-path><guides><--><.>'), stdout)
  writeFileSync(program, '#!/bin/sh\nexit 1\n')
  assert.equal(spawnSync(local, flags('check-docs'), { cwd: folder }).status, 1, 'what was found fails the job')
})

test('the job asks Copydesk and waits', { skip }, async () => {
  const seen = []
  const server = http.createServer(async (request, response) => {
    let body = ''
    for await (const part of request) body += part
    seen.push([request.method, request.url, request.headers.authorization, body && JSON.parse(body)])
    const job = { id: 'one', status: 'completed', outcome: 'pr_created', prLink: 'https://x/1', message: 'Done' }
    response.writeHead(request.method === 'POST' ? 201 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(job))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${server.address().port}`
  const folder = repository('job', { url, project: 'docs', prompt: 'Fix "it" $CI_COMMIT_BRANCH', draft: true })
  const child = spawn(local, ['--variable', 'COPYDESK_API_KEY=k', ...flags('update-docs')], { cwd: folder })
  let out = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (out += data))
  const [status] = await once(child, 'exit')
  server.close()
  assert.equal(status, 0, out)
  assert.deepEqual(seen[0], ['POST', '/v2/agent/docs/job', 'Bearer k', { prompt: 'Fix "it" main', draft: true }])
  assert.ok(out.includes('https://x/1'), out)
})
