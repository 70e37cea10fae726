// node --test integrations/check/test.mjs: the script of the action with a stand-in for the program, and git for real.
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import test, { after } from 'node:test'

const script = new URL('copydesk-check.sh', import.meta.url).pathname
const folder = mkdtempSync(path.join(tmpdir(), 'copydesk-'))
after(() => rmSync(folder, { recursive: true }))
const program = path.join(folder, 'copydesk')
writeFileSync(program, '#!/bin/sh\nfor one in "$@"; do printf "<%s>" "$one"; done\nexit 1\n')
chmodSync(program, 0o755)

function run(environment, cwd = folder) {
  const env = { PATH: process.env.PATH, COPYDESK_PROGRAM: program, ...environment }
  const { status, stdout, stderr } = spawnSync('sh', [script], { env, cwd, encoding: 'utf8' })
  return { status, stdout, stderr }
}

const git = (cwd, ...args) =>
  execFileSync('git', ['-c', 'user.name=A', '-c', 'user.email=a@example.com', ...args], {
    cwd,
    encoding: 'utf8',
    env: { PATH: process.env.PATH, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' },
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim()

test('settings become flags, and the exit code is that of the program', () => {
  assert.deepEqual(run({}), { status: 1, stdout: '<check><--format><text><--><.>', stderr: '' })
  const { stdout } = run({ COPYDESK_DOCS_PATHS: 'docs\n\na b; c\n', COPYDESK_FORMAT: 'github', COPYDESK_FOLDER: '-x' })
  assert.equal(stdout, '<check><--format><github><--docs-path><docs><--docs-path><a b; c><--><-x>')
})

test('what was found goes into a file if one is named', () => {
  const output = path.join(folder, 'found.sarif')
  assert.deepEqual(run({ COPYDESK_OUTPUT: output, COPYDESK_FORMAT: 'sarif' }), { status: 1, stdout: '', stderr: '' })
  assert.equal(readFileSync(output, 'utf8'), '<check><--format><sarif><--><.>')
})

test('a missing program is said', () => {
  const { status, stderr } = run({ COPYDESK_PROGRAM: path.join(folder, 'none') })
  assert.equal(status, 2)
  assert.ok(stderr.includes('is missing'))
})

test('a commit that a shallow clone does not hold is fetched', () => {
  const origin = path.join(folder, 'origin')
  const clone = path.join(folder, 'clone')
  git(folder, 'init', '-q', '-b', 'main', origin)
  git(origin, 'config', 'uploadpack.allowAnySHA1InWant', 'true')
  git(origin, 'commit', '-q', '--allow-empty', '-m', 'one')
  const base = git(origin, 'rev-parse', 'HEAD')
  git(origin, 'commit', '-q', '--allow-empty', '-m', 'two')
  git(folder, 'clone', '-q', '--depth=1', `file://${origin}`, clone)
  assert.equal(run({ COPYDESK_BASE: base }, clone).stdout, `<check><--format><text><--base><${base}><--><.>`)
  assert.equal(git(clone, 'cat-file', '-t', base), 'commit')
  // What nobody has is left to the program, which says so.
  assert.ok(run({ COPYDESK_BASE: 'nowhere' }, clone).stdout.includes('<--base><nowhere>'))
})

const preCommit = (process.env.PATH ?? '').split(':').map((folder) => path.join(folder, 'pre-commit')).find((file) => existsSync(file))

test('pre-commit runs the hook', { skip: !preCommit && 'pre-commit is not installed' }, () => {
  const hooks = path.join(folder, 'hooks')
  const site = path.join(folder, 'site')
  git(folder, 'init', '-q', '-b', 'main', hooks)
  copyFileSync(new URL('../../.pre-commit-hooks.yaml', import.meta.url), path.join(hooks, '.pre-commit-hooks.yaml'))
  git(hooks, 'add', '-A')
  git(hooks, 'commit', '-qm', 'Hook')
  git(folder, 'init', '-q', '-b', 'main', site)
  const rev = git(hooks, 'rev-parse', 'HEAD')
  const hook = { repos: [{ repo: hooks, rev, hooks: [{ id: 'copydesk-check' }] }] }
  writeFileSync(path.join(site, '.pre-commit-config.yaml'), JSON.stringify(hook))
  git(site, 'add', '-A')
  git(site, 'commit', '-qm', 'Site')
  const env = {
    ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', PATH: `${folder}:${process.env.PATH}`,
    PRE_COMMIT_HOME: path.join(folder, 'pre-commit-home'),
  }
  const { status, stdout } = spawnSync(preCommit, ['run', '--all-files'], { cwd: site, env, encoding: 'utf8' })
  assert.equal(status, 1, stdout)
  assert.ok(stdout.includes('<check><--base><HEAD>'), stdout)
})
