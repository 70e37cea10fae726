// The story that the dashboard is for, told in a browser from the first link to signing out.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { watch } from './checks.mjs'
import { PASSWORD, ask, told, until } from './stage.mjs'

const makeProject = async (page, desk, name, repository) => {
  await page.click('a[href="/new"]')
  await page.fill('[name=name]', name)
  await page.fill('[name=repository]', repository.folder)
  await page.click('main button.main')
  await page.click('form[action$="/test"] button')
  await page.waitForLoadState()
  const lines = await page.textContent('main')
  assert.match(lines, /A job can run|works/i, 'the connection works')
  await page.click('main a.main')
  await page.waitForURL(/collection/)
  const project = /\/new\/([^/]*)/.exec(page.url())[1]
  await page.goto(`${desk.url}/p/${project}`)
  assert.match(await page.textContent('main'), /first/i, 'a new project says what is left to do')
}

/** The job is watched to its end: by itself, or by loading the page again. */
const watchJob = async (page, desk, { project, job, scripts }) => {
  await page.goto(`${desk.url}/p/${project}/jobs/${job.id}`)
  await until('the job ends', async () => {
    if (!scripts) await page.reload()
    return /pull request/.test(await page.textContent('#state'))
  }, 60)
  assert.match(await page.textContent('.steps'), /Pull request opened/)
}

const readAndMerge = async (page, desk, { project, job }, { git }) => {
  await page.goto(`${desk.url}/p/${project}/jobs/${job.id}/changes`)
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

const readViews = async (page, desk, { project, key }) => {
  const agent = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'
  const sent = await ask(`${desk.url}/v1/analytics/${project}/events`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify([{ path: '/guide', userAgent: agent }, { path: '/guide.md', userAgent: 'ChatGPT-User/1.0' }, { path: '/', userAgent: agent }]),
  })
  assert.equal(sent.status, 200, sent.body)
  await page.goto(`${desk.url}/p/${project}/views`)
  assert.match(await page.textContent('main'), /\/guide/)
  await page.click('main a:has-text("Last 7 days")')
  const csv = await fetchAs(page, desk, await page.getAttribute('main a:text-is("CSV")', 'href'))
  const api = JSON.parse((await ask(`${desk.url}/v1/analytics/${project}/views`, { headers: { authorization: `Bearer ${key}` } })).body)
  const rows = csv.trim().split(/\r?\n/).slice(1).map((line) => line.split(','))
  for (const { path: at, human, ai } of api.views) {
    const row = rows.find((row) => row[0] === at)
    assert.deepEqual(row?.slice(1, 3).map(Number), [human, ai], `the figures of ${at} are those of the interface`)
  }
}

/** Fetches an address with the cookies of the page, scripts or not. */
const fetchAs = async (page, desk, address) => {
  const cookies = (await page.context().cookies()).map((cookie) => `${cookie.name}=${cookie.value}`).join('; ')
  const answer = await fetch(new URL(address, desk.url), { headers: { cookie: cookies } })
  assert.equal(answer.status, 200)
  return answer.text()
}

/** Runs a command of the page as it stands there. */
const inShell = (command) => execFileSync('bash', ['-c', command], { encoding: 'utf8' })

export const story = async (browser, desk, repository, { scripts }) => {
  const words = scripts ? 'with scripts' : 'without scripts'
  const context = await browser.newContext({ javaScriptEnabled: scripts, permissions: scripts ? ['clipboard-read', 'clipboard-write'] : [] })
  const page = await context.newPage()
  const faults = []
  watch(page, desk.url, faults)
  const link = desk.link()
  const email = `${scripts ? 'ada' : 'bob'}@example.com`

  await page.goto(link)
  await page.fill('[name=name]', 'Ada Lovelace')
  await page.fill('[name=email]', email)
  await page.fill('[name=password]', 'short')
  await page.click('main button.main')
  assert.match(await page.textContent('main'), /Must have at least 10 characters/)
  await page.fill('[name=password]', PASSWORD)
  await page.click('main button.main')
  await page.waitForURL(`${desk.url}/`)

  // A project.
  const name = scripts ? 'Acme Docs' : 'Plain Docs'
  await makeProject(page, desk, name, repository)
  const project = /\/p\/([^/?]*)/.exec(page.url())[1]

  // A key, used as the page shows it.
  await page.goto(`${desk.url}/p/${project}/keys`)
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
  await page.goto(`${desk.url}/p/${project}/keys`)
  assert(!(await page.content()).includes(key), 'a key is shown once')

  await watchJob(page, desk, { project, job, scripts })
  await readAndMerge(page, desk, { project, job }, repository)
  await readViews(page, desk, { project, key, scripts })

  // Revoked, the next request is refused.
  await page.goto(`${desk.url}/p/${project}/keys`)
  await page.click('a.danger')
  await page.click('main button.danger')
  assert.match(await page.textContent('main'), /revoked/)
  const refused = await ask(`${desk.url}/v2/agent/${project}/jobs`, { headers: { authorization: `Bearer ${key}` } })
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
