// Run by scripts/dashboard-test: the dashboard in Chromium, as people use it, against a server that it starts itself.
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'

const { BINARY: binary, WORK: work, NODE_FOLDER: modules, SCREENSHOTS: pictures } = process.env
const require = createRequire(path.join(modules, 'x.js'))
const { chromium } = require('playwright-core')
const axeSource = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8')

const PASSWORD = 'four words put together'
const WIDTHS = [320, 390, 768, 1280, 2560]
const data = path.join(work, 'data')
const repository = path.join(work, 'docs-repository')

// ---- a repository, a server, a browser ----

const git = (...args) => execFileSync('git', ['-C', repository, ...args], { encoding: 'utf8' })
const makeRepository = () => {
  mkdirSync(path.join(repository, 'docs'), { recursive: true })
  const page = (name, text) => writeFileSync(path.join(repository, 'docs', name), text)
  page('index.md', '# Welcome\n\nAcme Cloud is a place for files. You recieve an address.\n\nSee [the guide](guide.md).\n')
  page('guide.md', '# Guide\n\nFirst open Acme Cloud.\n\n## Limits\n\nThere is [no such page](gone.md).\n')
  git('init', '--quiet', '--initial-branch=main')
  git('config', 'user.name', 'Ada')
  git('config', 'user.email', 'ada@example.com')
  git('add', '.')
  git('commit', '--quiet', '-m', 'Begin')
}

const run = (...args) => execFileSync(binary, ['--data-dir', data, ...args], { encoding: 'utf8', cwd: work })

let port = 0
const serve = async (...flags) => {
  const child = spawn(binary, ['--data-dir', data, 'serve', '--listen', `127.0.0.1:${port}`, ...flags], { cwd: work })
  let said = '', log = ''
  child.stdout.on('data', (text) => (said += text))
  const url = await new Promise((resolve, reject) => {
    child.stderr.on('data', (text) => {
      log += text
      writeFileSync(path.join(work, 'serve.log'), log)
      const found = /"listen":"([^"]*)"/.exec(log)
      if (found) resolve(`http://${found[1]}`)
    })
    child.once('exit', () => reject(new Error(`the server ended: ${log}`)))
  })
  port = new URL(url).port
  return { child, url, said: () => said }
}
const ended = (server) => new Promise((resolve) => (server.child.exitCode !== null || server.child.signalCode ? resolve() : server.child.once('exit', resolve)))

const until = async (what, look, seconds = 30) => {
  for (const end = Date.now() + seconds * 1000; ; await new Promise((resolve) => setTimeout(resolve, 100))) {
    const found = await look()
    if (found) return found
    assert(Date.now() < end, `${what}: not within ${seconds} s`)
  }
}

// ---- what is asked of every page ----

let origin
const watch = (page, faults) => {
  page.on('console', (message) => { if (['error', 'warning'].includes(message.type())) faults.push(`${page.url()}: ${message.text()}`) })
  page.on('pageerror', (error) => faults.push(`${page.url()}: ${error}`))
  page.on('request', (request) => { if (!request.url().startsWith(origin)) faults.push(`asked ${request.url()}`) })
}

const checkAxe = async (page, what) => {
  await page.evaluate(axeSource)
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }))
  const told = violations.map((it) => `${it.id}: ${it.help}: ${it.nodes.map((node) => node.html).slice(0, 3).join(' | ')}`)
  assert.deepEqual(told, [], `axe on ${what}`)
}

const checkWidths = async (page, what) => {
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 })
    const over = await page.evaluate(() => {
      const wide = document.documentElement.scrollWidth - innerWidth
      if (wide <= 0) return null
      const culprit = [...document.querySelectorAll('body *')].find((it) => it.getBoundingClientRect().right > innerWidth + 1 && !it.closest('.scroll, pre'))
      return `${wide} px too wide: ${culprit?.outerHTML.slice(0, 200)}`
    })
    assert.equal(over, null, `${what} at ${width} px`)
  }
}

const checkShift = async (page, what) => {
  const shift = await page.evaluate(() => new Promise((resolve) => {
    let sum = 0
    new PerformanceObserver((list) => { for (const it of list.getEntries()) if (!it.hadRecentInput) sum += it.value }).observe({ type: 'layout-shift', buffered: true })
    setTimeout(() => resolve(sum), 100)
  }))
  assert(shift < 0.02, `${what} moves by ${shift}`)
}

const weigh = async (context, address) => {
  const page = await context.newPage()
  const session = await context.newCDPSession(page)
  await session.send('Network.enable')
  await session.send('Network.setCacheDisabled', { cacheDisabled: true })
  let bytes = 0
  session.on('Network.loadingFinished', (it) => (bytes += it.encodedDataLength))
  await page.goto(address, { waitUntil: 'networkidle' })
  await page.close()
  return bytes
}

export { assert }

// ---- the story ----

const told = (text) => console.log(`dashboard: ${text}`)
const ask = async (url, options = {}) => {
  const answer = await fetch(url, options)
  return { status: answer.status, body: await answer.text() }
}
/** Runs a command of the page as it stands there. */
const inShell = (command) => execFileSync('bash', ['-c', command], { encoding: 'utf8' })

const story = async (browser, { scripts }) => {
  const words = scripts ? 'with scripts' : 'without scripts'
  const context = await browser.newContext({ javaScriptEnabled: scripts, permissions: scripts ? ['clipboard-read', 'clipboard-write'] : [] })
  const page = await context.newPage()
  const faults = []
  watch(page, faults)
  const server = { url: origin }
  const link = run('user', 'link').trim().replace(/^http:\/\/[^/]*/, server.url)
  const email = `${scripts ? 'ada' : 'bob'}@example.com`

  await page.goto(link)
  await page.fill('[name=name]', 'Ada Lovelace')
  await page.fill('[name=email]', email)
  await page.fill('[name=password]', 'short')
  await page.click('main button.main')
  assert.match(await page.textContent('main'), /Must have at least 10 characters/)
  await page.fill('[name=password]', PASSWORD)
  await page.click('main button.main')
  await page.waitForURL(`${server.url}/`)

  // A project.
  const name = scripts ? 'Acme Docs' : 'Plain Docs'
  await makeProject(page, name)
  const project = /\/p\/([^/?]*)/.exec(page.url())[1]

  // A key, used as the page shows it.
  await page.goto(`${server.url}/p/${project}/keys`)
  await page.fill('[name=name]', 'CI')
  await page.click('main aside button.main')
  const key = (await page.textContent('#key')).trim()
  let command = (await page.textContent('#curl')).trim()
  if (scripts) {
    await page.click('copy-button[from=curl] button')
    command = await page.evaluate(() => navigator.clipboard.readText())
  }
  const job = JSON.parse(inShell(`${command} --silent --show-error`))
  assert.equal(job.status, 'active')
  await page.goto(`${server.url}/p/${project}/keys`)
  assert(!(await page.content()).includes(key), 'a key is shown once')

  await watchJob(page, { project, job, scripts })
  await readAndMerge(page, { project, job })
  await readViews(page, { project, key, scripts })

  // Revoked, the next request is refused.
  await page.goto(`${server.url}/p/${project}/keys`)
  await page.click('a.danger')
  await page.click('main button.danger')
  assert.match(await page.textContent('main'), /revoked/)
  const refused = await ask(`${server.url}/v2/agent/${project}/jobs`, { headers: { authorization: `Bearer ${key}` } })
  assert.equal(refused.status, 401)

  // Out, and the way back shows nothing.
  await page.click('form[action="/sign-out"] button')
  await page.waitForURL(/\/sign-in/)
  await page.goBack()
  await page.waitForURL(/\/sign-in/).catch(() => {})
  assert.match(page.url(), /\/sign-in/, 'the way back leads to sign-in')
  assert.deepEqual(faults, [], `nothing to complain of ${words}`)
  await context.close()
  told(`the story ${words}`)
  return { project, email }
}
