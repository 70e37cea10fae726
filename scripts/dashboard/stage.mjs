// What the checks of the dashboard stand on: repositories, servers and workers as processes, and people who are signed in.
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'

const { BINARY: binary, WORK: work } = process.env

export const PASSWORD = 'four words put together'

const begun = Date.now()
export const told = (text) => console.log(`dashboard: ${text} (${Math.round((Date.now() - begun) / 1000)} s)`)

export const ask = async (url, options = {}) => {
  const answer = await fetch(url, options)
  return { status: answer.status, headers: answer.headers, body: await answer.text() }
}

export const until = async (what, look, seconds = 60) => {
  for (const end = Date.now() + seconds * 1000; ; await new Promise((resolve) => setTimeout(resolve, 100))) {
    const found = await look()
    if (found) return found
    assert(Date.now() < end, `${what}: not within ${seconds} s`)
  }
}

/** A git repository with these files, by their paths. */
export const makeRepository = (name, files) => {
  const folder = path.join(work, name)
  const git = (...args) => execFileSync('git', ['-C', folder, ...args], { encoding: 'utf8' })
  const commit = (message, more) => {
    for (const [file, text] of Object.entries(more)) {
      mkdirSync(path.dirname(path.join(folder, file)), { recursive: true })
      writeFileSync(path.join(folder, file), text)
    }
    git('add', '.')
    git('commit', '--quiet', '-m', message)
  }
  mkdirSync(folder)
  git('init', '--quiet', '--initial-branch=main')
  git('config', 'user.name', 'Ada')
  git('config', 'user.email', 'ada@example.com')
  commit('Begin', files)
  return { folder, git, commit }
}

/** A data folder, the server that serves it, and workers beside it. */
export class Desk {
  constructor(name, settings = {}, flags = []) {
    this.name = name
    this.flags = flags
    this.data = path.join(work, name)
    this.env = { ...process.env, ...settings }
    this.processes = new Set()
    this.port = 0
  }

  /** Runs a command on the data folder and gives back what it prints. */
  run(...args) {
    return execFileSync(binary, ['--data-dir', this.data, ...args], { encoding: 'utf8', cwd: work, env: this.env, stdio: 'pipe' })
  }

  addAdministrator(email, name) {
    const args = ['--data-dir', this.data, 'user', 'add', email, '--admin', '--name', name]
    execFileSync(binary, args, { cwd: work, env: this.env, input: `${PASSWORD}\n`, stdio: 'pipe' })
  }

  start(...args) {
    const child = spawn(binary, ['--data-dir', this.data, ...args], { cwd: work, env: this.env })
    const it = { child, said: '', log: '', gone: new Promise((resolve) => child.once('exit', resolve)) }
    this.processes.add(it)
    child.stdout.on('data', (text) => (it.said += text))
    child.stderr.on('data', (text) => {
      it.log += text
      writeFileSync(path.join(work, `serve-${this.name}-${args[0]}.log`), it.log)
    })
    it.gone.then(() => this.processes.delete(it))
    return it
  }

  async serve() {
    const server = this.start('serve', '--listen', `127.0.0.1:${this.port}`, ...this.flags)
    server.gone.then(() => (server.ended = true))
    const found = await until('the server listens', () => {
      assert(!server.ended, `the server ended: ${server.log}`)
      return /"listen":"([^"]*)"/.exec(server.log)
    })
    this.url = `http://${found[1]}`
    this.port = new URL(this.url).port
    this.server = server
    return server
  }

  worker() {
    return this.start('worker')
  }

  async stop() {
    for (const it of [...this.processes]) {
      it.child.kill('SIGTERM')
      await it.gone
    }
  }

  /** A link that lets somebody in once. */
  link(...email) {
    return this.run('user', 'link', ...email).trim().replace(/^http:\/\/[^/]*/, this.url)
  }

  /** A browser in which somebody is signed in; the first time by a link. */
  async signedIn(browser, email, options = {}) {
    this.cookies ??= new Map()
    const context = await browser.newContext({ ...options, storageState: this.cookies.get(email) })
    if (!this.cookies.has(email)) {
      const page = await context.newPage()
      await page.goto(this.link(email))
      await page.click('main button.main')
      await page.waitForURL(/\/(\?.*)?$/)
      this.cookies.set(email, await context.storageState())
      await page.close()
    }
    return context
  }

  /** Asks the interface. */
  async api(key, method, address, body) {
    const headers = { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }) }
    const answer = await ask(this.url + address, { method, headers, body: body && JSON.stringify(body) })
    assert(answer.status < 300, `${method} ${address}: ${answer.status} ${answer.body}`)
    return JSON.parse(answer.body)
  }
}
