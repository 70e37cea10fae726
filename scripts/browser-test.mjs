// Run by scripts/browser-test, with a server to talk to: loads pages in Chromium and looks at what was counted.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import http from 'node:http'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'

const { COPYDESK_URL: copydesk, COPYDESK_PROJECT: project, COPYDESK_API_KEY: key, NODE_FOLDER: modules } = process.env
const { chromium } = createRequire(path.join(modules, 'x.js'))('playwright-core')

// Chromium finds *.localhost on this machine and trusts it, and no tracker takes it for a developer's machine.
const HOST = 'docs.localhost'
const CHROME = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36'
const executable = process.env.CHROMIUM ?? '/usr/bin/chromium'
const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

const ours = `<script defer data-project="${project}" src="${copydesk}/js/view.js"></script>`
const asPlausible = `<script defer data-domain="${HOST}" src="${copydesk}/js/script.js"></script>`
const named = (name) => asPlausible.replace('script.js', name)
// Plausible's own snippet, before its script is there, and what a page has called by then.
const QUEUE = 'window.plausible = window.plausible || function () { (plausible.q = plausible.q || []).push(arguments) };'
const queued = `<script>${QUEUE}
  called = []
  plausible('pageview', { u: location.origin + '/queued/by-hand', callback: () => called.push('queued') })
  plausible('Download', { callback: () => called.push('dropped') })
</script>`
const speculate = (kind, url) =>
  `<script type="speculationrules">{"${kind}":[{"source":"list","urls":["${url}"],"eagerness":"immediate"}]}</script>`
const npm = {
  new: `<script type="module">
    import { init } from '/npm/@plausible-analytics/tracker/plausible.js'
    init({ domain: '${HOST}', endpoint: '${copydesk}/api/event' })
  </script>`,
  old: `<script type="module">
    import Plausible from '/npm/plausible-tracker/build/module/index.js'
    Plausible({ domain: '${HOST}', apiHost: '${copydesk}' }).enableAutoPageviews()
  </script>`,
}

// A page of the site has in its head what its first folder says.
const heads = {
  plain: ours,
  local: ours.replace('defer', 'defer data-local'),
  spa: ours,
  cached: ours,
  twice: ours + ours,
  'as-plausible': asPlausible,
  queued: queued + named('script.manual.js'),
  'queued-too': queued + named('script.js'),
  manual: named('script.hash.manual.local.js'),
  'not-manual': named('script.js?manual.js#script.manual.js'),
  'local-name': named('script.outbound-links.local.js'),
  'not-local': named('script.js?script.local.js'),
  // A folder of a proxy with the words in its name.
  folder: `<script defer data-domain="${HOST}" data-api="${copydesk}/api/event" src="/local/manual/script.manual.local/view.js"></script>`,
  'npm-new': npm.new,
  'npm-old': npm.old,
  prerenders: ours + speculate('prerender', '/plain/prerendered') + `<script>fetch('/go').then(() => go.click())</script>`,
  prefetches: ours + speculate('prefetch', '/plain/prefetched'),
}

const RAN = `<script>fetch('/ran?' + location.pathname)</script>`

/** Requests for pages, by path: how often, and with which purposes. */
const asked = new Map()
/** Pages whose scripts have run. */
const ran = new Set()
let letGo
/** The page that waits for it goes on. */
const gone = new Promise((resolve) => (letGo = resolve))

const site = http.createServer(async (request, response) => {
  const url = new URL(request.url, 'http://x')
  if (url.pathname.startsWith('/npm/')) {
    const file = path.join(modules, path.normalize(url.pathname).slice('/npm/'.length))
    const text = await readFile(file).catch(() => readFile(file + '.js')).catch(() => null)
    response.writeHead(text ? 200 : 404, { 'content-type': 'text/javascript' }).end(text)
    return
  }
  if (url.pathname === '/go') {
    await gone
    response.end()
    return
  }
  if (url.pathname === '/ran') {
    ran.add(url.search.slice(1))
    response.end()
    return
  }
  if (url.pathname.endsWith('/view.js')) {
    const script = await fetch(`${copydesk}/js/view.js`)
    response.writeHead(200, { 'content-type': 'text/javascript' }).end(await script.text())
    return
  }
  const head = heads[url.pathname.split('/')[1]]
  if (head === undefined) {
    response.writeHead(404).end()
    return
  }
  const purposes = asked.get(url.pathname) ?? []
  asked.set(url.pathname, [...purposes, request.headers['sec-purpose'] ?? ''])
  // Asked for anew each time, unless the browser has the page itself.
  response.writeHead(200, { 'content-type': 'text/html', 'cache-control': 'no-cache' })
  response.end(`<!doctype html><title>${url.pathname}</title>${head}${RAN}<a id="go" href="${url.searchParams.get('to')}">go</a>`)
})
site.listen(0, '127.0.0.1')
await once(site, 'listening')
const at = (pathname) => `http://${HOST}:${site.address().port}${pathname}`

async function views() {
  const response = await fetch(`${copydesk}/v1/analytics/${project}/views?limit=250`, {
    headers: { authorization: `Bearer ${key}` },
  })
  assert.equal(response.status, 200, await response.clone().text())
  const { views } = await response.json()
  return Object.fromEntries(views.map(({ path, human }) => [path, human]))
}

async function until(what, look) {
  for (let left = 100; left; left--) {
    const found = await look()
    if (found) return found
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  assert.fail(`waited in vain until ${what}: ${JSON.stringify(await views())} ${JSON.stringify([...asked])}`)
}

const counted = (pathname, times) =>
  until(`${pathname} has ${times} views`, async () => ((await views())[pathname] ?? 0) === times)

/** What was not counted by now never will be: a page that was shown afterwards is counted. */
async function nothingMore(context) {
  const pathname = `/plain/later-${Math.random().toString(36).slice(2)}`
  await visit(context, pathname, async () => counted(pathname, 1))
}

/** The events that pages of a context send, from now on. */
function told(context) {
  const sent = []
  context.on('request', (request) => request.url().endsWith('/api/event') && sent.push(request.postDataJSON()))
  return sent
}

async function visit(context, pathname, look) {
  const page = await context.newPage()
  await page.goto(at(pathname))
  await look(page)
  await page.close()
}

const checks = {
  async 'a page is counted when it is loaded'(context) {
    await visit(context, '/plain/x?secret=1#part', () => counted('/plain/x', 1))
  },

  async 'a page is counted when it is come to without a load'(context) {
    const sent = told(context)
    await visit(context, '/spa/one', async (page) => {
      await counted('/spa/one', 1)
      await page.evaluate(() => history.pushState(null, '', '/spa/two'))
      await counted('/spa/two', 1)
      await page.evaluate(() => history.pushState(null, '', '/spa/two#part'))
      await page.evaluate(() => history.replaceState(null, '', '/spa/two?better'))
      await page.evaluate(() => history.back())
      await page.evaluate(() => history.go(-1))
      await counted('/spa/one', 2)
      await page.evaluate(() => history.pushState(null, '', '/spa/three'))
      await counted('/spa/three', 1)
      const pages = sent.map(({ u }) => new URL(u).pathname)
      assert.deepEqual(pages, ['/spa/one', '/spa/two', '/spa/one', '/spa/three'])
    })
  },

  async 'a page is counted again when the browser shows it again as it was'(context) {
    await visit(context, '/cached/a?to=/cached/b', async (page) => {
      await counted('/cached/a', 1)
      await page.click('#go')
      await counted('/cached/b', 1)
      await page.evaluate(() => setTimeout(() => history.back()))
      await counted('/cached/a', 2)
      assert.equal(asked.get('/cached/a').length, 1, 'it was not loaded again')
    })
  },

  async 'a script that is there twice counts once'(context) {
    await visit(context, '/twice/x', () => counted('/twice/x', 1))
    await nothingMore(context)
    assert.equal((await views())['/twice/x'], 1)
  },

  // What drives a browser holds back pages that are rendered ahead, so here nobody does: the page goes on by itself.
  async 'a page that is rendered ahead is counted when it is shown'(context) {
    const profile = await mkdtemp(path.join(tmpdir(), 'copydesk-chromium-'))
    const start = [...FLAGS, `--user-agent=${CHROME}`, `--user-data-dir=${profile}`, at('/prerenders/x?to=/plain/prerendered')]
    const alone = spawn(executable, start, { stdio: 'ignore' })
    try {
      await counted('/prerenders/x', 1)
      await until('the page is rendered ahead', () => ran.has('/plain/prerendered'))
      assert.deepEqual(asked.get('/plain/prerendered'), ['prefetch;prerender'])
      await nothingMore(context)
      assert.equal((await views())['/plain/prerendered'], undefined)
      letGo()
      await counted('/plain/prerendered', 1)
      assert.equal(asked.get('/plain/prerendered').length, 1, 'it was not loaded again')
    } finally {
      alone.kill()
      await once(alone, 'exit')
      await rm(profile, { recursive: true, force: true, maxRetries: 5 })
    }
  },

  async 'a page that is fetched ahead is counted when it is shown'(context) {
    await visit(context, '/prefetches/x?to=/plain/prefetched', async (page) => {
      await until('the page is fetched ahead', () => asked.has('/plain/prefetched'))
      await nothingMore(context)
      assert.equal((await views())['/plain/prefetched'], undefined)
      await page.bringToFront()
      await page.click('#go', { noWaitAfter: true })
      await counted('/plain/prefetched', 1)
    })
  },

  async 'the script works under the name of Plausible’s'(context) {
    await visit(context, '/as-plausible/x', () => counted('/as-plausible/x', 1))
  },

  async 'only the name of the script says what it does'(context) {
    await visit(context, '/manual/x', async (page) => {
      await page.evaluate(() => plausible('pageview', { u: location.origin + '/manual/by-hand' }))
      await counted('/manual/by-hand', 1)
    })
    await visit(context, '/not-manual/x', () => counted('/not-manual/x', 1))
    await visit(context, '/folder/x', () => counted('/folder/x', 1))
    assert.equal((await views())['/manual/x'], undefined)
  },

  async 'what was called before the script was there is not lost'(context) {
    for (const [folder, byItself] of [['queued', undefined], ['queued-too', 1]]) {
      await visit(context, `/${folder}/x`, async (page) => {
        await page.waitForFunction(() => called.length === 2)
        assert.deepEqual(await page.evaluate(() => called), ['queued', 'dropped'])
        await page.evaluate(() => new Promise((resolve) => plausible('pageview', { url: location.origin + '/queued/after', callback: resolve })))
      })
      await nothingMore(context)
      assert.equal((await views())[`/${folder}/x`], byItself)
    }
    await counted('/queued/by-hand', 2)
    await counted('/queued/after', 2)
  },

  async 'Plausible’s own trackers are counted'(context) {
    for (const name of ['npm-new', 'npm-old']) {
      await visit(context, `/${name}/one`, async (page) => {
        await counted(`/${name}/one`, 1)
        await page.evaluate((to) => history.pushState(null, '', to), `/${name}/two`)
        await counted(`/${name}/two`, 1)
      })
    }
  },

  async 'browsers that know less are counted too'(context) {
    await context.addInitScript(() => {
      Object.defineProperty(window, 'navigation', { value: undefined })
      Object.defineProperty(navigator, 'sendBeacon', { value: undefined })
    })
    await visit(context, '/spa/old-one', async (page) => {
      await counted('/spa/old-one', 1)
      await page.evaluate(() => history.pushState(null, '', '/spa/old-two'))
      await counted('/spa/old-two', 1)
      await page.evaluate(() => history.back())
      await counted('/spa/old-one', 2)
    })
  },

  async 'the machine of a developer is not counted unless it is asked for'(context) {
    const sent = told(context)
    const local = (pathname) => at(pathname).replace(HOST, 'localhost')
    const page = await context.newPage()
    const asking = ['/local/sent', '/local-name/sent']
    for (const pathname of ['/plain/not', '/folder/not', '/not-local/not', ...asking]) {
      await page.goto(local(pathname), { waitUntil: 'load' })
    }
    await until('the pages that ask for it are told of', () => sent.length > 1)
    assert.deepEqual(sent.map(({ u }) => u), asking.map(local))
    await page.close()
  },

  async 'nothing but the address of the page is sent'(context) {
    const sent = told(context)
    await visit(context, '/plain/little?secret=1#part', () => counted('/plain/little', 1))
    assert.deepEqual(sent, [{ n: 'pageview', u: at('/plain/little'), d: project }])
  },

  async 'nothing is left in the browser'(context) {
    await visit(context, '/plain/clean', async (page) => {
      await counted('/plain/clean', 1)
      const left = await page.evaluate(async () => ({
        cookie: document.cookie,
        local: Object.keys(localStorage),
        session: Object.keys(sessionStorage),
        databases: await indexedDB.databases(),
        caches: await caches.keys(),
      }))
      assert.deepEqual(left, { cookie: '', local: [], session: [], databases: [], caches: [] })
      assert.deepEqual(await context.cookies(), [])
    })
  },
}

const browser = await chromium.launch({
  executablePath: executable,
  // Trackers leave out browsers that say they are driven, and drivers do without the back-forward cache.
  ignoreDefaultArgs: ['--enable-automation', '--disable-back-forward-cache'],
  args: [...FLAGS, '--disable-blink-features=AutomationControlled'],
})
let failed = 0
try {
  for (const [name, check] of Object.entries(checks)) {
    const context = await browser.newContext({ userAgent: CHROME })
    try {
      await check(context)
      console.log(`ok   ${name}`)
    } catch (error) {
      failed += 1
      console.log(`FAIL ${name}\n${error.stack}`)
    }
    await context.close()
  }
} finally {
  await browser.close()
  site.close()
  site.closeAllConnections()
}
process.exitCode = failed ? 1 : 0
