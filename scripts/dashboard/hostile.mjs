// Text that wants to be more than text, in every place where somebody may write: it stays text on every page.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { overflow, watch } from './checks.mjs'
import { PASSWORD, ask, told, until } from './stage.mjs'

const TURN = '\u202e'
/** Fits where a name does. */
const SHORT = `"><img src=x onerror=__hit=2>${TURN}{{7*7}}<script>__hit=1</script>${'w'.repeat(24)}`
const LONG = `${SHORT}' onfocus='__hit=3' [link](javascript:__hit=4) <javascript:__hit=5> ![p](https://elsewhere.example/p.png) </textarea></title></pre><iframe srcdoc="<script>parent.__hit=6</script>"></iframe> \${7*7} ${'w'.repeat(400)}`
const FILE = `docs/"><img src=x onerror=__hit=2>${TURN}{{7*7}}.md`
const AGENT = 'Mozilla/5.0 "><img src=x onerror=__hit=2><script>__hit=1</script> Firefox/140.0'

/** A page that says all of it, as a repository may. */
export const hostilePages = () => ({
  'docs/index.md': `# ${SHORT}\n\n${LONG}\n\n<script>__hit=1</script>\n\n[gone](${'w'.repeat(200)}.md)\n`,
  [`docs/"><img src=x onerror=__hit=2>.md`]: `---\ntitle: '${SHORT.replaceAll("'", '')}'\n---\n\n# Page\n\n[gone](gone"><img src=x onerror=__hit=2>.md)\n`,
})

/** Notes whatever ran, was stopped from running, or is there that should not be. */
const guard = async (context, desk, faults) => {
  await context.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) => (globalThis.violations ??= []).push(`${event.violatedDirective} ${event.sample}`))
  })
  const page = await context.newPage()
  watch(page, desk.url, faults, [403, 404, 422])
  page.on('dialog', (dialog) => { faults.push(`${page.url()}: a dialog ${dialog.message()}`); dialog.dismiss() })
  return page
}

/** The seen page holds nothing that is not text. */
const judge = async (page, faults) => {
  const found = await page.evaluate((turn) => {
    for (const details of document.querySelectorAll('details:not([data-src])')) details.open = true
    const bad = []
    if ('__hit' in globalThis) bad.push(`a script ran: ${globalThis.__hit}`)
    if (globalThis.violations) bad.push(`the policy was needed: ${globalThis.violations}`)
    for (const it of document.querySelectorAll('body script, iframe, object, embed, base, main img, [onerror], [onfocus], a[href^="javascript:" i], form[action*="://"]')) bad.push(`there is ${it.outerHTML.slice(0, 100)}`)
    const raw = (text) => text?.includes(turn)
    if (raw(document.documentElement.outerHTML) || raw(document.title)) bad.push('U+202E is there as it is')
    for (const field of document.querySelectorAll('input, textarea')) if (raw(field.value)) bad.push(`U+202E is in ${field.name}`)
    if (/(^|[^*\d])49([^\d]|$)/.test(document.title)) bad.push('it was reckoned')
    return bad
  }, TURN)
  const wide = await overflow(page)
  faults.push(...[...found, ...(wide ? [wide] : [])].map((it) => `${page.url()}: ${it}`))
  return page.evaluate(() => document.documentElement.textContent.includes('<U+202E>'))
}

const checkHeaders = (answer, faults) => {
  const headers = answer.headers(), policy = headers['content-security-policy'] ?? ''
  if (policy.includes('unsafe-') || !policy.includes("require-trusted-types-for 'script'")) faults.push(`${answer.url()}: the policy is ${policy}`)
  if (headers['x-content-type-options'] !== 'nosniff') faults.push(`${answer.url()}: no nosniff`)
}

/** Every page to which a link leads, one of each kind; of other projects none. */
const crawl = async (page, project, starts, faults) => {
  const kind = (url) => url.pathname.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'id').replace(/\/changes\/\d+$/, '/changes/n') + [...new Set(url.searchParams.keys())].sort()
  const seen = new Set(), left = starts.map((it) => new URL(it)), shown = []
  while (left.length) {
    const url = left.shift()
    if (seen.has(kind(url))) continue
    seen.add(kind(url))
    if (/\.(csv|jsonl)$|\/diff$|^\/docs\/|^\/openapi/.test(url.pathname)) continue
    const answer = await page.goto(url.href)
    if (answer.status() !== 200) faults.push(`${url}: ${answer.status()}`)
    checkHeaders(answer, faults)
    if (await judge(page, faults)) shown.push(url.pathname)
    const links = await page.evaluate(() => [...document.querySelectorAll('a[href]')].map((it) => it.href))
    left.push(...links.map((it) => new URL(it)).filter((it) => it.origin === url.origin && !(it.pathname.startsWith('/p/') && it.pathname.split('/')[2] !== project)))
  }
  assert(seen.size < 150, 'the crawl comes to an end')
  return { pages: seen.size, shown }
}

/** A receiver of webhooks whose answers are hostile. */
const receiver = async () => {
  const server = createServer((request, response) => {
    request.resume()
    response.writeHead(500, { 'content-type': 'text/html' }).end(LONG)
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => { server.closeAllConnections(); server.close() } }
}

const sendViews = async (desk, key, project) => {
  const paths = [`/"><img src=x onerror=__hit=2>`, `/${TURN}turned`, '/{{7*7}}<script>__hit=1</script>', `/${'w'.repeat(600)}`, '/javascript:__hit=4', '/index']
  const agents = [AGENT, `ChatGPT-User/1.0 ${SHORT}`, `${SHORT}bot/1.0`, `curl/8.0 ${TURN}`]
  const events = paths.flatMap((path) => agents.map((userAgent) => ({ path, userAgent })))
  const { accepted } = await desk.api(key, 'POST', `/v1/analytics/${project}/events`, events)
  assert(accepted >= agents.length * 4, `${accepted} views were taken`)
}

/** Somebody with a hostile name joins by a link that was made for a hostile note. */
const join = async (browser, page, desk, project, faults) => {
  await page.goto(`${desk.url}/p/${project}/settings/members`)
  await page.fill('[name=note]', SHORT)
  await page.click('main aside button.main')
  await judge(page, faults)
  const link = (await page.textContent('#link')).trim()
  const context = await browser.newContext({ userAgent: AGENT, viewport: { width: 320, height: 700 } })
  const other = await guard(context, desk, faults)
  await other.goto(link.replace(/^http:\/\/[^/]*/, desk.url))
  await other.fill('[name=name]', SHORT)
  await other.fill('[name=email]', 'eve@example.com')
  await other.fill('[name=password]', PASSWORD)
  await other.click('main button.main')
  await other.waitForURL(/\/(p\/[^/]*)?(\?.*)?$/)
  await judge(other, faults)
  await other.goto(`${desk.url}/me`)
  await judge(other, faults)
  await context.close()
}

/** What was typed and is wrong comes back as text. */
const sentBack = async (page, desk, project, faults) => {
  const p = `${desk.url}/p/${project}`
  const send = async (address, fields, button = 'main button.main') => {
    await page.goto(address)
    for (const [name, text] of Object.entries(fields)) await page.fill(`main [name=${name}]`, text)
    await page.click(button)
    await page.waitForLoadState()
    await judge(page, faults)
  }
  await send(`${desk.url}/new`, { name: `${LONG}`, repository: SHORT, base_ref: SHORT, docs_path: LONG, time_zone: SHORT })
  await send(`${p}/jobs/new`, { prompt: LONG, baseRef: `${SHORT} ..` })
  await send(`${p}/keys`, { name: LONG }, 'main aside button.main')
  await send(`${p}/settings/webhooks`, { url: SHORT, description: LONG }, 'main aside button.main')
  await send(`${desk.url}/me`, { name: LONG }, 'form[action="/me/name"] button')
  for (const address of ['/views?path=', '/views?from=', '/views?to=', '/jobs?q=', '/pages?q=', '/pulls?state=', '/find?q=', '/views/agents/', '/jobs/', '/settings/webhooks/']) {
    await page.goto(p + address + encodeURIComponent(SHORT))
    if (address !== '/find?q=') await judge(page, faults)
  }
}

/** The job is watched while it says hostile things, and one that fails with them. */
const runJobs = async (page, desk, project, model, faults) => {
  model.play('hostile-one', [
    { calls: [['plan', { items: [SHORT, LONG.slice(0, 190)] }], ['search', { pattern: SHORT }], ['read_file', { path: FILE }]] },
    { calls: [['write_file', { path: FILE, text: `# ${SHORT}\n\n${LONG}\n` }], ['write_file', { path: 'docs/index.md', text: `# Other ${SHORT}\n\n${LONG} more\n\n<img src=x onerror=__hit=2>\n\n[a](javascript:__hit=4)\n\n\`\`\`html\n<script>__hit=1</script>\n\`\`\`\n` }]] },
    { calls: [['write_file', { path: 'docs/plain.md', text: `# Plain\n\n${LONG}\n` }]] },
    { calls: [['finish', { title: SHORT, summary: `${LONG}\n\n- <script>__hit=1</script>\n\n| ${SHORT} |\n|---|\n| ${LONG} |` }]] },
    { calls: [['finish', { title: SHORT, summary: `After the checks: ${LONG}` }]] },
  ])
  model.play('hostile-two', [{ error: [400, LONG] }])
  for (const name of ['hostile-one', 'hostile-two']) {
    await page.goto(`${desk.url}/p/${project}/jobs/new`)
    await page.fill('[name=prompt]', `${name} ${LONG}`)
    await page.click('main button.main')
    await page.waitForURL(/\/jobs\/[0-9a-f-]+/)
    await until(`${name} ends`, async () => !/at work|waits|running|queued|active/.test(await page.textContent('#state')) && (await page.locator('.steps.live').count()) === 0, 60)
    await judge(page, faults)
  }
}

export const hostile = async (browser, desk, email, { project, repository }, model) => {
  const faults = []
  desk.run('project', 'create', '--name', SHORT, '--id', project, '--repository', repository.folder)
  const key = JSON.parse(desk.run('key', 'create', '--project', project, '--name', SHORT, '--json')).key
  const webhook = await receiver()
  desk.run('webhook', 'add', project, `${webhook.url}/%22%3E%3Cimg%20src=x%20onerror=__hit=2%3E/${'w'.repeat(200)}`, '--description', SHORT)
  await sendViews(desk, key, project)
  const context = await desk.signedIn(browser, email, { userAgent: AGENT, viewport: { width: 320, height: 700 } })
  const page = await guard(context, desk, faults)
  await runJobs(page, desk, project, model, faults)
  await join(browser, page, desk, project, faults)
  await sentBack(page, desk, project, faults)

  const { jobs } = await desk.api(key, 'GET', `/v2/agent/${project}/jobs`)
  const pull = jobs.map((job) => job.prLink).find(Boolean)
  assert(pull, `a pull request was opened: ${JSON.stringify(jobs.map((job) => [job.status, job.message]))}`)
  const starts = ['/', '/me', '/people', '/server', `/p/${project}`, ...jobs.map((job) => `/p/${project}/jobs/${job.id}`)].map((it) => desk.url + it)
  const { pages, shown } = await crawl(page, project, [...starts, pull.replace(/^http:\/\/[^/]*/, desk.url)], faults)
  for (const place of [`/p/${project}`, `/p/${project}/jobs`, `/p/${project}/keys`, `/p/${project}/views`, `/p/${project}/pulls`, `/p/${project}/settings/audit`, `/p/${project}/settings/members`, '/people', '/']) {
    if (!shown.includes(place)) faults.push(`${place} does not show U+202E`)
  }

  // What is found while somebody types.
  await page.setViewportSize({ width: 1280, height: 700 })
  await page.goto(`${desk.url}/p/${project}`)
  await page.keyboard.press('Control+k')
  await page.keyboard.type('onerror')
  await page.waitForSelector('#found [data-found]')
  await judge(page, faults)

  // What is no page is not taken for one.
  for (const address of [`/p/${project}/views.csv`, `/p/${project}/settings/audit.csv`, `/p/${project}/jobs/${jobs.at(-1).id}/diff`]) {
    const cookie = (await context.cookies()).map((it) => `${it.name}=${it.value}`).join('; ')
    const { status, headers = new Headers() } = await ask(desk.url + address, { headers: { cookie } }).catch((error) => ({ status: error.message }))
    if (status !== 200 || /html/.test(headers.get('content-type')) || headers.get('x-content-type-options') !== 'nosniff') faults.push(`${address}: ${status} ${headers.get('content-type')}`)
  }
  await context.close()
  webhook.close()
  assert.deepEqual([...new Set(faults)], [], 'hostile text stays text')
  told(`hostile text on ${pages} pages, ${shown.length} of which show U+202E`)
}
