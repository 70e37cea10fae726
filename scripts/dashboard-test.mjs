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
  // A form that is sent back with what is wrong has a status that the browser tells of.
  page.on('console', (message) => { if (['error', 'warning'].includes(message.type()) && !/status of 422/.test(message.text())) faults.push(`${page.url()}: ${message.text()}`) })
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
      const clipped = (it) => { for (; it; it = it.parentElement) if (getComputedStyle(it).overflowX !== 'visible') return true; return false }
      const culprit = [...document.querySelectorAll('body *')].find((it) => it.getBoundingClientRect().right > innerWidth + 1 && !clipped(it))
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

// ---- parts of the story ----

const makeProject = async (page, name) => {
  await page.click('a[href="/new"]')
  await page.fill('[name=name]', name)
  await page.fill('[name=repository]', repository)
  await page.click('main button.main')
  await page.click('form[action$="/test"] button')
  await page.waitForLoadState()
  const lines = await page.textContent('main')
  assert.match(lines, /A job can run|works/i, 'the connection works')
  await page.click('main a.main')
  await page.waitForURL(/collection/)
  const project = /\/new\/([^/]*)/.exec(page.url())[1]
  await page.goto(`${origin}/p/${project}`)
  assert.match(await page.textContent('main'), /first/i, 'a new project says what is left to do')
}

/** The job is watched to its end: by itself, or by loading the page again. */
const watchJob = async (page, { project, job, scripts }) => {
  await page.goto(`${origin}/p/${project}/jobs/${job.id}`)
  await until('the job ends', async () => {
    if (!scripts) await page.reload()
    return /pull request/.test(await page.textContent('#state'))
  }, 60)
  assert.match(await page.textContent('.steps'), /Pull request opened/)
}

const readAndMerge = async (page, { project, job }) => {
  await page.goto(`${origin}/p/${project}/jobs/${job.id}/changes`)
  assert((await page.locator('ins').count()) > 0, 'what is new is marked')
  for (const name of ['Unified', 'Side by side', 'Read']) {
    await page.click(`main a:text-is("${name}")`)
    assert((await page.locator('details.file').count()) > 0, name)
  }
  await page.click('main a.main:has-text("pull request")')
  await page.click('form[action$="/merge"] button')
  await page.waitForLoadState()
  assert.match(await page.textContent('main'), /merged/i)
  assert.match(git('log', '-1', '--format=%s', 'main'), /./)
  assert.match(git('grep', '--ignore-case', '-e', 'receive', '-e', 'necessary', 'main'), /./, 'it is in the repository')
}

const readViews = async (page, { project, key }) => {
  const agent = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'
  const sent = await ask(`${origin}/v1/analytics/${project}/events`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify([{ path: '/guide', userAgent: agent }, { path: '/guide.md', userAgent: 'ChatGPT-User/1.0' }, { path: '/', userAgent: agent }]),
  })
  assert.equal(sent.status, 200, sent.body)
  await page.goto(`${origin}/p/${project}/views`)
  assert.match(await page.textContent('main'), /\/guide/)
  await page.click('main a:has-text("Last 7 days")')
  const csv = await fetchAs(page, await page.getAttribute('main a:text-is("CSV")', 'href'))
  const api = JSON.parse((await ask(`${origin}/v1/analytics/${project}/views`, { headers: { authorization: `Bearer ${key}` } })).body)
  const rows = csv.trim().split(/\r?\n/).slice(1).map((line) => line.split(','))
  for (const { path: at, human, ai } of api.views) {
    const row = rows.find((row) => row[0] === at)
    assert.deepEqual(row?.slice(1, 3).map(Number), [human, ai], `the figures of ${at} are those of the interface`)
  }
}

/** Fetches an address with the cookies of the page, scripts or not. */
const fetchAs = async (page, address) => {
  const cookies = (await page.context().cookies()).map((cookie) => `${cookie.name}=${cookie.value}`).join('; ')
  const answer = await fetch(new URL(address, origin), { headers: { cookie: cookies } })
  assert.equal(answer.status, 200)
  return answer.text()
}

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

// ---- every page, in every width, light and dark ----

const everyPage = async (browser, link, addresses) => {
  for (const colorScheme of ['light', 'dark']) {
    const context = await browser.newContext({ colorScheme, viewport: { width: 1280, height: 900 } })
    const page = await context.newPage()
    const faults = []
    watch(page, faults)
    await page.goto(link())
    await page.click('main button.main')
    await page.waitForURL(/\/(\?.*)?$/)
    // All that is wrong is told at once.
    const tried = async (check) => { try { await check() } catch (error) { faults.push(error.message) } }
    for (const address of addresses) {
      await page.setViewportSize({ width: 1280, height: 900 })
      await page.goto(origin + address)
      await tried(() => checkShift(page, address))
      await tried(() => checkAxe(page, `${address} ${colorScheme}`))
      if (pictures) {
        const name = address.replace(/[0-9a-f-]{36}/g, 'job').replace(/[^a-z0-9]+/gi, '-').replace(/^-|-$/g, '') || 'projects'
        await page.screenshot({ path: path.join(pictures, `${name}-${colorScheme}.png`), fullPage: true })
      }
      await page.setViewportSize({ width: 390, height: 844 })
      await tried(() => checkAxe(page, `${address} ${colorScheme} at 390 px`))
      if (colorScheme === 'light') {
        await tried(() => checkWidths(page, address))
        const bytes = await weigh(context, origin + address)
        await tried(() => assert(bytes < 40 * 1024, `${address} takes ${bytes} bytes`))
      }
    }
    assert.deepEqual(faults, [], 'no message, no request elsewhere')
    await context.close()
  }
  told(`${addresses.length} pages, light and dark, ${WIDTHS.join(', ')} px, axe`)
}

/** The main deeds without a pointer. */
const byKeys = async (browser, link, project) => {
  const context = await browser.newContext()
  const page = await context.newPage()
  await page.goto(link())
  await page.focus('main button.main')
  await page.keyboard.press('Enter')
  await page.waitForURL(`${origin}/`)
  await page.goto(`${origin}/p/${project}`)
  await page.keyboard.press('?')
  assert(await page.evaluate(() => document.getElementById('keys').open), '? lists the keys')
  await checkAxe(page, 'the list of keys')
  await page.keyboard.press('Escape')
  await page.keyboard.press('g')
  await page.keyboard.press('j')
  await page.waitForURL(/\/jobs$/)
  await page.keyboard.press('j')
  assert(await page.evaluate(() => document.activeElement.matches('[data-row]')), 'j goes to the first row')
  const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle)
  assert.notEqual(outline, 'none', 'the focus can be seen')
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/jobs\/[0-9a-f-]+/)
  await page.keyboard.press('Control+k')
  assert(await page.evaluate(() => document.getElementById('palette').open), 'Ctrl-K opens the palette')
  await checkAxe(page, 'the palette')
  await page.keyboard.type('views')
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/views/)
  const column = page.locator('hover-chart g[tabindex="0"]')
  await column.focus()
  await page.keyboard.press('ArrowLeft')
  assert.match(await page.textContent('.tip'), /people/, 'the chart is read out by arrow keys')
  await context.close()
  told('keys alone')
}

/** The server is killed while a page is open: it says so, and goes on without missing or doubling a step. */
const killed = async (browser, link, project, server) => {
  const context = await browser.newContext()
  const page = await context.newPage()
  await page.goto(link())
  await page.click('main button.main')
  await page.waitForURL(`${origin}/`)
  await page.goto(`${origin}/p/${project}/jobs/new`)
  await page.fill('[name=prompt]', 'Fix the typos')
  await page.click('main button.main')
  await page.waitForURL(/\/jobs\/[0-9a-f-]+/)
  server.child.kill('SIGKILL')
  await ended(server)
  const again = await serve()
  await until('the job ends on the page by itself', async () => /pull request|no change|completed/.test(await page.textContent('#state')), 90)
  const live = await page.locator('.steps > li').evaluateAll((all) => all.map((step) => step.id))
  assert.equal(new Set(live).size, live.length, 'no step twice')
  await page.reload()
  const fresh = await page.locator('.steps > li').evaluateAll((all) => all.map((step) => step.id))
  assert.deepEqual(live, fresh, 'no step missing')
  await context.close()
  told('a server killed under an open page')
  return again
}

/** Eight pages that watch jobs leave a ninth loading: a browser has six connections to a server. */
const eightTabs = async (browser, link, project) => {
  const context = await browser.newContext()
  const first = await context.newPage()
  await first.goto(link())
  await first.click('main button.main')
  await first.waitForURL(`${origin}/`)
  for (let at = 0; at < 8; at++) {
    const page = await context.newPage()
    await page.goto(`${origin}/p/${project}/jobs/new`)
    await page.fill('[name=prompt]', `Fix the typos ${at}`)
    await page.click('main button.main')
    await page.waitForURL(/\/jobs\/[0-9a-f-]+/)
  }
  const ninth = await context.newPage()
  await ninth.goto(`${origin}/p/${project}/keys`, { timeout: 15_000 })
  await context.close()
  told('eight pages that watch, and a ninth')
}

makeRepository()
let server = await serve()
origin = server.url
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--headless', '--no-sandbox', '--disable-gpu'] })
try {
  assert.match(server.said(), /\/join\//, 'the first start prints a link')
  const { project, email } = await story(browser, { scripts: true })
  writeFileSync(path.join(repository, 'docs', 'more.md'), '# More\n\nIt is neccessary.\n')
  git('add', '.')
  git('commit', '--quiet', '-m', 'Write more')
  await story(browser, { scripts: false })
  const link = () => run('user', 'link', email).trim().replace(/^http:\/\/[^/]*/, origin)
  const key = JSON.parse(run('key', 'create', '--project', project, '--json')).key
  const { jobs } = JSON.parse((await ask(`${origin}/v2/agent/${project}/jobs`, { headers: { authorization: `Bearer ${key}` } })).body)
  const p = `/p/${project}`, job = `${p}/jobs/${jobs[0].id}`
  await everyPage(browser, link, [
    '/', '/me', '/people', '/server', '/new', p, `${p}/jobs`, `${p}/jobs/new`, job, `${job}/changes`, `${job}/changes?view=unified`,
    `${job}/checks`, `${job}/talk`, `${p}/views`, `${p}/pages`, `${p}/pulls`, `${p}/pulls/1`, `${p}/keys`,
    ...['general', 'repository', 'model', 'checks', 'collection', 'webhooks', 'members', 'audit', 'danger'].map((it) => `${p}/settings/${it}`),
  ])
  await byKeys(browser, link, project)
  await eightTabs(browser, link, project)
  server = await killed(browser, link, project, server)
} finally {
  await browser.close()
  server.child.kill('SIGTERM')
  await ended(server)
}
